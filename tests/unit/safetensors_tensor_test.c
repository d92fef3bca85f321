#include "tensor_file.h"

#include <stdbool.h>

#include "safetensors/safetensors_parts.h"

static dlpark_status open_text(dlpark_file **file, const char *header, size_t data_nbytes, dlpark_error *err)
{
    tensor_file made = tensor_file_text(header, data_nbytes);
    dlpark_status status = dlpark_file_open_memory(file, made.bytes, made.nbytes, made.bytes, free, NULL, err);

    if (status != DLPARK_OK)
        tensor_file_end(&made);
    return status;
}

/* `fields` are those of a tensor "t". */
static dlpark_status open_tensor(dlpark_file **file, const char *fields, size_t data_nbytes, dlpark_error *err)
{
    char header[4096];

    assert_true(snprintf(header, sizeof header, "{'t':%s}", fields) < (int)sizeof header);
    return open_text(file, header, data_nbytes, err);
}

static void assert_tensor_fails(dlpark_status status, const char *why, const char *fields, size_t data_nbytes)
{
    dlpark_file *file = NULL;

    assert_fails(status, why, open_tensor(&file, fields, data_nbytes, e));
    assert_null(file);
}

/* ---- dtypes ---- */

static const struct {
    const char *word;
    DLDataType dtype;
} types[] = {
    {"BOOL", {kDLBool, 8, 1}},
    {"U8", {kDLUInt, 8, 1}},
    {"I8", {kDLInt, 8, 1}},
    {"F8_E5M2", {kDLFloat8_e5m2, 8, 1}},
    {"F8_E4M3", {kDLFloat8_e4m3fn, 8, 1}},
    {"F8_E8M0", {kDLFloat8_e8m0fnu, 8, 1}},
    {"F8_E4M3FNUZ", {kDLFloat8_e4m3fnuz, 8, 1}},
    {"F8_E5M2FNUZ", {kDLFloat8_e5m2fnuz, 8, 1}},
    {"F4", {kDLFloat4_e2m1fn, 4, 1}},
    {"F6_E2M3", {kDLFloat6_e2m3fn, 6, 1}},
    {"F6_E3M2", {kDLFloat6_e3m2fn, 6, 1}},
    {"I16", {kDLInt, 16, 1}},
    {"U16", {kDLUInt, 16, 1}},
    {"F16", {kDLFloat, 16, 1}},
    {"BF16", {kDLBfloat, 16, 1}},
    {"I32", {kDLInt, 32, 1}},
    {"U32", {kDLUInt, 32, 1}},
    {"F32", {kDLFloat, 32, 1}},
    {"C64", {kDLComplex, 64, 1}},
    {"F64", {kDLFloat, 64, 1}},
    {"I64", {kDLInt, 64, 1}},
    {"U64", {kDLUInt, 64, 1}},
};
enum { TYPES = sizeof types / sizeof *types };

static void every_dtype(void **state)
{
    (void)state;
    for (int i = 0; i < TYPES; i++)
        for (int form = 0; form < 2; form++) { /* as writers have it, and as no writer has */
            char fields[128];
            dlpark_file *file = NULL;
            dlpark_file_entry entry;
            snprintf(fields, sizeof fields,
                     form ? "{ 'dtype':'%s','shape':[8],'data_offsets':[0,%d]}"
                          : "{'dtype':'%s','shape':[8],'data_offsets':[0,%d]}",
                     types[i].word, types[i].dtype.bits);
            assert_ok(open_tensor(&file, fields, types[i].dtype.bits, e));
            assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
            assert_string_equal(entry.type, types[i].word);
            assert_true(dlpark_dtype_equal(entry.dtype, types[i].dtype));
            assert_int_equal(entry.nbytes, types[i].dtype.bits);
            dlpark_file_release(&file);
        }
}

