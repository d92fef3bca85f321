/* Sizes and strides, with every overflow caught. */
#include <dlpark/dlpark.h>
#include <stdio.h>

int main(void)
{
    int64_t strides[3], numel, lowest, highest;
    dlpark_error err;

    if (dlpark_layout_compact_strides(3, (int64_t[]){2, 3, 4}, strides, &err) ||
        dlpark_layout_span(2, (int64_t[]){2, 3}, (int64_t[]){3, -1}, &lowest, &highest, &err))
        return 1;
    printf("strides %lld %lld %lld\n", (long long)strides[0], (long long)strides[1], (long long)strides[2]);
    printf("elements %lld to %lld\n", (long long)lowest, (long long)highest);
    if (dlpark_layout_numel(3, (int64_t[]){6, INT64_C(1) << 62, 4}, &numel, &err))
        printf("%s\n", err.message);
}
