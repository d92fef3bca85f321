#include "gguf_made.h"

#include <dlpark/file_write.h>

#include "failing_alloc.h"
#include "gguf/gguf_parts.h"
#include "swap.h"

static dlpark_file_part part_of(const char *name, DLDataType dtype, int32_t ndim, const int64_t *shape)
{
    return (dlpark_file_part){.name = name, .dtype = dtype, .ndim = ndim, .shape = shape};
}

static dlpark_file_text text_of(const char *text)
{
    return (dlpark_file_text){text, strlen(text)};
}

#define SHAPE(...)                                                                                                     \
    (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[])                                                 \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void assert_head(const dlpark__write_plan *plan, gguf_made *expected)
{
    assert_int_equal(plan->head_nbytes, expected->nbytes);
    assert_memory_equal(plan->head, expected->bytes, expected->nbytes);
    gguf_made_end(expected);
}

static void tensors_come_in_the_order_given(void **state)
{
    (void)state;
    const dlpark_file_part parts[] = {part_of("b", DLPARK_F32, SHAPE(2, 3)), part_of("a", DLPARK_I8, SHAPE(33)),
                                      part_of("c", DLPARK_F64, SHAPE(1, 2, 3, 4))};
    const dlpark_file_write_options options = {.format = DLPARK_FILE_GGUF};
    gguf_made expected = gguf_made_begin(3, 0);
    dlpark__write_plan plan;

    gguf_made_tensor(&expected, "b", 2, (const uint64_t[]){3, 2}, 0, 0);
    gguf_made_tensor(&expected, "a", 1, (const uint64_t[]){33}, 24, 32);
    gguf_made_tensor(&expected, "c", 4, (const uint64_t[]){4, 3, 2, 1}, 28, 96);
    gguf_made_data(&expected, 32, 0);
    assert_ok(dlpark__gguf_plan(&plan, parts, 3, &options, e));
    assert_head(&plan, &expected);
    assert_int_equal(plan.places[0].offset, plan.head_nbytes);
    assert_int_equal(plan.places[1].offset, plan.head_nbytes + 32);
    assert_int_equal(plan.places[2].offset, plan.head_nbytes + 96);
    assert_int_equal(plan.places[1].nbytes, 33);
    assert_int_equal(plan.nbytes, plan.head_nbytes + 96 + 192); /* with the padding at the end */
    dlpark__write_plan_end(&plan);
    assert_ok(dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    expected = gguf_made_begin(0, 0);
    gguf_made_data(&expected, 32, 0);
    assert_head(&plan, &expected);
    dlpark__write_plan_end(&plan);
}

static void dtypes_of_ggml_are_written(void **state)
{
    static const struct {
        DLDataType dtype;
        unsigned type;
    } rows[] = {
        {{kDLFloat, 32, 1}, 0}, {{kDLFloat, 16, 1}, 1}, {{kDLInt, 8, 1}, 24},    {{kDLInt, 16, 1}, 25},
        {{kDLInt, 32, 1}, 26},  {{kDLInt, 64, 1}, 27},  {{kDLFloat, 64, 1}, 28}, {{kDLBfloat, 16, 1}, 30},
    };
    static const DLDataType others[] = {{kDLUInt, 8, 1},          {kDLUInt, 16, 1},        {kDLBool, 8, 1},
                                        {kDLComplex, 64, 1},      {kDLFloat, 32, 2},       {kDLInt, 4, 1},
                                        {kDLFloat8_e4m3fn, 8, 1}, {kDLFloat4_e2m1fn, 4, 2}};
    const dlpark_file_write_options options = {.format = DLPARK_FILE_GGUF};
    dlpark__write_plan plan;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const dlpark_file_part part = part_of("t", rows[i].dtype, SHAPE(5));
        assert_ok(dlpark__gguf_plan(&plan, &part, 1, &options, e));
        assert_int_equal((unsigned char)plan.head[24 + 8 + 1 + 4 + 8], rows[i].type);
        assert_int_equal(plan.places[0].nbytes, 5 * rows[i].dtype.bits / 8);
        dlpark__write_plan_end(&plan);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const dlpark_file_part part = part_of("t", others[i], SHAPE(4));
        assert_fails(DLPARK_E_UNSUPPORTED, "tensor 't': GGUF has no dtype for ",
                     dlpark__gguf_plan(&plan, &part, 1, &options, e));
        assert_null(plan.head);
    }
}

