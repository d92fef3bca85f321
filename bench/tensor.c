/*
 * What it costs to make and to end a tensor, beside the floor that malloc sets, the same by hand, and the
 * Rust crate dlpark (peers/dlpark-rs, when it was built).
 */
#include <dlpark/dlpark.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "peers/dlpark_rs.h"

static float elements[256];
static alignas(max_align_t) unsigned char storage[DLPARK_TENSOR_STORAGE_NBYTES(DLPARK_MAX_NDIM)];

/* ---- Is the result right? ---- */

static bool is_right(const DLManagedTensorVersioned *managed, const tensor_input *input)
{
    const DLTensor *tensor = &managed->dl_tensor;
    size_t nbytes = input->ndim * sizeof(int64_t);

    return managed->version.major == 1 && managed->version.minor == 3 && managed->flags == 0 && managed->deleter &&
           tensor->data == input->data && tensor->device.device_type == kDLCPU && tensor->device.device_id == 0 &&
           tensor->ndim == (int32_t)input->ndim && tensor->dtype.code == kDLFloat && tensor->dtype.bits == 32 &&
           tensor->dtype.lanes == 1 && tensor->byte_offset == 0 && tensor->shape != input->shape &&
           tensor->strides != input->strides && memcmp(tensor->shape, input->shape, nbytes) == 0 &&
           memcmp(tensor->strides, input->strides, nbytes) == 0;
}

/* Verifies and ends what a path made. */
static bool check_made(DLManagedTensorVersioned *managed, const tensor_input *input)
{
    bool right = managed && is_right(managed, input);

    if (managed && managed->deleter)
        managed->deleter(managed);
    return right;
}

/* ---- The floor: the memory alone, and filled by hand ---- */

typedef struct hand_block {
    DLManagedTensorVersioned managed;
    void *reserved[2]; /* as many bytes as a block of ours, so that malloc has the same work */
    int64_t dimensions[];
} hand_block;

static size_t hand_nbytes(const tensor_input *input)
{
    return sizeof(hand_block) + 2 * input->ndim * sizeof(int64_t);
}

static void run_malloc(const void *input, long count)
{
    size_t nbytes = hand_nbytes(input);

    for (long i = 0; i < count; i++) {
        void *memory = malloc(nbytes);
        harness_use(memory);
        free(memory);
    }
}

static bool verify_malloc(const void *input)
{
    void *memory = malloc(hand_nbytes(input));
    bool right = memory != NULL;

    free(memory);
    return right;
}

static void hand_end(DLManagedTensorVersioned *managed)
{
    free(managed);
}

static inline DLManagedTensorVersioned *hand_make(const tensor_input *input)
{
    hand_block *block = malloc(hand_nbytes(input));

    if (!block)
        return NULL;
    block->managed = (DLManagedTensorVersioned){.version = {1, 3},
                                                .deleter = hand_end,
                                                .dl_tensor = {.data = input->data,
                                                              .device = {kDLCPU, 0},
                                                              .ndim = (int32_t)input->ndim,
                                                              .dtype = {kDLFloat, 32, 1},
                                                              .shape = block->dimensions,
                                                              .strides = block->dimensions + input->ndim}};
    for (size_t i = 0; i < input->ndim; i++) {
        block->dimensions[i] = input->shape[i];
        block->dimensions[input->ndim + i] = input->strides[i];
    }
    return &block->managed;
}

static void run_hand(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        DLManagedTensorVersioned *managed = hand_make(input);
        harness_use(managed);
        managed->deleter(managed);
    }
}

static bool verify_hand(const void *input)
{
    return check_made(hand_make(input), input);
}

/* ---- Ours ---- */

static dlpark_tensor_desc describe(const tensor_input *input)
{
    return (dlpark_tensor_desc){
        .data = input->data, .dtype = DLPARK_F32, .ndim = (int32_t)input->ndim, .shape = DLPARK_DIMS(input->shape)};
}

