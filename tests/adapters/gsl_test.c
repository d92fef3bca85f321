/* GSL's vectors and matrices into dlpark. Its gsl_matrix_free() and gsl_vector_free() are counted at link time. */
#include "gsl_made.h"

#include <malloc.h>
#include <pthread.h>

#include "failing_alloc.h"
#include "passage.h"

static int freed;
static pthread_t freed_by;

void __real_gsl_matrix_free(gsl_matrix *matrix);
void __wrap_gsl_matrix_free(gsl_matrix *matrix);
void __real_gsl_vector_free(gsl_vector *vector);
void __wrap_gsl_vector_free(gsl_vector *vector);

void __wrap_gsl_matrix_free(gsl_matrix *matrix)
{
    freed++;
    freed_by = pthread_self();
    __real_gsl_matrix_free(matrix);
}

void __wrap_gsl_vector_free(gsl_vector *vector)
{
    freed++;
    freed_by = pthread_self();
    __real_gsl_vector_free(vector);
}

#define DEFINE_VIEWS(vector_type, matrix_type, element, dtype_expected)                                                \
    static void views_of_##vector_type(void **state)                                                                   \
    {                                                                                                                  \
        vector_type *v = vector_type##_alloc(6);                                                                       \
        vector_type##_view every_second = vector_type##_subvector_with_stride(v, 1, 2, 3);                             \
        matrix_type *m = matrix_type##_alloc(3, 4);                                                                    \
        matrix_type##_view inner = matrix_type##_submatrix(m, 1, 1, 2, 3);                                             \
        const matrix_type *untouched = m;                                                                              \
        dlpark_view view;                                                                                              \
                                                                                                                       \
        (void)state;                                                                                                   \
        assert_ok(dlpark_gsl_view(&view, v, e));                                                                       \
        assert_layout(&view, 1, (int64_t[]){6}, (int64_t[]){1});                                                       \
        assert_ptr_equal(view.data, v->data);                                                                          \
        assert_true(dlpark_dtype_equal(view.dtype, dtype_expected));                                                   \
        assert_int_equal(view.flags, 0);                                                                               \
        passage_report("gsl", PASSAGE_IN, view.dtype, "vector", DLPARK_OK);                                            \
        assert_ok(dlpark_gsl_view(&view, &every_second.vector, e));                                                    \
        assert_layout(&view, 1, (int64_t[]){3}, (int64_t[]){2});                                                       \
        assert_ptr_equal(view.data, (element *)(void *)v->data + 1);                                                   \
        passage_report("gsl", PASSAGE_IN, view.dtype, "vector with a stride", DLPARK_OK);                              \
        assert_ok(dlpark_gsl_view(&view, m, e));                                                                       \
        assert_layout(&view, 2, (int64_t[]){3, 4}, (int64_t[]){4, 1});                                                 \
        assert_int_equal(view.flags, 0);                                                                               \
        passage_report("gsl", PASSAGE_IN, view.dtype, "matrix", DLPARK_OK);                                            \
        assert_ok(dlpark_gsl_view(&view, &inner.matrix, e));                                                           \
        assert_layout(&view, 2, (int64_t[]){2, 3}, (int64_t[]){4, 1});                                                 \
        assert_ptr_equal(view.data, (element *)(void *)m->data + 5);                                                   \
        assert_true(dlpark_dtype_equal(view.dtype, dtype_expected));                                                   \
        passage_report("gsl", PASSAGE_IN, view.dtype, "matrix with gaps between rows", DLPARK_OK);                     \
        assert_ok(dlpark_gsl_view(&view, untouched, e));                                                               \
        assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);                                                           \
        vector_type##_free(v);                                                                                         \
        matrix_type##_free(m);                                                                                         \
    }
GSL_KINDS(DEFINE_VIEWS)

