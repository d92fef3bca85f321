/*
 * A description in which nothing is wrong, and a release function that counts. Each test spoils one thing.
 */
#ifndef TENSOR_GOOD_H
#define TENSOR_GOOD_H

#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "failing_alloc.h"

/* A release function that counts, and remembers what it ended. */
static int ended;
static void *ended_owner;

static inline void count_end(void *owner)
{
    ended++;
    ended_owner = owner;
}

static float values[64];
static const int64_t shape_2x3[] = {2, 3};

static inline int reset(void **state)
{
    (void)state;
    ended = 0;
    ended_owner = NULL;
    failing_alloc_arm(0);
    return 0;
}

static inline dlpark_tensor_desc good(void)
{
    return (dlpark_tensor_desc){.data = values,
                                .dtype = DLPARK_F32,
                                .ndim = 2,
                                .shape = DLPARK_DIMS(shape_2x3),
                                .owner = values,
                                .release = count_end};
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

#endif
