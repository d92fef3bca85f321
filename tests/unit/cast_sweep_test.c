#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "casts.h"
#include "nearest.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Millions of numbers through every set of instructions, beside the oracle. Builds that are slow for other reasons look
 * at a part of them; `make nightly-exhaustive` at every float32. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SWEEP_PART 10
#elif defined(__OPTIMIZE__)
#define SWEEP_PART 1
#else
#define SWEEP_PART 40
#endif

static uint64_t sweep_random = 88172645463325252u;

static uint64_t next_random(void)
{
    sweep_random ^= sweep_random << 13;
    sweep_random ^= sweep_random >> 7;
    sweep_random ^= sweep_random << 17;
    return sweep_random;
}

/* ---- Probes, some thousand at a time ---- */

#define SWEEP_BATCH 8192

/* Probes of one dtype, on their way to another. */
typedef struct sweep_batch {
    DLDataType from;
    casts_way way;
    int64_t count;
    uint64_t total;
    uint64_t codes[SWEEP_BATCH];
    _Alignas(64) unsigned char source[SWEEP_BATCH * 8];
    uint64_t expected[SWEEP_BATCH];
} sweep_batch;

static void batch_check(const sweep_batch *batch, const char *set)
{
    static _Alignas(64) unsigned char out[SWEEP_BATCH * 8];
    const casts_way *way = &batch->way;

    assert_int_equal(casts_row(way, out, batch->from, batch->source, batch->count), DLPARK_OK);
    for (int64_t i = 0; i < batch->count; i++) {
        uint64_t code = casts_code(out, way->dtype, i);
        if (code != batch->expected[i])
            fail_msg("%s 0x%llX to %s, modes %d and %d, by %s: 0x%llX, expected 0x%llX",
                     dlpark_dtype_name(batch->from).text, (unsigned long long)batch->codes[i],
                     dlpark_dtype_name(way->dtype).text, (int)way->overflow, (int)way->scale, set,
                     (unsigned long long)code, (unsigned long long)batch->expected[i]);
    }
}

static unsigned batch_modes(DLDataType dtype)
{
    return !nearest_is_float(dtype) ? 2 : dtype.code == kDLFloat8_e8m0fnu ? 9 : 3;
}

static void batch_run(sweep_batch *batch, unsigned mode)
{
    const dlpark__kernels *set;
    unsigned events = 0;

    if (nearest_is_float(batch->way.dtype))
        batch->way.overflow = (dlpark_overflow)(DLPARK_OVERFLOW_NOSAT + mode % 3);
    else
        batch->way.overflow = mode == 0 ? DLPARK_OVERFLOW_SATURATE : DLPARK_OVERFLOW_WRAP;
    batch->way.scale = (dlpark_scale_rounding)(mode / 3);
    for (int64_t i = 0; i < batch->count; i++) {
        nearest_number number = nearest_value(batch->from, batch->codes[i]);
        batch->expected[i] = nearest_code(batch->way.dtype, &number, batch->way.overflow, batch->way.scale, &events);
    }
    for (size_t at = 0; (set = casts_next_set(&at)) != NULL;) {
        dlpark__kernels_use(set);
        batch_check(batch, set->name);
    }
    dlpark__kernels_use(NULL);
}

/* In all modes that the destination has, or where it has many boundaries, in one after the other. */
static void batch_flush(sweep_batch *batch)
{
    static unsigned turn;
    unsigned modes = batch_modes(batch->way.dtype);

    if (batch->count == 0)
        return;
    if (batch->way.dtype.bits > 8)
        batch_run(batch, turn++ % modes);
    else
        for (unsigned mode = 0; mode < modes; mode++)
            batch_run(batch, mode);
    batch->total += (uint64_t)batch->count;
    batch->count = 0;
}

static void batch_begin(sweep_batch *batch, DLDataType from, DLDataType to)
{
    batch_flush(batch);
    batch->from = from;
    batch->way = (casts_way){to, DLPARK_OVERFLOW_DEFAULT, DLPARK_SCALE_NEAREST};
}

