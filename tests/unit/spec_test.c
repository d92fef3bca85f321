#include "test.h"

#include <stdbool.h>

static dlpark_spec_names names;
static dlpark_spec_bound bound;

static dlpark_spec made(const char *text)
{
    dlpark_spec spec;

    assert_int_equal(dlpark_spec_init(&spec, &names, NULL, text, NULL), DLPARK_OK);
    return spec;
}

/* Binds `n` to 4 and `k` to -1..: what a match would do, without one. */
static void bind(const char *name, int64_t extent)
{
    for (int32_t i = 0; i < names.ndims; i++)
        if (strcmp(names.dims[i], name) == 0) {
            bound.dims[i] = extent;
            bound.dims_known |= UINT32_C(1) << i;
            return;
        }
    fail_msg("no name %s", name);
}

static int begin(void **state)
{
    dlpark_spec spec;

    (void)state;
    memset(&names, 0, sizeof names);
    memset(&bound, 0x3C, sizeof bound); /* what is not known has no meaning */
    dlpark_spec_bound_init(&bound);
    return dlpark_spec_init(&spec, &names, "a", "any", NULL) == DLPARK_OK ? 0 : -1;
}

/* ---- Printing ---- */

static void texts_have_one_form(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {"any", "any"},
        {"any[...]", "any"},
        {"any[]", "any[]"},
        {" float32 | uint8|f32 [ 3 ,n, _ ] ", "f32|u8[3,n,_]"},
        {"same ( a ) [ ..., n ]", "same(a)[...,n]"},
        {"bool[n,...]c", "bool[n,...] c"},
        {"i4[n,...,3] contig", "i4[n,...,3] contig"},
        {"f8_e4m3fn f", "f8_e4m3fn f"},
        {"f32x4 inner", "f32x4 inner"},
        {"any as=jax align=16 metal:1|cuda|cpu|metal:0|metal:1 convert none mut inner",
         "any inner mut none convert cpu|cuda|metal:1|metal:0 align=16 as=jax"},
        {"any cuda_host|cpu", "any cpu"},
        {"any cuda_managed|cuda_host", "any cuda_host|cuda_managed"},
        {"any cpu:0", "any cpu:0"},
        {"any[9223372036854775807] align=4611686018427387904", "any[9223372036854775807] align=4611686018427387904"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dlpark_spec spec = made(cases[i].text), again;
        char printed[256];
        assert_int_equal(dlpark_spec_text(&spec, NULL, printed, sizeof printed), strlen(cases[i].printed));
        assert_string_equal(printed, cases[i].printed);
        assert_ok(dlpark_spec_init(&again, &names, NULL, printed, e));
        assert_memory_equal(&again, &spec, sizeof spec);
    }
}

static void results_are_printed_too(void **state)
{
    (void)state;
    dlpark_spec spec;
    char printed[64];

    assert_ok(dlpark_spec_init_result(&spec, &names, "f32[?,3] as=numpy", e));
    dlpark_spec_text(&spec, NULL, printed, sizeof printed);
    assert_string_equal(printed, "f32[?,3] as=numpy");
}

static void bound_names_are_printed_with_their_extents(void **state)
{
    (void)state;
    dlpark_spec spec = made("same(a)[n,k,n,0] c");
    char printed[64];

    dlpark_spec_text(&spec, &bound, printed, sizeof printed);
    assert_string_equal(printed, "same(a)[n,k,n,0] c");
    bind("n", 4);
    bound.dtypes[0] = DLPARK_F64;
    bound.dtypes_known = 1;
    dlpark_spec_text(&spec, &bound, printed, sizeof printed);
    assert_string_equal(printed, "same(a)=f64[n=4,k,n=4,0] c");
}

static void a_text_is_cut_to_its_room(void **state)
{
    (void)state;
    dlpark_spec spec = made("f32|f64[n,123] contig");
    const char *whole = "f32|f64[n,123] contig";
    char printed[64];

    assert_int_equal(dlpark_spec_text(&spec, NULL, NULL, 0), strlen(whole));
    for (size_t room = 1; room < 40; room++) {
        memset(printed, 0x5A, sizeof printed);
        assert_int_equal(dlpark_spec_text(&spec, NULL, printed, room), strlen(whole));
        size_t fits = room <= strlen(whole) ? room - 1 : strlen(whole);
        assert_memory_equal(printed, whole, fits);
        assert_int_equal(printed[fits], '\0');
        assert_int_equal(printed[room], 0x5A);
    }
}

/* ---- What the names stand for ---- */

static void a_bound_name_has_an_extent(void **state)
{
    (void)state;
    int64_t extent = 77;

    (void)made("f32[n,k,m]");
    bind("k", 0);
    bind("m", INT64_MAX);
    assert_ok(dlpark_spec_dim(&names, &bound, "k", &extent, e));
    assert_true(extent == 0);
    assert_ok(dlpark_spec_dim(&names, &bound, "m", &extent, e));
    assert_true(extent == INT64_MAX);
    assert_fails(DLPARK_E_ARGUMENT, "dimension 'n' has no extent: no argument that has it was matched",
                 dlpark_spec_dim(&names, &bound, "n", &extent, e));
    assert_fails(DLPARK_E_ARGUMENT, "no spec has a dimension 'q'; the names are n, k, m",
                 dlpark_spec_dim(&names, &bound, "q", &extent, e));
    assert_true(extent == INT64_MAX);
}

