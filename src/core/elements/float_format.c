#include "float_parts.h"

#define FLOAT_SIGN     (UINT64_C(1) << 63)
#define FLOAT_INFINITE (UINT64_C(0x7FF) << 52)
#define FLOAT_QUIET    (UINT64_C(1) << 51)
#define FLOAT_BIAS     1023

static const dlpark__float_format float_f16 = {5, 10, 15, DLPARK__FLOAT_IEEE};
static const dlpark__float_format float_f32 = {8, 23, 127, DLPARK__FLOAT_IEEE};
static const dlpark__float_format float_f64 = {11, 52, 1023, DLPARK__FLOAT_IEEE};

/* Indexed by DLPack's code. Those of several widths, and of none, are left empty. */
static const dlpark__float_format float_formats[] = {
    [kDLBfloat] = {8, 7, 127, DLPARK__FLOAT_IEEE},         [kDLFloat8_e3m4] = {3, 4, 3, DLPARK__FLOAT_IEEE},
    [kDLFloat8_e4m3] = {4, 3, 7, DLPARK__FLOAT_IEEE},      [kDLFloat8_e4m3b11fnuz] = {4, 3, 11, DLPARK__FLOAT_FNUZ},
    [kDLFloat8_e4m3fn] = {4, 3, 7, DLPARK__FLOAT_FN},      [kDLFloat8_e4m3fnuz] = {4, 3, 8, DLPARK__FLOAT_FNUZ},
    [kDLFloat8_e5m2] = {5, 2, 15, DLPARK__FLOAT_IEEE},     [kDLFloat8_e5m2fnuz] = {5, 2, 16, DLPARK__FLOAT_FNUZ},
    [kDLFloat8_e8m0fnu] = {8, 0, 127, DLPARK__FLOAT_E8M0}, [kDLFloat6_e2m3fn] = {2, 3, 1, DLPARK__FLOAT_FINITE},
    [kDLFloat6_e3m2fn] = {3, 2, 3, DLPARK__FLOAT_FINITE},  [kDLFloat4_e2m1fn] = {2, 1, 1, DLPARK__FLOAT_FINITE},
};

const dlpark__float_format *dlpark__float_format_of(DLDataType dtype)
{
    unsigned width = dtype.code == kDLComplex ? dtype.bits / 2u : dtype.bits;

    if (dtype.code == kDLFloat || dtype.code == kDLComplex)
        return width == 16 ? &float_f16 : width == 32 ? &float_f32 : width == 64 ? &float_f64 : NULL;
    if (dtype.code >= sizeof float_formats / sizeof float_formats[0] || float_formats[dtype.code].exponent_bits == 0)
        return NULL;
    return &float_formats[dtype.code];
}

/* The code whose exponent is all ones and whose fraction is 0. */
static uint64_t float_top(const dlpark__float_format *format)
{
    return ((UINT64_C(1) << format->exponent_bits) - 1) << format->fraction_bits;
}

uint64_t dlpark__float_largest(const dlpark__float_format *format)
{
    switch (format->flavour) {
    case DLPARK__FLOAT_IEEE:
        return float_top(format) - 1;
    case DLPARK__FLOAT_FN:
    case DLPARK__FLOAT_E8M0:
        return dlpark__float_ones(format) - 1;
    default:
        return dlpark__float_ones(format);
    }
}

uint64_t dlpark__float_beyond(const dlpark__float_format *format)
{
    switch (format->flavour) {
    case DLPARK__FLOAT_IEEE:
        return float_top(format);
    case DLPARK__FLOAT_FNUZ:
        return dlpark__float_ones(format) + 1;
    default:
        return dlpark__float_ones(format);
    }
}

/* Whether a magnitude is no number, and then which: the exponent and fraction of a double, else 0. */
static uint64_t float_special(uint64_t code, uint64_t magnitude, const dlpark__float_format *format)
{
    uint64_t top = float_top(format);

    switch (format->flavour) {
    case DLPARK__FLOAT_IEEE:
        if (magnitude < top)
            return 0;
        if (magnitude == top)
            return FLOAT_INFINITE;
        return FLOAT_INFINITE | FLOAT_QUIET | (magnitude - top) << (52 - format->fraction_bits);
    case DLPARK__FLOAT_FNUZ:
        return magnitude == 0 && code != 0 ? FLOAT_INFINITE | FLOAT_QUIET : 0;
    case DLPARK__FLOAT_FINITE:
        return 0;
    default:
        return magnitude == dlpark__float_ones(format) ? FLOAT_INFINITE | FLOAT_QUIET : 0;
    }
}

/* The double of a finite magnitude, without sign; exact. */
static uint64_t float_finite(uint64_t magnitude, const dlpark__float_format *format)
{
    uint64_t exponent = magnitude >> format->fraction_bits;
    uint64_t fraction = magnitude & ((UINT64_C(1) << format->fraction_bits) - 1);

    if (exponent == 0 && format->flavour != DLPARK__FLOAT_E8M0) {
        if (fraction == 0)
            return 0;
        /* Subnormal here, normal as a double: the highest bit becomes the one that is not stored. */
        exponent = 1;
        for (; fraction >> format->fraction_bits == 0; exponent--)
            fraction <<= 1;
        fraction -= UINT64_C(1) << format->fraction_bits;
    }
    return (exponent + FLOAT_BIAS - format->bias) << 52 | fraction << (52 - format->fraction_bits);
}

uint64_t dlpark__float_decode(uint64_t code, const dlpark__float_format *format)
{
    if (format->fraction_bits == 52) /* a double is what it is, and a signalling NaN one that signals */
        return code;

    uint64_t magnitude = code & dlpark__float_ones(format);
    uint64_t special = float_special(code, magnitude, format);
    bool is_negative = code != magnitude;

    if (special != 0) {
        /* The one NaN of these formats sits where -0 would be; the bit is no sign. */
        bool is_signed = is_negative && format->flavour != DLPARK__FLOAT_FNUZ;
        return special | (is_signed ? FLOAT_SIGN : 0);
    }
    return float_finite(magnitude, format) | (is_negative ? FLOAT_SIGN : 0);
}
