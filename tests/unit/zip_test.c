#include "zip_opened.h"
#include "npz/zip_parts.h"

static const zip_item items[] = {
    {.name = "a.npy", .bytes = "0123456789", .nbytes = 10, .comment = "of no use"},
    {.name = "folder/b", .bytes = "abc", .nbytes = 3, .method = 8, .flags = 6},
    {.name = "\xC3\xA9.npy", .bytes = "", .nbytes = 0, .flags = 0x0800, .is_wide = true},
};

static void members_are_as_the_directory_says(void **state)
{
    zip_made made = zip_made_of(items, 3, false, "");
    zip_opened opened;

    (void)state;
    assert_ok(zip_opened_read(&opened, &made, 0, false, e));
    assert_int_equal(opened.zip.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const dlpark__zip_member *member = &opened.zip.members[i];
        assert_int_equal(member->name.nbytes, strlen(items[i].name));
        assert_memory_equal(opened.zip.text + member->name.at, items[i].name, member->name.nbytes);
        assert_int_equal(member->method, items[i].method);
        assert_int_equal(member->flags, items[i].flags);
        assert_int_equal(member->crc32, zip_item_sum(&items[i]));
        assert_int_equal(member->header, made.local[i]);
        assert_int_equal(member->begin, made.data[i]);
        assert_int_equal(member->packed_nbytes, zip_item_packed(&items[i]));
        assert_int_equal(member->nbytes, items[i].nbytes);
    }
    zip_opened_end(&opened);
    zip_made_end(&made);
}

static void names_of_tensors(void **state)
{
    static const char *const names[][2] = {{"a.npy", "a"},     {".npy", ""},         {"a.npy.npy", "a.npy"},
                                           {"npy", "npy"},     {"a.npy/", "a.npy/"}, {"", ""},
                                           {"a.NPY", "a.NPY"}, {"x/y.npy", "x/y"}};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        dlpark__span_text whole = {0, (uint32_t)strlen(names[i][0])};
        dlpark__span_text name = dlpark__zip_tensor_name(names[i][0], whole);
        assert_int_equal(name.at, 0);
        assert_int_equal(name.nbytes, strlen(names[i][1]));
    }
}

