#include "float_parts.h"

#define REAL_EXPONENT UINT64_C(0x7FF)

dlpark__real dlpark__real_of_double(uint64_t bits)
{
    dlpark__real real = {DLPARK__REAL_FINITE, bits >> 63 != 0, 0, bits & ((UINT64_C(1) << 52) - 1)};
    uint64_t exponent = bits >> 52 & REAL_EXPONENT;

    if (exponent == REAL_EXPONENT) {
        real.kind = real.significand == 0 ? DLPARK__REAL_INFINITE : DLPARK__REAL_NAN;
        return real;
    }
    if (exponent > 0)
        real.significand |= UINT64_C(1) << 52;
    real.exponent = (int32_t)(exponent > 0 ? exponent : 1) - 1075;
    return real;
}

dlpark__real dlpark__real_of_integer(uint64_t low, bool negative)
{
    return (dlpark__real){DLPARK__REAL_FINITE, negative, 0, negative ? 0 - low : low};
}

/* ---- To floats ---- */

/* Drops `count` bits, 1 or more, to nearest with ties to even. */
static uint64_t encode_round(uint64_t significand, int32_t count, unsigned *events)
{
    if (count > 64) { /* less than half of the last place */
        *events |= DLPARK__EVENT_INEXACT;
        return 0;
    }
    uint64_t kept = count < 64 ? significand >> count : 0;
    uint64_t dropped = significand << (64 - count); /* the highest bit is half of the last place */
    const uint64_t half = UINT64_C(1) << 63;

    if (dropped != 0)
        *events |= DLPARK__EVENT_INEXACT;
    return kept + (dropped > half || (dropped == half && (kept & 1) != 0));
}

/* The code of a finite magnitude but 0 as if the exponent had no end; anything above the largest where it is beyond. */
static uint64_t encode_magnitude(const dlpark__real *real, const dlpark__float_format *format, unsigned *events)
{
    int32_t zeros = __builtin_clzll(real->significand);
    uint64_t significand = real->significand << zeros;
    int32_t exponent = real->exponent - zeros + 63; /* of the highest bit */
    int32_t lowest = 1 - format->bias;
    int32_t below = exponent < lowest ? lowest - exponent : 0;

    if (exponent > format->bias + 1) /* no format goes on further than that */
        return UINT64_MAX;
    uint64_t rounded = encode_round(significand, 63 - format->fraction_bits + below, events);
    if (below > 0)
        return rounded; /* subnormal, or the smallest normal one by rounding */
    /* The highest bit of the significand, which is not stored, is added to the exponent; so is a carry. */
    return ((uint64_t)(exponent + format->bias - 1) << format->fraction_bits) + rounded;
}

static uint64_t encode_nan(const dlpark__real *real, const dlpark__float_format *format)
{
    uint64_t quiet = UINT64_C(1) << 51;

    switch (format->flavour) {
    case DLPARK__FLOAT_FINITE: /* as ml_dtypes has it: zero, with the other sign */
        return real->negative ? 0 : dlpark__float_ones(format) + 1;
    case DLPARK__FLOAT_FNUZ:
        return dlpark__float_beyond(format);
    case DLPARK__FLOAT_IEEE: {
        /* Formats of 8 bits have one NaN of each sign, the others keep what of the payload they have room for. */
        uint64_t payload = format->fraction_bits >= 7 ? real->significand | quiet : quiet;
        uint64_t sign = real->negative ? dlpark__float_ones(format) + 1 : 0;
        return sign | dlpark__float_beyond(format) | payload >> (52 - format->fraction_bits);
    }
    default:
        return (real->negative ? dlpark__float_ones(format) + 1 : 0) | dlpark__float_ones(format);
    }
}

/* Without sign, zero and infinity: what they are in each mode, the golden table says. */
static uint64_t encode_scale(const dlpark__real *real, dlpark_overflow overflow, dlpark_scale_rounding rounding,
                             unsigned *events)
{
    const uint64_t nan = 0xFF, largest = 0xFE;
    bool saturates = overflow != DLPARK_OVERFLOW_NOSAT;

    if (real->kind == DLPARK__REAL_NAN)
        return nan;
    if (real->kind == DLPARK__REAL_INFINITE)
        return overflow != DLPARK_OVERFLOW_SATALL ? nan : real->negative ? 0 : largest;
    if (real->significand == 0 || real->negative) {
        *events |= DLPARK__EVENT_OVERFLOW;
        return saturates ? 0 : nan;
    }
    int32_t zeros = __builtin_clzll(real->significand);
    uint64_t fraction = real->significand << zeros << 1;
    int32_t code = real->exponent - zeros + 63 + 127;
    bool up = rounding == DLPARK_SCALE_UP ? fraction != 0 : rounding == DLPARK_SCALE_NEAREST && fraction >> 63 != 0;

    if (fraction != 0 || code < 0)
        *events |= DLPARK__EVENT_INEXACT;
    code += up;
    if (code > (int32_t)largest) {
        *events |= DLPARK__EVENT_OVERFLOW;
        return saturates ? largest : nan;
    }
    return code < 0 ? 0 : (uint64_t)code; /* what is smaller than the smallest becomes it */
}