static void a_name_that_is_no_name_is_quoted(void **state)
{
    (void)state;
    int64_t extent;

    (void)made("f32[n]");
    assert_fails(DLPARK_E_ARGUMENT, "no spec has a dimension '\\x1B[2J\xC3\xA4\\xFF'; the names are n",
                 dlpark_spec_dim(&names, &bound, "\x1B[2J\xC3\xA4\xFF", &extent, e));
}

static void a_list_of_names_is_cut(void **state)
{
    (void)state;
    char text[64];
    int64_t extent;

    memset(&names, 0, sizeof names);
    assert_fails(DLPARK_E_ARGUMENT, "no spec has a dimension 'q'", dlpark_spec_dim(&names, &bound, "q", &extent, e));
    for (int i = 0; i < DLPARK_SPEC_MAX_NAMES; i++) {
        snprintf(text, sizeof text, "any[a_rather_long_name_%d]", i);
        (void)made(text);
    }
    assert_fails(DLPARK_E_ARGUMENT, "a_rather_long_name_9, ...", dlpark_spec_dim(&names, &bound, "q", &extent, e));
}

static void a_result_gets_its_shape(void **state)
{
    (void)state;
    dlpark_spec spec = made("f32[n,3,k,n]"), scalar = made("f32[]");
    int64_t shape[4] = {7, 7, 7, 7};

    bind("n", 5);
    assert_fails(DLPARK_E_ARGUMENT, "dimension 'k' has no extent", dlpark_spec_shape(&spec, &bound, shape, e));
    assert_true(shape[0] == 7);
    bind("k", 0);
    assert_ok(dlpark_spec_shape(&spec, &bound, shape, e));
    assert_true(shape[0] == 5 && shape[1] == 3 && shape[2] == 0 && shape[3] == 5);
    assert_ok(dlpark_spec_shape(&scalar, &bound, NULL, e));
}

static void a_vague_shape_is_refused(void **state)
{
    (void)state;
    dlpark_spec any = made("f32"), rest = made("f32[n,...]"), blank = made("f32[n,_] c"), unknown;
    int64_t shape[4] = {7, 7, 7, 7};

    assert_ok(dlpark_spec_init_result(&unknown, &names, "f32[?]", e));
    bind("n", 5);
    assert_fails(DLPARK_E_ARGUMENT, "f32 does not say how many dimensions there are",
                 dlpark_spec_shape(&any, &bound, shape, e));
    assert_fails(DLPARK_E_ARGUMENT, "f32[n=5,...] does not say how many dimensions there are",
                 dlpark_spec_shape(&rest, &bound, shape, e));
    assert_fails(DLPARK_E_ARGUMENT, "dimension 1 of f32[n=5,_] c does not say its extent",
                 dlpark_spec_shape(&blank, &bound, shape, e));
    assert_fails(DLPARK_E_ARGUMENT, "dimension 0 of f32[?] does not say its extent",
                 dlpark_spec_shape(&unknown, &bound, shape, e));
    assert_true(shape[0] == 7);
}

static void a_long_spec_is_cut_in_a_message(void **state)
{
    (void)state;
    char text[1024] = "f32[...";
    int64_t shape[16];

    for (int i = 0; i < 16; i++)
        strcat(text, ",123456789012345678");
    strcat(text, "]");
    dlpark_spec spec = made(text);
    assert_fails(DLPARK_E_ARGUMENT, ",123... does not say how many", dlpark_spec_shape(&spec, &bound, shape, e));
}

static void a_result_gets_its_dtype(void **state)
{
    (void)state;
    dlpark_spec one = made("bf16"), same = made("same(a)"), any = made("any[3]"), two = made("f32|f64");
    DLDataType dtype = DLPARK_I8;

    assert_ok(dlpark_spec_dtype(&one, &bound, &dtype, e));
    assert_true(dlpark_dtype_equal(dtype, DLPARK_BF16));
    assert_fails(DLPARK_E_ARGUMENT, "the dtype is that of argument 'a', which was not matched",
                 dlpark_spec_dtype(&same, &bound, &dtype, e));
    assert_fails(DLPARK_E_ARGUMENT, "any[3] does not say one dtype", dlpark_spec_dtype(&any, &bound, &dtype, e));
    assert_fails(DLPARK_E_ARGUMENT, "f32|f64 does not say one dtype", dlpark_spec_dtype(&two, &bound, &dtype, e));
    assert_true(dlpark_dtype_equal(dtype, DLPARK_BF16));
    bound.dtypes[0] = DLPARK_C64;
    bound.dtypes_known = 1;
    assert_ok(dlpark_spec_dtype(&same, &bound, &dtype, e));
    assert_true(dlpark_dtype_equal(dtype, DLPARK_C64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(texts_have_one_form, begin),
        cmocka_unit_test_setup(results_are_printed_too, begin),
        cmocka_unit_test_setup(bound_names_are_printed_with_their_extents, begin),
        cmocka_unit_test_setup(a_text_is_cut_to_its_room, begin),
        cmocka_unit_test_setup(a_bound_name_has_an_extent, begin),
        cmocka_unit_test_setup(a_name_that_is_no_name_is_quoted, begin),
        cmocka_unit_test_setup(a_list_of_names_is_cut, begin),
        cmocka_unit_test_setup(a_result_gets_its_shape, begin),
        cmocka_unit_test_setup(a_vague_shape_is_refused, begin),
        cmocka_unit_test_setup(a_long_spec_is_cut_in_a_message, begin),
        cmocka_unit_test_setup(a_result_gets_its_dtype, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
