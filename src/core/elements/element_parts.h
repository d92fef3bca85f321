/*
 * What the readers of elements share beyond element.h: a lane by its address, and what a format can tell apart.
 */
#ifndef DLPARK_CORE_ELEMENT_PARTS_H
#define DLPARK_CORE_ELEMENT_PARTS_H

#include <dlpark/element.h>

#include "../internal.h"

/*
 * Reads one lane of a dtype that dlpark_dtype_check() accepts; `dtype.lanes` is not looked at. `at` has any alignment.
 * `bit` is where the lane begins in its first byte, counted from the lowest bit; it is 0 but for lanes of packed
 * sub-byte types, and for padded ones too. Touches no byte that has no bit of the lane. Integer arithmetic alone, so no
 * mode of the floating-point unit matters. Sets the fields of the kind, the others are not written.
 */
void dlpark__element_load(const unsigned char *at, unsigned bit, DLDataType dtype, dlpark_scalar *out);

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
