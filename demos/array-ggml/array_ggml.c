/*
 * A network that adds three bits, kept in ordinary C arrays and computed by ggml where they lie. What ggml has computed comes
 * back as a C array, in ggml's memory. Wrong sums, and an address that is not the same on both sides, end it with 1.
 *
 *     hidden = relu(first * bits + threshold)        bits that are set, above 0, 1 and 2
 *     output = second * hidden                       sum and carry: each row of the truth table, exactly
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ggml-alloc.h>
#include <ggml-cpu.h>

#include <dlpark/dlpark.h>
#include <dlpark/ggml.h>

#define CASES 8

static float bits[CASES][3];
static float first[3][3] = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
static float threshold[3] = {0, -1, -2};
static float second[2][3] = {{1, -2, 2}, {0, 1, -1}};

/* ---- From C to ggml ---- */

/* One C array, of two dimensions, that ggml works on. */
typedef struct input {
    const char *name;
    float *array;
    int64_t rows;
    int64_t columns;
    dlpark_ggml_object object;
} input;

static dlpark_status give(input *in, dlpark_error *err)
{
    const int64_t shape[] = {in->rows, in->columns};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    DLPARK_TRY(dlpark_tensor_new(
        &tensor, &(dlpark_tensor_desc){.data = in->array, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS(shape)},
        NULL, err));
    dlpark_status status = dlpark_ggml_export(&in->object, &tensor, 0, err);
    if (status != DLPARK_OK)
        dlpark_tensor_release(&tensor);
    return status;
}

/* ---- ggml computes ---- */

static struct ggml_tensor *build(struct ggml_context *context, input inputs[4])
{
    struct ggml_tensor *hidden = ggml_mul_mat(context, inputs[1].object.ggml, inputs[0].object.ggml);

    hidden = ggml_relu(context, ggml_add(context, hidden, inputs[2].object.ggml));
    return ggml_mul_mat(context, inputs[3].object.ggml, hidden);
}

/* Computes the network; `owner` keeps what has come of it, and is the caller's to end. NULL where ggml says no. */
static struct ggml_tensor *compute(dlpark_ggml_owner *owner, input inputs[4])
{
    ggml_backend_t cpu = ggml_backend_cpu_init();
    struct ggml_context *context = ggml_init(
        (struct ggml_init_params){.mem_size = 16 * ggml_tensor_overhead() + ggml_graph_overhead(), .no_alloc = true});
    struct ggml_tensor *output = build(context, inputs);
    struct ggml_cgraph *graph = ggml_new_graph(context);

    ggml_build_forward_expand(graph, output);
    owner->context = context;
    owner->buffer = ggml_backend_alloc_ctx_tensors(context, cpu);
    bool done = owner->buffer != NULL && ggml_backend_graph_compute(cpu, graph) == GGML_STATUS_SUCCESS;
    ggml_backend_free(cpu);
    return done ? output : NULL;
}

/* ---- From ggml to C ---- */

/* The truth table by C's own sums; how many of its rows are wrong. */
static int judge(float sums[CASES][2])
{
    int wrong = 0;

    for (int i = 0; i < CASES; i++) {
        int set = (i & 1) + (i >> 1 & 1) + (i >> 2 & 1);
        bool right = sums[i][0] == (float)(set & 1) && sums[i][1] == (float)(set >> 1);
        printf("%s%d+%d+%d = %g%g%s", i % 4 ? "   " : "  ", i >> 2 & 1, i >> 1 & 1, i & 1, (double)sums[i][1],
               (double)sums[i][0], right ? "" : " WRONG");
        printf("%s", i % 4 == 3 ? "\n" : "");
        wrong += !right;
    }
    return wrong;
}

