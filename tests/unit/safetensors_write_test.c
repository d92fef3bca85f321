#include "test.h"

#include <stdlib.h>

#include <dlpark/file.h>

#include "failing_alloc.h"
#include "format.h"

static const int64_t shapes[][3] = {{2, 3, 4}, {0, 5, 1}, {7, 1, 1}};

static dlpark_file_part part_of(const char *name, DLDataType dtype, int32_t ndim, const int64_t *shape)
{
    return (dlpark_file_part){.name = name, .dtype = dtype, .ndim = ndim, .shape = shape};
}

static dlpark_file_text text_of(const char *text)
{
    return (dlpark_file_text){text, strlen(text)};
}

/* The header that a plan has, single quotation marks for double ones, its spaces at the end cut. */
static void assert_header(const dlpark__write_plan *plan, const char *expected)
{
    char text[1024];
    size_t length = plan->head_nbytes - 8;
    uint64_t said = 0;

    assert_true(length < sizeof text);
    for (int i = 7; i >= 0; i--)
        said = said << 8 | (unsigned char)plan->head[i];
    assert_int_equal(said, length);
    memcpy(text, plan->head + 8, length);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    text[length] = '\0';
    for (size_t i = 0; i < length; i++)
        text[i] = text[i] == '"' ? '\'' : text[i];
    assert_string_equal(text, expected);
}

static void wide_dtypes_come_first_and_then_names(void **state)
{
    (void)state;
    const dlpark_file_part parts[] = {
        part_of("b", DLPARK_I8, 1, shapes[2]),
        part_of("a", DLPARK_F32, 3, shapes[0]),
        part_of("aa", DLPARK_I8, 0, NULL),
        part_of("a2", DLPARK_F64, 2, shapes[1]),
    };
    const dlpark_file_write_options options = {.format = DLPARK_FILE_SAFETENSORS};
    dlpark__write_plan plan;

    assert_ok(dlpark__safetensors_plan(&plan, parts, 4, &options, e));
    assert_header(&plan, "{'a2':{'dtype':'F64','shape':[0,5],'data_offsets':[0,0]},"
                         "'a':{'dtype':'F32','shape':[2,3,4],'data_offsets':[0,96]},"
                         "'aa':{'dtype':'I8','shape':[],'data_offsets':[96,97]},"
                         "'b':{'dtype':'I8','shape':[7],'data_offsets':[97,104]}}");
    assert_int_equal(plan.head_nbytes % 8, 0);
    assert_int_equal(plan.nbytes, plan.head_nbytes + 104);
    assert_int_equal(plan.places[0].offset, plan.head_nbytes + 97);
    assert_int_equal(plan.places[0].nbytes, 7);
    assert_int_equal(plan.places[1].offset, plan.head_nbytes);
    assert_int_equal(plan.places[3].nbytes, 0);
    dlpark__write_plan_end(&plan);
}

static void names_are_in_the_order_of_their_bytes(void **state)
{
    (void)state;
    const dlpark_file_part parts[] = {part_of("ab", DLPARK_U8, 0, NULL), part_of("a", DLPARK_U8, 0, NULL),
                                      part_of("", DLPARK_U8, 0, NULL), part_of("b", DLPARK_U8, 0, NULL),
                                      part_of("abc", DLPARK_U8, 0, NULL)};
    dlpark__write_plan plan;

    for (int turn = 0; turn < 5; turn++) {
        dlpark_file_part turned[5];
        for (int i = 0; i < 5; i++)
            turned[i] = parts[(i + turn) % 5];
        assert_ok(dlpark__safetensors_plan(&plan, turned, 5, &(dlpark_file_write_options){.nmetadata = 0}, e));
        assert_header(&plan, "{'':{'dtype':'U8','shape':[],'data_offsets':[0,1]},"
                             "'a':{'dtype':'U8','shape':[],'data_offsets':[1,2]},"
                             "'ab':{'dtype':'U8','shape':[],'data_offsets':[2,3]},"
                             "'abc':{'dtype':'U8','shape':[],'data_offsets':[3,4]},"
                             "'b':{'dtype':'U8','shape':[],'data_offsets':[4,5]}}");
        dlpark__write_plan_end(&plan);
    }
}

