/**
 * The checked view: what a tensor is, once somebody has looked. Owns nothing.
 *
 *     const float *values = DLPARK_CPU(float, &view, &err);   // NULL with the reason if not f32, compact, on the host
 *     for (int64_t i = 0; values && i < dlpark_view_numel(&view); i++) sum += values[i];
 *
 * A view is made by dlpark_check() or comes with a tensor that was made or imported; it is valid as long as the memory
 * and is then simply forgotten. Its sizes are known not to overflow, its dtype and device are known, and its element 0
 * is at `data`. The fields are to be read, not written. About 1 KiB: pass it by pointer, copy it with
 * dlpark_view_copy(). The layout is frozen.
 *
 * Threads: any number may read a view at the same time, and the memory too; a view is changed, and memory written, by
 * one thread while no other looks at it. No function keeps anything between calls.
 */
#ifndef DLPARK_VIEW_H
#define DLPARK_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"
#include "dtype.h"
#include "layout.h"
#include "status.h"

/** dlpark_view.flags. The first two are DLPack's own bits. IS_COPIED belongs to owners and is never set here. */
#define DLPARK_VIEW_READ_ONLY     UINT32_C(0x1) /**< the memory must not be written */
#define DLPARK_VIEW_PADDED        UINT32_C(0x4) /**< each sub-byte element fills whole bytes; never of other types */
#define DLPARK_VIEW_UNKNOWN_WRITE UINT32_C(0x8) /**< legacy or raw origin: nobody said that it may be written */

DLPARK_BEGIN_C

/** What a tensor is: filled by dlpark_check() and by what makes or imports a tensor, changed by transform.h. */
typedef struct dlpark_view {
    void *data;           /**< element 0; or the handle, where the device is not addressable; NULL without elements */
    uint64_t byte_offset; /**< from the handle to element 0; 0 where the device is addressable */
    DLDevice device;
    DLDataType dtype;
    int32_t ndim;                     /**< 0 to DLPARK_MAX_NDIM */
    uint32_t flags;                   /**< DLPARK_VIEW_* */
    uint32_t bit_offset;              /**< of element 0 in its byte, for packed sub-byte types */
    uint64_t reserved[4];             /**< 0; before the lists, so that copying a view can stop at the rank */
    int64_t shape[DLPARK_MAX_NDIM];   /**< extents; only the first `ndim` are written, read or copied */
    int64_t strides[DLPARK_MAX_NDIM]; /**< in elements */
} dlpark_view;

/** The number of elements; 1 for rank 0. Cannot fail: a view's sizes are known to fit. */
DLPARK_INLINE int64_t dlpark_view_numel(const dlpark_view *view);

/** The bytes of the elements when they are compact, rounded up once. What a compact copy takes; not the span. */
DLPARK_API int64_t dlpark_view_nbytes(const dlpark_view *view);

/**
 * Whether the elements lie one after the other in row-major order, from the start of a byte; true when there are none.
 * What is compact has dlpark_view_bytes(), where the host can access it.
 */
DLPARK_API bool dlpark_view_is_compact(const dlpark_view *view);

/** Copies a view with the entries in use. `to` and `from` may be the same. */
DLPARK_API void dlpark_view_copy(dlpark_view *to, const dlpark_view *from);

/**
 * The view as a raw DLTensor, for functions of other libraries that borrow one.
 *
 * @param view  in, borrowed.
 * @param out   out. Its shape and strides point into `view`: valid as long as that stays where it is. Not written on
 *              failure. A DLTensor cannot say READ_ONLY or PADDED: hand on `view->flags` as well.
 * @param err   out, optional.
 * @return DLPARK_OK; DLPARK_E_LAYOUT (the view begins inside a byte, which DLPack cannot express).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_borrow_dltensor(dlpark_view *view, DLTensor *out,
                                                                      dlpark_error *err);

/**
 * Lets a view of legacy or raw origin be written, by name: the caller knows that the memory may be.
 *
 * @return DLPARK_OK; DLPARK_E_READ_ONLY when the producer said that it may not; the view is then unchanged.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_allow_write(dlpark_view *view, dlpark_error *err);

/**
 * The elements as an array of `dtype`, for reading. Called through DLPARK_CPU.
 *
 * @param view             in, borrowed.
 * @param dtype            in. What the caller takes the elements for.
 * @param alignment_bytes  in. What the caller's type needs; a power of two.
 * @param err              out, optional. Names what was expected and what is there.
 * @return the address of element 0, valid as long as the memory; NULL on failure: DLPARK_E_DEVICE (not accessible to
 *         the host), DLPARK_E_DTYPE, DLPARK_E_LAYOUT (not compact), DLPARK_E_ALIGNMENT. Without elements a non-NULL
 *         pointer that must not be read.
 */
DLPARK_API const void *dlpark_view_cpu(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes,
                                       dlpark_error *err);

/**
 * The same for writing. Also refuses DLPARK_E_READ_ONLY: a read-only view, and one of unknown writability until
 * dlpark_view_allow_write().
 */
DLPARK_API void *dlpark_view_cpu_mut(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes,
                                     dlpark_error *err);

/**
 * The bytes of a compact view of any dtype, packed sub-byte types included.
 *
 * @param view    in, borrowed. Host accessible, compact, bit offset 0.
 * @param nbytes  out, optional. dlpark_view_nbytes().
 * @param err     out, optional.
 * @return as dlpark_view_cpu(), without a demand on dtype and alignment.
 */
DLPARK_API const unsigned char *dlpark_view_bytes(const dlpark_view *view, int64_t *nbytes, dlpark_error *err);

/** The same for writing; refuses as dlpark_view_cpu_mut(). */
DLPARK_API unsigned char *dlpark_view_bytes_mut(const dlpark_view *view, int64_t *nbytes, dlpark_error *err);

DLPARK_INLINE int64_t dlpark_view_numel(const dlpark_view *view)
{
    uint64_t numel =
        1; /* unsigned: with an extent of 0 the product of the others may wrap, and is then multiplied by 0 */
    for (int32_t i = 0; i < view->ndim; i++)
        numel *= DLPARK_CAST(uint64_t, view->shape[i]);
    return DLPARK_CAST(int64_t, numel);
}

DLPARK_END_C

/** The elements of a view as `const T *`, or NULL with the reason. T: integer, bool, float, double or complex. */
#if defined(__cplusplus)
namespace dlpark
{
template <typename T> const T *cpu(const dlpark_view *view, dlpark_error *err)
{
    return static_cast<const T *>(dlpark_view_cpu(view, dtype_of<T>(), alignof(T), err));
}
template <typename T> T *cpu_mut(const dlpark_view *view, dlpark_error *err)
{
    return static_cast<T *>(dlpark_view_cpu_mut(view, dtype_of<T>(), alignof(T), err));
}
} // namespace dlpark
#define DLPARK_CPU(T, view, err)     (dlpark::cpu<T>((view), (err)))
#define DLPARK_CPU_MUT(T, view, err) (dlpark::cpu_mut<T>((view), (err)))
#else
#define DLPARK_CPU(T, view, err)     ((const T *)dlpark_view_cpu((view), DLPARK_DTYPE_OF(T), _Alignof(T), (err)))
#define DLPARK_CPU_MUT(T, view, err) ((T *)dlpark_view_cpu_mut((view), DLPARK_DTYPE_OF(T), _Alignof(T), (err)))
#endif

#endif
