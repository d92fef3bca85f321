#include "bitwise.h"

#include "failing_alloc.h"
#include "internal.h"

#define MIDDLE 6144

static unsigned char memory[2 * MIDDLE], before[2 * MIDDLE], expected[2 * MIDDLE];

static void copy_slowly(const dlpark_view *to, const dlpark_view *from)
{
    int64_t index[8] = {0};
    unsigned char *to_base = expected + ((unsigned char *)to->data - memory);
    const unsigned char *from_base = before + ((unsigned char *)from->data - memory);

    /* From padded to padded the bytes move as they are; packed elements have no upper bits, and get them as zero. */
    do {
        for (int bit = 0; bit < bitwise_slot(to); bit++)
            bitwise_set(to_base, bitwise_at(to, index) + bit,
                        bit < bitwise_slot(from) ? bitwise_get(from_base, bitwise_at(from, index) + bit) : 0);
    } while (bitwise_next(to, index));
}

/* Copies as if the source had been saved first; nothing else may change. */
static void check_overlap(const dlpark_view *to, const dlpark_view *from)
{
    memcpy(memory, before, sizeof memory);
    memcpy(expected, before, sizeof memory);
    copy_slowly(to, from);
    assert_ok(dlpark__copy_overlapping(to, from, 1, e));
    if (memcmp(memory, expected, sizeof memory) != 0)
        fail_msg("%s shape [%lld, %lld] from strides [%lld, %lld] at %td bit %u to [%lld, %lld] at %td bit %u is wrong",
                 dlpark_dtype_name(to->dtype).text, (long long)to->shape[0], (long long)to->shape[1],
                 (long long)from->strides[0], (long long)from->strides[1], (unsigned char *)from->data - memory,
                 from->bit_offset, (long long)to->strides[0], (long long)to->strides[1],
                 (unsigned char *)to->data - memory, to->bit_offset);
}

/* A view whose element 0 begins at a bit of `memory`. */
static dlpark_view view_at(int64_t bit, DLDataType dtype, uint32_t flags, int32_t ndim, const int64_t *shape,
                           const int64_t *strides)
{
    return bitwise_view(memory + bit / 8, (unsigned)(bit % 8), dtype, flags, ndim, shape, strides);
}

/* Small layouts in a small part of the memory, or comparing all of it would take all the time. */
static void check_small(const dlpark_view *to, const dlpark_view *from)
{
    enum { LOW = MIDDLE - 64, SIZE = 128 };

    memcpy(memory + LOW, before + LOW, SIZE);
    memcpy(expected + LOW, before + LOW, SIZE);
    copy_slowly(to, from);
    assert_int_equal(dlpark__copy_overlapping(to, from, 1, NULL), DLPARK_OK);
    if (memcmp(memory + LOW, expected + LOW, SIZE) != 0)
        check_overlap(to, from);
}

static void many_pairs_of_layouts(DLDataType dtype, int unit, int reach, int skip)
{
    int turn = 0;

    for (int at = 0; at < 7 * 7 * 7 * 7; at += skip) {
        int64_t to_strides[] = {at % 7 - 3, at / 7 % 7 - 3}, from_strides[] = {at / 49 % 7 - 3, at / 343 - 3};
        for (int64_t rows = 1; rows <= 3; rows++) {
            int64_t columns = 1 + turn++ % 3, shape[] = {rows, columns};
            dlpark_view to = view_at(MIDDLE * 8, dtype, 0, 2, shape, to_strides);
            if (!bitwise_is_injective(&to))
                continue;
            for (int distance = -reach; distance <= reach; distance++) {
                dlpark_view from = view_at(MIDDLE * 8 + distance * unit, dtype, 0, 2, shape, from_strides);
                check_small(&to, &from);
            }
        }
    }
}

static void every_layout_and_distance_of_bytes(void **state)
{
    (void)state;
    many_pairs_of_layouts(DLPARK_U8, 8, 6, 1);
}

static void layouts_and_distances_of_two_bytes(void **state)
{
    (void)state;
    many_pairs_of_layouts(DLPARK_U16, 8, 4, 5); /* elements that begin inside others, too */
}

static void layouts_and_distances_of_packed_elements(void **state)
{
    (void)state;
    many_pairs_of_layouts(DLPARK_I4, 1, 6, 4);
    many_pairs_of_layouts(DLPARK_F6_E3M2FN, 6, 3, 5);
}

