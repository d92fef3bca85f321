/*
 * What dlpark_copy() promises: the checks and their messages, exhaustive small layouts, threads. That every layout is
 * copied right by every set of kernels is proved in copy_plan_test.c, overlap and packed elements beside their sources.
 */
#define _POSIX_C_SOURCE 200112L
#include "copy_oracle.h"

#include <pthread.h>

static unsigned char source[8192], target[8192], expected[8192];

/* A writable view of rank `ndim` whose element 0 lies in the middle of `base`. */
static dlpark_view view_of(unsigned char *base, DLDataType dtype, int32_t ndim, const int64_t *shape,
                           const int64_t *strides)
{
    dlpark_view view;
    DLTensor tensor = {base, {kDLCPU, 0}, ndim, dtype, (int64_t *)(uintptr_t)shape, (int64_t *)(uintptr_t)strides,
                       4096};

    assert_int_equal(dlpark_check(&tensor, 0, &view, NULL), DLPARK_OK);
    assert_int_equal(dlpark_view_allow_write(&view, NULL), DLPARK_OK);
    return view;
}

static void copy_publicly(const dlpark_view *to, const dlpark_view *from)
{
    assert_ok(dlpark_copy(to, from, e));
}

/* Whether no two elements of a layout coincide; by trying all pairs, on small layouts. */
static bool is_injective(int ndim, const int64_t *shape, const int64_t *strides)
{
    bool seen[512] = {false};
    int64_t index[4] = {0};

    for (;;) {
        int64_t at = 256;
        for (int i = 0; i < ndim; i++)
            at += index[i] * strides[i];
        if (seen[at])
            return false;
        seen[at] = true;
        int i = ndim - 1;
        for (; i >= 0; i--) {
            if (++index[i] < shape[i])
                break;
            index[i] = 0;
        }
        if (i < 0)
            return true;
    }
}

/* With the element as small as it gets, on memory of this file: there are 100,000 of them. */
static void check_small(int ndim, const int64_t *shape, const int64_t *to, const int64_t *from)
{
    oracle_case c = {.ndim = ndim, .element = 1};
    oracle_side to_side = {target, sizeof target, 4096}, from_side = {source, sizeof source, 4096};
    dlpark_view to_view = view_of(target, DLPARK_U8, ndim, shape, to);
    dlpark_view from_view = view_of(source, DLPARK_U8, ndim, shape, from);

    for (int i = 0; i < ndim; i++) {
        c.shape[i] = shape[i];
        c.to[i] = to[i];
        c.from[i] = from[i];
    }
    memset(target + 4000, 0xEE, 192);
    memset(expected + 4000, 0xEE, 192);
    oracle_copy(&c, expected, &to_side, &from_side);
    assert_ok(dlpark_copy(&to_view, &from_view, e));
    assert_memory_equal(target + 4000, expected + 4000, 192);
}

static void fill_source(void)
{
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (unsigned char)(i * 7 + i / 251);
}

static void every_layout_of_rank_2_is_copied_right(void **state)
{
    (void)state;
    fill_source();
    for (int code = 0; code < 16; code++) {
        int64_t shape[] = {code & 3, code >> 2};
        for (int at = 0; at < 9 * 9 * 9 * 9; at++) {
            int64_t to[] = {at % 9 - 4, at / 9 % 9 - 4}, from[] = {at / 81 % 9 - 4, at / 729 - 4};
            bool zero = (shape[0] > 1 && to[0] == 0) || (shape[1] > 1 && to[1] == 0);
            if (shape[0] != 0 && shape[1] != 0 && (zero || !is_injective(2, shape, to)))
                continue;
            if (zero)
                continue; /* refused even without elements: see below */
            check_small(2, shape, to, from);
        }
    }
}

