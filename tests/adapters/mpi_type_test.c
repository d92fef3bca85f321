/* MPI datatypes from layouts: counts above what one call takes, and each call of MPI failing in turn. */
#include <pthread.h>

#include "mpi_made.h"

#include "../../src/adapters/mpi/mpi_parts.h"

static unsigned char from[8192], to[8192];

/* ---- MPI's calls, counted, and made to fail: its profiling interface lets a program stand before them ---- */

static int until_failure = -1; /* so many calls succeed */
static int alive;              /* types that are not freed */

static bool fails_now(void)
{
    return until_failure >= 0 && until_failure-- == 0;
}

static int made(int code)
{
    alive += code == MPI_SUCCESS;
    return code;
}

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type)
{
    return fails_now() ? MPI_ERR_NO_MEM : made(PMPI_Type_contiguous(count, of, type));
}

int MPI_Type_create_hvector(int count, int block, MPI_Aint stride, MPI_Datatype of, MPI_Datatype *type)
{
    return fails_now() ? MPI_ERR_NO_MEM : made(PMPI_Type_create_hvector(count, block, stride, of, type));
}

int MPI_Type_create_resized(MPI_Datatype of, MPI_Aint begin, MPI_Aint extent, MPI_Datatype *type)
{
    return fails_now() ? MPI_ERR_NO_MEM : made(PMPI_Type_create_resized(of, begin, extent, type));
}

int MPI_Type_create_struct(int count, const int *blocks, const MPI_Aint *places, const MPI_Datatype *types,
                           MPI_Datatype *type)
{
    return fails_now() ? MPI_ERR_NO_MEM : made(PMPI_Type_create_struct(count, blocks, places, types, type));
}

int MPI_Type_commit(MPI_Datatype *type)
{
    return fails_now() ? MPI_ERR_NO_MEM : PMPI_Type_commit(type);
}

int MPI_Type_free(MPI_Datatype *type)
{
    alive--;
    return PMPI_Type_free(type);
}

/* ---- Layouts ---- */

static const struct {
    const char *what;
    DLDataType dtype;
    int32_t ndim;
    int64_t first;
    int64_t shape[3];
    int64_t strides[3];
} rows[] = {
    {"bytes", {kDLUInt, 8, 1}, 1, 0, {23}, {1}},
    {"bytes backwards", {kDLUInt, 8, 1}, 1, 22, {23}, {-1}},
    {"pairs of bytes, one back", {kDLUInt, 8, 2}, 2, 40, {7, 5}, {-5, 1}},
    {"compact", {kDLFloat, 32, 1}, 2, 0, {5, 7}, {7, 1}},
    {"every third", {kDLFloat, 32, 1}, 1, 0, {16}, {3}},
    {"a multiple of all limits", {kDLInt, 16, 1}, 1, 0, {36}, {2}},
    {"halves", {kDLFloat, 16, 1}, 2, 0, {5, 7}, {9, 1}},
    {"transposed", {kDLFloat, 64, 1}, 3, 0, {4, 5, 6}, {1, 4, 20}},
    {"gaps", {kDLInt, 16, 1}, 3, 0, {3, 4, 5}, {80, 13, 2}},
    {"backwards", {kDLInt, 32, 1}, 3, 400, {3, 4, 5}, {-80, -13, -2}},
    {"windows", {kDLUInt, 8, 1}, 2, 40, {4, 5}, {-1, 1}},
    {"repeated", {kDLInt, 32, 1}, 3, 0, {4, 3, 5}, {0, 0, 1}},
};

/* The elements one after the other, as MPI has to see them. */
static size_t gather(size_t row, unsigned char *out)
{
    const size_t nbytes = dlpark_dtype_nbits(rows[row].dtype) / 8;
    const int64_t *shape = rows[row].shape, *strides = rows[row].strides;
    const int64_t n1 = rows[row].ndim > 1 ? shape[1] : 1, n2 = rows[row].ndim > 2 ? shape[2] : 1;
    size_t done = 0;

    for (int64_t i = 0; i < shape[0]; i++)
        for (int64_t j = 0; j < n1; j++)
            for (int64_t k = 0; k < n2; k++) {
                int64_t at = rows[row].first + i * strides[0] + j * strides[1] + k * strides[2];
                memcpy(out + done, from + at * (int64_t)nbytes, nbytes);
                done += nbytes;
            }
    return done;
}

static void lay_out(mpi_layout *layout, dlpark_view *view, size_t row)
{
    const size_t nbytes = dlpark_dtype_nbits(rows[row].dtype) / 8;

    *view = made_view(from + rows[row].first * (int64_t)nbytes, rows[row].dtype, rows[row].ndim, rows[row].shape,
                      rows[row].strides);
    dlpark__mpi_layout(layout, view, dlpark__mpi_element(view->dtype, false));
}

