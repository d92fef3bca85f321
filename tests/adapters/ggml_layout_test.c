#define _XOPEN_SOURCE 700 /* setenv */

#include "ggml_made.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dlpark/ggml.h>

#include "passage.h"

/* ---- ggml computes with it ---- */

/* What ggml makes of a f32 [2, 3] at a place: the products of its rows. */
static void any_address_computes(void **state)
{
    (void)state;
    made_floats();
    for (size_t at = 0; at < 64; at += 4) {
        dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
        dlpark_tensor tensor = made_tensor(at, DLPARK_F32, 2, (int64_t[]){2, 3}, (int64_t[]){5, 1});
        struct ggml_context *context = made_context(true);
        float got[4], *a = (float *)(void *)(made_memory + at), *b = a + 5;

        assert_ok(dlpark_ggml_export(&object, &tensor, 0, e));
        assert_ptr_equal(object.ggml->data, made_memory + at);
        made_compute(context, ggml_mul_mat(context, object.ggml, object.ggml), got);
        assert_float_equal(got[0], a[0] * a[0] + a[1] * a[1] + a[2] * a[2], 0);
        assert_float_equal(got[1], a[0] * b[0] + a[1] * b[1] + a[2] * b[2], 0);
        assert_float_equal(got[3], b[0] * b[0] + b[1] * b[1] + b[2] * b[2], 0);
        ggml_free(context);
        dlpark_ggml_release(&object);
    }
}

/* ggml writes where we look: its result is an export, as a leaf that a copy goes to. */
static void results_land_in_our_memory(void **state)
{
    dlpark_ggml_object from = DLPARK_GGML_OBJECT_EMPTY, to = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_tensor source = made_tensor(4, DLPARK_F32, 1, (int64_t[]){6}, NULL);
    dlpark_tensor target = made_tensor(512 + 4, DLPARK_F32, 1, (int64_t[]){6}, NULL);
    struct ggml_context *context = made_context(true);
    float got[6];

    (void)state;
    made_floats();
    assert_ok(dlpark_ggml_export(&from, &source, 0, e));
    assert_ok(dlpark_ggml_export(&to, &target, 0, e));
    made_compute(context, ggml_cpy(context, ggml_scale(context, from.ggml, 10), to.ggml), got);
    for (int i = 0; i < 6; i++)
        assert_float_equal(((float *)(void *)(made_memory + 516))[i], 10.0F * (float)(i + 1), 0);
    assert_float_equal(((float *)(void *)(made_memory + 512))[0], 128, 0); /* the neighbours are as they were */
    assert_float_equal(((float *)(void *)(made_memory + 540))[0], 135, 0);
    ggml_free(context);
    dlpark_ggml_release(&to);
    dlpark_ggml_release(&from);
}

static void shared_places_are_read_right(void **state)
{
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_tensor tensor = made_tensor(4, DLPARK_F32, 2, (int64_t[]){3, 4}, (int64_t[]){2, 1});
    struct ggml_context *context = made_context(true);
    float sum, cont[12], product[9], want = 0;

    (void)state;
    made_floats();
    assert_ok(dlpark_ggml_export(&object, &tensor, DLPARK_GGML_READ, e));
    made_compute(context, ggml_sum(context, object.ggml), &sum);
    made_compute(context, ggml_cont(context, object.ggml), cont);
    made_compute(context, ggml_mul_mat(context, object.ggml, object.ggml), product);
    for (int k = 0; k < 12; k++) {
        assert_float_equal(cont[k], (float)(1 + k / 4 * 2 + k % 4), 0);
        want += cont[k];
    }
    assert_float_equal(sum, want, 0);
    assert_float_equal(product[1], cont[0] * cont[4] + cont[1] * cont[5] + cont[2] * cont[6] + cont[3] * cont[7], 0);
    ggml_free(context);
    dlpark_ggml_release(&object);
}

