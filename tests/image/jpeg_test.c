/* Against libjpeg by hand, row by row: every kind of file, every way to load it. */
#include "failing_alloc.h"
#include "jpeg_made.h"

static picture_bytes made(int width, int height, const jpeg_recipe *recipe)
{
    const int channels = recipe->given == JCS_GRAYSCALE ? 1 : recipe->given == JCS_RGB ? 3 : 4;
    picture p = jpeg_photo(width, height, channels);
    picture_bytes file = jpeg_made(&p, recipe);
    free(p.samples);
    return file;
}

/* Loads with the channels in every layout and dtype, and compares with the picture. */
static void check_loads(const picture *p, const picture_bytes *file, int channels)
{
    const DLDataType dtypes[] = {DLPARK_U8, DLPARK_U16, DLPARK_F32};
    for (size_t d = 0; d < 3; d++)
        for (int layout = DLPARK_IMAGE_HWC; layout <= DLPARK_IMAGE_CHW; layout++) {
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
            dlpark_view view;
            const dlpark_image_load_desc desc = {.bytes = file->bytes,
                                                 .nbytes = file->nbytes,
                                                 .channels = channels,
                                                 .dtype = dtypes[d],
                                                 .layout = (dlpark_image_layout)layout};
            assert_ok(dlpark_image_load(&tensor, &desc, &view, e));
            assert_true(dlpark_view_is_compact(&view));
            assert_int_equal(view.shape[layout == DLPARK_IMAGE_CHW ? 0 : 2], channels);
            picture_check(p, &view, desc.layout);
            dlpark_tensor_release(&tensor);
        }
}

/* As colours and, from the file's own luma, as grey. */
static void check_colour_file(const picture_bytes *file)
{
    picture rgb = jpeg_by_hand(file, JCS_RGB);
    picture luma = jpeg_by_hand(file, JCS_GRAYSCALE);
    check_loads(&luma, file, 1);
    check_loads(&luma, file, 2);
    check_loads(&rgb, file, 3);
    check_loads(&rgb, file, 4);
    picture_check_file(&rgb, file);
    free(rgb.samples);
    free(luma.samples);
}

static void every_sampling_baseline_and_progressive(void **state)
{
    (void)state;
    const int samplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}};
    const int sizes[][2] = {{1, 1}, {7, 5}, {16, 16}, {33, 17}, {65, 47}};
    for (size_t s = 0; s < 8; s++)
        for (size_t size = 0; size < 5; size++)
            for (int progressive = 0; progressive < 2; progressive++) {
                const jpeg_recipe recipe = {
                    .given = JCS_RGB, .h = samplings[s][0], .v = samplings[s][1], .progressive = progressive};
                picture_bytes file = made(sizes[size][0], sizes[size][1], &recipe);
                check_colour_file(&file);
                free(file.bytes);
            }
}

static void grey_files(void **state)
{
    (void)state;
    for (int progressive = 0; progressive < 2; progressive++) {
        const jpeg_recipe recipe = {.given = JCS_GRAYSCALE, .progressive = progressive};
        picture_bytes file = made(45, 31, &recipe);
        picture grey = jpeg_by_hand(&file, JCS_GRAYSCALE);
        picture_check_every_way(&grey, &file);
        free(grey.samples);
        free(file.bytes);
    }
}

/* Colours that are stored as they are have no luma of the file's own: grey follows the formula. */
static void files_that_store_rgb(void **state)
{
    (void)state;
    const jpeg_recipe recipe = {.given = JCS_RGB, .stored = JCS_RGB};
    picture_bytes file = made(45, 31, &recipe);
    picture rgb = jpeg_by_hand(&file, JCS_RGB);
    picture_check_every_way(&rgb, &file);
    free(rgb.samples);
    free(file.bytes);
}

/* What is left over of each colour by its ink and by black, from libjpeg's CMYK. */
static picture rgb_of_cmyk(const picture_bytes *file, bool inverted)
{
    picture cmyk = jpeg_by_hand(file, JCS_CMYK);
    picture rgb = picture_new(cmyk.width, cmyk.height, 3, 8);
    for (int i = 0; i < cmyk.width * cmyk.height; i++)
        for (int c = 0; c < 3; c++) {
            const int ink = cmyk.samples[4 * i + c];
            const int black = cmyk.samples[4 * i + 3];
            const double left = inverted ? ink * black / 255.0 : (255 - ink) * (255 - black) / 255.0;
            rgb.samples[3 * i + c] = (uint16_t)(left + 0.5);
        }
    free(cmyk.samples);
    return rgb;
}

