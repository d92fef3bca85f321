/*
 * Arrow has no calls of its own to compare with: the floor is the memory that a producer of schema and array needs, taken and
 * given back.
 */
#include <stdlib.h>

#include <dlpark/arrow.h>

#include "harness.h"

static float numbers[24];

/* What is crossed: a tensor of this shape. */
typedef struct crossing {
    int32_t ndim;
    int64_t shape[3];
} crossing;

static dlpark_status make(dlpark_tensor *tensor, const crossing *of)
{
    return dlpark_tensor_new(
        tensor,
        &(dlpark_tensor_desc){
            .data = numbers, .dtype = DLPARK_F32, .ndim = of->ndim, .shape = DLPARK_DIMS((const int64_t *)of->shape)},
        NULL, NULL);
}

static void run_blocks(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        void *schema = malloc(400), *array = malloc(160);
        harness_use(schema);
        harness_use(array);
        free(schema);
        free(array);
    }
}

static bool verify_blocks(const void *input)
{
    void *block = malloc(400);
    bool right = input && block;

    free(block);
    return right;
}

static void run_new(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        if (make(&tensor, input))
            abort();
        harness_use(&tensor);
        dlpark_tensor_release(&tensor);
    }
}

static bool verify_new(const void *input)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    bool right = make(&tensor, input) == DLPARK_OK;

    dlpark_tensor_release(&tensor);
    return right;
}

/* Out and, where it is asked for, back in; ends all of it. Whether the memory stayed where it is. */
static bool cross(const crossing *of, bool back)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct ArrowSchema schema;
    struct ArrowArray array;
    dlpark_view DLPARK_UNINITIALIZED view;

    if (make(&tensor, of) || dlpark_arrow_export(&schema, &array, &tensor, NULL))
        return false;
    const void *data = of->ndim > 1 ? array.children[0]->buffers[1] : array.buffers[1];
    if (back && dlpark_arrow_import(&tensor, &schema, &array, &view, NULL))
        return false;
    if (back)
        dlpark_tensor_release(&tensor);
    else
        array.release(&array);
    schema.release(&schema);
    return data == numbers && (!back || view.data == numbers);
}

static void run_out(const void *input, long count)
{
    for (long i = 0; i < count; i++)
        if (!cross(input, false))
            abort();
}

static bool verify_out(const void *input)
{
    return cross(input, false);
}

static void run_both(const void *input, long count)
{
    for (long i = 0; i < count; i++)
        if (!cross(input, true))
            abort();
}

static bool verify_both(const void *input)
{
    return cross(input, true);
}

int main(int argc, char **argv)
{
    static const crossing row = {1, {24}}, tensors = {3, {2, 3, 4}};
    const crossing *const crossings[] = {&row, &tensors};
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    harness_print_machine(&options);
    for (int i = 0; i < 2; i++) {
        const harness_group group = {
            "arrow",
            i ? "fixed_shape_tensor" : "primitive array",
            crossings[i]->ndim,
            4,
            {
                {"two blocks, malloc and free", run_blocks, verify_blocks, crossings[i], {{NULL, 0}}},
                {"dlpark_tensor_new and release", run_new, verify_new, crossings[i], {{NULL, 0}}},
                {"new, export and release", run_out, verify_out, crossings[i], {{NULL, 0}}},
                {"new, export, import and release", run_both, verify_both, crossings[i], {{NULL, 0}}},
            }};
        wrong += harness_run(&group, &options, &missed);
    }
    return harness_finish(&options, wrong, missed);
}