static void empty_tensors_take_part(void **state)
{
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_tensor tensor = made_tensor(4, DLPARK_F32, 2, (int64_t[]){0, 3}, NULL);
    struct ggml_context *context = made_context(true);
    float sum = 5;

    (void)state;
    made_released = 0;
    assert_ok(dlpark_ggml_export(&object, &tensor, 0, e));
    assert_int_equal(ggml_nbytes(object.ggml), 0);
    ggml_backend_tensor_get(object.ggml, &sum, 0, 0); /* aborts where there is no buffer */
    made_compute(context, ggml_sum(context, object.ggml), &sum);
    assert_float_equal(sum, 0, 0);
    ggml_free(context);
    dlpark_ggml_release(&object);
    assert_int_equal(made_released, 1);
    const int64_t large[] = {2, INT64_MAX / 2, 0};
    tensor = made_tensor(4, DLPARK_F32, 3, large, NULL);
    assert_ok(dlpark_ggml_export(&object, &tensor, 0, e));
    dlpark_ggml_release(&object);
    const int64_t larger[] = {2, 0, INT64_MAX / 2};
    tensor = made_tensor(4, DLPARK_F64, 3, larger, NULL);
    assert_fails(DLPARK_E_OVERFLOW, "nb[1] would be 4611686018427387903 times 8 bytes", dlpark_ggml_export(&object, &tensor, 0, e));
    dlpark_tensor_release(&tensor);
}

static void blocks_go_out_and_come_back(void **state)
{
    static const char *const spelled[] = {"q4_0", "Q8_0", "q4_k", "Q6_K"};
    static float values[2 * 256], input[256];
    static unsigned char blocks[2 * 512];

    (void)state;
    for (int i = 0; i < 512; i++)
        values[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int i = 0; i < 256; i++)
        input[i] = (float)(i % 7);
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++) {
        static const enum ggml_type types[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K};
        dlpark_ggml_object weight = DLPARK_GGML_OBJECT_EMPTY;
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view back;
        int64_t row = (int64_t)ggml_row_size(types[i], 256), shape[] = {2, row};
        struct ggml_context *context = made_context(false);
        struct ggml_tensor *x = ggml_new_tensor_1d(context, GGML_TYPE_F32, 256);
        struct ggml_tensor *theirs = ggml_new_tensor_2d(context, types[i], 256, 2);
        float got[2], want[2];

        memcpy(x->data, input, sizeof input);
        assert_int_equal(ggml_quantize_chunk(types[i], values, blocks, 0, 2, 256, NULL), 2 * row);
        memcpy(theirs->data, blocks, (size_t)(2 * row));
        assert_ok(dlpark_tensor_new(
            &tensor,
            &(dlpark_tensor_desc){.data_const = blocks, .dtype = DLPARK_U8, .ndim = 2, .shape = DLPARK_DIMS(shape)},
            NULL, e));
        assert_ok(dlpark_ggml_export_blocks(&weight, &tensor, spelled[i], DLPARK_GGML_READ, e));
        assert_ptr_equal(weight.ggml->data, blocks);
        assert_int_equal(weight.ggml->ne[0], 256);
        made_compute(context, ggml_mul_mat(context, weight.ggml, x), got);
        made_compute(context, ggml_mul_mat(context, theirs, x), want);
        assert_memory_equal(got, want, sizeof got);
        assert_ok(dlpark_ggml_view_as(&back, weight.ggml, DLPARK_GGML_BLOCKS, e));
        assert_ptr_equal(back.data, blocks);
        assert_int_equal(back.shape[1], row);
        dlpark_ggml_release(&weight);
        ggml_free(context);
    }
    passage_report("ggml", PASSAGE_OUT, DLPARK_U8, "blocks of a quantised type, as bytes", DLPARK_OK);
    ggml_quantize_free();
}

/* ---- What ggml does with what is refused: each reason for a check here ---- */

static void try_base(size_t offset, size_t nbytes, int64_t count)
{
    struct ggml_context *context = made_context(true);
    unsigned char *base = offset < 32 ? made_memory + offset : NULL;
    ggml_backend_buffer_t buffer = ggml_backend_cpu_buffer_from_ptr(base, nbytes);

    (void)ggml_backend_tensor_alloc(buffer, ggml_new_tensor_1d(context, GGML_TYPE_F32, count), base);
}

