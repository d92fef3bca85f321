/* What a dtype can hold. */
#include <dlpark/dlpark.h>
#include <stdio.h>

static dlpark_status print_limits(DLDataType dtype, dlpark_error *err)
{
    dlpark_limits limits;

    DLPARK_TRY(dlpark_dtype_limits(dtype, &limits, err));
    if (limits.max.kind == DLPARK_SCALAR_FLOAT)
        printf("%s: up to %g, eps %g, %s\n", dlpark_dtype_name(dtype).text, limits.max.re, limits.eps,
               limits.has_infinity ? "with infinity" : "without infinity");
    else
        printf("%s: %lld to %llu\n", dlpark_dtype_name(dtype).text, (long long)limits.lowest.low,
               (unsigned long long)limits.max.low);
    return DLPARK_OK;
}

int main(void)
{
    const DLDataType dtypes[] = {DLPARK_F16, DLPARK_F8_E4M3FN, DLPARK_I4, DLPARK_U64};
    dlpark_error err;

    for (int i = 0; i < 4; i++)
        if (print_limits(dtypes[i], &err))
            return 1;
    return 0;
}