static void batch_add(sweep_batch *batch, uint64_t code)
{
    uint32_t four = (uint32_t)code;

    batch->codes[batch->count] = code;
    if (batch->from.bits == 64)
        memcpy(batch->source + batch->count * 8, &code, 8);
    else
        memcpy(batch->source + batch->count * 4, &four, 4);
    if (++batch->count == SWEEP_BATCH)
        batch_flush(batch);
}

static sweep_batch *batch_new(void)
{
    sweep_batch *batch = calloc(1, sizeof *batch);

    assert_non_null(batch);
    return batch;
}

/* ---- float32 ---- */

typedef struct sweep_row {
    uint32_t bits[SWEEP_BATCH];
    uint16_t expected[SWEEP_BATCH];
    uint16_t out[SWEEP_BATCH];
} sweep_row;

static void row_check(sweep_row *row, const casts_way *way, nearest_singles *walk, int64_t count)
{
    unsigned char *bytes = (unsigned char *)row->expected;
    const dlpark__kernels *set;

    for (int64_t i = 0; i < count; i++) {
        uint64_t code = nearest_single(walk, row->bits[i]);
        if (way->dtype.bits == 16)
            row->expected[i] = (uint16_t)code;
        else
            bytes[i] = (unsigned char)code;
    }
    for (size_t at = 0; (set = casts_next_set(&at)) != NULL;) {
        dlpark__kernels_use(set);
        assert_int_equal(casts_row(way, row->out, DLPARK_F32, row->bits, count), DLPARK_OK);
        if (memcmp(row->out, row->expected, (size_t)count * (way->dtype.bits == 16 ? 2 : 1)) == 0)
            continue;
        for (int64_t i = 0; i < count; i++)
            if (casts_code(row->out, way->dtype, i) != casts_code(row->expected, way->dtype, i))
                fail_msg("f32 0x%X to %s, modes %d and %d, by %s: 0x%llX, expected 0x%llX", row->bits[i],
                         dlpark_dtype_name(way->dtype).text, (int)way->overflow, (int)way->scale, set->name,
                         (unsigned long long)casts_code(row->out, way->dtype, i),
                         (unsigned long long)casts_code(row->expected, way->dtype, i));
    }
    dlpark__kernels_use(NULL);
}

/* One float32 at random out of each stratum, all of them equally wide: ten million in all. */
static void test_singles_of_every_stratum(void **state)
{
    (void)state;
    const uint64_t stratum = 429 * SWEEP_PART, strata = (UINT64_C(1) << 32) / stratum;
    casts_way ways[CASTS_WAYS];
    nearest_singles walks[CASTS_WAYS];
    sweep_row *row = calloc(1, sizeof *row);

    assert_non_null(row);
    casts_narrowing(ways);
    for (int i = 0; i < CASTS_WAYS; i++)
        walks[i] = (nearest_singles){.dtype = ways[i].dtype, .overflow = ways[i].overflow, .scale = ways[i].scale};
    for (uint64_t first = 0; first < strata; first += SWEEP_BATCH) {
        int64_t count = strata - first < SWEEP_BATCH ? (int64_t)(strata - first) : SWEEP_BATCH;
        for (int64_t i = 0; i < count; i++)
            row->bits[i] = (uint32_t)((first + (uint64_t)i) * stratum + next_random() % stratum);
        for (int i = 0; i < CASTS_WAYS; i++)
            row_check(row, &ways[i], &walks[i], count);
    }
    free(row);
}

/* ---- float64, around what decides ---- */

/* A double, and those that are 1, 2, 4 ... of its last places away, either way. */
static void probe_double(sweep_batch *batch, double value, int farthest)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    for (uint64_t sign = 0; sign < 2; sign++) {
        uint64_t code = bits | sign << 63;
        batch_add(batch, code);
        for (int j = 0; j <= farthest; j++) {
            batch_add(batch, code + (UINT64_C(1) << j));
            if (bits >= UINT64_C(1) << j)
                batch_add(batch, code - (UINT64_C(1) << j));
        }
    }
}

static double number_as_double(nearest_number number)
{
    return ldexp((double)number.significand, number.exponent);
}

