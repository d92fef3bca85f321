/* What is common to all formats before a codec is asked: the description, the format, read_info. */
#include "adapter.h"
#include "failing_alloc.h"
#include "jpeg_made.h"

static picture_bytes small_file(void)
{
    picture p = jpeg_photo(12, 5, 3);
    const jpeg_recipe recipe = {.given = JCS_RGB};
    picture_bytes file = jpeg_made(&p, &recipe);
    free(p.samples);
    return file;
}

static void a_source_is_needed_and_only_one(void **state)
{
    (void)state;
    picture_bytes file = small_file();
    dlpark_image_info info;
    dlpark_image_load_desc desc = {0};
    assert_fails(DLPARK_E_ARGUMENT, "neither a path nor bytes", dlpark_image_read_info(&info, &desc, e));
    desc = (dlpark_image_load_desc){.path = "x.jpg", .bytes = file.bytes, .nbytes = file.nbytes};
    assert_fails(DLPARK_E_ARGUMENT, "both a path and bytes", dlpark_image_read_info(&info, &desc, e));
    desc = (dlpark_image_load_desc){.path = "x.jpg", .nbytes = 5};
    assert_fails(DLPARK_E_ARGUMENT, "nbytes without bytes: nbytes is 5", dlpark_image_read_info(&info, &desc, e));
    desc = (dlpark_image_load_desc){.nbytes = 5};
    assert_fails(DLPARK_E_ARGUMENT, "nbytes without bytes: nbytes is 5", dlpark_image_read_info(&info, &desc, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_image_read_info_sized(&info, NULL, 8, e));
    assert_fails(DLPARK_E_ARGUMENT, "info is NULL", dlpark_image_read_info(NULL, &desc, e));
    free(file.bytes);
}

static void limits_are_not_negative(void **state)
{
    (void)state;
    picture_bytes file = small_file();
    dlpark_image_info info;
    dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes, .max_pixels = -1};
    assert_fails(DLPARK_E_ARGUMENT, "max_pixels is -1", dlpark_image_read_info(&info, &desc, e));
    desc = (dlpark_image_load_desc){.bytes = file.bytes, .nbytes = file.nbytes, .max_scans = -2};
    assert_fails(DLPARK_E_ARGUMENT, "max_scans is -2", dlpark_image_read_info(&info, &desc, e));
    desc = (dlpark_image_load_desc){.bytes = file.bytes, .nbytes = file.nbytes, .max_chunks = -3};
    assert_fails(DLPARK_E_ARGUMENT, "max_chunks is -3", dlpark_image_read_info(&info, &desc, e));
    free(file.bytes);
}

static void an_unknown_file_is_shown_by_its_first_bytes(void **state)
{
    (void)state;
    dlpark_image_info info;
    memset(&info, 0x5A, sizeof info);
    const dlpark_image_info before = info;
    dlpark_image_load_desc desc = {.bytes = "GIF89a\x01\xFF and more", .nbytes = 17};
    assert_fails(DLPARK_E_FORMAT, "<memory>: neither JPEG, PNG nor WebP: its first bytes are 47 49 46 38 39 61 01 FF",
                 dlpark_image_read_info(&info, &desc, e));
    desc.nbytes = 2;
    assert_fails(DLPARK_E_FORMAT, "its first bytes are 47 49", dlpark_image_read_info(&info, &desc, e));
    desc.nbytes = 0;
    assert_fails(DLPARK_E_FORMAT, "<memory>: is empty", dlpark_image_read_info(&info, &desc, e));
    assert_memory_equal(&info, &before, sizeof info);
}

/* A caller whose header is older knows fewer fields; one whose header is newer must not use what we lack. */
static void descriptions_of_other_versions(void **state)
{
    (void)state;
    picture_bytes file = small_file();
    struct newer {
        dlpark_image_load_desc desc;
        int64_t later;
    } newer;
    memset(&newer, 0, sizeof newer);
    newer.desc.bytes = file.bytes;
    newer.desc.nbytes = file.nbytes;
    dlpark_image_info info;
    assert_ok(dlpark_image_read_info_sized(&info, &newer.desc, sizeof newer, e));
    assert_int_equal(info.width, 12);
    newer.later = 1;
    assert_fails(DLPARK_E_ARGUMENT, "does not have", dlpark_image_read_info_sized(&info, &newer.desc, sizeof newer, e));
    newer.desc.max_pixels = 1; /* behind what the older caller's struct has: not looked at */
    assert_ok(dlpark_image_read_info_sized(&info, &newer.desc, offsetof(dlpark_image_load_desc, max_pixels), e));
    assert_fails(DLPARK_E_LIMIT, "max_pixels is 1",
                 dlpark_image_read_info_sized(&info, &newer.desc, sizeof newer.desc, e));
    free(file.bytes);
}

