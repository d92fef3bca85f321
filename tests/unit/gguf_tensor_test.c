#include "gguf_made.h"

/* ---- Types ---- */

/* As ggml has them: ggml_type_name(), ggml_blck_size(), ggml_type_size(). */
static const struct {
    uint32_t number;
    const char *name;
    unsigned numel;
    unsigned nbytes;
    bool is_plain;
} types[] = {
    {0, "F32", 1, 4, true},          {1, "F16", 1, 2, true},          {2, "Q4_0", 32, 18, false},
    {3, "Q4_1", 32, 20, false},      {6, "Q5_0", 32, 22, false},      {7, "Q5_1", 32, 24, false},
    {8, "Q8_0", 32, 34, false},      {9, "Q8_1", 32, 36, false},      {10, "Q2_K", 256, 84, false},
    {11, "Q3_K", 256, 110, false},   {12, "Q4_K", 256, 144, false},   {13, "Q5_K", 256, 176, false},
    {14, "Q6_K", 256, 210, false},   {15, "Q8_K", 256, 292, false},   {16, "IQ2_XXS", 256, 66, false},
    {17, "IQ2_XS", 256, 74, false},  {18, "IQ3_XXS", 256, 98, false}, {19, "IQ1_S", 256, 50, false},
    {20, "IQ4_NL", 32, 18, false},   {21, "IQ3_S", 256, 110, false},  {22, "IQ2_S", 256, 82, false},
    {23, "IQ4_XS", 256, 136, false}, {24, "I8", 1, 1, true},          {25, "I16", 1, 2, true},
    {26, "I32", 1, 4, true},         {27, "I64", 1, 8, true},         {28, "F64", 1, 8, true},
    {29, "IQ1_M", 256, 56, false},   {30, "BF16", 1, 2, true},        {34, "TQ1_0", 256, 54, false},
    {35, "TQ2_0", 256, 66, false},   {39, "MXFP4", 32, 17, false},    {40, "NVFP4", 64, 36, false},
    {41, "Q1_0", 128, 18, false},
};
#define TYPES (sizeof types / sizeof types[0])

static void every_type_has_its_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < TYPES; i++) {
        const uint64_t extents[] = {types[i].numel * 2, 3};
        gguf_made made = gguf_made_begin(1, 0);
        dlpark_file *file = NULL;
        dlpark_file_entry entry;

        gguf_made_tensor(&made, "t", 2, extents, types[i].number, 0);
        gguf_made_data(&made, 32, types[i].nbytes * (size_t)6);
        assert_ok(gguf_made_open(&file, &made, e));
        gguf_made_check(file);
        assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
        assert_string_equal(entry.type, types[i].name);
        assert_int_equal(entry.nbytes, types[i].nbytes * 6);
        assert_int_equal(entry.ndim, 2);
        assert_int_equal(entry.shape[0], 3);
        assert_int_equal(entry.shape[1], types[i].is_plain ? 2 : types[i].nbytes * 2);
        assert_int_equal(dlpark_dtype_equal(entry.dtype, DLPARK_U8), !types[i].is_plain);
        assert_int_equal(entry.flags & (DLPARK_FILE_COLUMN_MAJOR | DLPARK_FILE_COMPRESSED), 0);
        dlpark_file_release(&file);
        made.bytes[made.nbytes - types[i].nbytes * 6 - 1] = 0xFF; /* what pads is not looked at */
        if (made.nbytes - types[i].nbytes * 6 > 24 + 8 + 1 + 4 + 16 + 4 + 8)
            assert_ok(gguf_made_open(&file, &made, e));
        dlpark_file_release(&file);
        gguf_made_end(&made);
    }
}

static void every_other_number_is_no_type(void **state)
{
    static const uint32_t removed[] = {4, 5, 31, 32, 33, 36, 37, 38}, unknown[] = {42, 43, 255, 256, UINT32_MAX};
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof removed / sizeof *removed + sizeof unknown / sizeof *unknown; i++) {
        bool is_removed = i < sizeof removed / sizeof *removed;
        uint32_t type = is_removed ? removed[i] : unknown[i - sizeof removed / sizeof *removed];
        gguf_made made = gguf_made_begin(1, 0);
        gguf_made_tensor(&made, "t", 1, (const uint64_t[]){256}, type, 0);
        gguf_made_data(&made, 32, 1024);
        snprintf(text, sizeof text,
                 is_removed ? "is of type %u, which ggml took out" : "is of type %u, and 0 to 41 are", (unsigned)type);
        gguf_made_faults(&made, "type", text);
    }
}

