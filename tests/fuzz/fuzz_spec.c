/*
 * Bytes as the specs of one call, one a line, and as views to match. A spec that can be parsed is printed and parsed
 * again: that must give the same spec and the same text. Matching must answer what a slow reading of the parsed spec
 * says, and bind what that binds.
 */
#include <string.h>

#include "fuzz.h"
#include <stdbool.h>

#include <dlpark/dlpark.h>

#define SPEC_MAX 4

typedef struct call {
    int count;
    dlpark_spec_names names;
    dlpark_spec specs[SPEC_MAX];
    char texts[SPEC_MAX][512];
} call;

static const char *const spec_arguments[SPEC_MAX] = {"a", "b", "c", "d"};

/* ---- Parse, print, parse ---- */

static bool spec_is_same(const dlpark_spec *a, const dlpark_spec *b)
{
    bool same = a->flags == b->flags && a->device_types == b->device_types && a->argument == b->argument &&
                a->same == b->same && a->ndtypes == b->ndtypes && a->ndims == b->ndims &&
                a->ndims_leading == b->ndims_leading && a->ndims_extra == b->ndims_extra &&
                a->ndevices == b->ndevices && a->framework == b->framework && a->alignment_bytes == b->alignment_bytes;

    for (int i = 0; same && i < a->ndtypes; i++)
        same = dlpark_dtype_equal(a->dtypes[i], b->dtypes[i]);
    for (int i = 0; same && i < a->ndevices; i++)
        same = dlpark_device_equal(a->devices[i], b->devices[i]);
    for (int i = 0; same && i < a->ndims; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

static void spec_again(const call *c, int which)
{
    static dlpark_spec_names names;
    dlpark_spec spec;
    char text[sizeof c->texts[0]];

    names.ndims = names.narguments = 0;
    for (int i = 0; i <= which; i++) {
        bool result = (c->specs[i].flags & DLPARK_SPEC_RESULT) != 0;
        FUZZ_WANT((result ? dlpark_spec_init_result(&spec, &names, c->texts[i], NULL)
                          : dlpark_spec_init(&spec, &names, spec_arguments[i], c->texts[i], NULL)) == DLPARK_OK);
    }
    FUZZ_WANT(spec_is_same(&spec, &c->specs[which]));
    FUZZ_WANT(dlpark_spec_text(&spec, NULL, text, sizeof text) < sizeof text);
    FUZZ_WANT(strcmp(text, c->texts[which]) == 0);
    FUZZ_WANT(names.ndims <= c->names.ndims && names.narguments <= c->names.narguments);
}

/* Entries past the counts are nobody's. */
static bool spec_same_names(const dlpark_spec_names *a, const dlpark_spec_names *b)
{
    return a->ndims == b->ndims && a->narguments == b->narguments &&
           memcmp(a->dims, b->dims, (size_t)a->ndims * sizeof a->dims[0]) == 0 &&
           memcmp(a->arguments, b->arguments, (size_t)a->narguments * sizeof a->arguments[0]) == 0;
}

static void spec_parse(call *c, const char *text, bool result)
{
    static dlpark_spec_names before;
    dlpark_spec *spec = &c->specs[c->count];
    dlpark_error err;
    char cut[8];

    before = c->names;
    dlpark_status status = result ? dlpark_spec_init_result(spec, &c->names, text, &err)
                                  : dlpark_spec_init(spec, &c->names, spec_arguments[c->count], text, &err);
    if (status != DLPARK_OK) {
        FUZZ_WANT(status == DLPARK_E_ARGUMENT && spec_same_names(&before, &c->names));
        return;
    }
    size_t length = dlpark_spec_text(spec, NULL, c->texts[c->count], sizeof c->texts[0]);
    if (length >= sizeof c->texts[0])
        return; /* a spec at all its limits */
    FUZZ_WANT(strlen(c->texts[c->count]) == length);
    FUZZ_WANT(dlpark_spec_text(spec, NULL, NULL, 0) == length);
    FUZZ_WANT(dlpark_spec_text(spec, NULL, cut, sizeof cut) == length);
    FUZZ_WANT(strncmp(cut, c->texts[c->count], sizeof cut - 1) == 0 && memchr(cut, 0, sizeof cut) != NULL);
    spec_again(c, c->count);
    c->count++;
}

/* ---- Matching, read slowly off the parsed spec ---- */

static dlpark_status spec_slow_dtype(const dlpark_spec *spec, const dlpark_view *view, const dlpark_spec_bound *bound)
{
    bool found = spec->ndtypes == 0;

    if (spec->same >= 0) {
        if ((bound->dtypes_known >> spec->same & 1) == 0)
            return DLPARK_E_ARGUMENT;
        return dlpark_dtype_equal(bound->dtypes[spec->same], view->dtype) ? DLPARK_OK : DLPARK_E_DTYPE;
    }
    for (int i = 0; i < spec->ndtypes; i++)
        found |= dlpark_dtype_equal(spec->dtypes[i], view->dtype);
    return found ? DLPARK_OK : DLPARK_E_DTYPE;
}

/* Binds as it goes, in a copy that the caller drops on failure. */
static dlpark_status spec_slow_shape(const dlpark_spec *spec, const dlpark_view *view, dlpark_spec_bound *bound)
{
    if (view->ndim < spec->ndims || view->ndim > spec->ndims + spec->ndims_extra)
        return DLPARK_E_RANK;
    for (int i = 0; i < spec->ndims; i++) {
        int at = i < spec->ndims_leading ? i : view->ndim - (spec->ndims - i);
        int64_t want = spec->dims[i], extent = view->shape[at];
        if (want == DLPARK_SPEC_DIM_ANY || want == DLPARK_SPEC_DIM_UNKNOWN)
            continue;
        if (want < 0) {
            if ((bound->dims_known >> ~want & 1) == 0) {
                bound->dims_known |= UINT32_C(1) << ~want;
                bound->dims[~want] = extent;
            }
            want = bound->dims[~want];
        }
        if (extent != want)
            return DLPARK_E_SHAPE;
    }
    return DLPARK_OK;
}

static bool spec_slow_device(const dlpark_spec *spec, const dlpark_view *view)
{
    bool found =
        spec->device_types == UINT32_MAX || (spec->device_types >> (uint32_t)view->device.device_type & 1) != 0;

    for (int i = 0; i < spec->ndevices; i++)
        found |= dlpark_device_equal(spec->devices[i], view->device);
    return found;
}

static bool spec_slow_layout(const dlpark_spec *spec, const dlpark_view *view)
{
    int64_t row = 1, column = 1;
    bool c = true, f = true,
         inner = view->ndim == 0 || view->shape[view->ndim - 1] == 1 || view->strides[view->ndim - 1] == 1;
    uint32_t wanted = spec->flags & (DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER);

    if (wanted == 0)
        return true;
    if (dlpark_view_numel(view) == 0)
        return true;
    if (view->bit_offset != 0 || (dlpark_dtype_is_packed(view->dtype) && (view->flags & DLPARK_VIEW_PADDED)))
        return false;
    for (int i = 0; i < view->ndim; i++) {
        int j = view->ndim - 1 - i;
        f = f && (view->shape[i] == 1 || view->strides[i] == column);
        c = c && (view->shape[j] == 1 || view->strides[j] == row);
        column *= view->shape[i];
        row *= view->shape[j];
    }
    return ((wanted & DLPARK_SPEC_C) && c) || ((wanted & DLPARK_SPEC_F) && f) ||
           ((wanted & DLPARK_SPEC_INNER) && inner);
}

/* A handle counts as aligned: what is known of its memory is the offset. */
static bool spec_slow_alignment(const dlpark_spec *spec, const dlpark_view *view)
{
    uint64_t address = view->byte_offset;

    if (spec->alignment_bytes == 0 || dlpark_view_numel(view) == 0)
        return true;
    if (view->device.device_type != kDLOpenCL && view->device.device_type != kDLMetal)
        address += (uint64_t)(uintptr_t)view->data;
    return view->bit_offset == 0 && address % spec->alignment_bytes == 0;
}

static dlpark_status spec_slow(const dlpark_spec *spec, const dlpark_view *view, dlpark_spec_bound *bound)
{
    DLPARK_TRY(spec_slow_dtype(spec, view, bound));
    DLPARK_TRY(spec_slow_shape(spec, view, bound));
    if (!spec_slow_device(spec, view))
        return DLPARK_E_DEVICE;
    if (!spec_slow_layout(spec, view))
        return DLPARK_E_LAYOUT;
    if ((spec->flags & DLPARK_SPEC_MUT) && (view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)))
        return DLPARK_E_READ_ONLY;
    if (!spec_slow_alignment(spec, view))
        return DLPARK_E_ALIGNMENT;
    if (spec->argument >= 0) {
        bound->dtypes_known |= UINT32_C(1) << spec->argument;
        bound->dtypes[spec->argument] = view->dtype;
    }
    return DLPARK_OK;
}

static bool spec_same_bound(const dlpark_spec_bound *a, const dlpark_spec_bound *b)
{
    bool same = a->dims_known == b->dims_known && a->dtypes_known == b->dtypes_known;

    for (int i = 0; same && i < DLPARK_SPEC_MAX_NAMES; i++)
        same = ((a->dims_known >> i & 1) == 0 || a->dims[i] == b->dims[i]) &&
               ((a->dtypes_known >> i & 1) == 0 || dlpark_dtype_equal(a->dtypes[i], b->dtypes[i]));
    return same;
}

static void spec_view(fuzz_input *in, dlpark_view *view)
{
    static const DLDataType dtypes[] = {{kDLFloat, 32, 1}, {kDLUInt, 8, 1},     {kDLInt, 4, 1}, {kDLFloat, 64, 1},
                                        {kDLBool, 8, 1},   {kDLComplex, 64, 1}, {kDLInt, 64, 1}};
    static const DLDeviceType devices[] = {kDLCPU, kDLCUDA, kDLCUDAHost, kDLROCM, kDLOpenCL, kDLMetal};
    int64_t shape[4], strides[4];
    uint8_t kind = fuzz_byte(in);
    DLTensor tensor = {.shape = shape, .strides = strides, .ndim = kind % 5};

    tensor.dtype = dtypes[fuzz_choice(in, 7)];
    tensor.device.device_type = devices[fuzz_choice(in, 32) % 8 % 6];
    tensor.device.device_id = kind / 5 % 8 == 0 ? 1 : 0;
    tensor.data = (void *)(uintptr_t)(0x10000000u + (kind & 64 ? fuzz_byte(in) : 0));
    for (int i = 0; i < tensor.ndim; i++) {
        shape[i] = fuzz_choice(in, 6);
        strides[i] = fuzz_choice(in, 8);
    }
    if (kind & 128)
        FUZZ_WANT(dlpark_layout_compact_strides(tensor.ndim, shape, strides, NULL) == DLPARK_OK);
    FUZZ_WANT(dlpark_check(&tensor, kind / 16 & 5, view, NULL) == DLPARK_OK);
    if (kind & 8)
        FUZZ_WANT(dlpark_view_allow_write(view, NULL) == (view->flags & 1 ? DLPARK_E_READ_ONLY : DLPARK_OK));
}

static void spec_match_all(fuzz_input *in, const call *c)
{
    static dlpark_spec_bound bound, slow, before, trial;
    static dlpark_view view;
    int64_t shape[DLPARK_SPEC_MAX_DIMS];
    DLDataType dtype;
    char text[512];

    dlpark_spec_bound_init(&bound);
    dlpark_spec_bound_init(&slow);
    for (int i = 0; i < c->count; i++) {
        spec_view(in, &view);
        before = bound;
        trial = slow;
        dlpark_status expected = spec_slow(&c->specs[i], &view, &trial);
        if (expected == DLPARK_OK)
            slow = trial;
        FUZZ_WANT(dlpark_spec_match(&c->specs[i], &view, &bound, NULL) == expected);
        FUZZ_WANT(spec_same_bound(&bound, &slow));
        if (expected == DLPARK_OK)
            continue;
        dlpark_error err;
        FUZZ_WANT(dlpark_spec_match(&c->specs[i], &view, &bound, &err) == expected && err.status == expected);
        FUZZ_WANT(memchr(err.message, 0, sizeof err.message) != NULL);
        FUZZ_WANT(spec_same_bound(&bound, &before));
        dlpark_status asked = dlpark_spec_shape(&c->specs[i], &bound, shape, NULL);
        FUZZ_WANT(asked == DLPARK_OK || asked == DLPARK_E_ARGUMENT);
        asked = dlpark_spec_dtype(&c->specs[i], &bound, &dtype, NULL);
        FUZZ_WANT(asked == DLPARK_OK || asked == DLPARK_E_ARGUMENT);
        (void)dlpark_spec_text(&c->specs[i], &bound, text, sizeof text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static call c;
    char text[1024];
    size_t head = size < 24 ? size : 24, at = head, length;
    fuzz_input in = {data, head};

    memset(&c, 0, sizeof c);
    while (at < size && c.count < SPEC_MAX) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        length = (end != NULL ? (size_t)(end - data) : size) - at;
        bool result = length > 0 && data[at] == '>';
        if (length < sizeof text) {
            memcpy(text, data + at, length);
            text[length] = 0;
            spec_parse(&c, text + result, result);
        }
        at += length + 1;
    }
    spec_match_all(&in, &c);
    return 0;
}
