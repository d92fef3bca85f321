#include "test.h"

#include "signature/signature_parts.h"
#include "spec_recogniser.h"

static dlpark_signature signature;

static dlpark_status parse(const char *text, dlpark_error *err)
{
    return dlpark_signature_parse(&signature, text, err);
}

/* ---- The grammar of the manual ---- */

static grammar manual;

/* Adds the rules of another page's block to the grammar. */
static void add_page(grammar *self, const char *path)
{
    static char page[16384];
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    self->at = strstr(page, "```ebnf\n");
    assert_non_null(self->at);
    self->at += 8;
    while (!grammar_sees(self, '`')) {
        grammar_rule *rule = &self->rules[self->nrules++];
        assert_true(self->nrules < GRAMMAR_RULES);
        grammar_take_name(self, rule->name);
        grammar_want(self, '=');
        rule->body = grammar_read_choice(self);
        grammar_want(self, ';');
    }
    for (int i = 0; i < self->nnodes; i++)
        if (self->nodes[i].kind == GRAMMAR_RULE)
            self->nodes[i].first = grammar_find(self, self->nodes[i].text);
}

static int read_manual(void **state)
{
    (void)state;
    grammar_read(&manual, DLPARK_PAGES "/spec.md", 20240711);
    add_page(&manual, DLPARK_PAGES "/signature.md");
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
                                          "\"opaque",
                                          "is declared twice",
                                          "has no \"?\" and stands behind",
                                          "is a word of Python's own",
                                          "what is written to a copy would be lost",
                                          "a result has no \"_\"",
                                          "a result has no \"mut\"",
                                          "a result has one dtype",
                                          "is that of no argument which is always given",
                                          "which may be absent"};

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