/* Reserved fields become something one day, so they are looked at; and flags are true by any number. */
static void reserved_fields_are_zero(void **state)
{
    (void)state;
    picture_bytes file = small_file();
    dlpark_image_info info;
    const dlpark_image_load_desc load = {.bytes = file.bytes, .nbytes = file.nbytes, .reserved = 7};
    assert_fails(DLPARK_E_ARGUMENT, "reserved is 7, not 0", dlpark_image_read_info(&info, &load, e));
    const dlpark_image_save_desc save = {.format = DLPARK_IMAGE_PNG, .reserved = -1};
    dlpark_tensor encoded = DLPARK_TENSOR_EMPTY;
    const dlpark_view view = {0};
    assert_fails(DLPARK_E_ARGUMENT, "reserved is -1, not 0", dlpark_image_encode(&encoded, &view, &save, NULL, e));
    assert_null(encoded.managed);
    free(file.bytes);
}

static void info_ignores_how_it_shall_come(void **state)
{
    (void)state;
    picture_bytes file = small_file();
    dlpark_image_info info;
    const dlpark_image_load_desc desc = {
        .bytes = file.bytes, .nbytes = file.nbytes, .channels = 77, .dtype = DLPARK_F64};
    assert_ok(dlpark_image_read_info(&info, &desc, e));
    assert_int_equal(info.height, 5);
    assert_false(info.progressive);
    free(file.bytes);
}

static void info_without_memory_leaves_nothing(void **state)
{
    (void)state;
    picture_bytes file = small_file();
    const dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes};
    dlpark_image_info info;
    const long live = failing_alloc_live();
    failing_alloc_arm(1);
    assert_int_equal(dlpark_image_read_info(&info, &desc, NULL), DLPARK_E_MEMORY);
    failing_alloc_arm(0);
    assert_int_equal(failing_alloc_live(), live);
    free(file.bytes);
}

static void every_format_has_its_codec(void **state)
{
    (void)state;
    const char *const names[] = {"JPEG", "PNG", "WebP"};
    for (int format = DLPARK_IMAGE_JPEG; format <= DLPARK_IMAGE_WEBP; format++) {
        const image_codec *codec = dlpark__image_codec_find((dlpark_image_format)format);
        assert_int_equal(codec->format, format);
        assert_string_equal(codec->name, names[format - 1]);
    }
    assert_null(dlpark__image_codec_find(DLPARK_IMAGE_ANY));
    assert_null(dlpark__image_codec_find((dlpark_image_format)4));
}

static void shapes_are_shown_and_cut_to_fit(void **state)
{
    (void)state;
    assert_string_equal(dlpark__image_shape_text(3, (const int64_t[]){512, 512, 4}).text, "[512, 512, 4]");
    assert_string_equal(dlpark__image_shape_text(0, NULL).text, "[]");
    int64_t many[64];
    for (int i = 0; i < 64; i++)
        many[i] = INT64_MIN;
    const image_shape_text text = dlpark__image_shape_text(64, many);
    assert_true(strlen(text.text) < sizeof text.text);
    assert_int_equal(strncmp(text.text, "[-9223372036854775808, -9223", 28), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_is_needed_and_only_one),
        cmocka_unit_test(limits_are_not_negative),
        cmocka_unit_test(an_unknown_file_is_shown_by_its_first_bytes),
        cmocka_unit_test(descriptions_of_other_versions),
        cmocka_unit_test(reserved_fields_are_zero),
        cmocka_unit_test(info_ignores_how_it_shall_come),
        cmocka_unit_test(info_without_memory_leaves_nothing),
        cmocka_unit_test(every_format_has_its_codec),
        cmocka_unit_test(shapes_are_shown_and_cut_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
