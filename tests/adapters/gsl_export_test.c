/* Views and tensors as GSL's vectors and matrices. */
#include "gsl_made.h"

#include <malloc.h>
#include <pthread.h>

#include <gsl/gsl_blas.h>

#include "failing_alloc.h"
#include "passage.h"

static double numbers[24];
static _Alignas(16) unsigned char bytes[256];

/* A tensor of the numbers, whose releases are counted. */
static int released;

static void count_release(void *owner)
{
    (void)owner;
    released++;
}

static void make_tensor(dlpark_tensor *tensor, int32_t ndim, const int64_t *shape, const int64_t *strides,
                        uint64_t flags)
{
    const dlpark_tensor_desc desc = {.data = numbers,
                                     .dtype = DLPARK_F64,
                                     .ndim = ndim,
                                     .shape = DLPARK_DIMS(shape),
                                     .strides = DLPARK_DIMS(strides),
                                     .flags = flags,
                                     .release = count_release};

    assert_ok(dlpark_tensor_new(tensor, &desc, NULL, e));
}

#define DEFINE_BORROWS(vector_type, matrix_type, element, dtype)                                                       \
    static void borrowed_as_##vector_type(void **state)                                                                \
    {                                                                                                                  \
        vector_type v;                                                                                                 \
        matrix_type m;                                                                                                 \
        dlpark_view view;                                                                                              \
                                                                                                                       \
        (void)state;                                                                                                   \
        view = made_view(bytes, dtype, 1, (int64_t[]){3}, (int64_t[]){1});                                             \
        assert_ok(dlpark_gsl_borrow_mut(&v, &view, e));                                                                \
        assert_ptr_equal(v.data, bytes);                                                                               \
        assert_true(v.size == 3 && v.stride == 1 && !v.block && !v.owner);                                             \
        passage_report("gsl", PASSAGE_OUT, dtype, "vector", DLPARK_OK);                                                \
        view = made_view(bytes, dtype, 1, (int64_t[]){3}, (int64_t[]){2});                                             \
        assert_ok(dlpark_gsl_borrow(&v, &view, e));                                                                    \
        assert_true(v.size == 3 && v.stride == 2);                                                                     \
        passage_report("gsl", PASSAGE_OUT, dtype, "vector with a stride", DLPARK_OK);                                  \
        view = made_view(bytes, dtype, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1});                                       \
        assert_ok(dlpark_gsl_borrow_mut(&m, &view, e));                                                                \
        assert_ptr_equal(m.data, bytes);                                                                               \
        assert_true(m.size1 == 2 && m.size2 == 3 && m.tda == 3 && !m.block && !m.owner);                               \
        passage_report("gsl", PASSAGE_OUT, dtype, "matrix", DLPARK_OK);                                                \
        view = made_view(bytes, dtype, 2, (int64_t[]){2, 3}, (int64_t[]){5, 1});                                       \
        assert_ok(dlpark_gsl_borrow(&m, &view, e));                                                                    \
        assert_true(m.size1 == 2 && m.size2 == 3 && m.tda == 5);                                                       \
        passage_report("gsl", PASSAGE_OUT, dtype, "matrix with gaps between rows", DLPARK_OK);                         \
        view = made_view(bytes, dtype, 2, (int64_t[]){2, 3}, (int64_t[]){1, 2});                                       \
        assert_fails(DLPARK_E_LAYOUT, "it passes after dlpark_view_transpose()", dlpark_gsl_borrow(&m, &view, e));     \
        passage_report("gsl", PASSAGE_OUT, dtype, "transposed", DLPARK_E_LAYOUT);                                      \
    }
GSL_KINDS(DEFINE_BORROWS)

