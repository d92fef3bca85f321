/*
 * The parser: recursive descent, one function for each rule of the grammar in docs/reference/signature.md. Specs are read
 * by spec.h. Below the rules stands what a signature must be beside its grammar, so that a call cannot fail late.
 */
#include <string.h>

#include <dlpark/device.h>

#include "signature_parts.h"

const char *const dlpark__signature_kinds[DLPARK__SIGNATURE_NKINDS] = {
    [DLPARK_SIGNATURE_TENSOR] = "",   [DLPARK_SIGNATURE_INT] = "int", [DLPARK_SIGNATURE_FLOAT] = "float",
    [DLPARK_SIGNATURE_BOOL] = "bool", [DLPARK_SIGNATURE_STR] = "str", [DLPARK_SIGNATURE_OBJECT] = "object",
};

/* ---- The rules ---- */

/* A name into `out`, which has room for `nbytes` with the final zero. */
static dlpark_status signature_read_name(dlpark__signature_parser *parser, const char *expected, char *out,
                                         size_t nbytes)
{
    dlpark__signature_token token = parser->token;

    if (!dlpark__signature_is_name(token))
        return dlpark__signature_refuse_token(parser, expected);
    if (token.length >= nbytes)
        return dlpark__signature_refuse(parser, token, "a name has at most %d characters here, this one has %zu",
                                        (int)nbytes - 1, token.length);
    if (dlpark__signature_is_reserved(token))
        return dlpark__signature_refuse(parser, token, "\"%.*s\" is a word of Python's own and cannot be a name",
                                        (int)token.length, token.text);
    memcpy(out, token.text, token.length);
    out[token.length] = '\0';
    dlpark__signature_advance(parser);
    return DLPARK_OK;
}

/* The spec that begins with the current token. */
static dlpark_status signature_read_spec(dlpark__signature_parser *parser, const char *argument, dlpark_spec *spec)
{
    dlpark_spec_source source = {.text = parser->text,
                                 .length = parser->length,
                                 .at = parser->token.at,
                                 .argument = argument,
                                 .argument_length = argument != NULL ? strlen(argument) : 0,
                                 .is_result = argument == NULL};

    DLPARK_TRY(dlpark_spec_init_at(spec, &parser->signature->names, &source, &parser->at, parser->err));
    dlpark__signature_advance(parser);
    return DLPARK_OK;
}

/* Whether the current token and the one behind it are the word of a scalar. `bool` is a dtype too, and is that when a
 * spec goes on behind it. */
static dlpark_signature_kind signature_scalar_kind(const dlpark__signature_parser *parser)
{
    dlpark__signature_parser ahead = *parser;

    for (int kind = DLPARK_SIGNATURE_INT; kind < DLPARK__SIGNATURE_NKINDS; kind++) {
        if (!dlpark__signature_accept(&ahead, dlpark__signature_kinds[kind]))
            continue;
        if (kind != DLPARK_SIGNATURE_BOOL || ahead.token.length == 0 || *ahead.token.text == ',' ||
            *ahead.token.text == ')')
            return (dlpark_signature_kind)kind;
    }
    return DLPARK_SIGNATURE_TENSOR;
}

static dlpark_status signature_check_argument(const dlpark__signature_parser *parser, dlpark__signature_token token,
                                              const dlpark_spec *spec)
{
    const uint32_t copied = DLPARK_SPEC_CONVERT | DLPARK_SPEC_MUT;

    if (spec->framework != DLPARK_SPEC_AS_UNSAID)
        return dlpark__signature_refuse(parser, token, "only a result may have \"as=\"");
    if ((spec->flags & copied) == copied)
        return dlpark__signature_refuse(parser, token,
                                        "\"convert\" beside \"mut\": what is written to a copy would be lost");
    return DLPARK_OK;
}

/* Whether a spec is one that a call reads in one pass. A complex tensor may be conjugated, and needs a closer look. */
static bool signature_is_plain(const dlpark_spec *spec)
{
    DLDataType dtype = spec->dtypes[0];

    return spec->ndtypes == 1 && dtype.lanes == 1 && dtype.bits % 8 == 0 && dtype.code != kDLComplex &&
           dtype.code != kDLOpaqueHandle && spec->ndims_extra == 0 && spec->alignment_bytes == 0 &&
           (spec->flags & (DLPARK_SPEC_C | DLPARK_SPEC_F)) != DLPARK_SPEC_F &&
           DLPARK_DEVICE_HAS(spec->device_types, DLPARK_DEVICE_CPU);
}

static void signature_make_plain(dlpark_signature_argument *argument)
{
    const dlpark_spec *spec = &argument->spec;

    argument->is_plain = true;
    argument->ndim = spec->ndims;
    argument->dtype = spec->dtypes[0];
    /* Elements of 1, 2, 4 and 8 bytes begin at multiples of as many, and larger ones at multiples of 8. */
    argument->address_mask = argument->dtype.bits < 64 ? (uint8_t)(argument->dtype.bits / 8 - 1) : 7;
    argument->refused_flags =
        (spec->flags & DLPARK_SPEC_MUT) != 0 ? DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE : 0;
    for (int32_t i = 0; i < spec->ndims; i++) {
        bool is_named = spec->dims[i] < 0 && spec->dims[i] != DLPARK_SPEC_DIM_ANY;
        argument->codes[i] = (int8_t)(is_named ? ~spec->dims[i] : -1);
        argument->names |= is_named ? UINT32_C(1) << ~spec->dims[i] : 0;
    }
}

