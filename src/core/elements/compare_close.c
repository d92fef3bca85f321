/*
 * Closeness: |a - b| <= atol + rtol * |b|. Blocks of floats are first held against the bare inequality, which the
 * compiler vectorises; infinities, NaN and differences that overflow fail it, and are looked at one by one.
 */
#include <float.h>
#include <string.h>

#include "compare_parts.h"
#include "element_parts.h"

#define CLOSE_BLOCK 128
#define CLOSE_2_64  18446744073709551616.0

/* ---- Two numbers ---- */

/* Newton's step towards the root of a square. */
static inline double close_improve(double root, double square)
{
    return (root + square / root) / 2;
}

/* The length of (x, y), both finite: infinite only where it is. Without libm: four steps from the mean are exact to the
 * last bits between 1 and 2, and one with the squares themselves makes it 13 for 5 and 12. */
static double close_modulus(double x, double y)
{
    double longer = __builtin_fabs(x), shorter = __builtin_fabs(y);

    if (longer < shorter) {
        double swap = longer;
        longer = shorter;
        shorter = swap;
    }
    if (shorter == 0)
        return longer;
    double ratio = shorter / longer, square = 1 + ratio * ratio, root = (1 + square) / 2;
    for (int i = 0; i < 4; i++)
        root = close_improve(root, square);
    root *= longer;
    return longer > 1e-140 && longer < 1e140 ? close_improve(root, x * x + y * y) : root;
}

static bool close_within(const dlpark__compare *compare, const double a[2], const double b[2], double scale)
{
    double far = close_modulus(a[0] * scale - b[0] * scale, a[1] * scale - b[1] * scale);

    return far <= compare->atol * scale + compare->rtol * close_modulus(b[0] * scale, b[1] * scale);
}

static bool close_is_nan(const double value[2])
{
    return value[0] != value[0] || value[1] != value[1];
}

static bool close_is_finite(const double value[2])
{
    return __builtin_fabs(value[0]) <= DBL_MAX && __builtin_fabs(value[1]) <= DBL_MAX;
}

/* Real and imaginary parts; the rule in full. */
static bool close_numbers(const dlpark__compare *compare, const double a[2], const double b[2])
{
    if (a[0] == b[0] && a[1] == b[1])
        return true;
    if (close_is_nan(a) || close_is_nan(b))
        return compare->equal_nan && close_is_nan(a) && close_is_nan(b);
    if (!close_is_finite(a) || !close_is_finite(b))
        return false;
    /* A quarter of the largest numbers has a difference and a modulus; scaled, the smallest would lose bits. */
    double largest = __builtin_fabs(a[0]) + __builtin_fabs(a[1]) + __builtin_fabs(b[0]) + __builtin_fabs(b[1]);
    return close_within(compare, a, b, largest <= DBL_MAX ? 1 : 0.25);
}

/* ---- Rows of floats ---- */

/* The first pair that is not close, after a block had one that may not be. */
static int64_t close_find(const dlpark__compare *compare, const double *a, const double *b, int64_t count)
{
    int64_t i = 0;

    while (i < count && close_numbers(compare, (double[]){a[i], 0}, (double[]){b[i], 0}))
        i++;
    return i;
}

static bool close_block(const dlpark__compare *compare, const double *a, const double *b, int64_t count)
{
    const double rtol = compare->rtol, atol = compare->atol;
    uint64_t doubtful = 0;

    for (int64_t i = 0; i < count; i++) {
        double far = __builtin_fabs(a[i] - b[i]), limit = atol + rtol * __builtin_fabs(b[i]);
        doubtful |= (uint64_t) !(far <= limit) | (uint64_t) !(far <= DBL_MAX);
    }
    return doubtful == 0;
}

#define CLOSE_FLOATS(name, load)                                                                                       \
    static int64_t name(const dlpark__compare *compare, const unsigned char *a, const unsigned char *b, int64_t count) \
    {                                                                                                                  \
        double x[CLOSE_BLOCK], y[CLOSE_BLOCK];                                                                         \
                                                                                                                       \
        for (int64_t done = 0, size; done < count; done += size) {                                                     \
            size = count - done < CLOSE_BLOCK ? count - done : CLOSE_BLOCK;                                            \
            load(compare, x, a, done, size);                                                                           \
            load(compare, y, b, done, size);                                                                           \
            if (!close_block(compare, x, y, size)) {                                                                   \
                int64_t found = close_find(compare, x, y, size);                                                       \
                if (found < size)                                                                                      \
                    return done + found;                                                                               \
            }                                                                                                          \
        }                                                                                                              \
        return count;                                                                                                  \
    }