static void gsl_computes_on_borrowed_memory(void **state)
{
    double a[2][3] = {{1, 2, 3}, {4, 5, 6}}, wide[3][4] = {{1, 0, 9, 9}, {0, 1, 9, 9}, {1, 1, 9, 9}}, out[2][2];
    const dlpark_view left = made_view(a, DLPARK_F64, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1});
    const dlpark_view right = made_view(wide, DLPARK_F64, 2, (int64_t[]){3, 2}, (int64_t[]){4, 1});
    const dlpark_view product = made_view(out, DLPARK_F64, 2, (int64_t[]){2, 2}, (int64_t[]){2, 1});
    gsl_matrix x, y, z;

    (void)state;
    assert_ok(dlpark_gsl_borrow(&x, &left, e));
    assert_ok(dlpark_gsl_borrow(&y, &right, e));
    assert_ok(dlpark_gsl_borrow_mut(&z, &product, e));
    assert_int_equal(gsl_blas_dgemm(CblasNoTrans, CblasNoTrans, 1, &x, &y, 0, &z), GSL_SUCCESS);
    assert_true(out[0][0] == 4 && out[0][1] == 5 && out[1][0] == 10 && out[1][1] == 11);
    /* GSL's own views of what was borrowed. */
    gsl_vector_view column = gsl_matrix_column(&y, 1);
    assert_true(gsl_vector_get(&column.vector, 2) == 1 && column.vector.stride == 4);
}

static void strides_that_mean_nothing_do_not_matter(void **state)
{
    static const struct {
        int64_t shape[2], strides[2];
        size_t tda;
    } rows[] = {
        {{1, 3}, {-7, 1}, 3}, {{3, 1}, {4, -9}, 4}, {{1, 1}, {0, 0}, 1},
        {{0, 4}, {0, -3}, 4}, {{4, 0}, {-5, 0}, 0}, {{3, 1}, {1, 0}, 1},
    };
    gsl_vector vector;
    gsl_matrix matrix;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const dlpark_view view = made_view(numbers + 12, DLPARK_F64, 2, rows[i].shape, rows[i].strides);
        assert_ok(dlpark_gsl_borrow(&matrix, &view, e));
        assert_int_equal(matrix.tda, rows[i].tda);
        assert_int_equal(matrix.size1, rows[i].shape[0]);
        assert_int_equal(matrix.size2, rows[i].shape[1]);
        assert_non_null(matrix.data);
    }
    passage_report("gsl", PASSAGE_OUT, DLPARK_F64, "without elements", DLPARK_OK);
    const dlpark_view one = made_view(numbers, DLPARK_F64, 1, (int64_t[]){1}, (int64_t[]){-3});
    assert_ok(dlpark_gsl_borrow_mut(&vector, &one, e));
    assert_int_equal(vector.stride, 1);
    const dlpark_view none = made_view(NULL, DLPARK_F64, 1, (int64_t[]){0}, (int64_t[]){0});
    assert_ok(dlpark_gsl_borrow_mut(&vector, &none, e));
    assert_true(vector.size == 0 && vector.stride == 1);
}

static void layouts_that_gsl_has_not_are_refused(void **state)
{
    static const struct {
        int64_t shape[2], strides[2];
        const char *says, *layout;
    } rows[] = {
        {{3, 2}, {4, 2}, "the strides are [4, 2], and a gsl_matrix of 3 x 2 has [2 or more, 1]", "elements apart"},
        {{3, 2}, {-2, 1}, "the 48 bytes of its elements would have to be copied", "rows backwards"},
        {{3, 2}, {2, -1}, "the strides are [2, -1]", "elements backwards"},
        {{3, 2}, {1, 1}, "the strides are [1, 1]", "rows that meet"},
        {{3, 2}, {0, 1}, "the strides are [0, 1]", "one row, broadcast"},
        {{3, 2}, {1, 0}, "the strides are [1, 0]", "one column, broadcast"},
    };
    const dlpark_view backwards = made_view(numbers + 5, DLPARK_F64, 1, (int64_t[]){3}, (int64_t[]){-2});
    const dlpark_view same = made_view(numbers, DLPARK_F64, 1, (int64_t[]){3}, (int64_t[]){0});
    gsl_vector vector;
    gsl_matrix matrix;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const dlpark_view view = made_view(numbers + 6, DLPARK_F64, 2, rows[i].shape, rows[i].strides);
        assert_fails(DLPARK_E_LAYOUT, rows[i].says, dlpark_gsl_borrow(&matrix, &view, e));
        passage_report("gsl", PASSAGE_OUT, DLPARK_F64, rows[i].layout, DLPARK_E_LAYOUT);
    }
    const dlpark_view neither = made_view(numbers, DLPARK_F64, 2, (int64_t[]){3, 2}, (int64_t[]){7, 3});
    dlpark_error err;
    assert_int_equal(dlpark_gsl_borrow(&matrix, &neither, &err), DLPARK_E_LAYOUT);
    assert_null(strstr(err.message, "transpose"));
    assert_fails(DLPARK_E_LAYOUT, "strides[0] is -2, and a gsl_vector has a positive one: the 24 bytes",
                 dlpark_gsl_borrow(&vector, &backwards, e));
    passage_report("gsl", PASSAGE_OUT, DLPARK_F64, "vector backwards", DLPARK_E_LAYOUT);
    assert_fails(DLPARK_E_LAYOUT, "strides[0] is 0", dlpark_gsl_borrow(&vector, &same, e));
    /* To write, elements in one place are said to be that. */
    assert_fails(DLPARK_E_STRIDES, "same place", dlpark_gsl_borrow_mut(&vector, &same, e));
}

