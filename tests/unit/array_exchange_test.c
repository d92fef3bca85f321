/*
 * Arrays given out as tensors, and tensors of others taken as arrays: all that the Rust crate's adapter for ndarray does, with
 * the strides below zero that it refuses.
 */
#include "tensor_good.h"

#include <dlpark/array.h>

static int32_t cells[64];

static void fill_cells(void)
{
    for (int i = 0; i < 64; i++)
        cells[i] = i;
}

/* What a producer sends: a tensor of the cells, with a release that counts. */
static DLManagedTensorVersioned *sent(int32_t *first, int32_t ndim, const int64_t *shape, const int64_t *strides,
                                      uint64_t flags)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    fill_cells();
    assert_ok(dlpark_tensor_new(&tensor,
                                &(dlpark_tensor_desc){.data = first,
                                                      .dtype = DLPARK_I32,
                                                      .ndim = ndim,
                                                      .shape = DLPARK_DIMS(shape),
                                                      .strides = DLPARK_DIMS(strides),
                                                      .flags = flags,
                                                      .owner = cells,
                                                      .release = count_end},
                                NULL, e));
    return dlpark_tensor_export(&tensor);
}

#define assert_refused(expected, text, call)                                                                           \
    do {                                                                                                               \
        dlpark_error err = test_fresh_error(), *e = &err;                                                              \
        assert_null(call);                                                                                             \
        assert_int_equal(err.status, (expected));                                                                      \
        assert_non_null(strstr(err.message, (text)));                                                                  \
    } while (0)

/* ---- Out ---- */

/* Any rank, any strides, both ABIs: the same memory, its layout as it is, and nobody claims that it was copied. */
static void an_owned_array_goes_out_as_it_is(void **state)
{
    static const struct {
        int32_t ndim;
        int64_t shape[4], strides[4];
    } rows[] = {
        {0, {0}, {0}},
        {1, {6}, {1}},
        {2, {2, 3}, {3, 1}},
        {2, {3, 2}, {1, 3}} /* transposed */,
        {2, {2, 2}, {4, 2}} /* every second */,
        {2, {3, 2}, {-2, 1}},
        {2, {2, 3}, {0, 1}} /* broadcast */,
        {4, {1, 2, 1, 3}, {6, 3, 3, 1}},
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        const int32_t ndim = rows[i / 2].ndim;
        DLManagedTensorVersioned *theirs = sent(cells + 16, ndim, rows[i / 2].shape, rows[i / 2].strides, 0);
        DLManagedTensor *legacy = NULL;
        const DLTensor *out = &theirs->dl_tensor;
        ended = 0;
        assert_int_equal(theirs->flags, 0);
        if (i % 2) {
            dlpark_tensor tensor = {theirs};
            assert_ok(dlpark_tensor_export_legacy(&tensor, 0, &legacy, e));
            out = &legacy->dl_tensor;
        }
        assert_ptr_equal(out->data, cells + 16);
        assert_int_equal(out->byte_offset, 0);
        assert_int_equal(out->ndim, ndim);
        assert_memory_equal(out->shape, rows[i / 2].shape, sizeof(int64_t) * (size_t)ndim);
        assert_memory_equal(out->strides, rows[i / 2].strides, sizeof(int64_t) * (size_t)ndim);
        assert_int_equal(out->device.device_type, kDLCPU);
        assert_int_equal(ended, 0);
        if (i % 2)
            dlpark_managed_release_legacy(&legacy);
        else
            dlpark_managed_release(&theirs);
        assert_int_equal(ended, 1);
    }
}

static void an_owned_array_may_say_that_it_is_read_only(void **state)
{
    DLManagedTensorVersioned *theirs = sent(cells, 1, (int64_t[]){3}, (int64_t[]){1}, DLPARK_TENSOR_READ_ONLY);

    (void)state;
    assert_int_equal(theirs->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    dlpark_managed_release(&theirs);
}

static void without_elements_there_is_no_data(void **state)
{
    DLManagedTensorVersioned *theirs = sent(cells, 2, (int64_t[]){0, 3}, (int64_t[]){3, 1}, 0);

    (void)state;
    assert_null(theirs->dl_tensor.data);
    assert_int_equal(theirs->dl_tensor.shape[1], 3);
    dlpark_managed_release(&theirs);
    assert_int_equal(ended, 1);
}

/* ---- In ---- */

static void a_tensor_is_read_and_written_where_it_lies(void **state)
{
    static const struct {
        int64_t shape[2], strides[2];
    } rows[] = {{{2, 3}, {3, 1}},  {{3, 2}, {1, 3}}, {{2, 2}, {4, 2}}, {{2, 3}, {-3, -1}},
                {{3, 2}, {-2, 1}}, {{2, 2}, {6, 5}} /* apart, though the strides do not grow as usual */};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        DLManagedTensorVersioned *theirs = sent(cells + 16, 2, rows[i].shape, rows[i].strides, 0);
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        ended = 0;
        assert_ok(dlpark_tensor_import(&tensor, &theirs, &view, e));
        assert_memory_equal(view.shape, rows[i].shape, sizeof rows[i].shape);
        assert_memory_equal(view.strides, rows[i].strides, sizeof rows[i].strides);
        const int32_t *first = DLPARK_STRIDED(int32_t, &view, NULL);
        const int64_t last =
            16 + (rows[i].shape[0] - 1) * rows[i].strides[0] + (rows[i].shape[1] - 1) * rows[i].strides[1];
        assert_int_equal(DLPARK_AT(first, &view, rows[i].shape[0] - 1, rows[i].shape[1] - 1), last);
        int32_t *written = DLPARK_STRIDED_MUT(int32_t, &view, NULL);
        DLPARK_AT(written, &view, rows[i].shape[0] - 1, rows[i].shape[1] - 1) = -42;
        assert_int_equal(cells[last], -42);
        dlpark_tensor_release(&tensor);
        assert_int_equal(ended, 1);
    }
}