static void names_that_are_refused(void **state)
{
    static const struct {
        const char *name;
        size_t nbytes;
        unsigned flags;
        const char *rule, *text;
    } cases[] = {
        {"\xE9.npy", 0, 0, "name", "no flag says that they are UTF-8"},
        {"\xC3\xA9.npy", 0, 0, "name", "no flag says that they are UTF-8"},
        {"\xE9.npy", 0, 0x0800, "name", "its name is no UTF-8"},
        {"/etc/passwd.npy", 0, 0, "name", "begins with '/'"},
        {"a\\b.npy", 0, 0, "name", "has a backslash"},
        {"a\0b.npy", 7, 0, "name", "or a zero"},
        {"../a.npy", 0, 0, "name", "has a part '.' or '..'"},
        {"a/../b.npy", 0, 0, "name", "has a part '.' or '..'"},
        {"a/..", 0, 0, "name", "has a part '.' or '..'"},
        {"./a.npy", 0, 0, "name", "has a part '.' or '..'"},
        {"a/", 0, 0, "folder", "is a folder"},
        {"..npy", 0, 0, NULL, ""},
        {"a..b/...c//d.npy", 0, 0, NULL, ""},
        {"\x7F\x01\n.npy", 0, 0, NULL, ""},
        {"a.npy", 0, 0x0800, NULL, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const zip_item item = {
            .name = cases[i].name, .name_nbytes = cases[i].nbytes, .flags = cases[i].flags, .bytes = "x", .nbytes = 1};
        zip_made made = zip_made_of(&item, 1, false, "");
        assert_zip(&made, cases[i].rule != NULL ? DLPARK_E_FORMAT : DLPARK_OK, cases[i].rule, cases[i].text);
        zip_made_end(&made);
    }
    assert_string_equal(dlpark__zip_judge_name("", 0, 0), "has no name");
    const zip_item nameless = {.name = "", .bytes = "x", .nbytes = 1};
    zip_made made = zip_made_of(&nameless, 1, false, "");
    assert_zip(&made, DLPARK_E_FORMAT, "name", "tensor '': has no name");
    zip_made_end(&made);
}

static void entries_that_are_wrong(void **state)
{
    zip_made made = zip_made_of(items, 3, false, "");
    size_t a = made.entry[0], b = made.entry[1], c = made.entry[2];
    const zip_change changes[] = {
        {a, 4, 0, DLPARK_E_FORMAT, "directory", "no whole entry of member 0 is here, of 3 (byte "},
        {b, 1, 0, DLPARK_E_FORMAT, "directory", "no whole entry of member 1 is here"},
        {a + 28, 2, 0xFFFF, DLPARK_E_FORMAT, "directory", "no whole entry of member 0"},
        {c + 30, 2, 0xFFFF, DLPARK_E_FORMAT, "directory", "no whole entry of member 2"},
        {c + 32, 2, 1, DLPARK_E_FORMAT, "directory", "no whole entry of member 2"},
        {a + 32, 2, made.end - a - 46 - 5 - 45, DLPARK_E_FORMAT, "directory", "no whole entry of member 1"},
        {c + 30, 2, 1, DLPARK_E_FORMAT, "extra", "tensor '\xC3\xA9': a number that should be in the ZIP64 field"},
        {a + 8, 2, 0x0001, DLPARK_E_UNSUPPORTED, "encrypted", "tensor 'a': is encrypted"},
        {a + 8, 2, 0x0041, DLPARK_E_UNSUPPORTED, "encrypted", "is encrypted"},
        {a + 8, 2, 0x2000, DLPARK_E_UNSUPPORTED, "encrypted", "is encrypted"},
        {a + 6, 1, 64, DLPARK_E_UNSUPPORTED, "version", "needs version 6.4 of the format, above 6.3"},
        {a + 6, 1, 63, DLPARK_OK, NULL, ""},
        {a + 8, 2, 0x0020, DLPARK_E_UNSUPPORTED, "flags", "has flags 0x0020, of which 0x080E are understood"},
        {a + 10, 2, 1, DLPARK_E_UNSUPPORTED, "method", "is packed by method 1; 0 (stored) and 8 (deflated)"},
        {b + 10, 2, 14, DLPARK_E_UNSUPPORTED, "method", "tensor 'folder/b': is packed by method 14"},
        {a + 20, 4, 11, DLPARK_E_FORMAT, "size", "is stored, has 10 bytes, and takes 11"},
        {b + 24, 4, 1032 * 9, DLPARK_E_FORMAT, "ratio", "9288 bytes cannot be packed into 8, at most 1032 into one"},
        {b + 24, 4, 1032 * 9 - 1, DLPARK_E_FORMAT, "local", "its header says 3 bytes from 8"},
        {a + 34, 2, 1, DLPARK_E_FORMAT, "disks", "is on disk 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        assert_zip_change(&made, &changes[i]);
    zip_made_end(&made);
}

/* What is wrong with more than one of them is all listed. */
static void every_fault_is_listed(void **state)
{
    zip_made made = zip_made_of(items, 3, false, "");
    zip_opened opened;

    (void)state;
    zip_made_set(&made, made.entry[0] + 8, 2, 1);
    zip_made_set(&made, made.entry[2] + 10, 2, 9);
    assert_ok(zip_opened_read(&opened, &made, 0, true, e));
    assert_int_equal(opened.faults.count, 2);
    assert_string_equal(opened.list[0].rule, "encrypted");
    assert_int_equal(opened.list[0].offset, made.entry[0]);
    assert_string_equal(opened.list[1].rule, "method");
    assert_int_equal(opened.list[1].offset, made.entry[2]);
    zip_opened_end(&opened);
    zip_made_end(&made);
}

/* Extra fields, whose numbers come where those of 32 bits are full. */
static void extra_fields(void **state)
{
    static const struct {
        const char *bytes;
        size_t nbytes;
        const char *why;
        uint64_t first, second;
    } cases[] = {
        {"", 0, NULL, 5, 6},
        {"\1\0\x10\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 20, NULL, 5, 6}, /* not asked for */
        {"\1\0\x10\0\1\0\0\0\0\0\0\1\2\0\0\0\0\0\0\0", 20, NULL, 0xFFFFFFFF, 0xFFFFFFFF},
        {"\1\0\x08\0\1\0\0\0\0\0\0\1", 12, NULL, 0xFFFFFFFF, 7},
        {"\1\0\x08\0\1\0\0\0\0\0\0\1", 12, NULL, 7, 0xFFFFFFFF},
        {"\1\0\x08\0\1\0\0\0\0\0\0\1", 12, "should be in the ZIP64 field", 0xFFFFFFFF, 0xFFFFFFFF},
        {"\1\0\x07\0\1\0\0\0\0\0\0", 11, "should be in the ZIP64 field", 0xFFFFFFFF, 5},
        {"", 0, "should be in the ZIP64 field", 5, 0xFFFFFFFF},
        {"\2\0\2\0xx\1\0\x08\0\1\0\0\0\0\0\0\1", 18, NULL, 0xFFFFFFFF, 5},
        {"\2\0\0\0abc", 7, NULL, 5, 5}, /* what is left over is padding */
        {"\2\0\5\0abc", 7, "an extra field ends behind all of them", 5, 5},
        {"\1\0\0\0\1\0\0\0", 8, "there are two ZIP64 fields", 5, 5},
        {"\x75\x70\0\0", 4, "an extra field has another name", 5, 5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t first = cases[i].first, second = cases[i].second;
        uint64_t *const numbers[] = {&first, &second};
        const char *why = dlpark__zip_widen((const unsigned char *)cases[i].bytes, cases[i].nbytes, numbers, 2);
        if (cases[i].why != NULL) {
            assert_non_null(why);
            assert_non_null(strstr(why, cases[i].why));
            continue;
        }
        assert_null(why);
        assert_int_equal(first, cases[i].first != 0xFFFFFFFF ? cases[i].first : UINT64_C(0x0100000000000001));
        assert_int_equal(second, cases[i].second != 0xFFFFFFFF  ? cases[i].second
                                 : cases[i].first == 0xFFFFFFFF ? 2
                                                                : UINT64_C(0x0100000000000001));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_as_the_directory_says),
        cmocka_unit_test(names_of_tensors),
        cmocka_unit_test(names_that_are_refused),
        cmocka_unit_test(entries_that_are_wrong),
        cmocka_unit_test(every_fault_is_listed),
        cmocka_unit_test(extra_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
