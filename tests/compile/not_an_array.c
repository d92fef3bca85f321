/* What is no array of so many dimensions has no description: its extents would be made up. */
#include <dlpark/array.h>

int describe(double (*rows)[3], double **lines, double flat[4]);

int describe(double (*rows)[3], double **lines, double flat[4])
{
    double matrix[4][3], *pointers[4] = {0};

    (void)rows;
    (void)lines;
    (void)flat;
    (void)pointers;
#if defined(WRONG)
    return (WRONG).ndim + (matrix[0][0] > 0);
#else
    return DLPARK_ARRAY_2D(matrix).ndim + DLPARK_ARRAY_1D(*rows).ndim;
#endif
}
