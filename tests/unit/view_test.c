#include "test.h"

#include <stdbool.h>

static _Alignas(16) unsigned char memory[512];

/* A writable compact view over `memory`. */
static void make_view(dlpark_view *view, DLDataType dtype, int32_t ndim, const int64_t *shape)
{
    DLTensor tensor = {memory, {kDLCPU, 0}, ndim, dtype, (int64_t *)(uintptr_t)shape, NULL, 0};

    assert_int_equal(dlpark_check(&tensor, 0, view, NULL), DLPARK_OK);
    assert_int_equal(dlpark_view_allow_write(view, NULL), DLPARK_OK);
}

#define expect_null(text, expected, call)                                                                              \
    do {                                                                                                               \
        dlpark_error err = test_fresh_error();                                                                         \
        dlpark_error *e = &err;                                                                                        \
        assert_null(call);                                                                                             \
        assert_int_equal(err.status, (expected));                                                                      \
        if (strstr(err.message, (text)) == NULL)                                                                       \
            fail_msg("\"%s\" does not contain \"%s\"", err.message, (text));                                           \
        e = NULL;                                                                                                      \
        assert_null(call);                                                                                             \
    } while (0)

static void typed_access_gives_element_0(void **state)
{
    (void)state;
    dlpark_view view;
    dlpark_error err = test_fresh_error();

    make_view(&view, DLPARK_F32, 2, (int64_t[]){2, 3});
    assert_ptr_equal(DLPARK_CPU(float, &view, &err), memory);
    assert_ptr_equal(DLPARK_CPU_MUT(float, &view, NULL), memory);
    assert_int_equal((unsigned char)err.message[0], 0x5A);
    *DLPARK_CPU_MUT(float, &view, &err) = 1.5f;
    assert_true(*DLPARK_CPU(float, &view, &err) == 1.5f);
}

static void typed_access_names_what_is_wrong(void **state)
{
    (void)state;
    dlpark_view view;

    make_view(&view, DLPARK_I32, 2, (int64_t[]){2, 3});
    expect_null("expected f32, got i32", DLPARK_E_DTYPE, DLPARK_CPU(float, &view, e));
    expect_null("expected u32, got i32", DLPARK_E_DTYPE, DLPARK_CPU(uint32_t, &view, e));
    view.device = DLPARK_DEVICE(kDLCUDA, 1);
    expect_null("got cuda:1", DLPARK_E_DEVICE, DLPARK_CPU(int32_t, &view, e));
    view.device = DLPARK_DEVICE(kDLCUDAHost, 0);
    assert_non_null(DLPARK_CPU(int32_t, &view, NULL));
    view.data = memory + 2;
    expect_null("not aligned to 4 bytes", DLPARK_E_ALIGNMENT, DLPARK_CPU(int32_t, &view, e));
    view.data = memory;
    view.strides[0] = 4;
    expect_null("shape [2, 3] with strides [4, 1]", DLPARK_E_LAYOUT, DLPARK_CPU(int32_t, &view, e));
    expect_null("strides [4, 1]", DLPARK_E_LAYOUT, DLPARK_CPU_MUT(int32_t, &view, e));
    expect_null("strides [4, 1]", DLPARK_E_LAYOUT, dlpark_view_bytes(&view, NULL, e));
    expect_null("strides [4, 1]", DLPARK_E_LAYOUT, dlpark_view_bytes_mut(&view, NULL, e));
}

static void truth_values_are_not_bytes(void **state)
{
    (void)state;
    dlpark_view view;

    make_view(&view, DLPARK_BOOL, 1, (int64_t[]){4});
    expect_null("expected u8, got bool", DLPARK_E_DTYPE, DLPARK_CPU(uint8_t, &view, e));
    assert_non_null(DLPARK_CPU(bool, &view, NULL));
    make_view(&view, DLPARK_U8, 1, (int64_t[]){4});
    expect_null("expected bool, got u8", DLPARK_E_DTYPE, DLPARK_CPU(bool, &view, e));
}