/* How many things were wrong. */
static int run(input inputs[4], dlpark_ggml_owner *owner, dlpark_tensor *sums, dlpark_error *err)
{
    dlpark_view view;
    int wrong = 0;

    for (int i = 0; i < 4; i++) {
        if (give(&inputs[i], err))
            return 1;
        bool same = inputs[i].object.ggml->data == inputs[i].array;
        printf("C array %-9s [%d, %d] at %p -> DLPack -> ggml at %p, %s\n", inputs[i].name, (int)inputs[i].rows,
               (int)inputs[i].columns, (void *)inputs[i].array, inputs[i].object.ggml->data,
               same ? "the same" : "NOT THE SAME");
        wrong += !same;
    }
    struct ggml_tensor *output = compute(owner, inputs);
    if (output == NULL) {
        dlpark_error_set(err, DLPARK_E_MEMORY, "ggml could not compute the network");
        return 1;
    }
    const void *theirs = output->data;
    if (dlpark_ggml_import(sums, output, owner, DLPARK_GGML_NDIM(2), &view, err))
        return 1;
    bool same = sums->managed->dl_tensor.data == theirs;
    printf("ggml's result     [%d, %d] at %p -> DLPack -> C array at %p, %s\n", (int)view.shape[0], (int)view.shape[1],
           theirs, sums->managed->dl_tensor.data, same ? "the same" : "NOT THE SAME");
    bool packed = view.ndim == 2 && view.shape[0] == CASES && view.shape[1] == 2 && dlpark_view_is_compact(&view);
    return wrong + !same + (packed ? judge(view.data) : CASES);
}

/* ---- What it costs ---- */

static void end_object(void *object)
{
    dlpark_ggml_release(object);
}

/* 64 MiB as a tensor to ggml, and from there as a tensor back; the time of one such trip. False where one went wrong. */
static bool measure(double *ns)
{
    enum { COLUMNS = 4096, TRIPS = 100000 };
    float *large = calloc((size_t)COLUMNS * COLUMNS, sizeof *large);
    input in = {"large", large, COLUMNS, COLUMNS, DLPARK_GGML_OBJECT_EMPTY};
    dlpark_tensor back = DLPARK_TENSOR_EMPTY;
    struct timespec begin, end;
    bool right = large != NULL;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; right && i < TRIPS; i++) {
        dlpark_ggml_owner owner = {.release = end_object, .owner = &in.object};
        dlpark_view view;
        right = give(&in, NULL) == DLPARK_OK &&
                dlpark_ggml_import(&back, in.object.ggml, &owner, 0, &view, NULL) == DLPARK_OK && view.data == large;
        dlpark_tensor_release(&back);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    *ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / TRIPS;
    dlpark_ggml_release(&in.object);
    free(large);
    return right;
}

int main(void)
{
    input inputs[4] = {
        {"bits", bits[0], CASES, 3, DLPARK_GGML_OBJECT_EMPTY},
        {"first", first[0], 3, 3, DLPARK_GGML_OBJECT_EMPTY},
        {"threshold", threshold, 1, 3, DLPARK_GGML_OBJECT_EMPTY},
        {"second", second[0], 2, 3, DLPARK_GGML_OBJECT_EMPTY},
    };
    dlpark_ggml_owner owner = {NULL, NULL, NULL, NULL};
    dlpark_tensor sums = DLPARK_TENSOR_EMPTY;
    dlpark_error err = {.message = ""};
    double ns;

    for (int i = 0; i < CASES; i++)
        for (int k = 0; k < 3; k++)
            bits[i][k] = (float)(i >> (2 - k) & 1);
    int wrong = run(inputs, &owner, &sums, &err);
    dlpark_tensor_release(&sums); /* ends ggml's context and buffer with it */
    ggml_backend_buffer_free(owner.buffer);
    ggml_free(owner.context);
    for (int i = 0; i < 4; i++)
        dlpark_ggml_release(&inputs[i].object);
    wrong += !measure(&ns);
    if (wrong == 0)
        printf("0 bytes were copied; 64 MiB to ggml and back take %.0f ns\n", ns);
    else
        fprintf(stderr, "%d results or addresses are wrong%s%s\n", wrong, *err.message ? ": " : "", err.message);
    return wrong != 0;
}
