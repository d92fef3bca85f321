/*
 * A view's extents and strides as ggml has them. ggml looks at neither before it computes, and then aborts on some of what is
 * refused here, or computes something else.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "ggml_parts.h"

/* The last extent, in elements: of blocks, as many as there are in their bytes. */
static dlpark_status gg_count_row(const dlpark_view *view, enum ggml_type type, int64_t *count, dlpark_error *err)
{
    int64_t block = ggml_blck_size(type), size = (int64_t)ggml_type_size(type);
    int64_t extent = view->ndim > 0 ? view->shape[view->ndim - 1] : 1;

    *count = extent;
    if (block < 2)
        return DLPARK_OK;
    if (view->ndim == 0 || extent % size != 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE,
                                "the last extent is %" PRId64 " bytes, not whole blocks of %s, of %" PRId64
                                " bytes each",
                                extent, ggml_type_name(type), size);
    if (__builtin_mul_overflow(extent / size, block, count))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "a row of %" PRId64 " bytes has too many elements of %s",
                                extent, ggml_type_name(type));
    return DLPARK_OK;
}

/* A stride that means nothing, of an extent of 1 or without elements: what ggml would say. */
static dlpark_status gg_fill_idle_stride(struct ggml_tensor *to, int i, dlpark_error *err)
{
    int64_t before = i == 1 ? to->ne[0] / ggml_blck_size(to->type) : to->ne[i - 1];

    if (__builtin_mul_overflow(to->nb[i - 1], before, &to->nb[i]))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW,
                                "nb[%d] would be %" PRId64 " times %zu bytes, more than the address space", i, before,
                                to->nb[i - 1]);
    return DLPARK_OK;
}

/* One stride, in bytes. Rows of blocks begin at whole blocks: some of ggml's loops count rows in them. */
static dlpark_status gg_fill_stride(struct ggml_tensor *to, const dlpark_view *view, int i, dlpark_error *err)
{
    int32_t dim = view->ndim - 1 - i;
    size_t size = dlpark_dtype_nbits(view->dtype) / 8, block = ggml_type_size(to->type);

    if (view->strides[dim] < 1)
        return dlpark_error_set(err, DLPARK_E_STRIDES,
                                "stride[%" PRId32 "] is %" PRId64
                                ": ggml has none below 0 and takes 0 for a transposed "
                                "tensor; the %" PRId64 " bytes would have to be copied by dlpark_copy()",
                                dim, view->strides[dim], dlpark_view_nbytes(view));
    if (__builtin_mul_overflow(view->strides[dim], size, &to->nb[i]))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW,
                                "stride[%" PRId32 "] is %" PRId64 " elements of %zu bytes, more than the address space",
                                dim, view->strides[dim], size);
    if (to->nb[i] % block != 0)
        return dlpark_error_set(err, DLPARK_E_STRIDES,
                                "stride[%" PRId32
                                "] is %zu bytes, not whole blocks of %s, of %zu bytes each; the %" PRId64
                                " bytes would have to be copied by dlpark_copy()",
                                dim, to->nb[i], ggml_type_name(to->type), block, dlpark_view_nbytes(view));
    return DLPARK_OK;
}

/* The last dimension: elements side by side. Others are what ggml_sum() reads wrongly, and ggml_add() aborts on. */
static dlpark_status gg_check_inner(const dlpark_view *view, bool empty, dlpark_error *err)
{
    int32_t last = view->ndim - 1;

    if (empty || last < 0 || view->shape[last] == 1 || view->strides[last] == 1)
        return DLPARK_OK;
    return dlpark_error_set(
        err, DLPARK_E_STRIDES,
        "stride[%" PRId32 "] is %" PRId64 ": ggml needs 1 in the last dimension. The %" PRId64
        " bytes would have to be copied, by dlpark_copy() before or by ggml_cont(), of a tensor with "
        "the dimensions in the order of their strides, in the graph",
        last, view->strides[last], dlpark_view_nbytes(view));
}