static void every_element_size_and_order(void **state)
{
    (void)state;
    static const int64_t layouts[][3] = {{15, 5, 1}, {1, 2, 6}, {-15, 5, -1}, {5, 10, 1}, {40, 12, 2}, {3, 1, -6}};
    for (size_t element = 1; element <= 40; element++)
        for (size_t i = 0; i < 6; i++)
            for (size_t j = 0; j < 6; j++) {
                oracle_case c = {.ndim = 3, .element = element, .shape = {2, 3, 5}};
                memcpy(c.to, layouts[i], sizeof layouts[i]);
                memcpy(c.from, layouts[j], sizeof layouts[j]);
                oracle_check(&c, copy_publicly, "element sizes");
            }
}

static void source_may_be_broadcast(void **state)
{
    (void)state;
    oracle_case c = {3, 4, {2, 3, 40}, {120, 40, 1}, {0, 1, 0}};
    oracle_check(&c, copy_publicly, "scalars");
    c = (oracle_case){2, 4, {30, 40}, {40, 1}, {0, 1}};
    oracle_check(&c, copy_publicly, "rows");
    c = (oracle_case){2, 1, {100, 3}, {3, 1}, {0, 1}};
    oracle_check(&c, copy_publicly, "pixels");
    c = (oracle_case){0, 4, {0}, {0}, {0}};
    oracle_check(&c, copy_publicly, "a scalar");
}

static void a_padded_packed_type_is_one_of_bytes(void **state)
{
    (void)state;
    fill_source();
    dlpark_view to = view_of(target, DLPARK_F6_E2M3FN, 1, (int64_t[]){5}, NULL);
    dlpark_view from = view_of(source, DLPARK_F6_E2M3FN, 1, (int64_t[]){5}, NULL);

    to.flags |= DLPARK_VIEW_PADDED;
    from.flags |= DLPARK_VIEW_PADDED;
    from.strides[0] = -1;
    assert_ok(dlpark_copy(&to, &from, e));
    for (int i = 0; i < 5; i++)
        assert_int_equal(target[4096 + i], source[4096 - i]); /* the upper bits as well */
    memset(target, 0xFF, sizeof target);
    from.flags &= ~DLPARK_VIEW_PADDED;
    from.strides[0] = 1;
    assert_ok(dlpark_copy(&to, &from, e)); /* packed ones have none: zero */
    for (int i = 0; i < 5; i++)
        assert_int_equal(target[4096 + i] >> 6, 0);
}

static void packed_elements_leave_their_neighbours(void **state)
{
    (void)state;
    fill_source();
    dlpark_view to = view_of(target, DLPARK_F6_E2M3FN, 1, (int64_t[]){5}, NULL);
    dlpark_view from = view_of(source, DLPARK_F6_E2M3FN, 1, (int64_t[]){5}, NULL);

    memset(target, 0xA5, sizeof target);
    assert_ok(dlpark_copy(&to, &from, e)); /* 30 bits: the last two of the fourth byte are a neighbour's */
    assert_memory_equal(target + 4096, source + 4096, 3);
    assert_int_equal(target[4099], (source[4099] & 0x3F) | (0xA5 & 0xC0));
    assert_int_equal(target[4100], 0xA5);
}