static void writing_asks_the_flags(void **state)
{
    (void)state;
    dlpark_view view;

    make_view(&view, DLPARK_U8, 1, (int64_t[]){4});
    view.flags = DLPARK_VIEW_READ_ONLY;
    assert_non_null(DLPARK_CPU(uint8_t, &view, NULL));
    expect_null("read-only", DLPARK_E_READ_ONLY, DLPARK_CPU_MUT(uint8_t, &view, e));
    expect_null("read-only", DLPARK_E_READ_ONLY, dlpark_view_bytes_mut(&view, NULL, e));
    view.flags = DLPARK_VIEW_UNKNOWN_WRITE;
    expect_null("dlpark_view_allow_write", DLPARK_E_READ_ONLY, DLPARK_CPU_MUT(uint8_t, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    assert_non_null(DLPARK_CPU_MUT(uint8_t, &view, NULL));
    view.flags = DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE;
    assert_fails(DLPARK_E_READ_ONLY, "producer", dlpark_view_allow_write(&view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE);
}

static void no_elements_give_a_pointer_all_the_same(void **state)
{
    (void)state;
    dlpark_view view;
    int64_t nbytes = -1;

    make_view(&view, DLPARK_F64, 2, (int64_t[]){0, 3});
    view.strides[0] = -7;
    assert_null(view.data);
    assert_non_null(DLPARK_CPU(double, &view, NULL));
    assert_non_null(DLPARK_CPU_MUT(double, &view, NULL));
    assert_non_null(dlpark_view_bytes(&view, &nbytes, NULL));
    assert_int_equal(nbytes, 0);
    assert_true(dlpark_view_is_compact(&view));
    expect_null("expected f32", DLPARK_E_DTYPE, DLPARK_CPU(float, &view, e)); /* the rest is still checked */
}

static void bytes_of_any_dtype(void **state)
{
    (void)state;
    dlpark_view view;
    int64_t nbytes = -1;

    make_view(&view, DLPARK_I4, 1, (int64_t[]){7});
    assert_ptr_equal(dlpark_view_bytes(&view, &nbytes, NULL), memory);
    assert_int_equal(nbytes, 4);
    assert_int_equal(dlpark_view_nbytes(&view), 4);
    assert_ptr_equal(dlpark_view_bytes_mut(&view, NULL, NULL), memory);
    view.flags |= DLPARK_VIEW_PADDED;
    assert_ptr_equal(dlpark_view_bytes(&view, &nbytes, NULL), memory);
    assert_int_equal(nbytes, 7);
    view.flags = 0;
    assert_true(dlpark_view_is_compact(&view));
    view.bit_offset = 4;
    assert_false(dlpark_view_is_compact(&view));
    expect_null("inside a byte", DLPARK_E_LAYOUT, dlpark_view_bytes(&view, &nbytes, e));
}

/* Of whole bytes PADDED says nothing, and a view does not say it. */
static void padded_is_said_of_sub_byte_types_only(void **state)
{
    (void)state;
    int64_t shape[] = {4}, strides[] = {-1};
    DLTensor tensor = {memory + 64, {kDLCPU, 0}, 1, DLPARK_DTYPE(kDLFloat, 32, 3), shape, strides, 0};
    uint64_t padded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    dlpark_view view;

    assert_ok(dlpark_check(&tensor, padded, &view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
    tensor.dtype = DLPARK_DTYPE(kDLInt, 4, 2);
    assert_ok(dlpark_check(&tensor, padded, &view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
    tensor.dtype = DLPARK_DTYPE(kDLInt, 4, 3);
    assert_ok(dlpark_check(&tensor, padded, &view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE | DLPARK_VIEW_PADDED);
    assert_int_equal(dlpark_view_nbytes(&view), 8);
}

static void numel_and_nbytes(void **state)
{
    (void)state;
    dlpark_view view;

    make_view(&view, DLPARK_DTYPE(kDLFloat, 32, 3), 3, (int64_t[]){2, 1, 4});
    assert_int_equal(dlpark_view_numel(&view), 8);
    assert_int_equal(dlpark_view_nbytes(&view), 96);
    make_view(&view, DLPARK_F32, 0, NULL);
    assert_int_equal(dlpark_view_numel(&view), 1);
    make_view(&view, DLPARK_F32, 3, (int64_t[]){INT64_MAX, INT64_MAX, 0});
    assert_int_equal(dlpark_view_numel(&view), 0);
    assert_int_equal(dlpark_view_nbytes(&view), 0);
}

static void copy_takes_only_what_is_used(void **state)
{
    (void)state;
    dlpark_view from, to;

    memset(&from, 0x11, sizeof from);
    memset(&to, 0x22, sizeof to);
    make_view(&from, DLPARK_F32, 2, (int64_t[]){2, 3});
    dlpark_view_copy(&to, &from);
    assert_int_equal(to.ndim, 2);
    assert_int_equal(to.shape[1], 3);
    assert_int_equal(to.strides[0], 3);
    assert_int_equal(to.shape[2], 0x2222222222222222);
    assert_ptr_equal(to.data, memory);
    dlpark_view_copy(&to, &to);
    assert_int_equal(to.shape[0], 2);
}

static void raw_form_points_into_the_view(void **state)
{
    (void)state;
    dlpark_view view, again;
    DLTensor raw;

    make_view(&view, DLPARK_F32, 2, (int64_t[]){2, 3});
    assert_ok(dlpark_view_borrow_dltensor(&view, &raw, e));
    assert_ptr_equal(raw.shape, view.shape);
    assert_ptr_equal(raw.strides, view.strides);
    assert_ok(dlpark_check(&raw, view.flags, &again, e));
    assert_ptr_equal(again.data, view.data);
    view.bit_offset = 2;
    DLTensor before = raw;
    assert_fails(DLPARK_E_LAYOUT, "bit 2", dlpark_view_borrow_dltensor(&view, &raw, e));
    assert_memory_equal(&raw, &before, sizeof raw);
    make_view(&view, DLPARK_F32, 0, NULL);
    assert_ok(dlpark_view_borrow_dltensor(&view, &raw, e));
    assert_null(raw.shape);
    assert_null(raw.strides);
}

static void long_lists_are_cut_in_messages(void **state)
{
    (void)state;
    dlpark_view view;
    int64_t shape[64];

    for (int i = 0; i < 64; i++)
        shape[i] = 1;
    shape[0] = 2;
    make_view(&view, DLPARK_U8, 64, shape);
    view.strides[0] = 5;
    expect_null(", ...] with strides [5, 1", DLPARK_E_LAYOUT, DLPARK_CPU(uint8_t, &view, e));
}

/* Whether element n of the row-major order is n elements from the first, asked of every one. */
static bool lie_in_order(int ndim, const int64_t *shape, const int64_t *strides)
{
    int64_t index[6] = {0}, place = 0;

    for (;; place++) {
        int64_t at = 0;
        for (int i = 0; i < ndim; i++)
            at += index[i] * strides[i];
        if (at != place)
            return false;
        int i = ndim - 1;
        while (i >= 0 && ++index[i] == shape[i])
            index[i--] = 0;
        if (i < 0)
            return true;
    }
}

/* Typed access asks for compactness in its own way. */
static void compact_views_of_any_rank_are_given(void **state)
{
    (void)state;
    for (int32_t ndim = 0; ndim <= 6; ndim++)
        for (int code = 0; code < 1 << 2 * ndim; code++) {
            int64_t shape[6], strides[6], stride = 1;
            dlpark_view view;
            for (int32_t i = ndim - 1; i >= 0; i--) {
                shape[i] = 1 + (code >> 2 * i & 1);
                strides[i] = stride + (code >> (2 * i + 1) & 1);
                stride *= shape[i];
            }
            DLTensor tensor = {memory, {kDLCPU, 0}, ndim, DLPARK_U8, shape, strides, 0};
            assert_int_equal(dlpark_check(&tensor, 0, &view, NULL), DLPARK_OK);
            bool compact = lie_in_order(ndim, shape, strides);
            assert_ptr_equal(DLPARK_CPU(uint8_t, &view, NULL), compact ? memory : NULL);
            assert_ptr_equal(dlpark_view_bytes(&view, NULL, NULL), compact ? memory : NULL);
            assert_null(DLPARK_CPU_MUT(uint8_t, &view, NULL));
            assert_int_equal(dlpark_view_allow_write(&view, NULL), DLPARK_OK);
            assert_ptr_equal(DLPARK_CPU_MUT(uint8_t, &view, NULL), compact ? memory : NULL);
            assert_ptr_equal(dlpark_view_bytes_mut(&view, NULL, NULL), compact ? memory : NULL);
        }
}

static void unusual_views_are_given_too(void **state)
{
    (void)state;
    dlpark_view view;

    make_view(&view, DLPARK_U8, 1, (int64_t[]){4});
    int64_t nbytes;
    assert_ptr_equal(dlpark_view_bytes_mut(&view, &nbytes, NULL), memory);
    assert_int_equal(nbytes, 4);
    assert_ptr_equal(dlpark_view_cpu(&view, DLPARK_U8, 16, NULL), memory);
    view.data = memory + 8;
    assert_ptr_equal(dlpark_view_cpu(&view, DLPARK_U8, 8, NULL), memory + 8);
    expect_null("not aligned to 16 bytes", DLPARK_E_ALIGNMENT, dlpark_view_cpu(&view, DLPARK_U8, 16, e));
    view.data = memory;
    view.device = DLPARK_DEVICE(kDLCUDAHost, 0);
    assert_ptr_equal(DLPARK_CPU(uint8_t, &view, NULL), memory);
    assert_ptr_equal(DLPARK_CPU_MUT(uint8_t, &view, NULL), memory);
    view.flags = DLPARK_VIEW_READ_ONLY;
    expect_null("read-only", DLPARK_E_READ_ONLY, DLPARK_CPU_MUT(uint8_t, &view, e));
    view.device = DLPARK_DEVICE_CPU;
    view.bit_offset = 4;
    expect_null("starting inside a byte", DLPARK_E_LAYOUT, DLPARK_CPU(uint8_t, &view, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typed_access_gives_element_0),
        cmocka_unit_test(typed_access_names_what_is_wrong),
        cmocka_unit_test(truth_values_are_not_bytes),
        cmocka_unit_test(writing_asks_the_flags),
        cmocka_unit_test(no_elements_give_a_pointer_all_the_same),
        cmocka_unit_test(bytes_of_any_dtype),
        cmocka_unit_test(padded_is_said_of_sub_byte_types_only),
        cmocka_unit_test(numel_and_nbytes),
        cmocka_unit_test(copy_takes_only_what_is_used),
        cmocka_unit_test(raw_form_points_into_the_view),
        cmocka_unit_test(long_lists_are_cut_in_messages),
        cmocka_unit_test(compact_views_of_any_rank_are_given),
        cmocka_unit_test(unusual_views_are_given_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
