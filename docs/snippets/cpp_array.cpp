#include <dlpark/array.h>
#include <cstdio>

int main()
{
    double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const dlpark_tensor_desc desc = DLPARK_ARRAY_2D(matrix);
    dlpark_view view;
    dlpark_error err;

    if (dlpark_array_view(&view, &desc, &err)) {
        std::fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    double *first = DLPARK_STRIDED_MUT(double, &view, &err);
    if (first)
        DLPARK_AT(first, &view, 1, 2) = 7;
    if (const double *last = DLPARK_AT_CHECKED(double, &view, &err, -1, -1))
        std::printf("last %g\n", *last);
    if (!DLPARK_AT_CHECKED(double, &view, &err, 2, 0))
        std::printf("%s\n", err.message);

    float row[] = {1, 2, 3}, copies[2][3];
    const float *rows[] = {row, row};
    const dlpark_tensor_desc room = DLPARK_ARRAY_2D(copies);
    if (dlpark_array_view(&view, &room, &err) || dlpark_array_from_rows(&view, DLPARK_ROWS(rows), &err)) {
        std::fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    std::printf("copied %g\n", static_cast<double>(copies[1][2]));
}
