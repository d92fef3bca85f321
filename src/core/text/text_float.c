#include <string.h>

#include "text_parts.h"

/*
 * Digits by exact integer arithmetic (Steele and White; Burger and Dybvig). A value and the half distance to its
 * neighbours are held as integers over one denominator; each digit is what the division leaves after a multiplication
 * by 10, until the rest is so small, or so close to 1, that the digits so far belong to this value alone.
 */

/* ---- Integers of any size ---- */

/* Enough for binary128: 2^16496, the denominator of its smallest value, with room for a factor of 40. */
#define FLOAT_WORDS 518

typedef struct float_big {
    int32_t count; /* words in use; the highest is not 0 */
    uint32_t words[FLOAT_WORDS];
} float_big;

/* Not 0. */
static void float_big_set(float_big *big, uint64_t high, uint64_t low)
{
    big->count = 4;
    big->words[0] = (uint32_t)low;
    big->words[1] = (uint32_t)(low >> 32);
    big->words[2] = (uint32_t)high;
    big->words[3] = (uint32_t)(high >> 32);
    while (big->words[big->count - 1] == 0)
        big->count--;
}

/* big *= factor */
static void float_big_multiply(float_big *big, uint32_t factor)
{
    uint64_t carry = 0;

    for (int32_t i = 0; i < big->count; i++) {
        carry += (uint64_t)big->words[i] * factor;
        big->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0)
        big->words[big->count++] = (uint32_t)carry;
}

static void float_big_shift(float_big *big, int32_t bits)
{
    int32_t words = bits / 32;

    if (words > 0) {
        memmove(big->words + words, big->words, (size_t)big->count * sizeof big->words[0]);
        memset(big->words, 0, (size_t)words * sizeof big->words[0]);
        big->count += words;
    }
    if (bits % 32 != 0)
        float_big_multiply(big, UINT32_C(1) << bits % 32);
}

static void float_big_scale(float_big *big, int32_t power_of_10)
{
    for (; power_of_10 >= 9; power_of_10 -= 9)
        float_big_multiply(big, UINT32_C(1000000000));
    for (; power_of_10 > 0; power_of_10--)
        float_big_multiply(big, 10);
}

/* Below 0, 0 or above 0. */
static int float_big_compare(const float_big *a, const float_big *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int32_t i = a->count - 1; i >= 0; i--)
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