static void what_is_no_vector_or_matrix_is_refused(void **state)
{
    const dlpark_view scalar = made_view(numbers, DLPARK_F64, 0, (int64_t[1]){0}, (int64_t[1]){0});
    const dlpark_view row = made_view(numbers, DLPARK_F64, 1, (int64_t[]){6}, (int64_t[]){1});
    const dlpark_view cube = made_view(numbers, DLPARK_F64, 3, (int64_t[]){2, 3, 4}, (int64_t[]){12, 4, 1});
    gsl_vector vector;
    gsl_matrix matrix;

    (void)state;
    assert_fails(DLPARK_E_RANK, "the rank is 0, and a gsl_vector has 1", dlpark_gsl_borrow(&vector, &scalar, e));
    passage_report("gsl", PASSAGE_OUT, DLPARK_F64, "rank 0", DLPARK_E_RANK);
    assert_fails(DLPARK_E_RANK, "the rank is 1, and a gsl_matrix has 2", dlpark_gsl_borrow(&matrix, &row, e));
    assert_fails(DLPARK_E_RANK, "the rank is 3, and a gsl_matrix has 2", dlpark_gsl_borrow(&matrix, &cube, e));
    passage_report("gsl", PASSAGE_OUT, DLPARK_F64, "rank 3", DLPARK_E_RANK);
}

static void other_elements_are_refused(void **state)
{
    const DLDataType others[] = {DLPARK_BOOL,      DLPARK_F16, DLPARK_BF16, DLPARK_F8_E5M2,
                                 DLPARK_I4,        DLPARK_I64, DLPARK_C64,  DLPARK_DTYPE(kDLFloat, 64, 2),
                                 DLPARK_F4_E2M1FN, DLPARK_F32};
    gsl_vector vector;
    gsl_vector_long_double wide;

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const dlpark_view view = made_view(numbers, others[i], 1, (int64_t[]){3}, (int64_t[]){1});
        assert_fails(DLPARK_E_DTYPE, "f64", dlpark_gsl_borrow(&vector, &view, e));
        assert_fails(DLPARK_E_DTYPE, dlpark_dtype_name(others[i]).text, dlpark_gsl_borrow_mut(&vector, &view, e));
        if (i < 5 || others[i].lanes > 1)
            passage_report("gsl", PASSAGE_OUT, others[i], "vector", DLPARK_E_DTYPE);
    }
    const dlpark_view row = made_view(numbers, DLPARK_F32, 1, (int64_t[]){3}, (int64_t[]){1});
    assert_fails(DLPARK_E_DTYPE, "", dlpark_gsl_borrow(&wide, &row, e));
    assert_fails(DLPARK_E_ARGUMENT, "no kind", dlpark_gsl_borrow_kind(&wide, &row, 0, e));
}

static void memory_that_gsl_cannot_reach_is_refused(void **state)
{
    DLTensor raw = {.data = numbers,
                    .device = {kDLCUDA, 1},
                    .ndim = 1,
                    .dtype = DLPARK_F64,
                    .shape = (int64_t[]){3},
                    .strides = (int64_t[]){1}};
    gsl_vector vector;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_check(&raw, 0, &view, e));
    assert_fails(DLPARK_E_DEVICE, "cuda:1", dlpark_gsl_borrow(&vector, &view, e));
    raw.device = (DLDevice){kDLCPU, 0};
    raw.data = (char *)numbers + 4;
    assert_ok(dlpark_check(&raw, 0, &view, e));
    assert_fails(DLPARK_E_ALIGNMENT, "8", dlpark_gsl_borrow(&vector, &view, e));
    passage_report("gsl", PASSAGE_OUT, DLPARK_F64, "misaligned", DLPARK_E_ALIGNMENT);
