#include <string.h>

#include "spec_parts.h"

/* What a call's names stand for while a view is compared: the extents are written at once, and count when the whole
 * view has matched. */
typedef struct spec_binding {
    uint32_t known;
    int64_t *dims;
} spec_binding;

static inline uint32_t spec_pack_dtype(DLDataType dtype)
{
    return (uint32_t)dtype.code | (uint32_t)dtype.bits << 8 | (uint32_t)dtype.lanes << 16;
}

/* Whether the spec says this dtype. */
static inline bool spec_has_dtype(const dlpark_spec *spec, const dlpark_view *view, const dlpark_spec_bound *bound)
{
    uint32_t dtype = spec_pack_dtype(view->dtype);

    for (int32_t i = 0; i < spec->ndtypes; i++)
        if (spec_pack_dtype(spec->dtypes[i]) == dtype)
            return true;
    if (spec->ndtypes != 0)
        return false;
    return spec->same < 0 ||
           ((bound->dtypes_known >> spec->same & 1) != 0 && spec_pack_dtype(bound->dtypes[spec->same]) == dtype);
}

/* Whether the spec's own argument has been matched in this call with another dtype. */
static inline bool spec_had_another(const dlpark_spec *spec, const dlpark_view *view, const dlpark_spec_bound *bound)
{
    return spec->argument >= 0 && (bound->dtypes_known >> spec->argument & 1) != 0 &&
           spec_pack_dtype(bound->dtypes[spec->argument]) != spec_pack_dtype(view->dtype);
}

static inline bool spec_rank_fits(const dlpark_spec *spec, const dlpark_view *view)
{
    return (uint32_t)(view->ndim - spec->ndims) <= (uint32_t)spec->ndims_extra;
}

static inline bool spec_dim_fits(int64_t wanted, int64_t extent, spec_binding *binding)
{
    if (wanted >= 0)
        return wanted == extent;
    if (wanted <= DLPARK_SPEC_DIM_UNKNOWN)
        return true;

    uint32_t name = (uint32_t)~wanted;
    if ((binding->known >> name & 1) != 0)
        return binding->dims[name] == extent;
    binding->known |= UINT32_C(1) << name;
    binding->dims[name] = extent;
    return true;
}

/* The rank fits. */
static inline bool spec_dims_fit(const dlpark_spec *spec, const dlpark_view *view, spec_binding *binding)
{
    const int64_t *trailing = view->shape + (view->ndim - spec->ndims); /* past what `...` stands for */

    for (int32_t i = 0; i < spec->ndims_leading; i++)
        if (DLPARK_UNLIKELY(!spec_dim_fits(spec->dims[i], view->shape[i], binding)))
            return false;
    for (int32_t i = spec->ndims_leading; i < spec->ndims; i++)
        if (DLPARK_UNLIKELY(!spec_dim_fits(spec->dims[i], trailing[i], binding)))
            return false;
    return true;
}

static inline bool spec_device_fits(const dlpark_spec *spec, const dlpark_view *view)
{
    if (DLPARK_LIKELY(DLPARK_DEVICE_HAS(spec->device_types, view->device)))
        return true;
    for (int32_t i = 0; i < spec->ndevices; i++)
        if (dlpark_device_equal(spec->devices[i], view->device))
            return true;
    return false;
}

/* Whether elements follow each other along the dimensions `first`, `first + step`, ... Products may wrap only beside an
 * extent of 0, where the answer is yes anyway. A loop of its own: dlpark__layout_is_dense() costs a match a fifth more. */
static inline bool spec_is_compact(const dlpark_view *view, int32_t first, int32_t step)
{
    uint64_t expected = 1;
    bool compact = true, empty = false;

    for (int32_t n = 0, i = first; n < view->ndim; n++, i += step) {
        compact &= (uint64_t)view->strides[i] == expected || view->shape[i] == 1;
        empty |= view->shape[i] == 0;
        expected *= (uint64_t)view->shape[i];
    }
    return compact || empty;
}

static inline bool spec_is_inner(const dlpark_view *view)
{
    int32_t last = view->ndim - 1;

    return last < 0 || view->strides[last] == 1 || view->shape[last] == 1 || dlpark_view_numel(view) == 0;
}

/* Elements narrower than bytes that do not share them. The flag first: it is hardly ever there. */
static inline bool spec_is_padded(const dlpark_view *view)
{
    return (view->flags & DLPARK_VIEW_PADDED) != 0 && dlpark_dtype_is_packed(view->dtype);
}

