/**
 * Converts elements from one dtype to another: every pair that DLPack names, rounded once.
 *
 *     DLPARK_TRY(dlpark_tensor_alloc(&half, &(dlpark_tensor_desc){.dtype = DLPARK_F16, .ndim = view.ndim,
 *         .shape = DLPARK_DIMS(view.shape)}, &out, err));
 *     DLPARK_TRY(dlpark_cast(&out, &view, NULL, err));
 */
#ifndef DLPARK_CAST_H
#define DLPARK_CAST_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"
#include "view.h"

DLPARK_BEGIN_C

/** What becomes of a value that the destination's dtype cannot hold. Four bytes in every build. */
typedef enum dlpark_overflow {
    /** to floats NOSAT, from integers and bool to integers WRAP, from floats to integers SATURATE */
    DLPARK_OVERFLOW_DEFAULT = 0,
    /** to floats: infinity, or NaN where the dtype has none, or the largest value where it has neither */
    DLPARK_OVERFLOW_NOSAT,
    /** to floats: the largest finite value of that sign; infinity is not concerned */
    DLPARK_OVERFLOW_SATFINITE,
    /** to floats: the same, and infinity becomes the largest value too */
    DLPARK_OVERFLOW_SATALL,
    /** to integers: truncated, then modulo 2^bits; infinity and NaN become 0 */
    DLPARK_OVERFLOW_WRAP,
    /** to integers: truncated, then the nearest value that there is; NaN becomes 0 */
    DLPARK_OVERFLOW_SATURATE,
    /** to anything: nothing is written, and the first such element is named. That goes for infinity and NaN as well where
     *  the dtype has none: both in integers, float6 and float4, infinity in the FN and FNUZ formats and e8m0. */
    DLPARK_OVERFLOW_REFUSE,
    DLPARK_OVERFLOW_PIN_32 = 0x7fffffff
} dlpark_overflow;

/** How kDLFloat8_e8m0fnu, which has powers of two only, rounds what lies between two of them. */
typedef enum dlpark_scale_rounding {
    DLPARK_SCALE_NEAREST = 0, /**< 1.5 times a power goes up */
    DLPARK_SCALE_UP,
    DLPARK_SCALE_DOWN,
    DLPARK_SCALE_PIN_32 = 0x7fffffff
} dlpark_scale_rounding;

/** What happened to the elements of one cast; of complex ones, to each part. */
typedef struct dlpark_cast_counts {
    uint64_t overflowed; /**< finite values, and to integers infinite ones, beyond what the dtype holds */
    uint64_t inexact;    /**< values that were rounded or truncated, and did not overflow */
    uint64_t nan;        /**< NaN in the source */
} dlpark_cast_counts;

/** How to cast. All zero is the default. */
typedef struct dlpark_cast_options {
    dlpark_overflow overflow;
    dlpark_scale_rounding scale;
    bool real_part;             /**< complex to real takes the real part; else it is refused */
    dlpark_cast_counts *counts; /**< out, optional: written on success. Counting looks at each element once more. */
} dlpark_cast_options;

/**
 * Writes every element of `from`, converted, to the same place in `to`.
 *
 * @param to       in; its memory is written, and nothing between its elements. Host accessible and writable.
 * @param from     in, borrowed. Host accessible, of the same shape and as many lanes. Strides may be 0 or negative.
 * @param options  in, borrowed, optional. NULL: the default.
 * @param err      out, optional. Names the dtypes, the dimension, or the first value that does not fit.
 * @return DLPARK_OK; DLPARK_E_RANK; DLPARK_E_SHAPE; DLPARK_E_STRIDES (`to` has a stride of 0); DLPARK_E_DTYPE (opaque or
 *         128-bit elements, other lanes, complex to real without `real_part`); DLPARK_E_ARGUMENT (an option that is none,
 *         or has no meaning for this destination; memory that overlaps, see below); DLPARK_E_VALUE (DLPARK_OVERFLOW_REFUSE);
 *         DLPARK_E_DEVICE; DLPARK_E_READ_ONLY; DLPARK_E_MEMORY (equal dtypes, where a copy that overlaps needs some).
 *         Nothing is written on failure.
 *
 * Rounding: once, from the source's exact value, to nearest with ties to even; to integers by truncation. No mode of the
 *           floating-point unit matters, none is changed, and no flag of it is raised.
 * NaN:      sign and the payload's upper bits are kept from 16 bits up, as a quiet NaN; 8-bit formats have one NaN of
 *           each sign, or one. float6 and float4 have none: NaN becomes -0, a negative one +0, as in ml_dtypes.
 * Bool:     every stored byte but 0 is true, and 0 or 1 is written; any value but 0, NaN too, becomes true.
 * Same:     between equal dtypes nothing is converted: this is dlpark_copy(), and bits stay as they are.
 * Packing:  packed sub-byte elements may lie at any bit offset, and either side may be padded.
 * Overlap:  refused, unless both begin at the same byte, the elements of `to` and their lanes are no larger and lie
 *           nowhere behind those of `from` in the order of memory: a compact tensor can be narrowed in place.
 * Threads:  any, as for the memory itself. Bytes that packed elements share with neighbours are written back.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cast(const dlpark_view *to, const dlpark_view *from,
                                                      const dlpark_cast_options *options, dlpark_error *err);

DLPARK_END_C

#endif
