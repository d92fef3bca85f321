/*
 * A view as an explicit list of elements: where each of them is, in bits from a common base, in row-major order. Every
 * operation is said once, as the place in the source of each element of the result; strides come in only when the list
 * is compared with a view. Slow on purpose, and shares no code with the library.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include <dlpark/dlpark.h>

#define ORACLE_ELEMENTS 512

__extension__ typedef __int128 oracle_wide;

typedef struct oracle {
    int ndim;
    int64_t shape[DLPARK_MAX_NDIM];
    int64_t count; /* elements; the product of the shape */
    int64_t nbits; /* from one element to its neighbour in memory */
    int64_t at[ORACLE_ELEMENTS];
} oracle;

/* Lists the elements of a layout; false when there are more than ORACLE_ELEMENTS. */
bool oracle_init(oracle *o, int64_t nbits, int ndim, const int64_t *shape, const int64_t *strides);

void oracle_copy(oracle *to, const oracle *from);

/* The number of elements of a shape; -1 when there are more than ORACLE_ELEMENTS, or an extent is negative. */
int64_t oracle_count(int ndim, const int64_t *shape);

/* Whether some strides, in whole elements, reach exactly the listed places; those strides, 0 where none is needed. */
bool oracle_strides(const oracle *o, int64_t *strides);

/* Whether a view has this shape and these places. `base` is the address that all places count from. */
bool oracle_agrees(const oracle *o, const dlpark_view *view, uint64_t base);

/* Whether two elements share a bit. */
bool oracle_overlaps(const oracle *o);

/*
 * The operations of transform.h. Each says whether it can be done; when not, nothing is changed. A result of more than
 * ORACLE_ELEMENTS counts as cannot; those who build arguments avoid it (oracle_count()).
 */
bool oracle_index(oracle *o, int dim, int64_t index);
bool oracle_slice(oracle *o, int dim, int64_t start, int64_t stop, int64_t step);
bool oracle_flip(oracle *o, int dim);
bool oracle_permute(oracle *o, int ndim, const int *order);
bool oracle_transpose(oracle *o, int a, int b);
bool oracle_squeeze(oracle *o, int dim);
void oracle_squeeze_all(oracle *o);
bool oracle_expand(oracle *o, int dim);
bool oracle_diagonal(oracle *o, int64_t offset, int a, int b);
bool oracle_window(oracle *o, int dim, int64_t size, int64_t step);
bool oracle_broadcast(oracle *o, int ndim, const int64_t *shape);
bool oracle_reshape(oracle *o, int ndim, const int64_t *shape); /* one extent may be -1 */

/* The same bits as elements of another width: the last dimension is cut anew. */
bool oracle_reinterpret(oracle *o, int64_t nbits);

/* Every element becomes its half number `half`, of half the width. */
void oracle_half(oracle *o, int half);

#endif