uint64_t dlpark__float_encode(const dlpark__real *real, const dlpark__float_format *format, dlpark_overflow overflow,
                              dlpark_scale_rounding rounding, unsigned *events)
{
    uint64_t sign = real->negative ? dlpark__float_ones(format) + 1 : 0;
    uint64_t largest = dlpark__float_largest(format);
    uint64_t code = 0;
    unsigned seen = 0;

    if (real->kind == DLPARK__REAL_NAN)
        *events |= DLPARK__EVENT_NAN;
    if (real->kind == DLPARK__REAL_INFINITE)
        *events |= DLPARK__EVENT_INFINITE;
    if (format->flavour == DLPARK__FLOAT_E8M0)
        return encode_scale(real, overflow, rounding, events);
    if (real->kind == DLPARK__REAL_NAN)
        return encode_nan(real, format);
    if (real->kind == DLPARK__REAL_INFINITE) {
        code = overflow == DLPARK_OVERFLOW_SATALL ? largest : dlpark__float_beyond(format);
    } else if (real->significand != 0) {
        code = encode_magnitude(real, format, &seen);
        if (code > largest) {
            seen = DLPARK__EVENT_OVERFLOW;
            code = overflow == DLPARK_OVERFLOW_NOSAT ? dlpark__float_beyond(format) : largest;
        }
    }
    *events |= seen;
    if (format->flavour == DLPARK__FLOAT_FNUZ && (code == 0 || code > largest))
        return code; /* no -0, and the one NaN has its sign in it */
    return sign | code;
}

bool dlpark__real_is_lost(unsigned events, DLDataType dtype)
{
    const dlpark__float_format *format = dlpark__float_format_of(dtype);

    if ((events & DLPARK__EVENT_OVERFLOW) != 0)
        return true;
    if (format == NULL)
        return dtype.code != kDLBool && (events & DLPARK__EVENT_NAN) != 0;
    return ((events & DLPARK__EVENT_INFINITE) != 0 && format->flavour != DLPARK__FLOAT_IEEE) ||
           ((events & DLPARK__EVENT_NAN) != 0 && format->flavour == DLPARK__FLOAT_FINITE);
}

/* ---- To integers ---- */

/* The magnitude truncated, modulo 2^64; whether it is 2^64 or more. */
static uint64_t encode_truncate(const dlpark__real *real, bool *beyond, unsigned *events)
{
    uint64_t significand = real->significand;
    int32_t exponent = real->exponent;

    *beyond = false;
    if (significand == 0 || exponent == 0)
        return significand;
    if (exponent < 0) {
        int32_t count = -exponent;
        if (count > 63 || (significand & ((UINT64_C(1) << count) - 1)) != 0)
            *events |= DLPARK__EVENT_INEXACT;
        return count > 63 ? 0 : significand >> count;
    }
    *beyond = exponent > __builtin_clzll(significand);
    return exponent > 63 ? 0 : significand << exponent;
}

uint64_t dlpark__integer_encode(const dlpark__real *real, unsigned nbits, bool is_signed, dlpark_overflow overflow,
                                unsigned *events)
{
    uint64_t mask = UINT64_MAX >> (64 - nbits);
    uint64_t most = is_signed ? mask >> 1 : mask;
    uint64_t least = is_signed ? most + 1 : 0; /* the magnitude of the lowest */
    unsigned seen = 0;
    bool beyond = false;

    if (real->kind == DLPARK__REAL_NAN) {
        *events |= DLPARK__EVENT_NAN;
        return 0;
    }
    uint64_t magnitude = real->kind == DLPARK__REAL_FINITE ? encode_truncate(real, &beyond, &seen) : 0;
    if (real->kind == DLPARK__REAL_INFINITE || beyond || magnitude > (real->negative ? least : most)) {
        *events |= DLPARK__EVENT_OVERFLOW;
        if (overflow == DLPARK_OVERFLOW_SATURATE)
            return real->negative ? least & mask : most;
    } else {
        *events |= seen;
    }
    return (real->negative ? 0 - magnitude : magnitude) & mask;
}
