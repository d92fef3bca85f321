#include "test.h"

#include <dlpark/array.h>
#include <dlpark/transfer.h>

#include "fakecuda/fakecuda.h"

/* Copies through the calls of CUDA's driver, as the fake has them: strict about addresses, and late where it may be. */

static dlpark_cuda cuda = DLPARK_CUDA_EMPTY;

static int open_driver(void **state)
{
    (void)state;
    return dlpark_cuda_open(&cuda, FAKECUDA_PATH, NULL) == DLPARK_OK ? 0 : 1;
}

static int32_t numbers[4 * 6], back[4 * 6];

/* The whole of an array, or every second row of it backwards. */
static dlpark_view host_view(int32_t *values, bool strided)
{
    dlpark_view view;

    assert_int_equal(
        dlpark_array_view(&view,
                          &(dlpark_tensor_desc){
                              .data = values, .dtype = DLPARK_I32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){4, 6})},
                          NULL),
        DLPARK_OK);
    if (strided) {
        assert_int_equal(dlpark_view_slice(&view, 0, DLPARK_NONE, DLPARK_NONE, 2, NULL), DLPARK_OK);
        assert_int_equal(dlpark_view_slice(&view, 1, DLPARK_NONE, DLPARK_NONE, -1, NULL), DLPARK_OK);
    }
    return view;
}

static void make(dlpark_tensor *tensor, const dlpark_view *like, DLDevice device, dlpark_view *view)
{
    assert_ok(dlpark_cuda_alloc(
        &cuda, tensor,
        &(dlpark_tensor_desc){
            .dtype = like->dtype, .device = device, .ndim = like->ndim, .shape = DLPARK_DIMS(like->shape)},
        NULL, view, e));
}

/* To one device, to another or within it, and back: the same numbers in the same places, and nothing else written. */
static void there_and_back(DLDevice first, DLDevice second, bool strided, fake_order order)
{
    dlpark_tensor one = DLPARK_TENSOR_EMPTY, two = DLPARK_TENSOR_EMPTY;
    dlpark_view here = host_view(numbers, strided), home = host_view(back, strided), there, beyond;
    const dlpark_stream stream = {DLPARK_STREAM_DEFAULT, NULL};

    for (int i = 0; i < 24; i++) {
        numbers[i] = 100 + i;
        back[i] = -1;
    }
    fake_schedule(order);
    make(&one, &here, first, &there);
    make(&two, &here, second, &beyond);
    assert_ok(dlpark_cuda_copy(&cuda, &there, &here, stream, e));
    assert_ok(dlpark_cuda_copy(&cuda, &beyond, &there, stream, e));
    assert_ok(dlpark_cuda_wait(&cuda, second, stream, e));
    assert_ok(dlpark_cuda_copy(&cuda, &home, &beyond, stream, e));
    for (int i = 0; i < 24; i++)
        assert_int_equal(back[i], !strided || i / 6 % 2 == 0 ? 100 + i : -1);
    dlpark_tensor_release(&one);
    dlpark_tensor_release(&two);
    fake_schedule(FAKE_AT_ONCE);
    assert_int_equal(fake_live_all(), 0);
    assert_string_equal(fake_fault(), "");
    assert_int_equal(fake_context_depth(), 0);
}

static void numbers_come_back(void **state)
{
    (void)state;
    const DLDevice cuda_0 = {kDLCUDA, 0}, cuda_1 = {kDLCUDA, 1}, managed = {kDLCUDAManaged, 0};

    for (int order = FAKE_AT_ONCE; order <= FAKE_SHUFFLED; order++)
        for (int strided = 0; strided < 2; strided++) {
            there_and_back(cuda_0, cuda_0, strided, (fake_order)order);
            there_and_back(cuda_0, cuda_1, strided, (fake_order)order);
            there_and_back(managed, cuda_0, strided, (fake_order)order);
        }
}

/* Eight rows of bytes. */
static dlpark_view bytes_view(unsigned char *bytes, int64_t columns)
{
    dlpark_view view;
    const int64_t shape[] = {8, columns};

    assert_ok(dlpark_array_view(
        &view, &(dlpark_tensor_desc){.data = bytes, .dtype = DLPARK_U8, .ndim = 2, .shape = DLPARK_DIMS(shape)}, e));
    return view;
}

static void rows_on_a_device_are_copied_there(void **state)
{
    (void)state;
    dlpark_tensor wide = DLPARK_TENSOR_EMPTY;
    dlpark_view all, columns, here = host_view(numbers, false), like;
    const dlpark_stream stream = {DLPARK_STREAM_DEFAULT, NULL};
    const int64_t shape[] = {8, 128};

    dlpark_view_copy(&like, &here);
    like.dtype = DLPARK_U8;
    memcpy(like.shape, shape, sizeof shape);
    make(&wide, &like, (DLDevice){kDLCUDA, 0}, &all);
    dlpark_view_copy(&columns, &all);
    assert_ok(dlpark_view_slice(&columns, 1, 16, 80, 1, e));
    unsigned char packed[8 * 64], expected[8 * 128], fetched[8 * 128];
    memset(packed, 7, sizeof packed);
    memset(expected, 5, sizeof expected);
    memset(fetched, 5, sizeof fetched);
    for (int row = 0; row < 8; row++)
        memset(expected + row * 128 + 16, 7, 64);
    dlpark_view source = bytes_view(packed, 64), whole = bytes_view(fetched, 128);
    assert_ok(dlpark_cuda_copy(&cuda, &all, &whole, stream, e));
    fake_reset();
    assert_ok(dlpark_cuda_copy(&cuda, &columns, &source, stream, e));
    assert_int_equal(fake_calls("cuMemcpy2DAsync_v2"), 1);
    assert_ok(dlpark_cuda_copy(&cuda, &whole, &all, stream, e));
    assert_memory_equal(fetched, expected, sizeof expected);
    dlpark_tensor_release(&wide);
    assert_int_equal(fake_live_all(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(rows_on_a_device_are_copied_there),
    };

    return cmocka_run_group_tests(tests, open_driver, NULL);
}
