/*
 * The check: the usual tensor in one pass, in registers; any other by the general arithmetic. Only the verdict is made
 * here. What a refused tensor is refused for, check_broken.c says.
 */
#include <string.h>

#include "../pair.h"
#include "../usual.h"
#include "check_parts.h"

_Static_assert(DLPARK__FLAGS_KNOWN == 7, "known flags are compared as one number");

/* What a view says of writing: nothing is unknown of what must not be written. */
static inline uint32_t check_view_flags(uint64_t flags, uint32_t write)
{
    return flags & DLPARK_VIEW_READ_ONLY ? DLPARK_VIEW_READ_ONLY : write;
}

/* ---- The general way ---- */

static bool check_head_is_right(const DLTensor *tensor)
{
    return tensor->ndim >= 0 && tensor->ndim <= DLPARK_MAX_NDIM && (tensor->ndim == 0 || tensor->shape != NULL) &&
           (dlpark__dtype_is_usual(tensor->dtype) || dlpark_dtype_check(tensor->dtype, NULL) == DLPARK_OK) &&
           dlpark_device_check(tensor->device, NULL) == DLPARK_OK;
}

dlpark_status dlpark__check_head(const DLTensor *tensor, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(!check_head_is_right(tensor)))
        return dlpark__check_explain(tensor, 0, false, err);
    return DLPARK_OK;
}