static void read_only_tensors_are_only_read(void **state)
{
    DLManagedTensorVersioned *theirs = sent(cells + 5, 2, shape_2x3, (int64_t[]){-3, -1}, DLPARK_TENSOR_READ_ONLY);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_tensor_import(&tensor, &theirs, &view, e));
    const int32_t *first = DLPARK_STRIDED(int32_t, &view, NULL);
    assert_true(DLPARK_AT(first, &view, 0, 0) == 5 && DLPARK_AT(first, &view, 1, 2) == 0);
    assert_refused(DLPARK_E_READ_ONLY, "read-only", DLPARK_STRIDED_MUT(int32_t, &view, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

/* The legacy ABI does not say whether memory may be written: the caller does, by name. */
static void legacy_tensors_are_written_when_somebody_says_so(void **state)
{
    dlpark_tensor tensor = {sent(cells, 2, shape_2x3, (int64_t[]){3, 1}, 0)};
    DLManagedTensor *legacy = NULL;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_tensor_export_legacy(&tensor, 0, &legacy, e));
    assert_ok(dlpark_tensor_import_legacy(&tensor, &legacy, &view, e));
    assert_non_null(DLPARK_STRIDED(int32_t, &view, NULL));
    assert_refused(DLPARK_E_READ_ONLY, "dlpark_view_allow_write()", DLPARK_STRIDED_MUT(int32_t, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    int32_t *first = DLPARK_STRIDED_MUT(int32_t, &view, NULL);
    DLPARK_AT(first, &view, 1, 2) = 42;
    assert_int_equal(cells[5], 42);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

static void elements_that_meet_are_not_written(void **state)
{
    static const int64_t strides[][2] = {{0, 1}, {3, 3}, {1, 1}, {0, 0}, {-1, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        DLManagedTensorVersioned *theirs = sent(cells + 16, 2, (int64_t[]){2, 2}, strides[i], 0);
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        assert_ok(dlpark_tensor_import(&tensor, &theirs, &view, e));
        assert_ptr_equal(DLPARK_STRIDED(int32_t, &view, NULL), cells + 16);
        assert_refused(DLPARK_E_STRIDES, "elements are in the same place", DLPARK_STRIDED_MUT(int32_t, &view, e));
        dlpark_tensor_release(&tensor);
    }
}

/* Without strides, with an offset, and the refusals of what cannot be an array of the host's. */
static void claims_are_checked_first(void **state)
{
    int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
    const DLTensor good_raw = {.data = cells,
                               .device = DLPARK_DEVICE_CPU,
                               .ndim = 2,
                               .dtype = DLPARK_I32,
                               .shape = shape,
                               .strides = NULL,
                               .byte_offset = 8};
    DLTensor raw = good_raw;
    dlpark_view view;

    (void)state;
    fill_cells();
    assert_ok(dlpark_check(&raw, 0, &view, e));
    const int32_t *first = DLPARK_STRIDED(int32_t, &view, NULL);
    assert_true(DLPARK_AT(first, &view, 0, 0) == 2 && DLPARK_AT(first, &view, 1, 2) == 7);
    assert_refused(DLPARK_E_DTYPE, "expected f32, got i32", DLPARK_STRIDED(float, &view, e));
    assert_refused(DLPARK_E_DTYPE, "expected u32, got i32", DLPARK_STRIDED_MUT(uint32_t, &view, e));
    raw.byte_offset = 2;
    assert_ok(dlpark_check(&raw, 0, &view, e));
    assert_refused(DLPARK_E_ALIGNMENT, "is not aligned to 4 bytes", DLPARK_STRIDED(int32_t, &view, e));
    raw.device = DLPARK_DEVICE(kDLCUDA, 0);
    raw.byte_offset = 0;
    assert_ok(dlpark_check(&raw, 0, &view, e));
    assert_refused(DLPARK_E_DEVICE, "cuda:0", DLPARK_STRIDED(int32_t, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    assert_refused(DLPARK_E_DEVICE, "cuda:0", DLPARK_STRIDED_MUT(int32_t, &view, e));
    raw = good_raw;
    shape[0] = -1;
    assert_fails(DLPARK_E_SHAPE, "-1", dlpark_check(&raw, 0, &view, e));
    shape[0] = 2;
    raw.strides = strides;
    strides[0] = INT64_MAX;
    assert_fails(DLPARK_E_OVERFLOW, "", dlpark_check(&raw, 0, &view, e));
    strides[0] = INT64_MIN;
    assert_fails(DLPARK_E_OVERFLOW, "", dlpark_check(&raw, 0, &view, e));
    shape[0] = 0; /* without elements the strides mean nothing */
    assert_ok(dlpark_check(&raw, 0, &view, e));
    assert_non_null(DLPARK_STRIDED(int32_t, &view, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_owned_array_goes_out_as_it_is),   TEST(an_owned_array_may_say_that_it_is_read_only),
        TEST(without_elements_there_is_no_data),  TEST(a_tensor_is_read_and_written_where_it_lies),
        TEST(read_only_tensors_are_only_read),    TEST(legacy_tensors_are_written_when_somebody_says_so),
        TEST(elements_that_meet_are_not_written), TEST(claims_are_checked_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
