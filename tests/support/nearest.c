#include "nearest.h"

#include <assert.h>
#include <string.h>

/* As they are specified, code by code. `infinite` and `nan` are 0 where there is none. */
typedef struct nearest_format {
    uint8_t code;
    uint8_t bits;
    uint8_t fraction;
    int bias;
    uint64_t largest;
    uint64_t infinite;
    uint64_t nan; /* a quiet one, without sign */
} nearest_format;

static const nearest_format nearest_formats[] = {
    {kDLFloat, 16, 10, 15, 0x7BFF, 0x7C00, 0x7E00},
    {kDLFloat, 32, 23, 127, 0x7F7FFFFF, 0x7F800000, 0x7FC00000},
    {kDLFloat, 64, 52, 1023, UINT64_C(0x7FEFFFFFFFFFFFFF), UINT64_C(0x7FF) << 52, UINT64_C(0x7FF8) << 48},
    {kDLBfloat, 16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0},
    {kDLFloat8_e3m4, 8, 4, 3, 0x6F, 0x70, 0x78},
    {kDLFloat8_e4m3, 8, 3, 7, 0x77, 0x78, 0x7C},
    {kDLFloat8_e4m3b11fnuz, 8, 3, 11, 0x7F, 0, 0x80},
    {kDLFloat8_e4m3fn, 8, 3, 7, 0x7E, 0, 0x7F},
    {kDLFloat8_e4m3fnuz, 8, 3, 8, 0x7F, 0, 0x80},
    {kDLFloat8_e5m2, 8, 2, 15, 0x7B, 0x7C, 0x7E},
    {kDLFloat8_e5m2fnuz, 8, 2, 16, 0x7F, 0, 0x80},
    {kDLFloat8_e8m0fnu, 8, 0, 127, 0xFE, 0, 0xFF},
    {kDLFloat6_e2m3fn, 6, 3, 1, 0x1F, 0, 0},
    {kDLFloat6_e3m2fn, 6, 2, 3, 0x1F, 0, 0},
    {kDLFloat4_e2m1fn, 4, 1, 1, 0x7, 0, 0},
};

static const nearest_format *nearest_format_of(DLDataType dtype)
{
    for (size_t i = 0; i < sizeof nearest_formats / sizeof nearest_formats[0]; i++)
        if (nearest_formats[i].code == dtype.code && nearest_formats[i].bits == dtype.bits)
            return &nearest_formats[i];
    return NULL;
}

bool nearest_is_float(DLDataType dtype)
{
    return nearest_format_of(dtype) != NULL;
}

uint64_t nearest_largest(DLDataType dtype)
{
    return nearest_format_of(dtype)->largest;
}

static uint64_t format_sign(const nearest_format *format)
{
    return UINT64_C(1) << (format->bits - 1);
}

/* The magnitude of a code as if every code were a number, also of the one past the last. */
static nearest_number format_magnitude(const nearest_format *format, uint64_t code)
{
    uint64_t one = UINT64_C(1) << format->fraction, fraction = code & (one - 1);
    int exponent = (int)(code >> format->fraction);

    if (format->code == kDLFloat8_e8m0fnu)
        return (nearest_number){NEAREST_FINITE, false, (int)code - format->bias, 1};
    return (nearest_number){NEAREST_FINITE, false, (exponent > 0 ? exponent : 1) - format->bias - format->fraction,
                            exponent > 0 ? fraction | one : fraction};
}

/* ---- From codes ---- */

static nearest_number format_value(const nearest_format *format, uint64_t code)
{
    uint64_t sign = format->code == kDLFloat8_e8m0fnu ? 0 : format_sign(format), magnitude = code & ~sign;
    const uint64_t quiet = UINT64_C(1) << 51;
    nearest_number number;

    if (format->nan == sign && sign != 0 && code == sign) /* where -0 would be */
        return (nearest_number){NEAREST_NAN, false, 0, quiet};
    if (magnitude <= format->largest) {
        number = format_magnitude(format, magnitude);
        number.negative = magnitude != code;
        return number;
    }
    if (format->infinite != 0 && magnitude == format->infinite)
        return (nearest_number){NEAREST_INFINITE, magnitude != code, 0, 0};
    uint64_t payload = format->infinite != 0 ? (magnitude - format->infinite) << (52 - format->fraction) : quiet;
    return (nearest_number){NEAREST_NAN, magnitude != code, 0, payload};
}

