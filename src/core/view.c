#include <stddef.h>
#include <string.h>

#include "internal.h"

_Static_assert(DLPARK_VIEW_READ_ONLY == DLPACK_FLAG_BITMASK_READ_ONLY, "view flags are DLPack's bits");
_Static_assert(DLPARK_VIEW_PADDED == DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, "view flags are DLPack's bits");

/* What typed access to no elements answers: an address that is not NULL, aligned for any type, and never read. */
static _Alignas(64) unsigned char view_nothing[1];

void dlpark__view_fill(dlpark_view *view, const DLTensor *tensor, uint32_t flags, int64_t numel)
{
    DLTensor described = *tensor;

    dlpark__tensor_normalise(&described, numel);
    view->data = described.data;
    view->byte_offset = described.byte_offset;
    view->device = tensor->device;
    view->dtype = tensor->dtype;
    view->ndim = tensor->ndim;
    view->flags = flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_PADDED | DLPARK_VIEW_UNKNOWN_WRITE);
    if (!dlpark_dtype_is_packed(tensor->dtype))
        view->flags &= ~DLPARK_VIEW_PADDED;
    view->bit_offset = 0;
    memset(view->reserved, 0, sizeof view->reserved);
    for (int32_t i = 0; i < tensor->ndim; i++)
        view->shape[i] = tensor->shape[i];
    for (int32_t i = 0; tensor->strides != NULL && i < tensor->ndim; i++)
        view->strides[i] = tensor->strides[i];
}

int64_t dlpark_view_nbytes(const dlpark_view *view)
{
    int64_t nbytes = 0;

    (void)dlpark__view_count_bytes(view, dlpark_view_numel(view), &nbytes); /* checked to fit */
    return nbytes;
}

bool dlpark_view_is_compact(const dlpark_view *view)
{
    return view->bit_offset == 0 && dlpark_layout_is_compact(view->ndim, view->shape, view->strides);
}

void dlpark_view_copy(dlpark_view *to, const dlpark_view *from)
{
    size_t used = (size_t)from->ndim * sizeof from->shape[0];

    if (to == from)
        return;
    memcpy(to, from, offsetof(dlpark_view, shape));
    memcpy(to->shape, from->shape, used);
    memcpy(to->strides, from->strides, used);
}

dlpark_status dlpark__view_check_shapes(const dlpark_view *first, const dlpark_view *second,
                                        const dlpark__view_words *words, dlpark_error *err)
{
    if (first->ndim != second->ndim)
        return dlpark_error_set(err, DLPARK_E_RANK, "cannot %s shape %s %s shape %s", words->verb,
                                dlpark__layout_list(first->ndim, first->shape).text, words->joint,
                                dlpark__layout_list(second->ndim, second->shape).text);
    for (int32_t i = 0; i < first->ndim; i++)
        if (first->shape[i] != second->shape[i])
            return dlpark_error_set(err, DLPARK_E_SHAPE, "shape[%d] is %lld in %s and %lld in %s", (int)i,
                                    (long long)first->shape[i], words->first, (long long)second->shape[i],
                                    words->second);
    return DLPARK_OK;
}

dlpark_status dlpark__view_check_same(const dlpark_view *first, const dlpark_view *second,
                                      const dlpark__view_words *words, dlpark_error *err)
{
    if (!dlpark_dtype_equal(first->dtype, second->dtype))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "cannot %s %s %s %s", words->verb,
                                dlpark_dtype_name(first->dtype).text, words->joint,
                                dlpark_dtype_name(second->dtype).text);
    return dlpark__view_check_shapes(first, second, words, err);
}

dlpark_status dlpark__view_check_places(const dlpark_view *view, dlpark_error *err)
{
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->shape[i] > 1 && view->strides[i] == 0)
            return dlpark_error_set(err, DLPARK_E_STRIDES,
                                    "strides[%d] of the destination is 0 with extent %lld: its elements coincide",
                                    (int)i, (long long)view->shape[i]);
    return DLPARK_OK;
}

