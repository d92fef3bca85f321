#include "test.h"

#include <stdbool.h>

#include "spec/spec_parts.h"
#include "spec_recogniser.h"

static dlpark_spec spec;
static dlpark_spec_names names;

/* Names with the arguments `a` and `image_2`, and nothing else. */
static void declare(void)
{
    memset(&names, 0, sizeof names);
    assert_int_equal(dlpark_spec_init(&spec, &names, "a", "any", NULL), DLPARK_OK);
    assert_int_equal(dlpark_spec_init(&spec, &names, "image_2", "u8[h,w,3] c", NULL), DLPARK_OK);
}

static dlpark_status parse(const char *text, bool is_result, dlpark_error *err)
{
    return is_result ? dlpark_spec_init_result(&spec, &names, text, err)
                     : dlpark_spec_init(&spec, &names, NULL, text, err);
}

/* ---- The grammar of the manual ---- */

static grammar manual;

static int read_manual(void **state)
{
    (void)state;
    grammar_read(&manual, DLPARK_PAGES "/spec.md", 20240615);
    return 0;
}

/* What the manual says beside the grammar: the reasons for which a sentence of it may be refused. */
static bool is_beside_grammar(const char *message)
{
    static const char *const reasons[] = {"is a second word about",
                                          "stands here a second time",
                                          "a second \"...\"",
                                          "is not declared",
                                          "is possible",
                                          "at most",
                                          "is not a power of two",
                                          "only a result may have",
                                          "\"opaque"};

    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strstr(message, reasons[i]) != NULL)
            return true;
    const char *token = strstr(message, "is not a dtype") == NULL ? NULL : strchr(message, '"');
    const char *lanes = token == NULL ? NULL : strchr(token, 'x');
    return lanes != NULL && strspn(lanes + 1, "0123456789") >= 5;
}

/* Reads "column N: " and returns N. */
static size_t column_of(const char *message)
{
    size_t column = 0;

    if (strncmp(message, "column ", 7) != 0)
        fail_msg("no column: %s", message);
    for (message += 7; *message >= '0' && *message <= '9'; message++)
        column = column * 10 + (size_t)(*message - '0');
    assert_memory_equal(message, ": ", 2);
    return column;
}

/* Whether the text is a spec; if not, the message and the untouched output are looked at. */
static bool is_accepted(const char *text, bool is_result, dlpark_error *err)
{
    dlpark_spec before;
    int32_t ndims = names.ndims;

    memset(&spec, 0xA7, sizeof spec);
    memcpy(&before, &spec, sizeof spec);
    if (parse(text, is_result, err) == DLPARK_OK)
        return true;
    assert_int_equal(err->status, DLPARK_E_ARGUMENT);
    assert_in_range(column_of(err->message), 1, strlen(text) + 1);
    assert_memory_equal(&spec, &before, sizeof spec);
    assert_int_equal(names.ndims, ndims);
    return false;
}

/* What is printed of the spec gives the same spec, and is printed the same. */
static void check_round_trip(const char *text, bool is_result)
{
    dlpark_spec first;
    char printed[1024], again[1024];

    memcpy(&first, &spec, sizeof spec);
    assert_in_range(dlpark_spec_text(&first, NULL, printed, sizeof printed), 1, sizeof printed - 1);
    if (parse(printed, is_result, NULL) != DLPARK_OK || memcmp(&spec, &first, sizeof spec) != 0)
        fail_msg("\"%s\" is printed as \"%s\", which is another spec", text, printed);
    dlpark_spec_text(&spec, NULL, again, sizeof again);
    assert_string_equal(again, printed);
}

static void make_sentence(char *text)
{
    do {
        memset(text, 0, 4096);
        for (int i = 0; i < manual.nnodes; i++)
            manual.nodes[i].met = false;
        grammar_make_rule(&manual, "tensor", false, text);
    } while (strlen(text) > GRAMMAR_LONGEST);
}

