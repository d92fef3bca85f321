/*
 * That plans do what the oracle does, streamed or not, whole or in parts, by every set of kernels; and that the layouts
 * which are meant to be fast get the kernel that is.
 */
#define _DEFAULT_SOURCE
#include "copy_oracle.h"
#include "copy/copy_parts.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

static void run_plain(const dlpark_view *to, const dlpark_view *from)
{
    dlpark__copy_plan plan;

    dlpark__copy_plan_make(&plan, to, from);
    assert_false(plan.stream);
    dlpark__copy_run(&plan);
}

static void run_streamed_plan(const dlpark_view *to, const dlpark_view *from)
{
    dlpark__copy_plan plan;

    dlpark__copy_plan_make(&plan, to, from);
    plan.stream = true;
    dlpark__copy_run(&plan);
}

/* Cut into parts, run last to first. */
static void run_parts(const dlpark_view *to, const dlpark_view *from)
{
    dlpark__copy_plan plan, part;
    int count = (int)oracle_random(5) + 2;

    dlpark__copy_plan_make(&plan, to, from);
    plan.stream = oracle_random(2) == 0;
    for (int i = count - 1; i >= 0; i--)
        if (dlpark__copy_plan_cut(&plan, i, count, &part))
            dlpark__copy_run(&part);
}

static void random_layouts_by_every_set(void **state)
{
    (void)state;
    for (size_t at = 0; dlpark__kernels_list(at) != NULL; at++) {
        dlpark__kernels_use(dlpark__kernels_list(at));
        for (int i = 0; i < 200; i++) {
            oracle_case c = oracle_random_case(4000);
            oracle_check(&c, run_plain, dlpark__kernels_list(at)->name);
            oracle_check(&c, run_streamed_plan, dlpark__kernels_list(at)->name);
            oracle_check(&c, run_parts, dlpark__kernels_list(at)->name);
        }
    }
    dlpark__kernels_use(NULL);
}

static void transposing_around_the_edges_of_tiles(void **state)
{
    static const int64_t extents[] = {2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 65, 129};
    static const size_t elements[] = {1, 2, 3, 4, 8, 12, 16, 32};

    (void)state;
    for (size_t at = 0; dlpark__kernels_list(at) != NULL; at++) {
        dlpark__kernels_use(dlpark__kernels_list(at));
        for (size_t k = 0; k < 8; k++)
            for (size_t i = 0; i < 13; i++)
                for (size_t j = 0; j < 13; j++) {
                    int64_t nx = extents[i], ny = extents[j];
                    oracle_case c = {2, elements[k], {ny, nx}, {nx, 1}, {1, ny}};
                    oracle_check(&c, run_plain, dlpark__kernels_list(at)->name);
                    oracle_check(&c, run_streamed_plan, dlpark__kernels_list(at)->name);
                }
    }
    dlpark__kernels_use(NULL);
}

/* Layouts whose tiles go through a buffer when they are streamed: power of two distances, short rows on either side. */
static void streamed_tiles_of_every_kind(void **state)
{
    static const oracle_case cases[] = {
        {2, 1, {1024, 70}, {70, 1}, {1, 1024}},
        {2, 1, {1024, 128}, {128, 1}, {1, 1024}},
        {2, 4, {1024, 48}, {48, 1}, {1, 1024}},
        {4, 1, {16, 9, 32, 32}, {9216, 1024, 32, 1}, {1, 512, 16, 4608}},
        {4, 1, {16, 9, 32, 32}, {9216, 1024, 32, 1}, {1, 16, 144, 4608}},
        {4, 1, {200, 3, 32, 32}, {3072, 1024, 32, 1}, {1, 200, 19201, 600}},
        {4, 4, {8, 9, 16, 16}, {2304, 256, 16, 1}, {1, 8, 72, 1152}},
        {4, 4, {8, 9, 16, 8}, {1152, 128, 8, 1}, {1, 8, 72, 1152}},
        {4, 2, {32, 5, 3, 32}, {480, 96, 32, 1}, {1, 32, 160, 480}},
        {3, 8, {5, 200, 33}, {6600, 33, 1}, {6600, 1, 200}},
        {3, 16, {20, 3, 7}, {21, 7, 1}, {1, 20, 60}},
    };

    (void)state;
    for (size_t at = 0; dlpark__kernels_list(at) != NULL; at++) {
        dlpark__kernels_use(dlpark__kernels_list(at));
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            for (int times = 0; times < 6; times++) {
                oracle_check(&cases[i], run_plain, dlpark__kernels_list(at)->name);
                oracle_check(&cases[i], run_streamed_plan, dlpark__kernels_list(at)->name);
                oracle_check(&cases[i], run_parts, dlpark__kernels_list(at)->name);
            }
    }
    dlpark__kernels_use(NULL);
}

