/*
 * What it costs to look at a tensor: the check alone, to a view, and on to typed elements, beside the Rust crate dlpark
 * (peers/dlpark-rs, when it was built). A reader is a function of its own with the view on its stack, as a user writes it;
 * built with -ftrivial-auto-var-init=zero it clears that view first, unless it is declared DLPARK_UNINITIALIZED.
 */
#include <dlpark/dlpark.h>
#include <stdlib.h>

#include "harness.h"
#include "peers/dlpark_rs.h"

static float elements[256];

static void run_check(const void *tensor, long count)
{
    for (long i = 0; i < count; i++) {
        harness_use(tensor);
        harness_use((const void *)(uintptr_t)dlpark_check(tensor, 0, NULL, NULL));
    }
}

static bool verify_check(const void *tensor)
{
    DLTensor broken = *(const DLTensor *)tensor;

    broken.shape = NULL;
    return dlpark_check(tensor, 0, NULL, NULL) == DLPARK_OK && dlpark_check(&broken, 0, NULL, NULL) == DLPARK_E_SHAPE;
}

static void run_view(const void *tensor, long count)
{
    dlpark_view view;

    for (long i = 0; i < count; i++) {
        harness_use(tensor);
        harness_use((const void *)(uintptr_t)dlpark_check(tensor, 0, &view, NULL));
        harness_use(&view);
    }
}

static bool verify_view(const void *input)
{
    const DLTensor *tensor = input;
    dlpark_view view;

    return dlpark_check(tensor, 0, &view, NULL) == DLPARK_OK && view.ndim == tensor->ndim &&
           dlpark_view_numel(&view) == 64 && view.data == elements + tensor->byte_offset / sizeof *elements;
}

/* ---- To typed elements ---- */

static __attribute__((noinline)) const float *read_plain(const DLTensor *tensor)
{
    dlpark_view view;

    if (dlpark_check(tensor, 0, &view, NULL))
        return NULL;
    return DLPARK_CPU(float, &view, NULL);
}

static __attribute__((noinline)) const float *read_bare(const DLTensor *tensor)
{
    dlpark_view view DLPARK_UNINITIALIZED;

    if (dlpark_check(tensor, 0, &view, NULL))
        return NULL;
    return DLPARK_CPU(float, &view, NULL);
}

#define READER(name)                                                                                                   \
    static void run_##name(const void *tensor, long count)                                                             \
    {                                                                                                                  \
        for (long i = 0; i < count; i++) {                                                                             \
            harness_use(tensor);                                                                                       \
            harness_use(name(tensor));                                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static bool verify_##name(const void *tensor)                                                                      \
    {                                                                                                                  \
        return name(tensor) == elements;                                                                               \
    }

READER(read_plain)
READER(read_bare)

/* ---- Everything that is to be said of it ---- */

static void run_all(const void *tensor, long count)
{
    for (long i = 0; i < count; i++) {
        harness_use(tensor);
        harness_use((const void *)dlpark_check_all(tensor, 0, NULL, 0));
    }
}

static bool verify_all(const void *tensor)
{
    DLTensor broken = *(const DLTensor *)tensor;

    broken.shape = NULL;
    broken.device.device_id = -1;
    return dlpark_check_all(tensor, 0, NULL, 0) == 0 && dlpark_check_all(&broken, 0, NULL, 0) == 2;
}

/* ---- The Rust crate ---- */

#if defined(BENCH_RUST)
static void run_rust_validate(const void *tensor, long count)
{
    peer_rs_run_validate(tensor, count);
}

static bool verify_rust_validate(const void *tensor)
{
    return peer_rs_validate(tensor) == 64;
}

static void run_rust_slice(const void *tensor, long count)
{
    peer_rs_run_slice(tensor, count);
}

static bool verify_rust_slice(const void *tensor)
{
    return peer_rs_slice(tensor) == elements;
}
#endif

/* ---- The group ---- */

typedef struct inputs {
    DLTensor usual;
    DLTensor offset;  /* element 0 is 256 bytes into data */
    DLTensor compact; /* NULL strides */
    DLTensor cuda;
} inputs;

#define NO_TARGETS                                                                                                     \
    {                                                                                                                  \
        {NULL, 0},                                                                                                     \
        {                                                                                                              \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }

static int run_rank(const inputs *in, const harness_options *options, int *missed)
{
    const DLTensor *t = &in->usual;
    harness_group group = {
        "check",
        "check and read",
        t->ndim,
        0,
        {
            {"check", run_check, verify_check, t, {{"Rust dlpark, validate", t->ndim == 4 ? 0.5 : 1.0}, {NULL, 0}}},
            {"check to a view", run_view, verify_view, t, NO_TARGETS},
            {"check to a view, byte_offset", run_view, verify_view, &in->offset, NO_TARGETS},
            {"check to a view, NULL strides", run_view, verify_view, &in->compact, NO_TARGETS},
            {"check to a view, cuda:1", run_view, verify_view, &in->cuda, NO_TARGETS},
            {"check, DLPARK_CPU",
             run_read_plain,
             verify_read_plain,
             t,
             {{"Rust dlpark, cpu_slice", t->ndim == 4 ? 0.25 : 0.5}, {NULL, 0}}},
            {"check, DLPARK_CPU, uninitialized",
             run_read_bare,
             verify_read_bare,
             t,
             {{"Rust dlpark, cpu_slice", t->ndim == 4 ? 0.25 : 0.5}, {NULL, 0}}},
            {"check_all", run_all, verify_all, t, NO_TARGETS},
#if defined(BENCH_RUST)
            {"Rust dlpark, validate", run_rust_validate, verify_rust_validate, t, NO_TARGETS},
            {"Rust dlpark, cpu_slice", run_rust_slice, verify_rust_slice, t, NO_TARGETS},
#endif
        }};

    while (group.cases[group.ncases].name)
        group.ncases++;
    return harness_run(&group, options, missed);
}

/* A compact shape of 64 elements: six extents of 2, or as many as the rank has with the rest in the last, then 1. */
static void fill_dimensions(int ndim, int64_t *shape, int64_t *strides)
{
    int64_t stride = 1, left = 64;

    for (int i = 0; i < ndim; i++) {
        shape[i] = i == ndim - 1 ? left : left > 1 ? 2 : 1;
        left /= shape[i];
    }
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape[i];
    }
}

int main(int argc, char **argv)
{
    static const int ranks[] = {1, 4, 16, 64};
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    harness_print_machine(&options);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        int64_t shape[DLPARK_MAX_NDIM], strides[DLPARK_MAX_NDIM];
        DLTensor tensor = {elements, {kDLCPU, 0}, ranks[i], {kDLFloat, 32, 1}, shape, strides, 0};
        inputs in = {tensor, tensor, tensor, tensor};

        in.offset.byte_offset = 256;
        in.compact.strides = NULL;
        in.cuda.device = DLPARK_DEVICE(kDLCUDA, 1);
        fill_dimensions(ranks[i], shape, strides);
        wrong += run_rank(&in, &options, &missed);
    }
    return harness_finish(&options, wrong, missed);
}
