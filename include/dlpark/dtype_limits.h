/**
 * What a dtype can hold: the largest and the lowest, how fine it is, and what it has no code for.
 *
 *     dlpark_limits limits;
 *     DLPARK_TRY(dlpark_dtype_limits(DLPARK_F8_E4M3FN, &limits, err));
 *     printf("%g, eps %g\n", limits.max.re, limits.eps);               // 448, eps 0.125
 */
#ifndef DLPARK_DTYPE_LIMITS_H
#define DLPARK_DTYPE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "dlpack.h"
#include "element.h"
#include "status.h"

DLPARK_BEGIN_C

/** The limits of a dtype. Those of a complex one are of its parts. The layout is frozen. */
typedef struct dlpark_limits {
    dlpark_scalar max;      /**< the largest finite value: BOOL, INT, UINT or FLOAT */
    dlpark_scalar lowest;   /**< the most negative finite value; of unsigned dtypes the smallest */
    double smallest_normal; /**< floats: the smallest positive value of full precision; else 0 */
    double
        smallest_subnormal; /**< floats: the smallest positive value, also where there are no subnormal ones; else 0 */
    double eps;             /**< floats: from 1 to the next value; else 0 */
    int32_t digits;    /**< bits of precision: of a float with the one that is not stored, of an integer without sign */
    bool has_infinity; /**< of either sign */
    bool has_nan;      /**< at least one code is NaN */
    bool has_signed_zero; /**< 0 and -0 are different codes */
    bool has_zero;        /**< every dtype but f8_e8m0fnu */
    bool has_subnormals;  /**< every float but f8_e8m0fnu */
    uint8_t reserved[7];  /**< 0 */
} dlpark_limits;

/**
 * The limits of one lane of a dtype.
 *
 * @param dtype  in. `dtype.lanes` is not looked at.
 * @param out    out. Of each scalar the fields of its kind, the others are 0. Not written on failure.
 * @param err    out, optional. Names the dtype.
 * @return DLPARK_OK; DLPARK_E_DTYPE (unknown, opaque, or a float of 128 bits, whose limits no double holds).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_dtype_limits(DLDataType dtype, dlpark_limits *out, dlpark_error *err);

DLPARK_END_C

#endif
