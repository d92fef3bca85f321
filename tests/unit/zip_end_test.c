#include "zip_opened.h"

#include "failing_alloc.h"
#include "failing_read.h"
#include "tensor_file.h"

static const zip_item two[] = {{.name = "a.npy", .bytes = "0123456789", .nbytes = 10},
                               {.name = "b", .bytes = "abc", .nbytes = 3}};

static void right_ones_are_read(void **state)
{
    static const char *const comments[] = {"", "x", "PK\1\2 and PK\5 are no ends"};

    (void)state;
    for (size_t count = 0; count < 3; count++)
        for (size_t i = 0; i < 6; i++) {
            zip_made made = zip_made_of(two, count, i >= 3, comments[i % 3]);
            zip_opened opened;
            assert_ok(zip_opened_read(&opened, &made, 0, false, e));
            assert_int_equal(opened.zip.count, count);
            assert_int_equal(opened.faults.count, 0);
            if (count == 2)
                assert_int_equal(opened.zip.members[1].begin, made.data[1]);
            zip_opened_end(&opened);
            zip_made_end(&made);
        }
}

static void end_is_within_its_last_bytes(void **state)
{
    static char comment[65537];
    static unsigned char garbage[70000];

    (void)state;
    memset(comment, 'x', 65535);
    zip_made made = zip_made_of(two, 2, true, comment);
    assert_zip(&made, DLPARK_OK, NULL, "");
    zip_made_put(&made, "x", 1); /* one more than a comment has */
    assert_zip(&made, DLPARK_E_FORMAT, "end", "the archive's comment has 65535 bytes, and 65536 are behind its end");
    zip_made_put(&made, comment, 20);
    assert_zip(&made, DLPARK_E_FORMAT, "end", "no end of a ZIP archive is in its last 65577 bytes");
    zip_made_end(&made);
    made = (zip_made){.bytes = garbage};
    for (made.nbytes = 0; made.nbytes < 70000; made.nbytes += made.nbytes < 40 ? 1 : 29980)
        assert_zip(&made, DLPARK_E_FORMAT, "end", "it may be cut short");
}

static void behind_the_end_is_the_comment(void **state)
{
    (void)state;
    zip_made made = zip_made_of(two, 2, false, "hello");
    made.nbytes--;
    assert_zip(&made, DLPARK_E_FORMAT, "end", "the archive's comment has 5 bytes, and 4 are behind its end");
    made.nbytes++;
    zip_made_put(&made, "!", 1);
    assert_zip(&made, DLPARK_E_FORMAT, "end", "the archive's comment has 5 bytes, and 6 are behind its end");
    zip_made_end(&made);
}

/* Every length that it is cut to. */
static void archives_that_are_cut_short(void **state)
{
    (void)state;
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        zip_made made = zip_made_of(two, 2, is_wide == 1, "");
        while (made.nbytes > 0) {
            made.nbytes--;
            assert_zip(&made, DLPARK_E_FORMAT, "end", "");
        }
        zip_made_end(&made);
    }
}