static void cmyk_files(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        const jpeg_recipe recipe = {.given = JCS_CMYK,
                                    .stored = kind % 3 == 2 ? JCS_YCCK : JCS_CMYK,
                                    .h = kind >= 3 ? 2 : 1,
                                    .v = kind >= 3 ? 2 : 1,
                                    .no_adobe = kind % 3 == 1};
        picture_bytes file = made(45, 31, &recipe);
        picture rgb = rgb_of_cmyk(&file, !recipe.no_adobe);
        picture_check_every_way(&rgb, &file);
        free(rgb.samples);
        free(file.bytes);
    }
}

/* Four inks with no marker are CMYK by the standard, even where they were made from YCCK. */
static void ycck_without_a_marker_is_taken_for_cmyk(void **state)
{
    (void)state;
    const jpeg_recipe recipe = {.given = JCS_CMYK, .stored = JCS_YCCK, .no_adobe = true};
    picture_bytes file = made(45, 31, &recipe);
    picture rgb = rgb_of_cmyk(&file, false);
    picture_check_every_way(&rgb, &file);
    free(rgb.samples);
    free(file.bytes);
}

static void white_and_black_ink(void **state)
{
    (void)state;
    for (int no_adobe = 0; no_adobe < 2; no_adobe++) {
        const jpeg_recipe recipe = {.given = JCS_CMYK, .no_adobe = no_adobe};
        picture paper = picture_new(8, 8, 4, 8);
        for (int i = 0; i < 8 * 8 * 4; i++)
            paper.samples[i] = no_adobe ? 0 : 255; /* no ink at all */
        picture_bytes file = jpeg_made(&paper, &recipe);
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        assert_ok(picture_load(&file, false, &tensor, &view, e));
        for (int i = 0; i < 8 * 8 * 3; i++)
            assert_int_equal(((const uint8_t *)view.data)[i], 255);
        dlpark_tensor_release(&tensor);
        free(file.bytes);
        free(paper.samples);
    }
}

static void check_info(const picture_bytes *file, bool keep, int width, int height, int orientation)
{
    dlpark_image_info info;
    const dlpark_image_load_desc desc = {.bytes = file->bytes, .nbytes = file->nbytes, .keep_orientation = keep};
    assert_ok(dlpark_image_read_info(&info, &desc, e));
    assert_int_equal(info.format, DLPARK_IMAGE_JPEG);
    assert_int_equal(info.width, width);
    assert_int_equal(info.height, height);
    assert_int_equal(info.channels, 3);
    assert_int_equal(info.bits, 8);
    assert_int_equal(info.orientation, orientation);
    assert_false(info.lossless);
    for (int i = 0; i < 4; i++)
        assert_int_equal(info.reserved[i], 0);
}

static void check_orientation(const picture_bytes *file, const picture *rgb, int orientation, bool keep)
{
    const DLDataType dtypes[] = {DLPARK_U8, DLPARK_U16, DLPARK_F32};
    for (size_t d = 0; d < 3; d++)
        for (int layout = DLPARK_IMAGE_HWC; layout <= DLPARK_IMAGE_CHW; layout++)
            for (int channels = 3; channels <= 4; channels++) {
                dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
                dlpark_view view;
                const dlpark_image_load_desc desc = {.bytes = file->bytes,
                                                     .nbytes = file->nbytes,
                                                     .channels = channels,
                                                     .dtype = dtypes[d],
                                                     .layout = (dlpark_image_layout)layout,
                                                     .keep_orientation = keep};
                assert_ok(dlpark_image_load(&tensor, &desc, &view, e));
                assert_true(dlpark_view_is_compact(&view));
                picture_check_oriented(rgb, &view, desc.layout, keep ? 1 : orientation);
                dlpark_tensor_release(&tensor);
            }
}

