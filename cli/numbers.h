/*
 * What the numbers of a tensor are like.
 */
#ifndef DLPARK_CLI_NUMBERS_H
#define DLPARK_CLI_NUMBERS_H

#include "command.h"

/* Of a complex number, without an overflow on the way. hypot() would ask for a younger libc than all else does. */
double cli_magnitude(double real, double imaginary);

#define CLI_BINS 16

/* What is known of the numbers of a tensor. Least, greatest and mean are of the finite ones; doubles round integers of 64
 * bits, whose extremes are kept as they are. */
typedef struct cli_numbers {
    int64_t count, finite, nans, infinities, zeros;
    double least, greatest, mean, squares;
    DLDataType integers;          /* of 64 bits; all zero where they are no such */
    uint64_t integer_extremes[2]; /* the least and the greatest, by their bits */
    int64_t bins[CLI_BINS];       /* of equal width from the least to the greatest */
} cli_numbers;

dlpark_status cli_numbers_read(cli_numbers *numbers, const dlpark_file *file, int64_t index, DLDataType dtype,
                               cli_progress *progress, dlpark_error *err);
dlpark_status cli_numbers_histogram(cli_numbers *numbers, const dlpark_file *file, int64_t index, DLDataType dtype,
                                    cli_progress *progress, dlpark_error *err);
double cli_numbers_deviation(const cli_numbers *numbers);

/* The least or the greatest as it is to be read: an integer of 64 bits whole, else six digits. */
typedef struct cli_extreme {
    char text[32];
} cli_extreme;
cli_extreme cli_numbers_extreme(const cli_numbers *numbers, bool is_greatest);

#endif
