#include "cast_pairs.h"

#include "elements/bits_parts.h"

/*
 * Every set of instructions against one element at a time: each pair of dtypes and each mode at lengths around those of
 * vectors, at each alignment, at small strides. What is exact is computed once for all sets.
 */

enum { TRIED_COUNT = 130, TRIED_GUARD = 64, TRIED_ROOM = TRIED_COUNT * 16 + 64 + 2 * TRIED_GUARD };

/* A pair in a mode: packed elements one after the other, and what they are to become. */
typedef struct chain_case {
    DLDataType to;
    DLDataType from;
    dlpark_overflow mode;
    unsigned char source[TRIED_COUNT * 16];
    unsigned char exact[TRIED_COUNT * 16];
} chain_case;

typedef void (*chain_check)(const chain_case *one, uint64_t *random);

static size_t chain_nbytes(DLDataType dtype, int64_t count)
{
    return ((size_t)count * dlpark_dtype_nbits(dtype) + 7) / 8;
}

static dlpark_view chain_view(unsigned char *data, DLDataType dtype, int64_t count)
{
    dlpark_view view;
    int64_t stride = 1;
    DLTensor tensor = {
        .data = data, .device = {kDLCPU, 0}, .ndim = 1, .dtype = dtype, .shape = &count, .strides = &stride};

    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    return view;
}

static void chain_each_set(const chain_case *one, chain_check check, uint64_t *random)
{
    const dlpark__kernels *set;

    for (size_t i = 0; (set = dlpark__kernels_list(i)) != NULL; i++) {
        if (set->cast == NULL && set->below != NULL) /* it casts as the one below */
            continue;
        dlpark__kernels_use(set);
        check(one, random);
    }
    dlpark__kernels_use(NULL);
}

static void chain_each_pair(chain_check check)
{
    const DLDataType dtypes[RUN_COUNT] = RUN_DTYPES;
    uint64_t random = 20240229;

    for (size_t i = 0; i < RUN_COUNT; i++) {
        run_memory memory = memory_new(chain_nbytes(dtypes[i], TRIED_COUNT) + 8);
        chain_case one = {.from = dtypes[i]};
        fill_source(&memory, dtypes[i], 4711 + i);
        memcpy(one.source, memory.bytes + RUN_GUARD, chain_nbytes(dtypes[i], TRIED_COUNT));
        free(memory.bytes);
        for (size_t j = 0; j < RUN_COUNT; j++) {
            dlpark_overflow modes[3];
            one.to = dtypes[j];
            for (int k = 0, n = i == j ? 0 : modes_of(dtypes[j], modes); k < n; k++) {
                dlpark_view from = chain_view(one.source, one.from, TRIED_COUNT);
                dlpark_view to = chain_view(one.exact, one.to, TRIED_COUNT);
                one.mode = modes[k];
                dlpark__cast_job job = job_of(&to, &from, one.mode, DLPARK_SCALE_NEAREST);
                dlpark__cast_exact(&job, &to, &from);
                chain_each_set(&one, check, &random);
            }
        }
    }
}

/* The first `count` elements, from memory of just their length that begins `from_at` behind an aligned address, to
 * `to_at` behind another, between guards. */
static void chain_run(const chain_case *one, int64_t count, size_t from_at, size_t to_at)
{
    static _Alignas(64) unsigned char made[TRIED_ROOM], expected[TRIED_ROOM];
    size_t nbytes = chain_nbytes(one->from, count), room = TRIED_GUARD * 2 + 64 + chain_nbytes(one->to, count);
    unsigned char *source = malloc(from_at + nbytes);

    assert_non_null(source);
    memcpy(source + from_at, one->source, nbytes);
    memset(made, 0xA5, room);
    memset(expected, 0xA5, room);
    dlpark__bits_move(expected + TRIED_GUARD + to_at, 0, one->exact, 0, count * dlpark_dtype_nbits(one->to));
    dlpark_view from = chain_view(source + from_at, one->from, count);
    dlpark_view to = chain_view(made + TRIED_GUARD + to_at, one->to, count);
    dlpark__cast_job job = job_of(&to, &from, one->mode, DLPARK_SCALE_NEAREST);
    if (count > 0)
        run_chain(&job, &to, &from);
    else
        assert_ok(dlpark_cast(&to, &from, &(dlpark_cast_options){.real_part = true}, e));
    if (memcmp(made, expected, room) != 0)
        fail_msg("%s: %s to %s, mode %d, %d elements at %d and %d", dlpark__kernels_get()->name,
                 dlpark_dtype_name(one->from).text, dlpark_dtype_name(one->to).text, (int)one->mode, (int)count,
                 (int)from_at, (int)to_at);
    free(source);
}

static void chain_check_lengths(const chain_case *one, uint64_t *random)
{
    for (int64_t count = 0; count <= TRIED_COUNT; count++) {
        uint64_t word = next_random(random);
        chain_run(one, count, word % 64, word / 64 % 64);
    }
}

static void test_every_length(void **state)
{
    (void)state;
    chain_each_pair(chain_check_lengths);
}

static void chain_check_alignments(const chain_case *one, uint64_t *random)
{
    static const int64_t counts[] = {31, 64, TRIED_COUNT};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        size_t other = next_random(random) % 64;
        for (size_t at = 0; at < 64; at++)
            chain_run(one, counts[i], at, at ^ other);
    }
}

