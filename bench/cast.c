/*
 * Casts between float32 and the 16-bit floats, in the nearest cache and beyond all of them, beside memcpy of as many bytes,
 * the loop that one would write, and the Rust crate half; float6 and float4 beside memcpy; and rows of 256 bytes that lie
 * apart beside the same cast of a compact source. python/cast_peers.py has the matrix of all pairs.
 */
#include <dlpark/dlpark.h>
#include <stdlib.h>
#include <string.h>

#include "cast_plain.h"
#include "harness.h"
#if defined(BENCH_RUST)
#include "peers/dlpark_rs.h"
#endif

#define CAST_LARGE      ((int64_t)64 << 20) /* bytes of the wider side */
#define CAST_SMALL      ((int64_t)16 << 10)
#define CAST_ROW_NBYTES 256
#define CAST_GAP_NBYTES 64

/* One cast: what it is between, and how the source lies. */
typedef struct cast_case {
    DLDataType to, from;
    int64_t count;
    int64_t row, step; /* elements of a row, and from one to the next; 0: compact */
    plain_pair pair;
} cast_case;

static unsigned char *source, *target;

static int64_t nbytes_of(DLDataType dtype, int64_t count)
{
    return (count * dtype.bits + 7) / 8;
}

static void make_views(const cast_case *c, dlpark_view *to, dlpark_view *from)
{
    int64_t shape[2] = {c->row ? c->count / c->row : 1, c->row ? c->row : c->count}, strides[2] = {c->step, 1};
    DLTensor tensor = {.data = target, .device = {kDLCPU, 0}, .ndim = 2, .dtype = c->to, .shape = shape};

    if (dlpark_check(&tensor, 0, to, NULL) || dlpark_view_allow_write(to, NULL))
        abort();
    tensor.data = source;
    tensor.dtype = c->from;
    tensor.strides = c->step ? strides : NULL;
    if (dlpark_check(&tensor, 0, from, NULL))
        abort();
}

static void run_memcpy(const void *input, long count)
{
    const cast_case *c = input;
    int64_t nbytes = (nbytes_of(c->to, c->count) + nbytes_of(c->from, c->count)) / 2;

    for (long i = 0; i < count; i++) {
        memcpy(target, source, (size_t)nbytes);
        harness_use(target);
    }
}

static void run_plain(const void *input, long count)
{
    const cast_case *c = input;

    for (long i = 0; i < count; i++) {
        if (!plain_cast(c->pair, target, source, c->count))
            abort();
        harness_use(target);
    }
}

static void run_dlpark(const void *input, long count)
{
    dlpark_view to, from;

    make_views(input, &to, &from);
    for (long i = 0; i < count; i++) {
        if (dlpark_cast(&to, &from, NULL, NULL))
            abort();
        harness_use(target);
    }
}

#if defined(BENCH_RUST)
static void run_half(const void *input, long count)
{
    const cast_case *c = input;

    peer_rs_run_half((int32_t)c->pair, target, source, (size_t)c->count, count);
}
#endif

/* ---- What is right ---- */

static double value_of(int64_t i)
{
    return (double)((i * 5 + i / 8) % 4); /* which every dtype here holds */
}

/* Elements of less than a byte are packed, the first in the lowest bits. */
static void put_code(DLDataType dtype, int64_t i, uint64_t code)
{
    if (dtype.bits >= 8) {
        memcpy(source + i * (dtype.bits / 8), &code, dtype.bits / 8);
        return;
    }
    for (int bit = 0; bit < dtype.bits; bit++) {
        int64_t at = i * dtype.bits + bit;
        unsigned char mask = (unsigned char)(1u << (at % 8));
        source[at / 8] = (unsigned char)((source[at / 8] & ~mask) | (code >> bit & 1 ? mask : 0));
    }
}

