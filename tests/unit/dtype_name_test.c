#include "test.h"

#include <stdbool.h>

#include "internal.h"

static DLDataType named(const char *name)
{
    DLDataType dtype = {99, 99, 99};

    assert_ok(dlpark_dtype_from_name(name, &dtype, e));
    return dtype;
}

static void test_own_names_mean_what_they_always_do(void **state)
{
    (void)state;
    for (unsigned code = 0; code <= kDLFloat4_e2m1fn; code++)
        for (unsigned bits = 1; bits <= 128; bits++)
            for (uint16_t lanes = 1; lanes <= 4; lanes += 3) {
                DLDataType dtype = {(uint8_t)code, (uint8_t)bits, lanes};
                if (dlpark_dtype_check(dtype, NULL) != DLPARK_OK)
                    continue;
                assert_true(dlpark_dtype_equal(named(dlpark_dtype_name(dtype).text), dtype));
                assert_true(dlpark_dtype_equal(named(dlpark_dtype_long_name(dtype).text), dtype));
            }
}

/* Written down from the libraries' own documentation, by our short name. */
static const struct {
    const char *theirs;
    const char *ours;
} spellings[] = {
    /* NumPy */
    {"<f2", "f16"},
    {"=f4", "f32"},
    {"<f8", "f64"},
    {"|u1", "u8"},
    {"|i1", "i8"},
    {"|b1", "bool"},
    {">u1", "u8"},
    {"<i2", "i16"},
    {"<i8", "i64"},
    {"=u2", "u16"},
    {"<u8", "u64"},
    {"<c8", "c64"},
    {"<c16", "c128"},
    {"numpy.float32", "f32"},
    {"np.single", "f32"},
    {"np.bool_", "bool"},
    {"np.byte", "i8"},
    {"np.ubyte", "u8"},
    {"numpy.intc", "i32"},
    {"numpy.csingle", "c64"},
    {"cupy.complex128", "c128"},
    /* PyTorch */
    {"torch.float32", "f32"},
    {"torch.float", "f32"},
    {"torch.half", "f16"},
    {"torch.double", "f64"},
    {"torch.bfloat16", "bf16"},
    {"torch.int", "i32"},
    {"torch.short", "i16"},
    {"torch.long", "i64"},
    {"torch.uint8", "u8"},
    {"torch.bool", "bool"},
    {"torch.cfloat", "c64"},
    {"torch.cdouble", "c128"},
    {"torch.chalf", "c32"},
    {"torch.complex32", "c32"},
    {"torch.float8_e4m3fn", "f8_e4m3fn"},
    {"torch.float8_e8m0fnu", "f8_e8m0fnu"},
    {"torch.float4_e2m1fn_x2", "f4_e2m1fnx2"},
    {"torch.uint4", "u4"},
    {"half", "f16"},
    {"double", "f64"},
    {"long", "i64"},
    {"short", "i16"},
    /* ml_dtypes, JAX, MLX, TensorFlow */
    {"ml_dtypes.float8_e4m3b11fnuz", "f8_e4m3b11fnuz"},
    {"jax.numpy.bfloat16", "bf16"},
    {"jnp.int4", "i4"},
    {"mlx.core.bool_", "bool"},
    {"tf.half", "f16"},
    {"tensorflow.uint16", "u16"},
    /* safetensors and GGML */
    {"BOOL", "bool"},
    {"U8", "u8"},
    {"I8", "i8"},
    {"I16", "i16"},
    {"U16", "u16"},
    {"I32", "i32"},
    {"U32", "u32"},
    {"I64", "i64"},
    {"U64", "u64"},
    {"F16", "f16"},
    {"BF16", "bf16"},
    {"F32", "f32"},
    {"F64", "f64"},
    {"C64", "c64"},
    {"F4", "f4_e2m1fn"},
    {"F6_E2M3", "f6_e2m3fn"},
    {"F6_E3M2", "f6_e3m2fn"},
    {"F8_E4M3", "f8_e4m3fn"},
    {"F8_E5M2", "f8_e5m2"},
    {"F8_E8M0", "f8_e8m0fnu"},
    {"F8_E4M3FNUZ", "f8_e4m3fnuz"},
    {"F8_E5M2FNUZ", "f8_e5m2fnuz"},
};

static void test_other_spellings(void **state)
{
    (void)state;
    const bool is_foreign = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__; /* "<f2" is not of such a machine */
    for (size_t i = 0; !is_foreign && i < sizeof spellings / sizeof spellings[0]; i++) {
        dlpark_name ours = dlpark_dtype_name(named(spellings[i].theirs));
        if (strcmp(ours.text, spellings[i].ours) != 0)
            fail_msg("%s is %s, expected %s", spellings[i].theirs, ours.text, spellings[i].ours);
    }
    assert_int_equal(named("np.long").bits, sizeof(long) * 8);
}

