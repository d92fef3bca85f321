/* What messages call a file, and that they call it something. */
#include "adapter.h"
#include "failing_alloc.h"
#include "folder.h"

enum { LONG = 500 };

static void a_short_name_is_shown_whole(void **state)
{
    (void)state;
    char path[161];
    memset(path, 'a', 160);
    path[160] = '\0';
    assert_string_equal(dlpark__image_name(NULL).text, "<memory>");
    assert_string_equal(dlpark__image_name("").text, "");
    assert_string_equal(dlpark__image_name("a/b.png").text, "a/b.png");
    assert_string_equal(dlpark__image_name(path).text, path);
}

static void a_long_name_is_shown_by_its_end(void **state)
{
    (void)state;
    for (size_t length = 161; length <= LONG; length++) {
        char path[LONG + 1];
        for (size_t i = 0; i < length; i++)
            path[i] = (char)('a' + i % 26);
        path[length] = '\0';
        const image_name name = dlpark__image_name(path);
        assert_memory_equal(name.text, "...", 3);
        assert_string_equal(name.text + 3, path + length - 160);
    }
}

/* Wherever the cut falls, what is left begins with a whole character and lost no more than a part of one. */
static void a_character_is_not_cut(void **state)
{
    (void)state;
    const char *const characters[] = {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x90\x95"};
    for (size_t c = 0; c < 3; c++) {
        const size_t nbytes = strlen(characters[c]);
        for (size_t tail = 0; tail < nbytes; tail++) {
            char path[400] = "";
            for (size_t i = 0; i < 80; i++)
                memcpy(path + i * nbytes, characters[c], nbytes);
            memset(path + 80 * nbytes, 'x', tail + 1);
            const image_name name = dlpark__image_name(path);
            if (80 * nbytes + tail + 1 <= 160)
                continue;
            assert_memory_equal(name.text + 3, characters[c], nbytes);
            assert_in_range(strlen(name.text + 3), 160 - nbytes + 1, 160);
            assert_string_equal(name.text + 3, path + strlen(path) - strlen(name.text + 3));
        }
    }
}

static void bytes_that_are_no_utf_8_are_shown(void **state)
{
    (void)state;
    char path[LONG + 1];
    memset(path, 0x80, LONG);
    path[LONG] = '\0';
    assert_int_equal(strlen(dlpark__image_name(path).text), 160);
}

/* "here/dddd.../dddd.../p", LONG characters with `ending`; nothing of it is there. */
static void long_path(char path[LONG + 1], const char *ending)
{
    memset(path, 'd', LONG);
    path[200] = path[400] = '/';
    memcpy(path + LONG - strlen(ending), ending, strlen(ending) + 1);
}

static void check_message(const dlpark_error *err, const char *path, const char *reason)
{
    assert_memory_equal(err->message, "...", 3);
    assert_memory_equal(err->message + 3, path + LONG - 160, 160);
    assert_memory_equal(err->message + 163, ": ", 2);
    assert_non_null(strstr(err->message + 165, reason));
    assert_true(strlen(err->message) < sizeof err->message - 1);
}

static dlpark_view view_of(void *data, int64_t height, int64_t width, int64_t channels)
{
    dlpark_view view = {.data = data, .device = DLPARK_DEVICE_CPU, .dtype = DLPARK_U8, .ndim = 3};
    memcpy(view.shape, (int64_t[]){height, width, channels}, 3 * sizeof(int64_t));
    memcpy(view.strides, (int64_t[]){0, channels, 1}, 3 * sizeof(int64_t)); /* one row stands for all */
    return view;
}

static void a_long_path_leaves_room_for_the_reason(void **state)
{
    (void)state;
    char path[LONG + 1];
    char data[12] = {0};
    dlpark_error err;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    long_path(path, ".png");
    assert_int_equal(dlpark_image_load(&tensor, &(dlpark_image_load_desc){.path = path}, NULL, &err),
                     DLPARK_E_NOT_FOUND);
    check_message(&err, path, "No such file or directory");
    dlpark_view view = view_of(data, 2, 2, 3);
    dlpark_image_save_desc desc = {.path = path};
    assert_int_equal(dlpark_image_save(&view, &desc, &err), DLPARK_E_NOT_FOUND);
    check_message(&err, path, "No such file or directory");
    view.dtype = DLPARK_F32;
    assert_int_equal(dlpark_image_save(&view, &desc, &err), DLPARK_E_DTYPE);
    check_message(&err, path, "stored as u8 or u16, got f32");
    assert_int_equal(dlpark_image_encode(&tensor, &view, &desc, NULL, &err), DLPARK_E_ARGUMENT);
    check_message(&err, path, "desc has a path");
    long_path(path, "/.png");
    assert_int_equal(dlpark_image_save(&view, &desc, &err), DLPARK_E_ARGUMENT);
    check_message(&err, path, "no part before the ending .png");
    long_path(path, ".gif");
    assert_int_equal(dlpark_image_save(&view, &desc, &err), DLPARK_E_ARGUMENT);
    check_message(&err, path, "desc names no format");
}

/* The same in memory and, under a long name, as a file that is there: a damaged PNG has the longest reasons. */
static void a_damaged_file_is_named(void **state)
{
    (void)state;
    static const char png[] = "\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\0\0\0\0\1\x08\2\0\0\0\0\0\0\0";
    folder here = folder_new();
    char folder_path[LONG];
    char path[2 * LONG];
    (void)snprintf(folder_path, sizeof folder_path, "%s/%0200d", here.path, 0);
    (void)snprintf(path, sizeof path, "%s/%0200d.png", folder_path, 0);
    assert_int_equal(mkdir(folder_path, 0700), 0);
    folder_write(path, png, sizeof png - 1);
    dlpark_image_info info;
    dlpark_error of_bytes;
    dlpark_error of_path;
    const dlpark_image_load_desc bytes = {.bytes = png, .nbytes = sizeof png - 1};
    assert_int_equal(dlpark_image_read_info(&info, &bytes, &of_bytes), DLPARK_E_FORMAT);
    assert_int_equal(dlpark_image_read_info(&info, &(dlpark_image_load_desc){.path = path}, &of_path), DLPARK_E_FORMAT);
    assert_memory_equal(of_bytes.message, "<memory>: damaged PNG", 21);
    assert_memory_equal(of_path.message + 3, path + strlen(path) - 160, 160);
    assert_string_equal(of_path.message + 163, of_bytes.message + strlen("<memory>"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder_path), 0);
    folder_end(&here, 0, NULL);
}

/* Refused by both, and both messages begin with the name. */
static void check_named(const dlpark_view *view, dlpark_image_save_desc desc, dlpark_status expected)
{
    dlpark_error err;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    assert_int_equal(dlpark_image_encode(&tensor, view, &desc, NULL, &err), expected);
    assert_memory_equal(err.message, "<memory>: ", 10);
    desc.path = "no/such/p.x";
    assert_int_equal(dlpark_image_save(view, &desc, &err), expected);
    assert_memory_equal(err.message, "no/such/p.x: ", 13);
}

static void every_refusal_of_a_save_names_the_file(void **state)
{
    (void)state;
    unsigned char *data = picture_memory(70000 * 3);
    const dlpark_view fine = view_of(data, 2, 2, 3);
    const dlpark_view tall = view_of(data, 65535, 1, 3);
    const dlpark_view wide = view_of(data, 1, 65535, 3);
    check_named(&fine, (dlpark_image_save_desc){.format = (dlpark_image_format)9}, DLPARK_E_ARGUMENT);
    for (int format = DLPARK_IMAGE_JPEG; format <= DLPARK_IMAGE_WEBP; format++) {
        dlpark_image_save_desc desc = {.format = (dlpark_image_format)format};
        check_named(NULL, desc, DLPARK_E_ARGUMENT);
        if (format != DLPARK_IMAGE_PNG) {
            check_named(&tall, desc, DLPARK_E_UNSUPPORTED);
            check_named(&wide, desc, DLPARK_E_UNSUPPORTED);
        }
        desc.quality = 101;
        check_named(&fine, desc, DLPARK_E_ARGUMENT);
        desc = (dlpark_image_save_desc){.format = (dlpark_image_format)format, .compression = 10};
        check_named(&fine, desc, DLPARK_E_ARGUMENT);
        desc = (dlpark_image_save_desc){.format = (dlpark_image_format)format, .subsampling = 1};
        check_named(&fine, desc, DLPARK_E_ARGUMENT);
        desc = (dlpark_image_save_desc){.format = (dlpark_image_format)format, .layout = (dlpark_image_layout)2};
        check_named(&fine, desc, DLPARK_E_ARGUMENT);
    }
    free(data);
}

/* Allocations fail in turn, of a picture whose rows have to be gathered and of one whose rows can be handed on. */
static void memory_that_is_out_names_the_file(void **state)
{
    (void)state;
    unsigned char data[2 * 60] = {0};
    int refused = 0;
    for (int format = DLPARK_IMAGE_JPEG; format <= DLPARK_IMAGE_WEBP; format++)
        for (int spread = 0; spread < 2; spread++)
            for (long nth = 1;; nth++) {
                dlpark_view view = view_of(data, 4, 5, 3);
                view.strides[1] = spread ? 6 : 3;
                dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
                dlpark_error err;
                const dlpark_image_save_desc desc = {.format = (dlpark_image_format)format};
                failing_alloc_arm(nth);
                const dlpark_status status = dlpark_image_encode(&tensor, &view, &desc, NULL, &err);
                const long asked = failing_alloc_count();
                failing_alloc_arm(0);
                dlpark_tensor_release(&tensor);
                if (status != DLPARK_OK) {
                    assert_int_equal(status, DLPARK_E_MEMORY);
                    assert_memory_equal(err.message, "<memory>: ", 10);
                    refused++;
                }
                if (asked < nth)
                    break;
            }
    assert_true(refused >= 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_name_is_shown_whole),
        cmocka_unit_test(a_long_name_is_shown_by_its_end),
        cmocka_unit_test(a_character_is_not_cut),
        cmocka_unit_test(bytes_that_are_no_utf_8_are_shown),
        cmocka_unit_test(a_long_path_leaves_room_for_the_reason),
        cmocka_unit_test(a_damaged_file_is_named),
        cmocka_unit_test(every_refusal_of_a_save_names_the_file),
        cmocka_unit_test(memory_that_is_out_names_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
