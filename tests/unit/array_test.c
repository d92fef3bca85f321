#include "tensor_good.h"

#include <complex.h>

#include <dlpark/array.h>

static int32_t cells[4096];

/* ---- Descriptions of arrays ---- */

#define assert_array(array, rank, kind, ...)                                                                           \
    do {                                                                                                               \
        const int64_t extents[] = {__VA_ARGS__};                                                                       \
        const dlpark_tensor_desc described = (array);                                                                  \
        assert_ok(dlpark_array_view(&view, &described, e));                                                            \
        assert_int_equal(view.ndim, (rank));                                                                           \
        assert_true(dlpark_dtype_equal(view.dtype, (kind)));                                                           \
        assert_memory_equal(view.shape, extents, sizeof extents);                                                      \
        assert_true(dlpark_view_is_compact(&view));                                                                    \
    } while (0)

static void fixed_arrays_say_what_they_are(void **state)
{
    (void)state;
    dlpark_view view;
    double line[5];
    float matrix[4][3];
    const uint8_t cube[2][3][4] = {{{1}}};
    int16_t four[2][1][3][5];
    double complex waves[7];
    bool flags[2][2];

    assert_array(DLPARK_ARRAY_1D(line), 1, DLPARK_F64, 5);
    assert_ptr_equal(view.data, line);
    assert_int_equal(view.flags, 0);
    assert_array(DLPARK_ARRAY_2D(matrix), 2, DLPARK_F32, 4, 3);
    assert_array(DLPARK_ARRAY_3D(cube), 3, DLPARK_U8, 2, 3, 4);
    assert_ptr_equal(view.data, cube);
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_array(DLPARK_ARRAY_4D(four), 4, DLPARK_I16, 2, 1, 3, 5);
    assert_array(DLPARK_ARRAY_1D(waves), 1, DLPARK_C128, 7);
    assert_array(DLPARK_ARRAY_2D(flags), 2, DLPARK_BOOL, 2, 2);
    assert_array(DLPARK_ARRAY_1D(matrix[2]), 1, DLPARK_F32, 3);
    assert_ptr_equal(view.data, matrix[2]);
}

static void every_element_type_has_its_dtype(void **state)
{
    (void)state;
    dlpark_view view;

#define ASSERT_DTYPE(T)                                                                                                \
    do {                                                                                                               \
        T one[1];                                                                                                      \
        assert_array(DLPARK_ARRAY_1D(one), 1, DLPARK_DTYPE_OF(T), 1);                                                  \
    } while (0)
    ASSERT_DTYPE(_Bool);
    ASSERT_DTYPE(signed char);
    ASSERT_DTYPE(short);
    ASSERT_DTYPE(int);
    ASSERT_DTYPE(long);
    ASSERT_DTYPE(long long);
    ASSERT_DTYPE(unsigned char);
    ASSERT_DTYPE(unsigned short);
    ASSERT_DTYPE(unsigned int);
    ASSERT_DTYPE(unsigned long);
    ASSERT_DTYPE(unsigned long long);
    ASSERT_DTYPE(float);
    ASSERT_DTYPE(double);
    ASSERT_DTYPE(float complex);
    ASSERT_DTYPE(double complex);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvla"
static void arrays_of_variable_length(void **state)
{
    (void)state;
    dlpark_view view;

    for (int rows = 1; rows < 5; rows++)
        for (int columns = 1; columns < 5; columns++) {
            long fresh[rows][columns];
            long(*heap)[columns] = malloc((size_t)rows * sizeof *heap);
            assert_array(DLPARK_ARRAY_2D(fresh), 2, DLPARK_DTYPE_OF(long), rows, columns);
            assert_ptr_equal(view.data, fresh);
            assert_array(DLPARK_ARRAY_1D(*heap), 1, DLPARK_DTYPE_OF(long), columns);
            free(heap);
        }
}
#pragma GCC diagnostic pop

/* The same description makes a tensor over memory that nobody has to free. */
static void a_tensor_of_an_array(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    float matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};

    assert_ok(dlpark_tensor_new(&tensor, &DLPARK_ARRAY_2D(matrix), &view, e));
    assert_ptr_equal(view.data, matrix);
    DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);
    handed->deleter(handed);
    assert_true(matrix[1][2] == 6);
}