/* Both views have the same strides: rows of pictures, rings, one and three dimensions; no memory is asked for. */
static void equal_strides_need_no_memory(void **state)
{
    (void)state;
    static const int64_t shape[] = {5, 4, 3};
    static const int64_t layouts[][3] = {{12, 3, 1}, {1, 5, 20}, {-12, 3, -1}, {24, 6, 2}, {40, 8, 1}, {40, 9, 2}};
    static const int distances[] = {1, 2, 3, 7, 12, 13, 23, 24, 40, 41, 80, 150};
    static const DLDataType dtypes[] = {{kDLUInt, 8, 1}, {kDLFloat, 32, 1}, {kDLComplex, 128, 1},    {kDLInt, 4, 1},
                                        {kDLUInt, 1, 1}, {kDLInt, 4, 3},    {kDLFloat6_e2m3fn, 6, 1}};

    for (size_t dtype = 0; dtype < 7; dtype++)
        for (size_t layout = 0; layout < 6; layout++)
            for (size_t distance = 0; distance < 12; distance++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    int width = dtypes[dtype].bits * dtypes[dtype].lanes;
                    dlpark_view to = view_at(MIDDLE * 8, dtypes[dtype], 0, 3, shape, layouts[layout]);
                    dlpark_view from = view_at(MIDDLE * 8 + sign * distances[distance] * width, dtypes[dtype], 0, 3,
                                               shape, layouts[layout]);
                    failing_alloc_arm_from(1);
                    check_overlap(&to, &from);
                    assert_int_equal(failing_alloc_count(), 0);
                    failing_alloc_arm(0);
                }
}

/* Ranges longer than a piece, by any number of bits. */
static void long_packed_ranges_move_either_way(void **state)
{
    (void)state;
    static const int64_t one = 1;
    static const int64_t counts[] = {1, 63, 1023, 1024, 1025, 2500};

    for (int distance = -70; distance <= 70; distance++)
        for (size_t i = 0; i < 6; i++) {
            dlpark_view to = view_at(MIDDLE * 8 + 5, DLPARK_U4, 0, 1, &counts[i], &one);
            dlpark_view from = view_at(MIDDLE * 8 + 5 + distance, DLPARK_U4, 0, 1, &counts[i], &one);
            check_overlap(&to, &from);
        }
}

/* Packed to padded and back, in one another's memory. */
static void packings_that_overlap(void **state)
{
    (void)state;
    static const int64_t shape[] = {3, 5}, layouts[][2] = {{5, 1}, {-5, 1}, {1, 3}, {20, 2}};

    for (int packing = 0; packing < 4; packing++)
        for (int to_layout = 0; to_layout < 4; to_layout++)
            for (int from_layout = 0; from_layout < 4; from_layout++)
                for (int distance = -9; distance <= 9; distance++) {
                    uint32_t to_flags = packing & 1 ? DLPARK_VIEW_PADDED : 0;
                    uint32_t from_flags = packing & 2 ? DLPARK_VIEW_PADDED : 0;
                    int unit = packing == 0 ? 4 : 8;
                    dlpark_view to = view_at(MIDDLE * 8, DLPARK_I4, to_flags, 2, shape, layouts[to_layout]);
                    dlpark_view from =
                        view_at(MIDDLE * 8 + distance * unit, DLPARK_I4, from_flags, 2, shape, layouts[from_layout]);
                    check_overlap(&to, &from);
                }
}

static void even_and_odd_columns_go_straight(void **state)
{
    (void)state;
    static const int64_t shape[] = {4, 3}, strides[] = {6, 2}, backward[] = {6, -2};
    dlpark_view to = view_at(MIDDLE * 8, DLPARK_F32, 0, 2, shape, strides);
    dlpark_view odd = view_at((MIDDLE + 4) * 8, DLPARK_F32, 0, 2, shape, strides);
    dlpark_view turned = view_at((MIDDLE + 20) * 8, DLPARK_F32, 0, 2, shape, backward);
    dlpark_view early = view_at((MIDDLE - 20) * 8, DLPARK_F32, 0, 2, shape, strides);

    failing_alloc_arm_from(1);
    check_overlap(&to, &odd);
    check_overlap(&to, &turned);
    check_overlap(&to, &early);
    assert_int_equal(failing_alloc_count(), 0);
    failing_alloc_arm(0);
}

