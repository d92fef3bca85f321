/*
 * Every layout of rank 0 to 4 with extents 0..3 and strides -4..4. A shard is one shape: shards 0 to 340 are the shapes
 * of rank 0, 1, 2, 3, 4 in turn, so that a prefix of the shards is a complete sweep of the lower ranks. And every float32:
 * sweep_cast.c says what its shards are.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <dlpark/dlpark.h>

#define SWEEP_NDIM        4
#define SWEEP_SHARDS      341
#define SWEEP_CAST_SHARDS 4096

typedef struct sweep_layout {
    int ndim;
    int64_t shape[SWEEP_NDIM];
    int64_t strides[SWEEP_NDIM];
} sweep_layout;

/* The shape of a shard; its strides are the first of sweep_next(). */
sweep_layout sweep_first(int shard);

/* The next strides of the same shape; false after the last. */
bool sweep_next(sweep_layout *layout);

/* The number of elements, and how far element `number` of them lies from element 0; last dimension fastest. */
int64_t sweep_count(const sweep_layout *layout);
int64_t sweep_offset(const sweep_layout *layout, int64_t number);

/* Whether no two elements are in the same place. */
bool sweep_is_injective(const sweep_layout *layout);

/* No element is further from element 0 than this. */
int64_t sweep_reach(const sweep_layout *layout);

/* The compact layouts of a shape in every order of dimensions, each of them forwards or backwards: 384 at rank 4. */
int sweep_orders(int ndim);
sweep_layout sweep_ordered(const sweep_layout *like, int code, int64_t gap);

/* Each runs one shard and returns the number of cases. */
typedef uint64_t sweep_run(int shard);
sweep_run sweep_cast, sweep_check, sweep_copy, sweep_layouts, sweep_move, sweep_overlap, sweep_reshape;

/* Says what differs, with the layout, and ends the program. */
_Noreturn void sweep_fail(const sweep_layout *layout, const char *format, ...) DLPARK_PRINTF(2, 3);

#define SWEEP_WANT(layout, condition)                                                                                  \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            sweep_fail((layout), "%s:%d: not so: %s", __FILE__, __LINE__, #condition);                                 \
    } while (0)

#endif
