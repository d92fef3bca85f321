/*
 * ggml's own calls for memory of others are the floor: a buffer around it and a tensor in that. Both ways no byte is copied, so
 * that 64 MiB cost what 64 bytes cost.
 */
#include <stdlib.h>

#include <ggml-backend.h>
#include <ggml.h>

#include <dlpark/ggml.h>

#include "harness.h"

/* What is crossed: a f32 matrix of 4 rows in this memory. */
typedef struct crossing {
    float *data;
    int64_t columns;
} crossing;

static dlpark_status make(dlpark_tensor *tensor, const crossing *of)
{
    const int64_t shape[] = {4, of->columns};

    return dlpark_tensor_new(
        tensor, &(dlpark_tensor_desc){.data = of->data, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS(shape)},
        NULL, NULL);
}

/* ---- Out of dlpark ---- */

/* What a program without dlpark does: a tensor without memory, and memory for it. */
static bool wrap(const crossing *of)
{
    struct ggml_tensor *tensor = calloc(1, sizeof *tensor);
    if (tensor == NULL)
        return false;
    tensor->type = GGML_TYPE_F32;
    tensor->ne[0] = of->columns;
    tensor->ne[1] = 4;
    tensor->ne[2] = tensor->ne[3] = 1;
    tensor->nb[0] = sizeof(float);
    tensor->nb[1] = (size_t)of->columns * sizeof(float);
    tensor->nb[2] = tensor->nb[3] = 4 * tensor->nb[1];
    struct ggml_backend_buffer *buffer = ggml_backend_cpu_buffer_from_ptr(of->data, tensor->nb[3]);
    (void)ggml_backend_tensor_alloc(buffer, tensor, of->data);
    bool right = tensor->data == of->data;
    harness_use(tensor);
    ggml_backend_buffer_free(buffer);
    free(tensor);
    return right;
}

static void run_wrap(const void *input, long count)
{
    for (long i = 0; i < count; i++)
        if (!wrap(input))
            abort();
}

static bool verify_wrap(const void *input)
{
    return wrap(input);
}

static bool make_and_end(const crossing *of)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    if (make(&tensor, of))
        return false;
    harness_use(&tensor);
    dlpark_tensor_release(&tensor);
    return true;
}

static void run_new(const void *input, long count)
{
    for (long i = 0; i < count; i++)
        if (!make_and_end(input))
            abort();
}

static bool verify_new(const void *input)
{
    return make_and_end(input);
}

static void end_object(void *object)
{
    dlpark_ggml_release(object);
}

/* Out and, where it is asked for, back in; ends all of it. Whether the memory stayed where it is. */
static bool cross(const crossing *of, bool back)
{
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view DLPARK_UNINITIALIZED view;

    if (make(&tensor, of) || dlpark_ggml_export(&object, &tensor, 0, NULL))
        return false;
    bool right = object.ggml->data == of->data;
    if (!back) {
        dlpark_ggml_release(&object);
        return right;
    }
    dlpark_ggml_owner owner = {.release = end_object, .owner = &object};
    if (dlpark_ggml_import(&tensor, object.ggml, &owner, 0, &view, NULL))
        return false;
    right = right && view.data == of->data;
    dlpark_tensor_release(&tensor);
    return right && object.ggml == NULL;
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

/* ---- Into dlpark ---- */

/* What ggml itself has to say of a tensor. */
static void run_ask(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        size_t nbytes = ggml_nbytes(input);
        int ndim = ggml_n_dims(input);
        bool host = ggml_backend_buffer_is_host(((const struct ggml_tensor *)input)->buffer);
        harness_use(&nbytes);
        harness_use(&ndim);
        harness_use(&host);
    }
}

static bool verify_ask(const void *input)
{
    return ggml_n_dims(input) == 2;
}

static void run_view(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        dlpark_view DLPARK_UNINITIALIZED view;
        if (dlpark_ggml_view(&view, input, NULL))
            abort();
        harness_use(&view);
    }
}

static bool verify_view(const void *input)
{
    dlpark_view view;

    return dlpark_ggml_view(&view, input, NULL) == DLPARK_OK && view.ndim == 2 &&
           view.data == ((const struct ggml_tensor *)input)->data;
}

/* A context with a result in it, which ends by ggml or as a tensor of ours. */
static bool take(bool ours)
{
    struct ggml_context *context = ggml_init((struct ggml_init_params){.mem_size = 2 * ggml_tensor_overhead() + 256});
    struct ggml_tensor *result = ggml_new_tensor_2d(context, GGML_TYPE_F32, 4, 4);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_ggml_owner owner = {.context = context};
    dlpark_view DLPARK_UNINITIALIZED view;

    harness_use(result);
    if (!ours) {
        ggml_free(context);
        return true;
    }
    if (dlpark_ggml_import(&tensor, result, &owner, 0, &view, NULL))
        return false;
    bool right = view.data == result->data && owner.context == NULL;
    dlpark_tensor_release(&tensor);
    return right;
}

static void run_context(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++)
        if (!take(false))
            abort();
}

static bool verify_context(const void *input)
{
    (void)input;
    return take(false);
}

static void run_import(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++)
        if (!take(true))
            abort();
}

static bool verify_import(const void *input)
{
    (void)input;
    return take(true);
}

int main(int argc, char **argv)
{
    static _Alignas(64) float few[16];
    const int64_t many = 4 << 20; /* columns; 64 MiB */
    crossing small = {few, 4}, large = {calloc((size_t)many, 4 * sizeof(float)), many};
    harness_options options = harness_parse(argc, argv);
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    int wrong = 0, missed = 0;

    if (large.data == NULL || make(&tensor, &small) || dlpark_ggml_export(&object, &tensor, 0, NULL))
        abort();
    large.data += 1; /* any address will do */
    large.columns -= 1;
    harness_print_machine(&options);
    const harness_group out = {"ggml",
                               "out of dlpark",
                               2,
                               3,
                               {
                                   {"ggml alone: tensor, buffer, free", run_wrap, verify_wrap, &small, {{NULL, 0}}},
                                   {"dlpark_tensor_new and release", run_new, verify_new, &small, {{NULL, 0}}},
                                   {"new, export and release", run_out, verify_out, &small, {{NULL, 0}}},
                               }};
    const harness_group trip = {"ggml",
                                "new, export, import and release",
                                2,
                                2,
                                {
                                    {"64 bytes", run_both, verify_both, &small, {{NULL, 0}}},
                                    {"64 MiB", run_both, verify_both, &large, {{"64 bytes", 1.2}}},
                                }};
    const harness_group in = {"ggml",
                              "into dlpark",
                              2,
                              4,
                              {
                                  {"ggml alone: bytes, rank, host", run_ask, verify_ask, object.ggml, {{NULL, 0}}},
                                  {"dlpark_ggml_view", run_view, verify_view, object.ggml, {{NULL, 0}}},
                                  {"ggml alone: context with a result", run_context, verify_context, NULL, {{NULL, 0}}},
                                  {"the same, imported and released", run_import, verify_import, NULL, {{NULL, 0}}},
                              }};
    wrong += harness_run(&out, &options, &missed);
    wrong += harness_run(&trip, &options, &missed);
    wrong += harness_run(&in, &options, &missed);
    dlpark_ggml_release(&object);
    free(large.data - 1);
    return harness_finish(&options, wrong, missed);
}
