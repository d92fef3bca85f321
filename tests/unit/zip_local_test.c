#include "zip_opened.h"

#include "failing_alloc.h"

static const zip_item items[] = {
    {.name = "a.npy", .bytes = "0123456789", .nbytes = 10, .is_wide = true},
    {.name = "b.npy", .bytes = "abc", .nbytes = 3, .method = 8, .padding = 50},
    {.name = "c.npy", .bytes = "xyz", .nbytes = 3},
};

static void headers_say_what_the_directory_says(void **state)
{
    zip_made made = zip_made_of(items, 3, false, "");
    size_t a = made.local[0], b = made.local[1], c = made.local[2];
    const zip_change changes[] = {
        {a, 4, 0, DLPARK_E_FORMAT, "local", "tensor 'a': no whole header of it is here, where the directory says"},
        {b + 6, 2, 2, DLPARK_E_FORMAT, "local", "its header says method 8, flags 0x0002; the directory 8, 0x0000"},
        {b + 8, 2, 0, DLPARK_E_FORMAT, "local", "its header says method 0, flags 0x0000; the directory 8, 0x0000"},
        {b + 14, 4, 1, DLPARK_E_FORMAT, "local",
         "its header says 3 bytes from 8, sum 00000001; the directory 3 from 8"},
        {b + 18, 4, 9, DLPARK_E_FORMAT, "local", "its header says 3 bytes from 9"},
        {b + 22, 4, 4, DLPARK_E_FORMAT, "local", "its header says 4 bytes from 8"},
        {a + 22, 4, 4, DLPARK_E_FORMAT, "local", "its header says 4 bytes from "},
        {b + 22, 4, 0xFFFFFFFF, DLPARK_E_FORMAT, "extra", "a number that should be in the ZIP64 field is not"},
        {a + 26, 2, 4, DLPARK_E_FORMAT, "local", "its header has another name"},
        {a + 30, 1, 'x', DLPARK_E_FORMAT, "local", "its header has another name"},
        {b + 28, 2, 0xFFFF, DLPARK_E_FORMAT, "outside", "its 8 bytes would end behind byte "},
        {c + 28, 2, 1, DLPARK_E_FORMAT, "outside", "its 3 bytes would end behind byte "},
        {c + 28, 2, 4, DLPARK_E_FORMAT, "outside", "its 3 bytes would end behind byte "},
        {a + 10, 4, 1, DLPARK_OK, NULL, ""}, /* time, and date, */
        {a + 4, 2, 99, DLPARK_OK, NULL, ""}, /* and what version is needed, are nobody's business */
        {made.entry[0] + 42, 4, 0xFFFFFFFE, DLPARK_E_FORMAT, "outside",
         "its header would be at byte 4294967294, and the"},
        {made.entry[2] + 42, 4, made.directory, DLPARK_E_FORMAT, "outside", "its header would be at byte "},
        {made.entry[2] + 42, 4, made.directory - 34, DLPARK_E_FORMAT, "local", "no whole header of it is here"},
        {made.entry[2] + 42, 4, made.directory - 35, DLPARK_E_FORMAT, "local", "no whole header of it is here"},
    };

    (void)state;
    assert_zip(&made, DLPARK_OK, NULL, "");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        assert_zip_change(&made, &changes[i]);
    zip_made_end(&made);
}

/* Extra fields longer than what is read at first, to the longest. */
static void long_extra_fields(void **state)
{
    static const size_t paddings[] = {1, 3, 4, 225, 250, 256, 257, 300, 65535};

    (void)state;
    for (size_t i = 0; i < sizeof paddings / sizeof *paddings; i++) {
        const zip_item item = {.name = "a.npy", .bytes = "0123456789", .nbytes = 10, .padding = paddings[i]};
        zip_made made = zip_made_of(&item, 1, false, "");
        zip_opened opened;
        assert_ok(zip_opened_read(&opened, &made, 0, false, e));
        assert_int_equal(opened.zip.members[0].begin, made.data[0]);
        zip_opened_end(&opened);
        if (paddings[i] == 300) { /* the directory begins within it */
            zip_made_set(&made, made.local[0] + 28, 2, 311);
            assert_zip(&made, DLPARK_E_FORMAT, "outside", "its 10 bytes would end behind byte ");
        }
        zip_made_end(&made);
    }
}