static void fill(const cast_case *c)
{
    int64_t room = c->row ? c->count / c->row * c->step : c->count;
    uint64_t codes[4];

    for (int i = 0; i < 4; i++)
        if (dlpark_code_encode(c->from, i, DLPARK_OVERFLOW_DEFAULT, &codes[i], NULL))
            abort();
    for (int64_t i = 0; i < room; i++)
        put_code(c->from, i, codes[(int)value_of(i)]);
    memset(target, 0xA5, (size_t)nbytes_of(c->to, c->count));
}

static double number(const dlpark_scalar *scalar)
{
    return scalar->kind == DLPARK_SCALAR_FLOAT ? scalar->re : (double)(int64_t)scalar->low;
}

/* Some elements of large ones, all of small ones. */
static bool is_right(const cast_case *c)
{
    dlpark_view to, from;
    int64_t row = c->row ? c->row : c->count, step = c->row ? c->step : 0;
    dlpark_scalar found;

    make_views(c, &to, &from);
    for (int64_t i = 0; i<c->count; i += c->count> CAST_SMALL ? 997 : 1) {
        if (dlpark_element_read(&to, (int64_t[2]){i / row, i % row}, 0, &found, NULL) ||
            number(&found) != value_of(i / row * step + i % row))
            return false;
    }
    return true;
}

#define DEFINE_VERIFY(run)                                                                                             \
    static bool verify_##run(const void *input)                                                                        \
    {                                                                                                                  \
        fill(input);                                                                                                   \
        run(input, 1);                                                                                                 \
        return is_right(input);                                                                                        \
    }
DEFINE_VERIFY(run_plain)
DEFINE_VERIFY(run_dlpark)
#if defined(BENCH_RUST)
DEFINE_VERIFY(run_half)
#endif

static bool verify_memcpy(const void *input)
{
    fill(input);
    run_memcpy(input, 1);
    return target[0] == source[0];
}

/* ---- The groups ---- */

#define NO_TARGETS                                                                                                     \
    {                                                                                                                  \
        {                                                                                                              \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }

/* Beside memcpy, the loop and half. The cache decides what is asked for: in it a loop is what one would write instead. */
static int run_pairs(int64_t nbytes, const harness_options *options, int *missed)
{
    const struct {
        const char *name;
        DLDataType to, from;
        plain_pair pair;
    } pairs[] = {{"f32 to f16", DLPARK_F16, DLPARK_F32, PLAIN_F32_F16},
                 {"f16 to f32", DLPARK_F32, DLPARK_F16, PLAIN_F16_F32},
                 {"f32 to bf16", DLPARK_BF16, DLPARK_F32, PLAIN_F32_BF16},
                 {"bf16 to f32", DLPARK_F32, DLPARK_BF16, PLAIN_BF16_F32}};
    const harness_target large = {"memcpy", 1.1}, small = {"plain loop", 1.0};
    int wrong = 0;

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s, %lld KiB", pairs[i].name, (long long)(nbytes >> 10));
        const cast_case c = {.to = pairs[i].to, .from = pairs[i].from, .count = nbytes / 4, .pair = pairs[i].pair};
        harness_group group = {
            "cast",
            name,
            -1,
            3,
            {{"memcpy", run_memcpy, verify_memcpy, &c, NO_TARGETS},
             {"plain loop", run_plain, verify_run_plain, &c, NO_TARGETS},
             {"dlpark_cast", run_dlpark, verify_run_dlpark, &c, {nbytes > CAST_SMALL ? large : small}}}};
#if defined(BENCH_RUST)
        group.cases[2].targets[1] = (harness_target){"Rust half", 1.0};
        group.cases[group.ncases++] = (harness_case){"Rust half", run_half, verify_run_half, &c, NO_TARGETS};
#endif
        wrong += harness_run(&group, options, missed);
    }
    return wrong;
}