static void refusals_write_nothing(void **state)
{
    (void)state;
    dlpark_view to = view_of(target, DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);
    dlpark_view from = view_of(source, DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);
    dlpark_view other;

    memset(target, 0xEE, sizeof target);
    memset(expected, 0xEE, sizeof expected);
    other = view_of(source, DLPARK_I32, 2, (int64_t[]){2, 3}, NULL);
    assert_fails(DLPARK_E_DTYPE, "cannot copy i32 to f32", dlpark_copy(&to, &other, e));
    other = view_of(source, DLPARK_F32, 2, (int64_t[]){2, 4}, NULL);
    assert_fails(DLPARK_E_SHAPE, "shape[1] is 4 in the source and 3", dlpark_copy(&to, &other, e));
    other = view_of(source, DLPARK_F32, 1, (int64_t[]){6}, NULL);
    assert_fails(DLPARK_E_RANK, "shape [6] to shape [2, 3]", dlpark_copy(&to, &other, e));
    other = from;
    other.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_fails(DLPARK_E_DEVICE, "cuda:0", dlpark_copy(&to, &other, e));
    other = to;
    other.device = DLPARK_DEVICE(kDLMetal, 0);
    assert_fails(DLPARK_E_DEVICE, "metal:0", dlpark_copy(&other, &from, e));
    other = to;
    other.flags = DLPARK_VIEW_READ_ONLY;
    assert_fails(DLPARK_E_READ_ONLY, "read-only", dlpark_copy(&other, &from, e));
    other.flags = DLPARK_VIEW_UNKNOWN_WRITE;
    assert_fails(DLPARK_E_READ_ONLY, "allow_write", dlpark_copy(&other, &from, e));
    other = to;
    other.strides[0] = 0;
    assert_fails(DLPARK_E_STRIDES, "strides[0] of the destination is 0 with extent 2", dlpark_copy(&other, &from, e));
    other.shape[1] = 0; /* without elements a stride means nothing */
    dlpark_view none = from;
    none.shape[1] = 0;
    assert_ok(dlpark_copy(&other, &none, e));
    assert_fails(DLPARK_E_ARGUMENT, "threads is 0", dlpark_copy_threads(&to, &from, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "threads is -1", dlpark_copy_threads(&to, &from, -1, e));
    assert_memory_equal(target, expected, sizeof target);
}

static void views_that_meet_are_copied_as_by_memmove(void **state)
{
    (void)state;
    dlpark_view to = view_of(target, DLPARK_U8, 1, (int64_t[]){8}, NULL);
    dlpark_view from = to;

    fill_source();
    for (int shift = -9; shift <= 9; shift++) {
        memcpy(target, source, sizeof target);
        memcpy(expected, source, sizeof expected);
        memmove(expected + 4096, expected + 4096 + shift, 8);
        from.data = target + 4096 + shift;
        assert_ok(dlpark_copy(&to, &from, e));
        assert_memory_equal(target, expected, sizeof target);
    }
    memcpy(target, source, sizeof target);
    from.data = target + 4096 + 7; /* turned round in place */
    from.strides[0] = -1;
    assert_ok(dlpark_copy(&to, &from, e));
    for (int i = 0; i < 8; i++)
        assert_int_equal(target[4096 + i], source[4096 + 7 - i]);
}

static void the_same_view_is_left_as_it_is(void **state)
{
    (void)state;
    dlpark_view to = view_of(target, DLPARK_U8, 2, (int64_t[]){1, 8}, NULL);
    dlpark_view from = to;

    fill_source();
    memcpy(target, source, sizeof target);
    from.strides[0] = 77; /* means nothing */
    assert_ok(dlpark_copy(&to, &from, e));
    assert_memory_equal(target, source, sizeof target);
    from.strides[1] = -1; /* another order is another view */
    from.data = to.data;
    to.shape[1] = from.shape[1] = 2;
    assert_ok(dlpark_copy(&to, &from, e));
    assert_int_equal(target[4096], source[4096]);
    assert_int_equal(target[4097], source[4095]);
}

static void packed_views_of_one_place_differ_by_bit_and_packing(void **state)
{
    (void)state;
    fill_source();
    memcpy(target, source, sizeof target);
    dlpark_view to = view_of(target, DLPARK_F4_E2M1FN, 1, (int64_t[]){2}, NULL);
    dlpark_view from = to;

    assert_ok(dlpark_copy(&to, &from, e));
    assert_memory_equal(target, source, sizeof target);
    from.bit_offset = 4;
    assert_ok(dlpark_copy(&to, &from, e));
    assert_int_equal(target[4096], (source[4096] >> 4) | ((source[4097] & 15) << 4));
    memcpy(target, source, sizeof target);
    from = to;
    from.flags |= DLPARK_VIEW_PADDED;
    assert_ok(dlpark_copy(&to, &from, e));
    assert_int_equal(target[4096], (source[4096] & 15) | ((source[4097] & 15) << 4));
}

static void no_elements_is_nothing_to_do(void **state)
{
    (void)state;
    dlpark_view to = view_of(target, DLPARK_F32, 2, (int64_t[]){0, 3}, NULL);
    dlpark_view from = view_of(source, DLPARK_F32, 2, (int64_t[]){0, 3}, (int64_t[]){INT64_MIN, 7});

    assert_ok(dlpark_copy(&to, &from, e));
    to.strides[1] = 0; /* means nothing here */
    assert_ok(dlpark_copy(&to, &from, e));
}

/* ---- Threads ---- */

static int copy_threads = 1;

static void copy_by_threads(const dlpark_view *to, const dlpark_view *from)
{
    assert_ok(dlpark_copy_threads(to, from, copy_threads, e));
}

static const oracle_case large_cases[] = {
    {1, 4, {1 << 20}, {1}, {1}},                        /* one run */
    {1, 1, {5 << 20}, {1}, {-1}},                       /* a line */
    {2, 4, {1030, 1100}, {1100, 1}, {1, 1030}},         /* a transpose */
    {2, 1, {3, 1500000}, {1500000, 1}, {1, 3}},         /* channels */
    {3, 12, {3, 100000, 1}, {100000, 1, 1}, {1, 3, 1}}, /* fewer rows than threads */
    {2, 64, {257, 256}, {256, 1}, {1, 257}},            /* three parts, whoever asks for four */
    {4, 2, {32, 33, 34, 65}, {72930, 2210, 65, 1}, {1, 32, 1056, 35904}},
};

static void threads_make_the_same_copy(void **state)
{
    (void)state;
    for (copy_threads = 1; copy_threads <= 5; copy_threads++)
        for (size_t i = 0; i < sizeof large_cases / sizeof large_cases[0]; i++)
            oracle_check(&large_cases[i], copy_by_threads, "threads");
    copy_threads = 1000000;
    oracle_check(&large_cases[2], copy_by_threads, "more threads than there may be");
}

/* The linker gives the library this one: the system refuses every thread from the one with this number on. */
typedef void *thread_function(void *);
static int threads_given, threads_until = 1000;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, thread_function *run, void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, thread_function *run, void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, thread_function *run, void *argument)
{
    return threads_given++ < threads_until ? __real_pthread_create(thread, attributes, run, argument) : 11;
}