static void counts_above_the_limit_are_nested(void **state)
{
    static const int limits[] = {2, 3, 4, 5, 7, 1000};
    unsigned char expected[4096];

    (void)state;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7 % 253);
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            MPI_Datatype type = MPI_DATATYPE_NULL;
            mpi_layout layout;
            dlpark_view view;
            int size, place = 0;
            size_t nbytes = gather(row, expected);

            lay_out(&layout, &view, row);
            assert_ok(dlpark__mpi_type_make(&type, &layout, limits[i], e));
            assert_int_equal(alive, 1); /* no part is left */
            MPI_Type_size(type, &size);
            assert_int_equal(size, nbytes);
            memset(to, 0, sizeof to);
            assert_int_equal(MPI_Pack(view.data, 1, type, to, sizeof to, &place, MPI_COMM_WORLD), MPI_SUCCESS);
            assert_int_equal(place, nbytes);
            if (memcmp(to, expected, nbytes) != 0)
                fail_msg("%s with a limit of %d", rows[row].what, limits[i]);
            MPI_Type_free(&type);
            assert_int_equal(alive, 0);
        }
}

static void every_call_that_fails_leaves_nothing(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        mpi_layout layout;
        dlpark_view view;
        dlpark_status status = DLPARK_E_FOREIGN;

        lay_out(&layout, &view, row);
        for (int calls = 0; status != DLPARK_OK; calls++) {
            dlpark_error err = {.message = ""};
            until_failure = calls;
            status = dlpark__mpi_type_make(&type, &layout, 3, &err);
            if (status == DLPARK_OK)
                break;
            assert_int_equal(status, DLPARK_E_FOREIGN);
            assert_non_null(strstr(err.message, "() failed with "));
            assert_true(type == MPI_DATATYPE_NULL);
            assert_int_equal(alive, 0);
            assert_in_range(calls, 0, 100);
        }
        until_failure = -1;
        MPI_Type_free(&type);
        assert_int_equal(alive, 0);
    }
}

/* More elements than an int counts, without the memory: one row again and again, and bytes that nobody touches. */
static void more_elements_than_an_int_counts(void **state)
{
    const int64_t many = (INT64_C(1) << 31) + 5;
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    MPI_Count size;
    MPI_Aint begin, extent;
    dlpark_view side_by_side = made_view(from, DLPARK_U8, 1, (int64_t[]){many}, NULL);
    dlpark_view repeated = made_view(from, DLPARK_F32, 2, (int64_t[]){many, 3}, (int64_t[]){0, 1});
    dlpark_view apart = made_view(from, DLPARK_I16, 2, (int64_t[]){2, many}, (int64_t[]){3 * many, 3});

    (void)state;
    if (sizeof(MPI_Aint) < 8)
        skip();
    assert_ok(dlpark_mpi_borrow_mut(&buffer, &side_by_side, 0, e));
    MPI_Type_size_x(buffer.type, &size);
    MPI_Type_get_true_extent(buffer.type, &begin, &extent);
    assert_true(buffer.count == 1 && size == many && begin == 0 && extent == many);
    dlpark_mpi_release(&buffer);
    assert_ok(dlpark_mpi_borrow(&buffer, &repeated, 0, e));
    MPI_Type_size_x(buffer.type, &size);
    assert_true(size == many * 12);
    dlpark_mpi_release(&buffer);
    assert_ok(dlpark_mpi_borrow_mut(&buffer, &apart, 0, e));
    MPI_Type_size_x(buffer.type, &size);
    MPI_Type_get_true_extent(buffer.type, &begin, &extent);
    assert_true(size == many * 4 && begin == 0 && extent == (3 * many + 3 * (many - 1)) * 2 + 2);
    dlpark_mpi_release(&buffer);
    assert_int_equal(alive, 0);
}

static void *release_there(void *buffer)
{
    dlpark_mpi_release(buffer);
    return NULL;
}

static void any_thread_may_free_the_type(void **state)
{
    dlpark_view view = made_view(from, DLPARK_F32, 2, (int64_t[]){3, 4}, (int64_t[]){1, 3});
    dlpark_mpi_buffer out = DLPARK_MPI_BUFFER_EMPTY, in = DLPARK_MPI_BUFFER_EMPTY;
    pthread_t thread;

    (void)state;
    assert_ok(dlpark_mpi_borrow(&out, &view, 0, e));
    view.data = to;
    assert_ok(dlpark_mpi_borrow_mut(&in, &view, 0, e));
    assert_int_equal(alive, out.is_made + in.is_made);
    assert_int_equal(pthread_create(&thread, NULL, release_there, &out), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(alive == 1 && out.data == NULL && !out.is_made);
    release_there(&in);
    assert_int_equal(alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_thread_may_free_the_type),
        cmocka_unit_test(counts_above_the_limit_are_nested),
        cmocka_unit_test(every_call_that_fails_leaves_nothing),
        cmocka_unit_test(more_elements_than_an_int_counts),
    };

    return cmocka_run_group_tests(tests, begin_mpi, end_mpi);
}
