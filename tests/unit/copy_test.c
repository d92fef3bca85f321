#include "test.h"

#include <stdbool.h>

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

/* Element by element, the way the doc comment says it. */
static void copy_slowly(int ndim, const int64_t *shape, const int64_t *to, const int64_t *from, size_t element)
{
    int64_t index[4] = {0};

    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0)
            return;
    for (;;) {
        int64_t to_at = 0, from_at = 0;
        for (int i = 0; i < ndim; i++) {
            to_at += index[i] * to[i];
            from_at += index[i] * from[i];
        }
        memcpy(expected + 4096 + to_at * (int64_t)element, source + 4096 + from_at * (int64_t)element, element);
        int i = ndim - 1;
        for (; i >= 0; i--) {
            if (++index[i] < shape[i])
                break;
            index[i] = 0;
        }
        if (i < 0)
            return;
    }
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

static void check_copy(DLDataType dtype, int ndim, const int64_t *shape, const int64_t *to, const int64_t *from)
{
    size_t element = dlpark_dtype_nbits(dtype) / 8;
    dlpark_view to_view = view_of(target, dtype, ndim, shape, to);
    dlpark_view from_view = view_of(source, dtype, ndim, shape, from);

    memset(target, 0xEE, sizeof target);
    memset(expected, 0xEE, sizeof expected);
    copy_slowly(ndim, shape, to, from, element);
    assert_ok(dlpark_copy(&to_view, &from_view, e));
    assert_memory_equal(target, expected, sizeof target);
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
            check_copy(DLPARK_U8, 2, shape, to, from);
        }
    }
}

static void every_element_size_and_order(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 3, 5};
    static const int64_t layouts[][3] = {{15, 5, 1}, {1, 2, 6}, {-15, 5, -1}, {5, 10, 1}, {40, 12, 2}, {3, 1, -6}};
    fill_source();
    for (uint16_t lanes = 1; lanes <= 32; lanes++)
        for (size_t i = 0; i < 6; i++)
            for (size_t j = 0; j < 6; j++)
                check_copy(DLPARK_DTYPE(kDLUInt, 8, lanes), 3, shape, layouts[i], layouts[j]);
}

static void source_may_be_broadcast(void **state)
{
    (void)state;
    fill_source();
    check_copy(DLPARK_F32, 3, (int64_t[]){2, 3, 4}, (int64_t[]){12, 4, 1}, (int64_t[]){0, 1, 0});
    check_copy(DLPARK_F32, 0, NULL, NULL, NULL);
}

static void compact_packed_types_are_copied_whole(void **state)
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
    from.strides[0] = -1;
    assert_fails(DLPARK_E_DTYPE, "packed f6_e2m3fn", dlpark_copy(&to, &from, e));
    from.strides[0] = 1;
    from.flags |= DLPARK_VIEW_PADDED;
    assert_fails(DLPARK_E_DTYPE, "packed", dlpark_copy(&to, &from, e));
    to.flags |= DLPARK_VIEW_PADDED;
    from.strides[0] = -1;
    assert_ok(dlpark_copy(&to, &from, e));
    for (int i = 0; i < 5; i++)
        assert_int_equal(target[4096 + i], source[4096 - i]);
    from.flags = to.flags = 0;
    from.strides[0] = 1;
    from.bit_offset = 2;
    assert_fails(DLPARK_E_DTYPE, "packed", dlpark_copy(&to, &from, e));
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
    assert_fails(DLPARK_E_SHAPE, "shape [6] to shape [2, 3]", dlpark_copy(&to, &other, e));
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
    assert_memory_equal(target, expected, sizeof target);
}

static void overlap_is_refused_unless_it_is_the_same_view(void **state)
{
    (void)state;
    dlpark_view to = view_of(target, DLPARK_U8, 1, (int64_t[]){8}, NULL);
    dlpark_view from = to;

    assert_ok(dlpark_copy(&to, &from, e));
    from.data = target + 4096 + 7;
    assert_fails(DLPARK_E_OVERLAP, "overlap", dlpark_copy(&to, &from, e));
    from.data = target + 4096 - 7;
    assert_fails(DLPARK_E_OVERLAP, "overlap", dlpark_copy(&to, &from, e));
    from.data = target + 4096 + 8;
    assert_ok(dlpark_copy(&to, &from, e));
    from.data = target + 4096 - 8;
    assert_ok(dlpark_copy(&to, &from, e));
    from.data = target + 4096;
    from.strides[0] = -1;
    assert_fails(DLPARK_E_OVERLAP, "bytes -7 to 1", dlpark_copy(&to, &from, e));
    from.data = target + 4096 + 15;
    assert_ok(dlpark_copy(&to, &from, e));
}

static void no_elements_is_nothing_to_do(void **state)
{
    (void)state;
    dlpark_view to = view_of(target, DLPARK_F32, 2, (int64_t[]){0, 3}, NULL);
    dlpark_view from = view_of(source, DLPARK_F32, 2, (int64_t[]){0, 3}, (int64_t[]){INT64_MIN, 7});

    assert_ok(dlpark_copy(&to, &from, e));
    to.strides[1] = 0; /* the checks are the same whatever the extents of the others */
    assert_fails(DLPARK_E_STRIDES, "extent 3", dlpark_copy(&to, &from, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_of_rank_2_is_copied_right),
        cmocka_unit_test(every_element_size_and_order),
        cmocka_unit_test(source_may_be_broadcast),
        cmocka_unit_test(compact_packed_types_are_copied_whole),
        cmocka_unit_test(refusals_write_nothing),
        cmocka_unit_test(overlap_is_refused_unless_it_is_the_same_view),
        cmocka_unit_test(no_elements_is_nothing_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
