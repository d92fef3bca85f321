/*
 * Equality in integers alone: a float is equal to itself unless it is NaN, and to another code only where both are
 * zero. So no mode of the floating-point unit matters, and no exception is raised.
 */
#include <string.h>

#include "compare_parts.h"

/* ---- Which codes are special ---- */

#define EQUAL_SIGNED(magnitude, above)                                                                                 \
    {                                                                                                                  \
        0, (magnitude), (above), (magnitude)                                                                           \
    }
/* NaN is where -0 would be; it comes out above all others when the count begins behind it. */
#define EQUAL_FNUZ                                                                                                     \
    {                                                                                                                  \
        0x81, 0xFF, 0xFE, 0xFF                                                                                         \
    }

static const dlpark__float_rule equal_f16 = EQUAL_SIGNED(0x7FFF, 0x7C00);
static const dlpark__float_rule equal_f32 = EQUAL_SIGNED(0x7FFFFFFF, 0x7F800000);
static const dlpark__float_rule equal_f64 = EQUAL_SIGNED(UINT64_C(0x7FFFFFFFFFFFFFFF), UINT64_C(0x7FF0000000000000));
static const dlpark__float_rule equal_rules[] = {
    [kDLBfloat] = EQUAL_SIGNED(0x7FFF, 0x7F80),    [kDLFloat8_e3m4] = EQUAL_SIGNED(0x7F, 0x70),
    [kDLFloat8_e4m3] = EQUAL_SIGNED(0x7F, 0x78),   [kDLFloat8_e4m3b11fnuz] = EQUAL_FNUZ,
    [kDLFloat8_e4m3fn] = EQUAL_SIGNED(0x7F, 0x7E), [kDLFloat8_e4m3fnuz] = EQUAL_FNUZ,
    [kDLFloat8_e5m2] = EQUAL_SIGNED(0x7F, 0x7C),   [kDLFloat8_e5m2fnuz] = EQUAL_FNUZ,
    [kDLFloat8_e8m0fnu] = {0, 0xFF, 0xFE, 0xFF}, /* has no zero: no two of its codes are one value */
    [kDLFloat6_e2m3fn] = EQUAL_SIGNED(0x1F, 0x1F), [kDLFloat6_e3m2fn] = EQUAL_SIGNED(0x1F, 0x1F),
    [kDLFloat4_e2m1fn] = EQUAL_SIGNED(0x07, 0x07),
};

static bool equal_codes(const dlpark__float_rule *rule, uint64_t a, uint64_t b)
{
    return ((a - rule->offset) & rule->mask) <= rule->above && (a == b || ((a | b) & rule->zero) == 0);
}

/* ---- Rows ---- */

/* Long enough to vectorise, short enough to look at each lane again when one of them is special. */
#define EQUAL_BLOCK 256

static int64_t equal_bits(const dlpark__compare *compare, const unsigned char *a, const unsigned char *b, int64_t count)
{
    size_t nbytes = (compare->width + 7) / 8;

    if (memcmp(a, b, (size_t)count * nbytes) == 0)
        return count;
    int64_t i = 0;
    while (memcmp(a + (size_t)i * nbytes, b + (size_t)i * nbytes, nbytes) == 0)
        i++;
    return i;
}

static int64_t equal_bools(const dlpark__compare *compare, const unsigned char *a, const unsigned char *b,
                           int64_t count)
{
    (void)compare;
    for (int64_t done = 0, size; done < count; done += size) {
        unsigned char differ = 0;
        size = count - done < EQUAL_BLOCK ? count - done : EQUAL_BLOCK;
        for (int64_t i = done; i < done + size; i++)
            differ |= (unsigned char)((a[i] != 0) ^ (b[i] != 0));
        for (int64_t i = done; differ != 0; i++)
            if ((a[i] != 0) != (b[i] != 0))
                return i;
    }
    return count;
}

static int64_t equal_floats_8(const dlpark__compare *compare, const unsigned char *a, const unsigned char *b,
                              int64_t count)
{
    const unsigned char offset = (unsigned char)compare->rule.offset, mask = (unsigned char)compare->rule.mask,
                        above = (unsigned char)compare->rule.above;

    for (int64_t done = 0, size; done < count; done += size) {
        unsigned char special = 0;
        size = count - done < EQUAL_BLOCK ? count - done : EQUAL_BLOCK;
        for (int64_t i = done; i < done + size; i++)
            special |= (unsigned char)((a[i] ^ b[i]) | (((a[i] - offset) & mask) > above));
        for (int64_t i = done; special != 0 && i < done + size; i++)
            if (!equal_codes(&compare->rule, a[i], b[i]))
                return i;
    }
    return count;
}

