#include "tensor_file.h"

#include "failing_alloc.h"
#include "safetensors/shards_map.h"

/* ---- An index that is read ---- */

typedef struct reading {
    dlpark__source *source;
    dlpark__shards_map map;
    dlpark__index index;
    dlpark__shards shards;
    dlpark__file_faults faults;
    dlpark_file_fault list[8];
    dlpark_file_options options;
    dlpark_error err;
    dlpark_status status;
} reading;

static void read_again(reading *made, const void *bytes, size_t nbytes)
{
    dlpark_status status = dlpark__source_open_memory(&made->source, bytes, nbytes, NULL, NULL, &made->err);

    made->status = status;
    if (status != DLPARK_OK)
        return;
    made->faults.file = &made->source->name;
    made->faults.err = &made->err;
    const dlpark__format_job job = {.source = made->source,
                                    .options = &made->options,
                                    .index = &made->index,
                                    .faults = &made->faults,
                                    .shards = &made->shards};
    made->status = dlpark__shards_map_read(&made->map, &job, &made->err);
}

static void end(reading *made)
{
    dlpark__shards_map_end(&made->map);
    dlpark__shards_end(&made->shards);
    dlpark__index_end(&made->index);
    dlpark__source_release(made->source);
    memset(made, 0, sizeof *made);
}

static size_t quoted(char *to, const char *text)
{
    size_t nbytes = strlen(text);

    for (size_t i = 0; i < nbytes; i++)
        to[i] = text[i] == '\'' ? '"' : text[i];
    return nbytes;
}

static void read_text(reading *made, const char *text)
{
    char bytes[4096];

    read_again(made, bytes, quoted(bytes, text));
}

static void assert_reads(reading *made, const char *text)
{
    memset(made, 0, sizeof *made);
    read_text(made, text);
    if (made->status != DLPARK_OK || made->faults.count != 0)
        fail_msg("%s: %s", text, made->err.message);
}

/* The first fault, and that it is the same where all are listed. */
static void assert_faulty(const char *text, dlpark_status status, const char *rule, const char *why)
{
    reading made = {.faults = {.lists = false}};

    read_text(&made, text);
    assert_int_equal(made.status, DLPARK_OK);
    assert_int_equal(made.faults.count, 1);
    assert_int_equal(made.faults.status, status);
    if (strstr(made.err.message, why) == NULL)
        fail_msg("%s", made.err.message);
    end(&made);
    made.faults = (dlpark__file_faults){.lists = true, .list = made.list, .capacity = 8};
    read_text(&made, text);
    assert_int_equal(made.status, DLPARK_OK);
    assert_string_equal(made.list[0].rule, rule);
    end(&made);
}

/* ---- What it says ---- */

static void tells_an_index_from_tensors(void **state)
{
    static const char *const begins[] = {"{", "{\"", " \t\r\n{  \"weight_map\"", "               {"};
    static const char *const others[] = {"", " ", "[", "x{", "   \t\n\r            ", "\v{"};
    const unsigned char header[16] = {'{', 0, 0, 0, 0, 0, 0, 0, '{'};
    const unsigned char longer[16] = {' ', '{', 'x', 1, 0, 0, 0, 0, '{'};

    (void)state;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        assert_true(dlpark__shards_map_begins((const unsigned char *)begins[i], strlen(begins[i])));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(dlpark__shards_map_begins((const unsigned char *)others[i], strlen(others[i])));
    assert_false(dlpark__shards_map_begins(header, 16)); /* a length of 123 */
    assert_false(dlpark__shards_map_begins(longer, 16));
}