static void probe_float_boundary(sweep_batch *batch, DLDataType to, uint64_t code, int farthest)
{
    probe_double(batch, number_as_double(nearest_value(to, code)), 1);
    probe_double(batch, number_as_double(nearest_middle(to, code)), farthest);
}

#define SWEEP_FLOATS                                                                                                   \
    {                                                                                                                  \
        DLPARK_F16, DLPARK_BF16, DLPARK_F8_E3M4, DLPARK_F8_E4M3, DLPARK_F8_E4M3B11FNUZ, DLPARK_F8_E4M3FN,              \
            DLPARK_F8_E5M2, DLPARK_F8_E4M3FNUZ, DLPARK_F6_E2M3FN, DLPARK_F6_E3M2FN, DLPARK_F8_E5M2FNUZ,                \
            DLPARK_F8_E8M0FNU, DLPARK_F32, DLPARK_F4_E2M1FN, DLPARK_F64                                                \
    }
#define SWEEP_FLOAT_COUNT 15
#define SWEEP_INTEGERS                                                                                                 \
    {                                                                                                                  \
        DLPARK_I64, DLPARK_I32, DLPARK_I16, DLPARK_I8, DLPARK_I4, DLPARK_U64, DLPARK_U32, DLPARK_U16, DLPARK_U8,       \
            DLPARK_U4, DLPARK_DTYPE(kDLInt, 2, 1), DLPARK_DTYPE(kDLUInt, 2, 1), DLPARK_DTYPE(kDLInt, 1, 1),            \
            DLPARK_DTYPE(kDLUInt, 1, 1), DLPARK_BOOL                                                                   \
    }
#define SWEEP_INTEGER_COUNT 15

/* Every boundary of the floats of up to 16 bits; of float32 at random. Nine million probes. */
static void test_doubles_around_every_boundary(void **state)
{
    (void)state;
    const DLDataType floats[SWEEP_FLOAT_COUNT] = SWEEP_FLOATS;
    const uint64_t infinite = UINT64_C(0x7FF) << 52;
    sweep_batch *batch = batch_new();

    for (size_t i = 0; i < SWEEP_FLOAT_COUNT - 1; i++) { /* but float64 itself */
        DLDataType to = floats[i];
        uint64_t largest = nearest_largest(to), step = to.bits == 16 ? SWEEP_PART : 1;
        batch_begin(batch, DLPARK_F64, to);
        for (uint64_t code = 0; code <= largest && to.bits <= 16; code += step)
            probe_float_boundary(batch, to, code, 31);
        for (int n = 0; n < 20000 / SWEEP_PART && to.bits == 32; n++)
            probe_float_boundary(batch, to, next_random() % (largest + 1), 31);
        for (int n = 0; n < 9 * SWEEP_BATCH; n++) /* anything, with many and with few bits, in all modes */
            batch_add(batch, (n % 61 == 0 ? infinite : next_random()) & ~((UINT64_C(1) << n % 53) - 1));
        probe_double(batch, number_as_double(nearest_value(to, largest)), 51);
    }
    batch_flush(batch);
    assert_true(batch->total > 9000000u / SWEEP_PART);
    free(batch);
}

/* The integers are the boundaries: the ends of each dtype, powers of two, and any. */
static void test_doubles_around_integers(void **state)
{
    (void)state;
    const DLDataType integers[SWEEP_INTEGER_COUNT] = SWEEP_INTEGERS;
    sweep_batch *batch = batch_new();

    for (size_t i = 0; i < SWEEP_INTEGER_COUNT; i++) {
        batch_begin(batch, DLPARK_F64, integers[i]);
        for (int bit = 0; bit < 68; bit++) {
            probe_double(batch, ldexp(1, bit), 52);
            probe_double(batch, ldexp(1, bit) - 1, 52);
            probe_double(batch, ldexp(1, bit) + 0.5, 3);
            for (int n = 0; n < 160 / SWEEP_PART; n++)
                probe_double(batch, (double)(next_random() >> (63 - bit % 64)), 3);
        }
        for (int n = 0; n < 2 * SWEEP_BATCH; n++)
            batch_add(batch, next_random());
        probe_double(batch, 0, 51);
        probe_double(batch, INFINITY, 51); /* those above are NaN */
    }
    batch_flush(batch);
    assert_true(batch->total > 3000000u / SWEEP_PART);
    free(batch);
}