bool dlpark__view_meets(const dlpark_view *first, const dlpark_view *second)
{
    int64_t first_low = 0, first_high = 0, second_low = 0, second_high = 0; /* gcc does not see that they are set */
    uintptr_t first_data = (uintptr_t)first->data, second_data = (uintptr_t)second->data;

    dlpark__view_byte_range(first, &first_low, &first_high);
    dlpark__view_byte_range(second, &second_low, &second_high);
    return first_data + (uintptr_t)first_high > second_data + (uintptr_t)second_low &&
           second_data + (uintptr_t)second_high > first_data + (uintptr_t)first_low;
}

dlpark_status dlpark__view_check_byte(const dlpark_view *view, dlpark_error *err)
{
    if (view->bit_offset != 0)
        return dlpark_error_set(err, DLPARK_E_LAYOUT,
                                "the view begins at bit %u of its byte, which DLPack cannot express",
                                (unsigned)view->bit_offset);
    return DLPARK_OK;
}

dlpark_status dlpark_view_borrow_dltensor(dlpark_view *view, DLTensor *out, dlpark_error *err)
{
    DLPARK_TRY(dlpark__view_check_byte(view, err));
    *out = (DLTensor){
        .data = view->data,
        .device = view->device,
        .ndim = view->ndim,
        .dtype = view->dtype,
        .shape = view->ndim > 0 ? view->shape : NULL,
        .strides = view->ndim > 0 ? view->strides : NULL,
        .byte_offset = view->byte_offset,
    };
    return DLPARK_OK;
}

dlpark_status dlpark__view_check_write(const dlpark_view *view, dlpark_error *err)
{
    if (view->flags & DLPARK_VIEW_READ_ONLY)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY, "the tensor is read-only");
    if (view->flags & DLPARK_VIEW_UNKNOWN_WRITE)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY,
                                "the tensor does not say whether it may be written (legacy or raw origin): "
                                "dlpark_view_allow_write() allows it");
    return DLPARK_OK;
}

dlpark_status dlpark_view_allow_write(dlpark_view *view, dlpark_error *err)
{
    if (view->flags & DLPARK_VIEW_READ_ONLY)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY, "the tensor is read-only: its producer says so");
    view->flags &= ~DLPARK_VIEW_UNKNOWN_WRITE;
    return DLPARK_OK;
}

dlpark_status dlpark__view_check_host(const dlpark_view *view, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(!dlpark_device_is_host_accessible(view->device)))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "expected memory that the host can access, got %s",
                                dlpark_device_name(view->device).text);
    return DLPARK_OK;
}

void dlpark__view_byte_range(const dlpark_view *view, int64_t *lowest, int64_t *past_highest)
{
    dlpark__span span = {0, 0, 0};

    for (int32_t i = 0; i < view->ndim; i++)
        (void)dlpark__span_add(&span, view->shape[i], view->strides[i]); /* checked to fit, as are the bytes */
    uint32_t nbits = dlpark__view_element_nbits(view);
    if (DLPARK_LIKELY(nbits % 8 == 0)) {
        *lowest = span.lowest * (nbits / 8);
        *past_highest = (span.highest + 1) * (nbits / 8);
    } else {
        (void)dlpark__view_count_bytes(view, -span.lowest, lowest);
        (void)dlpark__view_count_bytes(view, span.highest + 1, past_highest);
        *lowest = -*lowest;
    }
    *past_highest += view->bit_offset != 0;
}

static DLPARK_COLD dlpark_status view_explain_layout(const dlpark_view *view, dlpark_error *err)
{
    return dlpark_error_set(
        err, DLPARK_E_LAYOUT, "expected elements compact in row-major order, got shape %s with strides %s%s",
        dlpark__layout_list(view->ndim, view->shape).text, dlpark__layout_list(view->ndim, view->strides).text,
        view->bit_offset != 0 ? " starting inside a byte" : "");
}

static dlpark_status view_check_compact(const dlpark_view *view, dlpark_error *err)
{
    DLPARK_TRY(dlpark__view_check_host(view, err));
    if (DLPARK_UNLIKELY(!dlpark_view_is_compact(view)))
        return view_explain_layout(view, err);
    return DLPARK_OK;
}

dlpark_status dlpark__view_check_dtype(const dlpark_view *view, DLDataType dtype, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(!dlpark_dtype_equal(view->dtype, dtype)))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "expected %s, got %s", dlpark_dtype_name(dtype).text,
                                dlpark_dtype_name(view->dtype).text);
    return DLPARK_OK;
}

