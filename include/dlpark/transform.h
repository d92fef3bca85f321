/**
 * Other views of the same elements: a part of them, in another order, shape or type. Nothing is copied.
 *
 *     DLPARK_TRY(dlpark_view_slice(&view, 0, DLPARK_NONE, DLPARK_NONE, -1, err));   // all rows, last first
 *     DLPARK_TRY(dlpark_view_permute(&view, 3, (int[]){2, 0, 1}, err));             // HWC -> CHW
 *     DLPARK_TRY(dlpark_view_reshape(&view, 2, (int64_t[]){3, -1}, err));           // one row a channel
 *
 * Every function changes the view that it is given, in place and without an allocation; dlpark_view_copy() keeps the
 * one before. A call that fails leaves the view as it was. READ_ONLY and UNKNOWN_WRITE stay, and so does PADDED while
 * the elements are of a sub-byte type. A dimension counts from the end when it is negative, as in Python: -1 is the
 * last. A list may be NULL when it has no entries; otherwise a `shape` that is NULL is E_SHAPE, an `order` E_ARGUMENT.
 * Where memory is a handle (OpenCL, Vulkan, Metal, WebGPU) the view's byte_offset moves instead of its data. Element 0
 * of a packed sub-byte type may come to lie inside a byte: its bit_offset says where.
 *
 * Threads: any, as long as each view is used by one at a time. No function reads or writes an element.
 */
#ifndef DLPARK_TRANSFORM_H
#define DLPARK_TRANSFORM_H

#include <stdint.h>

#include "dlpack.h"
#include "status.h"
#include "view.h"

/** A bound of a slice that is left out, Python's None. */
#define DLPARK_NONE INT64_MIN

DLPARK_BEGIN_C

/* ---- A part of the elements ---- */

/**
 * One place along a dimension, which goes away: `view[index]` for dimension 0.
 *
 * @param view   in and out.
 * @param dim    in. -ndim to ndim - 1.
 * @param index  in. From the end when negative.
 * @param err    out, optional. Names the index and the extent.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (`dim` out of range); DLPARK_E_INDEX (`index` out of range).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_index(dlpark_view *view, int32_t dim, int64_t index,
                                                            dlpark_error *err);

/**
 * Every `step`-th place along a dimension from `start` to before `stop`, exactly as Python's start:stop:step. Bounds
 * out of range are not an error there, they are cut.
 *
 * @param view   in and out. Has no elements when the slice has none.
 * @param dim    in.
 * @param start  in. DLPARK_NONE is the first place, the last one when `step` is negative.
 * @param stop   in. DLPARK_NONE is past the last place, before the first one when `step` is negative.
 * @param step   in. Not 0; DLPARK_NONE is 1.
 * @param err    out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (`dim` out of range, or a step of 0);
 *         DLPARK_E_OVERFLOW (turned round, one side of element 0 would have 2^63-1 elements or more than 2^63-1 bytes).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_slice(dlpark_view *view, int32_t dim, int64_t start, int64_t stop,
                                                            int64_t step, dlpark_error *err);

/** A dimension back to front: the slice ::-1. Returns what dlpark_view_slice() does. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_flip(dlpark_view *view, int32_t dim, dlpark_error *err);

/**
 * The diagonal of two dimensions, as numpy.diagonal: both go away, the diagonal becomes the last dimension.
 *
 * @param view    in and out. Has no elements when `offset` leads past its side.
 * @param offset  in. Element i is at index i of `dim1` and i + offset of `dim2`; below the main diagonal when negative.
 * @param dim1    in.
 * @param dim2    in. Another one.
 * @param err     out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (a dimension out of range, or twice the same).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_diagonal(dlpark_view *view, int64_t offset, int32_t dim1,
                                                               int32_t dim2, dlpark_error *err);

/**
 * A window that slides along a dimension: the dimension becomes the number of windows, and a last one of `size` is
 * added. The windows share elements where `step` is smaller than `size`.
 *
 * @param view  in and out.
 * @param dim   in.
 * @param size  in. 1 to the extent of the dimension.
 * @param step  in. From one window to the next, at least 1. What is left at the end belongs to no window.
 * @param err   out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (`dim`, `size` or `step` out of range);
 *         DLPARK_E_RANK (the rank is DLPARK_MAX_NDIM already);
 *         DLPARK_E_OVERFLOW (the elements of all windows, counted singly, take more than 2^63-1 bytes).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_window(dlpark_view *view, int32_t dim, int64_t size, int64_t step,
                                                             dlpark_error *err);

/* ---- The same elements, dimensions in another order or number ---- */