static void every_sentence_of_the_grammar_is_parsed(void **state)
{
    (void)state;
    char text[4096];
    int accepted = 0;

    for (int n = 0; n < 2500; n++) {
        dlpark_error err;
        bool is_result = n % 2;
        make_sentence(text);
        assert_true(grammar_recognises(&manual, "tensor", text));
        declare();
        if (!is_accepted(text, is_result, &err)) {
            if (!is_beside_grammar(err.message))
                fail_msg("\"%s\" is a sentence of the manual: %s", text, err.message);
            continue;
        }
        accepted++;
        check_round_trip(text, is_result);
        for (int i = 0; i < manual.nnodes; i++)
            manual.nodes[i].proved |= manual.nodes[i].met;
    }
    assert_in_range(accepted, 1000, 2500);
    for (int i = 0; i < manual.nnodes; i++)
        if (manual.nodes[i].kind == GRAMMAR_LITERAL && !manual.nodes[i].proved &&
            strcmp(manual.rules[manual.nodes[i].rule].name, "letter") != 0)
            fail_msg("no sentence with \"%s\" was ever parsed", manual.nodes[i].text);
}

/* One byte changed, added, dropped or exchanged with its neighbour, or the tail cut off. */
static void mutate(char *text)
{
    static const char bytes[] = "[]()|,.:=?_ -+x019acfimnsu\n\x80\x01\"%";
    size_t length = strlen(text), at = grammar_random(&manual, (unsigned)length + 1);
    char byte = bytes[grammar_random(&manual, sizeof bytes - 1)];

    switch (grammar_random(&manual, 5)) {
    case 0:
        text[at < length ? at : 0] = byte;
        break;
    case 1:
        memmove(text + at + 1, text + at, length + 1 - at);
        text[at] = byte;
        break;
    case 2:
        memmove(text + at, text + at + (at < length), length + 1 - at);
        break;
    case 3:
        if (at + 1 < length) {
            byte = text[at];
            text[at] = text[at + 1];
            text[at + 1] = byte;
        }
        break;
    default:
        text[at] = '\0';
    }
}

static void what_the_grammar_does_not_describe_is_refused(void **state)
{
    (void)state;
    char text[4096];
    int refused = 0;

    for (int n = 0; n < 3000; n++) {
        dlpark_error err;
        make_sentence(text);
        for (unsigned count = 1 + grammar_random(&manual, 3); count > 0; count--)
            mutate(text);
        text[GRAMMAR_LONGEST] = '\0';
        bool is_sentence = grammar_recognises(&manual, "tensor", text);
        declare();
        if (is_accepted(text, true, &err)) {
            if (!is_sentence)
                fail_msg("\"%s\" was parsed, and is no sentence of the manual", text);
            check_round_trip(text, true);
        } else if (is_sentence && !is_beside_grammar(err.message)) {
            fail_msg("\"%s\" is a sentence of the manual: %s", text, err.message);
        }
        refused += !is_sentence;
    }
    assert_in_range(refused, 1000, 3000); /* a mutation that never hurts proves nothing */
}

static void check_described(const char *before, const char *word, const char *after)
{
    char text[96];

    snprintf(text, sizeof text, "%s%s%s", before, word, after);
    declare();
    if (parse(text, false, NULL) != DLPARK_OK)
        fail_msg("\"%s\" was not parsed", text);
    if (!grammar_recognises(&manual, "tensor", text))
        fail_msg("\"%s\" was parsed, and the manual does not have it", text);
}