/* ---- Views of descriptions ---- */

/* Whatever new() makes of a description, the view says too, and the same of what it refuses. */
static void a_view_is_what_a_tensor_would_be(void **state)
{
    (void)state;
    static const int64_t strides[][2] = {{3, 1}, {1, 2}, {-3, 1}, {5, -1}, {0, 0}, {INT64_MAX, 1}, {0, 1}};
    static const int64_t shapes[][2] = {{2, 3}, {1, 1}, {0, 4}, {2, -1}};
    dlpark_view made, seen;

    for (size_t i = 0; i < sizeof strides / sizeof strides[0] * 4 * 16; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_tensor_desc desc = good();
        dlpark_error made_err = test_fresh_error(), seen_err = test_fresh_error();
        desc.owner = NULL;
        desc.release = NULL;
        desc.shape = DLPARK_DIMS(shapes[i / 16 % 4]);
        desc.strides = DLPARK_DIMS(strides[i / 64]);
        if (i & 1)
            desc.byte_offset = 8;
        if (i & 2)
            desc.flags = DLPARK_TENSOR_READ_ONLY;
        if (i & 4)
            desc.alignment_bytes = 1 << 16; /* values lie anywhere, so most are refused */
        if (i & 8)
            desc.device = DLPARK_DEVICE(kDLOpenCL, 1);
        dlpark_status status = dlpark_tensor_new_sized(&tensor, &desc, sizeof desc, &made, &made_err);
        assert_int_equal(dlpark_array_view(&seen, &desc, &seen_err), status);
        if (status != DLPARK_OK) {
            assert_string_equal(seen_err.message, made_err.message);
            continue;
        }
        assert_memory_equal(&seen, &made, offsetof(dlpark_view, shape));
        assert_memory_equal(seen.shape, made.shape, 2 * sizeof(int64_t));
        assert_memory_equal(seen.strides, made.strides, 2 * sizeof(int64_t));
        dlpark_tensor_release(&tensor);
    }
}

static void a_view_takes_lists_in_every_form(void **state)
{
    (void)state;
    static const int64_t borrowed_shape[] = {3, 2}, borrowed_strides[] = {-2, 1};
    dlpark_view view;

    assert_ok(dlpark_array_view(&view,
                                &(dlpark_tensor_desc){.data = cells + 8,
                                                      .dtype = DLPARK_I32,
                                                      .ndim = 2,
                                                      .shape_borrowed = borrowed_shape,
                                                      .strides_borrowed = borrowed_strides},
                                e));
    assert_memory_equal(view.shape, borrowed_shape, sizeof borrowed_shape);
    assert_memory_equal(view.strides, borrowed_strides, sizeof borrowed_strides);
    assert_ok(dlpark_array_view(&view, &(dlpark_tensor_desc){.data_const = cells, .dtype = DLPARK_I32}, e));
    assert_int_equal(view.ndim, 0);
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_ok(dlpark_array_view(&view,
                                &(dlpark_tensor_desc){.data = cells,
                                                      .dtype = DLPARK_I4,
                                                      .ndim = 1,
                                                      .shape = DLPARK_DIMS((unsigned char[]){5}),
                                                      .flags = DLPARK_TENSOR_PADDED},
                                e));
    assert_int_equal(view.flags, DLPARK_VIEW_PADDED);
}

