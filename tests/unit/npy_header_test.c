#include "npy_file.h"

#include <stdbool.h>

#include "npy/npy_header.h"

enum { FAULTS = 8 };

/* A header as it is read, and every fault of it. */
typedef struct reading {
    dlpark__npy_header header;
    dlpark_file_fault faults[FAULTS];
    size_t count;
    dlpark_status status;
    bool is_read;
} reading;

/* Reads the header in a block of its own size, whose end a sanitizer sees. */
static reading read_made(const tensor_file *made, uint64_t at, uint64_t most)
{
    reading out = {.is_read = false};
    dlpark__file_faults faults = {.lists = true, .list = out.faults, .capacity = FAULTS};
    dlpark__npy_text text = {.bytes = made->bytes,
                             .nbytes = made->nbytes < DLPARK__NPY_PREFIX ? made->nbytes : DLPARK__NPY_PREFIX,
                             .array_nbytes = made->nbytes,
                             .at = at,
                             .name = "x",
                             .name_nbytes = 1,
                             .max_header_nbytes = most,
                             .faults = &faults};
    uint64_t nbytes;

    if (dlpark__npy_header_nbytes(&text, &nbytes)) {
        unsigned char *block = malloc((size_t)nbytes);
        assert_non_null(block);
        memcpy(block, made->bytes, (size_t)nbytes);
        text.bytes = block;
        text.nbytes = (size_t)nbytes;
        out.is_read = dlpark__npy_read_header(&text, &out.header);
        free(block);
        assert_true(!out.is_read || out.header.header_nbytes == nbytes);
    }
    out.count = faults.count;
    out.status = faults.status;
    assert_int_equal(out.is_read, faults.count == 0);
    return out;
}

static reading read_text(int major, const char *text, size_t text_nbytes, size_t data_nbytes)
{
    tensor_file made = npy_file_of(major, text, text_nbytes, data_nbytes);
    reading out = read_made(&made, 0, 0);

    tensor_file_end(&made);
    return out;
}

