#include "bitwise.h"

#include <stdlib.h>

#include "internal.h"

#define MIDDLE 256

static unsigned char target[2 * MIDDLE], expected[2 * MIDDLE], source[2 * MIDDLE];

/* What the contract says, bit by bit, into `expected`, which stands for `target`. */
static void copy_slowly(const dlpark_view *to, const dlpark_view *from)
{
    int64_t index[8] = {0};
    unsigned char *base = expected + ((unsigned char *)to->data - target);

    do {
        int64_t to_at = bitwise_at(to, index), from_at = bitwise_at(from, index);
        for (int bit = 0; bit < bitwise_slot(to); bit++)
            bitwise_set(base, to_at + bit, bit < bitwise_width(to) ? bitwise_get(from->data, from_at + bit) : 0);
    } while (bitwise_next(to, index));
}

static void check_copy(const dlpark_view *to, const dlpark_view *from, uint32_t seed)
{
    bitwise_fill(target, sizeof target, seed);
    memcpy(expected, target, sizeof target);
    copy_slowly(to, from);
    dlpark__copy_bits(to, from);
    assert_memory_equal(target, expected, sizeof target);
}

static const DLDataType widths[] = {
    {kDLUInt, 1, 1}, {kDLUInt, 2, 1},          {kDLInt, 1, 3},  {kDLInt, 4, 1},
    {kDLInt, 1, 5},  {kDLFloat6_e2m3fn, 6, 1}, {kDLUInt, 1, 7}, {kDLFloat4_e2m1fn, 4, 3},
    {kDLInt, 2, 7},  {kDLInt, 1, 9},           {kDLInt, 1, 65},
};
#define WIDTHS ((int)(sizeof widths / sizeof widths[0]))

/* The source in memory of exactly its bytes, so that a tool sees what is read beside it. */
static void check_row(DLDataType dtype, int64_t count, unsigned to_bit, bool to_padded, unsigned from_bit,
                      bool from_padded)
{
    int64_t one = 1;
    dlpark_view to =
        bitwise_view(target + MIDDLE / 2, to_bit, dtype, to_padded ? DLPARK_VIEW_PADDED : 0, 1, &count, &one);
    dlpark_view from = bitwise_view(NULL, from_bit, dtype, from_padded ? DLPARK_VIEW_PADDED : 0, 1, &count, &one);
    size_t nbytes = (size_t)((count * bitwise_slot(&from) + from_bit + 7) / 8);

    from.data = malloc(nbytes);
    assert_non_null(from.data);
    bitwise_fill(from.data, nbytes, (uint32_t)count);
    check_copy(&to, &from, to_bit * 8 + from_bit);
    free(from.data);
}

static void every_width_offset_and_packing_of_a_row(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 2, 3, 7, 8, 9, 16, 23, 70};

    for (int width = 0; width < WIDTHS; width++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            int64_t count = counts[i] * widths[width].bits * widths[width].lanes > 70 * 9 ? 5 : counts[i];
            for (unsigned to_bit = 0; to_bit < 8; to_bit++) {
                for (unsigned from_bit = 0; from_bit < 8; from_bit++)
                    check_row(widths[width], count, to_bit, false, from_bit, false);
                check_row(widths[width], count, to_bit, false, 0, true);
                check_row(widths[width], count, 0, true, to_bit, false);
            }
            check_row(widths[width], count, 0, true, 0, true);
        }
}

/* Layouts of both sides, of which the destination's has no two elements in one place. */
static void check_layouts(DLDataType dtype, const int64_t *shape, const int64_t *to_strides,
                          const int64_t *from_strides, int packing)
{
    uint32_t to_flags = packing & 1 ? DLPARK_VIEW_PADDED : 0, from_flags = packing & 2 ? DLPARK_VIEW_PADDED : 0;
    dlpark_view to = bitwise_view(target + MIDDLE, to_flags ? 0 : 3, dtype, to_flags, 2, shape, to_strides);
    dlpark_view from = bitwise_view(source + MIDDLE, from_flags ? 0 : 6, dtype, from_flags, 2, shape, from_strides);

    if (bitwise_is_injective(&to))
        check_copy(&to, &from, 1);
}

static void every_layout_of_rank_2(void **state)
{
    (void)state;
    static const DLDataType some[] = {{kDLUInt, 1, 1}, {kDLInt, 4, 1}, {kDLFloat6_e3m2fn, 6, 1}, {kDLInt, 4, 3}};

    bitwise_fill(source, sizeof source, 99);
    for (int64_t rows = 1; rows <= 3; rows++)
        for (int64_t columns = 1; columns <= 3; columns++)
            for (int at = 0; at < 7 * 7 * 7 * 7; at++) {
                int64_t to[] = {at % 7 - 3, at / 7 % 7 - 3}, from[] = {at / 49 % 7 - 3, at / 343 - 3};
                check_layouts(some[at % 4], (int64_t[]){rows, columns}, to, from, at / 4 % 4);
            }
}

static void every_packing_of_a_few_layouts(void **state)
{
    (void)state;
    static const int64_t shape[] = {3, 9};
    static const int64_t layouts[][2] = {{9, 1}, {1, 3}, {-9, 1}, {9, -1}, {12, 1}, {20, 2}, {0, 1}, {1, 0}, {0, 0}};

    bitwise_fill(source, sizeof source, 7);
    for (int width = 0; width < WIDTHS - 1; width++)
        for (int to = 0; to < 6; to++)
            for (int from = 0; from < 9; from++)
                for (int packing = 0; packing < 4; packing++)
                    check_layouts(widths[width], shape, layouts[to], layouts[from], packing);
}

static void a_single_element_of_rank_0(void **state)
{
    (void)state;
    unsigned char from_byte = 0xA5, to_byte = 0xFF;
    dlpark_view to = bitwise_view(&to_byte, 2, DLPARK_U4, 0, 0, NULL, NULL);
    dlpark_view from = bitwise_view(&from_byte, 4, DLPARK_U4, 0, 0, NULL, NULL);

    dlpark__copy_bits(&to, &from);
    assert_int_equal(to_byte, 0xEB); /* 1010 at bits 2 to 5 */
    assert_int_equal(from_byte, 0xA5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_offset_and_packing_of_a_row),
        cmocka_unit_test(every_layout_of_rank_2),
        cmocka_unit_test(every_packing_of_a_few_layouts),
        cmocka_unit_test(a_single_element_of_rank_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