static void a_view_ends_nothing(void **state)
{
    (void)state;
    static _Alignas(16) unsigned char storage[DLPARK_TENSOR_STORAGE_NBYTES(2)];
    static const dlpark_allocator allocator = {0};
    dlpark_tensor_desc plain = good(), desc;
    dlpark_view view;

    plain.owner = NULL;
    plain.release = NULL;
#define REFUSES(text, ...)                                                                                             \
    do {                                                                                                               \
        desc = plain;                                                                                                  \
        __VA_ARGS__;                                                                                                   \
        assert_fails(DLPARK_E_ARGUMENT, text, dlpark_array_view(&view, &desc, e));                                     \
    } while (0)
    REFUSES("owner is given", desc.owner = values);
    REFUSES("release is given", desc.release = count_end);
    REFUSES("extra_nbytes is given", desc.extra_nbytes = 1);
    REFUSES("storage is given", desc.storage = storage; desc.storage_nbytes = sizeof storage);
    REFUSES("CLAIM_COPIED is given", desc.flags = DLPARK_TENSOR_CLAIM_COPIED);
    REFUSES("the allocator has no allocate function", desc.allocator = &allocator);
    const dlpark_allocator whole = {(void *(*)(void *, size_t, size_t))(uintptr_t)1,
                                    (void (*)(void *, void *, size_t, size_t))(uintptr_t)1, NULL};
    REFUSES("allocator is given", desc.allocator = &whole);
    REFUSES("both data and data_const", desc.data_const = values);
    desc = plain;
    desc.dtype.bits = 7;
    assert_fails(DLPARK_E_DTYPE, "has 7 bits", dlpark_array_view(&view, &desc, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_array_view_sized(&view, NULL, sizeof desc, e));
    assert_int_equal(failing_alloc_count(), 0);
    assert_int_equal(ended, 0);
}

static void a_description_of_another_size(void **state)
{
    (void)state;
    struct {
        dlpark_tensor_desc desc;
        uint64_t later;
    } longer = {good(), 0};
    dlpark_view view;

    longer.desc.owner = NULL;
    longer.desc.release = NULL;
    assert_ok(dlpark_array_view_sized(&view, &longer.desc, sizeof longer, e));
    assert_ok(dlpark_array_view_sized(&view, &longer.desc, offsetof(dlpark_tensor_desc, alignment_bytes), e));
    longer.later = 1;
    assert_fails(DLPARK_E_ARGUMENT, "uses a field at byte",
                 dlpark_array_view_sized(&view, &longer.desc, sizeof longer, e));
}

/* ---- Strides ---- */

static void strides_by_counting(void **state)
{
    (void)state;
    int64_t shape[4], strides[4];

    /* Each element of a small array in its place, line by line, by hand. */
    for (int code = 0; code < 4 * 4 * 4 * 4; code++)
        for (int64_t gap = 0; gap < 3; gap++)
            for (int order = DLPARK_ROW_MAJOR; order <= DLPARK_COLUMN_MAJOR; order++) {
                for (int i = 0, left = code; i < 4; i++, left /= 4)
                    shape[i] = left % 4;
                bool rows = order == DLPARK_ROW_MAJOR;
                int64_t inner = shape[rows ? 3 : 0], ld = (inner > 0 ? inner : 1) + gap;
                assert_ok(dlpark_array_strides(4, shape, order, gap == 0 ? 0 : ld, strides, e));
                int64_t place = 1;
                for (int step = 0; step < 4; step++) {
                    int dim = rows ? 3 - step : step;
                    assert_int_equal(strides[dim], place);
                    int64_t extent = shape[dim] > 0 ? shape[dim] : 1;
                    place *= step == 0 ? ld : extent;
                }
            }
}

static void strides_of_low_rank_and_in_place(void **state)
{
    (void)state;
    int64_t list[] = {2, 3}, none[] = {7};

    assert_ok(dlpark_array_strides(0, NULL, DLPARK_ROW_MAJOR, 0, none, e));
    assert_int_equal(none[0], 7);
    assert_ok(dlpark_array_strides(1, none, DLPARK_COLUMN_MAJOR, 0, none, e));
    assert_int_equal(none[0], 1);
    assert_ok(dlpark_array_strides(2, list, DLPARK_COLUMN_MAJOR, 5, list, e));
    assert_int_equal(list[0], 1);
    assert_int_equal(list[1], 5);
}

static void strides_refused(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 3, 4}, negative[] = {2, -3}, cube[] = {2, 2, 2},
                  hollow[] = {0, INT64_C(1) << 40, INT64_C(1) << 40, 2};
    int64_t out[4] = {9, 9, 9, 9};

    assert_fails(DLPARK_E_ARGUMENT, "order is 0, expected 101", dlpark_array_strides(2, shape, 0, 0, out, e));
    assert_fails(DLPARK_E_ARGUMENT, "order is 103", dlpark_array_strides(2, shape, 103, 0, out, e));
    assert_fails(DLPARK_E_ARGUMENT, "ld is 2, expected at least shape[1], which is 3",
                 dlpark_array_strides(2, shape, DLPARK_ROW_MAJOR, 2, out, e));
    assert_fails(DLPARK_E_ARGUMENT, "ld is 1, expected at least shape[0], which is 2",
                 dlpark_array_strides(2, shape, DLPARK_COLUMN_MAJOR, 1, out, e));
    assert_fails(DLPARK_E_ARGUMENT, "ld is -1", dlpark_array_strides(3, hollow, DLPARK_COLUMN_MAJOR, -1, out, e));
    assert_fails(DLPARK_E_ARGUMENT, "ld is 4, and rank 1 has no",
                 dlpark_array_strides(1, shape, DLPARK_ROW_MAJOR, 4, out, e));
    assert_fails(DLPARK_E_SHAPE, "shape[1] is -3", dlpark_array_strides(2, negative, DLPARK_ROW_MAJOR, 0, out, e));
    assert_fails(DLPARK_E_RANK, "ndim is 65", dlpark_array_strides(65, shape, DLPARK_ROW_MAJOR, 0, out, e));
    assert_fails(DLPARK_E_OVERFLOW, "the strides of shape [2, 2, 2] with ld 9223372036854775807 leave 63 bits",
                 dlpark_array_strides(3, cube, DLPARK_COLUMN_MAJOR, INT64_MAX, out, e));
    assert_int_equal(out[0], 9);
    assert_ok(dlpark_array_strides(4, hollow, DLPARK_COLUMN_MAJOR, 0, out, e)); /* no element, no stride to be met */
}