/* What a plan says, for a layout without gaps in the destination. */
static dlpark__copy_plan plan_of(size_t element, int ndim, const int64_t *shape, const int64_t *from)
{
    static unsigned char memory[1];
    oracle_case c = {.ndim = ndim, .element = element};
    dlpark_view to_view = {.dtype = DLPARK_DTYPE(kDLUInt, 8, (uint16_t)element), .ndim = ndim, .data = memory};
    dlpark_view from_view = to_view;
    dlpark__copy_plan plan;
    int64_t stride = 1;

    for (int i = ndim - 1; i >= 0; i--) {
        to_view.shape[i] = from_view.shape[i] = c.shape[i] = shape[i];
        to_view.strides[i] = stride;
        from_view.strides[i] = from[i];
        stride *= shape[i];
    }
    dlpark__copy_plan_make(&plan, &to_view, &from_view);
    return plan;
}

static void what_is_contiguous_is_one_run(void **state)
{
    (void)state;
    dlpark__copy_plan plan = plan_of(4, 3, (int64_t[]){5, 6, 7}, (int64_t[]){42, 7, 1});
    assert_int_equal(plan.kind, DLPARK__COPY_RUNS);
    assert_int_equal(plan.element, 4 * 5 * 6 * 7);
    assert_int_equal(plan.x.extent, 1);
    assert_int_equal(plan.ndim, 0);
    plan = plan_of(4, 3, (int64_t[]){5, 6, 70}, (int64_t[]){4200, 700, 1});
    assert_int_equal(plan.kind, DLPARK__COPY_RUNS);
    assert_int_equal(plan.element, 4 * 70);
    assert_int_equal(plan.x.extent, 30);
    plan = plan_of(4, 0, NULL, NULL);
    assert_int_equal(plan.kind, DLPARK__COPY_RUNS);
    assert_int_equal(plan.element, 4);
}

static void layouts_get_their_kernels(void **state)
{
    (void)state;
    assert_int_equal(plan_of(4, 2, (int64_t[]){64, 64}, (int64_t[]){1, 64}).kind, DLPARK__COPY_TRANSPOSE);
    assert_int_equal(plan_of(4, 2, (int64_t[]){64, 64}, (int64_t[]){-1, 64}).kind, DLPARK__COPY_TRANSPOSE);
    assert_int_equal(plan_of(1, 2, (int64_t[]){3, 640}, (int64_t[]){1, 3}).kind, DLPARK__COPY_SPLIT);
    assert_int_equal(plan_of(1, 2, (int64_t[]){640, 3}, (int64_t[]){1, 640}).kind, DLPARK__COPY_JOIN);
    assert_int_equal(plan_of(1, 2, (int64_t[]){640, 3}, (int64_t[]){4, 1}).kind, DLPARK__COPY_BLOCKS);
    assert_int_equal(plan_of(1, 2, (int64_t[]){640, 3}, (int64_t[]){3, -1}).kind, DLPARK__COPY_BLOCKS);
    assert_int_equal(plan_of(4, 2, (int64_t[]){640, 3}, (int64_t[]){4, 1}).kind, DLPARK__COPY_BLOCKS);
    assert_int_equal(plan_of(4, 1, (int64_t[]){640}, (int64_t[]){0}).kind, DLPARK__COPY_BLOCKS);
    assert_int_equal(plan_of(4, 1, (int64_t[]){640}, (int64_t[]){-1}).kind, DLPARK__COPY_REVERSE);
    assert_int_equal(plan_of(4, 1, (int64_t[]){640}, (int64_t[]){2}).kind, DLPARK__COPY_PICK);
    assert_int_equal(plan_of(4, 1, (int64_t[]){640}, (int64_t[]){16}).kind, DLPARK__COPY_STRIDED);
    assert_int_equal(plan_of(16, 1, (int64_t[]){640}, (int64_t[]){2}).kind, DLPARK__COPY_STRIDED);
    assert_int_equal(plan_of(4, 1, (int64_t[]){3}, (int64_t[]){-1}).kind, DLPARK__COPY_STRIDED);
    /* Pairs of bytes whose distance is odd. */
    assert_int_equal(plan_of(1, 2, (int64_t[]){640, 2}, (int64_t[]){3, 1}).kind, DLPARK__COPY_STRIDED);
    assert_int_equal(plan_of(1, 3, (int64_t[]){3, 640, 2}, (int64_t[]){2, 7, 1}).kind, DLPARK__COPY_STRIDED);
    /* Windows that slide over each other. */
    assert_int_equal(plan_of(1, 2, (int64_t[]){5, 640}, (int64_t[]){1, 3}).kind, DLPARK__COPY_STRIDED);
}

