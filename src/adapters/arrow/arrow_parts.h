/* What the sources of the Arrow adapter share. */
#ifndef ARROW_PARTS_H
#define ARROW_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <dlpark/arrow.h>

#define ARROW_EXTENSION_NAME     "ARROW:extension:name"
#define ARROW_EXTENSION_METADATA "ARROW:extension:metadata"
#define ARROW_TENSOR             "arrow.fixed_shape_tensor"
#define ARROW_BOOL8              "arrow.bool8"

/* Bytes of "+w:N" with any N. */
#define ARROW_LIST_FORMAT_NBYTES 24

/* A string of a schema's metadata, which is counted and need not end. `bytes` is NULL where there is none. */
typedef struct arrow_text {
    const char *bytes;
    int32_t nbytes;
} arrow_text;

#define ARROW_TEXT(literal) ((arrow_text){literal, sizeof(literal) - 1})

/* The value of a key of a schema's metadata. A count below zero ends the search: Arrow gives no length of the whole. */
arrow_text dlpark__arrow_metadata_find(const char *metadata, arrow_text key);

static inline bool dlpark__arrow_text_is(arrow_text text, arrow_text word)
{
    return text.bytes && text.nbytes == word.nbytes && memcmp(text.bytes, word.bytes, (size_t)word.nbytes) == 0;
}

/* The dtype of a primitive type, or a refusal that names the type. */
dlpark_status dlpark__arrow_type_read(const struct ArrowSchema *schema, DLDataType *dtype, dlpark_error *err);
/* The type of a dtype, one letter; NULL where Arrow has none. arrow.bool8 for bool, stored as "c". */
const char *dlpark__arrow_type_write(DLDataType dtype);

/* What the metadata of arrow.fixed_shape_tensor say: the extents of a row as they lie in memory, and their order. */
typedef struct arrow_shape {
    int32_t ndim;
    int32_t permutation_ndim; /* 0 where there is none */
    int64_t shape[DLPARK_MAX_NDIM];
    int64_t permutation[DLPARK_MAX_NDIM];
} arrow_shape;

dlpark_status dlpark__arrow_shape_read(arrow_text text, arrow_shape *out, dlpark_error *err);
/* Writes a number that is not negative, without a final zero; the end of it. A tensor of Arrow is made in nanoseconds, and
 * snprintf() takes most of them. */
char *dlpark__arrow_write_number(int64_t number, char *out);
/* Bytes that suffice for what dlpark__arrow_shape_write() writes of so many dimensions, the final zero included. */
size_t dlpark__arrow_shape_nbytes(int32_t ndim);
/* The number of bytes that were written, without the final zero. */
size_t dlpark__arrow_shape_write(const arrow_shape *shape, char *out);

/* How the dimensions of a row lie in memory, from the slowest to the fastest: -1, or a dimension that leaves a gap and the
 * stride that it would need. */
int32_t dlpark__arrow_permutation_find(int32_t ndim, const int64_t *shape, const int64_t *strides, arrow_shape *out,
                                       int64_t *expected);

#endif