static dlpark_status signature_read_tensor(dlpark__signature_parser *parser, dlpark_signature_argument *argument)
{
    dlpark_signature *signature = parser->signature;
    dlpark__signature_token token = parser->token;

    if (signature->ntensors == DLPARK_SIGNATURE_MAX_TENSORS)
        return dlpark__signature_refuse(parser, token, "a signature has at most %d tensors among its arguments",
                                        DLPARK_SIGNATURE_MAX_TENSORS);
    DLPARK_TRY(signature_read_spec(parser, argument->name, &argument->spec));
    DLPARK_TRY(signature_check_argument(parser, token, &argument->spec));
    argument->tensor = signature->ntensors++;
    argument->bit = UINT32_C(1) << argument->tensor;
    if (signature_is_plain(&argument->spec))
        signature_make_plain(argument);
    return DLPARK_OK;
}

/* The name, and the `?` behind it. */
static dlpark_status signature_read_declaration(dlpark__signature_parser *parser, dlpark_signature_argument *argument)
{
    const dlpark_signature *signature = parser->signature;
    const dlpark_signature_argument *before = signature->arguments;
    dlpark__signature_token token = parser->token;

    DLPARK_TRY(signature_read_name(parser, "the name of an argument", argument->name, sizeof argument->name));
    for (; before != argument; before++)
        if (strcmp(before->name, argument->name) == 0)
            return dlpark__signature_refuse(parser, token, "argument '%s' is declared twice", argument->name);
    argument->is_optional = dlpark__signature_accept(parser, "?");
    if (!argument->is_optional && signature->nrequired != signature->narguments)
        return dlpark__signature_refuse(parser, token,
                                        "argument '%s' has no \"?\" and stands behind '%s', which has: those that must "
                                        "be given come first",
                                        argument->name, signature->arguments[signature->nrequired].name);
    if (!dlpark__signature_accept(parser, ":"))
        return dlpark__signature_refuse_token(parser, argument->is_optional ? "\":\"" : "\":\" or \"?\"");
    return DLPARK_OK;
}

static dlpark_status signature_read_argument(dlpark__signature_parser *parser)
{
    dlpark_signature *signature = parser->signature;
    dlpark_signature_argument *argument = &signature->arguments[signature->narguments];

    if (signature->narguments == DLPARK_SIGNATURE_MAX_ARGUMENTS)
        return dlpark__signature_refuse(parser, parser->token, "a signature has at most %d arguments",
                                        DLPARK_SIGNATURE_MAX_ARGUMENTS);
    DLPARK_TRY(signature_read_declaration(parser, argument));
    argument->tensor = -1;
    argument->kind = signature_scalar_kind(parser);
    if (argument->kind == DLPARK_SIGNATURE_TENSOR)
        DLPARK_TRY(signature_read_tensor(parser, argument));
    else
        dlpark__signature_advance(parser);
    signature->narguments++;
    signature->nrequired += !argument->is_optional;
    return DLPARK_OK;
}

static dlpark_status signature_read_arguments(dlpark__signature_parser *parser)
{
    const dlpark_signature *signature = parser->signature;

    if (!dlpark__signature_accept(parser, "("))
        return dlpark__signature_refuse_token(parser, "\"(\" behind the function's name");
    if (dlpark__signature_accept(parser, ")"))
        return DLPARK_OK;
    do
        DLPARK_TRY(signature_read_argument(parser));
    while (dlpark__signature_accept(parser, ","));
    if (dlpark__signature_accept(parser, ")"))
        return DLPARK_OK;
    if (signature->arguments[signature->narguments - 1].kind != DLPARK_SIGNATURE_TENSOR)
        return dlpark__signature_refuse_token(parser,
                                              "\",\" or \")\", as an argument that is no tensor takes no words");
    return dlpark__signature_refuse_token(parser, "\",\" or \")\"");
}

/* ---- What a call will need to know of a result ---- */

/* The argument that has a spec's dtype, which is a tensor. */
static const dlpark_signature_argument *signature_find_tensor(const dlpark_signature *signature, int32_t tensor)
{
    const dlpark_signature_argument *argument = signature->arguments;

    while (argument->tensor != tensor)
        argument++;
    return argument;
}

static bool signature_is_always_there(const dlpark_signature_argument *argument)
{
    return !argument->is_optional && (argument->spec.flags & DLPARK_SPEC_NONE) == 0;
}

