#include "test.h"

#include "sink.h"

static void characters_go_where_there_is_room(void **state)
{
    (void)state;
    const int64_t values[] = {5, -3, INT64_MIN};
    const char *whole = "a[5,-3,-9223372036854775808] [] 9223372036854775807";
    char text[80];

    for (size_t nbytes = 0; nbytes < 60; nbytes++) {
        dlpark__sink sink;
        memset(text, 0x5A, sizeof text);
        dlpark__sink_begin(&sink, nbytes == 0 ? NULL : text, nbytes);
        dlpark__sink_put(&sink, 'a');
        dlpark__sink_list(&sink, 3, values, ",");
        dlpark__sink_spaces(&sink, 1);
        dlpark__sink_list(&sink, 0, NULL, ",");
        dlpark__sink_text(&sink, " ");
        dlpark__sink_integer(&sink, INT64_MAX);
        assert_int_equal(dlpark__sink_end(&sink), strlen(whole));
        assert_int_equal((unsigned char)text[nbytes], 0x5A);
        if (nbytes == 0)
            continue;
        size_t fits = nbytes <= strlen(whole) ? nbytes - 1 : strlen(whole);
        assert_int_equal(strlen(text), fits);
        assert_memory_equal(text, whole, fits);
    }
}

static void spaces_wait_for_what_follows(void **state)
{
    (void)state;
    dlpark__sink sink;
    char text[32];

    dlpark__sink_begin(&sink, text, sizeof text);
    dlpark__sink_spaces(&sink, 2);
    dlpark__sink_spaces(&sink, -9);
    dlpark__sink_put(&sink, 'a');
    dlpark__sink_spaces(&sink, 3);
    dlpark__sink_line(&sink);
    dlpark__sink_put(&sink, 'b');
    dlpark__sink_spaces(&sink, 1);
    assert_int_equal(dlpark__sink_end(&sink), 6);
    assert_string_equal(text, "  a\nb ");
}

static void a_cut_is_marked(void **state)
{
    (void)state;
    dlpark__sink sink;
    char text[8];

    dlpark__sink_begin(&sink, text, sizeof text);
    dlpark__sink_text(&sink, "1234567");
    assert_int_equal(dlpark__sink_end_marked(&sink), 7);
    assert_string_equal(text, "1234567");
    dlpark__sink_begin(&sink, text, sizeof text);
    dlpark__sink_text(&sink, "12345678");
    assert_int_equal(dlpark__sink_end_marked(&sink), 8);
    assert_string_equal(text, "1234...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_go_where_there_is_room),
        cmocka_unit_test(spaces_wait_for_what_follows),
        cmocka_unit_test(a_cut_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
