/*
 * Views of ordinary memory, and their elements.
 */
#include "../tensor/tensor_parts.h"
#include "array_parts.h"

#define ARRAY_OVERLAP_STEPS 10000

static dlpark_status array_refuse_field(const char *field, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            "%s is given, and a view ends nothing and allocates nothing: dlpark_tensor_new() takes it",
                            field);
}

static dlpark_status array_check_desc(const dlpark_tensor_desc *desc, dlpark_error *err)
{
    const dlpark_tensor none = DLPARK_TENSOR_EMPTY;

    DLPARK_TRY(dlpark__desc_check(&none, desc, err));
    if (desc->owner != NULL)
        return array_refuse_field("owner", err);
    if (desc->release != NULL)
        return array_refuse_field("release", err);
    if (desc->extra_nbytes != 0)
        return array_refuse_field("extra_nbytes", err);
    if (desc->storage != NULL)
        return array_refuse_field("storage", err);
    if (desc->allocator != NULL)
        return array_refuse_field("allocator", err);
    if (desc->flags & DLPARK_TENSOR_CLAIM_COPIED)
        return array_refuse_field("DLPARK_TENSOR_CLAIM_COPIED", err);
    return DLPARK_OK;
}

dlpark_status dlpark_array_view_sized(dlpark_view *view, const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                      dlpark_error *err)
{
    int64_t room[2 * DLPARK_MAX_NDIM] DLPARK_UNINITIALIZED;
    dlpark_tensor_desc known;
    DLTensor described;
    dlpark__span extent;

    DLPARK_TRY(dlpark__desc_read_sized(desc, desc_nbytes, &known, err));
    DLPARK_TRY(array_check_desc(&known, err));
    DLPARK_TRY(dlpark__desc_read_head(&known, &described, err));
    DLPARK_TRY(dlpark__desc_read_dimensions(&known, &described, room, &extent, err));
    uint64_t flags = dlpark__desc_flags(&known);
    DLPARK_TRY(dlpark__check_bytes(&described, flags, &extent, err));
    dlpark__tensor_normalise(&described, extent.numel);
    DLPARK_TRY(dlpark__desc_check_alignment(&known, &described, err));
    dlpark__view_fill(view, &described, (uint32_t)flags, extent.numel);
    return DLPARK_OK;
}

/* By the check of a raw tensor, which is made to be fast; the general way says what is wrong, and sees to views without
 * elements. */
dlpark_status dlpark__array_view_usual(dlpark_view *view, void *data, uint64_t kind, const int64_t *shape,
                                       const int64_t *strides, dlpark_error *err)
{
    DLTensor described = {.data = data,
                          .device = DLPARK_DEVICE_CPU,
                          .ndim = (int32_t)kind,
                          .dtype = DLPARK_DTYPE(kind >> 32, kind >> 40, kind >> 48),
                          .shape = dlpark__unconst(shape),
                          .strides = dlpark__unconst(strides)};

    if (DLPARK_LIKELY(dlpark_check(&described, 0, view, NULL) == DLPARK_OK && view->data != NULL)) {
        view->flags = 0; /* the caller says whose memory it is */
        return DLPARK_OK;
    }
    const dlpark_tensor_desc desc = {.data = data,
                                     .dtype = described.dtype,
                                     .ndim = described.ndim,
                                     .shape = {shape, -8, 0},
                                     .strides = {strides, strides != NULL ? -8 : 0, 0}};
    return dlpark_array_view_sized(view, &desc, sizeof desc, err);
}

/* ---- Strides ---- */

static dlpark_status array_check_ld(int32_t ndim, const int64_t *shape, int order, int64_t ld, dlpark_error *err)
{
    if (order != DLPARK_ROW_MAJOR && order != DLPARK_COLUMN_MAJOR)
        return dlpark__array_refuse_order(order, err);
    if (ld == 0)
        return DLPARK_OK;
    if (ndim < 2)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "ld is %lld, and rank %d has no leading dimension",
                                (long long)ld, (int)ndim);
    int32_t inner = order == DLPARK_ROW_MAJOR ? ndim - 1 : 0;
    if (ld < shape[inner])
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "ld is %lld, expected at least shape[%d], which is %lld",
                                (long long)ld, (int)inner, (long long)shape[inner]);
    return DLPARK_OK;
}