#define DEFINE_IMPORTS(vector_type, matrix_type, element, dtype_expected)                                              \
    static void imports_of_##vector_type(void **state)                                                                 \
    {                                                                                                                  \
        vector_type *v = vector_type##_calloc(5);                                                                      \
        matrix_type *m = matrix_type##_calloc(2, 3);                                                                   \
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, other = DLPARK_TENSOR_EMPTY;                                       \
        void *data = v->data;                                                                                          \
        dlpark_view view;                                                                                              \
                                                                                                                       \
        (void)state;                                                                                                   \
        assert_ok(dlpark_gsl_import(&tensor, &v, &view, e));                                                           \
        assert_null(v);                                                                                                \
        assert_ptr_equal(view.data, data);                                                                             \
        assert_layout(&view, 1, (int64_t[]){5}, (int64_t[]){1});                                                       \
        assert_true(dlpark_dtype_equal(view.dtype, dtype_expected));                                                   \
        assert_int_equal(view.flags, 0);                                                                               \
        data = m->data;                                                                                                \
        assert_ok(dlpark_gsl_import(&other, &m, &view, e));                                                            \
        assert_null(m);                                                                                                \
        assert_ptr_equal(view.data, data);                                                                             \
        assert_layout(&view, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1});                                                 \
        memset(view.data, 1, (size_t)dlpark_view_nbytes(&view));                                                       \
        dlpark_tensor_release(&tensor);                                                                                \
        dlpark_tensor_release(&other);                                                                                 \
    }
GSL_KINDS(DEFINE_IMPORTS)