static void every_orientation(void **state)
{
    (void)state;
    for (int orientation = 1; orientation <= 8; orientation++)
        for (int big = 0; big < 2; big++) {
            unsigned char exif[JPEG_EXIF_NBYTES];
            jpeg_exif(exif, orientation, big);
            const jpeg_recipe recipe = {
                .given = JCS_RGB, .h = 2, .v = 2, .exif = exif, .exif_nbytes = sizeof exif, .progressive = big};
            picture_bytes file = made(37, 22, &recipe);
            picture rgb = jpeg_by_hand(&file, JCS_RGB);
            check_orientation(&file, &rgb, orientation, false);
            check_orientation(&file, &rgb, orientation, true);
            check_info(&file, false, orientation >= 5 ? 22 : 37, orientation >= 5 ? 37 : 22, orientation);
            check_info(&file, true, 37, 22, orientation);
            free(rgb.samples);
            free(file.bytes);
        }
}

/* The first APP1 segment that is EXIF counts; XMP has the same marker. */
static void other_app1_segments_are_passed_over(void **state)
{
    (void)state;
    unsigned char exif[JPEG_EXIF_NBYTES];
    jpeg_exif(exif, 6, false);
    const jpeg_recipe recipe = {.given = JCS_RGB, .exif = exif, .exif_nbytes = sizeof exif};
    picture_bytes file = made(20, 10, &recipe);
    const unsigned char xmp[] = {0xFF, 0xE1, 0, 10, 'h', 't', 't', 'p', ':', '/', '/', 0};
    picture_insert(&file, 2, xmp, sizeof xmp);
    check_info(&file, false, 10, 20, 6);
    free(file.bytes);
}

static void damaged_exif_is_no_orientation(void **state)
{
    (void)state;
    for (size_t nbytes = 0; nbytes < JPEG_EXIF_NBYTES - 4; nbytes++) {
        unsigned char exif[JPEG_EXIF_NBYTES];
        jpeg_exif(exif, 6, true);
        const jpeg_recipe recipe = {.given = JCS_RGB, .exif = exif, .exif_nbytes = nbytes};
        picture_bytes file = made(20, 10, &recipe);
        check_info(&file, false, 20, 10, 1);
        free(file.bytes);
    }
}

static dlpark_status load_limited(const picture_bytes *file, int64_t max_pixels, int32_t max_scans, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    const dlpark_image_load_desc desc = {
        .bytes = file->bytes, .nbytes = file->nbytes, .max_pixels = max_pixels, .max_scans = max_scans};
    const dlpark_status status = dlpark_image_load(&tensor, &desc, NULL, err);
    assert_true((status == DLPARK_OK) == (tensor.managed != NULL));
    dlpark_tensor_release(&tensor);
    return status;
}

static void limits(void **state)
{
    (void)state;
    const jpeg_recipe recipe = {.given = JCS_RGB, .progressive = true}; /* libjpeg's own script has 10 scans */
    picture_bytes file = made(40, 30, &recipe);
    assert_ok(load_limited(&file, 1200, 10, e));
    assert_fails(DLPARK_E_LIMIT, "<memory>: has more scans than max_scans, 9", load_limited(&file, 1200, 9, e));
    assert_fails(DLPARK_E_LIMIT, "<memory>: 40 x 30 are 1200 pixels, and max_pixels is 1199",
                 load_limited(&file, 1199, 10, e));
    free(file.bytes);
    const jpeg_recipe baseline = {.given = JCS_RGB};
    file = made(40, 30, &baseline);
    assert_ok(load_limited(&file, 1200, 1, e));
    free(file.bytes);
}

/* A small file that claims 65500 x 65500 pixels is refused before memory for them is asked for. */
static void a_bomb_is_refused_early(void **state)
{
    (void)state;
    const jpeg_recipe recipe = {.given = JCS_RGB};
    picture_bytes file = made(8, 8, &recipe);
    for (size_t i = 0; i + 9 < file.nbytes; i++)
        if (file.bytes[i] == 0xFF && file.bytes[i + 1] == 0xC0)
            memcpy(file.bytes + i + 5, "\xFF\xDC\xFF\xDC", 4);
    assert_fails(DLPARK_E_LIMIT, "65500 x 65500 are 4290250000 pixels", load_limited(&file, 0, 0, e));
    free(file.bytes);
}