bool dlpark__check_reach(const DLTensor *tensor, uint64_t flags, const dlpark__span *extent, int64_t *below,
                         int64_t *above)
{
    bool padded = (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
    int64_t compact;

    return dlpark__layout_bytes(tensor->dtype, padded, -extent->lowest, below) &&
           dlpark__layout_bytes(tensor->dtype, padded, extent->highest + 1, above) &&
           dlpark__layout_bytes(tensor->dtype, padded, extent->numel, &compact);
}

bool dlpark__check_address(const DLTensor *tensor, int64_t below, int64_t above)
{
    /* A handle is no address: there the reach must fit between byte_offset and its limits. No element lies at address 0,
     * so that data which is NULL tells a view without elements. */
    bool addressable = dlpark_device_is_addressable(tensor->device);
    uint64_t base = addressable ? (uint64_t)(uintptr_t)tensor->data : 0;
    uint64_t limit = addressable ? UINTPTR_MAX : INT64_MAX;
    uint64_t first, last;

    return tensor->byte_offset <= INT64_MAX && !__builtin_add_overflow(base, tensor->byte_offset, &first) &&
           first >= (uint64_t)below + addressable && !__builtin_add_overflow(first, (uint64_t)above - 1, &last) &&
           last <= limit;
}

dlpark_status dlpark__check_bytes(const DLTensor *tensor, uint64_t flags, const dlpark__span *extent, dlpark_error *err)
{
    int64_t below, above;

    if (extent->numel == 0)
        return DLPARK_OK;
    if (DLPARK_UNLIKELY(tensor->data == NULL || !dlpark__check_reach(tensor, flags, extent, &below, &above) ||
                        !dlpark__check_address(tensor, below, above)))
        return dlpark__check_explain(tensor, flags, true, err);
    return DLPARK_OK;
}

static dlpark_status check_scan(const DLTensor *tensor, dlpark_view *view, dlpark__span *extent, dlpark_error *err)
{
    int64_t scratch[DLPARK_MAX_NDIM] DLPARK_UNINITIALIZED;

    if (tensor->strides != NULL)
        return dlpark__layout_scan(tensor->ndim, tensor->shape, tensor->strides, extent, err);
    return dlpark__layout_fill(tensor->ndim, tensor->shape, view != NULL ? view->strides : scratch, extent, err);
}

static __attribute__((noinline)) dlpark_status check_unusual(const DLTensor *tensor, uint64_t flags, uint32_t write,
                                                             bool *empty, dlpark_view *view, dlpark_error *err)
{
    dlpark__span extent;

    if (DLPARK_UNLIKELY((flags & ~DLPARK__FLAGS_KNOWN) != 0 || !check_head_is_right(tensor)))
        return dlpark__check_explain(tensor, flags, true, err);
    DLPARK_TRY(check_scan(tensor, view, &extent, err));
    DLPARK_TRY(dlpark__check_bytes(tensor, flags, &extent, err));
    if (view != NULL)
        dlpark__view_fill(view, tensor, ((uint32_t)flags & DLPARK_VIEW_PADDED) | check_view_flags(flags, write),
                          extent.numel);
    *empty = extent.numel == 0;
    return DLPARK_OK;
}

/* ---- The usual way ---- */

/* Addressable devices other than the CPU, each a bit. */
#define CHECK_DEVICES                                                                                                  \
    (DLPARK_DEVICE_BIT(kDLCUDA) | DLPARK_DEVICE_BIT(kDLCUDAHost) | DLPARK_DEVICE_BIT(kDLROCM) |                        \
     DLPARK_DEVICE_BIT(kDLROCMHost) | DLPARK_DEVICE_BIT(kDLCUDAManaged))

/* Extents less 1 up to this keep the count of elements of 16 bytes within 63 bits, for each of the short ranks. Of any
 * rank, the count below 2^59 keeps the reach below 2^58. */
static const uint32_t check_roots[DLPARK__USUAL_SHORT + 1] = {0, (1 << 28) - 1, (1 << 28) - 1, (1 << 19) - 1,
                                                              (1 << 14) - 1};

static DLPARK__USUAL_INLINE bool check_device(DLDevice device)
{
    const DLDevice cpu = DLPARK_DEVICE_CPU;

    return DLPARK_LIKELY(memcmp(&device, &cpu, sizeof cpu) == 0) ||
           (DLPARK_DEVICE_HAS(CHECK_DEVICES, device) && device.device_id >= 0);
}

/* What a pass over given dimensions gathers. Meaningless unless everything in it was below the limits. */
typedef struct check_sum {
    uint64_t extents; /* less 1, or-ed: an extent of 0 is as large as a negative one */
    uint64_t strides; /* or-ed */
    uint64_t highest; /* element */
    bool overflow;    /* of the element count, where that has been counted */
} check_sum;

static DLPARK__USUAL_INLINE void check_add(check_sum *sum, const int64_t *shape, const int64_t *strides,
                                           dlpark_view *view, size_t i)
{
    uint64_t extent = (uint64_t)shape[i], stride = (uint64_t)strides[i];

    if (view != NULL) {
        view->shape[i] = (int64_t)extent;
        view->strides[i] = (int64_t)stride;
    }
    sum->extents |= extent - 1;
    sum->strides |= stride;
    sum->highest += (extent - 1) * stride;
}

/* Measures up to four given dimensions, and copies them on the way where there is a view. */
static DLPARK__USUAL_INLINE check_sum check_pass_short(int32_t ndim, const int64_t *shape, const int64_t *strides,
                                                       dlpark_view *view)
{
    check_sum sum = {0, 0, 0, false};

    switch (ndim) {
    case 4:
        check_add(&sum, shape, strides, view, 3);
        /* fallthrough */
    case 3:
        check_add(&sum, shape, strides, view, 2);
        /* fallthrough */
    case 2:
        check_add(&sum, shape, strides, view, 1);
        /* fallthrough */
    case 1:
        check_add(&sum, shape, strides, view, 0);
        /* fallthrough */
    default:
        return sum;
    }
}

/* The same of any rank, two dimensions at a time. */
static DLPARK__USUAL_INLINE check_sum check_pass_long(size_t ndim, const int64_t *shape, const int64_t *strides,
                                                      dlpark_view *view)
{
    check_sum sum = {0, 0, 0, false};
    int64_t numel = 1;
    size_t i = ndim & 1;

    if (i != 0) {
        check_add(&sum, shape, strides, view, 0);
        numel = shape[0];
    }
    for (; i < ndim; i += 2) {
        if (view != NULL) {
            dlpark__pair_store(view->shape + i, dlpark__pair_load(shape + i));
            dlpark__pair_store(view->strides + i, dlpark__pair_load(strides + i));
        }
        check_add(&sum, shape, strides, NULL, i);
        check_add(&sum, shape, strides, NULL, i + 1);
        /* Below the limit, the product of two fits. */
        sum.overflow |= __builtin_mul_overflow(numel, (int64_t)((uint64_t)shape[i] * (uint64_t)shape[i + 1]), &numel);
    }
    sum.overflow |= numel > INT64_MAX / 16;
    return sum;
}

/* The same with compact strides, which are made on the way, from the last dimension to the first. */
static DLPARK__USUAL_INLINE check_sum check_pass_compact(int32_t ndim, const int64_t *shape, dlpark_view *view)
{
    check_sum sum = {0, 0, 0, false};
    int64_t numel = 1;

    for (int32_t i = ndim - 1; i >= 0; i--) {
        int64_t extent = shape[i];
        if (view != NULL) {
            view->shape[i] = extent;
            view->strides[i] = numel;
        }
        sum.extents |= (uint64_t)extent - 1;
        sum.overflow |= __builtin_mul_overflow(numel, extent, &numel);
    }
    sum.overflow |= numel > INT64_MAX / 16;
    sum.highest = (uint64_t)numel - 1;
    return sum;
}

/* Whether the bytes of the elements exist. One less than NULL is as high as an address can be. */
static DLPARK__USUAL_INLINE bool check_place(const DLTensor *tensor, uint64_t highest, uint32_t nbytes)
{
    uintptr_t last;

    return !__builtin_add_overflow((uintptr_t)tensor->data - 1, tensor->byte_offset, &last) &&
           !__builtin_add_overflow(last, (highest + 1) * nbytes, &last);
}

static DLPARK__USUAL_INLINE check_sum check_pass(const DLTensor *tensor, bool is_short, dlpark_view *view)
{
    if (is_short)
        return check_pass_short(tensor->ndim, tensor->shape, tensor->strides, view);
    if (tensor->strides == NULL)
        return check_pass_compact(tensor->ndim, tensor->shape, view);
    return check_pass_long((uint32_t)tensor->ndim, tensor->shape, tensor->strides, view);
}

/* Whether a tensor of a rank in range is right, and of the kind that this way knows; then fills the view, if there is
 * one. The dimensions go first: what is looked at after them need not be kept meanwhile. */
static DLPARK__USUAL_INLINE bool check_usual(const DLTensor *tensor, uint64_t flags, uint32_t write, bool is_short,
                                             dlpark_view *view)
{
    uint32_t nbytes;

    if (DLPARK_UNLIKELY(tensor->shape == NULL || (is_short && tensor->strides == NULL)))
        return false;
    check_sum sum = check_pass(tensor, is_short, view);
    if (DLPARK_UNLIKELY(sum.overflow || sum.extents > (is_short ? check_roots[tensor->ndim] : DLPARK__USUAL_LIMIT) ||
                        (sum.strides | tensor->byte_offset) >= DLPARK__USUAL_LIMIT || flags > DLPARK__FLAGS_KNOWN ||
                        !check_device(tensor->device) || !dlpark__usual_dtype(tensor->dtype, &nbytes) ||
                        !check_place(tensor, sum.highest, nbytes)))
        return false;
    if (view != NULL) {
        view->data = dlpark__address(tensor->data, tensor->byte_offset);
        view->byte_offset = 0;
        view->device = tensor->device;
        view->dtype = tensor->dtype;
        view->ndim = tensor->ndim;
        view->flags = check_view_flags(flags, write); /* PADDED means nothing of whole bytes */
        view->bit_offset = 0;
        memset(view->reserved, 0, sizeof view->reserved);
    }
    return true;
}

/* Whether a list lies in the view that is about to be written. */
static DLPARK__USUAL_INLINE bool check_is_inside(const int64_t *list, const dlpark_view *view)
{
    return (uintptr_t)list - (uintptr_t)view < sizeof *view;
}

static DLPARK__USUAL_INLINE bool check_aliases(const DLTensor *tensor, const dlpark_view *view)
{
    return check_is_inside(tensor->shape, view) || check_is_inside(tensor->strides, view);
}

/* Any tensor whose lists do not lie in the view. */
static __attribute__((noinline)) dlpark_status check_apart(const DLTensor *tensor, uint64_t flags, uint32_t write,
                                                           bool *empty, dlpark_view *view, dlpark_error *err)
{
    if (DLPARK_UNLIKELY((uint32_t)tensor->ndim > DLPARK_MAX_NDIM ||
                        !(view != NULL ? check_usual(tensor, flags, write, false, view)
                                       : check_usual(tensor, flags, write, false, NULL))))
        return check_unusual(tensor, flags, write, empty, view, err);
    *empty = false;
    return DLPARK_OK;
}

/* A tensor whose lists lie in the view: they are copied away first, where their length is known. */
static DLPARK_COLD dlpark_status check_aliased(const DLTensor *tensor, uint64_t flags, uint32_t write, bool *empty,
                                               dlpark_view *view, dlpark_error *err)
{
    int64_t shape[DLPARK_MAX_NDIM], strides[DLPARK_MAX_NDIM];
    size_t ndim = (uint32_t)tensor->ndim <= DLPARK_MAX_NDIM ? (size_t)tensor->ndim : 0;
    DLTensor apart = *tensor;

    if (tensor->shape != NULL)
        apart.shape = memcpy(shape, tensor->shape, ndim * sizeof *shape);
    if (tensor->strides != NULL)
        apart.strides = memcpy(strides, tensor->strides, ndim * sizeof *strides);
    return check_apart(&apart, flags, write, empty, view, err);
}

dlpark_status dlpark__check_tensor(const DLTensor *tensor, uint64_t flags, uint32_t write, bool *empty,
                                   dlpark_view *view, dlpark_error *err)
{
    if (view == NULL && (uint32_t)tensor->ndim <= DLPARK__USUAL_SHORT &&
        DLPARK_LIKELY(check_usual(tensor, flags, write, true, NULL))) {
        *empty = false;
        return DLPARK_OK;
    }
    if (view != NULL && DLPARK_UNLIKELY(check_aliases(tensor, view)))
        return check_aliased(tensor, flags, write, empty, view, err);
    return check_apart(tensor, flags, write, empty, view, err);
}

/* What dlpark_check() does for four dimensions and a view is apart from the rest, and pays for no registers but its own. */
static __attribute__((noinline)) dlpark_status check_raw(const DLTensor *tensor, uint64_t flags, dlpark_view *view,
                                                         dlpark_error *err)
{
    bool empty;

    if (DLPARK_UNLIKELY(tensor == NULL))
        return dlpark__check_explain(NULL, 0, false, err);
    return dlpark__check_tensor(tensor, flags, DLPARK_VIEW_UNKNOWN_WRITE, &empty, view, err);
}

/* Without a view; the parameters are those of its callers, so that they need not be moved. */
static __attribute__((noinline)) dlpark_status check_raw_alone(const DLTensor *tensor, uint64_t flags,
                                                               dlpark_view *view, dlpark_error *err)
{
    if (DLPARK_LIKELY(check_usual(tensor, flags, DLPARK_VIEW_UNKNOWN_WRITE, true, NULL)))
        return DLPARK_OK;
    return check_raw(tensor, flags, view, err);
}

dlpark_status dlpark_check(const DLTensor *tensor, uint64_t flags, dlpark_view *view, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(tensor == NULL || (uint32_t)tensor->ndim > DLPARK__USUAL_SHORT))
        return check_raw(tensor, flags, view, err);
    if (view == NULL)
        return check_raw_alone(tensor, flags, view, err);
    if (DLPARK_LIKELY(!check_aliases(tensor, view) &&
                      check_usual(tensor, flags, DLPARK_VIEW_UNKNOWN_WRITE, true, view)))
        return DLPARK_OK;
    return check_raw(tensor, flags, view, err);
}