static void test_every_alignment(void **state)
{
    (void)state;
    chain_each_pair(chain_check_alignments);
}

/* ---- Strides ---- */

enum { STRIDES_COUNT = 65 }; /* 64 steps end on a byte, whatever the element */

static run_memory strides_memory(DLDataType dtype, int64_t stride)
{
    return memory_new(chain_nbytes(dtype, (STRIDES_COUNT - 1) * (int64_t)llabs(stride) + 1));
}

static void strides_check(const chain_case *one, int64_t from_stride, int64_t to_stride)
{
    run_memory source = strides_memory(one->from, from_stride), exact = strides_memory(one->to, to_stride);
    const dlpark__kernels *set;

    fill_source(&source, one->from, 31);
    dlpark_view from = view_of(&source, one->from, STRIDES_COUNT, from_stride, false);
    dlpark_view other = view_of(&exact, one->to, STRIDES_COUNT, to_stride, false);
    dlpark__cast_job job = job_of(&other, &from, one->mode, DLPARK_SCALE_NEAREST);
    dlpark__cast_exact(&job, &other, &from);
    for (size_t i = 0; (set = dlpark__kernels_list(i)) != NULL; i++) {
        run_memory chain = strides_memory(one->to, to_stride);
        dlpark_view to = view_of(&chain, one->to, STRIDES_COUNT, to_stride, false);
        dlpark__kernels_use(set);
        run_chain(&job, &to, &from);
        if (memcmp(chain.bytes, exact.bytes, exact.nbytes + 2 * RUN_GUARD) != 0)
            fail_msg("%s: %s to %s, mode %d, strides %d and %d", set->name, dlpark_dtype_name(one->from).text,
                     dlpark_dtype_name(one->to).text, (int)one->mode, (int)from_stride, (int)to_stride);
        free(chain.bytes);
    }
    dlpark__kernels_use(NULL);
    free(source.bytes);
    free(exact.bytes);
}

static void test_small_strides(void **state)
{
    (void)state;
    const DLDataType dtypes[RUN_COUNT] = RUN_DTYPES;

    for (size_t i = 0; i < RUN_COUNT; i++) {
        for (size_t j = 0; j < RUN_COUNT; j++) {
            chain_case one = {.to = dtypes[j], .from = dtypes[i]};
            dlpark_overflow modes[3];
            for (int k = 0, n = i == j ? 0 : modes_of(dtypes[j], modes); k < n; k++) {
                one.mode = modes[k];
                for (int64_t from_stride = -3; from_stride <= 3; from_stride++)
                    for (int64_t to_stride = -3; to_stride <= 3; to_stride++)
                        if (to_stride != 0) /* elements of a destination do not share memory */
                            strides_check(&one, from_stride, to_stride);
            }
        }
    }
}

/* ---- So much that it is written past the caches ---- */

enum { LARGE_COUNT = (2 << 20) + 77, LARGE_PIECE = 1000 };

/* At once, and in pieces that are not. */
static void large_check(DLDataType from_dtype, DLDataType to_dtype, size_t to_at)
{
    size_t from_nbytes = from_dtype.bits / 8, to_nbytes = to_dtype.bits / 8;
    unsigned char *source = malloc(LARGE_COUNT * from_nbytes), *made = malloc(LARGE_COUNT * to_nbytes + 64);
    unsigned char *expected = malloc(LARGE_PIECE * to_nbytes);
    uint64_t random = 5;

    assert_true(source != NULL && made != NULL && expected != NULL);
    for (size_t i = 0; i + 8 <= LARGE_COUNT * from_nbytes; i += 8) {
        uint64_t word = next_random(&random);
        memcpy(source + i, &word, 8);
    }
    memset(made, 0xA5, LARGE_COUNT * to_nbytes + 64); /* what was never written is not written past the caches */
    dlpark_view from = chain_view(source, from_dtype, LARGE_COUNT),
                to = chain_view(made + to_at, to_dtype, LARGE_COUNT);
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    for (size_t i = 0; i < LARGE_COUNT; i += LARGE_PIECE) {
        int64_t count = LARGE_COUNT - i < LARGE_PIECE ? (int64_t)(LARGE_COUNT - i) : LARGE_PIECE;
        from = chain_view(source + i * from_nbytes, from_dtype, count);
        to = chain_view(expected, to_dtype, count);
        assert_ok(dlpark_cast(&to, &from, NULL, e));
        assert_memory_equal(expected, made + to_at + i * to_nbytes, (size_t)count * to_nbytes);
    }
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(made[i < to_at ? i : LARGE_COUNT * to_nbytes + i], 0xA5);
    free(source);
    free(made);
    free(expected);
}

static void test_large(void **state)
{
    (void)state;
    large_check(DLPARK_F32, DLPARK_F64, 0);
    large_check(DLPARK_I16, DLPARK_I64, 8);
    large_check(DLPARK_F16, DLPARK_F64, 24); /* two steps */
    large_check(DLPARK_F8_E4M3FN, DLPARK_F64, 3);
    large_check(DLPARK_I64, DLPARK_U64, 1); /* moved */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_every_alignment),
        cmocka_unit_test(test_small_strides),
        cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