#if SIZE_MAX < INT64_MAX
    raw.data = NULL;
    raw.shape = (int64_t[]){INT64_C(1) << 40, 0};
    raw.strides = NULL;
    raw.ndim = 2;
    gsl_matrix matrix;
    assert_ok(dlpark_check(&raw, 0, &view, e));
    assert_fails(DLPARK_E_OVERFLOW, "1099511627776", dlpark_gsl_borrow(&matrix, &view, e));
#endif
}

static void read_only_memory_is_only_read(void **state)
{
    DLTensor raw = {.data = numbers,
                    .device = {kDLCPU, 0},
                    .ndim = 1,
                    .dtype = DLPARK_F64,
                    .shape = (int64_t[]){3},
                    .strides = (int64_t[]){1}};
    gsl_vector vector;
    gsl_vector *out = NULL;
    const gsl_vector *out_const = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_check(&raw, DLPACK_FLAG_BITMASK_READ_ONLY, &view, e));
    assert_fails(DLPARK_E_READ_ONLY, "", dlpark_gsl_borrow_mut(&vector, &view, e));
    assert_ok(dlpark_gsl_borrow(&vector, &view, e));
    passage_report("gsl", PASSAGE_OUT, DLPARK_F64, "read-only, to read", DLPARK_OK);
    passage_report("gsl", PASSAGE_OUT, DLPARK_F64, "read-only, to write", DLPARK_E_READ_ONLY);
    assert_ok(dlpark_check(&raw, 0, &view, e)); /* nobody said that it may be written */
    assert_fails(DLPARK_E_READ_ONLY, "", dlpark_gsl_borrow_mut(&vector, &view, e));
    released = 0;
    make_tensor(&tensor, 1, (int64_t[]){3}, (int64_t[]){1}, DLPARK_TENSOR_READ_ONLY);
    assert_fails(DLPARK_E_READ_ONLY, "", dlpark_gsl_export(&out, &tensor, e));
    assert_null(out);
    assert_non_null(tensor.managed);
    assert_ok(dlpark_gsl_export(&out_const, &tensor, e));
    assert_ptr_equal(out_const->data, numbers);
    dlpark_gsl_release(&out_const);
    assert_null(out_const);
    assert_int_equal(released, 1);
}

/* ---- Export ---- */

static void an_export_ends_the_tensor_once(void **state)
{
    gsl_matrix *matrix = NULL;
    gsl_vector *vector = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, other = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    released = 0;
    make_tensor(&tensor, 2, (int64_t[]){2, 3}, (int64_t[]){4, 1}, 0);
    dlpark_tensor_view(&tensor, &view);
    assert_ok(dlpark_tensor_share(&other, &tensor, &view, e));
    assert_ok(dlpark_gsl_export(&matrix, &tensor, e));
    assert_null(tensor.managed);
    assert_ptr_equal(matrix->data, numbers);
    assert_true(matrix->size1 == 2 && matrix->size2 == 3 && matrix->tda == 4 && !matrix->block);
    gsl_matrix_set(matrix, 1, 2, 7);
    assert_true(numbers[6] == 7);
    dlpark_gsl_release(&matrix);
    assert_null(matrix);
    assert_int_equal(released, 0);
    dlpark_gsl_release(&matrix);
    dlpark_tensor_release(&other);
    assert_int_equal(released, 1);
    /* The other order. */
    make_tensor(&tensor, 1, (int64_t[]){3}, (int64_t[]){2}, 0);
    dlpark_tensor_view(&tensor, &view);
    assert_ok(dlpark_tensor_share(&other, &tensor, &view, e));
    assert_ok(dlpark_gsl_export(&vector, &tensor, e));
    dlpark_tensor_release(&other);
    assert_int_equal(released, 1);
    dlpark_gsl_release(&vector);
    assert_int_equal(released, 2);
}

static void *release_matrix_there(void *matrix)
{
    gsl_matrix *last = matrix;

    dlpark_gsl_release(&last);
    return last;
}

static void an_export_ends_on_any_thread(void **state)
{
    gsl_matrix *matrix = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    pthread_t thread;
    void *left = &tensor;

    (void)state;
    released = 0;
    make_tensor(&tensor, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1}, 0);
    assert_ok(dlpark_gsl_export(&matrix, &tensor, e));
    assert_int_equal(pthread_create(&thread, NULL, release_matrix_there, matrix), 0);
    assert_int_equal(pthread_join(thread, &left), 0);
    assert_null(left);
    assert_int_equal(released, 1);
}