nearest_number nearest_value(DLDataType dtype, uint64_t code)
{
    const nearest_format *format = nearest_format_of(dtype);

    if (format != NULL)
        return format_value(format, code);
    if (dtype.code == kDLBool)
        return (nearest_number){NEAREST_FINITE, false, 0, code != 0};
    bool negative = dtype.code == kDLInt && (code >> (dtype.bits - 1)) != 0;
    uint64_t past = dtype.bits < 64 ? UINT64_C(1) << dtype.bits : 0;
    return (nearest_number){NEAREST_FINITE, negative, 0, negative ? past - code : code};
}

nearest_number nearest_middle(DLDataType dtype, uint64_t code)
{
    const nearest_format *format = nearest_format_of(dtype);
    nearest_number low = format_magnitude(format, code), high = format_magnitude(format, code + 1);

    low.significand += high.significand << (high.exponent - low.exponent);
    low.exponent--;
    return low;
}

nearest_number nearest_of_double(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return nearest_value(DLPARK_F64, bits);
}

/* ---- To codes ---- */

int nearest_compare(const nearest_number *a, const nearest_number *b)
{
    if (a->significand == 0 || b->significand == 0)
        return (a->significand != 0) - (b->significand != 0);
    int zeros[] = {__builtin_clzll(a->significand), __builtin_clzll(b->significand)};
    int tops[] = {a->exponent - zeros[0], b->exponent - zeros[1]};
    uint64_t left = a->significand << zeros[0], right = b->significand << zeros[1];
    if (tops[0] != tops[1])
        return tops[0] < tops[1] ? -1 : 1;
    return (left > right) - (left < right);
}