static void an_alignment_orders_by_what_sizes_allow(void **state)
{
    (void)state;
    const int64_t odd[] = {3}, sixteen[] = {16}, large[] = {64};
    const dlpark_file_part parts[] = {part_of("a", DLPARK_F64, 1, odd), part_of("b", DLPARK_U8, 1, sixteen),
                                      part_of("c", DLPARK_U8, 1, large), part_of("d", DLPARK_U8, 1, odd)};

    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        const dlpark_file_write_options options = {.alignment_bytes = alignment};
        dlpark__write_plan plan;
        assert_ok(dlpark__safetensors_plan(&plan, parts, 4, &options, e));
        assert_int_equal(plan.head_nbytes % alignment, 0);
        for (size_t i = 0; i < 4; i++)
            if (plan.places[i].nbytes % alignment == 0)
                assert_int_equal(plan.places[i].offset % alignment, 0);
        dlpark__write_plan_end(&plan);
    }
}

static void texts_are_escaped_as_the_reference_does(void **state)
{
    (void)state;
    const dlpark_file_pair pairs[] = {{text_of("z"), text_of("\b\f\n\r\t\x01\x1f\x7f/\\\"")},
                                      {text_of("a"), text_of("\xC3\xA9")}};
    const dlpark_file_write_options options = {.metadata = pairs, .nmetadata = 2};
    const dlpark_file_part parts[] = {{.name = "\0", .name_nbytes = 1, .dtype = DLPARK_U8, .ndim = 0}};
    dlpark__write_plan plan;

    assert_ok(dlpark__safetensors_plan(&plan, parts, 1, &options, e));
    assert_header(&plan, "{'__metadata__':{'z':'\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/\\\\\\'','a':'\xC3\xA9'},"
                         "'\\u0000':{'dtype':'U8','shape':[],'data_offsets':[0,1]}}");
    dlpark__write_plan_end(&plan);
    assert_ok(dlpark__safetensors_plan(&plan, NULL, 0, &options, e));
    dlpark__write_plan_end(&plan);
    assert_ok(dlpark__safetensors_plan(&plan, NULL, 0, &(dlpark_file_write_options){.nmetadata = 0}, e));
    assert_header(&plan, "{}");
    assert_int_equal(plan.nbytes, 16);
    dlpark__write_plan_end(&plan);
}

static void sub_byte_types_have_whole_bytes(void **state)
{
    (void)state;
    const DLDataType f4 = {kDLFloat4_e2m1fn, 4, 1}, pairs = {kDLFloat4_e2m1fn, 4, 2}, f6 = {kDLFloat6_e2m3fn, 6, 1};
    const int64_t two[] = {3, 2}, four[] = {4}, odd[] = {3}, none[] = {0, 3};
    const dlpark_file_part good[] = {part_of("a", f4, 2, two), part_of("b", f6, 1, four), part_of("c", pairs, 2, two),
                                     part_of("d", f4, 2, none)};
    const dlpark_file_write_options options = {.nmetadata = 0};
    dlpark__write_plan plan;

    assert_ok(dlpark__safetensors_plan(&plan, good, 4, &options, e));
    assert_header(&plan, "{'b':{'dtype':'F6_E2M3','shape':[4],'data_offsets':[0,3]},"
                         "'a':{'dtype':'F4','shape':[3,2],'data_offsets':[3,6]},"
                         "'c':{'dtype':'F4','shape':[3,4],'data_offsets':[6,12]},"
                         "'d':{'dtype':'F4','shape':[0,3],'data_offsets':[12,12]}}");
    dlpark__write_plan_end(&plan);
    const dlpark_file_part lone[] = {part_of("x", pairs, 0, NULL)};
    assert_fails(DLPARK_E_UNSUPPORTED, "a lone pair of float4", dlpark__safetensors_plan(&plan, lone, 1, &options, e));
    const dlpark_file_part bad[] = {part_of("x", f4, 1, odd)}, bad6[] = {part_of("x", f6, 1, odd)};
    assert_fails(DLPARK_E_UNSUPPORTED, "tensor 'x': 12 bits of", dlpark__safetensors_plan(&plan, bad, 1, &options, e));
    assert_fails(DLPARK_E_UNSUPPORTED, "tensor 'x': 18 bits of", dlpark__safetensors_plan(&plan, bad6, 1, &options, e));
}

