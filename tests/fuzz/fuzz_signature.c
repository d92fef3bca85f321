/*
 * Bytes as a signature. One that can be parsed is printed and parsed again: that must give the same signature and the same
 * text. What a call counts on must hold: argument names are told apart, those that must be given come first, specs belong
 * to this signature, and a result knows all that it needs. What cannot be parsed leaves nothing behind and has its column.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#include <dlpark/signature.h>

static void signature_check_refusal(const dlpark_signature *signature, size_t length, const dlpark_error *err)
{
    const unsigned char *bytes = (const unsigned char *)signature;
    size_t nbytes = sizeof *signature;

    FUZZ_WANT(err->status == DLPARK_E_ARGUMENT && memchr(err->message, 0, sizeof err->message) != NULL);
    FUZZ_WANT(strncmp(err->message, "column ", 7) == 0);
    unsigned long column = strtoul(err->message + 7, NULL, 10);
    FUZZ_WANT(column >= 1 && column <= length + 1);
    FUZZ_WANT(bytes[0] == 0 && memcmp(bytes, bytes + 1, nbytes - 1) == 0);
}

static void signature_check_spec(const dlpark_signature *signature, const dlpark_spec *spec)
{
    FUZZ_WANT(spec->names == &signature->names && spec->ndims <= DLPARK_SPEC_MAX_DIMS);
    FUZZ_WANT(spec->same < signature->ntensors);
    for (int i = 0; i < spec->ndims; i++)
        FUZZ_WANT(spec->dims[i] <= DLPARK_SPEC_DIM_UNKNOWN || spec->dims[i] >= -signature->names.ndims);
}

static void signature_check_arguments(const dlpark_signature *signature, dlpark_spec_bound *bound)
{
    int tensors = 0;

    for (int i = 0; i < signature->narguments; i++) {
        const dlpark_signature_argument *argument = &signature->arguments[i];
        FUZZ_WANT(*argument->name != 0 && argument->is_optional == (i >= signature->nrequired));
        for (int j = 0; j < i; j++)
            FUZZ_WANT(strcmp(signature->arguments[j].name, argument->name) != 0);
        FUZZ_WANT((argument->kind == DLPARK_SIGNATURE_TENSOR) == (argument->tensor >= 0));
        if (argument->tensor < 0)
            continue;
        FUZZ_WANT(argument->tensor == tensors && argument->spec.argument == tensors);
        FUZZ_WANT(strcmp(signature->names.arguments[tensors++], argument->name) == 0);
        signature_check_spec(signature, &argument->spec);
        if (argument->is_optional || (argument->spec.flags & DLPARK_SPEC_NONE))
            continue;
        bound->dtypes_known |= UINT32_C(1) << argument->tensor;
        bound->dtypes[argument->tensor] = DLPARK_F32;
        for (int j = 0; j < argument->spec.ndims; j++) {
            int64_t name = ~argument->spec.dims[j];
            if (name < 0 || name >= signature->names.ndims)
                continue;
            bound->dims_known |= UINT32_C(1) << name;
            bound->dims[name] = name;
        }
    }
    FUZZ_WANT(tensors == signature->ntensors && tensors == signature->names.narguments);
}

/* With the names bound that every call binds, a result's dtype is known, and its shape but for what it leaves open. */
static void signature_check_results(const dlpark_signature *signature, const dlpark_spec_bound *bound)
{
    int64_t shape[DLPARK_SPEC_MAX_DIMS];
    DLDataType dtype;

    for (int i = 0; i < signature->nresults; i++) {
        const dlpark_spec *spec = &signature->results[i];
        int open = spec->ndims_extra != 0;
        signature_check_spec(signature, spec);
        for (int j = 0; j < spec->ndims; j++)
            open |= spec->dims[j] == DLPARK_SPEC_DIM_UNKNOWN;
        FUZZ_WANT(dlpark_spec_dtype(spec, bound, &dtype, NULL) == DLPARK_OK);
        FUZZ_WANT((dlpark_spec_shape(spec, bound, shape, NULL) == DLPARK_OK) == !open);
    }
}

static void signature_check_text(const dlpark_signature *signature)
{
    static dlpark_signature again;
    static char text[32768], printed[32768];
    size_t length = dlpark_signature_text(signature, text, sizeof text);
    char cut[24];

    FUZZ_WANT(length < sizeof text && strlen(text) == length);
    FUZZ_WANT(dlpark_signature_text(signature, cut, sizeof cut) == length && memchr(cut, 0, sizeof cut) != NULL);
    FUZZ_WANT(strncmp(cut, text, sizeof cut - 1) == 0);
    FUZZ_WANT(dlpark_signature_parse(&again, text, NULL) == DLPARK_OK);
    FUZZ_WANT(dlpark_signature_text(&again, printed, sizeof printed) == length && strcmp(printed, text) == 0);
    for (int i = 0; i < again.ntensors; i++)
        FUZZ_WANT(strcmp(again.names.arguments[i], signature->names.arguments[i]) == 0);
    for (int i = 0; i < again.narguments; i++)
        if (again.arguments[i].kind == DLPARK_SIGNATURE_TENSOR)
            again.arguments[i].spec.names = &signature->names;
    for (int i = 0; i < again.nresults; i++)
        again.results[i].names = &signature->names;
    FUZZ_WANT(memcmp(&again, signature, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static dlpark_signature signature;
    static char text[8192];
    static dlpark_spec_bound bound;
    dlpark_error err;

    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (dlpark_signature_parse(&signature, text, &err) != DLPARK_OK) {
        signature_check_refusal(&signature, strlen(text), &err);
        return 0;
    }
    dlpark_spec_bound_init(&bound);
    signature_check_arguments(&signature, &bound);
    signature_check_results(&signature, &bound);
    signature_check_text(&signature);
    return 0;
}