static void the_grammar_has_every_word_and_form_that_is_parsed(void **state)
{
    (void)state;
    for (int triple = 0; triple < 32 * 256; triple++) {
        DLDataType dtype = {(uint8_t)(triple / 256), (uint8_t)(triple % 256), 1};
        if (dlpark_dtype_check(dtype, NULL) != DLPARK_OK)
            continue;
        check_described("", dlpark_dtype_name(dtype).text, "");
        check_described("", dlpark_dtype_long_name(dtype).text, dtype.code == kDLComplex ? "x1" : "x12");
    }
    for (int type = 0; type < 64; type++)
        if (dlpark_device_check(DLPARK_DEVICE(type, 0), NULL) == DLPARK_OK) {
            check_described("any ", dlpark__spec_device_word(type).text, "");
            check_described("any ", dlpark__spec_device_word(type).text, ":10");
        }
    static const char *const forms[] = {"any[]",     "any[_]",       "any[...]",  "any[0]",       "any[n,_3]",
                                        "same(a)",   "f32|f64",      "any c mut", "any cpu|cuda", "any align=1",
                                        "any [ n ]", "same ( a ) c", "any[n]c",   "any cuda : 1", "any as = jax\t\r\n"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        check_described("", forms[i], "");
    for (int i = 0; i < DLPARK__SPEC_NWORDS; i++)
        check_described("any ", dlpark__spec_words[i].name, "");
    for (int i = 1; i < DLPARK__SPEC_NFRAMEWORKS; i++)
        check_described("any as=", dlpark__spec_frameworks[i], "");
}

/* ---- What a spec holds ---- */

static void every_field_is_filled(void **state)
{
    (void)state;
    declare();
    assert_ok(
        dlpark_spec_init(&spec, &names, "x",
                         "f32|float64|f32 [n, _ ,..., 12,h] c mut none convert cpu|cuda:1|metal align=64 as=torch", e));
    assert_ptr_equal(spec.names, &names);
    assert_int_equal(spec.flags, DLPARK_SPEC_C | DLPARK_SPEC_MUT | DLPARK_SPEC_NONE | DLPARK_SPEC_CONVERT);
    assert_int_equal(spec.device_types,
                     1u << kDLCPU | 1u << kDLCUDAHost | 1u << kDLROCMHost | 1u << kDLCUDAManaged | 1u << kDLMetal);
    assert_int_equal(spec.argument, 2);
    assert_int_equal(spec.same, -1);
    assert_int_equal(spec.ndtypes, 2);
    assert_true(dlpark_dtype_equal(spec.dtypes[0], DLPARK_F32));
    assert_true(dlpark_dtype_equal(spec.dtypes[1], DLPARK_F64));
    assert_int_equal(spec.ndims, 4);
    assert_int_equal(spec.ndims_leading, 2);
    assert_int_equal(spec.ndims_extra, DLPARK_MAX_NDIM);
    assert_int_equal(spec.ndevices, 1);
    assert_true(dlpark_device_equal(spec.devices[0], DLPARK_DEVICE(kDLCUDA, 1)));
    assert_int_equal(spec.framework, DLPARK_SPEC_AS_TORCH);
    assert_int_equal(spec.alignment_bytes, 64);
    assert_string_equal(names.dims[~spec.dims[0]], "n");
    assert_true(spec.dims[1] == DLPARK_SPEC_DIM_ANY);
    assert_true(spec.dims[2] == 12);
    assert_string_equal(names.dims[~spec.dims[3]], "h");
    assert_int_equal(names.ndims, 3); /* h and w were there */
    assert_string_equal(names.arguments[2], "x");
}

static void ranks_have_three_forms(void **state)
{
    (void)state;
    declare();
    assert_ok(dlpark_spec_init(&spec, &names, NULL, "any", e));
    assert_int_equal(spec.ndims, 0);
    assert_int_equal(spec.ndims_extra, DLPARK_MAX_NDIM);
    assert_int_equal(spec.argument, -1);
    assert_int_equal(spec.ndtypes, 0);
    assert_true(spec.device_types == UINT32_MAX);
    assert_ok(dlpark_spec_init(&spec, &names, NULL, "any[]", e));
    assert_int_equal(spec.ndims, 0);
    assert_int_equal(spec.ndims_extra, 0);
    assert_ok(dlpark_spec_init(&spec, &names, NULL, "same(image_2)[9223372036854775807,0]", e));
    assert_int_equal(spec.same, 1);
    assert_int_equal(spec.ndims_leading, 2);
    assert_true(spec.dims[0] == INT64_MAX);
    assert_true(spec.dims[1] == 0);
}

static void a_result_may_not_know_its_extents(void **state)
{
    (void)state;
    declare();
    assert_ok(dlpark_spec_init_result(&spec, &names, "i64[?,3]", e));
    assert_int_equal(spec.flags, DLPARK_SPEC_RESULT);
    assert_true(spec.dims[0] == DLPARK_SPEC_DIM_UNKNOWN);
    assert_fails(DLPARK_E_ARGUMENT, "column 5: only a result may have \"?\"; \"_\" is any extent",
                 dlpark_spec_init(&spec, &names, NULL, "i64[?,3]", e));
}

static void every_framework_and_device_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        dlpark_spec_framework framework;
    } frameworks[] = {{"any as=dlpark", DLPARK_SPEC_AS_DLPARK},
                      {"any as=numpy", DLPARK_SPEC_AS_NUMPY},
                      {"any as=torch", DLPARK_SPEC_AS_TORCH},
                      {"any as=jax", DLPARK_SPEC_AS_JAX},
                      {"any as=cupy", DLPARK_SPEC_AS_CUPY},
                      {"any as=mlx", DLPARK_SPEC_AS_MLX},
                      {"any as=tensorflow", DLPARK_SPEC_AS_TENSORFLOW},
                      {"any as=memoryview", DLPARK_SPEC_AS_MEMORYVIEW}};

    declare();
    for (size_t i = 0; i < sizeof frameworks / sizeof frameworks[0]; i++) {
        assert_ok(dlpark_spec_init(&spec, &names, NULL, frameworks[i].text, e));
        assert_int_equal(spec.framework, frameworks[i].framework);
    }
    for (int type = 2; type < 19; type++) {
        char text[80] = "any ";
        DLDevice device = DLPARK_DEVICE(type, 0);
        if (dlpark_device_check(device, NULL))
            continue;
        strcat(text, dlpark_device_name(device).text);
        text[strcspn(text, ":")] = '\0';
        assert_ok(dlpark_spec_init(&spec, &names, NULL, text, e));
        assert_true(spec.device_types == 1u << type);
    }
}