static void assert_refused(dlpark_status status, const char *message, dlpark_file_part part)
{
    const dlpark_file_write_options options = {.format = DLPARK_FILE_GGUF};
    dlpark__write_plan plan;

    assert_fails(status, message, dlpark__gguf_plan(&plan, &part, 1, &options, e));
    assert_null(plan.head);
    assert_null(plan.places);
}

static void what_ggml_cannot_read_is_refused(void **state)
{
    const int64_t most = INT64_MAX;
    char name[65] = "";

    (void)state;
    assert_refused(DLPARK_E_RANK, "tensor 't' has 0 dimensions, expected 1 to 4", part_of("t", DLPARK_F32, 0, NULL));
    assert_refused(DLPARK_E_RANK, "tensor 't' has 5 dimensions", part_of("t", DLPARK_F32, SHAPE(1, 1, 1, 1, 1)));
    assert_refused(DLPARK_E_SHAPE, "shape[1] is 0, and a GGUF file has extents of 1 and more",
                   part_of("t", DLPARK_F32, SHAPE(2, 0)));
    assert_refused(DLPARK_E_SHAPE, "shape[0] is -1", part_of("t", DLPARK_F32, SHAPE(-1)));
    assert_refused(DLPARK_E_OVERFLOW, "tensor 't': shape [9223372036854775807, 2] has more than 2^63-1 bytes",
                   part_of("t", DLPARK_F64, SHAPE(most, 2)));
    assert_refused(DLPARK_E_OVERFLOW, "has more than 2^63-1 bytes", part_of("t", DLPARK_I8, SHAPE(most, 2)));
    assert_refused(DLPARK_E_LIMIT, "the tensors have more than 2^63-1 bytes together",
                   part_of("t", DLPARK_I8, SHAPE(most)));
    assert_refused(DLPARK_E_ARGUMENT, "the name 'a\\xFF' is no UTF-8", part_of("a\xFF", DLPARK_I8, SHAPE(1)));
    memset(name, 'n', 64);
    assert_refused(DLPARK_E_ARGUMENT, "has 64 bytes, and ggml has room for 63", part_of(name, DLPARK_I8, SHAPE(1)));
    name[63] = '\0';
    const dlpark_file_write_options options = {.format = DLPARK_FILE_GGUF};
    const dlpark_file_part part = part_of(name, DLPARK_I8, SHAPE(1));
    dlpark__write_plan plan;
    assert_ok(dlpark__gguf_plan(&plan, &part, 1, &options, e));
    dlpark__write_plan_end(&plan);
}

static void names_and_keys_are_unique(void **state)
{
    const dlpark_file_part parts[] = {
        part_of("a", DLPARK_I8, SHAPE(1)),
        part_of("b", DLPARK_I8, SHAPE(1)),
        {.name = "bc", .name_nbytes = 1, .dtype = DLPARK_I8, .ndim = 1, .shape = (const int64_t[]){1}}};
    const dlpark_file_pair pairs[] = {
        {text_of("k"), text_of("1")}, {text_of("general.alignment"), text_of("8")}, {text_of("k"), text_of("2")}};
    dlpark_file_write_options options = {.metadata = pairs, .nmetadata = 2};
    dlpark__write_plan plan;

    (void)state;
    assert_ok(dlpark__gguf_plan(&plan, parts, 2, &options, e));
    dlpark__write_plan_end(&plan);
    assert_fails(DLPARK_E_ARGUMENT, "two of the tensors are called 'b'",
                 dlpark__gguf_plan(&plan, parts, 3, &options, e));
    assert_fails(DLPARK_E_ARGUMENT, "two of the tensors are called 'b'",
                 dlpark__gguf_plan(&plan, (const dlpark_file_part[]){parts[1], parts[2], parts[0]}, 3, &options, e));
    options.nmetadata = 3;
    assert_fails(DLPARK_E_ARGUMENT, "two of the metadata are called 'k'",
                 dlpark__gguf_plan(&plan, parts, 2, &options, e));
    assert_null(plan.head);
}

