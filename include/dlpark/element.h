/**
 * One element of a view as a number, whatever its dtype: read, and written.
 *
 *     dlpark_scalar scalar;
 *     DLPARK_TRY(dlpark_element_read(&view, (int64_t[]){1, 2}, 0, &scalar, err));
 *     if (scalar.kind == DLPARK_SCALAR_FLOAT) printf("%g\n", scalar.re);       // f16, bf16, f8_e4m3fn, f4_e2m1fn, ...
 *
 * For looking at a few elements, as text or as objects of another language. Whoever computes with many of one dtype
 * takes them as an array: DLPARK_CPU(). Pointers must not be NULL unless a parameter says optional.
 */
#ifndef DLPARK_ELEMENT_H
#define DLPARK_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cast.h"
#include "dlpack.h"
#include "status.h"
#include "view.h"

DLPARK_BEGIN_C

/** What a scalar is. Four bytes in every build. */
typedef enum dlpark_scalar_kind {
    DLPARK_SCALAR_BOOL = 0,
    DLPARK_SCALAR_INT,
    DLPARK_SCALAR_UINT,
    DLPARK_SCALAR_FLOAT,
    DLPARK_SCALAR_COMPLEX,
    DLPARK_SCALAR_OPAQUE, /**< bytes without a meaning */
    DLPARK_SCALAR_PIN_32 = 0x7fffffff
} dlpark_scalar_kind;

/**
 * One lane of an element. `low` and `high` are the two halves of an integer of 128 bits, in two's complement and sign
 * extended; 0 or 1 for a bool, every byte but 0 being 1.
 *
 * A float of any width is `re`. Every format but one fits into a double, subnormals included, and comes exactly; a NaN
 * keeps its sign and the payload that fits, and is quiet unless it was a double. The one is kDLFloat of 128 bits, which
 * is IEEE binary128: `re` is the nearest double (infinity where it is too large), `is_exact` says whether it is the value
 * itself, and `low` and `high` keep the encoding. The layout is frozen.
 */
typedef struct dlpark_scalar {
    dlpark_scalar_kind kind;
    bool is_exact; /**< float: false when no double holds the value; true for everything else */
    uint64_t low;
    uint64_t high;
    double re;             /**< float, complex */
    double im;             /**< complex */
    uint32_t nbytes;       /**< opaque: bytes of `raw` in use */
    unsigned char raw[32]; /**< opaque: the bytes as they lie in memory */
} dlpark_scalar;

/**
 * Reads one lane of one element.
 *
 * @param view   in, borrowed. Host accessible.
 * @param index  in, borrowed. `ndim` indices, each from 0 or, negative, from the end. May be NULL when the rank is 0.
 * @param lane   in. Below the dtype's lanes; 0 for the usual dtypes, which have one.
 * @param out    out. The fields of its kind; the others are not written, nor is anything on failure.
 * @param err    out, optional. Names the index with its dimension and extent.
 * @return DLPARK_OK; DLPARK_E_DEVICE; DLPARK_E_INDEX (an index out of range); DLPARK_E_ARGUMENT (`index` is NULL, or the
 *         lane is out of range).
 * Threads: any, as for reading the memory itself; no mode of the floating-point unit matters.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_element_read(const dlpark_view *view, const int64_t *index,
                                                              uint32_t lane, dlpark_scalar *out, dlpark_error *err);

/**
 * The same for loops that know where they are: nothing is checked.
 *
 * @param view  in, borrowed. Host accessible, with elements.
 * @param at    in. Where the element lies, in elements from element 0: the sum of each index times its stride.
 * @param lane  in. Below the dtype's lanes.
 * @param out   out. The fields of its kind; the others are not written.
 */
DLPARK_API void dlpark_element_load(const dlpark_view *view, int64_t at, uint32_t lane, dlpark_scalar *out);

/**
 * Makes one lane of one element a number, by the rules of dlpark_cast() from the scalar's kind: float64, complex128, int64
 * or uint64. What was read from a view can be written to another of any dtype.
 *
 * @param view     in; its memory is written. Host accessible and writable.
 * @param index    in, borrowed. As for reading.
 * @param lane     in. As for reading.
 * @param scalar   in, borrowed. The fields of its kind are read. Of a float that is `re` alone.
 * @param options  in, borrowed, optional. What becomes of a value that the dtype does not hold. NULL: the default.
 * @param err      out, optional. Names the index, or the value.
 * @return DLPARK_OK; as dlpark_element_read(); DLPARK_E_READ_ONLY; DLPARK_E_DTYPE (opaque or 128-bit elements; complex to
 *         real without the option); DLPARK_E_VALUE (refused by the options, or an integer of more than 64 bits);
 *         DLPARK_E_ARGUMENT (an opaque scalar, or an option that is none). Nothing is written on failure.
 * Units:   of packed sub-byte elements the neighbours' bits stay, and are written back.
 * Threads: any, as for writing the memory itself; no mode of the floating-point unit matters.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_element_write(const dlpark_view *view, const int64_t *index,
                                                               uint32_t lane, const dlpark_scalar *scalar,
                                                               const dlpark_cast_options *options, dlpark_error *err);

DLPARK_END_C

#endif
