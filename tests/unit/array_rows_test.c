#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include <dlpark/array.h>

#include "failing_alloc.h"

static int16_t cells[2048];

static dlpark_view cells_view(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
{
    dlpark_view view;

    memset(cells, 0, sizeof cells);
    assert_ok(dlpark_array_view(&view,
                                &(dlpark_tensor_desc){.data = cells + 1024,
                                                      .dtype = DLPARK_I16,
                                                      .ndim = 2,
                                                      .shape = DLPARK_DIMS(((int64_t[]){rows, columns})),
                                                      .strides = DLPARK_DIMS(((int64_t[]){row_stride, column_stride}))},
                                e));
    return view;
}

/* Rows in no order, each an allocation of its own. */
static void make_rows(int16_t **rows, int64_t count, int64_t columns)
{
    for (int64_t i = count - 1; i >= 0; i--) {
        rows[i] = malloc((size_t)columns * sizeof **rows);
        for (int64_t j = 0; j < columns; j++)
            rows[i][j] = (int16_t)(100 * i + j + 1);
    }
}

static void free_rows(int16_t **rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        free(rows[i]);
}

static void there_and_back(void **state)
{
    (void)state;
    static const int64_t strides[][2] = {{8, 1}, {1, 8}, {-20, 2}, {7, -1}, {-1, -9}, {90, 11}};
    int16_t *rows[6];

    for (int layout = 0; layout < 6; layout++)
        for (int64_t count = 1; count <= 6; count++)
            for (int64_t columns = 1; columns <= 7; columns++) {
                dlpark_view view = cells_view(count, columns, strides[layout][0], strides[layout][1]);
                make_rows(rows, count, columns);
                failing_alloc_arm(0);
                assert_ok(dlpark_array_from_rows(&view, DLPARK_ROWS(rows), e));
                int64_t written = 0;
                for (int i = 0; i < 2048; i++)
                    written += cells[i] != 0;
                assert_int_equal(written, count * columns);
                for (int64_t i = 0; i < count; i++)
                    for (int64_t j = 0; j < columns; j++)
                        assert_int_equal(*DLPARK_AT_CHECKED(int16_t, &view, NULL, i, j), rows[i][j]);
                for (int64_t i = 0; i < count; i++)
                    memset(rows[i], 0, (size_t)columns * sizeof **rows);
                view.flags = DLPARK_VIEW_READ_ONLY;
                assert_ok(dlpark_array_to_rows(DLPARK_ROWS(rows), &view, e));
                assert_int_equal(failing_alloc_count(), 0);
                for (int64_t i = 0; i < count; i++)
                    for (int64_t j = 0; j < columns; j++)
                        assert_int_equal(rows[i][j], 100 * i + j + 1);
                free_rows(rows, count);
            }
}

/* Packed elements begin in a byte of their own in each row. */
static void packed_elements(void **state)
{
    (void)state;
    unsigned char packed[8] = {0}, first[2] = {0x21, 0x03}, second[2] = {0x54, 0x06}, back[2][2] = {{0}};
    unsigned char *from[] = {first, second}, *to[] = {back[0], back[1]};
    const unsigned char expected[3] = {0x21, 0x43, 0x65};
    dlpark_view view;

    assert_ok(dlpark_array_view(
        &view,
        &(dlpark_tensor_desc){.data = packed, .dtype = DLPARK_U4, .ndim = 2, .shape = DLPARK_DIMS((int[]){2, 3})}, e));
    assert_ok(dlpark_array_from_rows(&view, (dlpark_rows){from, DLPARK_U4, 0}, e));
    assert_memory_equal(packed, expected, 3);
    assert_ok(dlpark_array_to_rows((dlpark_rows){to, DLPARK_U4, 0}, &view, e));
    assert_memory_equal(back[0], first, 2);
    assert_memory_equal(back[1], second, 2);
}

static void nothing_to_copy(void **state)
{
    (void)state;
    dlpark_view none = cells_view(0, 3, 3, 1), thin = cells_view(3, 0, 1, 1);
    int16_t **nowhere = NULL, *rows[3] = {NULL, NULL, NULL};

    assert_ok(dlpark_array_from_rows(&none, DLPARK_ROWS(nowhere), e));
    assert_ok(dlpark_array_to_rows(DLPARK_ROWS(rows), &thin, e));
}

static void hostile_rows(void **state)
{
    (void)state;
    dlpark_view plain = cells_view(3, 2, 2, 1), view = plain;
    int16_t room[3][2] = {{1, 2}, {3, 4}, {5, 6}}, *rows[3] = {room[0], room[1], room[2]}, **nowhere = NULL;
    const int16_t *fixed[3] = {room[0], room[1], room[2]};
    float line[2], *floats[3] = {line, line, line};

    assert_ok(dlpark_array_from_rows(&view, DLPARK_ROWS(fixed), e));
    memset(cells, 0, sizeof cells);
    assert_fails(DLPARK_E_READ_ONLY, "the rows are of const elements",
                 dlpark_array_to_rows(DLPARK_ROWS(fixed), &view, e));
    assert_fails(DLPARK_E_DTYPE, "the rows are of f32, and the view of i16",
                 dlpark_array_from_rows(&view, DLPARK_ROWS(floats), e));
    assert_fails(DLPARK_E_DATA, "rows is NULL although there are 3",
                 dlpark_array_from_rows(&view, DLPARK_ROWS(nowhere), e));
    view.ndim = 1;
    assert_fails(DLPARK_E_RANK, "expected a view of rank 2 for rows, got shape [3]",
                 dlpark_array_to_rows(DLPARK_ROWS(rows), &view, e));
    view = plain;
    view.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_fails(DLPARK_E_DEVICE, "got cuda:0", dlpark_array_from_rows(&view, DLPARK_ROWS(rows), e));
    view = plain;
    view.flags = DLPARK_VIEW_UNKNOWN_WRITE;
    assert_fails(DLPARK_E_READ_ONLY, "allow_write", dlpark_array_from_rows(&view, DLPARK_ROWS(rows), e));
    view = plain;
    view.strides[0] = 0;
    assert_fails(DLPARK_E_STRIDES, "strides[0] of the destination is 0",
                 dlpark_array_from_rows(&view, DLPARK_ROWS(rows), e));
    rows[2] = cells + 1029;
    assert_fails(DLPARK_E_ARGUMENT, "rows[2] at ", dlpark_array_from_rows(&plain, DLPARK_ROWS(rows), e));
    assert_fails(DLPARK_E_ARGUMENT, "lies in the memory of the view",
                 dlpark_array_to_rows(DLPARK_ROWS(rows), &plain, e));
    rows[2] = (int16_t *)(UINTPTR_MAX - 1);
    assert_fails(DLPARK_E_OVERFLOW, "rows[2] at 0x", dlpark_array_from_rows(&plain, DLPARK_ROWS(rows), e));
    rows[2] = NULL;
    assert_fails(DLPARK_E_DATA, "rows[2] is NULL although it has 2 elements",
                 dlpark_array_from_rows(&plain, DLPARK_ROWS(rows), e));
    for (int i = 0; i < 2048; i++)
        assert_int_equal(cells[i], 0);
    assert_int_equal(room[0][0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(packed_elements),
        cmocka_unit_test(nothing_to_copy),
        cmocka_unit_test(hostile_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