/* The description is built for each tensor, as a caller does it. */
#define OURS(name, ...)                                                                                                \
    static inline dlpark_status make_##name(const tensor_input *input, dlpark_tensor *tensor)                          \
    {                                                                                                                  \
        dlpark_tensor_desc desc = describe(input);                                                                     \
        __VA_ARGS__;                                                                                                   \
        return dlpark_tensor_new(tensor, &desc, NULL, NULL);                                                           \
    }                                                                                                                  \
    static void run_##name(const void *input, long count)                                                              \
    {                                                                                                                  \
        for (long i = 0; i < count; i++) {                                                                             \
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;                                                                \
            if (make_##name(input, &tensor))                                                                           \
                abort();                                                                                               \
            harness_use(tensor.managed);                                                                               \
            dlpark_tensor_release(&tensor);                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static bool verify_##name(const void *input)                                                                       \
    {                                                                                                                  \
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;                                                                    \
        return make_##name(input, &tensor) == DLPARK_OK && check_made(dlpark_tensor_export(&tensor), input);           \
    }

OURS(given, desc.strides = DLPARK_DIMS(input->strides))
OURS(computed, (void)0)
OURS(storage, desc.strides = DLPARK_DIMS(input->strides); desc.storage = storage; desc.storage_nbytes = sizeof storage)

/* ---- The Rust crate ---- */

#if defined(BENCH_RUST)
#define RUST(name, kind)                                                                                               \
    static void run_##name(const void *input, long count)                                                              \
    {                                                                                                                  \
        peer_rs_run(kind, input, count);                                                                               \
    }                                                                                                                  \
    static bool verify_##name(const void *input)                                                                       \
    {                                                                                                                  \
        return check_made(peer_rs_make(kind, input), input);                                                           \
    }

RUST(rust_fixed, PEER_RS_FIXED)
RUST(rust_dynamic, PEER_RS_DYNAMIC)
RUST(rust_compact, PEER_RS_COMPACT)
#endif

/* ---- The groups ---- */

#define NO_TARGETS                                                                                                     \
    {                                                                                                                  \
        {NULL, 0},                                                                                                     \
        {                                                                                                              \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }

static int run_making(const tensor_input *input, const harness_options *options, int *missed)
{
    harness_group group = {"tensor",
                           "new and release",
                           (int)input->ndim,
                           0,
                           {
                               {"malloc, free", run_malloc, verify_malloc, input, NO_TARGETS},
                               {"malloc, fill by hand, free", run_hand, verify_hand, input, NO_TARGETS},
                               {"dlpark, strides given",
                                run_given,
                                verify_given,
                                input,
                                {{"Rust dlpark, dynamic", 1.0}, {"malloc, fill by hand, free", 1.6}}},
                               {"dlpark, strides computed",
                                run_computed,
                                verify_computed,
                                input,
                                {{"Rust dlpark, compact", 0.9}, {NULL, 0}}},
                               {"dlpark, in caller's storage",
                                run_storage,
                                verify_storage,
                                input,
                                {{input->ndim <= 4 ? "malloc, free" : NULL, 0.8}, {NULL, 0}}},
#if defined(BENCH_RUST)
                               {"Rust dlpark, fixed rank", run_rust_fixed, verify_rust_fixed, input, NO_TARGETS},
                               {"Rust dlpark, dynamic", run_rust_dynamic, verify_rust_dynamic, input, NO_TARGETS},
                               {"Rust dlpark, compact", run_rust_compact, verify_rust_compact, input, NO_TARGETS},
#endif
                           }};

    while (group.cases[group.ncases].name)
        group.ncases++;
    return harness_run(&group, options, missed);
}

/* A compact shape of 64 elements: six extents of 2, or as many as the rank has, and 1 elsewhere. */
static void fill_dimensions(int ndim, int64_t *shape, int64_t *strides)
{
    int64_t stride = 1;

    for (int i = 0; i < ndim; i++)
        shape[i] = i < 6 ? 2 : 1;
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
        tensor_input input = {elements, shape, strides, (size_t)ranks[i]};

        fill_dimensions(ranks[i], shape, strides);
        wrong += run_making(&input, &options, &missed);
    }
    return harness_finish(&options, wrong, missed);
}