static void an_export_comes_back_as_the_same_tensor(void **state)
{
    gsl_matrix *matrix = NULL;
    const gsl_vector *vector = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    released = 0;
    make_tensor(&tensor, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1}, 0);
    DLManagedTensorVersioned *managed = tensor.managed;
    assert_ok(dlpark_gsl_export(&matrix, &tensor, e));
    failing_alloc_arm(1); /* needs no memory */
    assert_ok(dlpark_gsl_import(&tensor, &matrix, &view, e));
    failing_alloc_arm(0);
    assert_null(matrix);
    assert_ptr_equal(tensor.managed, managed);
    assert_layout(&view, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1});
    dlpark_tensor_release(&tensor);
    make_tensor(&tensor, 1, (int64_t[]){3}, (int64_t[]){1}, DLPARK_TENSOR_READ_ONLY);
    assert_ok(dlpark_gsl_export(&vector, &tensor, e));
    assert_ok(dlpark_gsl_import(&tensor, &vector, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(released, 2);
}

static void release_leaves_the_objects_of_gsl(void **state)
{
    gsl_matrix *matrix = gsl_matrix_alloc(2, 2), *kept = matrix;
    gsl_vector_long_double *vector = gsl_vector_long_double_alloc(2);

    (void)state;
    dlpark_gsl_release(&matrix);
    assert_ptr_equal(matrix, kept);
    dlpark_gsl_release(&vector);
    assert_non_null(vector);
    dlpark_gsl_release_kind(NULL, DLPARK_GSL_DOUBLE);
    gsl_matrix_free(matrix);
    gsl_vector_long_double_free(vector);
}

static void a_failed_export_gives_nothing(void **state)
{
    gsl_matrix *matrix = NULL, *full = NULL;
    gsl_vector *vector = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    released = 0;
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty", dlpark_gsl_export(&matrix, &tensor, e));
    make_tensor(&tensor, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1}, 0);
    assert_fails(DLPARK_E_RANK, "the rank is 2", dlpark_gsl_export(&vector, &tensor, e));
    full = (gsl_matrix *)&tensor; /* not looked into */
    assert_fails(DLPARK_E_NOT_EMPTY, "expected NULL", dlpark_gsl_export(&full, &tensor, e));
    failing_alloc_arm(1);
    dlpark_status status = dlpark_gsl_export(&matrix, &tensor, NULL);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    assert_null(matrix);
    assert_null(vector);
    assert_non_null(tensor.managed);
    assert_int_equal(released, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(released, 1);
}

static void memory_stays_flat(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    released = 0;
    make_tensor(&tensor, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1}, 0);
    const long live = failing_alloc_live();
    size_t before = 0;
    for (int i = 0; i < 100000; i++) {
        gsl_matrix *matrix = NULL;
        if (dlpark_gsl_export(&matrix, &tensor, NULL) || dlpark_gsl_import(&tensor, &matrix, NULL, NULL))
            fail();
        if (i == 1000)
            before = mallinfo2().uordblks;
    }
    assert_int_equal(mallinfo2().uordblks, before);
    assert_int_equal(failing_alloc_live(), live);
    assert_int_equal(released, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(released, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define NAME_BORROWS(vector_type, matrix_type, element, dtype) cmocka_unit_test(borrowed_as_##vector_type),
        GSL_KINDS(NAME_BORROWS) cmocka_unit_test(gsl_computes_on_borrowed_memory),
        cmocka_unit_test(strides_that_mean_nothing_do_not_matter),
        cmocka_unit_test(layouts_that_gsl_has_not_are_refused),
        cmocka_unit_test(what_is_no_vector_or_matrix_is_refused),
        cmocka_unit_test(other_elements_are_refused),
        cmocka_unit_test(memory_that_gsl_cannot_reach_is_refused),
        cmocka_unit_test(read_only_memory_is_only_read),
        cmocka_unit_test(an_export_ends_the_tensor_once),
        cmocka_unit_test(an_export_ends_on_any_thread),
        cmocka_unit_test(an_export_comes_back_as_the_same_tensor),
        cmocka_unit_test(release_leaves_the_objects_of_gsl),
        cmocka_unit_test(a_failed_export_gives_nothing),
        cmocka_unit_test(memory_stays_flat),
    };

    return cmocka_run_group_tests(tests, made_gsl, NULL);
}