/* ---- Shapes ---- */

static void extents_are_turned_around(void **state)
{
    const uint64_t extents[] = {2, 3, 4, 5};

    (void)state;
    for (uint32_t ndim = 0; ndim <= 4; ndim++) {
        gguf_made made = gguf_made_begin(1, 0);
        dlpark_file *file = NULL;
        dlpark_file_entry entry;
        size_t nbytes = 4;

        for (uint32_t i = 0; i < ndim; i++)
            nbytes *= (size_t)extents[i];
        gguf_made_tensor(&made, "t", ndim, extents, 0, 0);
        gguf_made_data(&made, 32, nbytes);
        assert_ok(gguf_made_open(&file, &made, e));
        gguf_made_check(file);
        assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
        assert_int_equal(entry.ndim, ndim);
        for (uint32_t i = 0; i < ndim; i++)
            assert_int_equal(entry.shape[i], extents[ndim - 1 - i]);
        dlpark_file_release(&file);
        gguf_made_end(&made);
    }
}

static void assert_shape(const char *rule, const char *message, uint32_t ndim, const uint64_t *extents, uint32_t type,
                         size_t nbytes)
{
    gguf_made made = gguf_made_begin(1, 0);

    gguf_made_tensor(&made, "t", ndim, extents, type, 0);
    gguf_made_data(&made, 32, nbytes);
    gguf_made_faults(&made, rule, message);
}

#define EXTENTS(...)                                                                                                   \
    (sizeof((uint64_t[]){__VA_ARGS__}) / 8), (const uint64_t[])                                                        \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void shapes_that_are_none(void **state)
{
    const uint64_t most = INT64_MAX, half = UINT64_C(1) << 32;

    (void)state;
    assert_shape("rank", "has 5 dimensions, more than 4", EXTENTS(1, 1, 1, 1, 1), 0, 4);
    assert_shape("overflow", "extent 1 is 9223372036854775808, above 2^63-1", EXTENTS(1, most + 1), 0, 4);
    assert_shape("overflow", "shape [4294967296, 4294967296] of F32 has more than 2^63-1 bytes", EXTENTS(half, half), 0,
                 4);
    assert_shape("overflow", "of F64 has more than 2^63-1 bytes", EXTENTS(UINT64_C(1) << 60), 28, 4);
    assert_shape("overflow", "of I8 has more than", EXTENTS(half, half, half, half), 24, 4);
    assert_shape("overflow", "of F32 has more than", EXTENTS(half, 0, half), 0, 4);
    assert_shape("overflow", "of F32 has more than", EXTENTS(0, most), 0, 4);
    assert_shape("overflow", "of Q4_0 has more than", EXTENTS(UINT64_C(0x7FFFFFFFFFFFFFE0), 4), 2, 4);
    assert_shape("overflow", "of Q8_0 has more than", EXTENTS(UINT64_C(0x7FFFFFFFFFFFFFE0)), 8, 4);
    assert_shape("block", "shape [2, 33] of Q4_0 has rows of 33 elements, which are not whole blocks of 32",
                 EXTENTS(33, 2), 2, 64);
    assert_shape("block", "shape [] of Q8_K has rows of 1 elements", 0, NULL, 15, 512);
    assert_shape("truncated", "its 9223372036854775807 bytes begin at 0 of the data, of which the file has 4",
                 EXTENTS(most), 24, 4);
}

static void tensors_without_elements(void **state)
{
    (void)state;
    assert_shape("", "", EXTENTS(0), 0, 0);
    assert_shape("", "", EXTENTS(0, 3), 2, 0);
    assert_shape("", "", EXTENTS(32, 0), 2, 0);
    assert_shape("", "", EXTENTS(1, 2, 0, 3), 28, 0);
}

/* ---- Names, places ---- */

