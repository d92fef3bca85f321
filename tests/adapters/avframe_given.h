/*
 * Tensors that the tests of the avframe adapter give out: of memory of the test's, with their ends counted.
 */
#ifndef AVFRAME_GIVEN_H
#define AVFRAME_GIVEN_H

#include "avframe_made.h"

/* For tables, which want constants. */
#define U8                                                                                                             \
    {                                                                                                                  \
        kDLUInt, 8, 1                                                                                                  \
    }
#define U16                                                                                                            \
    {                                                                                                                  \
        kDLUInt, 16, 1                                                                                                 \
    }
#define F32                                                                                                            \
    {                                                                                                                  \
        kDLFloat, 32, 1                                                                                                \
    }

/* What a tensor is made of. Zero the rest: compact, writable, on the CPU, of given_memory. */
typedef struct given_desc {
    DLDataType dtype;
    int32_t ndim;
    int64_t shape[4];
    int64_t strides[4]; /* used where one is not 0, or with `is_strided` */
    int64_t offset_nbytes;
    DLDevice device;
    bool is_strided;
    bool is_read_only;
} given_desc;

static _Alignas(64) unsigned char given_memory[8192];
static atomic_int given_ends;

static inline void given_end(void *owner)
{
    (void)owner;
    atomic_fetch_add(&given_ends, 1);
}

static inline void given_make(dlpark_tensor *tensor, const given_desc *desc)
{
    bool is_strided = desc->is_strided;

    for (int32_t i = 0; i < desc->ndim; i++)
        is_strided = is_strided || desc->strides[i] != 0;
    *tensor = (dlpark_tensor)DLPARK_TENSOR_EMPTY;
    assert_ok(dlpark_tensor_new(
        tensor,
        &(dlpark_tensor_desc){.data = given_memory + desc->offset_nbytes,
                              .dtype = desc->dtype,
                              .device = desc->device.device_type ? desc->device : (DLDevice){kDLCPU, 0},
                              .ndim = desc->ndim,
                              .shape = DLPARK_DIMS(desc->shape),
                              .strides = is_strided ? DLPARK_DIMS(desc->strides) : (dlpark_dims){NULL, 0, 0},
                              .flags = desc->is_read_only ? DLPARK_TENSOR_READ_ONLY : 0,
                              .release = given_end},
        NULL, e));
}

#endif
