/*
 * One element as a number: what any dtype of DLPack 1.3 says, in a form that every reader can take.
 */
#ifndef DLPARK_CORE_ELEMENT_PARTS_H
#define DLPARK_CORE_ELEMENT_PARTS_H

#include "internal.h"

typedef enum dlpark__scalar_kind {
    DLPARK__SCALAR_BOOL,
    DLPARK__SCALAR_INT,
    DLPARK__SCALAR_UINT,
    DLPARK__SCALAR_FLOAT,
    DLPARK__SCALAR_COMPLEX,
    DLPARK__SCALAR_OPAQUE
} dlpark__scalar_kind;

/*
 * One lane. `low` and `high` are the two halves of an integer of 128 bits, in two's complement and sign extended; 0 or 1
 * for a bool, every byte but 0 being 1.
 *
 * A float of any width is `re`. Every format but one fits into a double, subnormals included, and comes exactly; a NaN
 * keeps its sign and the payload that fits, and is quiet unless it was a double. The one is kDLFloat of 128 bits, which
 * is IEEE binary128: `re` is the nearest double (infinity where it is too large), `is_exact` says whether it is the value
 * itself, and `low` and `high` keep the encoding.
 */
typedef struct dlpark__scalar {
    dlpark__scalar_kind kind;
    bool is_exact; /* float: false when no double holds the value; true for everything else */
    uint64_t low;
    uint64_t high;
    double re;             /* float, complex */
    double im;             /* complex */
    unsigned nbytes;       /* opaque: bytes of `raw` in use */
    unsigned char raw[32]; /* opaque: the bytes as they lie in memory */
} dlpark__scalar;

/*
 * Reads one lane of a dtype that dlpark_dtype_check() accepts; `dtype.lanes` is not looked at. `at` has any alignment.
 * `bit` is where the lane begins in its first byte, counted from the lowest bit; it is 0 but for lanes of packed
 * sub-byte types, and for padded ones too. Touches no byte that has no bit of the lane. Integer arithmetic alone, so no
 * mode of the floating-point unit matters. Sets the fields of the kind, the others are not written.
 */
void dlpark__element_load(const unsigned char *at, unsigned bit, DLDataType dtype, dlpark__scalar *out);

/*
 * What a float dtype can tell apart, and a part of a complex one: a finite value is an integer of at most `precision`
 * bits times a power of two, and that power is at least 2^lowest.
 */
typedef struct dlpark__grid {
    int precision;
    int lowest;
} dlpark__grid;
dlpark__grid dlpark__element_grid(DLDataType dtype);

#endif