static bool is_zero(const void *memory, size_t nbytes)
{
    const unsigned char *bytes = memory;

    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Whether the text is a signature; if not, the message and the output are looked at. */
static bool is_accepted(const char *text, dlpark_error *err)
{
    memset(&signature, 0xA7, sizeof signature);
    if (parse(text, err) == DLPARK_OK)
        return true;
    assert_true(is_zero(&signature, sizeof signature));
    assert_in_range(column_of(err->message), 1, strlen(text) + 1);
    return false;
}

/* What was parsed is printed, and parsed again: that gives the same. */
static void check_round_trip(void)
{
    static dlpark_signature again;
    char text[8192], printed[8192];

    assert_in_range(dlpark_signature_text(&signature, text, sizeof text), 1, sizeof text - 1);
    assert_int_equal(dlpark_signature_parse(&again, text, NULL), DLPARK_OK);
    assert_int_equal(dlpark_signature_text(&again, printed, sizeof printed), strlen(text));
    assert_string_equal(printed, text);
    for (int32_t i = 0; i < again.narguments; i++)
        again.arguments[i].spec.names = signature.arguments[i].spec.names;
    for (int32_t i = 0; i < again.nresults; i++)
        again.results[i].names = signature.results[i].names;
    assert_memory_equal(&again, &signature, sizeof again);
}

/* A sentence whose first arguments are those that the grammar refers to. */
static void make_sentence(char *text)
{
    char made[4096];

    do {
        for (int i = 0; i < manual.nnodes; i++)
            manual.nodes[i].met = false;
        memset(made, 0, sizeof made);
        grammar_make_rule(&manual, "signature", false, made);
        char *rest = strchr(made, '(') + 1;
        bool is_empty = rest[strspn(rest, " \t\r\n")] == ')';
        snprintf(text, 4096, "%.*sa: f32, image_2 : u8|i8[...]c%s%s", (int)(rest - made), made, is_empty ? "" : ",",
                 rest);
    } while (strlen(text) > GRAMMAR_LONGEST);
}

static void every_sentence_of_the_grammar_is_parsed(void **state)
{
    (void)state;
    char text[4096];
    int accepted = 0;

    for (int n = 0; n < 6000; n++) {
        dlpark_error err;
        make_sentence(text);
        assert_true(grammar_recognises(&manual, "signature", text));
        if (!is_accepted(text, &err)) {
            if (!is_beside_grammar(err.message))
                fail_msg("\"%s\" is a sentence of the manual: %s", text, err.message);
            continue;
        }
        accepted++;
        check_round_trip();
        for (int i = 0; i < manual.nnodes; i++)
            manual.nodes[i].proved |= manual.nodes[i].met;
    }
    assert_in_range(accepted, 1000, 6000);
    for (int i = 0; i < manual.nnodes; i++)
        if (manual.nodes[i].kind == GRAMMAR_LITERAL && !manual.nodes[i].proved &&
            manual.nodes[i].rule >= grammar_find(&manual, "signature"))
            fail_msg("no sentence with \"%s\" was ever parsed", manual.nodes[i].text);
}

/* One byte changed, added, dropped or exchanged with its neighbour, or the tail cut off. */
static void mutate(char *text)
{
    static const char bytes[] = "[]()|,.:=?_ ->+x019acfimnsu\n\x80\x01\"%";
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

    for (int n = 0; n < 6000; n++) {
        dlpark_error err;
        make_sentence(text);
        for (unsigned count = 1 + grammar_random(&manual, 3); count > 0; count--)
            mutate(text);
        text[GRAMMAR_LONGEST] = '\0';
        bool is_sentence = grammar_recognises(&manual, "signature", text);
        if (is_accepted(text, &err)) {
            if (!is_sentence)
                fail_msg("\"%s\" was parsed, and is no sentence of the manual", text);
            check_round_trip();
        } else if (is_sentence && !is_beside_grammar(err.message)) {
            fail_msg("\"%s\" is a sentence of the manual: %s", text, err.message);
        }
        refused += !is_sentence;
    }
    assert_in_range(refused, 1500, 6000); /* a mutation that never hurts proves nothing */
}

/* ---- What a signature holds ---- */

static void every_field_is_filled(void **state)
{
    (void)state;
    assert_ok(dlpark_signature_parse(&signature,
                                     "scale ( a : f32[n,k] c mut cpu , by: float, b: same(a)[k] none,\n\tn: int, "
                                     "s?: str, o? : object, flag?: bool, m?: bool[...], w?:bool c )->f32[n,?],same(a)",
                                     e));
    assert_string_equal(signature.name, "scale");
    assert_int_equal(signature.narguments, 9);
    assert_int_equal(signature.nrequired, 4);
    assert_int_equal(signature.ntensors, 4);
    assert_int_equal(signature.nresults, 2);
    static const struct {
        const char *name;
        dlpark_signature_kind kind;
        int tensor;
        bool is_optional;
    } expected[] = {
        {"a", DLPARK_SIGNATURE_TENSOR, 0, false},  {"by", DLPARK_SIGNATURE_FLOAT, -1, false},
        {"b", DLPARK_SIGNATURE_TENSOR, 1, false},  {"n", DLPARK_SIGNATURE_INT, -1, false},
        {"s", DLPARK_SIGNATURE_STR, -1, true},     {"o", DLPARK_SIGNATURE_OBJECT, -1, true},
        {"flag", DLPARK_SIGNATURE_BOOL, -1, true}, {"m", DLPARK_SIGNATURE_TENSOR, 2, true},
        {"w", DLPARK_SIGNATURE_TENSOR, 3, true},
    };
    for (int i = 0; i < 9; i++) {
        const dlpark_signature_argument *argument = &signature.arguments[i];
        assert_string_equal(argument->name, expected[i].name);
        assert_int_equal(argument->kind, expected[i].kind);
        assert_int_equal(argument->tensor, expected[i].tensor);
        assert_int_equal(argument->is_optional, expected[i].is_optional);
        if (argument->kind != DLPARK_SIGNATURE_TENSOR)
            continue;
        assert_int_equal(argument->spec.argument, argument->tensor);
        assert_ptr_equal(argument->spec.names, &signature.names);
        assert_string_equal(signature.names.arguments[argument->tensor], argument->name);
    }
    assert_int_equal(signature.arguments[0].spec.flags, DLPARK_SPEC_C | DLPARK_SPEC_MUT);
    assert_int_equal(signature.arguments[2].spec.same, 0);
    assert_int_equal(signature.arguments[7].spec.dtypes[0].code, kDLBool);
    assert_int_equal(signature.names.ndims, 2);
    assert_int_equal(signature.results[0].flags, DLPARK_SPEC_RESULT);
    assert_true(signature.results[0].dims[0] == ~(int64_t)0);
    assert_true(signature.results[0].dims[1] == DLPARK_SPEC_DIM_UNKNOWN);
    assert_int_equal(signature.results[1].same, 0);
    assert_int_equal(signature.results[1].ndims_extra, DLPARK_MAX_NDIM);
}

static void plain_results_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t plain;
    } cases[] = {
        {"f()", 0},
        {"f() -> f32[4]", 1},
        {"f(a: f32[n,k]) -> f32[k,n] c, same(a)[n] contig, f32[]", 7},
        {"f(a: f32[n,k]) -> f32[n,k] f, f32[n]", 2},
        {"f(a: f32[n,k]) -> f32[?], f32[n] align=64, f32[...], f32[n] cuda, f32[n] cpu as=numpy", 16},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(dlpark_signature_parse(&signature, cases[i].text, e));
        assert_int_equal(signature.plain_results, cases[i].plain);
    }
}