/* The last code of those up to `last` that means no more than a number does; the first means no more. */
static uint64_t format_floor(const nearest_format *format, const nearest_number *number, uint64_t last)
{
    uint64_t low = 0, high = last + 1;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        nearest_number value = format_magnitude(format, middle);
        if (nearest_compare(&value, number) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The magnitude of a finite number; more than the largest where that overflows. */
static uint64_t format_nearest(const nearest_format *format, const nearest_number *number, dlpark_scale_rounding scale,
                               bool *exact)
{
    DLDataType dtype = {format->code, format->bits, 1};
    bool is_scale = format->code == kDLFloat8_e8m0fnu;
    uint64_t code = format_floor(format, number, format->largest + 1);
    nearest_number value = format_magnitude(format, code), middle;

    *exact = nearest_compare(&value, number) == 0;
    if (*exact || code > format->largest || nearest_compare(number, &value) < 0)
        return code;
    if (is_scale && scale != DLPARK_SCALE_NEAREST)
        return code + (scale == DLPARK_SCALE_UP);
    middle = nearest_middle(dtype, code);
    int side = nearest_compare(number, &middle);
    if (side == 0) /* to the even one; between powers of two that is the upper */
        return is_scale ? code + 1 : code + (code & 1);
    return side < 0 ? code : code + 1;
}

static uint64_t format_nan(const nearest_format *format, const nearest_number *number)
{
    uint64_t sign = format_sign(format), kept = 0;

    if (format->nan == 0) /* zero of the other sign */
        return number->negative ? 0 : sign;
    if (format->bits >= 16)
        kept = number->significand >> (52 - format->fraction);
    return format->nan | kept | (number->negative ? sign : 0);
}

static uint64_t format_scale(const nearest_format *format, const nearest_number *number, dlpark_overflow overflow,
                             dlpark_scale_rounding scale, unsigned *events)
{
    bool exact, saturates = overflow != DLPARK_OVERFLOW_NOSAT;

    if (number->kind == NEAREST_NAN || (number->kind == NEAREST_INFINITE && overflow != DLPARK_OVERFLOW_SATALL))
        return format->nan;
    if (number->kind == NEAREST_INFINITE)
        return number->negative ? 0 : format->largest;
    uint64_t code = 0;
    bool positive = !number->negative && number->significand != 0;
    if (positive)
        code = format_nearest(format, number, scale, &exact);
    if (positive && code <= format->largest) {
        *events |= exact ? 0 : NEAREST_INEXACT;
        return code;
    }
    *events |= NEAREST_OVERFLOWED;
    return !saturates ? format->nan : positive ? format->largest : 0;
}

static uint64_t format_code(const nearest_format *format, const nearest_number *number, dlpark_overflow overflow,
                            dlpark_scale_rounding scale, unsigned *events)
{
    uint64_t sign = format_sign(format), none = format->nan != 0 ? format->nan : format->largest;
    uint64_t code = format->infinite != 0 ? format->infinite : none; /* what is beyond */
    bool exact;

    if (number->kind == NEAREST_NAN)
        *events |= NEAREST_WAS_NAN;
    if (format->code == kDLFloat8_e8m0fnu)
        return format_scale(format, number, overflow, scale, events);
    if (number->kind == NEAREST_NAN)
        return format->nan == sign ? sign : format_nan(format, number);
    if (number->kind == NEAREST_INFINITE) {
        if (overflow == DLPARK_OVERFLOW_SATALL)
            code = format->largest;
    } else {
        uint64_t found = format_nearest(format, number, scale, &exact);
        if (found > format->largest)
            *events |= NEAREST_OVERFLOWED;
        else
            *events |= exact ? 0 : NEAREST_INEXACT;
        if (found <= format->largest || overflow != DLPARK_OVERFLOW_NOSAT)
            code = found <= format->largest ? found : format->largest;
    }
    if (format->nan == sign && (code == 0 || code == sign)) /* no -0, and NaN without sign */
        return code;
    return code | (number->negative ? sign : 0);
}

/* The greatest integer of at most 64 bits that is no more than a finite magnitude; the greatest there is if beyond. */
static uint64_t integer_floor(const nearest_number *number)
{
    uint64_t low = 0;

    for (int bit = 63; bit >= 0; bit--) {
        nearest_number more = {NEAREST_FINITE, false, 0, low | UINT64_C(1) << bit};
        if (nearest_compare(&more, number) <= 0)
            low = more.significand;
    }
    return low;
}

static uint64_t integer_code(DLDataType dtype, const nearest_number *number, dlpark_overflow overflow, unsigned *events)
{
    uint64_t ones = UINT64_MAX >> (64 - dtype.bits);
    bool is_signed = dtype.code == kDLInt;
    uint64_t most = is_signed ? ones >> 1 : ones, least = is_signed ? most + 1 : 0;
    uint64_t limit = number->negative ? least : most;

    if (number->kind == NEAREST_NAN) {
        *events |= NEAREST_WAS_NAN;
        return 0;
    }
    uint64_t kept = number->kind == NEAREST_INFINITE ? UINT64_MAX : integer_floor(number);
    nearest_number whole = {NEAREST_FINITE, false, 0, kept}, past = {NEAREST_FINITE, false, 64, 1};
    if (number->kind == NEAREST_INFINITE || kept > limit || nearest_compare(number, &past) >= 0) {
        *events |= NEAREST_OVERFLOWED;
        if (overflow == DLPARK_OVERFLOW_SATURATE)
            kept = limit;
        else if (number->kind == NEAREST_INFINITE || number->exponent > 63)
            kept = 0;
        else if (number->exponent > 0)
            kept = number->significand << number->exponent; /* modulo 2^64 */
    } else if (nearest_compare(&whole, number) != 0) {
        *events |= NEAREST_INEXACT;
    }
    return (number->negative ? UINT64_C(0) - kept : kept) & ones;
}

uint64_t nearest_code(DLDataType dtype, const nearest_number *number, dlpark_overflow overflow,
                      dlpark_scale_rounding scale, unsigned *events)
{
    const nearest_format *format = nearest_format_of(dtype);

    if (format != NULL)
        return format_code(format, number, overflow, scale, events);
    if (dtype.code != kDLBool)
        return integer_code(dtype, number, overflow, events);
    *events |= number->kind == NEAREST_NAN ? NEAREST_WAS_NAN : 0;
    return number->kind != NEAREST_FINITE || number->significand != 0;
}

/* ---- float32 in order ---- */

/* The last of those of one kind; among them each code is that of one range. */
static uint32_t singles_end(uint32_t bits)
{
    static const uint32_t ends[] = {0x7F7FFFFF, 0x7F800000, 0x7FBFFFFF, 0x7FFFFFFF};
    uint32_t sign = bits & 0x80000000;
    int i = 0;

    while (ends[i] < bits - sign)
        i++;
    return ends[i] | sign;
}

static uint64_t singles_code(const nearest_singles *walk, uint32_t bits)
{
    nearest_number number = nearest_value(DLPARK_F32, bits);
    unsigned events = 0;

    return nearest_code(walk->dtype, &number, walk->overflow, walk->scale, &events);
}

uint64_t nearest_single(nearest_singles *walk, uint32_t bits)
{
    if (walk->begun && bits <= walk->until)
        return walk->code;
    uint32_t end = singles_end(bits), low = bits, step = 1;

    walk->begun = true;
    walk->code = singles_code(walk, bits);
    /* Further and further while the code is the same, then nearer and nearer to where it changes. */
    while (end - low >= step && singles_code(walk, low + step) == walk->code) {
        low += step;
        step = step < UINT32_C(1) << 30 ? step * 2 : step;
    }
    for (; step > 0; step /= 2)
        if (end - low >= step && singles_code(walk, low + step) == walk->code)
            low += step;
    walk->until = low;
    return walk->code;
}
