#include "test.h"

#include "swap.h"

static void numbers_are_turned_around(void **state)
{
    (void)state;
    static const struct {
        DLDataType dtype;
        size_t number;
    } cases[] = {{{kDLInt, 8, 1}, 1},       {{kDLFloat, 16, 1}, 2},        {{kDLUInt, 32, 1}, 4},
                 {{kDLFloat, 64, 1}, 8},    {{kDLBool, 8, 1}, 1},          {{kDLComplex, 64, 1}, 4},
                 {{kDLComplex, 128, 1}, 8}, {{kDLFloat4_e2m1fn, 4, 1}, 1}, {{kDLInt, 16, 4}, 2}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char bytes[32];
        for (size_t j = 0; j < sizeof bytes; j++)
            bytes[j] = (unsigned char)j;
        dlpark__swap_numbers(bytes, 16, cases[i].dtype);
        for (size_t j = 0; j < sizeof bytes; j++) {
            size_t number = cases[i].number, from = j / number * number + (number - 1 - j % number);
            assert_int_equal(bytes[j], j < 16 ? from : j);
        }
    }
}

static void what_is_no_whole_number_is_left(void **state)
{
    (void)state;
    unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7};

    dlpark__swap_numbers(bytes, 7, (DLDataType){kDLInt, 32, 1});
    assert_memory_equal(bytes, ((unsigned char[]){4, 3, 2, 1, 5, 6, 7}), 7);
    dlpark__swap_numbers(bytes, 0, (DLDataType){kDLInt, 32, 1});
    assert_int_equal(bytes[0], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_turned_around),
        cmocka_unit_test(what_is_no_whole_number_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