/* ---- Integers ---- */

/* What is 0, 1, 2, 4 ... from a magnitude, of either sign, as far as the dtype goes. */
static void probe_integer(sweep_batch *batch, uint64_t magnitude)
{
    uint64_t mask = UINT64_MAX >> (64 - batch->from.bits);

    for (int j = -1; j < batch->from.bits && (j < 0 || magnitude >> j != 0); j++) {
        uint64_t step = j < 0 ? 0 : UINT64_C(1) << j;
        batch_add(batch, (magnitude + step) & mask);
        batch_add(batch, (magnitude - step) & mask);
        batch_add(batch, (0 - magnitude - step) & mask);
        batch_add(batch, (0 - magnitude + step) & mask);
    }
}

/* The whole part of what is midway; 0 where that is beyond 64 bits. */
static uint64_t middle_floor(DLDataType to, uint64_t code)
{
    nearest_number middle = nearest_middle(to, code);

    if (middle.exponent <= 0)
        return middle.exponent > -64 ? middle.significand >> -middle.exponent : 0;
    return middle.exponent <= __builtin_clzll(middle.significand) ? middle.significand << middle.exponent : 0;
}

static void probe_integers_to_float(sweep_batch *batch, DLDataType to)
{
    uint64_t largest = nearest_largest(to);
    int fraction = to.bits == 64 ? 52 : 23, bias = to.bits == 64 ? 1023 : 127;
    /* Every boundary but those of halves below 1 in a chain of thousands, which are all the same here. */
    uint64_t step = to.bits < 16 ? 1 : (to.code == kDLFloat ? 5 : 1) * SWEEP_PART;

    for (uint64_t code = 0; code <= largest && to.bits <= 16; code += step)
        if (middle_floor(to, code) > 0 || code < 4)
            probe_integer(batch, middle_floor(to, code));
    for (int exponent = 0; exponent < 64 && to.bits > 16; exponent++)
        for (int n = 0; n < 100 / SWEEP_PART; n++)
            probe_integer(batch, middle_floor(to, (uint64_t)(bias + exponent) << fraction |
                                                      (next_random() & ((UINT64_C(1) << fraction) - 1))));
}

static void test_integers_around_every_boundary(void **state)
{
    (void)state;
    const DLDataType sources[] = {DLPARK_I64, DLPARK_U64, DLPARK_I32, DLPARK_U32};
    const DLDataType floats[SWEEP_FLOAT_COUNT] = SWEEP_FLOATS, integers[SWEEP_INTEGER_COUNT] = SWEEP_INTEGERS;
    sweep_batch *batch = batch_new();

    for (size_t s = 0; s < sizeof sources / sizeof sources[0]; s++) {
        for (size_t i = 0; i < SWEEP_FLOAT_COUNT; i++) {
            batch_begin(batch, sources[s], floats[i]);
            probe_integers_to_float(batch, floats[i]);
        }
        for (size_t i = 0; i < SWEEP_INTEGER_COUNT; i++) {
            if (dlpark_dtype_equal(integers[i], sources[s]))
                continue;
            batch_begin(batch, sources[s], integers[i]);
            for (int bit = 0; bit < 64; bit++) {
                probe_integer(batch, UINT64_C(1) << bit);
                probe_integer(batch, (UINT64_C(1) << bit) - 1);
                probe_integer(batch, next_random() >> bit);
            }
        }
    }
    batch_flush(batch);
    assert_true(batch->total > 9000000u / SWEEP_PART);
    free(batch);
}

/* ---- The floating-point unit ---- */

#if defined(__x86_64__) || (defined(__aarch64__) && defined(__GNUC__))
#if defined(__x86_64__)
/* What audio hosts and -ffast-math leave behind, each way to round, every exception trapped. */
static const uint64_t unit_modes[] = {0x9FC0, 0x1F80 | 0x2000, 0x1F80 | 0x4000, 0x1F80 | 0x6000, 0x0000};