/* ---- Part of a longer text ---- */

static void a_spec_may_stand_in_a_signature(void **state)
{
    (void)state;
    const char text[] = "add(a: f32[n] c, b: same(a)[n]) -> same(a)[n]; more";
    const char *b = strstr(text, "b:"), *result = strstr(text, "same(a)[n];");
    size_t end = 0;

    memset(&names, 0, sizeof names);
    dlpark_spec_source source = {text, sizeof text - 1, 7, text + 4, 1, false};
    assert_ok(dlpark_spec_init_at(&spec, &names, &source, &end, e));
    assert_int_equal(text[end], ',');
    assert_int_equal(spec.flags, DLPARK_SPEC_C);
    source = (dlpark_spec_source){text, sizeof text - 1, (size_t)(b - text) + 2, b, 1, false};
    assert_ok(dlpark_spec_init_at(&spec, &names, &source, &end, e));
    assert_int_equal(text[end], ')');
    assert_string_equal(names.arguments[spec.argument], "b");
    source = (dlpark_spec_source){text, sizeof text - 1, (size_t)(result - text), NULL, 0, true};
    assert_ok(dlpark_spec_init_at(&spec, &names, &source, &end, e));
    assert_int_equal(text[end], ';');
    source.length -= 6;
    assert_ok(dlpark_spec_init_at(&spec, &names, &source, &end, e));
    assert_int_equal(end, sizeof text - 7);
    assert_int_equal(names.ndims, 1);
    assert_int_equal(names.narguments, 2);
}

static void columns_count_from_the_whole_text(void **state)
{
    (void)state;
    const char text[] = "f(a: f32[n], b: f32[n] x)";
    size_t end = 77;

    declare();
    dlpark_spec_source source = {text, sizeof text - 1, 16, NULL, 0, false};
    assert_fails(DLPARK_E_ARGUMENT, "column 24: \"x\" is not a word of a spec; expected",
                 dlpark_spec_init_at(&spec, &names, &source, &end, e));
    source.length = 21;
    assert_fails(DLPARK_E_ARGUMENT, "column 22: expected \",\" or \"]\", got the end",
                 dlpark_spec_init_at(&spec, &names, &source, &end, e));
    source.at = source.length;
    assert_fails(DLPARK_E_ARGUMENT, "column 22: expected a dtype",
                 dlpark_spec_init_at(&spec, &names, &source, &end, e));
    assert_int_equal(end, 77);
}

static void a_spec_begins_in_its_text(void **state)
{
    (void)state;
    size_t end = 77;
    dlpark_spec_source source = {"f32", 3, 4, NULL, 0, false};

    declare();
    assert_fails(DLPARK_E_ARGUMENT, "the spec begins at byte 4 of a text of 3",
                 dlpark_spec_init_at(&spec, &names, &source, &end, e));
    source.at = SIZE_MAX;
    assert_fails(DLPARK_E_ARGUMENT, "of a text of 3", dlpark_spec_init_at(&spec, &names, &source, &end, e));
    assert_int_equal(end, 77);
}