/* a += b */
static void float_big_add(float_big *a, const float_big *b)
{
    uint64_t carry = 0;

    for (int32_t i = 0; i < b->count || carry != 0; i++) {
        if (i >= a->count)
            a->words[a->count++] = 0;
        carry += (uint64_t)a->words[i] + (i < b->count ? b->words[i] : 0);
        a->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* a -= b, which is not larger. */
static void float_big_subtract(float_big *a, const float_big *b)
{
    uint32_t borrow = 0;

    for (int32_t i = 0; i < a->count; i++) {
        uint64_t taken = (uint64_t)(i < b->count ? b->words[i] : 0) + borrow;
        borrow = a->words[i] < taken;
        a->words[i] = (uint32_t)(a->words[i] - taken);
    }
    while (a->count > 0 && a->words[a->count - 1] == 0)
        a->count--;
}

static void float_big_copy(float_big *to, const float_big *from)
{
    to->count = from->count;
    memcpy(to->words, from->words, (size_t)from->count * sizeof from->words[0]);
}

/* ---- Taking apart ---- */

#define FLOAT_FRACTION ((UINT64_C(1) << 52) - 1)
#define FLOAT_INFINITE (UINT64_C(0x7FF) << 52)

static uint64_t float_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint64_t dlpark__double_magnitude(double value)
{
    return float_bits(value) & (UINT64_MAX >> 1);
}

/* A finite magnitude as an integer times 2^exponent. */
static uint64_t float_significand(uint64_t magnitude, int32_t *exponent)
{
    int32_t biased = (int32_t)(magnitude >> 52);

    *exponent = (biased == 0 ? 1 : biased) - 1075;
    return (magnitude & FLOAT_FRACTION) | (uint64_t)(biased != 0) << 52;
}

static int32_t float_width(uint64_t value)
{
    return value == 0 ? 0 : 64 - __builtin_clzll(value);
}

static void float_read_quad(const dlpark_scalar *scalar, dlpark__grid grid, dlpark__binary *out)
{
    int32_t biased = (int32_t)(scalar->high >> 48 & 0x7FFF);
    uint64_t fraction = scalar->high & 0xFFFFFFFFFFFF;

    out->is_negative = scalar->high >> 63 != 0;
    out->is_finite = biased != 0x7FFF;
    out->is_nan = !out->is_finite && (fraction != 0 || scalar->low != 0);
    out->exponent = (biased == 0 ? 0 : biased - 1) + grid.lowest;
    out->high = fraction | (uint64_t)(biased != 0) << 48;
    out->low = scalar->low;
    out->is_lower_closer = biased > 1 && fraction == 0 && scalar->low == 0;
}

void dlpark__binary_read(const dlpark_scalar *scalar, bool is_imaginary, dlpark__grid grid, dlpark__binary *out)
{
    double value = is_imaginary ? scalar->im : scalar->re;
    uint64_t magnitude = dlpark__double_magnitude(value);

    if (grid.precision == 113) {
        float_read_quad(scalar, grid, out);
        return;
    }
    out->is_negative = float_bits(value) != magnitude;
    out->is_finite = magnitude < FLOAT_INFINITE;
    out->is_nan = magnitude > FLOAT_INFINITE;
    out->high = 0;
    out->low = float_significand(magnitude, &out->exponent);
    /* From the grid of doubles to the value's own, on which it lies. */
    int32_t exponent = out->exponent + float_width(out->low) - grid.precision;
    if (exponent < grid.lowest)
        exponent = grid.lowest;
    if (out->low != 0 && exponent > out->exponent) {
        out->low >>= exponent - out->exponent;
        out->exponent = exponent;
    }
    out->is_lower_closer = out->low == UINT64_C(1) << (grid.precision - 1) && out->exponent > grid.lowest;
}

bool dlpark__double_exceeds_1000(uint64_t large, uint64_t small, int precision)
{
    float_big left, right, half;
    int32_t large_exponent, small_exponent;
    uint64_t large_significand = float_significand(large, &large_exponent);
    uint64_t small_significand = float_significand(small, &small_exponent);
    int32_t digits = precision > 10 ? precision - 9 : 0; /* 2^-digits is half a unit of 1000, whose last bit is 0 */

    float_big_set(&left, 0, large_significand);
    float_big_shift(&left, large_exponent - small_exponent + digits);
    float_big_set(&right, 0, small_significand);
    float_big_copy(&half, &right);
    float_big_multiply(&right, 1000);
    float_big_shift(&right, digits);
    if (digits > 0)
        float_big_add(&right, &half);
    return float_big_compare(&left, &right) > 0;
}

/* ---- Digits ---- */

/* A value and its distances as integers: each over `scale`, times 10^power. */
typedef struct float_state {
    float_big value;
    float_big scale;
    float_big below; /* half the distance to the next value below */
    float_big sum;
    bool is_lower_closer; /* the distance above is twice that below */
    bool is_even;         /* the decimal in the middle of two neighbours is read as this one */
} float_state;

static void float_start(float_state *state, const dlpark__binary *value)
{
    int32_t doubled = value->is_lower_closer ? 2 : 1;
    int32_t up = value->exponent > 0 ? value->exponent : 0;
    int32_t down = value->exponent < 0 ? -value->exponent : 0;

    state->is_lower_closer = value->is_lower_closer;
    state->is_even = (value->low & 1) == 0;
    float_big_set(&state->value, value->high, value->low);
    float_big_shift(&state->value, up + doubled);
    float_big_set(&state->scale, 0, 1);
    float_big_shift(&state->scale, down + doubled);
    float_big_set(&state->below, 0, 1);
    float_big_shift(&state->below, up);
}

/* The power k with 10^(k-1) <= value < 10^k, or one less. */
static int32_t float_guess_power(const dlpark__binary *value)
{
    int32_t width = value->high != 0 ? 64 + float_width(value->high) : float_width(value->low);
    int64_t log2 = (int64_t)width - 1 + value->exponent;

    /* log10(2) rounded so that the product is not too large; the error is below 1e-7 at either end of binary128. */
    if (log2 >= 0)
        return (int32_t)(log2 * INT64_C(30102999566) / INT64_C(100000000000)) + 1;
    return -(int32_t)(-log2 * INT64_C(30102999567) / INT64_C(100000000000));
}

static void float_times_10(float_state *state)
{
    float_big_multiply(&state->value, 10);
    float_big_multiply(&state->below, 10);
}

/* Makes the value's integer part the first digit. Returns the power of 10 that it counts. */
static int32_t float_align(float_state *state, int32_t power)
{
    if (power > 0) {
        float_big_scale(&state->scale, power);
    } else {
        float_big_scale(&state->value, -power);
        float_big_scale(&state->below, -power);
    }
    if (float_big_compare(&state->value, &state->scale) >= 0)
        return power;
    float_times_10(state);
    return power - 1;
}

static unsigned float_digit(float_state *state)
{
    unsigned next = 0;

    for (; float_big_compare(&state->value, &state->scale) >= 0; next++)
        float_big_subtract(&state->value, &state->scale);
    return next;
}

/* Whether the digits so far, cut here, are nearer to this value than to any other. */
static bool float_reaches_down(const float_state *state)
{
    int order = float_big_compare(&state->value, &state->below);

    return state->is_even ? order <= 0 : order < 0;
}

/* The same for the digits so far with the last one larger by 1. */
static bool float_reaches_up(float_state *state)
{
    float_big_copy(&state->sum, &state->value);
    float_big_add(&state->sum, &state->below);
    if (state->is_lower_closer)
        float_big_add(&state->sum, &state->below);
    int order = float_big_compare(&state->sum, &state->scale);
    return state->is_even ? order >= 0 : order > 0;
}

static bool float_rounds_up(float_state *state, unsigned last, bool down, bool up)
{
    if (down != up)
        return up;
    float_big_multiply(&state->value, 2);
    int order = float_big_compare(&state->value, &state->scale);
    return order > 0 || (order == 0 && last % 2 != 0);
}

/* Adds 1 to the last digit; nines before it go. */
static void float_carry(dlpark__decimal *out)
{
    while (out->count > 0 && out->digits[out->count - 1] == '9')
        out->count--;
    if (out->count > 0) {
        out->digits[out->count - 1]++;
    } else {
        out->digits[out->count++] = '1';
        out->exponent++;
    }
}

static int32_t float_last_place(int32_t first, bool is_fraction, int32_t digits)
{
    return is_fraction ? -digits : first + 1 - digits;
}

void dlpark__decimal_find(const dlpark__binary *value, dlpark__cut cut, dlpark__decimal *out)
{
    float_state state;
    bool down, up;
    unsigned next;

    out->count = 0;
    out->exponent = 0;
    if (value->high == 0 && value->low == 0) {
        out->digits[out->count++] = '0';
        return;
    }
    float_start(&state, value);
    int32_t power = float_guess_power(value);
    if (cut.is_fraction && cut.most >= 0 && power <= -cut.most)
        power = 1 - cut.most; /* smaller than the last digit that is wanted: that one is 0, or rounded up to 1 */
    int32_t place = float_align(&state, power);
    int32_t end = place + 1 - DLPARK__DIGITS;
    if (cut.most >= 0 && float_last_place(place, cut.is_fraction, cut.most) > end)
        end = float_last_place(place, cut.is_fraction, cut.most);
    int32_t least = cut.least >= 0 ? float_last_place(place, cut.is_fraction, cut.least) : place;
    out->exponent = place;
    for (;; place--) {
        next = float_digit(&state);
        down = float_reaches_down(&state);
        up = float_reaches_up(&state);
        if (place == end || ((down || up) && place <= least))
            break;
        out->digits[out->count++] = (char)('0' + next);
        float_times_10(&state);
    }
    out->digits[out->count++] = (char)('0' + next);
    if (float_rounds_up(&state, next, down, up))
        float_carry(out);
}