static void shards_are_in_the_order_of_their_names(void **state)
{
    reading made;
    static const char *const names[] = {"a", "b", "c"};

    (void)state;
    assert_reads(&made, " {'weight_map':{'x':'c','y':'a','z':'b','u':'\\u0061','v':'c'}} ");
    assert_int_equal(made.shards.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(made.shards.items[i].text, names[i]);
    const uint32_t expected[] = {2, 0, 1, 0, 2};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(made.map.shard_of[i], expected[i]);
    assert_int_equal(dlpark__names_find(&made.map.names, "z", 1), 2);
    assert_int_equal(made.map.weights.pairs_count, 5);
    end(&made);
}

static void metadata_is_texts_and_numbers(void **state)
{
    static const char *const expected[][2] = {{"a", "b"}, {"total_size", "12"}, {"c", "-1.5e3"}, {"d", ""}};
    reading made;

    (void)state;
    assert_reads(&made, "{'x':[1,{}],'metadata':{'a':'b','l':[1],'o':{'a':'b'},'total_size':12,'n':null,'t':true,"
                        "'c': -1.5e3 ,'d':''},'weight_map':{}, 'y':0}");
    assert_int_equal(made.index.pairs_count, 4);
    for (size_t i = 0; i < 4; i++) {
        dlpark__index_pair pair = made.index.pairs[i];
        assert_int_equal(pair.key.nbytes, strlen(expected[i][0]));
        assert_memory_equal(made.index.text + pair.key.at, expected[i][0], pair.key.nbytes);
        assert_int_equal(pair.value.nbytes, strlen(expected[i][1]));
        if (pair.value.nbytes > 0)
            assert_memory_equal(made.index.text + pair.value.at, expected[i][1], pair.value.nbytes);
    }
    assert_int_equal(made.shards.count, 0);
    end(&made);
    assert_reads(&made, "{'weight_map':{},'metadata':null}");
    end(&made);
    assert_reads(&made, "{'metadata':{},'weight_map':{}}");
    end(&made);
}

static void shapes_that_are_not_an_index(void **state)
{
    static const char *const bad[][2] = {
        {"", "'{' of the index is expected here, not the end"},
        {"[]", "the '{' of the index"},
        {"{}", "there is no \"weight_map\""},
        {"{'a':1}", "there is no \"weight_map\""},
        {"{'metadata':{}}", "there is no \"weight_map\""},
        {"{'weight_map':{}", "',' or '}'"},
        {"{'weight_map':{}}x", "not 'x'"},
        {"{'weight_map'}", "':' is expected here"},
        {"{weight_map:{}}", "a name in quotation marks"},
        {"{'weight_map':{},}", "a name in quotation marks"},
        {"{'weight_map':[]}", "the '{' of weight_map"},
        {"{'weight_map':null}", "the '{' of weight_map"},
        {"{'weight_map':{'a'}}", "':' is expected here"},
        {"{'weight_map':{'a':1}}", "the name of a shard is expected here, not '1'"},
        {"{'weight_map':{'a':'b'", "',' or '}'"},
        {"{'weight_map':{'a':'b',}}", "a name in quotation marks"},
        {"{'weight_map':{},'weight_map':{}}", "there are two \"weight_map\" (byte 17)"},
        {"{'metadata':{},'meta\\u0064ata':{},'weight_map':{}}", "there are two \"metadata\" (byte 15)"},
        {"{'metadata':nul}", "a value is expected here"},
        {"{'metadata':[]}", "the '{' of metadata"},
        {"{'metadata':{a", "a name in quotation marks"},
        {"{'metadata':{'a':'b", "has no end"},
        {"{'metadata':{'a':[}", "a value is expected"},
        {"{'metadata':{'a':'b'", "',' or '}'"},
        {"{'x':1e999}", "beyond every double"},
        {"{'x':1 'y':2}", "',' or '}'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_faulty(bad[i][0], DLPARK_E_FORMAT, "json", bad[i][1]);
    assert_faulty("{'weight_map':{'\xFF':'a'}}", DLPARK_E_FORMAT, "utf8",
                  "byte 0xFF of the index is no UTF-8 (byte 16)");
}

static void names_come_once(void **state)
{
    reading made = {.faults = {.lists = true, .list = made.list, .capacity = 8}};

    (void)state;
    assert_faulty("{'weight_map':{'a':'s','b':'s','\\u0061':'s'}}", DLPARK_E_FORMAT, "duplicate",
                  "tensor 'a': the index names it twice (byte 31)");
    assert_faulty("{'metadata':{'k':'s','k':1,'k':2},'weight_map':{'a':'s'}}", DLPARK_E_FORMAT, "duplicate",
                  "metadata has two keys 'k' (byte 21)");
    read_text(&made, "{'metadata':{'k':'s','k':1,'k':2},'weight_map':{'a':'s','a':'s','a':''}}");
    assert_int_equal(made.faults.count, 5);
    assert_string_equal(made.list[0].tensor, "a");
    assert_string_equal(made.list[2].rule, "duplicate");
    assert_string_equal(made.list[4].rule, "shard-name");
    end(&made);
}

static void shards_have_plain_names(void **state)
{
    static const char *const bad[] = {"", ".", "..", "/", "../x", "a/b", "/etc/passwd", "x/", "a\\u0000b", "\\u0000"};
    static const char *const good[] = {"a", "...", ".a", "..a", "a b", "-", "a\\\\b", "\\u00e9"};
    char text[512], most[300];
    reading made;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "{'weight_map':{'t':'ok','u':'%s'}}", bad[i]);
        assert_faulty(text, DLPARK_E_FORMAT, "shard-name", "tensor 'u': the name of its shard is to be that of a file");
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(text, sizeof text, "{'weight_map':{'t':'%s'}}", good[i]);
        assert_reads(&made, text);
        end(&made);
    }
    memset(most, 'x', sizeof most);
    snprintf(text, sizeof text, "{'weight_map':{'t':'%.255s'}}", most);
    assert_reads(&made, text);
    assert_int_equal(strlen(made.shards.items[0].text), 255);
    end(&made);
    snprintf(text, sizeof text, "{'weight_map':{'t':'%.256s'}}", most);
    assert_faulty(text, DLPARK_E_FORMAT, "shard-name", "of 1 to 255 bytes");
}

/* ---- Limits ---- */

static void an_index_has_a_limit(void **state)
{
    static const char text[] = "{\"weight_map\":{}}";
    reading made = {.options = {.max_header_nbytes = sizeof text - 1}};

    (void)state;
    read_again(&made, text, sizeof text - 1);
    assert_int_equal(made.faults.count, 0);
    end(&made);
    made.options.max_header_nbytes = sizeof text - 2;
    read_again(&made, text, sizeof text - 1);
    assert_int_equal(made.faults.count, 1);
    assert_int_equal(made.faults.status, DLPARK_E_LIMIT);
    assert_non_null(strstr(made.err.message, "the index has 17 bytes, more than 16"));
    end(&made);
    /* The format's own, of memory that nobody reads. */
    made.options.max_header_nbytes = 200000000;
    read_again(&made, text, 100000001);
    assert_int_equal(made.faults.count, 1);
    assert_non_null(strstr(made.err.message, "more than 100000000"));
    end(&made);
}

/* `count` pairs of numbers: each a tensor, or a metadata, and a shard of its own or one for all. */
static char *many_pairs(size_t count, const char *lead, bool has_shards, size_t *nbytes)
{
    char *text = malloc(count * 24 + 100);

    assert_non_null(text);
    *nbytes = (size_t)snprintf(text, 100, "{\"%s\":{", lead);
    for (size_t i = 0; i < count; i++) {
        char name[8] = "aaaaaa";
        for (size_t left = i, digit = 0; left > 0; left /= 16, digit++)
            name[digit] = (char)('a' + left % 16);
        char *to = text + *nbytes;
        to[0] = '"';
        memcpy(to + 1, name, 6);
        memcpy(to + 7, "\":\"", 3);
        memcpy(to + 10, has_shards ? name : "aaaaaa", 6);
        memcpy(to + 16, "\",", 2);
        *nbytes += 18;
    }
    memcpy(text + *nbytes - 1, "}}", 2);
    *nbytes += 1;
    return text;
}

static void shards_have_a_limit(void **state)
{
    size_t nbytes;
    char *text = many_pairs(100000, "weight_map", true, &nbytes);
    reading made = {.faults = {.lists = false}};

    (void)state;
    read_again(&made, text, nbytes);
    assert_int_equal(made.faults.count, 0);
    assert_int_equal(made.shards.count, 100000);
    for (size_t i = 1; i < 100000; i++)
        assert_true(strcmp(made.shards.items[i - 1].text, made.shards.items[i].text) < 0);
    for (size_t i = 0; i < 100000; i++) {
        dlpark__index_pair pair = made.map.weights.pairs[i];
        assert_int_equal(strncmp(made.shards.items[made.map.shard_of[i]].text, made.index.text + pair.key.at, 6), 0);
    }
    end(&made);
    free(text);
    text = many_pairs(100001, "weight_map", true, &nbytes);
    read_again(&made, text, nbytes);
    assert_int_equal(made.faults.count, 1);
    assert_int_equal(made.faults.status, DLPARK_E_LIMIT);
    assert_non_null(strstr(made.err.message, "there are more than 100000 shards (byte 1800024)"));
    end(&made);
    free(text);
}

static void names_have_a_limit(void **state)
{
    static const char *const leads[] = {"weight_map", "metadata"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        size_t nbytes;
        char *text = many_pairs(DLPARK__NAMES_MOST + 1, leads[i], false, &nbytes);
        reading made = {.faults = {.lists = false}};
        read_again(&made, text, nbytes);
        assert_int_equal(made.status, DLPARK_E_LIMIT);
        assert_non_null(strstr(made.err.message, "has more than 2097150 names or metadata"));
        end(&made);
        free(text);
    }
}

static void no_memory_is_told(void **state)
{
    char bytes[400];
    size_t nbytes = quoted(bytes, "{'metadata':{'a':'b','total_size':3},'weight_map':{'x':'c','y':'a','z':'b'}}");
    long live = failing_alloc_live(), nth = 0;
    bool failed = true;

    (void)state;
    while (failed) {
        reading made = {.faults = {.lists = false}};
        failing_alloc_arm(++nth);
        read_again(&made, bytes, nbytes);
        failed = failing_alloc_count() >= nth;
        failing_alloc_arm(0);
        assert_int_equal(made.status, failed ? DLPARK_E_MEMORY : DLPARK_OK);
        assert_true(made.err.status == made.status && (made.err.message[0] != '\0') == failed);
        end(&made);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_true(nth > 9);
}

/* Whatever a byte is changed to: a fault, or an index whose every shard has a plain name. */
static void every_byte_changed(void **state)
{
    char bytes[400];
    size_t nbytes = quoted(bytes, "{'metadata':{'total_size':3,'k':'v'},'weight_map':{'x':'m1','y\\n':'m2','z':'m1'}}");
    int whole = 0;

    (void)state;
    for (size_t at = 0; at < nbytes; at++) {
        char before = bytes[at];
        for (int byte = 0; byte < 256; byte++) {
            reading made = {.faults = {.lists = false}};
            bytes[at] = (char)byte;
            read_again(&made, bytes, nbytes);
            assert_int_equal(made.status, DLPARK_OK);
            for (size_t i = 0; i < made.shards.count && made.faults.count == 0; i++)
                assert_true(dlpark__shards_is_plain(made.shards.items[i].text, strlen(made.shards.items[i].text)));
            whole += made.faults.count == 0;
            end(&made);
        }
        bytes[at] = before;
    }
    assert_true(whole > 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_an_index_from_tensors),
        cmocka_unit_test(shards_are_in_the_order_of_their_names),
        cmocka_unit_test(metadata_is_texts_and_numbers),
        cmocka_unit_test(shapes_that_are_not_an_index),
        cmocka_unit_test(names_come_once),
        cmocka_unit_test(shards_have_plain_names),
        cmocka_unit_test(an_index_has_a_limit),
        cmocka_unit_test(shards_have_a_limit),
        cmocka_unit_test(names_have_a_limit),
        cmocka_unit_test(no_memory_is_told),
        cmocka_unit_test(every_byte_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