/* A number ends with the text, and what follows the text is not read. */
static void a_number_ends_with_the_text(void **state)
{
    (void)state;
    size_t end = 0;
    dlpark_spec_source source = {"any align=160", 12, 0, NULL, 0, false};

    declare();
    assert_ok(dlpark_spec_init_at(&spec, &names, &source, &end, e));
    assert_int_equal(spec.alignment_bytes, 16);
    assert_int_equal(end, 12);
}

/* ---- Mistakes ---- */

typedef struct mistake {
    const char *text, *message;
} mistake;

static void check_mistakes(const mistake *mistakes, size_t count)
{
    declare();
    for (size_t i = 0; i < count; i++)
        assert_fails(DLPARK_E_ARGUMENT, mistakes[i].message, parse(mistakes[i].text, false, e));
    assert_int_equal(names.ndims, 2);
    assert_int_equal(names.narguments, 2);
}

static void mistakes_in_dtypes_and_dimensions_are_told_with_their_column(void **state)
{
    (void)state;
    static const mistake mistakes[] = {
        {"", "column 1: expected a dtype: any, same(ARGUMENT), or names such as f32"},
        {"  [n]", "column 3: expected a dtype: any, same(ARGUMENT), or names such as f32"},
        {"f33", "column 1: \"f33\" is not a dtype (did you mean \"f32\"?); expected any, same"},
        {"flaot32", "column 1: \"flaot32\" is not a dtype (did you mean \"float32\"?)"},
        {"double", "column 1: \"double\" is not a dtype; expected any"},
        {"f32|", "column 5: expected a dtype: any, same(ARGUMENT), or names such as f32, u8, bf16, bool, c64, float32, "
                 "got the end"},
        {"f32|any", "column 5: \"any\" cannot stand beside other dtypes"},
        {"f32|same(a)", "column 5: \"same\" cannot stand beside other dtypes"},
        {"int", "column 1: \"int\" is not a dtype (did you mean \"int8\"?)"},
        {"complex", "column 1: \"complex\" is not a dtype (did you mean \"complex64\"?)"},
        {"f8_e4m3fnu", "column 1: \"f8_e4m3fnu\" is not a dtype (did you mean \"f8_e4m3fn\"?)"},
        {"float8_e4m3b11fnu", "column 1: \"float8_e4m3b11fnu\" is not a dtype (did you mean \"float8_e4m3b11fnuz\"?)"},
        {"any|f32", "column 4: \"|\" is not a word of a spec"},
        {"i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64|bf16|c64|c128|bool|i4|u4",
         "column 65: a spec has at most 16 dtypes"},
        {"same", "column 5: expected \"(\" and the name of an argument, got the end"},
        {"same(3)", "column 6: expected the name of an argument, got \"3\""},
        {"same(q)", "column 6: \"q\" is not declared: same(...) takes an argument before this one"},
        {"same(a", "column 7: expected \")\", got the end"},
        {"f32[n", "column 6: expected \",\" or \"]\", got the end"},
        {"f32[n m]", "column 7: expected \",\" or \"]\", got \"m\""},
        {"f32[n,]", "column 7: expected a dimension: a number, a name, \"_\" or \"...\", got \"]\""},
        {"f32[-1]", "column 5: expected a dimension: a number, a name, \"_\" or \"...\", got \"-\""},
        {"f32[\x01]", "column 5: expected a dimension: a number, a name, \"_\" or \"...\", got byte 0x01"},
        {"f32[\xC3\xA4]", "column 5: expected a dimension: a number, a name, \"_\" or \"...\", got byte 0xC3"},
        {"f32[", "column 5: expected a dimension: a number, a name, \"_\" or \"...\", got the end"},
        {"f32[..]", "column 5: expected a dimension: a number, a name, \"_\" or \"...\", got \".\""},
        {"f32[...,n,...]", "column 11: a second \"...\": one is allowed"},
        {"f32[03]", "column 5: expected a number in decimal, without leading zeros, got \"03\""},
        {"f32[3n]", "column 5: expected a number in decimal, without leading zeros, got \"3n\""},
        {"f32[9223372036854775808]", "column 5: \"9223372036854775808\" is too large, at most 9223372036854775807 is"},
        {"f32[99999999999999999999]", "column 5: \"99999999999999999999\" is too large"},
        {"f32[a234567890123456789012345678901_]", "column 5: a name has at most 31 characters"},
        {"f32[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,n]", "column 44: a spec has at most 16 dimensions beside \"...\""},
    };

    check_mistakes(mistakes, sizeof mistakes / sizeof mistakes[0]);
    assert_fails(DLPARK_E_ARGUMENT, "expected a dimension: a number, a name, \"_\", \"?\" or \"...\", got \"]\"",
                 parse("f32[n,]", true, e));
}