static void base_misaligned(void)
{
    try_base(4, 64, 4);
}

static void base_null(void)
{
    try_base(32, 64, 4);
}

static void buffer_too_small(void)
{
    try_base(0, 12, 4);
}

static void buffer_without_bytes(void)
{
    try_base(0, 0, 0);
}

static void rank_of_five(void)
{
    (void)ggml_new_tensor(made_context(true), GGML_TYPE_F32, 5, (int64_t[]){1, 1, 1, 1, 1});
}

/* A f32 [4, 3] whose columns lie one after the other, as ggml would see it. */
static struct ggml_tensor *transposed(struct ggml_context *context)
{
    struct ggml_tensor *tensor = ggml_new_tensor_2d(context, GGML_TYPE_F32, 3, 4);

    tensor->nb[0] = 16;
    tensor->nb[1] = 4;
    tensor->nb[2] = tensor->nb[3] = 48;
    (void)ggml_backend_tensor_alloc(ggml_backend_cpu_buffer_from_ptr(made_memory, 64), tensor, made_memory);
    return tensor;
}

static void add_transposed(void)
{
    struct ggml_context *context = made_context(true);
    struct ggml_tensor *tensor = transposed(context);
    float got[12];

    made_compute(context, ggml_add(context, tensor, tensor), got);
}

static void mul_mat_transposed(void)
{
    struct ggml_context *context = made_context(true);
    struct ggml_tensor *tensor = transposed(context);
    float got[16];

    made_compute(context, ggml_mul_mat(context, tensor, tensor), got);
}

/* One row four times, by a stride of 0. */
static void mul_mat_repeated(void)
{
    struct ggml_context *context = made_context(true);
    struct ggml_tensor *tensor = ggml_new_tensor_2d(context, GGML_TYPE_F32, 3, 4);

    tensor->nb[1] = tensor->nb[2] = tensor->nb[3] = 0;
    (void)ggml_mul_mat(context, tensor, tensor);
}

static void get_without_buffer(void)
{
    struct ggml_context *context = made_context(true);
    float got;

    ggml_backend_tensor_get(ggml_new_tensor_1d(context, GGML_TYPE_F32, 0), &got, 0, 0);
}

static void ggml_aborts_on_what_is_refused(void **state)
{
    static void (*const tries[])(void) = {base_misaligned,      base_null,        buffer_too_small,
                                          buffer_without_bytes, rank_of_five,     add_transposed,
                                          mul_mat_transposed,   mul_mat_repeated, get_without_buffer};

    (void)state;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
            setenv("GGML_NO_BACKTRACE", "1", 1);
            if (freopen("/dev/null", "w", stderr) == NULL)
                _exit(2);
            signal(SIGABRT, SIG_DFL); /* cmocka has its own */
            tries[i]();
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("try %zu ended with %d: ggml no longer aborts, the check may go", i, status);
    }
}

/* The worst of them does not abort. */
static void ggml_sums_transposed_ones_wrongly(void **state)
{
    struct ggml_context *context = made_context(true);
    struct ggml_tensor *tensor = transposed(context);
    float got, want = 0;

    (void)state;
    made_floats();
    for (int i = 0; i < 12; i++)
        want += (float)i;
    made_compute(context, ggml_sum(context, tensor), &got);
    if ((double)got == (double)want)
        fail_msg("ggml_sum() gave %g: it is right now, the check may go", (double)got);
    ggml_backend_buffer_free(tensor->buffer);
    ggml_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_address_computes),
        cmocka_unit_test(results_land_in_our_memory),
        cmocka_unit_test(shared_places_are_read_right),
        cmocka_unit_test(empty_tensors_take_part),
        cmocka_unit_test(blocks_go_out_and_come_back),
        cmocka_unit_test(ggml_aborts_on_what_is_refused),
        cmocka_unit_test(ggml_sums_transposed_ones_wrongly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