static void views_of_rows_columns_and_parts(void **state)
{
    gsl_matrix *matrix = gsl_matrix_alloc(3, 4);
    gsl_vector_complex *numbers = gsl_vector_complex_alloc(3);
    gsl_vector_view column = gsl_matrix_column(matrix, 2), diagonal = gsl_matrix_diagonal(matrix);
    gsl_vector_view imaginary = gsl_vector_complex_imag(numbers);
    gsl_vector_const_view row = gsl_matrix_const_row(matrix, 1);
    dlpark_view view;

    (void)state;
    for (size_t i = 0; i < 12; i++)
        matrix->data[i] = (double)i;
    assert_ok(dlpark_gsl_view(&view, &column.vector, e));
    assert_layout(&view, 1, (int64_t[]){3}, (int64_t[]){4});
    assert_true(*(double *)view.data == 2);
    assert_ok(dlpark_gsl_view(&view, &diagonal.vector, e));
    assert_layout(&view, 1, (int64_t[]){3}, (int64_t[]){5});
    assert_ok(dlpark_gsl_view(&view, &row.vector, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_true(*(double *)view.data == 4);
    assert_ok(dlpark_gsl_view(&view, &imaginary.vector, e));
    assert_layout(&view, 1, (int64_t[]){3}, (int64_t[]){2});
    assert_true(dlpark_dtype_equal(view.dtype, DLPARK_F64));
    gsl_matrix_free(matrix);
    gsl_vector_complex_free(numbers);
}

static void without_elements_sizes_stay(void **state)
{
    double number;
    gsl_matrix_view nothing = gsl_matrix_view_array(&number, 0, 0);
    gsl_matrix *none = gsl_matrix_alloc(0, 4), *all = gsl_matrix_alloc(0, 0), *thin = gsl_matrix_alloc(4, 0);
    gsl_vector *empty = gsl_vector_alloc(0);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_gsl_view(&view, none, e));
    assert_int_equal(view.shape[0], 0);
    assert_int_equal(view.shape[1], 4);
    assert_null(view.data);
    passage_report("gsl", PASSAGE_IN, view.dtype, "without elements", DLPARK_OK);
    assert_ok(dlpark_gsl_view(&view, empty, e));
    assert_int_equal(view.shape[0], 0);
    assert_ok(dlpark_gsl_view(&view, &nothing.matrix, e));
    assert_ok(dlpark_gsl_view(&view, all, e));
    assert_int_equal(view.ndim, 2);
    freed = 0;
    assert_ok(dlpark_gsl_import(&tensor, &thin, &view, e));
    assert_int_equal(view.shape[0], 4);
    dlpark_tensor_release(&tensor);
    assert_int_equal(freed, 1);
    gsl_matrix_free(none);
    gsl_matrix_free(all);
    gsl_vector_free(empty);
}

static void long_double_has_no_dtype(void **state)
{
    gsl_vector_long_double *vector = gsl_vector_long_double_alloc(3);
    gsl_matrix_complex_long_double *matrix = gsl_matrix_complex_long_double_alloc(2, 2);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
#if LDBL_MANT_DIG == 53 || LDBL_MANT_DIG == 113
    assert_ok(dlpark_gsl_view(&view, vector, e));
    assert_int_equal(view.dtype.bits, 8 * sizeof(long double));
#else
    assert_fails(DLPARK_E_DTYPE, "gsl_vector_long_double have 64 bits of mantissa", dlpark_gsl_view(&view, vector, e));
    assert_fails(DLPARK_E_DTYPE, "copied, to double", dlpark_gsl_import(&tensor, &vector, &view, e));
    assert_non_null(vector);
#endif
#if LDBL_MANT_DIG == 53
    assert_ok(dlpark_gsl_view(&view, matrix, e));
#else
    assert_fails(DLPARK_E_DTYPE, "gsl_matrix_complex_long_double", dlpark_gsl_view(&view, matrix, e));
    assert_fails(DLPARK_E_DTYPE, "bytes, which no dtype has", dlpark_gsl_import(&tensor, &matrix, &view, e));
#endif
    dlpark_tensor_release(&tensor);
    gsl_vector_long_double_free(vector);
    gsl_matrix_complex_long_double_free(matrix);
}

static void objects_that_contradict_themselves_are_refused(void **state)
{
    double numbers[12] = {0};
    gsl_block block = {12, numbers};
    gsl_vector vector;
    gsl_matrix matrix;
    dlpark_view view;

    (void)state;
#define BAD_VECTOR(status, says, ...)                                                                                  \
    do {                                                                                                               \
        vector = (gsl_vector){__VA_ARGS__};                                                                            \
        assert_fails(status, says, dlpark_gsl_view(&view, &vector, e));                                                \
    } while (0)
#define BAD_MATRIX(status, says, ...)                                                                                  \
    do {                                                                                                               \
        matrix = (gsl_matrix){__VA_ARGS__};                                                                            \
        assert_fails(status, says, dlpark_gsl_view(&view, &matrix, e));                                                \
    } while (0)
    BAD_VECTOR(DLPARK_E_ARGUMENT, "the gsl_vector is all zeros", 0, 0, NULL, NULL, 0);
    BAD_VECTOR(DLPARK_E_STRIDES, "a stride of 0, and 3 elements", 3, 0, numbers, &block, 1);
    BAD_VECTOR(DLPARK_E_DATA, "NULL", 3, 1, NULL, NULL, 0);
    BAD_VECTOR(DLPARK_E_OVERFLOW, "", SIZE_MAX / 2, 1, numbers, &block, 1);
    BAD_VECTOR(DLPARK_E_OVERFLOW, "", 2, SIZE_MAX / 2, numbers, &block, 1);
    BAD_MATRIX(DLPARK_E_ARGUMENT, "the gsl_matrix is all zeros", 0, 0, 0, NULL, NULL, 0);
    BAD_MATRIX(DLPARK_E_STRIDES, "a tda of 3, which is less than its size2, 4", 3, 4, 3, numbers, &block, 1);
    BAD_MATRIX(DLPARK_E_DATA, "NULL", 3, 4, 4, NULL, NULL, 0);
    BAD_MATRIX(DLPARK_E_OVERFLOW, "", SIZE_MAX / 2, 4, 4, numbers, &block, 1);
    BAD_MATRIX(DLPARK_E_OVERFLOW, "", 3, 4, SIZE_MAX / 4, numbers, &block, 1);
#if SIZE_MAX > INT64_MAX
    BAD_VECTOR(DLPARK_E_OVERFLOW, "a size of 18446744073709551615", SIZE_MAX, 1, numbers, &block, 1);
    BAD_VECTOR(DLPARK_E_OVERFLOW, "a stride of 9223372036854775808", 2, SIZE_MAX / 2 + 1, numbers, &block, 1);
    BAD_MATRIX(DLPARK_E_OVERFLOW, "a size1 of 18446744073709551615", SIZE_MAX, 1, 1, numbers, &block, 1);
    BAD_MATRIX(DLPARK_E_OVERFLOW, "a tda of 18446744073709551615", 1, 1, SIZE_MAX, numbers, &block, 1);
#endif
    assert_fails(DLPARK_E_ARGUMENT, "the gsl_vector is NULL", dlpark_gsl_view(&view, (gsl_vector *)NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "the gsl_matrix_ushort is NULL",
                 dlpark_gsl_view(&view, (const gsl_matrix_ushort *)NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "no kind 0x100", dlpark_gsl_view_kind(&view, &matrix, DLPARK_GSL_MATRIX, e));
    assert_fails(DLPARK_E_ARGUMENT, "no kind 0xf", dlpark_gsl_view_kind(&view, &matrix, 15, e));
    assert_fails(DLPARK_E_ARGUMENT, "no kind 0x401", dlpark_gsl_view_kind(&view, &matrix, 0x401, e));
}

/* What GSL gives when a view is impossible and its error handler is off. */
static void a_view_that_gsl_refused_is_nothing(void **state)
{
    double numbers[12] = {0};
    dlpark_view view;

    (void)state;
    gsl_set_error_handler_off();
    gsl_matrix_view matrix = gsl_matrix_view_array_with_tda(numbers, 3, 4, 3);
    gsl_vector_view vector = gsl_vector_view_array_with_stride(numbers, 0, 3);
    gsl_set_error_handler(made_refuse);
    assert_fails(DLPARK_E_ARGUMENT, "GSL could not make it", dlpark_gsl_view(&view, &matrix.matrix, e));
    assert_fails(DLPARK_E_ARGUMENT, "GSL could not make it", dlpark_gsl_view(&view, &vector.vector, e));
    passage_report("gsl", PASSAGE_IN, DLPARK_F64, "a view that GSL refused", DLPARK_E_ARGUMENT);
}

/* ---- Import ---- */

static void an_import_ends_the_object_once(void **state)
{
    gsl_matrix *matrix = gsl_matrix_alloc(3, 4);
    gsl_vector *vector = gsl_vector_alloc(3);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    freed = 0;
    assert_ok(dlpark_gsl_import(&tensor, &matrix, &view, e));
    assert_ok(dlpark_view_slice(&view, 0, 1, 2, 1, e));
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(freed, 0);
    *(double *)view.data = 5;
    dlpark_tensor_release(&part);
    dlpark_tensor_release(&part);
    assert_int_equal(freed, 1);
    /* The other order, without a view. */
    assert_ok(dlpark_gsl_import(&tensor, &vector, NULL, e));
    dlpark_tensor_view(&tensor, &view);
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    dlpark_tensor_release(&part);
    assert_int_equal(freed, 1);
    dlpark_tensor_release(&tensor);
    assert_int_equal(freed, 2);
}

static void *release_there(void *tensor)
{
    dlpark_tensor_release(tensor);
    return NULL;
}

static void an_import_ends_on_any_thread(void **state)
{
    gsl_matrix *matrix = gsl_matrix_alloc(3, 4);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    pthread_t thread;

    (void)state;
    freed = 0;
    assert_ok(dlpark_gsl_import(&tensor, &matrix, NULL, e));
    assert_int_equal(pthread_create(&thread, NULL, release_there, &tensor), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(freed, 1);
    assert_false(pthread_equal(freed_by, pthread_self()));
}

static void what_does_not_own_is_not_taken(void **state)
{
    gsl_matrix *parent = gsl_matrix_alloc(3, 4), *matrix = parent;
    gsl_block *block = gsl_block_alloc(12);
    gsl_vector *vector = gsl_vector_alloc_from_block(block, 2, 5, 2);
    const gsl_matrix *untouched = parent;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    freed = 0;
    gsl_matrix_view inner = gsl_matrix_submatrix(parent, 0, 0, 2, 2);
    matrix = &inner.matrix;
    assert_fails(DLPARK_E_ARGUMENT, "the gsl_matrix does not own its memory (owner is 0",
                 dlpark_gsl_import(&tensor, &matrix, NULL, e));
    assert_ptr_equal(matrix, &inner.matrix);
    passage_report("gsl", PASSAGE_IN, DLPARK_F64, "a view of GSL's, taken", DLPARK_E_ARGUMENT);
    assert_fails(DLPARK_E_ARGUMENT, "dlpark_gsl_view() borrows it", dlpark_gsl_import(&tensor, &vector, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "is const", dlpark_gsl_import(&tensor, &untouched, NULL, e));
    assert_ptr_equal(untouched, parent);
    assert_null(tensor.managed);
    assert_int_equal(freed, 0);
    gsl_vector_free(vector);
    gsl_block_free(block);
    gsl_matrix_free(parent);
}

/* Somebody has changed a struct that says it owns its block. */
static void elements_outside_of_the_block_are_not_taken(void **state)
{
    gsl_matrix *matrix = gsl_matrix_alloc(3, 4);
    const gsl_matrix right = *matrix;
    gsl_block tiny = {3, right.data};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
#define OUTSIDE(says, ...)                                                                                             \
    do {                                                                                                               \
        *matrix = right;                                                                                               \
        __VA_ARGS__;                                                                                                   \
        assert_fails(DLPARK_E_ARGUMENT, says, dlpark_gsl_import(&tensor, &matrix, NULL, e));                           \
    } while (0)
    OUTSIDE("reaches over 16 elements", matrix->size1 = 4);
    OUTSIDE("and its block has 12 from", matrix->tda = 5);
    OUTSIDE("reaches over 12 elements", matrix->data = right.data + 1);
    OUTSIDE("reaches over 12 elements", matrix->data = right.data - 1);
    OUTSIDE("reaches over 4 elements", matrix->size1 = 1, matrix->data = (double *)((char *)right.data + 4));
    OUTSIDE("its block has 3 from", matrix->block = &tiny);
    OUTSIDE("block is (nil)", matrix->block = NULL);
    matrix->block = right.block;
    matrix->tda = 3;
    assert_fails(DLPARK_E_STRIDES, "a tda of 3", dlpark_gsl_import(&tensor, &matrix, NULL, e));
    /* A part of the block, the last row of which ends before its tda does. */
    *matrix = right;
    matrix->size2 = 2;
    matrix->data = right.data + 2;
    assert_ok(dlpark_gsl_import(&tensor, &matrix, NULL, e));
    dlpark_tensor_release(&tensor);
}

static void a_failed_import_takes_nothing(void **state)
{
    gsl_matrix *matrix = gsl_matrix_alloc(3, 4);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, full = DLPARK_TENSOR_EMPTY;

    (void)state;
    freed = 0;
    failing_alloc_arm_from(1); /* once would not do: new asks twice */
    dlpark_status status = dlpark_gsl_import(&tensor, &matrix, NULL, NULL);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    assert_non_null(matrix);
    assert_null(tensor.managed);
    assert_ok(dlpark_gsl_import(&full, &matrix, NULL, e));
    gsl_vector *vector = gsl_vector_alloc(3);
    assert_fails(DLPARK_E_NOT_EMPTY, "", dlpark_gsl_import(&full, &vector, NULL, e));
    assert_non_null(vector);
    assert_fails(DLPARK_E_ARGUMENT, "is NULL", dlpark_gsl_import_kind(&tensor, NULL, DLPARK_GSL_DOUBLE, NULL, e));
    assert_int_equal(freed, 0);
    gsl_vector_free(vector);
    dlpark_tensor_release(&full);
    assert_int_equal(freed, 2);
}

static void memory_stays_flat(void **state)
{
    const long live = failing_alloc_live();

    (void)state;
    freed = 0;
    size_t before = 0;
    for (int i = 0; i < 100000; i++) {
        gsl_matrix *matrix = gsl_matrix_alloc(3, 4);
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        if (dlpark_gsl_import(&tensor, &matrix, NULL, NULL))
            fail();
        dlpark_tensor_release(&tensor);
        if (i == 1000)
            before = mallinfo2().uordblks;
    }
    assert_int_equal(mallinfo2().uordblks, before);
    assert_int_equal(failing_alloc_live(), live);
    assert_int_equal(freed, 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define NAME_VIEWS(vector_type, matrix_type, element, dtype)   cmocka_unit_test(views_of_##vector_type),
#define NAME_IMPORTS(vector_type, matrix_type, element, dtype) cmocka_unit_test(imports_of_##vector_type),
        GSL_KINDS(NAME_VIEWS) GSL_KINDS(NAME_IMPORTS) cmocka_unit_test(views_of_rows_columns_and_parts),
        cmocka_unit_test(without_elements_sizes_stay),
        cmocka_unit_test(long_double_has_no_dtype),
        cmocka_unit_test(objects_that_contradict_themselves_are_refused),
        cmocka_unit_test(a_view_that_gsl_refused_is_nothing),
        cmocka_unit_test(an_import_ends_the_object_once),
        cmocka_unit_test(an_import_ends_on_any_thread),
        cmocka_unit_test(what_does_not_own_is_not_taken),
        cmocka_unit_test(elements_outside_of_the_block_are_not_taken),
        cmocka_unit_test(a_failed_import_takes_nothing),
        cmocka_unit_test(memory_stays_flat),
    };

    return cmocka_run_group_tests(tests, made_gsl, NULL);
}