static void texts_have_one_form(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {" f ( ) ", "f()"},
        {"f()->f32[ 3 ]", "f() -> f32[3]"},
        {"f(a:float32[n ,k]cpu c,by?:float)->same ( a )[k],f64 [] as=numpy",
         "f(a: f32[n,k] c cpu, by?: float) -> same(a)[k], f64[] as=numpy"},
        {"f(a:bool,b:bool[...],c:bool c,d:bool[],e?:bool[n]) -> bool[?], bool",
         "f(a: bool, b: bool[...], c: bool c, d: bool[], e?: bool[n]) -> bool[?], bool"},
        {"f(a: int, b: float, c: str, d: object)", "f(a: int, b: float, c: str, d: object)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char printed[256];
        assert_ok(parse(cases[i].text, e));
        assert_int_equal(dlpark_signature_text(&signature, printed, sizeof printed), strlen(cases[i].printed));
        assert_string_equal(printed, cases[i].printed);
        check_round_trip();
    }
}

static void a_text_is_cut_to_its_room(void **state)
{
    (void)state;
    const char *whole = "f(a: f32|f64[n,123] contig, b: bool[...], c?: int) -> f32[n]";
    char printed[96];

    assert_ok(parse(whole, e));
    assert_int_equal(dlpark_signature_text(&signature, NULL, 0), strlen(whole));
    for (size_t room = 1; room < 80; room++) {
        memset(printed, 0x5A, sizeof printed);
        assert_int_equal(dlpark_signature_text(&signature, printed, room), strlen(whole));
        size_t fits = room <= strlen(whole) ? room - 1 : strlen(whole);
        assert_memory_equal(printed, whole, fits);
        assert_int_equal(printed[fits], '\0');
        assert_int_equal(printed[room], 0x5A);
    }
}

/* ---- Mistakes ---- */

typedef struct mistake {
    const char *text, *message;
} mistake;

static void check_mistakes(const mistake *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        dlpark_error err = test_fresh_error();
        memset(&signature, 0xA7, sizeof signature);
        assert_int_equal(parse(cases[i].text, &err), DLPARK_E_ARGUMENT);
        assert_true(is_zero(&signature, sizeof signature));
        if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("\"%s\" gave \"%s\" for \"%s\"", cases[i].text, err.message, cases[i].message);
        assert_int_equal(parse(cases[i].text, NULL), DLPARK_E_ARGUMENT);
    }
}

