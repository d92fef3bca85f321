/*
 * What a cast has to leave in memory, found one element at a time and bit by bit, by the oracle of the casts.
 */
#ifndef CAST_MODEL_H
#define CAST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <dlpark/dlpark.h>

#include "fuzz.h"

#define CAST_NDIM  4
#define CAST_BLOCK (1 << 20) /* bytes that a side reaches at most */

/* Where the elements of a side lie: bits are counted from the first byte of its block. */
typedef struct cast_place {
    dlpark_view view;
    int64_t element; /* bits from one element to the next */
    int64_t first;   /* the bit where element 0 begins */
    int64_t low;     /* the bits that are reached, from element 0 */
    int64_t high;
} cast_place;

typedef struct cast_machine {
    fuzz_input in;
    cast_place to;
    cast_place from;
    dlpark_cast_options options;
    dlpark_cast_counts counts;
    bool shared; /* one block for both */
    int64_t count;
    int64_t index[CAST_NDIM];
} cast_machine;

/* The bits of a block from one on, at most 64. */
uint64_t cast_get(const unsigned char *block, int64_t at, unsigned nbits);
void cast_put(unsigned char *block, int64_t at, unsigned nbits, uint64_t value);

/* A lane has one part, a complex one two. */
unsigned cast_parts(DLDataType dtype);
DLDataType cast_part(DLDataType dtype);

bool cast_is_castable(DLDataType dtype);

/* Whether the cast is possible as far as the arguments alone decide; the mode that is meant. */
bool cast_is_possible(cast_machine *m, dlpark_overflow *mode);

/* Goes to the next element in the order of indices; false behind the last, with all indices 0 again. */
bool cast_next(cast_machine *m);

/* The bit where the element begins. */
int64_t cast_at(const cast_machine *m, const cast_place *place);

/* Makes the image of the destination's block, as it was, what it is to be, from what the source was. Between equal dtypes
 * nobody says what becomes of bits that belong to no lane, and those are taken from `made`. There are elements. */
void cast_expect(cast_machine *m, dlpark_overflow mode, const unsigned char *source, unsigned char *image,
                 const unsigned char *made, dlpark_cast_counts *counts);

/* Whether an element of the destination lies where another one does: nobody says what is there then. */
bool cast_coincides(cast_machine *m);

#endif