static void refuse(const char *name, const char *text)
{
    DLDataType out = {77, 78, 79};

    assert_fails(DLPARK_E_DTYPE, text, dlpark_dtype_from_name(name, &out, e));
    assert_true(dlpark_dtype_equal(out, (DLDataType){77, 78, 79}));
}

static void test_what_is_not_clear_is_refused_with_what_it_may_mean(void **state)
{
    (void)state;
    refuse("float",
           "\"float\" is not clear as a dtype; did you mean float32 (torch.float) or float64 (Python, NumPy)?");
    refuse("int", "int32 (torch.int) or int64");
    refuse("np.float", "\"np.float\" is not clear");
    refuse("f4", "did you mean float32, which is f32 or <f4?");
    refuse("f8", "float64");
    refuse("c16", "complex128");
    refuse("byte", "int8 (NumPy) or uint8");
    refuse("cfloat", "complex64 (torch.cfloat)");
    refuse("float8", "float8_e4m3fn or float8_e5m2");
    refuse("torch.uint", "uint32");
}

static void test_the_other_byte_order_is_refused_by_name(void **state)
{
    (void)state;
    const uint16_t probe = 1;
    bool is_little = *(const unsigned char *)&probe == 1;

    refuse(is_little ? ">f4" : "<f4", "f4\" is of the other byte order, which DLPack cannot express");
    refuse(is_little ? ">c16" : "<c16", "other byte order");
}

static void test_what_was_probably_meant_is_said(void **state)
{
    (void)state;
    refuse("flaot32", "\"flaot32\" is not a dtype; did you mean float32?");
    refuse("Float32", "did you mean float32?");
    refuse("fp16", "did you mean f16?");
    refuse("bfloat", "did you mean bfloat16?");
    refuse("float8_e4m3fnu", "did you mean float8_e4m3fn");
    refuse("torch.flot16", "\"torch.flot16\" is not a dtype; did you mean float16?");
    refuse("bf-16", "did you mean bf16?");
    refuse("uint_8", "did you mean uint8?");
    refuse("I128", "did you mean i128?");
    refuse("np.i8", "\"np.i8\" is not a dtype; expected");
}

static void test_nonsense_is_refused_with_its_text(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",          "string", "object", "<",      "=",        "<V2",
                                        "<f16",      "<f",     "<f4x2",  "|S1",    "<M8[ns]",  "torch.",
                                        "float32x0", "xyz",    "x",      "numpy.", "\xC3\xA9", "f4_e2m1fnx0"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuse(wrong[i], wrong[i]);
    refuse("string", "expected a name such as float32");
    refuse("<\x1B", "\"<\\x1B\" is not the typestr");
    refuse("a name that is longer than any dtype has ever had, and longer than what a message would quote", "...");
}

static void test_formats_of_whole_blocks_are_called_so(void **state)
{
    (void)state;
    static const char *const blocks[] = {"Q4_0", "Q8_K", "IQ2_XS", "TQ1_0", "MXFP4", "NVFP4"};
    static const char *const others[] = {"Q", "Q_K", "Q/0", "Q:0", "IQ", "I9", "T1", "TQ:", "MXFP5", "NVFP"};
    dlpark_error err;
    DLDataType out;

    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        refuse(blocks[i], "a format of whole blocks");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(dlpark_dtype_from_name(others[i], &out, &err), DLPARK_E_DTYPE);
        assert_null(strstr(err.message, "blocks"));
    }
}

static void test_distances_of_words(void **state)
{
    (void)state;
    static const char longest[] = "abcdefghijklmnopqrstuvwx"; /* 24 characters */
    char longer[sizeof longest + 1];

    snprintf(longer, sizeof longer, "%sy", longest);
    assert_int_equal(dlpark__name_distance("flaot32", 7, "float32"), 1);
    assert_int_equal(dlpark__name_distance("FLOAT", 4, "float"), 1);
    assert_int_equal(dlpark__name_distance(longest, 24, longest), 0);
    assert_int_equal(dlpark__name_distance(longest, 24, ""), 24);
    assert_true(dlpark__name_distance(longer, 25, longest) == SIZE_MAX);
    assert_true(dlpark__name_distance(longest, 24, longer) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_names_mean_what_they_always_do),
        cmocka_unit_test(test_other_spellings),
        cmocka_unit_test(test_what_is_not_clear_is_refused_with_what_it_may_mean),
        cmocka_unit_test(test_the_other_byte_order_is_refused_by_name),
        cmocka_unit_test(test_what_was_probably_meant_is_said),
        cmocka_unit_test(test_nonsense_is_refused_with_its_text),
        cmocka_unit_test(test_formats_of_whole_blocks_are_called_so),
        cmocka_unit_test(test_distances_of_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