static void what_is_not_supported_is_said(void **state)
{
    (void)state;
    const jpeg_recipe arithmetic = {.given = JCS_RGB, .arithmetic = true};
    picture_bytes file = made(8, 8, &arithmetic);
    assert_fails(DLPARK_E_UNSUPPORTED, "<memory>: JPEG with arithmetic coding", load_limited(&file, 0, 0, e));
    free(file.bytes);
    const jpeg_recipe recipe = {.given = JCS_RGB};
    file = made(8, 8, &recipe);
    for (size_t i = 0; i + 9 < file.nbytes; i++)
        if (file.bytes[i] == 0xFF && file.bytes[i + 1] == 0xC0)
            file.bytes[i + 4] = 12;
    assert_fails(DLPARK_E_UNSUPPORTED, "precision 12", load_limited(&file, 0, 0, e));
    for (size_t i = 0; i + 9 < file.nbytes; i++)
        if (file.bytes[i] == 0xFF && file.bytes[i + 1] == 0xC0)
            file.bytes[i + 1] = 0xC3; /* lossless */
    assert_fails(DLPARK_E_UNSUPPORTED, "SOF type 0xc3", load_limited(&file, 0, 0, e));
    free(file.bytes);
}

static void two_colour_components_are_not_supported(void **state)
{
    (void)state;
    picture p = jpeg_photo(8, 8, 2);
    const jpeg_recipe recipe = {.given = JCS_UNKNOWN};
    picture_bytes file = jpeg_made(&p, &recipe);
    assert_fails(DLPARK_E_UNSUPPORTED, "2 colour components", load_limited(&file, 0, 0, e));
    free(file.bytes);
    free(p.samples);
}

/* Into rows with a pitch and in the reverse order, libjpeg writes them itself: nothing beside them is touched. */
static void rows_are_written_in_place(void **state)
{
    (void)state;
    const jpeg_recipe recipe = {.given = JCS_RGB, .h = 2, .v = 2};
    for (int width = 1; width <= 40; width += 3)
        for (int channels = 1; channels <= 4; channels++)
            for (int reversed = 0; reversed < 2; reversed++) {
                const int height = 19;
                const size_t pitch = (size_t)(width * channels + 7);
                picture_bytes file = made(width, height, &recipe);
                picture p = jpeg_by_hand(&file, channels <= 2 ? JCS_GRAYSCALE : JCS_RGB);
                unsigned char *memory = picture_memory(pitch * (size_t)height);
                memset(memory, 0xA5, pitch * (size_t)height);
                dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
                dlpark_view view;
                picture_wrap(&tensor, &view, memory + (reversed ? pitch * (size_t)(height - 1) : 0), DLPARK_U8,
                             (int64_t[]){height, width, channels},
                             (int64_t[]){reversed ? -(int64_t)pitch : (int64_t)pitch, channels, 1});
                const dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes};
                assert_ok(dlpark_image_load_into(&view, &desc, e));
                picture_check(&p, &view, DLPARK_IMAGE_HWC);
                for (int y = 0; y < height; y++)
                    for (size_t i = (size_t)(width * channels); i < pitch; i++)
                        assert_int_equal(memory[(size_t)y * pitch + i], 0xA5);
                dlpark_tensor_release(&tensor);
                free(memory);
                free(p.samples);
                free(file.bytes);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sampling_baseline_and_progressive),
        cmocka_unit_test(grey_files),
        cmocka_unit_test(files_that_store_rgb),
        cmocka_unit_test(cmyk_files),
        cmocka_unit_test(ycck_without_a_marker_is_taken_for_cmyk),
        cmocka_unit_test(white_and_black_ink),
        cmocka_unit_test(every_orientation),
        cmocka_unit_test(other_app1_segments_are_passed_over),
        cmocka_unit_test(damaged_exif_is_no_orientation),
        cmocka_unit_test(limits),
        cmocka_unit_test(a_bomb_is_refused_early),
        cmocka_unit_test(what_is_not_supported_is_said),
        cmocka_unit_test(two_colour_components_are_not_supported),
        cmocka_unit_test(rows_are_written_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
