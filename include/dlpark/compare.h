/**
 * Whether two views hold the same values, exactly or within a tolerance; and where they first do not.
 *
 *     bool equal;
 *     int64_t where[DLPARK_MAX_NDIM];
 *     DLPARK_TRY(dlpark_equal(&a, &b, &equal, where, err));
 *     if (!equal) printf("they differ at [%lld, %lld]\n", (long long)where[0], (long long)where[1]);
 *
 * Values count, not bytes: strides, packing and the padding of sub-byte elements do not matter, -0 is 0, and a NaN is
 * equal to nothing.
 */
#ifndef DLPARK_COMPARE_H
#define DLPARK_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"
#include "view.h"

DLPARK_BEGIN_C

/**
 * Whether all elements of two views of one dtype and shape are equal.
 *
 * Floats of every format compare as numbers, by the format's own codes for NaN and infinity; a complex number is equal
 * when both parts are; a bool is false when its byte is 0 and true otherwise; integers and opaque handles compare by
 * their bits, vectors lane by lane. f128 is IEEE binary128.
 *
 * @param a      in, borrowed. Host accessible; strides may be 0 or negative.
 * @param b      in, borrowed. Likewise, of the same dtype and shape, packed or padded. May be `a`.
 * @param equal  out. true also when there are no elements. Not written on failure.
 * @param where  out, optional (may be NULL). `ndim` entries: the first index in row-major order at which they differ.
 *               Written only when *equal is false.
 * @param err    out, optional. Names the dimension or the dtypes that differ.
 * @return DLPARK_OK; DLPARK_E_DTYPE, DLPARK_E_RANK, DLPARK_E_SHAPE (not the same); DLPARK_E_DEVICE.
 * Threads: any, as for reading the memory itself.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_equal(const dlpark_view *a, const dlpark_view *b, bool *equal,
                                                       int64_t *where, dlpark_error *err);

/**
 * Whether every element of `a` is close to that of `b`: |a - b| <= atol + rtol * |b|, as NumPy has it.
 *
 * Equal elements are close. An infinity is close to the same infinity alone, whatever the tolerance. A NaN is close to
 * nothing, or, with `equal_nan`, to a NaN alone. Floats compare in double precision, without the overflow of a
 * difference; the difference of integers is exact at any width; a bool counts as 0 or 1; of complex numbers the modulus
 * is taken, and they are NaN or infinite when a part is.
 *
 * @param a          in, borrowed. As for dlpark_equal(); no opaque handle, and not f128, which a double cannot hold.
 * @param b          in, borrowed. What is expected: the tolerance is relative to it.
 * @param rtol       in. Relative tolerance; finite and not negative. NumPy's default is 1e-5.
 * @param atol       in. Absolute tolerance; finite and not negative. NumPy's default is 1e-8.
 * @param equal_nan  in. Whether two NaNs are close.
 * @param close      out. As `equal` of dlpark_equal().
 * @param where      out, optional. As there: the first index at which they are not close.
 * @param err        out, optional.
 * @return as dlpark_equal(), DLPARK_E_DTYPE also for a dtype without such arithmetic; DLPARK_E_ARGUMENT (a tolerance).
 * Threads: any, as for reading the memory itself.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_allclose(const dlpark_view *a, const dlpark_view *b, double rtol,
                                                          double atol, bool equal_nan, bool *close, int64_t *where,
                                                          dlpark_error *err);

DLPARK_END_C

#endif