static void metadata_are_strings(void **state)
{
    const dlpark_file_pair pairs[] = {{text_of("general.architecture"), text_of("test")},
                                      {text_of("empty"), {NULL, 0}}};
    const dlpark_file_pair bad[] = {
        {{NULL, 0}, text_of("1")}, {text_of("a\xFF"), text_of("1")}, {text_of("k"), text_of("\xC3")}};
    static const char *const messages[] = {"metadata 0 has a key without letters", "the metadata 'a\\xFF' is no UTF-8",
                                           "the metadata 'k' is no UTF-8"};
    dlpark_file_write_options options = {.metadata = pairs, .nmetadata = 2};
    gguf_made expected = gguf_made_begin(0, 2);
    dlpark__write_plan plan;

    (void)state;
    gguf_made_key(&expected, "general.architecture", MADE_STR);
    gguf_made_string(&expected, "test", 4);
    gguf_made_key(&expected, "empty", MADE_STR);
    gguf_made_string(&expected, "", 0);
    gguf_made_data(&expected, 32, 0);
    assert_ok(dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    assert_head(&plan, &expected);
    dlpark__write_plan_end(&plan);
    for (size_t i = 0; i < 3; i++) {
        options.metadata = &bad[i];
        options.nmetadata = 1;
        assert_fails(DLPARK_E_ARGUMENT, messages[i], dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    }
}

/* One number of each type, alone and in an array of two, then texts. */
static void values_have_types(void **state)
{
    static const uint64_t numbers[] = {0xFEDCBA9876543210, 0x0123456789ABCDEF};
    static const uint8_t flags[] = {1, 0};
    static const struct {
        DLDataType dtype;
        unsigned kind;
    } rows[] = {{{kDLUInt, 8, 1}, 0},   {{kDLInt, 8, 1}, 1},   {{kDLUInt, 16, 1}, 2},  {{kDLInt, 16, 1}, 3},
                {{kDLUInt, 32, 1}, 4},  {{kDLInt, 32, 1}, 5},  {{kDLFloat, 32, 1}, 6}, {{kDLBool, 8, 1}, 7},
                {{kDLUInt, 64, 1}, 10}, {{kDLInt, 64, 1}, 11}, {{kDLFloat, 64, 1}, 12}};
    dlpark__write_plan plan;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t nbytes = rows[i].dtype.bits / 8;
        unsigned char data[16];
        gguf_made expected = gguf_made_begin(0, 3);
        gguf_made_key(&expected, "k", MADE_STR);
        gguf_made_string(&expected, "v", 1);
        gguf_made_key(&expected, "one", rows[i].kind);
        for (size_t item = 0; item < 3; item++) {
            if (item == 1)
                gguf_made_array(&expected, "two", rows[i].kind, 2);
            uint64_t bits = rows[i].kind == 7 ? flags[item / 2] : numbers[item / 2];
            gguf_made_number(&expected, bits, nbytes);
            for (size_t b = 0; b < nbytes; b++) /* in this machine's order */
                data[item / 2 * nbytes + (DLPARK__IS_BIG_ENDIAN ? nbytes - 1 - b : b)] = (unsigned char)(bits >> 8 * b);
        }
        gguf_made_data(&expected, 32, 0);
        const dlpark_file_pair pair = {text_of("k"), text_of("v")};
        const dlpark_file_value values[] = {{text_of("one"), rows[i].dtype, data, 1, false},
                                            {text_of("two"), rows[i].dtype, data, 2, true}};
        const dlpark_file_write_options options = {.metadata = &pair, .nmetadata = 1, .values = values, .nvalues = 2};
        assert_ok(dlpark__gguf_plan(&plan, NULL, 0, &options, e));
        assert_head(&plan, &expected);
        dlpark__write_plan_end(&plan);
    }
}

static void texts_with_types(void **state)
{
    const dlpark_file_text texts[] = {text_of("caf\xC3\xA9"), text_of("\xFF"), {NULL, 0}};
    const dlpark_file_value values[] = {{text_of("name"), {0, 0, 0}, texts, 1, false},
                                        {text_of("tokens"), {0, 0, 0}, texts, 3, true},
                                        {text_of("none"), {kDLFloat, 32, 1}, NULL, 0, true}};
    const dlpark_file_write_options options = {.values = values, .nvalues = 3};
    gguf_made expected = gguf_made_begin(0, 3);
    dlpark__write_plan plan;

    (void)state;
    gguf_made_key(&expected, "name", MADE_STR);
    gguf_made_string(&expected, "caf\xC3\xA9", 5);
    gguf_made_array(&expected, "tokens", MADE_STR, 3);
    gguf_made_string(&expected, "caf\xC3\xA9", 5);
    gguf_made_string(&expected, "\xFF", 1);
    gguf_made_string(&expected, "", 0);
    gguf_made_array(&expected, "none", 6, 0);
    gguf_made_data(&expected, 32, 0);
    assert_ok(dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    assert_head(&plan, &expected);
    dlpark__write_plan_end(&plan);
}

static void values_that_are_refused(void **state)
{
    static const uint8_t bytes[16] = {0, 1, 2};
    const dlpark_file_text broken = text_of("\xC3");
    const struct {
        dlpark_status status;
        const char *message;
        dlpark_file_value value;
    } rows[] = {
        {DLPARK_E_ARGUMENT, "typed metadata 0 has a key without letters", {{NULL, 0}, DLPARK_U8, bytes, 1, false}},
        {DLPARK_E_ARGUMENT, "the metadata 'a\\xFF' is no UTF-8", {text_of("a\xFF"), DLPARK_U8, bytes, 1, false}},
        {DLPARK_E_ARGUMENT, "the metadata 't' is no UTF-8", {text_of("t"), {0, 0, 0}, &broken, 1, false}},
        {DLPARK_E_ARGUMENT, "has a type, expected a text", {text_of("general.alignment"), DLPARK_U32, bytes, 1, false}},
        {DLPARK_E_ARGUMENT, "'k' has 2 values, expected one, or an array", {text_of("k"), DLPARK_U8, bytes, 2, false}},
        {DLPARK_E_ARGUMENT, "'k' has 0 values", {text_of("k"), DLPARK_U8, bytes, 0, false}},
        {DLPARK_E_ARGUMENT,
         "100000001 values, expected at most 100",
         {text_of("k"), DLPARK_U8, bytes, 100000001, true}},
        {DLPARK_E_LIMIT, "and a file has at most 100000000", {text_of("k"), DLPARK_F64, bytes, 100000000, true}},
        {DLPARK_E_UNSUPPORTED, "'k': GGUF has no values of float16", {text_of("k"), DLPARK_F16, bytes, 1, false}},
        {DLPARK_E_ARGUMENT, "'k': byte 2 is neither 0", {text_of("k"), DLPARK_BOOL, bytes, 3, true}},
    };
    const dlpark_file_value twice[] = {{text_of("k"), DLPARK_U8, bytes, 1, false},
                                       {text_of("k"), DLPARK_I8, bytes, 1, false}};
    dlpark_file_write_options options = {.values = twice, .nvalues = 2};
    dlpark__write_plan plan;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "two of the metadata are called 'k'",
                 dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    options.nvalues = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options.values = &rows[i].value;
        assert_fails(rows[i].status, rows[i].message, dlpark__gguf_plan(&plan, NULL, 0, &options, e));
        assert_null(plan.head);
    }
    options.nmetadata = 1;
    options.nvalues = SIZE_MAX;
    assert_fails(DLPARK_E_LIMIT, "metadata, more than", dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    options = (dlpark_file_write_options){.format = DLPARK_FILE_SAFETENSORS, .values = twice, .nvalues = 1};
    assert_fails(DLPARK_E_UNSUPPORTED, "safetensors has no place for metadata with types (1)",
                 dlpark_file_save("/tmp/dlpark-none", NULL, 0, &options, e));
}

/* What the file says, where it says it, and by what its tensors are placed. */
static void an_alignment_is_said_where_it_is_not_32(void **state)
{
    static const struct {
        size_t wanted;
        const char *said; /* among the metadata */
        uint64_t expected;
    } rows[] = {{0, NULL, 32}, {32, NULL, 32}, {1, NULL, 8},   {8, NULL, 8},        {64, NULL, 64}, {4096, NULL, 4096},
                {0, "64", 64}, {0, "32", 32},  {16, "64", 16}, {0, "65536", 65536}, {0, "8", 8}};
    const dlpark_file_part parts[] = {part_of("a", DLPARK_I8, SHAPE(5)), part_of("b", DLPARK_I8, SHAPE(5))};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dlpark_file_pair pairs[] = {{text_of("k"), text_of("v")}, {text_of("general.alignment"), text_of("")}};
        bool is_listed = rows[i].said != NULL, is_said = is_listed || rows[i].expected != 32;
        dlpark_file_write_options options = {
            .metadata = pairs, .nmetadata = 1 + (size_t)is_listed, .alignment_bytes = rows[i].wanted};
        gguf_made expected = gguf_made_begin(2, 1 + (size_t)is_said);
        dlpark__write_plan plan;

        if (is_listed)
            pairs[1].value = text_of(rows[i].said);
        for (int turn = 0; turn < 3; turn++) {
            if (turn == 1) {
                gguf_made_key(&expected, "k", MADE_STR);
                gguf_made_string(&expected, "v", 1);
            } else if (is_said && is_listed == (turn == 2)) {
                gguf_made_key(&expected, "general.alignment", MADE_U32);
                gguf_made_number(&expected, rows[i].expected, 4);
            }
        }
        gguf_made_tensor(&expected, "a", 1, (const uint64_t[]){5}, 24, 0);
        gguf_made_tensor(&expected, "b", 1, (const uint64_t[]){5}, 24, rows[i].expected);
        gguf_made_data(&expected, (size_t)rows[i].expected, 0);
        assert_ok(dlpark__gguf_plan(&plan, parts, 2, &options, e));
        assert_head(&plan, &expected);
        assert_int_equal(plan.places[1].offset, plan.head_nbytes + rows[i].expected);
        dlpark__write_plan_end(&plan);
    }
}

static void alignments_that_are_none(void **state)
{
    static const char *const wrong[] = {"", "x", "32x", "-8", "4", "0", "12", "131072", "08", "99999999999999999999"};
    dlpark__write_plan plan;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const dlpark_file_pair pair = {text_of("general.alignment"), text_of(wrong[i])};
        const dlpark_file_write_options options = {.metadata = &pair, .nmetadata = 1};
        assert_fails(DLPARK_E_ARGUMENT, "the metadata 'general.alignment' is '",
                     dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    }
    const dlpark_file_pair other = {text_of("general.alignmenT"), text_of("x")};
    const dlpark_file_write_options options = {.metadata = &other, .nmetadata = 1};
    assert_ok(dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    dlpark__write_plan_end(&plan);
}

static void a_header_has_a_limit(void **state)
{
    enum { MOST = 100000000 };
    char *text = malloc(MOST);
    dlpark__write_plan plan;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', MOST);
    dlpark_file_pair pair = {text_of("k"), {text, MOST - 24 - 8 - 1 - 4 - 8}};
    const dlpark_file_write_options options = {.metadata = &pair, .nmetadata = 1};
    assert_ok(dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    assert_int_equal(plan.nbytes, MOST);
    dlpark__write_plan_end(&plan);
    pair.value.nbytes++;
    assert_fails(DLPARK_E_LIMIT, "the header would have 100000032 bytes, and a file has at most 100000000",
                 dlpark__gguf_plan(&plan, NULL, 0, &options, e));
    free(text);
    assert_fails(DLPARK_E_LIMIT, "2097151 tensors and 1 metadata, more than 2097150",
                 dlpark__gguf_plan(&plan, NULL, 2097151, &options, e));
    const dlpark_file_write_options many = {.nmetadata = 2097151};
    assert_fails(DLPARK_E_LIMIT, "0 tensors and 2097151 metadata", dlpark__gguf_plan(&plan, NULL, 0, &many, e));
}

static void no_memory_leaves_nothing(void **state)
{
    const dlpark_file_part part = part_of("t", DLPARK_I8, SHAPE(1));
    const dlpark_file_pair pair = {text_of("k"), text_of("v")};
    const dlpark_file_write_options options = {.metadata = &pair, .nmetadata = 1};
    long live = failing_alloc_live(), failed = 0;
    dlpark_status status = DLPARK_E_MEMORY;

    (void)state;
    for (long nth = 1; status != DLPARK_OK; nth++) {
        dlpark__write_plan plan;
        failing_alloc_arm(nth);
        status = dlpark__gguf_plan(&plan, &part, 1, &options, NULL);
        failing_alloc_arm(0);
        failed += status != DLPARK_OK;
        assert_true(status == DLPARK_OK || (status == DLPARK_E_MEMORY && failing_alloc_live() == live));
        dlpark__write_plan_end(&plan);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_int_equal(failed, 6);
}

/* Whole: written, and read again. */
static void what_is_saved_is_what_is_read(void **state)
{
    float values[] = {1, 2, 3, 4, 5, 6};
    int8_t bytes[] = {-1, 2, -3};
    dlpark_view views[2];
    tensor_file_path path = tensor_file_save_bytes("", 0);
    dlpark_file *file = NULL;
    dlpark_file_entry entry;

    (void)state;
    DLTensor matrix = {values, {kDLCPU, 0}, 2, DLPARK_F32, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0}; /* column-major */
    DLTensor row = {bytes, {kDLCPU, 0}, 1, DLPARK_I8, (int64_t[]){3}, NULL, 0};
    assert_ok(dlpark_check(&matrix, 0, &views[0], e));
    assert_ok(dlpark_check(&row, 0, &views[1], e));
    const dlpark_file_part parts[] = {{.name = "m", .view = &views[0]}, {.name = "r", .view = &views[1]}};
    static const int16_t numbers[] = {-300, 7};
    const dlpark_file_value value = {text_of("k"), DLPARK_I16, numbers, 2, true};
    const dlpark_file_write_options options = {.format = DLPARK_FILE_GGUF, .values = &value, .nvalues = 1};
    assert_ok(dlpark_file_save(path.text, parts, 2, &options, e));
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    gguf_made_check(file);
    dlpark_file_text key, text;
    assert_ok(dlpark_file_metadata_get(file, 0, &key, &text, e));
    assert_int_equal(text.nbytes, strlen("[-300, 7]"));
    assert_memory_equal(text.text, "[-300, 7]", text.nbytes);
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_int_equal(entry.shape[0], 3);
    assert_int_equal(entry.shape[1], 2);
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    assert_ok(dlpark_file_load(file, 0, &loaded, e));
    dlpark_tensor_view(&loaded, &view);
    static const float expected[] = {1, 4, 2, 5, 3, 6};
    assert_memory_equal(view.data, expected, sizeof expected);
    dlpark_tensor_release(&loaded);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_come_in_the_order_given),
        cmocka_unit_test(dtypes_of_ggml_are_written),
        cmocka_unit_test(what_ggml_cannot_read_is_refused),
        cmocka_unit_test(names_and_keys_are_unique),
        cmocka_unit_test(metadata_are_strings),
        cmocka_unit_test(values_have_types),
        cmocka_unit_test(texts_with_types),
        cmocka_unit_test(values_that_are_refused),
        cmocka_unit_test(an_alignment_is_said_where_it_is_not_32),
        cmocka_unit_test(alignments_that_are_none),
        cmocka_unit_test(a_header_has_a_limit),
        cmocka_unit_test(no_memory_leaves_nothing),
        cmocka_unit_test(what_is_saved_is_what_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