static void a_short_row_is_widened(void **state)
{
    (void)state;
    int64_t shape[] = {16, 16, 16, 16}, from[] = {1, 16, 256, 4096};
    dlpark__copy_plan plan = plan_of(1, 4, shape, from);

    assert_int_equal(plan.kind, DLPARK__COPY_TRANSPOSE);
    assert_int_equal(plan.x.from, 4096);
    assert_int_equal(plan.wide.to, 16);
    assert_int_equal(plan.wide.from, 256);
    assert_int_equal(plan.deep.from, 16);
    assert_int_equal(plan.ndim, 0);
}

static void parts_are_disjoint_and_make_the_whole(void **state)
{
    (void)state;
    dlpark__copy_plan plan = plan_of(4, 2, (int64_t[]){300, 200}, (int64_t[]){1, 300}), part;

    for (int count = 1; count <= 9; count++) {
        int64_t sum = 0;
        for (int i = 0; i < count; i++)
            if (dlpark__copy_plan_cut(&plan, i, count, &part)) {
                assert_ptr_equal(part.to, plan.to + sum * 200 * 4);
                sum += part.y.extent;
            }
        assert_int_equal(sum, 300);
    }
    plan = plan_of(1, 1, (int64_t[]){1000}, (int64_t[]){1});
    assert_true(dlpark__copy_plan_cut(&plan, 1, 2, &part));
    assert_int_equal(part.element, 1000 - 512);
    assert_ptr_equal(part.from, plan.from + 512);
}

/* Large memory is streamed to when it has been written before. Only descriptions: nothing is copied. */
static void what_is_large_and_not_fresh_is_streamed(void **state)
{
    const size_t nbytes = (size_t)16 << 20;
    void *memory = NULL;
    oracle_case c = {1, 1, {(int64_t)nbytes}, {1}, {1}};
    dlpark__copy_plan plan;

    (void)state;
    assert_int_equal(posix_memalign(&memory, 4096, nbytes), 0);
    oracle_side side = {memory, nbytes, 0};
    dlpark_view view = oracle_view(&c, &side, c.to);
    memset(memory, 1, nbytes);
    dlpark__copy_plan_make(&plan, &view, &view);
    assert_true(plan.stream);
    view.shape[0]--;
    dlpark__copy_plan_make(&plan, &view, &view);
    assert_false(plan.stream);
    free(memory);
#if defined(__linux__)
    void *fresh = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fresh != MAP_FAILED);
    view.data = fresh;
    view.shape[0]++;
    dlpark__copy_plan_make(&plan, &view, &view);
    assert_false(plan.stream);
    assert_int_equal(munmap(fresh, nbytes), 0);
    assert_false(dlpark__copy_is_fresh(fresh)); /* nothing is there to ask about */
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_layouts_by_every_set),   cmocka_unit_test(transposing_around_the_edges_of_tiles),
        cmocka_unit_test(streamed_tiles_of_every_kind),  cmocka_unit_test(what_is_large_and_not_fresh_is_streamed),
        cmocka_unit_test(what_is_contiguous_is_one_run), cmocka_unit_test(layouts_get_their_kernels),
        cmocka_unit_test(a_short_row_is_widened),        cmocka_unit_test(parts_are_disjoint_and_make_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