static void unit_set(uint64_t mode)
{
    _mm_setcsr((unsigned)mode);
}

static uint64_t unit_get(void)
{
    return _mm_getcsr();
}
#else
/* FPCR: subnormal numbers flushed, NaN replaced, the other float16, each way to round; in the upper half FPSR. */
static const uint64_t unit_modes[] = {1 << 24 | 1 << 19,   1 << 25, 1 << 26, 1 << 22, 2 << 22, 3 << 22,
                                      UINT64_C(0x9F) << 32};

static void unit_set(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode & UINT32_MAX));
    __asm__ volatile("msr fpsr, %0" : : "r"(mode >> 32));
}

static uint64_t unit_get(void)
{
    uint64_t control, flags;

    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
    return flags << 32 | control;
}
#endif

/* Some thousand numbers of a dtype, with bits at random and exponents that matter to small floats. */
static void unit_fill(sweep_batch *batch, const casts_way *way)
{
    unsigned events = 0;

    batch->way = *way;
    for (batch->count = 0; batch->count < SWEEP_BATCH / 2;) {
        uint64_t code = next_random();
        if (batch->from.code == kDLFloat && batch->from.bits == 64 && code % 4 != 0)
            code = (code & UINT64_C(0x800FFFFFFFFFFFFF)) | (850 + (code >> 52) % 320) << 52;
        if (batch->from.bits < 64)
            code &= UINT32_MAX;
        nearest_number number = nearest_value(batch->from, code);
        batch->expected[batch->count] = nearest_code(way->dtype, &number, way->overflow, way->scale, &events);
        batch_add(batch, code);
    }
}

static void test_no_mode_of_the_processor_matters(void **state)
{
    (void)state;
    const DLDataType sources[] = {DLPARK_F64, DLPARK_F32, DLPARK_I64, DLPARK_U32};
    sweep_batch *batch = batch_new();
    static unsigned char out[SWEEP_BATCH * 8];
    const uint64_t before = unit_get();
    casts_way ways[CASTS_WAYS + 2];
    const dlpark__kernels *set;

    casts_narrowing(ways);
    ways[CASTS_WAYS] = (casts_way){DLPARK_F32, DLPARK_OVERFLOW_SATALL, DLPARK_SCALE_NEAREST};
    ways[CASTS_WAYS + 1] = (casts_way){DLPARK_I32, DLPARK_OVERFLOW_SATURATE, DLPARK_SCALE_NEAREST};
    for (int i = 0; i < 4 * (CASTS_WAYS + 2); i++) {
        const casts_way *way = &ways[i / 4];
        batch->from = sources[i % 4];
        if (dlpark_dtype_equal(batch->from, way->dtype))
            continue;
        unit_fill(batch, way);
        for (size_t at = 0; (set = casts_next_set(&at)) != NULL;) {
            const uint64_t mode = unit_modes[(size_t)(i + (int)at) % (sizeof unit_modes / sizeof unit_modes[0])];
            dlpark__kernels_use(set);
            unit_set(mode);
            dlpark_status status = casts_row(way, out, batch->from, batch->source, batch->count);
            uint64_t after = unit_get();
            unit_set(before);
            assert_int_equal(status, DLPARK_OK);
            assert_int_equal(after, mode); /* nor is one changed, nor a flag raised */
            batch_check(batch, set->name);
            for (int64_t n = 0; n < batch->count; n++)
                assert_int_equal(casts_code(out, way->dtype, n), batch->expected[n]);
        }
        dlpark__kernels_use(NULL);
    }
    free(batch);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_singles_of_every_stratum),
        cmocka_unit_test(test_doubles_around_every_boundary),
        cmocka_unit_test(test_doubles_around_integers),
        cmocka_unit_test(test_integers_around_every_boundary),
#if defined(__x86_64__) || (defined(__aarch64__) && defined(__GNUC__))
        cmocka_unit_test(test_no_mode_of_the_processor_matters),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