static void mistakes_in_words_are_told_with_their_column(void **state)
{
    (void)state;
    static const mistake mistakes[] = {
        {"f32 c f", "column 7: \"f\" is a second word about the layout: one is allowed"},
        {"f32 inner contig", "column 11: \"contig\" is a second word about the layout"},
        {"f32 mut mut", "column 9: \"mut\" stands here a second time: once is allowed"},
        {"f32 none none", "column 10: \"none\" stands here a second time: once is allowed"},
        {"f32 convert convert", "column 13: \"convert\" stands here a second time: once is allowed"},
        {"f32 cpu cuda", "column 9: \"cuda\" is a second word about the device: one is allowed"},
        {"f32 align=1 align=2", "column 13: \"align\" stands here a second time"},
        {"f32 as=jax as=jax", "column 12: \"as\" stands here a second time"},
        {"f32 conitg",
         "column 5: \"conitg\" is not a word of a spec (did you mean \"contig\"?); expected contig, c, f, inner, mut, "
         "none, convert, align=N, as=FRAMEWORK, or a device: cpu, cuda, cuda_host, opencl, vulkan, metal, vpi, rocm, "
         "rocm_host, ext_dev, cuda_managed, one_api, webgpu, hexagon, maia, trn"},
        {"f32 gpu", "column 5: \"gpu\" is not a word of a spec (did you mean \"cuda\"?)"},
        {"f32 cpu|gpu", "column 9: expected a device: "},
        {"f32 cpu|gpu", "got \"gpu\" (did you mean \"cuda\"?)"},
        {"f32 contiguous", "(did you mean \"c\"?)"},
        {"f32 host", "(did you mean \"cpu\"?)"},
        {"f32 out", "(did you mean \"mut\"?)"},
        {"f32 hexagone", "column 5: \"hexagone\" is not a word of a spec (did you mean \"hexagon\"?)"},
        {"f32 alihn=4", "column 5: \"alihn\" is not a word of a spec (did you mean \"align\"?)"},
        {"f32 contiguously_and_so_on", "column 5: \"contiguously_and_so_on\" is not a word of a spec; expected"},
        {"f32 contiguously_and_very_long",
         "column 5: \"contiguously_and_very_long\" is not a word of a spec; expected"},
        {"f32 a23456789_123456789_123456789_123456789_123456789_123456789_1",
         "column 5: \"a23456789_123456789_123456789_123456789_123456789_1234567...\" is not a word of a spec; "},
        {"f32 cpu|x", "column 9: expected a device: cpu, cuda, cuda_host, opencl, vulkan, metal, vpi, rocm, rocm_host, "
                      "ext_dev, cuda_managed, one_api, webgpu, hexagon, maia, trn; got \"x\""},
        {"f32 cpu|", "column 9: expected a device: cpu, cuda, cuda_host, opencl, vulkan, metal, vpi, rocm, rocm_host, "
                     "ext_dev, cuda_managed, one_api, webgpu, hexagon, maia, trn; got the end"},
        {"f32 cuda:", "column 10: expected a number, got the end"},
        {"f32 cuda:x", "column 10: expected a number, got \"x\""},
        {"f32 cuda:2147483648", "column 10: \"2147483648\" is too large, at most 2147483647 is possible"},
        {"f32 cuda:0|cuda:1|cuda:2|cuda:3|cuda:4|cuda:5|cuda:6|cuda:7|cuda:8",
         "column 61: a spec has at most 8 devices with an id"},
        {"f32 align", "column 10: expected \"=\" and a number of bytes, got the end"},
        {"f32 align=c", "column 11: expected a number, got \"c\""},
        {"f32 align=0", "column 11: \"0\" is not a power of two"},
        {"f32 align=48", "column 11: \"48\" is not a power of two"},
        {"f32 as", "column 7: expected \"=\" and a framework, got the end"},
        {"f32 as=nunpy", "column 8: \"nunpy\" is not a framework (did you mean \"numpy\"?); expected a framework: "
                         "dlpark, numpy, torch, jax, cupy, mlx, tensorflow, memoryview"},
        {"f32 as=",
         "column 8: expected a framework: dlpark, numpy, torch, jax, cupy, mlx, tensorflow, memoryview, got the end"},
        {"f32[n] , f32", "column 8: \",\" is not a word of a spec"},
        {"f32\xA0", "column 4: byte 0xA0 is not a word of a spec"},
    };

    check_mistakes(mistakes, sizeof mistakes / sizeof mistakes[0]);
}