static void refused_threads_leave_nothing_undone(void **state)
{
    (void)state;
    copy_threads = 4;
    for (threads_until = 0; threads_until < 4; threads_until++) {
        threads_given = 0;
        oracle_check(&large_cases[2], copy_by_threads, "threads refused");
        assert_int_equal(threads_given, 3);
    }
    threads_until = 1000;
}

static void small_copies_start_no_thread(void **state)
{
    oracle_case c = {2, 4, {100, 200}, {200, 1}, {1, 100}};

    (void)state;
    copy_threads = 4;
    threads_given = 0;
    oracle_check(&c, copy_by_threads, "small");
    assert_int_equal(threads_given, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_of_rank_2_is_copied_right),
        cmocka_unit_test(every_element_size_and_order),
        cmocka_unit_test(source_may_be_broadcast),
        cmocka_unit_test(a_padded_packed_type_is_one_of_bytes),
        cmocka_unit_test(packed_elements_leave_their_neighbours),
        cmocka_unit_test(refusals_write_nothing),
        cmocka_unit_test(views_that_meet_are_copied_as_by_memmove),
        cmocka_unit_test(the_same_view_is_left_as_it_is),
        cmocka_unit_test(packed_views_of_one_place_differ_by_bit_and_packing),
        cmocka_unit_test(no_elements_is_nothing_to_do),
        cmocka_unit_test(threads_make_the_same_copy),
        cmocka_unit_test(refused_threads_leave_nothing_undone),
        cmocka_unit_test(small_copies_start_no_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