/* The names of dimensions that every call binds. */
static uint32_t signature_bound_names(const dlpark_signature *signature)
{
    uint32_t bound = 0;

    for (int32_t i = 0; i < signature->nrequired; i++) {
        const dlpark_signature_argument *argument = &signature->arguments[i];
        for (int32_t j = 0; signature_is_always_there(argument) && j < argument->spec.ndims; j++)
            if (argument->spec.dims[j] < 0 && argument->spec.dims[j] != DLPARK_SPEC_DIM_ANY)
                bound |= UINT32_C(1) << ~argument->spec.dims[j];
    }
    return bound;
}

static dlpark_status signature_check_extents(const dlpark__signature_parser *parser, dlpark__signature_token token,
                                             const dlpark_spec *spec)
{
    uint32_t bound = signature_bound_names(parser->signature);

    for (int32_t i = 0; i < spec->ndims; i++) {
        int64_t dim = spec->dims[i];
        if (dim == DLPARK_SPEC_DIM_ANY)
            return dlpark__signature_refuse(parser, token,
                                            "a result has no \"_\": \"?\" is an extent that the function finds out");
        if (dim < 0 && dim != DLPARK_SPEC_DIM_UNKNOWN && (bound >> ~dim & 1) == 0)
            return dlpark__signature_refuse(parser, token,
                                            "the result's extent '%s' is that of no argument which is always given: "
                                            "\"?\" is an extent that the function finds out",
                                            spec->names->dims[~dim]);
    }
    return DLPARK_OK;
}

static dlpark_status signature_check_result(const dlpark__signature_parser *parser, dlpark__signature_token token,
                                            const dlpark_spec *spec)
{
    const uint32_t refused = DLPARK_SPEC_MUT | DLPARK_SPEC_NONE | DLPARK_SPEC_CONVERT;

    if ((spec->flags & refused) != 0)
        return dlpark__signature_refuse(parser, token, "a result has no \"mut\", \"none\" or \"convert\"");
    if (spec->same < 0 && spec->ndtypes != 1)
        return dlpark__signature_refuse(parser, token, "a result has one dtype, or that of an argument: same(...)");
    if (spec->same >= 0 && !signature_is_always_there(signature_find_tensor(parser->signature, spec->same)))
        return dlpark__signature_refuse(parser, token, "the result's dtype is that of '%s', which may be absent",
                                        spec->names->arguments[spec->same]);
    return signature_check_extents(parser, token, spec);
}

/* Whether a result is one that a call makes without a look at the rest of its spec. */
static bool signature_is_plain_result(const dlpark_spec *spec)
{
    bool is_plain = spec->ndims_extra == 0 && spec->alignment_bytes == 0 &&
                    (spec->flags & (DLPARK_SPEC_C | DLPARK_SPEC_F)) != DLPARK_SPEC_F &&
                    DLPARK_DEVICE_HAS(spec->device_types, DLPARK_DEVICE_CPU);

    for (int32_t i = 0; i < spec->ndims; i++)
        is_plain = is_plain && spec->dims[i] != DLPARK_SPEC_DIM_UNKNOWN;
    return is_plain;
}

static dlpark_status signature_read_result(dlpark__signature_parser *parser)
{
    dlpark_signature *signature = parser->signature;
    dlpark__signature_token token = parser->token;
    dlpark_spec *spec = &signature->results[signature->nresults];

    if (signature->nresults == DLPARK_SIGNATURE_MAX_RESULTS)
        return dlpark__signature_refuse(parser, token, "a signature has at most %d results",
                                        DLPARK_SIGNATURE_MAX_RESULTS);
    DLPARK_TRY(signature_read_spec(parser, NULL, spec));
    DLPARK_TRY(signature_check_result(parser, token, spec));
    if (signature_is_plain_result(spec))
        signature->plain_results |= UINT32_C(1) << signature->nresults;
    signature->nresults++;
    return DLPARK_OK;
}

static dlpark_status signature_read_results(dlpark__signature_parser *parser)
{
    if (parser->token.length == 0)
        return DLPARK_OK;
    if (!dlpark__signature_accept(parser, "->"))
        return dlpark__signature_refuse_token(parser, "\"->\" or the end");
    do
        DLPARK_TRY(signature_read_result(parser));
    while (dlpark__signature_accept(parser, ","));
    return parser->token.length == 0 ? DLPARK_OK : dlpark__signature_refuse_token(parser, "\",\" or the end");
}

static dlpark_status signature_read_all(dlpark__signature_parser *parser)
{
    dlpark_signature *signature = parser->signature;

    dlpark__signature_advance(parser);
    DLPARK_TRY(signature_read_name(parser, "the name of a function", signature->name, sizeof signature->name));
    DLPARK_TRY(signature_read_arguments(parser));
    return signature_read_results(parser);
}

dlpark_status dlpark_signature_parse(dlpark_signature *signature, const char *text, dlpark_error *err)
{
    dlpark__signature_parser parser = {.text = text, .length = strlen(text), .signature = signature, .err = err};

    memset(signature, 0, sizeof *signature);
    dlpark_status status = signature_read_all(&parser);
    if (status != DLPARK_OK)
        memset(signature, 0, sizeof *signature);
    return status;
}