static inline bool spec_layout_fits(const dlpark_spec *spec, const dlpark_view *view)
{
    if ((spec->flags & (DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER)) == 0)
        return true;
    if (DLPARK_UNLIKELY(view->bit_offset != 0 || spec_is_padded(view)))
        return dlpark_view_numel(view) == 0;
    if ((spec->flags & DLPARK_SPEC_C) != 0 && DLPARK_LIKELY(spec_is_compact(view, view->ndim - 1, -1)))
        return true;
    if ((spec->flags & DLPARK_SPEC_F) != 0)
        return spec_is_compact(view, 0, 1);
    return (spec->flags & DLPARK_SPEC_INNER) != 0 && spec_is_inner(view);
}

static inline bool spec_write_fits(const dlpark_spec *spec, const dlpark_view *view)
{
    return (spec->flags & DLPARK_SPEC_MUT) == 0 ||
           (view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) == 0;
}

/* The lowest bit of element 0's address that is set is its alignment; on a device of handles that of its offset. */
static inline uint64_t spec_address(const dlpark_view *view)
{
    uint64_t base = dlpark_device_is_addressable(view->device) ? (uint64_t)(uintptr_t)view->data : 0;

    return base + view->byte_offset;
}

static inline bool spec_alignment_fits(const dlpark_spec *spec, const dlpark_view *view)
{
    if (DLPARK_LIKELY(spec->alignment_bytes == 0))
        return true;
    return ((spec_address(view) & (spec->alignment_bytes - 1)) == 0 && view->bit_offset == 0) ||
           dlpark_view_numel(view) == 0;
}

/* ---- What most specs are ---- */

/* A name's extent, or the name from now on; `_` and `?` have no index, and take any. */
static inline bool spec_name_fits(uint64_t name, int64_t extent, spec_binding *binding)
{
    if (DLPARK_UNLIKELY(name >= DLPARK_SPEC_MAX_NAMES))
        return true;
    if ((binding->known >> name & 1) != 0)
        return binding->dims[name] == extent;
    binding->known |= UINT32_C(1) << name;
    binding->dims[name] = extent;
    return true;
}

/* Names, numbers and compactness in one pass, which takes half the time of two (bench/spec.c). */
static inline bool spec_dims_fit_plainly(const dlpark_spec *spec, const dlpark_view *view, spec_binding *binding)
{
    int64_t expected = 1;

    for (int64_t i = view->ndim - 1; i >= 0; i--) {
        int64_t extent = view->shape[i], wanted = spec->dims[i];
        if (DLPARK_UNLIKELY(view->strides[i] != expected) && extent != 1)
            return false;
        if (DLPARK_UNLIKELY(wanted >= 0 ? wanted != extent : !spec_name_fits(~(uint64_t)wanted, extent, binding)))
            return false;
        expected = (int64_t)((uint64_t)expected * (uint64_t)extent);
    }
    return true;
}

/* One dtype, a rank, `c`, nothing about alignment. False also for what only the general way below can tell. */
static inline bool spec_matches_plainly(const dlpark_spec *spec, const dlpark_view *view, spec_binding *binding)
{
    const uint32_t layouts = DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER;
    uint32_t type = (uint32_t)view->device.device_type;

    if ((spec->flags & layouts) != DLPARK_SPEC_C || spec->ndims_extra != 0 || view->ndim != spec->ndims ||
        spec->ndtypes != 1 || spec_pack_dtype(spec->dtypes[0]) != spec_pack_dtype(view->dtype) ||
        (view->bit_offset | (view->flags & DLPARK_VIEW_PADDED)) != 0 || spec->alignment_bytes != 0 || type > 31 ||
        (spec->device_types >> type & 1) == 0 || !spec_write_fits(spec, view))
        return false;
    return spec_dims_fit_plainly(spec, view, binding); /* the one dtype is also what it had before in this call */
}

/* ---- Failure ---- */

/* What came: dtype and shape, and whatever else does not match. */
static dlpark__spec_line spec_describe(const dlpark_spec *spec, const dlpark_view *view)
{
    dlpark__spec_line line;
    dlpark__sink sink;

    dlpark__sink_begin(&sink, line.text, sizeof line.text);
    dlpark__sink_text(&sink, dlpark_dtype_name(view->dtype).text);
    dlpark__sink_list(&sink, view->ndim, view->shape, ",");
    if (!spec_device_fits(spec, view)) {
        dlpark__sink_text(&sink, " on ");
        dlpark__sink_text(&sink, dlpark_device_name(view->device).text);
    }
    if (!spec_layout_fits(spec, view)) {
        dlpark__sink_text(&sink, " strides ");
        dlpark__sink_list(&sink, view->ndim, view->strides, ",");
        dlpark__sink_text(&sink, spec_is_padded(view) ? " padded" : "");
    }
    if (view->bit_offset != 0)
        dlpark__sink_text(&sink, " starting inside a byte");
    if (!spec_write_fits(spec, view))
        dlpark__sink_text(&sink, (view->flags & DLPARK_VIEW_READ_ONLY) != 0
                                     ? " read-only"
                                     : " of unknown writability (legacy or raw origin)");
    if (!spec_alignment_fits(spec, view) && view->bit_offset == 0) {
        uint64_t address = spec_address(view);
        dlpark__sink_text(&sink, " aligned to ");
        dlpark__sink_integer(&sink, (int64_t)(address & (~address + 1)));
    }
    dlpark__sink_end_marked(&sink);
    return line;
}

