/*
 * Ordinary C memory as views: what a view costs beside a check of the same description, and what an element costs through
 * DLPARK_AT and DLPARK_AT_CHECKED beside C's own indices.
 */
#include <stdlib.h>

#include <dlpark/array.h>
#include <dlpark/check.h>

#include "harness.h"

enum { ROWS = 64, COLUMNS = 64 };

/* The same memory as an array, as a view, and as somebody's claim. */
typedef struct matrix {
    double (*values)[COLUMNS];
    dlpark_view view;
    DLTensor raw;
} matrix;

static double numbers[ROWS][COLUMNS];
static const double EXPECTED = ROWS * COLUMNS * (ROWS * COLUMNS - 1) / 2;

/* ---- A view ---- */

static void run_check(const void *input, long count)
{
    const matrix *of = input;

    for (long i = 0; i < count; i++) {
        dlpark_view DLPARK_UNINITIALIZED view;
        if (dlpark_check(&of->raw, 0, &view, NULL))
            abort();
        harness_use(&view);
    }
}

static bool verify_check(const void *input)
{
    const matrix *of = input;
    dlpark_view view;

    return dlpark_check(&of->raw, 0, &view, NULL) == DLPARK_OK && view.data == numbers;
}

static void run_view(const void *input, long count)
{
    const matrix *of = input;

    for (long i = 0; i < count; i++) {
        dlpark_view DLPARK_UNINITIALIZED view;
        harness_use(of->values);
        if (dlpark_array_view(&view, &DLPARK_ARRAY_2D(numbers), NULL))
            abort();
        harness_use(&view);
    }
}

static bool verify_view(const void *input)
{
    dlpark_view view;

    return input && dlpark_array_view(&view, &DLPARK_ARRAY_2D(numbers), NULL) == DLPARK_OK && view.data == numbers &&
           view.shape[0] == ROWS && view.strides[0] == COLUMNS && view.flags == 0;
}

static void run_strided(const void *input, long count)
{
    const matrix *of = input;

    for (long i = 0; i < count; i++) {
        double *first = DLPARK_STRIDED_MUT(double, &of->view, NULL);
        if (!first)
            abort();
        harness_use(first);
    }
}

static bool verify_strided(const void *input)
{
    const matrix *of = input;

    return DLPARK_STRIDED_MUT(double, &of->view, NULL) == numbers[0];
}

static void run_blas(const void *input, long count)
{
    const matrix *of = input;

    for (long i = 0; i < count; i++) {
        int transpose;
        int32_t ld;
        if (dlpark_array_blas(&of->view, DLPARK_COLUMN_MAJOR, &transpose, &ld, NULL))
            abort();
        harness_use(&ld);
    }
}

static bool verify_blas(const void *input)
{
    const matrix *of = input;
    int transpose = 0;
    int32_t ld = 0;

    return dlpark_array_blas(&of->view, DLPARK_COLUMN_MAJOR, &transpose, &ld, NULL) == DLPARK_OK &&
           transpose == DLPARK_TRANSPOSE && ld == COLUMNS;
}

/* ---- Elements ---- */

static double sum_indices(const matrix *of)
{
    double sum = 0;

    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            sum += of->values[i][j];
    return sum;
}

/* By strides that only the run knows, as any code for strided memory has it. */
static double sum_strides(const matrix *of)
{
    const double *first = of->values[0];
    const int64_t rows = of->view.strides[0], columns = of->view.strides[1];
    double sum = 0;

    for (int64_t i = 0; i < of->view.shape[0]; i++)
        for (int64_t j = 0; j < of->view.shape[1]; j++)
            sum += first[i * rows + j * columns];
    return sum;
}

static double sum_at(const matrix *of)
{
    const double *first = DLPARK_STRIDED(double, &of->view, NULL);
    double sum = 0;

    for (int64_t i = 0; first && i < of->view.shape[0]; i++)
        for (int64_t j = 0; j < of->view.shape[1]; j++)
            sum += DLPARK_AT(first, &of->view, i, j);
    return sum;
}

static double sum_checked(const matrix *of)
{
    double sum = 0;

    for (int64_t i = 0; i < of->view.shape[0]; i++)
        for (int64_t j = 0; j < of->view.shape[1]; j++) {
            const double *element = DLPARK_AT_CHECKED(double, &of->view, NULL, i, j);
            sum += element ? *element : 0;
        }
    return sum;
}

#define DEFINE_SUM(name)                                                                                               \
    static void run_##name(const void *input, long count)                                                              \
    {                                                                                                                  \
        for (long i = 0; i < count; i++) {                                                                             \
            double sum = name(input);                                                                                  \
            harness_use(&sum);                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static bool verify_##name(const void *input)                                                                       \
    {                                                                                                                  \
        return name(input) == EXPECTED; /* whole numbers, far below 2^53 */                                            \
    }
DEFINE_SUM(sum_indices)
DEFINE_SUM(sum_strides)
DEFINE_SUM(sum_at)
DEFINE_SUM(sum_checked)

int main(int argc, char **argv)
{
    static matrix of = {.values = numbers};
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    for (int i = 0; i < ROWS * COLUMNS; i++)
        numbers[i / COLUMNS][i % COLUMNS] = i;
    if (dlpark_array_view(&of.view, &DLPARK_ARRAY_2D(numbers), NULL) ||
        dlpark_view_borrow_dltensor(&of.view, &of.raw, NULL))
        return 1;
    const harness_group groups[] = {
        {"array",
         "a view",
         2,
         4,
         {
             {"dlpark_check", run_check, verify_check, &of, {{NULL, 0}}},
             {"dlpark_array_view", run_view, verify_view, &of, {{"dlpark_check", 4}}},
             {"DLPARK_STRIDED_MUT", run_strided, verify_strided, &of, {{"dlpark_check", 3}}},
             {"dlpark_array_blas", run_blas, verify_blas, &of, {{"dlpark_check", 1}}},
         }},
        {"array",
         "the sum of 64 x 64 elements",
         2,
         4,
         {
             {"indices of C", run_sum_indices, verify_sum_indices, &of, {{NULL, 0}}},
             {"strides by hand", run_sum_strides, verify_sum_strides, &of, {{NULL, 0}}},
             {"DLPARK_AT", run_sum_at, verify_sum_at, &of, {{"strides by hand", 1.1}}},
             {"DLPARK_AT_CHECKED", run_sum_checked, verify_sum_checked, &of, {{NULL, 0}}},
         }}};
    harness_print_machine(&options);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        wrong += harness_run(&groups[i], &options, &missed);
    return harness_finish(&options, wrong, missed);
}