/* Packed elements of less than a byte. */
static int run_narrow(int64_t nbytes, const harness_options *options, int *missed)
{
    const struct {
        const char *name;
        DLDataType to, from;
    } pairs[] = {
        {"f32 to f6_e2m3fn", DLPARK_F6_E2M3FN, DLPARK_F32},   {"f6_e2m3fn to f32", DLPARK_F32, DLPARK_F6_E2M3FN},
        {"f32 to f6_e3m2fn", DLPARK_F6_E3M2FN, DLPARK_F32},   {"f6_e3m2fn to f32", DLPARK_F32, DLPARK_F6_E3M2FN},
        {"f32 to f4_e2m1fn", DLPARK_F4_E2M1FN, DLPARK_F32},   {"f4_e2m1fn to f32", DLPARK_F32, DLPARK_F4_E2M1FN},
        {"bf16 to f4_e2m1fn", DLPARK_F4_E2M1FN, DLPARK_BF16}, {"f4_e2m1fn to bf16", DLPARK_BF16, DLPARK_F4_E2M1FN}};
    int wrong = 0;

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const cast_case c = {.to = pairs[i].to, .from = pairs[i].from, .count = nbytes / 4};
        harness_group group = {"cast",
                               pairs[i].name,
                               -1,
                               2,
                               {{"memcpy", run_memcpy, verify_memcpy, &c, NO_TARGETS},
                                {"dlpark_cast", run_dlpark, verify_run_dlpark, &c, {{"memcpy", 1.6}}}}};
        wrong += harness_run(&group, options, missed);
    }
    return wrong;
}

/* The destination is compact; behind each row of the source lies a line, or as many bytes again. */
static int run_rows(int64_t nbytes, const harness_options *options, int *missed)
{
    const struct {
        const char *name;
        DLDataType to, from;
    } pairs[] = {{"f32 to f16, rows of 256 bytes", DLPARK_F16, DLPARK_F32},
                 {"f32 to f8_e4m3fn, rows of 256 bytes", DLPARK_F8_E4M3FN, DLPARK_F32},
                 {"f64 to i64, rows of 256 bytes", DLPARK_I64, DLPARK_F64},
                 {"f16 to f32, rows of 256 bytes", DLPARK_F32, DLPARK_F16},
                 {"u8 to f32, rows of 256 bytes", DLPARK_F32, DLPARK_U8}};
    int wrong = 0;

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const int64_t row = CAST_ROW_NBYTES * 8 / pairs[i].from.bits;
        int widest = pairs[i].from.bits > pairs[i].to.bits ? pairs[i].from.bits : pairs[i].to.bits;
        const cast_case compact = {.to = pairs[i].to, .from = pairs[i].from, .count = nbytes * 8 / widest};
        cast_case padded = compact, apart = compact;
        padded.row = apart.row = row;
        padded.step = row + CAST_GAP_NBYTES * 8 / pairs[i].from.bits;
        apart.step = 2 * row;
        harness_group group = {"cast",
                               pairs[i].name,
                               -1,
                               3,
                               {{"compact", run_dlpark, verify_run_dlpark, &compact, NO_TARGETS},
                                {"64 bytes apart", run_dlpark, verify_run_dlpark, &padded, {{"compact", 1.4}}},
                                {"256 bytes apart", run_dlpark, verify_run_dlpark, &apart, {{"compact", 1.4}}}}};
        wrong += harness_run(&group, options, missed);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    harness_options options = harness_parse(argc, argv);
    const bool is_timed = !options.quick && !options.count;
    const int64_t large = is_timed ? CAST_LARGE : CAST_SMALL;
    int wrong = 0, missed = 0;

    source = aligned_alloc(4096, 2 * CAST_LARGE); /* rows that lie apart take as much again */
    target = aligned_alloc(4096, CAST_LARGE);
    if (source == NULL || target == NULL)
        return 1;
    harness_print_machine(&options);
    wrong += run_pairs(CAST_SMALL, &options, &missed);
    if (is_timed)
        wrong += run_pairs(CAST_LARGE, &options, &missed);
    wrong += run_narrow(large, &options, &missed);
    wrong += run_rows(large, &options, &missed);
    free(source);
    free(target);
    return harness_finish(&options, wrong, missed);
}