dlpark_status dlpark__view_check_alignment(const dlpark_view *view, size_t alignment_bytes, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(((uintptr_t)view->data & (alignment_bytes - 1)) != 0))
        return dlpark_error_set(err, DLPARK_E_ALIGNMENT, "data %p is not aligned to %zu bytes, which %s needs",
                                view->data, alignment_bytes, dlpark_dtype_name(view->dtype).text);
    return DLPARK_OK;
}

static dlpark_status view_check_typed(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes,
                                      dlpark_error *err)
{
    DLPARK_TRY(dlpark__view_check_dtype(view, dtype, err));
    DLPARK_TRY(view_check_compact(view, err));
    return dlpark__view_check_alignment(view, alignment_bytes, err);
}

void *dlpark__view_address(const dlpark_view *view)
{
    return view->data != NULL ? view->data : view_nothing;
}

/* One dimension of the test for compactness, from the last to the first. */
static inline bool view_is_next(const dlpark_view *view, int32_t i, int64_t *expected)
{
    if (DLPARK_UNLIKELY(view->strides[i] != *expected) && view->shape[i] != 1)
        return false;
    *expected *= view->shape[i]; /* part of a count that is known to fit */
    return true;
}

/* dlpark__layout_is_dense() of a view with elements; the last four dimensions need no loop. With a call of that one the
 * row "check, DLPARK_CPU" of bench/check.c takes 8.4 ns for 6.5 at rank 1, and 11.7 for 7.6 at rank 4. */
static inline bool view_is_next_to_all(const dlpark_view *view)
{
    int64_t expected = 1;
    int32_t i = view->ndim - 1;

    for (; DLPARK_UNLIKELY(i > 3); i--)
        if (!view_is_next(view, i, &expected))
            return false;
    return (i < 3 || view_is_next(view, 3, &expected)) && (i < 2 || view_is_next(view, 2, &expected)) &&
           (i < 1 || view_is_next(view, 1, &expected)) && (i < 0 || view_is_next(view, 0, &expected));
}

/* Whether the elements are those of a usual view: on the CPU, of this dtype, aligned, and one after the other. */
static inline bool view_is_usual(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes)
{
    return DLPARK_LIKELY(memcmp(&view->dtype, &dtype, sizeof dtype) == 0 && view->device.device_type == kDLCPU &&
                         view->bit_offset == 0 && view->data != NULL &&
                         ((uintptr_t)view->data & (alignment_bytes - 1)) == 0) &&
           view_is_next_to_all(view);
}

static __attribute__((noinline)) void *view_cpu_unusual(const dlpark_view *view, DLDataType dtype,
                                                        size_t alignment_bytes, dlpark_error *err)
{
    return view_check_typed(view, dtype, alignment_bytes, err) == DLPARK_OK ? dlpark__view_address(view) : NULL;
}

const void *dlpark_view_cpu(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes, dlpark_error *err)
{
    if (DLPARK_LIKELY(view_is_usual(view, dtype, alignment_bytes)))
        return view->data;
    return view_cpu_unusual(view, dtype, alignment_bytes, err);
}

void *dlpark_view_cpu_mut(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes, dlpark_error *err)
{
    bool writable = (view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) == 0;

    if (DLPARK_LIKELY(writable && view_is_usual(view, dtype, alignment_bytes)))
        return view->data;
    void *address = view_cpu_unusual(view, dtype, alignment_bytes, err);
    return address != NULL && dlpark__view_check_write(view, err) == DLPARK_OK ? address : NULL;
}

const unsigned char *dlpark_view_bytes(const dlpark_view *view, int64_t *nbytes, dlpark_error *err)
{
    if (view_check_compact(view, err) != DLPARK_OK)
        return NULL;
    if (nbytes != NULL)
        *nbytes = dlpark_view_nbytes(view);
    return dlpark__view_address(view);
}

unsigned char *dlpark_view_bytes_mut(const dlpark_view *view, int64_t *nbytes, dlpark_error *err)
{
    if (view_check_compact(view, err) != DLPARK_OK || dlpark__view_check_write(view, err) != DLPARK_OK)
        return NULL;
    if (nbytes != NULL)
        *nbytes = dlpark_view_nbytes(view);
    return dlpark__view_address(view);
}