static void descriptors(void **state)
{
    static const size_t lengths[] = {12, 16, 20, 24};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (int hides = 0; hides < 2; hides++) {
            const zip_item some[] = {{.name = "a.npy",
                                      .bytes = "abc",
                                      .nbytes = 3,
                                      .method = 8,
                                      .flags = 8,
                                      .descriptor = lengths[i],
                                      .hides_sizes = hides == 1,
                                      .is_wide = lengths[i] > 16},
                                     {.name = "b.npy",
                                      .bytes = "abc",
                                      .nbytes = 3,
                                      .flags = 8,
                                      .descriptor = lengths[i],
                                      .hides_sizes = hides == 1}};
            zip_made made = zip_made_of(some, 2, false, "");
            assert_zip(&made, DLPARK_OK, NULL, "");
            for (size_t at = 0; at < lengths[i]; at++) {
                const zip_change change = {made.after[1] + at,
                                           1,
                                           0xEE,
                                           DLPARK_E_FORMAT,
                                           "descriptor",
                                           "bytes behind its data are not its sum and sizes"};
                assert_zip_change(&made, &change);
            }
            const zip_change sums = {made.local[0] + 14, 4, 1, DLPARK_E_FORMAT, "local", "sum 00000001"};
            assert_zip_change(&made, &sums);
            zip_made_end(&made);
        }
}

static void descriptors_of_another_length(void **state)
{
    (void)state;
    for (size_t nbytes = 0; nbytes < 30; nbytes++) {
        const zip_item item = {.name = "a.npy", .bytes = "abc", .nbytes = 3, .flags = 8};
        zip_made made = {.bytes = NULL};
        zip_made_local(&made, &item);
        for (size_t i = 0; i < nbytes; i++)
            zip_made_number(&made, i, 1);
        zip_made_finish(&made, &item, false, "");
        assert_zip(&made, DLPARK_E_FORMAT, "descriptor", "bytes behind its data are not its sum and sizes");
        zip_made_end(&made);
    }
}

/* Sizes that only the header of a member has not: that takes the flag. */
static void sizes_are_not_hidden_without_a_descriptor(void **state)
{
    const zip_item item = {.name = "a.npy", .bytes = "abc", .nbytes = 3, .hides_sizes = true};
    zip_made made = zip_made_of(&item, 1, false, "");

    (void)state;
    assert_zip(&made, DLPARK_E_FORMAT, "local", "its header says 0 bytes from 0, sum 00000000; the directory 3 from 3");
    zip_made_end(&made);
    const zip_item partly = {
        .name = "a.npy", .bytes = "abc", .nbytes = 3, .flags = 8, .descriptor = 16, .hides_sizes = true};
    made = zip_made_of(&partly, 1, false, "");
    const zip_change changes[] = {{made.local[0] + 18, 4, 1, DLPARK_E_FORMAT, "local", "says 0 bytes from 1"},
                                  {made.local[0] + 22, 4, 1, DLPARK_E_FORMAT, "local", "says 1 bytes from 0"}};
    assert_zip_change(&made, &changes[0]);
    assert_zip_change(&made, &changes[1]);
    zip_made_end(&made);
}

static void every_byte_is_of_one_member(void **state)
{
    static const struct {
        size_t before, between;
        const char *rule, *text;
    } cases[] = {{0, 0, NULL, ""},
                 {1, 0, "prepended", "1 bytes stand before the first member"},
                 {0, 2, "hole", "tensor 'a': 2 bytes behind it belong to no member"}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        zip_made made = {.bytes = NULL};
        zip_made_put(&made, "xx", cases[i].before);
        zip_made_local(&made, &items[0]);
        zip_made_put(&made, "xx", cases[i].between);
        zip_made_local(&made, &items[1]);
        zip_made_finish(&made, items, false, "");
        assert_zip(&made, i == 0 ? DLPARK_OK : DLPARK_E_FORMAT, cases[i].rule, cases[i].text);
        zip_made_end(&made);
    }
}

