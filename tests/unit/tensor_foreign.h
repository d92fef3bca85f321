/*
 * A foreign producer whose deleter counts, under either ABI. Each test spoils one thing.
 */
#ifndef TENSOR_FOREIGN_H
#define TENSOR_FOREIGN_H

#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "failing_alloc.h"

static int ended;
static float values[64];
static int64_t shape[64] = {2, 3};
static int64_t strides[64] = {3, 1};
static DLManagedTensorVersioned foreign;
static DLManagedTensor foreign_legacy;

static inline void end_foreign(DLManagedTensorVersioned *self)
{
    assert_ptr_equal(self, &foreign);
    ended++;
}

static inline void end_foreign_legacy(DLManagedTensor *self)
{
    assert_ptr_equal(self, &foreign_legacy);
    ended++;
}

static inline int reset(void **state)
{
    (void)state;
    ended = 0;
    failing_alloc_arm(0);
    shape[0] = 2;
    shape[1] = 3;
    strides[0] = 3;
    strides[1] = 1;
    const DLTensor tensor = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    foreign = (DLManagedTensorVersioned){{1, 1}, NULL, end_foreign, 0, tensor};
    foreign_legacy = (DLManagedTensor){tensor, NULL, end_foreign_legacy};
    return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

#endif