static inline void close_load_f64(const dlpark__compare *compare, double *to, const unsigned char *from, int64_t first,
                                  int64_t count)
{
    (void)compare;
    memcpy(to, from + (size_t)first * sizeof *to, (size_t)count * sizeof *to);
}

static inline void close_load_f32(const dlpark__compare *compare, double *to, const unsigned char *from, int64_t first,
                                  int64_t count)
{
    (void)compare;
    for (int64_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, from + (size_t)(first + i) * sizeof value, sizeof value);
        to[i] = (double)value;
    }
}

static void close_load_any(const dlpark__compare *compare, double *to, const unsigned char *from, int64_t first,
                           int64_t count)
{
    size_t nbytes = (compare->width + 7) / 8;

    for (int64_t i = 0; i < count; i++) {
        dlpark_scalar scalar;
        dlpark__element_load(from + (size_t)(first + i) * nbytes, 0, compare->dtype, &scalar);
        to[i] = scalar.re;
    }
}

CLOSE_FLOATS(close_f64, close_load_f64)
CLOSE_FLOATS(close_f32, close_load_f32)
CLOSE_FLOATS(close_floats, close_load_any)

static int64_t close_complex(const dlpark__compare *compare, const unsigned char *a, const unsigned char *b,
                             int64_t count)
{
    size_t nbytes = compare->width / 8;

    for (int64_t i = 0; i < count; i++) {
        dlpark_scalar x, y;
        dlpark__element_load(a + (size_t)i * nbytes, 0, compare->dtype, &x);
        dlpark__element_load(b + (size_t)i * nbytes, 0, compare->dtype, &y);
        if (!close_numbers(compare, (double[]){x.re, x.im}, (double[]){y.re, y.im}))
            return i;
    }
    return count;
}

/* ---- Rows of integers ---- */

/* 128 bits without sign, as the compilers of 32-bit machines have none. */
typedef struct close_wide {
    uint64_t high;
    uint64_t low;
} close_wide;

static bool close_is_less(close_wide a, close_wide b)
{
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}

static close_wide close_subtract(close_wide a, close_wide b)
{
    return (close_wide){a.high - b.high - (a.low < b.low), a.low - b.low};
}

static bool close_integers(const dlpark__compare *compare, const dlpark_scalar *a, const dlpark_scalar *b)
{
    const uint64_t sign = a->kind == DLPARK_SCALAR_INT ? UINT64_C(1) << 63 : 0;
    close_wide x = {a->high ^ sign, a->low}, y = {b->high ^ sign, b->low}; /* in order, also below zero */
    close_wide zero = {sign, 0};
    close_wide far = close_is_less(x, y) ? close_subtract(y, x) : close_subtract(x, y);
    close_wide size = close_is_less(y, zero) ? close_subtract(zero, y) : close_subtract(y, zero);
    double limit = compare->atol + compare->rtol * ((double)size.high * CLOSE_2_64 + (double)size.low);

    if (limit >= CLOSE_2_64 * CLOSE_2_64)
        return true;
    close_wide whole;
    whole.high = (uint64_t)(limit / CLOSE_2_64);
    whole.low = (uint64_t)(limit - (double)whole.high * CLOSE_2_64);
    return !close_is_less(whole, far);
}

static int64_t close_whole(const dlpark__compare *compare, const unsigned char *a, const unsigned char *b,
                           int64_t count)
{
    size_t nbytes = (compare->width + 7) / 8;
    dlpark_scalar x = {0}, y = {0};

    for (int64_t i = 0; i < count; i++) {
        if (memcmp(a + (size_t)i * nbytes, b + (size_t)i * nbytes, nbytes) == 0)
            continue;
        dlpark__element_load(a + (size_t)i * nbytes, 0, compare->dtype, &x);
        dlpark__element_load(b + (size_t)i * nbytes, 0, compare->dtype, &y);
        if (!close_integers(compare, &x, &y))
            return i;
    }
    return count;
}

/* ---- Which rows are compared how ---- */

bool dlpark__compare_close(dlpark__compare *compare, DLDataType dtype)
{
    compare->dtype = (DLDataType){dtype.code, dtype.bits, 1};
    compare->width = dtype.bits;
    compare->lanes = dtype.lanes;
    switch (dtype.code) {
    case kDLInt:
    case kDLUInt:
    case kDLBool:
        compare->rows = close_whole;
        return true;
    case kDLOpaqueHandle:
        return false;
    case kDLComplex:
        compare->rows = close_complex;
        return true;
    case kDLFloat:
        compare->rows = dtype.bits == 64 ? close_f64 : dtype.bits == 32 ? close_f32 : close_floats;
        return dtype.bits != 128;
    default:
        compare->rows = close_floats;
        return true;
    }
}