/* Elements that begin inside the gaps, and end inside the next element. */
static void a_gap_that_is_too_short(void **state)
{
    (void)state;
    static const int64_t shape[] = {4, 5}, strides[] = {15, 3}, backward[] = {15, -3};
    dlpark_view to = view_at(MIDDLE * 8, DLPARK_U16, 0, 2, shape, strides);
    dlpark_view from = view_at((MIDDLE - 1) * 8, DLPARK_U16, 0, 2, shape, strides);
    dlpark_view turned = view_at((MIDDLE - 1 + 24) * 8, DLPARK_U16, 0, 2, shape, backward);

    check_overlap(&to, &from);
    check_overlap(&from, &to);
    check_overlap(&to, &turned);
}

static void the_same_elements_stay(void **state)
{
    (void)state;
    static const int64_t shape[] = {3, 1, 4}, strides[] = {1, 7, 1}, others[] = {1, -9, 1};
    dlpark_view to = view_at(MIDDLE * 8, DLPARK_F32, 0, 3, shape, strides); /* even where they coincide */
    dlpark_view from = view_at(MIDDLE * 8, DLPARK_F32, 0, 3, shape, others);

    failing_alloc_arm_from(1);
    check_overlap(&to, &from);
    assert_int_equal(failing_alloc_count(), 0);
    failing_alloc_arm(0);
}

static void what_turns_or_repeats_goes_through_a_copy(void **state)
{
    (void)state;
    static const int64_t shape[] = {4, 5}, strides[] = {5, 1};
    static const int64_t sources[][2] = {{-5, -1}, {5, -1}, {0, 1}, {1, 0}, {0, 0}, {1, 1}, {1, 4}, {-3, 2}};
    static const DLDataType dtypes[] = {{kDLFloat, 64, 1}, {kDLInt, 4, 1}, {kDLInt, 8, 3}};
    long alive = failing_alloc_live();

    for (size_t dtype = 0; dtype < 3; dtype++)
        for (size_t i = 0; i < 8; i++) {
            dlpark_view to = view_at(MIDDLE * 8, dtypes[dtype], 0, 2, shape, strides);
            dlpark_view from = view_at(MIDDLE * 8 + 10 * bitwise_width(&to), dtypes[dtype], DLPARK_VIEW_READ_ONLY, 2,
                                       shape, sources[i]);
            check_overlap(&to, &from);
        }
    assert_int_equal(failing_alloc_live(), alive);
}

static void without_memory_nothing_is_written(void **state)
{
    (void)state;
    static const int64_t shape[] = {4, 5}, forward[] = {5, 1}, backward[] = {-5, -1};
    dlpark_view to = view_at(MIDDLE * 8, DLPARK_F64, 0, 2, shape, forward);
    dlpark_view from = view_at((MIDDLE + 19 * 8) * 8, DLPARK_F64, 0, 2, shape, backward);

    bitwise_fill(memory, sizeof memory, 5);
    memcpy(expected, memory, sizeof memory);
    failing_alloc_arm_from(1);
    assert_fails(DLPARK_E_MEMORY, "160 bytes", dlpark__copy_overlapping(&to, &from, 1, e));
    dlpark_view repeated = view_at((MIDDLE + 8) * 8, DLPARK_F64, 0, 2, shape, (int64_t[]){0, -1});
    assert_fails(DLPARK_E_MEMORY, "the 40 bytes", dlpark__copy_overlapping(&to, &repeated, 1, e)); /* held once */
    failing_alloc_arm(0);
    assert_memory_equal(memory, expected, sizeof memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_and_distance_of_bytes),
        cmocka_unit_test(layouts_and_distances_of_two_bytes),
        cmocka_unit_test(layouts_and_distances_of_packed_elements),
        cmocka_unit_test(equal_strides_need_no_memory),
        cmocka_unit_test(long_packed_ranges_move_either_way),
        cmocka_unit_test(packings_that_overlap),
        cmocka_unit_test(even_and_odd_columns_go_straight),
        cmocka_unit_test(a_gap_that_is_too_short),
        cmocka_unit_test(the_same_elements_stay),
        cmocka_unit_test(what_turns_or_repeats_goes_through_a_copy),
        cmocka_unit_test(without_memory_nothing_is_written),
    };

    bitwise_fill(before, sizeof before, 5);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