/* ---- Elements ---- */

static dlpark_view cells_view(int64_t offset, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
{
    dlpark_view view;

    for (int i = 0; i < 4096; i++)
        cells[i] = i;
    assert_ok(dlpark_array_view(&view,
                                &(dlpark_tensor_desc){.data = cells + offset,
                                                      .dtype = DLPARK_I32,
                                                      .ndim = 2,
                                                      .shape = DLPARK_DIMS(((int64_t[]){rows, columns})),
                                                      .strides = DLPARK_DIMS(((int64_t[]){row_stride, column_stride}))},
                                e));
    return view;
}

static void refused_with_strides_as_without(void **state)
{
    dlpark_view view;
    int64_t shape[] = {2, 3}, strides[] = {INT64_MAX / 4, 1};
    dlpark_tensor_desc desc = {.data = cells, .dtype = DLPARK_I32, .ndim = 2, .shape = DLPARK_DIMS(shape)};

    (void)state;
    desc.strides = DLPARK_DIMS(strides);
    assert_fails(DLPARK_E_OVERFLOW, "", dlpark_array_view(&view, &desc, e));
    desc.data = NULL;
    strides[0] = 3;
    assert_fails(DLPARK_E_DATA, "", dlpark_array_view(&view, &desc, e));
    desc.strides.values = NULL;
    assert_fails(DLPARK_E_DATA, "", dlpark_array_view(&view, &desc, e));
}

static void elements_of_every_stride(void **state)
{
    (void)state;
    for (int64_t row = -40; row <= 40; row += 5)
        for (int64_t column = -7; column <= 7; column++) {
            dlpark_view view = cells_view(2048, 6, 5, row, column);
            dlpark_error err;
            const int32_t *first = DLPARK_STRIDED(int32_t, &view, &err);
            assert_non_null(first);
            for (int64_t i = 0; i < 6; i++)
                for (int64_t j = 0; j < 5; j++) {
                    int64_t expected = 2048 + i * row + j * column;
                    assert_int_equal(DLPARK_AT(first, &view, i, j), expected);
                    assert_int_equal(*DLPARK_AT_CHECKED(int32_t, &view, &err, i, j), expected);
                    assert_int_equal(*DLPARK_AT_CHECKED(int32_t, &view, &err, i - 6, j - 5), expected);
                    assert_int_equal(*DLPARK_AT_CHECKED_MUT(int32_t, &view, &err, i, j), expected);
                }
        }
}

/* Writing is refused exactly where two index pairs lead to one place. */
static void overlap_by_marking(void **state)
{
    (void)state;
    static unsigned char seen[4096];

    for (int64_t row = -9; row <= 9; row++)
        for (int64_t column = -9; column <= 9; column++)
            for (int64_t rows = 1; rows < 5; rows++)
                for (int64_t columns = 1; columns < 5; columns++) {
                    dlpark_view view = cells_view(2048, rows, columns, row, column);
                    dlpark_error err = test_fresh_error();
                    bool meets = false;
                    memset(seen, 0, sizeof seen);
                    for (int64_t i = 0; i < rows; i++)
                        for (int64_t j = 0; j < columns; j++)
                            meets |= seen[2048 + i * row + j * column]++ != 0;
                    int32_t *first = DLPARK_STRIDED_MUT(int32_t, &view, &err);
                    assert_true((first == NULL) == meets);
                    if (meets) {
                        assert_int_equal(err.status, DLPARK_E_STRIDES);
                        assert_non_null(strstr(err.message, "elements are in the same place: shape ["));
                    } else {
                        DLPARK_AT(first, &view, rows - 1, columns - 1) = -5;
                        assert_int_equal(cells[2048 + (rows - 1) * row + (columns - 1) * column], -5);
                    }
                }
}

static void overlap_that_cannot_be_told(void **state)
{
    (void)state;
    /* Numbers beyond what the search can hold. */
    dlpark_view view = cells_view(0, 2, 2, 1, 1);
    view.ndim = 3;
    view.shape[0] = view.shape[1] = view.shape[2] = 3;
    view.strides[0] = INT64_MAX / 8;
    view.strides[1] = INT64_MAX / 8 - 1;
    view.strides[2] = 3;
    dlpark_error err = test_fresh_error();

    assert_null(DLPARK_STRIDED_MUT(int32_t, &view, &err));
    assert_int_equal(err.status, DLPARK_E_STRIDES);
    assert_non_null(strstr(err.message, "elements may be in the same place"));
}

#define assert_null_with(expected, text, call)                                                                         \
    do {                                                                                                               \
        dlpark_error err = test_fresh_error(), *e = &err;                                                              \
        assert_null(call);                                                                                             \
        assert_int_equal(err.status, (expected));                                                                      \
        if (strstr(err.message, (text)) == NULL)                                                                       \
            fail_msg("\"%s\" does not contain \"%s\"", err.message, (text));                                           \
    } while (0)

static void hostile_views(void **state)
{
    (void)state;
    dlpark_view plain = cells_view(0, 4, 3, 3, 1), view = plain;

    assert_null_with(DLPARK_E_DTYPE, "expected f32, got i32", DLPARK_STRIDED(float, &view, e));
    assert_null_with(DLPARK_E_DTYPE, "expected u32, got i32", DLPARK_AT_CHECKED_MUT(uint32_t, &view, e, 0, 0));
    view.dtype = DLPARK_I4;
    assert_null_with(DLPARK_E_DTYPE, "elements of i4 are packed and have no address",
                     dlpark_array_borrow(&view, DLPARK_I4, 1, e));
    view.flags = DLPARK_VIEW_PADDED;
    assert_ptr_equal(dlpark_array_borrow(&view, DLPARK_I4, 1, NULL), cells);
    view = plain;
    view.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_null_with(DLPARK_E_DEVICE, "got cuda:0", DLPARK_STRIDED(int32_t, &view, e));
    view = plain;
    view.data = (unsigned char *)cells + 2;
    assert_null_with(DLPARK_E_ALIGNMENT, "is not aligned to 4 bytes", DLPARK_STRIDED(int32_t, &view, e));
    assert_null_with(DLPARK_E_ALIGNMENT, "is not aligned to 4 bytes", DLPARK_STRIDED_MUT(int32_t, &view, e));
    view = plain;
    view.flags = DLPARK_VIEW_READ_ONLY;
    assert_ptr_equal(DLPARK_STRIDED(int32_t, &view, NULL), cells);
    assert_null_with(DLPARK_E_READ_ONLY, "the tensor is read-only", DLPARK_STRIDED_MUT(int32_t, &view, e));
    assert_null_with(DLPARK_E_READ_ONLY, "the tensor is read-only", DLPARK_AT_CHECKED_MUT(int32_t, &view, e, 0, 0));
    view.flags = DLPARK_VIEW_UNKNOWN_WRITE;
    assert_null_with(DLPARK_E_READ_ONLY, "dlpark_view_allow_write()", DLPARK_STRIDED_MUT(int32_t, &view, e));
}

static void indices_out_of_range(void **state)
{
    (void)state;
    dlpark_view view = cells_view(0, 4, 3, 3, 1), scalar, empty;

    assert_null_with(DLPARK_E_RANK, "1 index for rank 2", DLPARK_AT_CHECKED(int32_t, &view, e, 0));
    assert_null_with(DLPARK_E_RANK, "3 indices for rank 2", DLPARK_AT_CHECKED(int32_t, &view, e, 0, 0, 0));
    assert_null_with(DLPARK_E_INDEX, "index 4 is out of range for dimension 0 of extent 4",
                     DLPARK_AT_CHECKED(int32_t, &view, e, 4, 0));
    assert_null_with(DLPARK_E_INDEX, "index -4 is out of range for dimension 1 of extent 3",
                     DLPARK_AT_CHECKED(int32_t, &view, e, 0, -4));
    assert_null_with(DLPARK_E_INDEX, "index -9223372036854775808", DLPARK_AT_CHECKED(int32_t, &view, e, INT64_MIN, 0));
    assert_ok(dlpark_array_view(&scalar, &(dlpark_tensor_desc){.data = cells + 3, .dtype = DLPARK_I32}, e));
    assert_ptr_equal(dlpark_array_element(&scalar, DLPARK_I32, 4, 0, NULL, NULL), cells + 3);
    assert_ok(dlpark_array_view(
        &empty, &(dlpark_tensor_desc){.dtype = DLPARK_I32, .ndim = 1, .shape = DLPARK_DIMS((int[]){0}), .data = NULL},
        e));
    assert_non_null(DLPARK_STRIDED(int32_t, &empty, NULL));
    assert_non_null(DLPARK_STRIDED_MUT(int32_t, &empty, NULL));
    assert_null_with(DLPARK_E_INDEX, "of extent 0", DLPARK_AT_CHECKED(int32_t, &empty, e, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fixed_arrays_say_what_they_are),
        TEST(every_element_type_has_its_dtype),
        TEST(arrays_of_variable_length),
        TEST(a_tensor_of_an_array),
        TEST(a_view_is_what_a_tensor_would_be),
        TEST(a_view_takes_lists_in_every_form),
        TEST(a_view_ends_nothing),
        TEST(a_description_of_another_size),
        TEST(strides_by_counting),
        TEST(strides_of_low_rank_and_in_place),
        TEST(strides_refused),
        TEST(refused_with_strides_as_without),
        TEST(elements_of_every_stride),
        TEST(overlap_by_marking),
        TEST(overlap_that_cannot_be_told),
        TEST(hostile_views),
        TEST(indices_out_of_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