/**
 * The dimensions in another order: dimension i of the result is dimension order[i].
 *
 * @param view   in and out.
 * @param ndim   in. The view's rank; how many `order` has.
 * @param order  in, borrowed. Every dimension once, each from the end when negative. May be NULL when ndim is 0.
 * @param err    out, optional. Names the entry.
 * @return DLPARK_OK; DLPARK_E_RANK (not the view's rank);
 *         DLPARK_E_ARGUMENT (`order` is NULL, an entry is out of range or there twice).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_permute(dlpark_view *view, int32_t ndim, const int *order,
                                                              dlpark_error *err);

/** Two dimensions change places; they may be the same. DLPARK_OK; DLPARK_E_ARGUMENT (one is out of range). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_transpose(dlpark_view *view, int32_t dim1, int32_t dim2,
                                                                dlpark_error *err);

/** Leaves out dimension `dim`, of extent 1. DLPARK_OK; DLPARK_E_ARGUMENT (out of range); DLPARK_E_SHAPE (another extent). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_squeeze(dlpark_view *view, int32_t dim, dlpark_error *err);

/** Leaves out every dimension of extent 1. */
DLPARK_API void dlpark_view_squeeze_all(dlpark_view *view);

/**
 * Inserts a dimension of extent 1, as numpy.expand_dims.
 *
 * @param view  in and out.
 * @param dim   in. Where it is to be in the result: 0 to ndim, or from the end, -1 for the last.
 * @param err   out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (out of range); DLPARK_E_RANK (the rank is DLPARK_MAX_NDIM already).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_expand_dims(dlpark_view *view, int32_t dim, dlpark_error *err);

/**
 * Repeats dimensions of extent 1 and adds dimensions in front, as numpy.broadcast_to: what is repeated has a stride of
 * 0.
 *
 * @param view   in and out. Has no elements when an extent of 1 becomes 0.
 * @param ndim   in. At least the view's rank, at most DLPARK_MAX_NDIM.
 * @param shape  in, borrowed. Aligned with the view's at its end; equal to it where that is not 1. May point into
 *               `view->shape`, and may be NULL when ndim is 0.
 * @param err    out, optional. Names the dimension that does not fit.
 * @return DLPARK_OK; DLPARK_E_RANK; DLPARK_E_SHAPE (NULL, a negative extent, fewer dimensions than the view, or one
 *         that does not fit); DLPARK_E_OVERFLOW (the elements, counted singly, take more than 2^63-1 bytes).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_broadcast(dlpark_view *view, int32_t ndim, const int64_t *shape,
                                                                dlpark_error *err);

/**
 * Another shape for the same elements in the same row-major order, where strides can say it: NumPy's reshape without
 * its copy, with the strides that NumPy has. The shape that the view already has always succeeds.
 *
 * @param view   in and out.
 * @param ndim   in. 0 to DLPARK_MAX_NDIM.
 * @param shape  in, borrowed. One extent may be -1: it is computed. May point into `view->shape`, and may be NULL when
 *               ndim is 0.
 * @param err    out, optional. Names both element counts, or the dimension of the view that is in the way.
 * @return DLPARK_OK; DLPARK_E_RANK; DLPARK_E_SHAPE (NULL, a negative extent, a second -1, or another element count);
 *         DLPARK_E_LAYOUT (no strides can say it: copy to a compact tensor first).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_reshape(dlpark_view *view, int32_t ndim, const int64_t *shape,
                                                              dlpark_error *err);

/* ---- The same bytes, elements of another type ---- */

/**
 * The bytes as elements of another type, as numpy's ndarray.view(dtype). Alignment is not asked for.
 *
 * A type of the same width fits any strides. One of another width takes the last dimension apart or puts it together:
 * that must be contiguous, its bits a multiple of the new width, and the strides of the others a whole number of new
 * elements. An element of a packed sub-byte type is as wide as its bits, of a padded one as its bytes. PADDED stays
 * when both types are sub-byte types; with one of whole bytes it goes, and does not come back.
 *
 * @param view   in and out.
 * @param dtype  in. Any that DLPack defines.
 * @param err    out, optional. Names the dimension with both types.
 * @return DLPARK_OK; DLPARK_E_DTYPE (unknown);
 *         for another width also DLPARK_E_RANK (rank 0: dlpark_view_expand_dims() gives it a dimension);
 *         DLPARK_E_SHAPE (the last dimension is not a whole number of new elements);
 *         DLPARK_E_LAYOUT (the last dimension is not contiguous); DLPARK_E_STRIDES (a stride is no whole number of new
 *         elements);
 *         DLPARK_E_LAYOUT (whole bytes wanted, and element 0 lies inside a byte);
 *         DLPARK_E_OVERFLOW (the count or the reach in new elements leaves 63 bits).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_reinterpret(dlpark_view *view, DLDataType dtype,
                                                                  dlpark_error *err);

/** The real parts of c32, c64 or c128 as f16, f32 or f64: twice the strides. DLPARK_OK; DLPARK_E_DTYPE (not so). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_real(dlpark_view *view, dlpark_error *err);

/** The imaginary parts likewise; element 0 is one half further. DLPARK_OK; DLPARK_E_DTYPE (not complex). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_view_imag(dlpark_view *view, dlpark_error *err);

DLPARK_END_C

#endif