static void mistakes_in_the_frame_are_told_with_their_column(void **state)
{
    (void)state;
    static const mistake cases[] = {
        {"", "column 1: expected the name of a function, got the end"},
        {"3f()", "column 1: expected the name of a function, got \"3f\""},
        {"_()", "column 1: expected the name of a function, got \"_\""},
        {"(a: int)", "column 1: expected the name of a function, got \"(\""},
        {"\x07()", "column 1: expected the name of a function, got byte 0x07"},
        {"\xC3\xA4()", "column 1: expected the name of a function, got byte 0xC3"},
        {"def()", "column 1: \"def\" is a word of Python's own and cannot be a name"},
        {"f", "column 2: expected \"(\" behind the function's name, got the end"},
        {"f[", "column 2: expected \"(\" behind the function's name, got \"[\""},
        {"f(", "column 3: expected the name of an argument, got the end"},
        {"f(a: int", "column 9: expected \",\" or \")\", as an argument that is no tensor takes no words, got the end"},
        {"f(a: int none)", "column 10: expected \",\" or \")\", as an argument that is no tensor takes no words, got"},
        {"f(a: float[3])", "column 11: expected \",\" or \")\", as an argument that is no tensor takes no words, got"},
        {"f(a: f32", "column 9: expected \",\" or \")\", got the end"},
        {"f(a: f32;", "column 9: expected \",\" or \")\", got \";\""},
        {"f(a: bool", "column 10: expected \",\" or \")\", as an argument"},
        {"f(a: int,)", "column 10: expected the name of an argument, got \")\""},
        {"f() g", "column 5: expected \"->\" or the end, got \"g\""},
        {"f() - > f32[]", "column 5: expected \"->\" or the end, got \"-\""},
        {"f() ->", "column 7: expected a dtype"},
        {"f() -> f32[],", "column 14: expected a dtype"},
        {"f() -> f32[] )", "column 14: expected \",\" or the end, got \")\""},
        {"f() -> f32[];", "column 13: expected \",\" or the end, got \";\""},
        {"f(0123456789012345678901234567890123456789012345678901234567890123456789)",
         "column 3: expected the name of an argument, got "
         "\"012345678901234567890123456789012345678901234567890123456...\""},
    };

    check_mistakes(cases, sizeof cases / sizeof cases[0]);
}

static void mistakes_in_arguments_are_told_with_their_column(void **state)
{
    (void)state;
    static const mistake cases[] = {
        {"f(a)", "column 4: expected \":\" or \"?\", got \")\""},
        {"f(a?)", "column 5: expected \":\", got \")\""},
        {"f(a: int, class: int)", "column 11: \"class\" is a word of Python's own and cannot be a name"},
        {"f(yield: f32)", "column 3: \"yield\" is a word of Python's own and cannot be a name"},
        {"f(a: int, b: f32, a: f32)", "column 19: argument 'a' is declared twice"},
        {"f(a: f32, a: int)", "column 11: argument 'a' is declared twice"},
        {"f(a: int, b?: f32, c: f32)", "column 20: argument 'c' has no \"?\" and stands behind 'b', which has: those "
                                       "that must be given come first"},
        {"f(a: f33)", "column 6: \"f33\" is not a dtype (did you mean \"f32\"?)"},
        {"f(a: f32[n] conitg)", "column 13: \"conitg\" is not a word of a spec (did you mean \"contig\"?)"},
        {"f(a: f32[?])", "column 10: only a result may have \"?\""},
        {"f(n: int, a: same(n))", "column 19: \"n\" is not declared: same(...) takes an argument before this one"},
        {"f(a: same(x))", "column 11: \"x\" is not declared"},
        {"f(a: f32 as=numpy)", "column 6: only a result may have \"as=\""},
        {"f(a: f32 mut convert)", "column 6: \"convert\" beside \"mut\": what is written to a copy would be lost"},
        {"f(a: , b: int)", "column 6: expected a dtype"},
        {"f(a: int32x0)", "column 6: \"int32x0\" is not a dtype"},
    };

    check_mistakes(cases, sizeof cases / sizeof cases[0]);
}

static void mistakes_in_results_are_told_with_their_column(void **state)
{
    (void)state;
    static const mistake cases[] = {
        {"f() -> f32[] mut", "column 8: a result has no \"mut\", \"none\" or \"convert\""},
        {"f() -> f32[], f32[] none", "column 15: a result has no \"mut\", \"none\" or \"convert\""},
        {"f() -> f32[] convert", "column 8: a result has no \"mut\", \"none\" or \"convert\""},
        {"f() -> any[3]", "column 8: a result has one dtype, or that of an argument: same(...)"},
        {"f() -> f32|f64[3]", "column 8: a result has one dtype"},
        {"f() -> f32[_]", "column 8: a result has no \"_\": \"?\" is an extent that the function finds out"},
        {"f() -> f32[n]", "column 8: the result's extent 'n' is that of no argument which is always given"},
        {"f(a?: f32[n]) -> f32[n]", "column 18: the result's extent 'n' is that of no argument which is always given"},
        {"f(a: f32[n] none, n: int) -> f32[?,n]", "column 30: the result's extent 'n' is that of no argument which"},
        {"f(b: f32[m,_], a: f32[k] none) -> f32[2,m,k]", "column 35: the result's extent 'k' is that of no"},
        {"f(b: f32, a?: f32) -> same(a)", "column 23: the result's dtype is that of 'a', which may be absent"},
        {"f(a: f32 none) -> same(a)", "column 19: the result's dtype is that of 'a', which may be absent"},
        {"f() -> same(a)", "column 13: \"a\" is not declared"},
    };

    check_mistakes(cases, sizeof cases / sizeof cases[0]);
}