static void names_are_any_text(void **state)
{
    gguf_made made = gguf_made_begin(4, 0);
    dlpark_file *file = NULL;
    char name[101] = "";

    (void)state;
    memset(name, 'n', 100); /* ggml has room for 63 */
    gguf_made_tensor(&made, name, EXTENTS(8), 0, 0);
    gguf_made_string(&made, "a\0b", 3);
    gguf_made_number(&made, 0, 4 + 4);
    gguf_made_number(&made, 32, 8);
    gguf_made_tensor(&made, "", EXTENTS(8), 0, 64);
    gguf_made_tensor(&made, "../\xC3\xA9", EXTENTS(1), 0, 96);
    gguf_made_data(&made, 32, 100);
    assert_ok(gguf_made_open(&file, &made, e));
    gguf_made_check(file);
    assert_int_equal(dlpark_file_find(file, name, 100), 0);
    assert_int_equal(dlpark_file_find(file, "a\0b", 3), 1);
    assert_int_equal(dlpark_file_find(file, "", 0), 2);
    assert_int_equal(dlpark_file_find(file, "a", 1), -1);
    dlpark_file_release(&file);
    gguf_made_end(&made);
}

static void broken_tensors_are_left_out_and_told(void **state)
{
    gguf_made made = gguf_made_begin(6, 0);

    (void)state;
    gguf_made_tensor(&made, "a\xFF", EXTENTS(8), 0, 0);
    gguf_made_tensor(&made, "rank", EXTENTS(1, 1, 1, 1, 1, 1), 0, 32);
    gguf_made_tensor(&made, "type", EXTENTS(1), 99, 64);
    gguf_made_tensor(&made, "place", EXTENTS(1), 0, 97);
    gguf_made_tensor(&made, "outside", EXTENTS(1), 0, 1024);
    gguf_made_tensor(&made, "good", EXTENTS(8), 0, 160);
    gguf_made_data(&made, 32, 192 + 500);
    gguf_made_faults(&made, "utf8 rank type offset truncated",
                     "begins at 97 of the data, which is no multiple of 32, the file's alignment");
    made = gguf_made_begin(1, 0); /* the extents end behind the file */
    gguf_made_string(&made, "t", 1);
    gguf_made_number(&made, UINT32_MAX, 4);
    gguf_made_data(&made, 1, 40);
    gguf_made_faults(&made, "rank truncated", "has 4294967295 dimensions, more than 4");
    static const uint64_t begins[] = {1, UINT64_MAX, UINT64_MAX - 31};
    for (size_t i = 0; i < 3; i++) {
        made = gguf_made_begin(1, 0);
        gguf_made_tensor(&made, "t", EXTENTS(8), 0, begins[i]);
        gguf_made_data(&made, 32, 64);
        gguf_made_faults(&made, i < 2 ? "offset" : "truncated", "begin");
    }
}

static void faults_have_the_tensor_and_its_byte(void **state)
{
    gguf_made made = gguf_made_begin(2, 0);
    dlpark_file *file = NULL;

    (void)state;
    gguf_made_tensor(&made, "good", EXTENTS(1), 0, 0); /* at 24, of 8 + 4 + 4 + 8 + 4 + 8 bytes */
    gguf_made_tensor(&made, "bad", EXTENTS(1), 5, 32);
    gguf_made_data(&made, 32, 64);
    assert_fails(DLPARK_E_FORMAT, "tensor 'bad': is of type 5, which ggml took out (byte 83)",
                 gguf_made_open(&file, &made, e));
    made.bytes[24 + 36 + 8 + 3 + 4 + 8] = 0; /* F32 */
    made.bytes[24 + 36 + 8 + 3 + 4 + 8 + 4] = 64;
    assert_fails(DLPARK_E_FORMAT,
                 "tensor 'bad': its 4 bytes begin at 64 of the data, of which the file has 64 (byte 60)",
                 gguf_made_open(&file, &made, e));
    gguf_made_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_its_size),
        cmocka_unit_test(every_other_number_is_no_type),
        cmocka_unit_test(extents_are_turned_around),
        cmocka_unit_test(shapes_that_are_none),
        cmocka_unit_test(tensors_without_elements),
        cmocka_unit_test(names_are_any_text),
        cmocka_unit_test(broken_tensors_are_left_out_and_told),
        cmocka_unit_test(faults_have_the_tensor_and_its_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