/* "<f4 [2, 3] 24" of what is read, with "F" for column-major; or the fault: "rule: message (byte 10)". */
static void assert_reading(const reading *found, const char *expected)
{
    char text[512];
    const dlpark__npy_header *header = &found->header;
    size_t used;

    if (!found->is_read) {
        snprintf(text, sizeof text, "%s: %s (byte %llu)", found->faults[0].rule, found->faults[0].message,
                 (unsigned long long)found->faults[0].offset);
        assert_string_equal(found->faults[0].tensor, "x");
        if (strstr(text, expected) == NULL)
            fail_msg("\"%s\" does not contain \"%s\"", text, expected);
        return;
    }
    used = (size_t)snprintf(text, sizeof text, "%s [", dlpark__npy_types[header->type].name);
    for (int32_t i = 0; i < header->ndim; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%lld", i > 0 ? ", " : "", (long long)header->shape[i]);
    snprintf(text + used, sizeof text - used, "] %llu%s", (unsigned long long)header->nbytes,
             header->is_column_major ? " F" : "");
    assert_string_equal(text, expected);
}

static void assert_header(const char *text, size_t data_nbytes, const char *expected)
{
    reading found = read_text(1, text, strlen(text), data_nbytes);

    assert_reading(&found, expected);
    assert_true(found.count < 2);
}

/* ---- What stands before the text ---- */

static void prefixes_are_checked(void **state)
{
    static const char usual[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (), }";
    tensor_file made = npy_file_text(usual, 1);

    (void)state;
    for (size_t nbytes = 0; nbytes < made.nbytes; nbytes++) { /* what is cut off */
        tensor_file cut = {made.bytes, nbytes, 0};
        reading found = read_made(&cut, 0, 0);
        assert_reading(&found, nbytes < 8           ? "magic: does not begin as an array of NumPy's"
                               : nbytes < 10        ? "header-size: ends at byte "
                               : nbytes < made.data ? "header-size: the header has 55 bytes by its length"
                                                    : "truncated: shape [] of |u1 has 1 bytes, and there are 0 behind");
    }
    for (size_t i = 0; i < 6; i++) {
        made.bytes[i] ^= 0x20;
        reading found = read_made(&made, 7, 0);
        assert_reading(&found, "it has 66 bytes (byte 7)");
        made.bytes[i] ^= 0x20;
    }
    for (unsigned version = 0; version < 0x10000; version += version % 256 == 3 ? 253 : 1) {
        made.bytes[6] = (unsigned char)(version >> 8);
        made.bytes[7] = (unsigned char)version;
        if (version == 0x100 || version == 0x200 || version == 0x300)
            continue;
        reading found = read_made(&made, 100, 0);
        char expected[80];
        snprintf(expected, sizeof expected, "version: is of version %u.%u; there are 1.0, 2.0 and 3.0 (byte 106)",
                 version >> 8, version & 0xFF);
        assert_reading(&found, expected);
    }
    tensor_file_end(&made);
    for (int major = 2; major <= 3; major++) {
        made = npy_file_of(major, usual, strlen(usual), 1);
        for (size_t nbytes = 8; nbytes < 12; nbytes++) {
            tensor_file cut = {made.bytes, nbytes, 0};
            reading found = read_made(&cut, 0, 0);
            assert_reading(&found, "within the length of its header (byte 8)");
        }
        made.bytes[11] = 0xFF;
        reading found = read_made(&made, 0, 0);
        assert_reading(&found, "the header has 4278190135 bytes by its length, and there are 56 behind it");
        tensor_file_end(&made);
    }
}

/* Fewer bytes at hand than the array has are a caller's fault, and told as the array's. */
static void less_at_hand_is_no_array(void **state)
{
    tensor_file made = npy_file_array("<f4", false, "(2,)", 8);
    dlpark__file_faults faults = {.lists = true};
    dlpark__npy_text text = {.bytes = made.bytes, .nbytes = 7, .array_nbytes = made.nbytes, .faults = &faults};
    uint64_t nbytes;

    (void)state;
    assert_false(dlpark__npy_header_nbytes(&text, &nbytes));
    text.nbytes = 9;
    assert_false(dlpark__npy_header_nbytes(&text, &nbytes));
    text.nbytes = 10;
    assert_true(dlpark__npy_header_nbytes(&text, &nbytes));
    assert_int_equal(nbytes, made.data);
    assert_int_equal(faults.count, 2);
    dlpark__npy_header header;
    text.nbytes = 7;
    assert_false(dlpark__npy_read_header(&text, &header));
    text.nbytes = made.data - 1;
    assert_false(dlpark__npy_read_header(&text, &header));
    text.nbytes = made.data;
    assert_true(dlpark__npy_read_header(&text, &header));
    assert_int_equal(faults.count, 4);
    assert_true(dlpark__npy_matches(made.bytes, 6));
    assert_false(dlpark__npy_matches(made.bytes, 5));
    assert_false(dlpark__npy_matches(made.bytes + 1, 6));
    tensor_file_end(&made);
}

static void headers_have_a_limit(void **state)
{
    static const size_t sizes[] = {60, 65535, 65536, 1048576, 1048577};
    char *text = malloc(1048578);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(text, ' ', sizes[i]);
        memcpy(text, "{'descr': '|u1', 'fortran_order': False, 'shape': ()}", 53);
        tensor_file made = npy_file_of(2, text, sizes[i], 1);
        reading found = read_made(&made, 0, 0);
        assert_reading(&found, sizes[i] <= 1048576 ? "|u1 [] 1" : "the header has 1048577 bytes, more than 1048576");
        assert_int_equal(found.status, sizes[i] <= 1048576 ? DLPARK_OK : DLPARK_E_LIMIT);
        found = read_made(&made, 0, UINT64_MAX);
        assert_int_equal(found.is_read, sizes[i] <= 1048576);
        found = read_made(&made, 0, 60);
        assert_int_equal(found.is_read, sizes[i] <= 60);
        found = read_made(&made, 0, 59);
        assert_reading(&found, "bytes, more than 59 (byte 8)");
        tensor_file_end(&made);
    }
    free(text);
}