static void words_that_are_no_dtype(void **state)
{
    static const char *const wrong[] = {"",   "f32", "F3",   "F322", "F8_E4M3FN",       "F8_E5M2FNUZ_", "F8_E3M4",
                                        "U4", "I4",  "C128", "Q8",   "F8_E5M2FNUZFNUZ", "BOOL "};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char fields[128], why[64];
        snprintf(fields, sizeof fields, "{'dtype':'%s','shape':[8],'data_offsets':[0,8]}", wrong[i]);
        snprintf(why, sizeof why, "tensor 't': dtype \"%s\" is none of the format's (byte 22)", wrong[i]);
        assert_tensor_fails(DLPARK_E_FORMAT, why, fields, 8);
    }
    assert_tensor_fails(DLPARK_E_FORMAT, "dtype \"\\x1B\" is none",
                        "{'dtype':'\\u001b','shape':[8],'data_offsets':[0,8]}", 8);
    assert_tensor_fails(DLPARK_E_FORMAT, "a dtype in quotation marks is expected here, not '7'",
                        "{'dtype':7,'shape':[8],'data_offsets':[0,8]}", 8);
    assert_tensor_fails(DLPARK_E_FORMAT, "not '{'", "{'dtype':{'F32':null},'shape':[2],'data_offsets':[0,8]}", 8);
}

static void dtypes_change_from_tensor_to_tensor(void **state)
{
    dlpark_file *file = NULL;

    (void)state;
    for (int i = 0; i < TYPES; i++) {
        char header[300];
        int nbytes = types[i].dtype.bits, past = nbytes + types[(i * 5 + 1) % TYPES].dtype.bits;
        snprintf(header, sizeof header,
                 "{'a':{'dtype':'%s','shape':[8],'data_offsets':[0,%d]},"
                 "'b':{'dtype':'%s','shape':[8],'data_offsets':[%d,%d]}}",
                 types[i].word, nbytes, types[(i * 5 + 1) % TYPES].word, nbytes, past);
        assert_ok(open_text(&file, header, (size_t)past, e));
        for (int k = 0; k < 2; k++) {
            dlpark_file_entry entry;
            assert_ok(dlpark_file_entry_get(file, k, &entry, e));
            assert_string_equal(entry.type, types[k == 0 ? i : (i * 5 + 1) % TYPES].word);
        }
        dlpark_file_release(&file);
    }
}

static void words_are_compared_whole(void **state)
{
    const dlpark__json_text text = {"dtypex", 5}, longer = {"dtypex", 6}, zero = {"dtype", 6};

    (void)state;
    assert_true(dlpark__safetensors_is(&text, "dtype"));
    assert_false(dlpark__safetensors_is(&longer, "dtype"));
    assert_false(dlpark__safetensors_is(&zero, "dtype"));
    assert_false(dlpark__safetensors_is(&text, "dtypo"));
    assert_false(dlpark__safetensors_is(&text, ""));
}

/* ---- Shapes ---- */