static void numbers_of_the_end(void **state)
{
    zip_made made = zip_made_of(two, 2, false, "");
    const zip_change changes[] = {
        {made.end + 4, 2, 1, DLPARK_E_FORMAT, "disks", "is disk 1 of an archive whose directory is on disk 0"},
        {made.end + 6, 2, 2, DLPARK_E_FORMAT, "disks", "is disk 0 of an archive whose directory is on disk 2"},
        {made.end + 8, 2, 1, DLPARK_E_FORMAT, "count", "has 1 members on this disk, and 2 in all"},
        {made.end + 10, 2, 3, DLPARK_E_FORMAT, "count", "has 2 members on this disk, and 3 in all"},
        {made.end + 12, 4, 7, DLPARK_E_FORMAT, "directory", "the directory has 7 bytes from byte "},
        {made.end + 12, 4, 0xFFFFFFFF, DLPARK_E_FORMAT, "directory", "the directory has 4294967295 bytes from byte "},
        {made.end + 16, 4, 0, DLPARK_E_FORMAT, "directory", " bytes from byte 0 on, and ends at byte "},
        {made.end + 8, 4, 0x00030003, DLPARK_E_FORMAT, "count", "3 members are not in a directory of 98 bytes"},
        {made.end + 8, 4, 0x00010001, DLPARK_E_FORMAT, "count", "47 bytes are in the directory behind the last of 1"},
        {made.end + 8, 4, 0, DLPARK_E_FORMAT, "count", "98 bytes are in the directory behind the last of 0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        assert_zip_change(&made, &changes[i]);
    zip_made_end(&made);
}

static void numbers_of_the_end_in_64_bits(void **state)
{
    zip_made made = zip_made_of(two, 2, true, "");
    const zip_change changes[] = {
        {made.locator, 4, 0, DLPARK_E_FORMAT, "disks", "is disk 0"}, /* no locator: then the end means what it says */
        {made.locator + 4, 4, 1, DLPARK_E_FORMAT, "disks", "its end is on disk 1 of 1"},
        {made.locator + 16, 4, 2, DLPARK_E_FORMAT, "disks", "its end is on disk 0 of 2"},
        {made.locator + 16, 4, 0, DLPARK_OK, NULL, ""},
        {made.locator + 8, 8, made.wide + 1, DLPARK_E_FORMAT, "zip64", "less than 56 in front of its locator"},
        {made.locator + 8, 8, UINT64_MAX, DLPARK_E_FORMAT, "zip64", "would be at byte 18446744073709551615"},
        {made.locator + 8, 8, made.wide - 1, DLPARK_E_FORMAT, "zip64", "no ZIP64 end of 57 bytes is here"},
        {made.wide, 1, 0, DLPARK_E_FORMAT, "zip64", "no ZIP64 end of 56 bytes is here, where the locator says"},
        {made.wide + 4, 8, 45, DLPARK_E_FORMAT, "zip64", "no ZIP64 end of 56 bytes is here"},
        {made.end + 4, 2, 1, DLPARK_E_FORMAT, "zip64", "the ZIP64 end says 0, and the end 1"},
        {made.end + 4, 2, 0xFFFF, DLPARK_OK, NULL, ""},
        {made.end + 10, 2, 2, DLPARK_OK, NULL, ""},
        {made.end + 16, 4, 1, DLPARK_E_FORMAT, "zip64", ", and the end 1"},
        {made.wide + 16, 4, 1, DLPARK_E_FORMAT, "zip64", "the ZIP64 end says 1, and the end 0"},
        {made.wide + 24, 8, 1, DLPARK_E_FORMAT, "count", "has 1 members on this disk, and 2 in all"},
        {made.wide + 40, 8, UINT64_MAX, DLPARK_E_FORMAT, "directory", "has 18446744073709551615 bytes"},
        {made.wide + 48, 8, UINT64_MAX, DLPARK_E_FORMAT, "directory", "from byte 18446744073709551615 on"},
    };

    (void)state;
    for (size_t i = 1; i < sizeof changes / sizeof *changes; i++)
        assert_zip_change(&made, &changes[i]);
    zip_made_set(&made, made.locator, 4, 0);
    assert_zip(&made, DLPARK_E_FORMAT, "directory", "the directory has 4294967295 bytes from byte 4294967295 on");
    zip_made_end(&made);
}

/* A locator with nothing in front of it, and an end with less in front of it than a locator has. */
static void locator_has_no_room(void **state)
{
    zip_made made = {.bytes = NULL};

    (void)state;
    zip_made_put(&made, "PK\6\7", 4);
    zip_made_number(&made, 0, 8);
    zip_made_number(&made, 0, 8);
    zip_made_finish(&made, NULL, false, "");
    assert_zip(&made, DLPARK_E_FORMAT, "zip64", "the ZIP64 end would be at byte 0, less than 56");
    zip_made_end(&made);
    made = (zip_made){.bytes = NULL};
    zip_made_put(&made, "x", 1);
    zip_made_finish(&made, NULL, false, "");
    assert_zip(&made, DLPARK_E_FORMAT, "prepended", "1 bytes stand before the first member");
    zip_made_end(&made);
}

static void directory_has_limits(void **state)
{
    zip_made made = zip_made_of(two, 2, true, "");
    zip_opened opened;
    static const uint64_t enough[] = {98, 99, 100000000, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_ok(zip_opened_read(&opened, &made, enough[i], false, e));
        zip_opened_end(&opened);
    }
    assert_fails(DLPARK_E_LIMIT, "the directory has 98 bytes, more than 97",
                 (zip_opened_end(&opened), zip_opened_read(&opened, &made, 97, false, e)));
    zip_opened_end(&opened);
    zip_made_end(&made);
}

/* In a hole of a file, which takes no room: as many members as there may be are looked for, and one more is not. */
static void members_are_so_many_at_most(void **state)
{
    enum { MOST = 1000000, ENTRY = 46 };
    dlpark_file *file = NULL;

    (void)state;
    for (int more = 0; more < 3; more++) {
        size_t count = MOST + (size_t)more, nbytes = count * ENTRY;
        nbytes = more == 2 ? 100000001 : nbytes;
        zip_made made = {.bytes = NULL};
        zip_made_finish(&made, NULL, true, "");
        zip_made_set(&made, made.wide + 24, 8, count);
        zip_made_set(&made, made.wide + 32, 8, count);
        zip_made_set(&made, made.wide + 40, 8, nbytes);
        zip_made_set(&made, made.locator + 8, 8, nbytes);
        tensor_file_path path = tensor_file_save_bytes("", 0);
        FILE *stream = fopen(path.text, "r+b");
        assert_non_null(stream);
        assert_int_equal(fseek(stream, (long)nbytes, SEEK_SET), 0);
        assert_int_equal(fwrite(made.bytes, 1, made.nbytes, stream), made.nbytes);
        assert_int_equal(fclose(stream), 0);
        const dlpark_file_options options = {.format = DLPARK_FILE_NPZ};
        static const char *const texts[] = {"no whole entry of member 0 is here, of 1000000",
                                            "has 1000001 members, more than 1000000",
                                            "the directory has 100000001 bytes, more than 100000000"};
        assert_fails(more == 0 ? DLPARK_E_FORMAT : DLPARK_E_LIMIT, texts[more],
                     dlpark_file_open(&file, path.text, &options, e));
        tensor_file_drop(&path);
        zip_made_end(&made);
    }
}

static void what_fails_leaves_nothing(void **state)
{
    const zip_item described[] = {{.name = "a", .bytes = "abc", .nbytes = 3, .flags = 8, .descriptor = 16},
                                  {.name = "b", .bytes = "abc", .nbytes = 3, .flags = 8, .descriptor = 16}};
    zip_made made = zip_made_of(described, 2, true, "");
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    long live = failing_alloc_live();
    int failed = 0;

    (void)state;
    for (int n = 1; n < 20; n++) {
        for (int is_read = 0; is_read < 2; is_read++) {
            dlpark__source *source = NULL;
            dlpark__zip zip = {NULL, NULL, 0};
            assert_ok(dlpark__source_open(&source, path.text, false, e));
            dlpark__file_faults faults = {.file = &source->name};
            reads_until_failure = is_read ? n : 0;
            failing_alloc_arm(is_read ? 0 : n);
            dlpark_error err;
            dlpark_status status = dlpark__zip_read(&zip, source, 0, &faults, &err);
            failing_alloc_arm(0);
            reads_until_failure = 0;
            assert_true(status == DLPARK_OK || status == (is_read ? DLPARK_E_IO : DLPARK_E_MEMORY));
            failed += status != DLPARK_OK;
            assert_int_equal(faults.count, 0);
            dlpark__zip_end(&zip);
            dlpark__source_release(source);
            assert_int_equal(failing_alloc_live(), live);
        }
    }
    assert_int_equal(failed,
                     4 + 7); /* tail, text, members, headers; tail, record, directory, two headers, two descriptors */
    tensor_file_drop(&path);
    zip_made_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_ones_are_read),
        cmocka_unit_test(end_is_within_its_last_bytes),
        cmocka_unit_test(behind_the_end_is_the_comment),
        cmocka_unit_test(archives_that_are_cut_short),
        cmocka_unit_test(numbers_of_the_end),
        cmocka_unit_test(numbers_of_the_end_in_64_bits),
        cmocka_unit_test(locator_has_no_room),
        cmocka_unit_test(directory_has_limits),
        cmocka_unit_test(members_are_so_many_at_most),
        cmocka_unit_test(what_fails_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