/* The first thing that does not match. */
static dlpark_status spec_fault(const dlpark_spec *spec, const dlpark_view *view, dlpark_spec_bound *bound)
{
    spec_binding binding = {bound->dims_known, bound->dims};

    if (!spec_has_dtype(spec, view, bound))
        return DLPARK_E_DTYPE;
    if (!spec_rank_fits(spec, view))
        return DLPARK_E_RANK;
    if (!spec_dims_fit(spec, view, &binding))
        return DLPARK_E_SHAPE;
    if (!spec_device_fits(spec, view))
        return DLPARK_E_DEVICE;
    if (!spec_layout_fits(spec, view))
        return DLPARK_E_LAYOUT;
    return spec_write_fits(spec, view) ? DLPARK_E_ALIGNMENT : DLPARK_E_READ_ONLY;
}

static DLPARK_COLD dlpark_status spec_explain(const dlpark_spec *spec, const dlpark_view *view,
                                              dlpark_spec_bound *bound, dlpark_error *err)
{
    const char *name = spec->argument >= 0 ? spec->names->arguments[spec->argument] : "";
    const char *before = spec->argument >= 0 ? "argument '" : "";
    const char *after = spec->argument >= 0 ? "': " : (spec->flags & DLPARK_SPEC_RESULT) != 0 ? "result: " : "";

    if (spec->same >= 0 && (bound->dtypes_known >> spec->same & 1) == 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "%s%s%sexpected the dtype of argument '%s', which was not matched in this call", before,
                                name, after, spec->names->arguments[spec->same]);
    if (spec_has_dtype(spec, view, bound) && spec_had_another(spec, view, bound))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "%s%s%sexpected %s, as matched before in this call, got %s",
                                before, name, after, dlpark_dtype_name(bound->dtypes[spec->argument]).text,
                                dlpark_dtype_name(view->dtype).text);
    return dlpark_error_set(err, spec_fault(spec, view, bound), "%s%s%sexpected %s, got %s", before, name, after,
                            dlpark__spec_line_of(spec, bound).text, spec_describe(spec, view).text);
}

static inline dlpark_status spec_bind(const dlpark_spec *spec, const dlpark_view *view, dlpark_spec_bound *bound,
                                      uint32_t known)
{
    bound->dims_known = known;
    if (spec->argument >= 0) {
        bound->dtypes[spec->argument] = view->dtype;
        bound->dtypes_known |= UINT32_C(1) << spec->argument;
    }
    return DLPARK_OK;
}

/* Out of line, so that what most specs are does not save its registers. */
static __attribute__((noinline)) dlpark_status spec_match_any(const dlpark_spec *spec, const dlpark_view *view,
                                                              dlpark_spec_bound *bound, dlpark_error *err)
{
    spec_binding binding = {bound->dims_known, bound->dims};

    if (DLPARK_UNLIKELY(spec->names == NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the spec was not initialised: dlpark_spec_init() makes one");
    /* What the argument had before is asked last, as it costs less there; the explanation puts it first. */
    if (DLPARK_UNLIKELY(!spec_has_dtype(spec, view, bound) || !spec_rank_fits(spec, view) ||
                        !spec_dims_fit(spec, view, &binding) || !spec_device_fits(spec, view) ||
                        !spec_layout_fits(spec, view) || !spec_write_fits(spec, view) ||
                        !spec_alignment_fits(spec, view) || spec_had_another(spec, view, bound)))
        return spec_explain(spec, view, bound, err);
    return spec_bind(spec, view, bound, binding.known);
}

dlpark_status dlpark_spec_match(const dlpark_spec *spec, const dlpark_view *view, dlpark_spec_bound *bound,
                                dlpark_error *err)
{
    spec_binding binding = {bound->dims_known, bound->dims};

    if (DLPARK_LIKELY(spec_matches_plainly(spec, view, &binding)))
        return spec_bind(spec, view, bound, binding.known);
    return spec_match_any(spec, view, bound, err);
}
