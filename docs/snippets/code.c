/* Codes of narrow floats as numbers, in loops of one's own. */
#include <dlpark/dlpark.h>
#include <stdio.h>

/* The sum of halves, which C has no type for. */
static float sum(const uint16_t *halves, int64_t count)
{
    float total = 0;

    for (int64_t i = 0; i < count; i++)
        total += dlpark_f16_decode(halves[i]);
    return total;
}

/* 8 bits each and a scale for all: the largest becomes 448, and nothing can become NaN. */
static void quantize(uint8_t *to, const float *from, int64_t count, float scale)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = dlpark_f8_e4m3fn_encode(from[i] / scale, DLPARK_OVERFLOW_SATFINITE);
}

/* A dtype that is known only at run time. */
static dlpark_status show(DLDataType dtype, double value, dlpark_error *err)
{
    uint64_t code;
    double back;

    DLPARK_TRY(dlpark_code_encode(dtype, value, DLPARK_OVERFLOW_REFUSE, &code, err));
    DLPARK_TRY(dlpark_code_decode(dtype, code, &back, err));
    printf("%s: 0x%llX is %g\n", dlpark_dtype_name(dtype).text, (unsigned long long)code, back);
    return DLPARK_OK;
}

int main(void)
{
    const uint16_t halves[] = {0x3C00, 0x4000, 0x0001}; /* 1, 2, 2^-24 */
    const float weights[] = {1.5f, -3.0f, 1000.0f};
    uint8_t codes[3];
    dlpark_error err;

    printf("%.9g\n", (double)sum(halves, 3));
    quantize(codes, weights, 3, 2.0f);
    for (int i = 0; i < 3; i++)
        printf("0x%02X is %g\n", codes[i], (double)dlpark_f8_e4m3fn_decode(codes[i]));
    if (show(DLPARK_BF16, 0.1, &err) || show(DLPARK_F4_E2M1FN, 100, &err))
        printf("%s\n", err.message);
    return 0;
}