dlpark_status dlpark_array_strides(int32_t ndim, const int64_t *shape, int order, int64_t ld, int64_t *out,
                                   dlpark_error *err)
{
    int64_t strides[DLPARK_MAX_NDIM] DLPARK_UNINITIALIZED, numel, next = 1;
    bool fits = true;

    DLPARK_TRY(dlpark_layout_numel(ndim, shape, &numel, err));
    DLPARK_TRY(array_check_ld(ndim, shape, order, ld, err));
    for (int32_t step = 0; step < ndim; step++) {
        int32_t i = order == DLPARK_ROW_MAJOR ? ndim - 1 - step : step;
        int64_t extent = step == 0 && ld != 0 ? ld : shape[i];
        strides[i] = next;
        /* An extent of 0 counts as 1, as in dlpark_layout_compact_strides(). The last product is nobody's stride. */
        if (step < ndim - 1 && __builtin_mul_overflow(next, extent != 0 ? extent : 1, &next)) {
            fits = false;
            next = 0;
        }
    }
    if (!fits && numel != 0)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "the strides of shape %s with ld %lld leave 63 bits",
                                dlpark__layout_list(ndim, shape).text, (long long)ld);
    for (int32_t i = 0; i < ndim; i++)
        out[i] = strides[i];
    return DLPARK_OK;
}

/* ---- Elements ---- */

static dlpark_status array_check_elements(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes,
                                          dlpark_error *err)
{
    DLPARK_TRY(dlpark__view_check_dtype(view, dtype, err));
    if (dlpark__view_is_packed(view))
        return dlpark_error_set(err, DLPARK_E_DTYPE,
                                "elements of %s are packed and have no address: dlpark_element_read() reads them",
                                dlpark_dtype_name(dtype).text);
    DLPARK_TRY(dlpark__view_check_host(view, err));
    return dlpark__view_check_alignment(view, alignment_bytes, err);
}

static dlpark_status array_check_places(const dlpark_view *view, dlpark_error *err)
{
    dlpark__overlap found = dlpark__overlap_self(view, ARRAY_OVERLAP_STEPS);

    if (found == DLPARK__OVERLAP_NO)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_STRIDES, "elements %s in the same place: shape %s with strides %s",
                            found == DLPARK__OVERLAP_YES ? "are" : "may be",
                            dlpark__layout_list(view->ndim, view->shape).text,
                            dlpark__layout_list(view->ndim, view->strides).text);
}

const void *dlpark_array_borrow(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes, dlpark_error *err)
{
    if (array_check_elements(view, dtype, alignment_bytes, err) != DLPARK_OK)
        return NULL;
    return dlpark__view_address(view);
}

void *dlpark_array_borrow_mut(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes, dlpark_error *err)
{
    if (array_check_elements(view, dtype, alignment_bytes, err) != DLPARK_OK ||
        dlpark__view_check_write(view, err) != DLPARK_OK || array_check_places(view, err) != DLPARK_OK)
        return NULL;
    return dlpark__view_address(view);
}

/* The offset of an element in bytes, which a view's reach in bytes is known to hold. */
static dlpark_status array_find(const dlpark_view *view, int32_t count, const int64_t *index, int64_t *nbytes,
                                dlpark_error *err)
{
    int64_t offset = 0;

    if (count != view->ndim)
        return dlpark_error_set(err, DLPARK_E_RANK, "%d ind%s for rank %d", (int)count, count == 1 ? "ex" : "ices",
                                (int)view->ndim);
    for (int32_t i = 0; i < count; i++) {
        int64_t extent = view->shape[i];
        if (index[i] < -extent || index[i] >= extent)
            return dlpark_error_set(err, DLPARK_E_INDEX, "index %lld is out of range for dimension %d of extent %lld",
                                    (long long)index[i], (int)i, (long long)extent);
        offset += (index[i] < 0 ? index[i] + extent : index[i]) * view->strides[i];
    }
    *nbytes = offset * (int64_t)(dlpark__view_element_nbits(view) / 8);
    return DLPARK_OK;
}

const void *dlpark_array_element(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes, int32_t count,
                                 const int64_t *index, dlpark_error *err)
{
    int64_t nbytes = 0; /* gcc does not see that it is set */

    if (array_check_elements(view, dtype, alignment_bytes, err) != DLPARK_OK ||
        array_find(view, count, index, &nbytes, err) != DLPARK_OK)
        return NULL;
    return (const unsigned char *)view->data + nbytes;
}

void *dlpark_array_element_mut(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes, int32_t count,
                               const int64_t *index, dlpark_error *err)
{
    const void *element = dlpark_array_element(view, dtype, alignment_bytes, count, index, err);

    return element != NULL && dlpark__view_check_write(view, err) == DLPARK_OK ? dlpark__unconst(element) : NULL;
}