static void descriptions_that_are_none_are_refused(void **state)
{
    (void)state;
    const int64_t negative[] = {2, -1}, vast[] = {INT64_MAX, 3, 0}, large[] = {INT64_MAX / 8};
    const dlpark_file_write_options options = {.nmetadata = 0};
    dlpark__write_plan plan;
    const struct {
        dlpark_file_part part;
        dlpark_status status;
        const char *text;
    } cases[] = {
        {part_of("__metadata__", DLPARK_U8, 0, NULL), DLPARK_E_ARGUMENT, "cannot be called '__metadata__'"},
        {part_of("\xFF", DLPARK_U8, 0, NULL), DLPARK_E_ARGUMENT, "the name '\\xFF' is no UTF-8"},
        {part_of("__metadata_\xFF", DLPARK_U8, 0, NULL), DLPARK_E_ARGUMENT, "the name '__metadata_\\xFF' is no UTF-8"},
        {part_of("x", (DLDataType){kDLComplex, 128, 1}, 0, NULL), DLPARK_E_UNSUPPORTED, "no dtype for complex128"},
        {part_of("x", (DLDataType){kDLFloat, 32, 2}, 0, NULL), DLPARK_E_UNSUPPORTED, "no dtype for float32x2"},
        {part_of("x", (DLDataType){kDLFloat8_e4m3, 8, 1}, 0, NULL), DLPARK_E_UNSUPPORTED, "no dtype for float8_e4m3"},
        {part_of("x", DLPARK_U8, -1, NULL), DLPARK_E_RANK, "has -1 dimensions"},
        {part_of("x", DLPARK_U8, 65, NULL), DLPARK_E_RANK, "has 65 dimensions"},
        {part_of("x", DLPARK_U8, 2, negative), DLPARK_E_SHAPE, "shape[1] is -1"},
        {part_of("x", DLPARK_U8, 3, vast), DLPARK_E_OVERFLOW, "more than 2^64-1 bits"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_fails(cases[i].status, cases[i].text, dlpark__safetensors_plan(&plan, &cases[i].part, 1, &options, e));
    dlpark_file_part many[16];
    static char names[16][4];
    for (int i = 0; i < 16; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        many[i] = part_of(names[i], DLPARK_U8, 1, large);
    }
    assert_fails(DLPARK_E_LIMIT, "more than 2^63-1 bytes together",
                 dlpark__safetensors_plan(&plan, many, 16, &options, e));
    assert_null(plan.head);
}

static void names_come_once(void **state)
{
    (void)state;
    const dlpark_file_part twins[] = {part_of("x", DLPARK_U8, 0, NULL), part_of("y", DLPARK_U8, 0, NULL),
                                      part_of("x", DLPARK_I8, 0, NULL)};
    const dlpark_file_pair pairs[] = {{text_of("k"), text_of("1")}, {text_of("k"), text_of("2")}};
    const dlpark_file_pair broken[] = {{text_of("k"), text_of("\xC0")}, {text_of("\xC0"), text_of("1")}};
    dlpark__write_plan plan;

    assert_fails(DLPARK_E_ARGUMENT, "two of the tensors are called 'x'",
                 dlpark__safetensors_plan(&plan, twins, 3, &(dlpark_file_write_options){.nmetadata = 0}, e));
    const dlpark_file_part early[] = {twins[0], twins[2], twins[1]};
    assert_fails(DLPARK_E_ARGUMENT, "two of the tensors are called 'x'",
                 dlpark__safetensors_plan(&plan, early, 3, &(dlpark_file_write_options){.nmetadata = 0}, e));
    assert_fails(
        DLPARK_E_ARGUMENT, "two of the metadata are called 'k'",
        dlpark__safetensors_plan(&plan, twins, 1, &(dlpark_file_write_options){.metadata = pairs, .nmetadata = 2}, e));
    assert_fails(
        DLPARK_E_ARGUMENT, "the metadata 'k' is no UTF-8",
        dlpark__safetensors_plan(&plan, NULL, 0, &(dlpark_file_write_options){.metadata = broken, .nmetadata = 1}, e));
    assert_fails(DLPARK_E_ARGUMENT, "the metadata '\\xC0' is no UTF-8",
                 dlpark__safetensors_plan(&plan, NULL, 0,
                                          &(dlpark_file_write_options){.metadata = broken + 1, .nmetadata = 1}, e));
}

static void headers_have_a_limit(void **state)
{
    (void)state;
    size_t nbytes = 100000001;
    char *text = malloc(nbytes);
    dlpark__write_plan plan;

    assert_non_null(text);
    memset(text, 'x', nbytes);
    const dlpark_file_pair value = {text_of("k"), {text, nbytes - 20}}, key = {{text, nbytes}, text_of("v")};
    assert_fails(
        DLPARK_E_LIMIT, "the header would have 100000008 bytes",
        dlpark__safetensors_plan(&plan, NULL, 0, &(dlpark_file_write_options){.metadata = &value, .nmetadata = 1}, e));
    assert_fails(
        DLPARK_E_LIMIT, "more than 100000000 bytes together",
        dlpark__safetensors_plan(&plan, NULL, 0, &(dlpark_file_write_options){.metadata = &key, .nmetadata = 1}, e));
    free(text);
    assert_fails(DLPARK_E_LIMIT, "more than 2097150",
                 dlpark__safetensors_plan(&plan, NULL, 1 << 21, &(dlpark_file_write_options){.nmetadata = 0}, e));
    assert_fails(DLPARK_E_LIMIT, "0 tensors and 2097152 metadata, more than 2097150",
                 dlpark__safetensors_plan(&plan, NULL, 0, &(dlpark_file_write_options){.nmetadata = 1 << 21}, e));
}

static void without_memory_nothing_is_held(void **state)
{
    (void)state;
    const dlpark_file_part parts[] = {part_of("x", DLPARK_U8, 0, NULL), part_of("y", DLPARK_U8, 0, NULL)};
    const dlpark_file_pair pairs[] = {{text_of("k"), text_of("1")}};
    const dlpark_file_write_options options = {.metadata = pairs, .nmetadata = 1};
    dlpark__write_plan plan;
    long live = failing_alloc_live();

    for (long nth = 1;; nth++) {
        failing_alloc_arm(nth);
        dlpark_status status = dlpark__safetensors_plan(&plan, parts, 2, &options, NULL);
        failing_alloc_arm(0);
        if (status == DLPARK_OK)
            break;
        assert_int_equal(status, DLPARK_E_MEMORY);
        assert_null(plan.head);
        assert_int_equal(failing_alloc_live(), live);
        assert_true(nth < 30);
    }
    dlpark__write_plan_end(&plan);
    assert_int_equal(failing_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_dtypes_come_first_and_then_names),
        cmocka_unit_test(names_are_in_the_order_of_their_bytes),
        cmocka_unit_test(an_alignment_orders_by_what_sizes_allow),
        cmocka_unit_test(texts_are_escaped_as_the_reference_does),
        cmocka_unit_test(sub_byte_types_have_whole_bytes),
        cmocka_unit_test(descriptions_that_are_none_are_refused),
        cmocka_unit_test(names_come_once),
        cmocka_unit_test(headers_have_a_limit),
        cmocka_unit_test(without_memory_nothing_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
