/*
 * Beside GSL's own calls: gsl_matrix_alloc() and gsl_matrix_free() for what owns, gsl_matrix_view_array() for what borrows. The
 * targets are a hundred nanoseconds for each crossing, in GSL's calls: one takes 1 ns to borrow, 23 ns to own.
 */
#include <stdlib.h>

#include <gsl/gsl_matrix.h>

#include <dlpark/array.h>
#include <dlpark/gsl.h>

#include "harness.h"

enum { ROWS = 3, COLUMNS = 4 };

static double numbers[ROWS][COLUMNS];

/* What the borrowing cases take: a matrix of GSL's, and a view of the same memory. */
typedef struct borrowed {
    gsl_matrix_view theirs;
    dlpark_view ours;
} borrowed;

static bool is_right(const gsl_matrix *matrix)
{
    return matrix->data == numbers[0] && matrix->size1 == ROWS && matrix->size2 == COLUMNS && matrix->tda == COLUMNS;
}

/* ---- Borrowing ---- */

static void run_view_array(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        gsl_matrix_view view = gsl_matrix_view_array(numbers[0], ROWS, COLUMNS);
        harness_use(&view);
    }
}

static bool verify_view_array(const void *input)
{
    gsl_matrix_view view = gsl_matrix_view_array(numbers[0], ROWS, COLUMNS);

    return input && is_right(&view.matrix);
}

static void run_view(const void *input, long count)
{
    const borrowed *of = input;

    for (long i = 0; i < count; i++) {
        dlpark_view DLPARK_UNINITIALIZED view;
        if (dlpark_gsl_view(&view, &of->theirs.matrix, NULL))
            abort();
        harness_use(&view);
    }
}

static bool verify_view(const void *input)
{
    const borrowed *of = input;
    dlpark_view view;

    return dlpark_gsl_view(&view, &of->theirs.matrix, NULL) == DLPARK_OK && view.data == numbers &&
           view.shape[0] == ROWS && view.shape[1] == COLUMNS;
}

static void run_borrow(const void *input, long count)
{
    const borrowed *of = input;

    for (long i = 0; i < count; i++) {
        gsl_matrix matrix;
        if (dlpark_gsl_borrow_mut(&matrix, &of->ours, NULL))
            abort();
        harness_use(&matrix);
    }
}

static bool verify_borrow(const void *input)
{
    const borrowed *of = input;
    gsl_matrix matrix;

    return dlpark_gsl_borrow_mut(&matrix, &of->ours, NULL) == DLPARK_OK && is_right(&matrix);
}

/* ---- Owning ---- */

static void run_alloc(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        gsl_matrix *matrix = gsl_matrix_alloc(ROWS, COLUMNS);
        harness_use(matrix);
        gsl_matrix_free(matrix);
    }
}

static bool verify_alloc(const void *input)
{
    gsl_matrix *matrix = gsl_matrix_alloc(ROWS, COLUMNS);
    bool right = input && matrix->tda == COLUMNS;

    gsl_matrix_free(matrix);
    return right;
}

/* GSL's matrix as a tensor and, where it is asked for, that as a matrix; ends all of it. Whether the memory stayed. */
static bool cross(bool out)
{
    gsl_matrix *matrix = gsl_matrix_alloc(ROWS, COLUMNS);
    const double *data = matrix->data;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view DLPARK_UNINITIALIZED view;

    if (dlpark_gsl_import(&tensor, &matrix, &view, NULL))
        return false;
    bool right = view.data == data;
    if (out && dlpark_gsl_export(&matrix, &tensor, NULL))
        return false;
    right = right && (!out || matrix->data == data);
    if (out)
        dlpark_gsl_release(&matrix);
    else
        dlpark_tensor_release(&tensor);
    return right;
}

static void run_import(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++)
        if (!cross(false))
            abort();
}

static bool verify_import(const void *input)
{
    return input && cross(false);
}

static void run_both(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++)
        if (!cross(true))
            abort();
}

static bool verify_both(const void *input)
{
    return input && cross(true);
}

int main(int argc, char **argv)
{
    static borrowed of;
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    of.theirs = gsl_matrix_view_array(numbers[0], ROWS, COLUMNS);
    if (dlpark_array_view(&of.ours, &DLPARK_ARRAY_2D(numbers), NULL))
        return 1;
    const harness_group groups[] = {
        {"gsl",
         "borrow",
         2,
         3,
         {
             {"gsl_matrix_view_array", run_view_array, verify_view_array, &of, {{NULL, 0}}},
             {"dlpark_gsl_view", run_view, verify_view, &of, {{"gsl_matrix_view_array", 100}}},
             {"dlpark_gsl_borrow_mut", run_borrow, verify_borrow, &of, {{"gsl_matrix_view_array", 100}}},
         }},
        {"gsl",
         "own",
         2,
         3,
         {
             {"gsl_matrix_alloc and free", run_alloc, verify_alloc, &of, {{NULL, 0}}},
             {"alloc, import and release", run_import, verify_import, &of, {{"gsl_matrix_alloc and free", 5.3}}},
             {"alloc, import, export, release", run_both, verify_both, &of, {{"gsl_matrix_alloc and free", 9.6}}},
         }}};
    harness_print_machine(&options);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        wrong += harness_run(&groups[i], &options, &missed);
    return harness_finish(&options, wrong, missed);
}