/* Members in any order of the directory; members within members. */
static void order_and_overlap(void **state)
{
    zip_made made = {.bytes = NULL};
    const zip_item turned[] = {items[2], items[1], items[0]};
    zip_opened opened;

    (void)state;
    zip_made_local(&made, &items[0]);
    zip_made_local(&made, &items[1]);
    zip_made_local(&made, &items[2]);
    size_t kept = made.local[0];
    made.local[0] = made.local[2];
    made.local[2] = kept;
    zip_made_finish(&made, turned, false, "");
    assert_ok(zip_opened_read(&opened, &made, 0, false, e));
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(opened.zip.text + opened.zip.members[i].name.at, items[i].name, 5);
    zip_opened_end(&opened);
    zip_made_end(&made);

    /* In no order, with one of them twice. */
    const zip_item mixed[] = {items[1], items[2], items[0], items[2], items[0]};
    made = (zip_made){.bytes = NULL};
    for (size_t i = 0; i < 3; i++)
        zip_made_local(&made, &items[i]);
    const size_t places[] = {made.local[1], made.local[2], made.local[0], made.local[2], made.local[0]};
    memcpy(made.local, places, sizeof places);
    made.count = 5;
    zip_made_finish(&made, mixed, false, "");
    assert_ok(zip_opened_read(&opened, &made, 0, true, e));
    assert_int_equal(opened.faults.count, 2);
    assert_string_equal(opened.list[0].tensor, "a");
    assert_string_equal(opened.list[1].tensor, "c");
    zip_opened_end(&opened);
    zip_made_end(&made);

    /* A member whose bytes are an archive's member. */
    zip_made inner = {.bytes = NULL};
    zip_made_local(&inner, &items[2]);
    zip_made_put(&inner, "!", 1);
    const zip_item nested[] = {{.name = "n.npy", .bytes = inner.bytes, .nbytes = inner.nbytes}, items[2], items[1]};
    made = (zip_made){.bytes = NULL};
    zip_made_local(&made, &nested[0]);
    made.local[1] = made.data[0];
    made.count++;
    zip_made_local(&made, &nested[2]);
    zip_made_finish(&made, nested, false, "");
    assert_zip(&made, DLPARK_E_FORMAT, "overlap", "tensor 'c': begins before byte ");
    assert_ok(zip_opened_read(&opened, &made, 0, true, e));
    assert_int_equal(opened.faults.count, 1); /* and the third is in its place */
    zip_opened_end(&opened);
    zip_made_end(&made);
    zip_made_end(&inner);
}

/* The same member twice, by two entries. */
static void two_entries_of_one_member(void **state)
{
    zip_made made = {.bytes = NULL};
    const zip_item twice[] = {items[2], items[2]}, others[] = {items[2], items[0]};

    (void)state;
    zip_made_local(&made, &twice[0]);
    made.local[1] = made.local[0];
    made.count++;
    zip_made_finish(&made, twice, false, "");
    assert_zip(&made, DLPARK_E_FORMAT, "overlap", "begins before byte 38, where the member before it ends");
    zip_made_end(&made);

    /* Another entry for it, whose header would be looked at: it is not read a second time. */
    made = (zip_made){.bytes = NULL};
    zip_made_local(&made, &others[0]);
    made.local[1] = made.local[0];
    made.count++;
    zip_made_finish(&made, others, false, "");
    assert_zip(&made, DLPARK_E_FORMAT, "overlap", "tensor 'a': begins before byte 38, where the member before it ends");
    zip_made_end(&made);
}

static void every_wrong_header_is_listed(void **state)
{
    zip_made made = zip_made_of(items, 3, false, "");
    zip_opened opened;

    (void)state;
    zip_made_set(&made, made.local[0], 1, 0);
    zip_made_set(&made, made.local[2] + 30, 1, 'x');
    assert_ok(zip_opened_read(&opened, &made, 0, true, e));
    assert_int_equal(opened.faults.count, 2);
    assert_int_equal(opened.list[0].offset, made.local[0]);
    assert_int_equal(opened.list[1].offset, made.local[2]);
    assert_string_equal(opened.list[1].tensor, "c");
    zip_opened_end(&opened);
    zip_made_end(&made);
}

/* One that would end behind everything makes no other begin too early. */
static void a_wrong_size_is_one_fault(void **state)
{
    const zip_item turned[] = {items[2], items[1], items[0]};
    zip_made made = zip_made_of(turned, 3, false, "");
    zip_opened opened;

    (void)state;
    for (size_t at = 20; at <= 24; at += 4) /* packed and plain, in the directory */
        zip_made_set(&made, made.entry[0] + at, 4, 1000000);
    assert_ok(zip_opened_read(&opened, &made, 0, true, e));
    assert_int_equal(opened.faults.count, 1);
    assert_string_equal(opened.list[0].rule, "outside");
    zip_opened_end(&opened);
    zip_made_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_say_what_the_directory_says),
        cmocka_unit_test(long_extra_fields),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(descriptors_of_another_length),
        cmocka_unit_test(sizes_are_not_hidden_without_a_descriptor),
        cmocka_unit_test(every_byte_is_of_one_member),
        cmocka_unit_test(order_and_overlap),
        cmocka_unit_test(two_entries_of_one_member),
        cmocka_unit_test(every_wrong_header_is_listed),
        cmocka_unit_test(a_wrong_size_is_one_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
