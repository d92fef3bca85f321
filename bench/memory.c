/*
 * What fresh memory costs: 64 MiB allocated, written once and given back. The page faults are the price, so what is
 * compared is how the memory is asked for.
 */
#include <dlpark/dlpark.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static const size_t nbytes = (size_t)64 << 20;

static void run_malloc(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        void *memory = malloc(nbytes);
        if (!memory)
            abort();
        memset(memory, 1, nbytes);
        harness_use(memory);
        free(memory);
    }
}

static bool verify_malloc(const void *input)
{
    void *memory = malloc(nbytes);

    (void)input;
    free(memory);
    return memory != NULL;
}

static void *make(dlpark_tensor *tensor)
{
    int64_t shape[] = {(int64_t)nbytes};
    dlpark_tensor_desc desc = {.dtype = DLPARK_U8, .ndim = 1, .shape = DLPARK_DIMS(shape)};
    dlpark_view view;

    if (dlpark_tensor_alloc(tensor, &desc, &view, NULL))
        return NULL;
    return view.data;
}

static void run_alloc(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        void *memory = make(&tensor);
        if (!memory)
            abort();
        memset(memory, 1, nbytes);
        harness_use(memory);
        dlpark_tensor_release(&tensor);
    }
}

static bool verify_alloc(const void *input)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    unsigned char *memory = make(&tensor);
    bool right = memory && (uintptr_t)memory % 64 == 0;

    (void)input;
    if (right)
        memory[0] = memory[nbytes - 1] = 1;
    dlpark_tensor_release(&tensor);
    return right;
}

int main(int argc, char **argv)
{
    harness_options options = harness_parse(argc, argv);
    harness_group group = {
        "memory",
        "64 MiB, fresh, written once",
        -1,
        2,
        {
            {"malloc, memset, free", run_malloc, verify_malloc, NULL, {{NULL, 0}, {NULL, 0}}},
            {"dlpark_tensor_alloc, memset", run_alloc, verify_alloc, NULL, {{"malloc, memset, free", 1.0}, {NULL, 0}}},
        }};
    int wrong, missed = 0;

    if (options.count)
        return 0; /* the work is the kernel's, which an instruction counter does not see */
    harness_print_machine(&options);
    wrong = harness_run(&group, &options, &missed);
    return harness_finish(&options, wrong, missed);
}
