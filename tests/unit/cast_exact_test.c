#include "test.h"

#include <stdlib.h>

static dlpark_view row_of(void *data, DLDataType dtype, int64_t count)
{
    DLTensor tensor = {data, {kDLCPU, 0}, 1, dtype, &count, NULL, 0};
    dlpark_view view;

    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    return view;
}

/* Counted between equal dtypes, a NaN is read as wide as it is: behind the last one is nothing. */
static void test_every_width_of_nan_is_counted(void **state)
{
    (void)state;
    const DLDataType dtypes[] = {DLPARK_F8_E5M2, DLPARK_F8_E8M0FNU, DLPARK_F16, DLPARK_F32, DLPARK_F64};

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        size_t nbytes = 3 * (dtypes[i].bits / 8u);
        unsigned char *in = malloc(nbytes), *out = malloc(nbytes);
        assert_non_null(in);
        assert_non_null(out);
        memset(in, 0xFF, nbytes);
        dlpark_view from = row_of(in, dtypes[i], 3), to = row_of(out, dtypes[i], 3);
        dlpark_cast_counts counts;
        dlpark_cast_options options = {.counts = &counts};
        assert_ok(dlpark_cast(&to, &from, &options, e));
        assert_memory_equal(&counts, &((dlpark_cast_counts){0, 0, 3}), sizeof counts);
        assert_memory_equal(out, in, nbytes);
        free(in);
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_width_of_nan_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
