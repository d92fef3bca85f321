#include "cast_pairs.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Chains of steps against one element at a time, whose proofs are in float_encode_test.c and element_test.c. */

static void show_difference(const dlpark_view *to, const dlpark_view *other, const dlpark_view *from, int mode)
{
    for (int64_t i = 0; i < from->shape[0]; i++) {
        dlpark_scalar got, expected, source;
        dlpark_element_load(to, i * to->strides[0], 0, &got);
        dlpark_element_load(other, i * to->strides[0], 0, &expected);
        dlpark_element_load(from, i * from->strides[0], 0, &source);
        bool number = got.kind == DLPARK_SCALAR_FLOAT || got.kind == DLPARK_SCALAR_COMPLEX;
        if (number ? memcmp(&got.re, &expected.re, 8) != 0 : got.low != expected.low)
            fail_msg("%s to %s, mode %d, element %d: source %a or %lld; got %a or %lld; expected %a or %lld",
                     dlpark_dtype_name(from->dtype).text, dlpark_dtype_name(to->dtype).text, mode, (int)i, source.re,
                     (long long)source.low, got.re, (long long)got.low, expected.re, (long long)expected.low);
    }
    fail_msg("%s to %s, mode %d: another byte differs", dlpark_dtype_name(from->dtype).text,
             dlpark_dtype_name(to->dtype).text, mode);
}

/* Both ways into memory that is alike, the guards included. */
static void check_pair(const run_memory *source, const dlpark_view *from, DLDataType dtype, int64_t stride, bool padded)
{
    int64_t count = from->shape[0];
    uint32_t nbits = dlpark_dtype_nbits(dtype);
    size_t nbytes = (size_t)((llabs(stride) * (count - 1) + 1) * (padded ? (nbits + 7) / 8 * 8 : nbits) + 7) / 8;
    dlpark_overflow modes[3];

    (void)source;
    for (int i = 0, n = modes_of(dtype, modes); i < n; i++) {
        run_memory chain = memory_new(nbytes), exact = memory_new(nbytes);
        dlpark_view to = view_of(&chain, dtype, count, stride, padded);
        dlpark_view other = view_of(&exact, dtype, count, stride, padded);
        dlpark__cast_job job = job_of(&to, from, modes[i], DLPARK_SCALE_NEAREST);
        run_chain(&job, &to, from);
        dlpark__cast_exact(&job, &other, from);
        if (memcmp(chain.bytes, exact.bytes, nbytes + 2 * RUN_GUARD) != 0)
            show_difference(&to, &other, from, (int)modes[i]);
        free(chain.bytes);
        free(exact.bytes);
    }
}

static void test_every_pair_and_mode(void **state)
{
    (void)state;
    const DLDataType dtypes[RUN_COUNT] = RUN_DTYPES;

    for (size_t i = 0; i < RUN_COUNT; i++) {
        DLDataType dtype = dtypes[i];
        int64_t count = 2100; /* a table of all codes pays from 2048 on */
        run_memory source = memory_new((size_t)(count * dtype.bits + 7) / 8);
        fill_source(&source, dtype, 77 + i);
        dlpark_view from = view_of(&source, dtype, count, 1, false);
        for (size_t j = 0; j < RUN_COUNT; j++)
            if (i != j)
                check_pair(&source, &from, dtypes[j], 1, false);
        free(source.bytes);
    }
}

/* All codes of all formats that have so few. */
static void test_every_code(void **state)
{
    (void)state;
    const DLDataType dtypes[RUN_COUNT] = RUN_DTYPES;

    for (size_t i = 0; i < RUN_COUNT; i++) {
        if (dtypes[i].bits > 16)
            continue;
        int64_t count = INT64_C(1) << dtypes[i].bits;
        run_memory source = memory_new((size_t)count * 2);
        bool padded = dtypes[i].bits < 8;
        for (int64_t code = 0; code < count; code++) {
            uint16_t word = (uint16_t)code;
            memcpy(source.bytes + RUN_GUARD + code * (dtypes[i].bits == 16 ? 2 : 1), &word, 2);
        }
        dlpark_view from = view_of(&source, dtypes[i], count, 1, padded);
        for (size_t j = 0; j < RUN_COUNT; j++)
            if (i != j)
                check_pair(&source, &from, dtypes[j], 1, dtypes[j].bits < 8);
        free(source.bytes);
    }
}