static void names_of_arguments_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "_",
                                        "3d",
                                        "a b",
                                        "a-",
                                        "a234567890123456789012345678901_",
                                        "a2345678901234567890123456789012345678901234567890123456789012345678"};

    declare();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_fails(
            DLPARK_E_ARGUMENT,
            "cannot be an argument's name: expected letters, digits and \"_\", at most 31, not beginning with a "
            "digit and not \"_\" alone",
            dlpark_spec_init(&spec, &names, wrong[i], "f32", e));
    assert_fails(DLPARK_E_ARGUMENT, "'a\\x0A\\xFF' cannot be", dlpark_spec_init(&spec, &names, "a\n\xFF", "f32", e));
    assert_fails(DLPARK_E_ARGUMENT, "argument 'a' is declared twice", dlpark_spec_init(&spec, &names, "a", "f32", e));
    assert_fails(DLPARK_E_ARGUMENT, "column 6: \"x\" is not declared",
                 dlpark_spec_init(&spec, &names, "x", "same(x)", e)); /* its own dtype says nothing */
    assert_int_equal(names.narguments, 2);
    assert_ok(dlpark_spec_init(&spec, &names, "_a23456789012345678901234567890", "f32", e));
}

static void a_call_has_a_limit_of_names(void **state)
{
    (void)state;
    char name[8], text[32];

    memset(&names, 0, sizeof names);
    for (int i = 0; i < DLPARK_SPEC_MAX_NAMES; i++) {
        snprintf(name, sizeof name, "v%d", i);
        snprintf(text, sizeof text, "f32[%s]", name);
        assert_ok(dlpark_spec_init(&spec, &names, name, text, e));
        assert_true(spec.dims[0] == ~(int64_t)i);
        assert_int_equal(spec.argument, i);
    }
    assert_fails(DLPARK_E_ARGUMENT, "argument 'more' is one too many: a call has at most 32 with a name",
                 dlpark_spec_init(&spec, &names, "more", "f32", e));
    assert_fails(DLPARK_E_ARGUMENT, "column 9: a call has at most 32 dimension names",
                 dlpark_spec_init(&spec, &names, NULL, "f32[v31,more]", e));
    assert_ok(dlpark_spec_init(&spec, &names, NULL, "f32[v0,v31]", e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_sentence_of_the_grammar_is_parsed, read_manual),
        cmocka_unit_test_setup(what_the_grammar_does_not_describe_is_refused, read_manual),
        cmocka_unit_test_setup(the_grammar_has_every_word_and_form_that_is_parsed, read_manual),
        cmocka_unit_test(every_field_is_filled),
        cmocka_unit_test(ranks_have_three_forms),
        cmocka_unit_test(a_result_may_not_know_its_extents),
        cmocka_unit_test(every_framework_and_device_is_known),
        cmocka_unit_test(a_spec_may_stand_in_a_signature),
        cmocka_unit_test(columns_count_from_the_whole_text),
        cmocka_unit_test(a_spec_begins_in_its_text),
        cmocka_unit_test(a_number_ends_with_the_text),
        cmocka_unit_test(mistakes_in_dtypes_and_dimensions_are_told_with_their_column),
        cmocka_unit_test(mistakes_in_words_are_told_with_their_column),
        cmocka_unit_test(names_of_arguments_are_checked),
        cmocka_unit_test(a_call_has_a_limit_of_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
