/* What can be said of the numbers of a tensor: one pass for the extremes and sums, one for the histogram between them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "numbers.h"

double cli_magnitude(double real, double imaginary)
{
    double larger = fabs(real) > fabs(imaginary) ? fabs(real) : fabs(imaginary);

    if (isinf(real) || isinf(imaginary))
        return INFINITY;
    if (isnan(real) || isnan(imaginary))
        return NAN;
    if (larger == 0)
        return 0;
    real /= larger;
    imaginary /= larger;
    return larger * sqrt(real * real + imaginary * imaginary);
}

static bool numbers_are_integers(DLDataType dtype)
{
    return (dtype.code == kDLInt || dtype.code == kDLUInt) && dtype.bits == 64 && dtype.lanes == 1;
}

/* Numbers of a dtype as doubles; two for a complex one. Integers of 64 bits are rounded later, when they were looked at. */
static DLDataType numbers_dtype(DLDataType dtype)
{
    if (numbers_are_integers(dtype))
        return dtype;
    return dtype.code == kDLComplex ? (DLDataType){kDLComplex, 128, 1} : DLPARK_F64;
}

/* Integers of 64 bits as doubles, in their place. */
static void numbers_round(unsigned char *bytes, int64_t count, bool is_signed)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, bytes + 8 * i, sizeof bits);
        double value = is_signed ? (double)(int64_t)bits : (double)bits;
        memcpy(bytes + 8 * i, &value, sizeof value);
    }
}

/* Whether one is less, by their bits. */
static bool numbers_is_less(uint64_t a, uint64_t b, bool is_signed)
{
    return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static void numbers_add_integers(cli_numbers *numbers, const dlpark_view *piece)
{
    const uint64_t *values = piece->data;
    bool is_signed = piece->dtype.code == kDLInt;
    int64_t count = dlpark_view_numel(piece);

    for (int64_t i = 0; i < count; i++) {
        if (numbers->integers.bits == 0 || numbers_is_less(values[i], numbers->integer_extremes[0], is_signed))
            numbers->integer_extremes[0] = values[i];
        if (numbers->integers.bits == 0 || numbers_is_less(numbers->integer_extremes[1], values[i], is_signed))
            numbers->integer_extremes[1] = values[i];
        numbers->integers = piece->dtype;
    }
}

/* The next piece as doubles: of complex numbers, their magnitudes, in the place of the numbers. `numbers`: gets the extremes
 * of integers; NULL: nobody asks. */
static dlpark_status numbers_next(cli_elements *elements, cli_numbers *numbers, double **values, int64_t *count,
                                  dlpark_error *err)
{
    dlpark_view piece;

    DLPARK_TRY(cli_elements_next(elements, &piece, err));
    *count = dlpark_view_numel(&piece);
    *values = piece.data;
    if (numbers_are_integers(piece.dtype)) {
        if (numbers != NULL)
            numbers_add_integers(numbers, &piece);
        numbers_round(piece.data, *count, piece.dtype.code == kDLInt);
    }
    if (elements->to.code == kDLComplex)
        for (int64_t i = 0; i < *count; i++)
            (*values)[i] = cli_magnitude((*values)[2 * i], (*values)[2 * i + 1]);
    return DLPARK_OK;
}

static void numbers_add(cli_numbers *numbers, const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double value = values[i];
        if (isnan(value)) {
            numbers->nans++;
        } else if (isinf(value)) {
            numbers->infinities++;
        } else {
            /* Welford's way: sums of squares would drown small deviations. */
            double off = value - numbers->mean;
            numbers->finite++;
            numbers->mean += off / (double)numbers->finite;
            numbers->squares += off * (value - numbers->mean);
            numbers->zeros += value == 0;
            numbers->least = value < numbers->least ? value : numbers->least;
            numbers->greatest = value > numbers->greatest ? value : numbers->greatest;
        }
    }
}

dlpark_status cli_numbers_read(cli_numbers *numbers, const dlpark_file *file, int64_t index, DLDataType dtype,
                               cli_progress *progress, dlpark_error *err)
{
    cli_elements elements;
    double *values = NULL;
    int64_t count;

    *numbers = (cli_numbers){.least = INFINITY, .greatest = -INFINITY};
    DLPARK_TRY(cli_elements_begin(&elements, file, index, numbers_dtype(dtype), err));
    dlpark_status status = DLPARK_OK;
    while (status == DLPARK_OK && elements.done < elements.numel && !cli_is_interrupted()) {
        status = numbers_next(&elements, numbers, &values, &count, err);
        if (status == DLPARK_OK)
            numbers_add(numbers, values, count);
        cli_progress_add(progress, status == DLPARK_OK ? (uint64_t)count * dtype.bits / 8 : 0);
    }
    numbers->count = elements.done;
    cli_elements_end(&elements);
    return status;
}

cli_extreme cli_numbers_extreme(const cli_numbers *numbers, bool is_greatest)
{
    uint64_t bits = numbers->integer_extremes[is_greatest];
    cli_extreme out;

    if (numbers->integers.bits == 0)
        snprintf(out.text, sizeof out.text, "%.6g", is_greatest ? numbers->greatest : numbers->least);
    else if (numbers->integers.code == kDLInt)
        snprintf(out.text, sizeof out.text, "%lld", (long long)(int64_t)bits);
    else
        snprintf(out.text, sizeof out.text, "%llu", (unsigned long long)bits);
    return out;
}

double cli_numbers_deviation(const cli_numbers *numbers)
{
    return numbers->finite > 0 ? sqrt(numbers->squares / (double)numbers->finite) : NAN;
}

/* In halves, as the way from the least to the greatest may be longer than any double; within bounds even where the file
 * has changed since they were found. */
static int numbers_bin(const cli_numbers *numbers, double value)
{
    double width = numbers->greatest / 2 - numbers->least / 2;
    double part = width > 0 ? (value / 2 - numbers->least / 2) / width : 0;

    return part >= 1 ? CLI_BINS - 1 : part > 0 ? (int)(part * CLI_BINS) : 0;
}

dlpark_status cli_numbers_histogram(cli_numbers *numbers, const dlpark_file *file, int64_t index, DLDataType dtype,
                                    cli_progress *progress, dlpark_error *err)
{
    cli_elements elements;
    double *values = NULL;
    int64_t count;

    memset(numbers->bins, 0, sizeof numbers->bins);
    DLPARK_TRY(cli_elements_begin(&elements, file, index, numbers_dtype(dtype), err));
    dlpark_status status = DLPARK_OK;
    while (status == DLPARK_OK && elements.done < elements.numel && !cli_is_interrupted()) {
        status = numbers_next(&elements, NULL, &values, &count, err);
        for (int64_t i = 0; status == DLPARK_OK && i < count; i++)
            if (isfinite(values[i]))
                numbers->bins[numbers_bin(numbers, values[i])]++;
        cli_progress_add(progress, status == DLPARK_OK ? (uint64_t)count * dtype.bits / 8 : 0);
    }
    cli_elements_end(&elements);
    return status;
}