/* Fills in type, extents and strides; the rank is known to fit. */
static dlpark_status gg_fill_layout(struct ggml_tensor *to, const dlpark_view *view, enum ggml_type type,
                                    dlpark_error *err)
{
    bool empty = dlpark_view_numel(view) == 0;

    to->type = type;
    to->nb[0] = ggml_type_size(type);
    DLPARK_TRY(gg_count_row(view, type, &to->ne[0], err));
    DLPARK_TRY(gg_check_inner(view, empty, err));
    for (int i = 1; i < GGML_MAX_DIMS; i++) {
        int32_t dim = view->ndim - 1 - i;
        to->ne[i] = dim >= 0 ? view->shape[dim] : 1;
        if (empty || to->ne[i] == 1)
            DLPARK_TRY(gg_fill_idle_stride(to, i, err));
        else
            DLPARK_TRY(gg_fill_stride(to, view, i, err));
    }
    return DLPARK_OK;
}

/* Whether each step is past what the shorter steps reach: then no two elements meet. */
static dlpark_status gg_check_places(const struct ggml_tensor *tensor, dlpark_error *err)
{
    bool taken[GGML_MAX_DIMS] = {true};
    size_t reach = tensor->nb[0] * (size_t)(tensor->ne[0] / ggml_blck_size(tensor->type));

    for (int round = 1; round < GGML_MAX_DIMS; round++) {
        int next = -1;
        for (int i = 1; i < GGML_MAX_DIMS; i++)
            if (!taken[i] && tensor->ne[i] > 1 && (next < 0 || tensor->nb[i] < tensor->nb[next]))
                next = i;
        if (next < 0)
            return DLPARK_OK;
        if (tensor->nb[next] < reach)
            return dlpark_error_set(
                err, DLPARK_E_STRIDES,
                "nb[%d] would be %zu bytes, less than the %zu that lie before the next step: elements "
                "may share their places; say DLPARK_GGML_READ where ggml only reads them",
                next, tensor->nb[next], reach);
        taken[next] = true;
        reach += tensor->nb[next] * (size_t)(tensor->ne[next] - 1);
    }
    return DLPARK_OK;
}

/* Where element 0 may be: ggml's loops take it for a C array of the type. Blocks have no numbers above 4 bytes. */
static dlpark_status gg_check_address(const dlpark_view *view, enum ggml_type type, dlpark_error *err)
{
    uintptr_t address = (uintptr_t)view->data;
    size_t size = ggml_type_size(type), alignment = size & (~size + 1), most = ggml_blck_size(type) > 1 ? 4 : 8;

    if (alignment > most)
        alignment = most;
    if (address % alignment != 0)
        return dlpark_error_set(err, DLPARK_E_ALIGNMENT,
                                "element 0 is %zu bytes past a multiple of %zu; the %" PRId64
                                " bytes would have to be copied",
                                (size_t)(address % alignment), alignment, dlpark_view_nbytes(view));
    if (address < DLPARK__GGML_ALIGNMENT_NBYTES)
        return dlpark_error_set(err, DLPARK_E_DATA, "element 0 is said to be at address %zu", (size_t)address);
    return DLPARK_OK;
}

dlpark_status dlpark__ggml_layout(struct ggml_tensor *to, const dlpark_view *view, enum ggml_type type, uint32_t flags,
                                  dlpark_error *err)
{
    if (view->ndim > GGML_MAX_DIMS)
        return dlpark_error_set(err, DLPARK_E_RANK, "the rank is %" PRId32 ", ggml has %d dimensions at most",
                                view->ndim, GGML_MAX_DIMS);
    DLPARK_TRY(gg_fill_layout(to, view, type, err));
    if (view->data == NULL)
        return DLPARK_OK;
    DLPARK_TRY(gg_check_address(view, type, err));
    return (flags & DLPARK_GGML_READ) != 0 ? DLPARK_OK : gg_check_places(to, err);
}