/* Of wider formats NaN is what lies above infinity: the subtraction leaves the top bit set, and needs no comparison,
 * which vectors of the oldest x86-64 do not have. */
#define EQUAL_FLOATS(name, type)                                                                                       \
    static int64_t name(const dlpark__compare *compare, const unsigned char *a, const unsigned char *b, int64_t count) \
    {                                                                                                                  \
        const type mask = (type)compare->rule.mask, above = (type)compare->rule.above;                                 \
        type x, y;                                                                                                     \
                                                                                                                       \
        for (int64_t done = 0, size; done < count; done += size) {                                                     \
            type differ = 0, special = 0;                                                                              \
            size = count - done < EQUAL_BLOCK ? count - done : EQUAL_BLOCK;                                            \
            for (int64_t i = done; i < done + size; i++) {                                                             \
                memcpy(&x, a + (size_t)i * sizeof x, sizeof x);                                                        \
                memcpy(&y, b + (size_t)i * sizeof y, sizeof y);                                                        \
                differ |= (type)(x ^ y);                                                                               \
                special |= (type)(above - (x & mask));                                                                 \
            }                                                                                                          \
            differ |= (type)(special & (type)~mask);                                                                   \
            for (int64_t i = done; differ != 0 && i < done + size; i++) {                                              \
                memcpy(&x, a + (size_t)i * sizeof x, sizeof x);                                                        \
                memcpy(&y, b + (size_t)i * sizeof y, sizeof y);                                                        \
                if (!equal_codes(&compare->rule, x, y))                                                                \
                    return i;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        return count;                                                                                                  \
    }

EQUAL_FLOATS(equal_floats_16, uint16_t)
EQUAL_FLOATS(equal_floats_32, uint32_t)
EQUAL_FLOATS(equal_floats_64, uint64_t)

/* IEEE binary128, in two halves. */
static int64_t equal_floats_128(const dlpark__compare *compare, const unsigned char *a, const unsigned char *b,
                                int64_t count)
{
    const uint64_t magnitude = UINT64_C(0x7FFFFFFFFFFFFFFF), infinite = UINT64_C(0x7FFF000000000000);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    const int high = 0;
#else
    const int high = 1;
#endif
    uint64_t x[2], y[2];

    (void)compare;
    for (int64_t i = 0; i < count; i++) {
        memcpy(x, a + 16 * i, sizeof x);
        memcpy(y, b + 16 * i, sizeof y);
        uint64_t top = x[high] & magnitude;
        bool is_nan = top > infinite || (top == infinite && x[!high] != 0);
        bool is_zero = (top | (y[high] & magnitude) | x[!high] | y[!high]) == 0;
        if (is_nan || ((x[0] != y[0] || x[1] != y[1]) && !is_zero))
            return i;
    }
    return count;
}

/* ---- Which rows are compared how ---- */

static void equal_choose_bits(dlpark__compare *compare, DLDataType dtype)
{
    uint32_t nbits = dlpark_dtype_nbits(dtype);

    /* Lanes of an integer need no difference made between them: whole bytes are one lane where they can be gathered. */
    compare->rows = equal_bits;
    if (nbits == 8 || nbits == 16 || nbits == 32 || nbits == 64 || nbits == 128) {
        compare->width = nbits;
        compare->lanes = 1;
    } else if (nbits % 8 == 0) {
        compare->width = 8;
        compare->lanes = nbits / 8;
    }
}

static void equal_choose_float(dlpark__compare *compare, uint8_t code)
{
    switch (compare->width) {
    case 16:
        compare->rows = equal_floats_16;
        compare->rule = code == kDLBfloat ? equal_rules[kDLBfloat] : equal_f16;
        break;
    case 32:
        compare->rows = equal_floats_32;
        compare->rule = equal_f32;
        break;
    case 64:
        compare->rows = equal_floats_64;
        compare->rule = equal_f64;
        break;
    case 128:
        compare->rows = equal_floats_128;
        break;
    default:
        compare->rows = equal_floats_8;
        compare->rule = equal_rules[code];
    }
}

void dlpark__compare_equal(dlpark__compare *compare, DLDataType dtype)
{
    compare->width = dtype.bits;
    compare->lanes = dtype.lanes;
    switch (dtype.code) {
    case kDLInt:
    case kDLUInt:
    case kDLOpaqueHandle:
        equal_choose_bits(compare, dtype);
        break;
    case kDLBool:
        compare->rows = equal_bools;
        break;
    case kDLComplex:
        compare->width = dtype.bits / 2u;
        compare->lanes = 2;
        equal_choose_float(compare, kDLFloat);
        break;
    default:
        equal_choose_float(compare, dtype.code);
    }
}