static void every_reserved_word_is_refused(void **state)
{
    (void)state;
    static const char *const words[] = {"False",  "None",   "True",    "and",      "as",       "assert", "async",
                                        "await",  "break",  "class",   "continue", "def",      "del",    "elif",
                                        "else",   "except", "finally", "for",      "from",     "global", "if",
                                        "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
                                        "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "f(%s: int)", words[i]);
        assert_fails(DLPARK_E_ARGUMENT, "column 3: ", parse(text, e));
        snprintf(text, sizeof text, "f(%s_: int)", words[i]);
        assert_ok(parse(text, e));
    }
    assert_ok(parse("match(type: int, case: int, print: int)", e)); /* words in some places only */
}

/* ---- Limits ---- */

/* "f(a0: WORD, a1: WORD, ...)" */
static void many(char *text, size_t nbytes, int count, const char *word)
{
    size_t at = (size_t)snprintf(text, nbytes, "f(");

    for (int i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, nbytes - at, "%sa%d: %s", i == 0 ? "" : ", ", i, word);
    snprintf(text + at, nbytes - at, ")");
}

static void limits_are_told(void **state)
{
    (void)state;
    char text[1024];

    many(text, sizeof text, DLPARK_SIGNATURE_MAX_ARGUMENTS, "int");
    assert_ok(parse(text, e));
    assert_int_equal(signature.narguments, 24);
    many(text, sizeof text, DLPARK_SIGNATURE_MAX_ARGUMENTS + 1, "int");
    assert_fails(DLPARK_E_ARGUMENT, "a signature has at most 24 arguments", parse(text, e));
    many(text, sizeof text, DLPARK_SIGNATURE_MAX_TENSORS, "f32");
    assert_ok(parse(text, e));
    check_round_trip();
    many(text, sizeof text, DLPARK_SIGNATURE_MAX_TENSORS + 1, "f32");
    assert_fails(DLPARK_E_ARGUMENT, "a signature has at most 16 tensors among its arguments", parse(text, e));
    assert_ok(parse("f() -> u8[], u8[], u8[], u8[], u8[], u8[], u8[], u8[8]", e));
    assert_int_equal(signature.nresults, 8);
    assert_fails(DLPARK_E_ARGUMENT, "a signature has at most 8 results",
                 parse("f() -> u8[], u8[], u8[], u8[], u8[], u8[], u8[], u8[8], u8[]", e));
}

static void names_have_a_length(void **state)
{
    (void)state;
    char text[256];
    const char *x = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

    snprintf(text, sizeof text, "%.63s(%.31s: int)", x, x);
    assert_ok(parse(text, e));
    assert_int_equal(strlen(signature.name), 63);
    assert_int_equal(strlen(signature.arguments[0].name), 31);
    snprintf(text, sizeof text, "%.64s()", x);
    assert_fails(DLPARK_E_ARGUMENT, "column 1: a name has at most 63 characters here, this one has 64", parse(text, e));
    snprintf(text, sizeof text, "f(%.32s: int)", x);
    assert_fails(DLPARK_E_ARGUMENT, "column 3: a name has at most 31 characters here, this one has 32", parse(text, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_sentence_of_the_grammar_is_parsed, read_manual),
        cmocka_unit_test_setup(what_the_grammar_does_not_describe_is_refused, read_manual),
        cmocka_unit_test(every_field_is_filled),
        cmocka_unit_test(plain_results_are_known),
        cmocka_unit_test(texts_have_one_form),
        cmocka_unit_test(a_text_is_cut_to_its_room),
        cmocka_unit_test(mistakes_in_the_frame_are_told_with_their_column),
        cmocka_unit_test(mistakes_in_arguments_are_told_with_their_column),
        cmocka_unit_test(mistakes_in_results_are_told_with_their_column),
        cmocka_unit_test(every_reserved_word_is_refused),
        cmocka_unit_test(limits_are_told),
        cmocka_unit_test(names_have_a_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
