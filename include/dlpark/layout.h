/**
 * Arithmetic on shapes and strides, with every overflow caught.
 *
 *     int64_t strides[2], numel;
 *     DLPARK_TRY(dlpark_layout_compact_strides(2, shape, strides, err));
 *     DLPARK_TRY(dlpark_layout_numel(2, shape, &numel, err));
 *
 * Shapes are extents; strides are in elements, may be zero or negative, and mean nothing where the extent is 1 or the
 * tensor has no elements. A rank of 0 is one element. NULL strides mean compact row-major.
 */
#ifndef DLPARK_LAYOUT_H
#define DLPARK_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "dlpack.h"
#include "status.h"

/** The highest rank that the library accepts; NumPy's limit too. */
#define DLPARK_MAX_NDIM 64

DLPARK_BEGIN_C

/**
 * The number of elements.
 *
 * @param ndim   in. 0 to DLPARK_MAX_NDIM.
 * @param shape  in, borrowed. `ndim` extents; may be NULL when ndim is 0.
 * @param out    out. Not written on failure. 0 when any extent is 0, however large the others are.
 * @param err    out, optional. Names the dimension and its extent.
 * @return DLPARK_OK; DLPARK_E_RANK; DLPARK_E_SHAPE (NULL, or a negative extent); DLPARK_E_OVERFLOW.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_layout_numel(int32_t ndim, const int64_t *shape, int64_t *out,
                                                              dlpark_error *err);

/**
 * The strides of a compact row-major tensor. An extent of 0 counts as 1 here, as in NumPy.
 *
 * @param ndim   in. 0 to DLPARK_MAX_NDIM.
 * @param shape  in, borrowed. `ndim` extents.
 * @param out    out. `ndim` strides in elements. May be `shape`; otherwise the two must not overlap. Not written on
 *               failure.
 * @param err    out, optional.
 * @return as dlpark_layout_numel(). A tensor without elements never overflows: strides that would are 0.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_layout_compact_strides(int32_t ndim, const int64_t *shape,
                                                                        int64_t *out, dlpark_error *err);

/**
 * Whether the elements lie one after the other in row-major order.
 *
 * @param ndim     in. 0 to DLPARK_MAX_NDIM; a valid shape.
 * @param shape    in, borrowed.
 * @param strides  in, borrowed. NULL is compact.
 * @return true also when there are no elements; strides of extents of 1 are not looked at.
 * Threads: any.
 */
DLPARK_API bool dlpark_layout_is_compact(int32_t ndim, const int64_t *shape, const int64_t *strides);

/**
 * The lowest and the highest element that a layout reaches, counted from element 0.
 *
 * @param ndim     in. 0 to DLPARK_MAX_NDIM.
 * @param shape    in, borrowed.
 * @param strides  in, borrowed, in elements. NULL is compact row-major.
 * @param lowest   out, elements, at most 0. Both are 0 for one element, and 0 and -1 for none. Not written on failure.
 * @param highest  out, elements.
 * @param err      out, optional. Names the dimension where the sum came to 2^63-1.
 * @return as dlpark_layout_numel(); DLPARK_E_OVERFLOW also for 2^63-1 elements or more to either side.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_layout_span(int32_t ndim, const int64_t *shape, const int64_t *strides,
                                                             int64_t *lowest, int64_t *highest, dlpark_error *err);

/**
 * The bytes that `numel` elements take when they lie one after the other.
 *
 * @param dtype   in. Known (dlpark_dtype_check()).
 * @param padded  in. Whether each element narrower than a byte boundary fills whole bytes of its own.
 * @param numel   in. 0 or more.
 * @param out     out, bytes: rounded up once, over all elements. Not written on failure.
 * @param err     out, optional.
 * @return DLPARK_OK; DLPARK_E_DTYPE; DLPARK_E_ARGUMENT (numel negative); DLPARK_E_OVERFLOW (above INT64_MAX).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_layout_nbytes(DLDataType dtype, bool padded, int64_t numel,
                                                               int64_t *out, dlpark_error *err);

DLPARK_END_C

#endif