static void check_layouts(DLDataType from_dtype, DLDataType to_dtype, int64_t count)
{
    static const int64_t strides[] = {1, -1, 2, 3, -8};

    for (size_t a = 0; a < 5; a++) {
        for (size_t b = 0; b < 5; b++) {
            bool padded = from_dtype.bits < 8 && (count % 2 != 0 || strides[a] < 0);
            bool to_padded = to_dtype.bits < 8 && strides[b] < 0;
            run_memory source = memory_new((size_t)(llabs(strides[a]) * count * from_dtype.bits / 8 + 8 * count));
            fill_source(&source, from_dtype, (uint64_t)(count + 5));
            dlpark_view from = view_of(&source, from_dtype, count, strides[a], padded);
            check_pair(&source, &from, to_dtype, strides[b], to_padded);
            free(source.bytes);
        }
    }
}

/* Gathered and scattered, tiles whole and in part. */
static void test_strides_and_lengths(void **state)
{
    (void)state;
    const DLDataType dtypes[] = {
        DLPARK_F64,       DLPARK_F32, DLPARK_BF16, DLPARK_F8_E4M3FN,           DLPARK_F6_E2M3FN,
        DLPARK_F4_E2M1FN, DLPARK_I64, DLPARK_I8,   DLPARK_DTYPE(kDLInt, 2, 1), DLPARK_C64};
    static const int64_t counts[] = {1, 2, 7, 64, 511, 512, 513, 1300};

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        for (size_t j = 0; j < sizeof dtypes / sizeof dtypes[0]; j++)
            for (size_t k = 0; i != j && k < sizeof counts / sizeof counts[0]; k++)
                check_layouts(dtypes[i], dtypes[j], counts[k]);
}

#if defined(__x86_64__)
/* What audio hosts and -ffast-math leave behind, and each way to round. */
static void test_no_mode_of_the_processor_matters(void **state)
{
    (void)state;
    const DLDataType dtypes[RUN_COUNT] = RUN_DTYPES;
    unsigned before = _mm_getcsr();
    static const unsigned modes[] = {0x9FC0, 0x1F80 | 0x2000, 0x1F80 | 0x4000, 0x1F80 | 0x6000, 0x0000};

    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        for (size_t i = 0; i < RUN_COUNT; i++) {
            run_memory source = memory_new((size_t)(600 * dtypes[i].bits + 7) / 8);
            fill_source(&source, dtypes[i], 7 + i);
            dlpark_view from = view_of(&source, dtypes[i], 600, 1, false);
            _mm_setcsr(modes[m]);
            for (size_t j = 0; j < RUN_COUNT; j++)
                if (i != j)
                    check_pair(&source, &from, dtypes[j], 1, false);
            unsigned after = _mm_getcsr();
            _mm_setcsr(before);
            assert_int_equal(after, modes[m]); /* nor is one changed, nor a flag raised */
            free(source.bytes);
        }
    }
}
#endif

static void test_scales_in_each_direction(void **state)
{
    (void)state;
    const DLDataType dtypes[] = {DLPARK_F32, DLPARK_F64, DLPARK_BF16, DLPARK_I64, DLPARK_U8};

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        run_memory source = memory_new(3000 * dtypes[i].bits / 8u);
        fill_source(&source, dtypes[i], 19);
        dlpark_view from = view_of(&source, dtypes[i], 3000, 1, false);
        for (int scale = 0; scale < 3; scale++) {
            run_memory chain = memory_new(3000), exact = memory_new(3000);
            dlpark_view to = view_of(&chain, DLPARK_F8_E8M0FNU, 3000, 1, false);
            dlpark_view other = view_of(&exact, DLPARK_F8_E8M0FNU, 3000, 1, false);
            dlpark__cast_job job = job_of(&to, &from, DLPARK_OVERFLOW_SATFINITE, (dlpark_scale_rounding)scale);
            run_chain(&job, &to, &from);
            dlpark__cast_exact(&job, &other, &from);
            assert_memory_equal(chain.bytes, exact.bytes, 3000 + 2 * RUN_GUARD);
            free(chain.bytes);
            free(exact.bytes);
        }
        free(source.bytes);
    }
}

/* Every set of vectors, and the plain one. */
static void test_each_set_of_instructions(void **state)
{
    const dlpark__kernels *set;

    for (size_t i = 0; (set = dlpark__kernels_list(i)) != NULL; i++) {
        if (set->cast == NULL && set->below != NULL) /* it casts as the one below */
            continue;
        dlpark__kernels_use(set);
        test_every_pair_and_mode(state);
        test_strides_and_lengths(state);
        test_scales_in_each_direction(state);
    }
    dlpark__kernels_use(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_set_of_instructions),
        cmocka_unit_test(test_every_code),
#if defined(__x86_64__)
        cmocka_unit_test(test_no_mode_of_the_processor_matters),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