/* ---- The dictionary ---- */

static void dictionaries_of_any_form(void **state)
{
    static const char *const good[] = {
        "{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
        "{\"shape\": (2, 3), \"descr\": \"<f4\", \"fortran_order\": False}\n",
        " \t{ 'fortran_order'\n:\rFalse\f, 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' , } \n\n  ",
        "{'d\\x65scr': '\\074f4', '\\146ortran_order': False, 'sh\\u0061pe': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L)}",
    };
    static const char *const bad[][2] = {
        {"", "literal: the '{' of the header is expected here, not the end (byte 10)"},
        {"(", "not '('"},
        {"{}", "literal: there is no key 'descr' (byte 11)"},
        {"{'descr': '<f4'}", "there is no key 'fortran_order' (byte 25)"},
        {"{'descr': '<f4', 'fortran_order': False}", "there is no key 'shape'"},
        {"{'descr': '<f4', 'shape': (2, 3)}", "there is no key 'fortran_order'"},
        {"{'fortran_order': False, 'shape': (2, 3)}", "there is no key 'descr'"},
        {"{'Descr': '<f4'}", "there is a key 'Descr'; the keys are descr, fortran_order and shape (byte 11)"},
        {"{'descriptions': '<f4'}", "there is a key 'descriptions'"},
        {"{'\x1B[31m': 1}", "there is a key '\\x1B[31m'"},
        {"{'descr': '<f4', 'descr': '<f4'}", "there are two keys 'descr' (byte 27)"},
        {"{'shape': (2,), 'sh\\x61pe': (2,)}", "there are two keys 'shape'"},
        {"{1: 2}", "a key in quotation marks is expected here, not '1'"},
        {"{,}", "a key in quotation marks is expected here, not ','"},
        {"{b'descr': '<f4'}", "not 'b'"},
        {"{'descr' '<f4'}", "':' is expected here, not '''"},
        {"{'descr': '<f4' 'shape': (2,)}", "',' or '}' is expected here, not '''"},
        {"{'descr': '<f4', ", "a key in quotation marks is expected here, not the end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", "',' or '}' is expected here, not the end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}x", "the end of the header is expected here"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} # x", "not '#'"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", "True or False is expected here, not '0'"},
        {"{'descr': '<f4', 'fortran_order': 'False', 'shape': (2, 3)}", "True or False is expected here, not '''"},
        {"{'descr': 4, 'fortran_order': False, 'shape': (2, 3)}", "a dtype in quotation marks is expected here"},
        {"{'descr': None, 'fortran_order': False, 'shape': (2, 3)}", "not 'N'"},
        {"{'descr': {}, 'fortran_order': False, 'shape': (2, 3)}", "not '{'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_header(good[i], 24, "<f4 [2, 3] 24");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_header(bad[i][0], 24, bad[i][1]);
    reading found = read_text(1, "{\0}", 3, 0);
    assert_reading(&found, "not byte 0x00 (byte 11)");
}

static void versions_differ_in_their_text(void **state)
{
    static const char longs[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }";
    static const char latin[] = "{'descr': [('\xE9', '<f4')], 'fortran_order': False, 'shape': (2, 3), }";
    static const char utf8[] = "{'descr': [('\xC3\xA9', '<f4')], 'fortran_order': False, 'shape': (2, 3), }";

    (void)state;
    for (int major = 1; major <= 3; major++) {
        reading found = read_text(major, longs, strlen(longs), 24);
        assert_reading(&found, major < 3 ? "<f4 [2, 3] 24" : "',' or ')' is expected here, not 'L' (byte 64)");
        found = read_text(major, latin, strlen(latin), 24);
        assert_reading(&found, major < 3 ? "the dtype has fields ('\\xE9')"
                                         : "utf8: byte 0xE9 of the header is no UTF-8 (byte 25)");
        found = read_text(major, utf8, strlen(utf8), 24);
        assert_reading(&found, "the dtype has fields ('\xC3\xA9')");
    }
}

/* ---- descr ---- */

static void assert_descr(const char *descr, const char *expected)
{
    tensor_file made = npy_file_array(descr, false, "(2,)", 64);
    reading found = read_made(&made, 0, 0);

    assert_reading(&found, expected);
    if (!found.is_read) {
        assert_string_equal(found.faults[0].rule, "dtype");
        assert_int_equal(found.faults[0].offset, 20);
    }
    tensor_file_end(&made);
}

static void every_dtype_is_known(void **state)
{
    (void)state;
    for (int i = 0; i < DLPARK__NPY_TYPES; i++) {
        const dlpark__index_type *type = &dlpark__npy_types[i];
        static const char kinds[] = "biufc";
        static const uint8_t codes[] = {kDLBool, kDLInt, kDLUInt, kDLFloat, kDLComplex};
        char expected[32];
        snprintf(expected, sizeof expected, "%s [2] %d", type->name, type->dtype.bits / 4);
        assert_descr(type->name, expected);
        assert_int_equal(atoi(type->name + 2), type->dtype.bits / 8);
        assert_int_equal(codes[strchr(kinds, type->name[1]) - kinds], type->dtype.code);
        assert_int_equal(type->dtype.lanes, 1);
        assert_int_equal(type->is_big_endian, type->name[0] == '>');
    }
    for (const char *order = "<>=|"; *order != '\0'; order++) {
        char descr[] = {*order, 'u', '1', '\0'};
        assert_descr(descr, "|u1 [2] 2");
    }
    assert_descr("b1", "|b1 [2] 2");
    assert_descr("i1", "|i1 [2] 2");
}

static void dtypes_are_refused_by_name(void **state)
{
    static const struct {
        const char *descr, *why;
        dlpark_status status;
    } cases[] = {
        {"|O", "dtype '|O' is of Python objects: that is a pickle, which runs code when it is read",
         DLPARK_E_UNSUPPORTED},
        {"O", "Python objects", DLPARK_E_UNSUPPORTED},
        {"|O8", "Python objects", DLPARK_E_UNSUPPORTED},
        {"<U5", "text of 32-bit characters", DLPARK_E_UNSUPPORTED},
        {"|S12", "text of bytes", DLPARK_E_UNSUPPORTED},
        {"|V2", "raw bytes; if they were bfloat16 or a float8, the format has lost that", DLPARK_E_UNSUPPORTED},
        {"<M8[ns]", "dates or times", DLPARK_E_UNSUPPORTED},
        {">m8", "dates or times", DLPARK_E_UNSUPPORTED},
        {"<f16", "a long double, which has other bits on other machines", DLPARK_E_UNSUPPORTED},
        {"<f12", "a long double", DLPARK_E_UNSUPPORTED},
        {">c32", "a long double", DLPARK_E_UNSUPPORTED},
        {"=c24", "a long double", DLPARK_E_UNSUPPORTED},
        {"|S1234567890123456789012345678901234567890123456789012345", "text of bytes", DLPARK_E_UNSUPPORTED},
        {"S12345678901234567890123456789012345678901234567", "text of bytes", DLPARK_E_UNSUPPORTED},
        {"f4", "dtype 'f4' does not say its byte order, '<' or '>'", DLPARK_E_FORMAT},
        {"=f4", "dtype '=f4' does not say its byte order", DLPARK_E_FORMAT},
        {"|i2", "dtype '|i2' does not say its byte order", DLPARK_E_FORMAT},
        {"c16", "does not say its byte order", DLPARK_E_FORMAT},
        {"", "dtype '' is none of the format's", DLPARK_E_FORMAT},
        {"<", "none of the format's", DLPARK_E_FORMAT},
        {"f", "none of the format's", DLPARK_E_FORMAT},
        {"?", "none of the format's", DLPARK_E_FORMAT},
        {"x1", "none of the format's", DLPARK_E_FORMAT},
        {"|x1", "none of the format's", DLPARK_E_FORMAT},
        {"<f1", "none of the format's", DLPARK_E_FORMAT},
        {"<f8 ", "none of the format's", DLPARK_E_FORMAT},
        {"<F4", "none of the format's", DLPARK_E_FORMAT},
        {"<f04", "none of the format's", DLPARK_E_FORMAT},
        {"!f4", "none of the format's", DLPARK_E_FORMAT},
        {"float32", "dtype 'float32' is none of the format's", DLPARK_E_FORMAT},
        {"Unicorn", "dtype 'Unicorn' is none of the format's", DLPARK_E_FORMAT},
        {"<f4,<f4", "none of the format's", DLPARK_E_FORMAT},
        {"2f4", "none of the format's", DLPARK_E_FORMAT},
        {"<f4\\0", "dtype '<f4\\x00' is none of the format's", DLPARK_E_FORMAT},
        {"\\0f4", "none of the format's", DLPARK_E_FORMAT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tensor_file made = npy_file_array(cases[i].descr, false, "(1,)", 64);
        reading found = read_made(&made, 0, 0);
        assert_descr(cases[i].descr, cases[i].why);
        assert_int_equal(found.status, cases[i].status);
        tensor_file_end(&made);
    }
}

static void fields_are_refused_by_name(void **state)
{
    static const char *const cases[][2] = {
        {"[]", "dtype: the dtype has fields ()"},
        {"[('x', '<f4')]", "the dtype has fields ('x'), which no tensor has"},
        {"[('x', '<f4'), ('y', '<i4', (2, 3)), ]", "the dtype has fields ('x', 'y')"},
        {"[(('title', 'x'), '<f4'), ('y', [('z', '<f4')])]", "the dtype has fields ('(...)', 'y')"},
        {"[('', '|V4')]", "the dtype has fields ('')"},
        {"[('descr', '<f4'), ('shape', '<f4'), ('fortran_order', '<f4')]", "('descr', 'shape', 'fortran_order')"},
        {"('<f4', (2,))", "dtype: the dtype is a pair, of a dtype and a shape of its own"},
        {"['x']", "literal: the '(' of a field is expected here, not '''"},
        {"[('x' '<f4')]", "',' or ')' is expected here, not '''"},
        {"[(1, '<f4')]", "the name of a field is expected here, not '1'"},
        {"[((1, x), '<f4')]", "a value is expected here, not 'x'"},
        {"[('x', y)]", "a value is expected here, not 'y'"},
        {"[('x', '<f4'}", "',' or ')' is expected here, not '}'"},
        {"[('x', '<f4')}", "',' or ']' is expected here, not '}'"},
        {"('<f4', x)", "a value is expected here, not 'x'"},
    };
    char text[1500];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "{'descr': %s, 'fortran_order': False, 'shape': (), }", cases[i][0]);
        assert_header(text, 0, cases[i][1]);
    }
    strcpy(text, "{'shape': (), 'fortran_order': True, 'descr': [");
    for (int i = 0; i < 60; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "('f%03d', '<f4'), ", i);
    strcat(text, "]}");
    assert_header(text, 0, "('f000', 'f001', 'f002', ");
}

/* ---- shape ---- */

static void assert_shape(const char *descr, const char *shape, bool is_column_major, size_t data, const char *expected)
{
    tensor_file made = npy_file_array(descr, is_column_major, shape, data);
    reading found = read_made(&made, 0, 0);

    assert_reading(&found, expected);
    tensor_file_end(&made);
}

static void shapes_are_tuples_of_extents(void **state)
{
    static const char *const bad[][2] = {
        {"3", "literal: the '(' of a shape is expected here, not '3'"},
        {"[3]", "the '(' of a shape is expected here, not '['"},
        {"(3)", "literal: a number in brackets is no shape: a comma is missing behind it (byte 60)"},
        {"(,)", "an extent is expected here, not ','"},
        {"(3,,)", "an extent is expected here, not ','"},
        {"(3 4)", "',' or ')' is expected here, not '4'"},
        {"(3,", "an extent is expected here, not ','"},
        {"(03,)", "a number begins with 0"},
        {"(1_0,)", "not '_'"},
        {"(0x3,)", "not 'x'"},
        {"(3.0,)", "not '.'"},
        {"(+3,)", "an extent is expected here, not '+'"},
        {"(True,)", "an extent is expected here, not 'T'"},
        {"('3',)", "an extent is expected here, not '''"},
        {"(3, -1)", "shape: shape[1] is -1 (byte 64)"},
        {"(-0,)", "shape: shape[0] is -0"},
        {"(-11111111111111111111111111111111111111111111112,)",
         "shape[0] is -1111111111111111111111111111111111111111 ("},
        {"(-9223372036854775808,)", "shape[0] is -9223372036854775808"},
        {"(--1,)", "an extent is expected here, not '-'"},
        {"(9223372036854775808,)", "overflow: shape[0] is 9223372036854775808, above 2^63-1 (byte 61)"},
        {"(0, 18446744073709551616)", "shape[1] is 18446744073709551616, above 2^63-1"},
        {"(18446744073709551615,)", "shape[0] is 18446744073709551615, above"},
        {"(184467440737095516160,)", "shape[0] is 184467440737095516160, above"},
        {"(11111111111111111111111111111111111111111111112,)",
         "shape[0] is 1111111111111111111111111111111111111111, above"},
    };

    (void)state;
    assert_shape("<f8", "()", false, 8, "<f8 [] 8");
    assert_shape("<f8", "( )", true, 8, "<f8 [] 8");
    assert_shape("|u1", "(3,)", false, 3, "|u1 [3] 3");
    assert_shape("|u1", "(3, 4)", false, 12, "|u1 [3, 4] 12");
    assert_shape("|u1", "(3,4,)", false, 13, "|u1 [3, 4] 12");
    assert_shape("|u1", "(0,)", false, 0, "|u1 [0] 0");
    assert_shape("<c16", "(3, 0, 5)", false, 0, "<c16 [3, 0, 5] 0");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_shape("|u1", bad[i][0], false, 64, bad[i][1]);
}

static void column_major_is_told_where_it_matters(void **state)
{
    (void)state;
    assert_shape("|u1", "(3, 4)", true, 12, "|u1 [3, 4] 12 F");
    assert_shape("|u1", "(1, 3, 1, 4)", true, 12, "|u1 [1, 3, 1, 4] 12 F");
    assert_shape("|u1", "(3,)", true, 3, "|u1 [3] 3");
    assert_shape("|u1", "(1, 1)", true, 1, "|u1 [1, 1] 1");
    assert_shape("|u1", "(1, 5, 1)", true, 5, "|u1 [1, 5, 1] 5");
    assert_shape("|u1", "(2, 0, 3)", true, 0, "|u1 [2, 0, 3] 0");
}

static void sizes_do_not_overflow(void **state)
{
    static const struct {
        const char *descr, *shape, *expected;
    } cases[] = {
        {"|u1", "(9223372036854775807,)",
         "truncated: shape [9223372036854775807] of |u1 has 9223372036854775807 bytes"},
        {"<f8", "(1152921504606846975,)", "has 9223372036854775800 bytes, and there are 64 behind the header"},
        {"<f8", "(1152921504606846976,)", "overflow: shape [1152921504606846976] of <f8 has more than 2^63-1 bytes"},
        {"<f8", "(2305843009213693952,)", "has more than 2^63-1 bytes"},
        {"<f8", "(4294967296, 4294967296)", "overflow: shape [4294967296, 4294967296] of <f8 has more than 2^63-1"},
        {"|u1", "(3037000500, 3037000500)", "has more than 2^63-1 bytes"},
        {"|u1", "(3037000499, 3037000499)", "truncated: "},
        {"|u1", "(0, 4294967296, 4294967296)", "has more than 2^63-1 bytes"},
        {"|u1", "(4294967296, 4294967296, 0)", "has more than 2^63-1 bytes"},
        {"|u1", "(0, 9223372036854775807)", "|u1 [0, 9223372036854775807] 0"},
        {"<c16", "(5,)", "shape [5] of <c16 has 80 bytes, and there are 64 behind the header (byte 61)"},
        {"<c16", "(4,)", "<c16 [4] 64"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_shape(cases[i].descr, cases[i].shape, false, 64, cases[i].expected);
}

static void so_many_dimensions(void **state)
{
    (void)state;
    for (int ndim = 63; ndim <= 70; ndim++) {
        char shape[300] = "(2", text[700];
        for (int i = 1; i < ndim; i++)
            strcat(shape, ",1");
        strcat(shape, ")");
        snprintf(text, sizeof text, "{'descr': '|u1', 'fortran_order': False, 'shape': %s}", shape);
        reading found = read_text(1, text, strlen(text), 2);
        assert_int_equal(found.is_read, ndim <= 64);
        if (ndim <= 64) {
            assert_int_equal(found.header.ndim, ndim);
            assert_int_equal(found.header.shape[0], 2);
            assert_int_equal(found.header.shape[ndim - 1], 1);
            continue;
        }
        char expected[60];
        snprintf(expected, sizeof expected, "rank: has %d dimensions, more than 64 (byte 60)", ndim);
        assert_reading(&found, expected);
        assert_int_equal(found.status, DLPARK_E_LIMIT);
    }
}

/* ---- More than one fault ---- */

static void faults_are_listed_or_the_first_is_told(void **state)
{
    static const char text[] = "{'shape': (-1, 9223372036854775808), 'descr': '<q4', 'fortran_order': 3}";
    reading found = read_text(1, text, strlen(text), 0);
    tensor_file made = npy_file_text(text, 0);
    dlpark_error err = {.message = ""};
    dlpark__source_name file = {"f.npy"};
    dlpark__file_faults faults = {.file = &file, .err = &err};
    dlpark__npy_text first = {
        .bytes = made.bytes, .nbytes = made.nbytes, .array_nbytes = made.nbytes, .faults = &faults};
    dlpark__npy_header header;

    (void)state;
    assert_int_equal(found.count, 4);
    assert_string_equal(found.faults[0].rule, "shape");
    assert_string_equal(found.faults[1].rule, "overflow");
    assert_string_equal(found.faults[2].rule, "dtype");
    assert_string_equal(found.faults[3].rule, "literal");
    assert_false(dlpark__npy_read_header(&first, &header));
    assert_int_equal(faults.count, 1);
    assert_string_equal(err.message, "f.npy: shape[0] is -1 (byte 21)");
    tensor_file_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_are_checked),
        cmocka_unit_test(less_at_hand_is_no_array),
        cmocka_unit_test(headers_have_a_limit),
        cmocka_unit_test(dictionaries_of_any_form),
        cmocka_unit_test(versions_differ_in_their_text),
        cmocka_unit_test(every_dtype_is_known),
        cmocka_unit_test(dtypes_are_refused_by_name),
        cmocka_unit_test(fields_are_refused_by_name),
        cmocka_unit_test(shapes_are_tuples_of_extents),
        cmocka_unit_test(column_major_is_told_where_it_matters),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(so_many_dimensions),
        cmocka_unit_test(faults_are_listed_or_the_first_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