static void shapes_of_every_form(void **state)
{
    static const struct {
        const char *shape;
        int32_t ndim;
        int64_t extents[4];
        size_t nbytes;
    } rows[] = {
        {"[]", 0, {0}, 1},
        {"[ ]", 0, {0}, 1},
        {"[0]", 1, {0}, 0},
        {"[1]", 1, {1}, 1},
        {"[ 2 , 3 ]", 2, {2, 3}, 6},
        {"[2,3,1,1]", 4, {2, 3, 1, 1}, 6},
        {"[0,2305843009213693951]", 2, {0, 2305843009213693951}, 0},
        {"[1000000000000000000,0]", 2, {1000000000000000000, 0}, 0},
        {"[999999999999999999,0]", 2, {999999999999999999, 0}, 0},
        {"[2147483648,0,1073741823]", 3, {2147483648, 0, 1073741823}, 0},
        {"[0,0]", 2, {0, 0}, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char fields[200];
        dlpark_file *file = NULL;
        dlpark_file_entry entry;
        snprintf(fields, sizeof fields, "{'dtype':'U8','shape':%s,'data_offsets':[0,%zu]}", rows[i].shape,
                 rows[i].nbytes);
        assert_ok(open_tensor(&file, fields, rows[i].nbytes, e));
        assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
        assert_int_equal(entry.ndim, rows[i].ndim);
        assert_memory_equal(entry.shape, rows[i].extents, (size_t)rows[i].ndim * sizeof(int64_t));
        dlpark_file_release(&file);
    }
}

static void shapes_that_are_none(void **state)
{
    static const struct {
        const char *shape, *why;
    } rows[] = {
        {"2", "the '[' of a shape is expected here, not '2'"},
        {"null", "the '[' of a shape is expected here, not 'n'"},
        {"{}", "the '[' of a shape is expected here, not '{'"},
        {"'2'", "the '[' of a shape is expected here, not '\"'"},
        {"['2']", "an extent is expected here, not '\"'"},
        {"[null]", "an extent is expected here, not 'n'"},
        {"[[2]]", "an extent is expected here, not '['"},
        {"[-2]", "an extent is expected here, not '-'"},
        {"[-0]", "an extent is expected here, not '-'"},
        {"[02]", "a number begins with 0"},
        {"[00]", "a number begins with 0"},
        {"[000000000000000000000002]", "a number begins with 0"},
        {"[2.0]", "an extent is written with digits only"},
        {"[2e0]", "an extent is written with digits only"},
        {"[2,]", "an extent is expected here, not ']'"},
        {"[,2]", "an extent is expected here, not ','"},
        {"[2 2]", "',' or ']' is expected here, not '2'"},
        {"[2}", "',' or ']' is expected here, not '}'"},
        {"[18446744073709551616]", "is not below 2^64"},
        {"[0,2305843009213693952]", "has more than 2^64-1 bits"},
        {"[9223372036854775808]", "shape[0] is 9223372036854775808, above 2^63-1 (byte 36)"},
        {"[0,18446744073709551615]", "shape[1] is 18446744073709551615, above 2^63-1"},
        {"[4294967296,4294967296]", "shape [4294967296, 4294967296] of U8 has more than 2^64-1 bits"},
        {"[0,4294967296,4294967296]", "has more than 2^64-1 bits"},
        {"[4294967296,4294967296,0]", "has more than 2^64-1 bits"},
        {"[4294967296,4294967296,4294967296]", "has more than 2^64-1 bits"},
        {"[2305843009213693952]", "has more than 2^64-1 bits"}, /* 2^61 bytes */
        {"[2305843009213693951]", "has 2305843009213693951 bytes, data_offsets [0, 2] span 2"},
        {"[9223372036854775807]", "has more than 2^64-1 bits"},
        {"[3037000500,3037000500]", "has more than 2^64-1 bits"}, /* a product above 2^63 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char fields[200];
        snprintf(fields, sizeof fields, "{'dtype':'U8','shape':%s,'data_offsets':[0,2]}", rows[i].shape);
        assert_tensor_fails(DLPARK_E_FORMAT, rows[i].why, fields, 2);
    }
}

static void sizes_in_bits(void **state)
{
    (void)state;
    for (int i = 0; i < TYPES; i++)
        for (int extent = 0; extent < 10; extent++)
            for (int nbytes = 0; nbytes < 12; nbytes++) {
                char fields[128];
                dlpark_file *file = NULL;
                int bits = extent * types[i].dtype.bits;
                snprintf(fields, sizeof fields, "{'dtype':'%s','shape':[%d],'data_offsets':[0,%d]}", types[i].word,
                         extent, nbytes);
                if (bits % 8 != 0)
                    assert_tensor_fails(DLPARK_E_FORMAT, " bits, which are not whole bytes (byte 9)", fields,
                                        (size_t)nbytes);
                else if (bits / 8 != nbytes)
                    assert_tensor_fails(DLPARK_E_FORMAT, " span ", fields, (size_t)nbytes);
                else
                    assert_ok(open_tensor(&file, fields, (size_t)nbytes, e));
                dlpark_file_release(&file);
            }
    assert_tensor_fails(DLPARK_E_FORMAT, "shape [3] of F4 has 12 bits, which are not whole bytes",
                        "{'dtype':'F4','shape':[3],'data_offsets':[0,2]}", 2);
    assert_tensor_fails(DLPARK_E_FORMAT, "shape [] of F4 has 4 bits", "{'dtype':'F4','shape':[],'data_offsets':[0,1]}",
                        1);
}

static void ranks_up_to_the_limit(void **state)
{
    static const size_t ranks[] = {2, 63, 64, 65, 71, 1000, 65535, 65536, 70000};
    char *header = malloc(2 * 70000 + 100);

    (void)state;
    assert_non_null(header);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        for (int form = 0; form < 2; form++) {
            dlpark_file *file = NULL;
            size_t used = (size_t)sprintf(header, "{'t':{%s'dtype':'U8','shape':[3", form ? " " : "");
            for (size_t d = 1; d < ranks[i]; d++, used += 2)
                memcpy(header + used, ",1", 2);
            strcpy(header + used, "],'data_offsets':[0,3]}}");
            if (ranks[i] > 65535) {
                assert_fails(DLPARK_E_LIMIT, "dimensions, more than 65535", open_text(&file, header, 3, e));
                continue;
            }
            dlpark_file_entry entry;
            assert_ok(open_text(&file, header, 3, e));
            assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
            assert_int_equal(entry.ndim, ranks[i]);
            assert_int_equal(entry.shape[0], 3);
            assert_int_equal(entry.shape[1], 1);
            dlpark_file_release(&file);
        }
    strcpy(header, "{'t':{'dtype':'U16','shape':[3");
    for (int d = 1; d < 70; d++)
        strcat(header, ",1");
    strcat(header, "],'data_offsets':[0,3]}}");
    dlpark_file *file = NULL;
    assert_fails(DLPARK_E_FORMAT, "tensor 't': shape [3, 1, 1, 1", open_text(&file, header, 3, e));
    free(header);
}

/* ---- Offsets ---- */

static void offsets_that_are_none(void **state)
{
    static const struct {
        const char *offsets, *why;
    } rows[] = {
        {"0", "the '[' of data_offsets is expected here, not '0'"},
        {"{}", "the '[' of data_offsets is expected here, not '{'"},
        {"[]", "where the tensor begins is expected here, not ']'"},
        {"[0]", "',' and the tensor's end is expected here, not ']'"},
        {"[0,]", "where the tensor ends is expected here, not ']'"},
        {"[0,8,16]", "the ']' behind two offsets is expected here, not ','"},
        {"[-0,8]", "where the tensor begins is expected here, not '-'"},
        {"[0,8.0]", "where the tensor ends is written with digits only"},
        {"[0,08]", "a number begins with 0"},
        {"['0','8']", "not '\"'"},
        {"[8,0]", "data_offsets [8, 0] end before they begin"},
        {"[0,9]", "data_offsets [0, 9] end 1 bytes behind the file, which has 8 bytes of data"},
        {"[9,9]", "data_offsets [9, 9] end 1 bytes behind the file"},
        {"[0,18446744073709551615]", "end 18446744073709551607 bytes behind the file"},
        {"[18446744073709551615,18446744073709551615]", "end 18446744073709551607 bytes behind the file"},
        {"[18446744073709551615,0]", "end before they begin"},
        {"[0,18446744073709551616]", "not below 2^64"},
        {"[1,9]", "end 1 bytes behind"},
        {"[0,7]", "shape [8] of U8 has 8 bytes, data_offsets [0, 7] span 7"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char fields[200];
        snprintf(fields, sizeof fields, "{'dtype':'U8','shape':[8],'data_offsets':%s}", rows[i].offsets);
        assert_tensor_fails(DLPARK_E_FORMAT, rows[i].why, fields, 8);
    }
}

/* ---- Fields ---- */

static void check_usual_tensor(const char *fields)
{
    dlpark_file *file = NULL;
    dlpark_file_entry entry;

    assert_ok(open_tensor(&file, fields, 24, e));
    assert_int_equal(dlpark_file_count(file), 1);
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_string_equal(entry.type, "F32");
    assert_int_equal(entry.ndim, 2);
    assert_int_equal(entry.shape[0], 2);
    assert_int_equal(entry.shape[1], 3);
    assert_int_equal(entry.nbytes, 24);
    assert_int_equal(dlpark_file_find(file, "t", 1), 0);
    dlpark_file_release(&file);
}

/* What reads the text of every writer fast, and what reads any other, see the same. */
static void fields_in_every_order_and_with_spaces(void **state)
{
    static const char *const fields[] = {"'dtype':'F32'", "'shape':[2,3]", "'data_offsets':[0,24]", "'x':[1,{}]"};
    static const int orders[][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {1, 0, 2, 3}, {1, 2, 0, 3}, {2, 0, 1, 3},
                                    {2, 1, 0, 3}, {3, 0, 1, 2}, {0, 3, 1, 2}, {0, 1, 3, 2}};
    static const char usual[] = "{'dtype':'F32','shape':[2,3],'data_offsets':[0,24]}";

    (void)state;
    check_usual_tensor(usual);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int count = i < 6 ? 3 : 4; count <= 4; count++) {
            char text[256] = "{";
            for (int k = 0; k < count; k++) {
                strcat(text, k > 0 ? "," : "");
                strcat(text, fields[orders[i][k]]);
            }
            strcat(text, "}");
            check_usual_tensor(text);
        }
    for (const char *at = usual; at <= usual + sizeof usual - 1; at++) { /* a space where JSON has one */
        bool is_between =
            at == usual || at[0] == '\0' || strchr("{}[]:,", at[0]) != NULL || strchr("{}[]:,", at[-1]) != NULL;
        if (!is_between)
            continue;
        char text[128];
        snprintf(text, sizeof text, "%.*s \n%s", (int)(at - usual), usual, at);
        check_usual_tensor(text);
    }
    check_usual_tensor("{'d\\u0074ype':'F\\u0033\\u0032','sh\\u0061pe':[2,3],'data\\u005foffsets':[0,24]}");
    check_usual_tensor("{'dtype':'F32','shape':[2,3],'data_offsets':[0,24],'dtypes':1,'':2,'':3,'Shape':{}}");
}

/* The usual text with one byte changed, or none: whatever is wrong is told, by the slow way as well. */
static void usual_text_with_a_byte_changed(void **state)
{
    static const char usual[] = "{'dtype':'U8','shape':[2,3],'data_offsets':[0,6]}";

    (void)state;
    for (size_t at = 0; at < sizeof usual - 1; at++)
        for (const char *byte = "{}[]:,' \t0123a\\-.eU"; *byte != '\0'; byte++) {
            char quick[128], slow[128];
            dlpark_file *one = NULL, *two = NULL;
            dlpark_error first = {.message = ""}, second = {.message = ""};
            memcpy(quick, usual, sizeof usual);
            quick[at] = *byte;
            snprintf(slow, sizeof slow, "%s%s", quick[0] == '{' ? "{\t" : "\t", quick + (quick[0] == '{'));
            dlpark_status status = open_tensor(&one, quick, 6, &first);
            if (open_tensor(&two, slow, 6, &second) != status)
                fail_msg("%s: \"%s\", or \"%s\"", quick, first.message, second.message);
            if (status == DLPARK_OK)
                assert_int_equal(dlpark_file_count(one), dlpark_file_count(two));
            dlpark_file_release(&one);
            dlpark_file_release(&two);
        }
}

static void fields_that_are_missing_or_twice(void **state)
{
    static const struct {
        const char *fields, *why;
    } rows[] = {
        {"1", "the '{' of a tensor is expected here, not '1'"},
        {"[]", "the '{' of a tensor is expected here, not '['"},
        {"['U8',[2],[0,2]]", "the '{' of a tensor is expected here, not '['"},
        {"null", "the '{' of a tensor is expected here, not 'n'"},
        {"{}", "tensor 't' has no \"dtype\" (byte 14)"},
        {"{'shape':[2],'data_offsets':[0,2]}", "tensor 't' has no \"dtype\""},
        {"{'dtype':'U8','data_offsets':[0,2]}", "tensor 't' has no \"shape\""},
        {"{'dtype':'U8','shape':[2]}", "tensor 't' has no \"data_offsets\""},
        {"{'dtype':'U8','dtype':'U8','shape':[2],'data_offsets':[0,2]}",
         "tensor 't' has two fields \"dtype\" (byte 27)"},
        {"{'dtype':'U8','shape':[2],'sh\\u0061pe':[2],'data_offsets':[0,2]}", "tensor 't' has two fields \"shape\""},
        {"{'data_offsets':[0,2],'dtype':'U8','shape':[2],'data_offsets':[0,2]}", "two fields \"data_offsets\""},
        {"{'dtype':'U8','shape':[2],'data_offsets':[0,2],}", "a name in quotation marks is expected here, not '}'"},
        {"{'dtype':'U8','shape':[2],'data_offsets':[0,2]", "',' or '}' is expected here, not the end"},
        {"{'dtype':'U8','shape':[2],'data_offsets':[0,2],'x':1e999}", "beyond every double"},
        {"{'dtype':'U8','shape':[2],'data_offsets':[0,2],'x':}", "a value is expected here"},
        {"{'dtype':'U8' 'shape':[2],'data_offsets':[0,2]}", "',' or '}' is expected here"},
        {"{'dtype' 'U8','shape':[2],'data_offsets':[0,2]}", "':' is expected here"},
        {"{'dtype':'U8", "has no end"},
        {"{'dtype':'", "has no end"},
        {"{'dtype':'U8','shape':[2", "',' or ']' is expected here, not '}'"},
        {"{'dtype':'U8','shape':[2],'data_offsets':[0,2", "the ']' behind two offsets"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_tensor_fails(DLPARK_E_FORMAT, rows[i].why, rows[i].fields, 2);
    assert_tensor_fails(DLPARK_E_FORMAT, "tensor 't' has no \"dtype\"", "{'x':1}", 2);
}

/* ---- Every fault of one tensor ---- */

static void check_faults(const char *fields, size_t data_nbytes, const char *const *rules)
{
    char header[512];
    dlpark_file_fault faults[8];
    size_t count = 0, wanted = 0;

    snprintf(header, sizeof header, "{'t':%s}", fields);
    tensor_file made = tensor_file_text(header, data_nbytes);
    tensor_file_path path = tensor_file_save(&made);
    assert_ok(dlpark_file_check(path.text, NULL, faults, 8, &count, e));
    for (; rules[wanted] != NULL; wanted++)
        if (wanted >= count || strcmp(faults[wanted].rule, rules[wanted]) != 0)
            fail_msg("%s: %s, not %s", fields, wanted < count ? faults[wanted].rule : "nothing", rules[wanted]);
    assert_int_equal(count, wanted);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void faults_of_one_tensor(void **state)
{
    (void)state;
    check_faults("{'dtype':'U8','shape':[2],'data_offsets':[0,2]}", 2, (const char *[]){NULL});
    check_faults("{'dtype':'X','shape':[2],'data_offsets':[0,2]}", 2, (const char *[]){"dtype", NULL});
    check_faults("{'dtype':'X','shape':[9223372036854775808,18446744073709551615],'data_offsets':[1,3]}", 3,
                 (const char *[]){"dtype", "overflow", "overflow", "hole", NULL});
    check_faults("{'dtype':'U8','shape':[9223372036854775808],'data_offsets':[0,2]}", 2,
                 (const char *[]){"overflow", NULL});
    check_faults("{'dtype':'U8','shape':[9223372036854775807,3],'data_offsets':[0,2]}", 2,
                 (const char *[]){"overflow", NULL});
    check_faults("{'dtype':'F4','shape':[3],'data_offsets':[0,2]}", 3, (const char *[]){"bits", "trailing", NULL});
    check_faults("{'dtype':'U8','shape':[3],'data_offsets':[0,2]}", 2, (const char *[]){"size", NULL});
    check_faults("{'dtype':'X','shape':[3],'data_offsets':[2,0]}", 2, (const char *[]){"dtype", "offsets", NULL});
    check_faults("{'dtype':'U8','shape':[3],'data_offsets':[0,3]}", 2, (const char *[]){"truncated", NULL});
    check_faults("{'dtype':'U8','shape':[2]}", 2, (const char *[]){"json", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype),
        cmocka_unit_test(words_that_are_no_dtype),
        cmocka_unit_test(dtypes_change_from_tensor_to_tensor),
        cmocka_unit_test(words_are_compared_whole),
        cmocka_unit_test(shapes_of_every_form),
        cmocka_unit_test(shapes_that_are_none),
        cmocka_unit_test(sizes_in_bits),
        cmocka_unit_test(ranks_up_to_the_limit),
        cmocka_unit_test(offsets_that_are_none),
        cmocka_unit_test(fields_in_every_order_and_with_spaces),
        cmocka_unit_test(usual_text_with_a_byte_changed),
        cmocka_unit_test(fields_that_are_missing_or_twice),
        cmocka_unit_test(faults_of_one_tensor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
