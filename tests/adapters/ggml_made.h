/*
 * ggml's objects as the tests of its adapter want them, and what ggml computes of them on one thread.
 */
#ifndef GGML_MADE_H
#define GGML_MADE_H

#include "test.h"

#include <malloc.h>

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <dlpark/ggml.h>

typedef struct made_type {
    enum ggml_type type;
    DLDataType dtype;
} made_type;

enum { MADE_TYPES = 8 };

static inline made_type made_type_at(int i)
{
    const made_type types[MADE_TYPES] = {
        {GGML_TYPE_F32, DLPARK_F32}, {GGML_TYPE_F16, DLPARK_F16}, {GGML_TYPE_BF16, DLPARK_BF16},
        {GGML_TYPE_F64, DLPARK_F64}, {GGML_TYPE_I8, DLPARK_I8},   {GGML_TYPE_I16, DLPARK_I16},
        {GGML_TYPE_I32, DLPARK_I32}, {GGML_TYPE_I64, DLPARK_I64},
    };

    return types[i];
}

/* ---- Memory of ours, and tensors of it ---- */

static _Alignas(64) unsigned char made_memory[1024];
static int made_released; /* how often it was ended */

static inline void made_end(void *owner)
{
    assert_ptr_equal(owner, made_memory);
    made_released++;
}

/* A tensor of that memory, from `at` bytes on. */
static inline dlpark_tensor made_tensor(size_t at, DLDataType dtype, int32_t ndim, const int64_t *shape,
                                        const int64_t *strides)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = {.data = made_memory + at,
                               .dtype = dtype,
                               .ndim = ndim,
                               .shape = DLPARK_DIMS(shape),
                               .owner = made_memory,
                               .release = made_end};

    if (strides != NULL)
        desc.strides = DLPARK_DIMS(strides);
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    return tensor;
}

static inline void made_floats(void)
{
    for (size_t i = 0; i < sizeof made_memory / sizeof(float); i++) {
        float value = (float)i;
        memcpy(made_memory + i * sizeof value, &value, sizeof value);
    }
}

/* ---- Objects of ggml's ---- */

/* A context whose tensors lie in its own memory, or have none. */
static inline struct ggml_context *made_context(bool no_alloc)
{
    return ggml_init((struct ggml_init_params){
        .mem_size = 64 * ggml_tensor_overhead() + 8 * ggml_graph_overhead() + 8192, .no_alloc = no_alloc});
}

/* Two tensors in one context and one buffer. */
typedef struct made_pair {
    struct ggml_tensor *first;
    struct ggml_tensor *second;
    dlpark_ggml_owner owner;
} made_pair;

static inline made_pair made_pair_new(void)
{
    made_pair made = {.owner = {.context = made_context(true)}};
    ggml_backend_t cpu = ggml_backend_cpu_init();

    made.first = ggml_new_tensor_2d(made.owner.context, GGML_TYPE_F32, 3, 2);
    made.second = ggml_new_tensor_1d(made.owner.context, GGML_TYPE_I32, 5);
    made.owner.buffer = ggml_backend_alloc_ctx_tensors(made.owner.context, cpu);
    ggml_backend_free(cpu);
    memset(made.first->data, 0, ggml_nbytes(made.first));
    memset(made.second->data, 0, ggml_nbytes(made.second));
    return made;
}

static inline void made_pair_end(made_pair *made)
{
    ggml_backend_buffer_free(made->owner.buffer);
    ggml_free(made->owner.context);
}

/* Computes one tensor, whose graph and buffer are in the context; its elements as floats. */
static inline void made_compute(struct ggml_context *context, struct ggml_tensor *result, float *out)
{
    ggml_backend_t cpu = ggml_backend_cpu_init();
    struct ggml_cgraph *graph = ggml_new_graph(context);

    ggml_backend_cpu_set_n_threads(cpu, 1);
    ggml_build_forward_expand(graph, result);
    ggml_gallocr_t allocator = ggml_gallocr_new(ggml_backend_get_default_buffer_type(cpu));
    assert_true(ggml_gallocr_alloc_graph(allocator, graph));
    assert_int_equal(ggml_backend_graph_compute(cpu, graph), GGML_STATUS_SUCCESS);
    memcpy(out, result->data, ggml_nbytes(result));
    ggml_gallocr_free(allocator);
    ggml_backend_free(cpu);
}

static inline size_t made_bytes_in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

#endif
