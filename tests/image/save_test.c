/* Saving and encoding whatever the format, and the bytes of JPEG against libjpeg by hand. */
#include "failing_alloc.h"
#include "folder.h"
#include "jpeg_made.h"

enum { WIDTH = 37, HEIGHT = 21 };

/* The samples of a picture as u8 or u16 elements in memory. */
static void *elements(const picture *p)
{
    const size_t count = (size_t)p->width * (size_t)p->height * (size_t)p->channels;
    uint8_t *bytes = picture_memory(count * 2);
    for (size_t i = 0; i < count; i++) {
        if (p->bits == 8)
            bytes[i] = (uint8_t)p->samples[i];
        else
            memcpy(bytes + 2 * i, &p->samples[i], 2);
    }
    return bytes;
}

static dlpark_view view_of(void *data, DLDataType dtype, int64_t height, int64_t width, int64_t channels)
{
    dlpark_view view = {.data = data, .device = DLPARK_DEVICE_CPU, .dtype = dtype, .ndim = 3};
    view.shape[0] = height;
    view.shape[1] = width;
    view.shape[2] = channels;
    view.strides[0] = width * channels;
    view.strides[1] = channels;
    view.strides[2] = 1;
    return view;
}

/* What libjpeg's own loop writes with these settings. */
static picture_bytes jpeg_encoded_by_hand(const picture *p, int quality, int subsampling, bool progressive)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long nbytes = 0;
    unsigned char *pixels = elements(p);
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &bytes, &nbytes);
    cinfo.image_width = (JDIMENSION)p->width;
    cinfo.image_height = (JDIMENSION)p->height;
    cinfo.input_components = p->channels;
    cinfo.in_color_space = p->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, quality, TRUE);
    if (p->channels == 3) {
        cinfo.comp_info[0].h_samp_factor = subsampling == 444 ? 1 : 2;
        cinfo.comp_info[0].v_samp_factor = subsampling == 420 ? 2 : 1;
    }
    if (progressive)
        jpeg_simple_progression(&cinfo);
    jpeg_start_compress(&cinfo, TRUE);
    for (int y = 0; y < p->height; y++) {
        JSAMPROW row = pixels + (size_t)y * (size_t)p->width * (size_t)p->channels;
        (void)jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    picture_bytes made = picture_copy(bytes, nbytes);
    free(bytes);
    free(pixels);
    return made;
}

static void check_encoded(const dlpark_view *view, const dlpark_image_save_desc *desc, const picture_bytes *expected)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view bytes;
    assert_ok(dlpark_image_encode(&tensor, view, desc, &bytes, e));
    assert_int_equal(bytes.ndim, 1);
    assert_true(dlpark_dtype_equal(bytes.dtype, DLPARK_U8));
    assert_true(tensor.managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED);
    assert_int_equal(bytes.shape[0], expected->nbytes);
    assert_memory_equal(bytes.data, expected->bytes, expected->nbytes);
    dlpark_tensor_release(&tensor);
}

static void jpeg_is_what_libjpeg_writes(void **state)
{
    (void)state;
    const int subsamplings[] = {444, 422, 420};
    for (int channels = 1; channels <= 3; channels += 2)
        for (int quality = 1; quality <= 100; quality += 33)
            for (int s = 0; s < 3; s++)
                for (int progressive = 0; progressive < 2; progressive++) {
                    picture p = jpeg_photo(WIDTH, HEIGHT, channels);
                    void *data = elements(&p);
                    const dlpark_view view = view_of(data, DLPARK_U8, HEIGHT, WIDTH, channels);
                    picture_bytes expected = jpeg_encoded_by_hand(&p, quality, subsamplings[s], progressive);
                    check_encoded(&view,
                                  &(dlpark_image_save_desc){.format = DLPARK_IMAGE_JPEG,
                                                            .quality = quality,
                                                            .subsampling = subsamplings[s],
                                                            .progressive = progressive},
                                  &expected);
                    free(expected.bytes);
                    free(data);
                    free(p.samples);
                }
}

static void defaults_are_quality_90_and_420(void **state)
{
    (void)state;
    picture p = jpeg_photo(WIDTH, HEIGHT, 3);
    void *data = elements(&p);
    const dlpark_view view = view_of(data, DLPARK_U8, HEIGHT, WIDTH, 3);
    picture_bytes expected = jpeg_encoded_by_hand(&p, 90, 420, false);
    check_encoded(&view, &(dlpark_image_save_desc){.format = DLPARK_IMAGE_JPEG}, &expected);
    free(expected.bytes);
    free(data);
    free(p.samples);
}

/* More than the first room of the buffer, so that it grows in the middle of a file. */
static void a_large_file_is_whole(void **state)
{
    (void)state;
    picture p = picture_noise(500, 300, 3, 8);
    void *data = elements(&p);
    const dlpark_view view = view_of(data, DLPARK_U8, 300, 500, 3);
    picture_bytes expected = jpeg_encoded_by_hand(&p, 100, 444, false);
    assert_true(expected.nbytes > 4 * 64 * 1024);
    check_encoded(&view, &(dlpark_image_save_desc){.format = DLPARK_IMAGE_JPEG, .quality = 100, .subsampling = 444},
                  &expected);
    free(expected.bytes);
    free(data);
    free(p.samples);
}

/* Copies the picture into memory with these strides; returns the view. */
static dlpark_view spread(const picture *p, uint8_t *memory, int64_t first, const int64_t strides[3])
{
    dlpark_view view = view_of(memory + first, DLPARK_U8, p->height, p->width, p->channels);
    memcpy(view.strides, strides, 3 * sizeof *strides);
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++)
            for (int c = 0; c < p->channels; c++)
                ((uint8_t *)view.data)[y * strides[0] + x * strides[1] + c * strides[2]] =
                    (uint8_t)picture_at(p, x, y, c);
    return view;
}

static void strided_views_give_the_same_file(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        const int64_t row = WIDTH * channels;
        const int64_t cases[][4] = {
            {0, 200, channels, 1},                               /* a pitch */
            {row * (HEIGHT - 1), -row, channels, 1},             /* bottom up */
            {row - channels, row, -channels, 1},                 /* mirrored */
            {channels - 1, row, channels, -1},                   /* BGR */
            {0, WIDTH, 1, WIDTH * HEIGHT},                       /* planes */
            {0, channels, HEIGHT * channels, 1},                 /* columns */
            {0, 2 * row + 9, 2 * channels, 2},                   /* every second of everything */
            {HEIGHT * WIDTH * channels - 1, -row, -channels, -1} /* turned, BGR */
        };
        picture p = jpeg_photo(WIDTH, HEIGHT, channels);
        uint8_t *memory = picture_memory(WIDTH * HEIGHT * 12);
        picture_bytes expected = jpeg_encoded_by_hand(&p, 90, 420, false);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            dlpark_view view = spread(&p, memory, cases[i][0], cases[i] + 1);
            view.flags = DLPARK_VIEW_READ_ONLY;
            check_encoded(&view, &(dlpark_image_save_desc){.format = DLPARK_IMAGE_JPEG}, &expected);
        }
        free(expected.bytes);
        free(memory);
        free(p.samples);
    }
}

static void planes_and_rank_2(void **state)
{
    (void)state;
    picture p = jpeg_photo(WIDTH, HEIGHT, 3);
    uint8_t *memory = picture_memory(WIDTH * HEIGHT * 3);
    dlpark_view view = spread(&p, memory, 0, (int64_t[]){WIDTH, 1, WIDTH * HEIGHT});
    memcpy(view.shape, (int64_t[]){3, HEIGHT, WIDTH}, 3 * sizeof(int64_t));
    memcpy(view.strides, (int64_t[]){WIDTH * HEIGHT, WIDTH, 1}, 3 * sizeof(int64_t));
    const dlpark_image_save_desc desc = {.format = DLPARK_IMAGE_JPEG, .layout = DLPARK_IMAGE_CHW};
    picture_bytes expected = jpeg_encoded_by_hand(&p, 90, 420, false);
    check_encoded(&view, &desc, &expected);
    free(expected.bytes);
    free(p.samples);

    p = jpeg_photo(WIDTH, HEIGHT, 1);
    expected = jpeg_encoded_by_hand(&p, 90, 420, false);
    for (int layout = DLPARK_IMAGE_HWC; layout <= DLPARK_IMAGE_CHW; layout++) {
        view = spread(&p, memory, 0, (int64_t[]){WIDTH + 2, 1, 1});
        view.ndim = 2;
        check_encoded(&view,
                      &(dlpark_image_save_desc){.format = DLPARK_IMAGE_JPEG, .layout = (dlpark_image_layout)layout},
                      &expected);
    }
    free(expected.bytes);
    free(memory);
    free(p.samples);
}

static void strides_of_one_place_mean_nothing(void **state)
{
    (void)state;
    for (int tall = 0; tall < 2; tall++) {
        picture p = jpeg_photo(tall ? 1 : 9, tall ? 9 : 1, 1);
        uint8_t memory[9];
        dlpark_view view = spread(&p, memory, 0, (int64_t[]){1, 1, 1});
        view.strides[tall] = INT64_MAX;
        view.strides[2] = INT64_MIN;
        picture_bytes expected = jpeg_encoded_by_hand(&p, 90, 420, false);
        check_encoded(&view, &(dlpark_image_save_desc){.format = DLPARK_IMAGE_JPEG}, &expected);
        free(expected.bytes);
        free(p.samples);
    }
}

static void strides_of_one_place_are_not_multiplied(void **state)
{
    (void)state;
    uint16_t memory[9] = {1, 20000, 3, 40000, 5, 60000, 7, 8, 65535};
    for (int tall = 0; tall < 2; tall++) {
        const dlpark_image_save_desc png = {.format = DLPARK_IMAGE_PNG};
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view bytes;
        dlpark_view view = view_of(memory, DLPARK_U16, tall ? 9 : 1, tall ? 1 : 9, 1);
        assert_ok(dlpark_image_encode(&tensor, &view, &png, &bytes, e));
        const picture_bytes expected = {bytes.data, (size_t)bytes.shape[0]};
        view.strides[tall] = INT64_MAX;
        view.strides[2] = INT64_MIN;
        check_encoded(&view, &png, &expected);
        dlpark_tensor_release(&tensor);
    }
}

/* Every format and spelling: the file is what encode() gives, and reads as its own format. */
static void the_ending_decides(void **state)
{
    (void)state;
    const char *const names[] = {"a.jpg", "a.JPEG", "a.png", "a.WebP", ".hidden.jpg", "a.png.jpg"};
    const dlpark_image_format formats[] = {DLPARK_IMAGE_JPEG, DLPARK_IMAGE_JPEG, DLPARK_IMAGE_PNG,
                                           DLPARK_IMAGE_WEBP, DLPARK_IMAGE_JPEG, DLPARK_IMAGE_JPEG};
    folder here = folder_new();
    folder_name files[6];
    picture p = jpeg_photo(WIDTH, HEIGHT, 3);
    void *data = elements(&p);
    const dlpark_view view = view_of(data, DLPARK_U8, HEIGHT, WIDTH, 3);
    for (int i = 0; i < 6; i++) {
        dlpark_image_info info;
        files[i] = folder_file(&here, names[i]);
        assert_ok(dlpark_image_save(&view, &(dlpark_image_save_desc){.path = files[i].text}, e));
        assert_ok(dlpark_image_read_info(&info, &(dlpark_image_load_desc){.path = files[i].text}, e));
        assert_int_equal(info.format, formats[i]);
        assert_int_equal(info.width, WIDTH);
        picture_bytes file = folder_read(files[i].text);
        check_encoded(&view, &(dlpark_image_save_desc){.format = formats[i]}, &file);
        free(file.bytes);
    }
    assert_fails(DLPARK_E_ARGUMENT, "here/.JPG: the name has no part before the ending .jpg",
                 dlpark_image_save(&view, &(dlpark_image_save_desc){.path = "here/.JPG"}, e));
    assert_fails(DLPARK_E_ARGUMENT, ".webp: the name has no part before the ending .webp",
                 dlpark_image_save(&view, &(dlpark_image_save_desc){.path = ".webp"}, e));
    folder_name other = folder_file(&here, "a.gif");
    assert_fails(DLPARK_E_ARGUMENT, "a.gif: ends in none of .jpg .jpeg .png .webp",
                 dlpark_image_save(&view, &(dlpark_image_save_desc){.path = other.text}, e));
    assert_ok(
        dlpark_image_save(&view, &(dlpark_image_save_desc){.path = files[0].text, .format = DLPARK_IMAGE_PNG}, e));
    dlpark_image_info info;
    assert_ok(dlpark_image_read_info(&info, &(dlpark_image_load_desc){.path = files[0].text}, e));
    assert_int_equal(info.format, DLPARK_IMAGE_PNG);
    free(data);
    free(p.samples);
    folder_end(&here, 6, files);
}

/* Refused by both, with the path's file untouched and nothing beside it. */
static void check_refused(const dlpark_view *view, dlpark_image_save_desc desc, dlpark_status expected,
                          const char *text)
{
    folder here = folder_new();
    folder_name file = folder_file(&here, "old.jpg");
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    folder_write(file.text, "old", 3);
    const long live = failing_alloc_live();
    assert_fails(expected, text, dlpark_image_encode(&tensor, view, &desc, NULL, e));
    assert_null(tensor.managed);
    desc.path = file.text;
    assert_fails(expected, text, dlpark_image_save(view, &desc, e));
    assert_int_equal(failing_alloc_live(), live);
    picture_bytes left = folder_read(file.text);
    assert_int_equal(left.nbytes, 3);
    assert_memory_equal(left.bytes, "old", 3);
    free(left.bytes);
    folder_end(&here, 1, &file);
}

static void what_a_format_cannot_hold_is_said(void **state)
{
    (void)state;
    void *data = picture_memory(70000 * 4);
    const dlpark_image_save_desc jpeg = {.format = DLPARK_IMAGE_JPEG};
    const dlpark_image_save_desc webp = {.format = DLPARK_IMAGE_WEBP};
    dlpark_view view = view_of(data, DLPARK_U8, 4, 4, 4);
    check_refused(&view, jpeg, DLPARK_E_UNSUPPORTED,
                  "JPEG cannot store alpha: drop it (keep channels 0..2) or save as PNG or WebP");
    view = view_of(data, DLPARK_U8, 4, 4, 2);
    check_refused(&view, jpeg, DLPARK_E_UNSUPPORTED,
                  "JPEG cannot store alpha: drop it (keep channel 0) or save as PNG or WebP");
    view = view_of(data, DLPARK_U16, 4, 4, 3);
    check_refused(&view, jpeg, DLPARK_E_UNSUPPORTED, "JPEG stores 8 bits a sample, got u16");
    check_refused(&view, webp, DLPARK_E_UNSUPPORTED, "WebP stores 8 bits a sample, got u16");
    view = view_of(data, DLPARK_U8, 1, 65501, 1);
    check_refused(&view, jpeg, DLPARK_E_UNSUPPORTED, "JPEG cannot store a side of 65501 pixels, at most 65500");
    view = view_of(data, DLPARK_U8, 65501, 1, 3);
    check_refused(&view, jpeg, DLPARK_E_UNSUPPORTED, "JPEG cannot store a side of 65501 pixels, at most 65500");
    view = view_of(data, DLPARK_U8, INT64_C(1) << 40, 1, 3);
    view.strides[0] = 0;
    check_refused(&view, jpeg, DLPARK_E_UNSUPPORTED, "a side of 1099511627776 pixels");
    view = view_of(data, DLPARK_U8, 4, 4, 3);
    check_refused(&view, (dlpark_image_save_desc){.format = DLPARK_IMAGE_JPEG, .lossless = true}, DLPARK_E_UNSUPPORTED,
                  "JPEG is never lossless");
    free(data);
}

static void the_longest_side_is_stored(void **state)
{
    (void)state;
    picture p = jpeg_photo(65500, 1, 1);
    void *data = elements(&p);
    const dlpark_view view = view_of(data, DLPARK_U8, 1, 65500, 1);
    picture_bytes expected = jpeg_encoded_by_hand(&p, 90, 420, false);
    check_encoded(&view, &(dlpark_image_save_desc){.format = DLPARK_IMAGE_JPEG}, &expected);
    free(expected.bytes);
    free(data);
    free(p.samples);
}

static void what_is_no_picture_is_refused(void **state)
{
    (void)state;
    void *data = picture_memory(4096);
    const dlpark_image_save_desc jpeg = {.format = DLPARK_IMAGE_JPEG};
    dlpark_view view = view_of(data, DLPARK_F32, 4, 4, 3);
    check_refused(&view, jpeg, DLPARK_E_DTYPE,
                  "pictures are stored as u8 or u16, got f32: scale to 0..255 and cast to u8 first");
    view.dtype = DLPARK_BOOL;
    check_refused(&view, jpeg, DLPARK_E_DTYPE, "pictures are stored as u8 or u16, got bool: cast to u8 first");
    view.dtype = DLPARK_I32;
    check_refused(&view, jpeg, DLPARK_E_DTYPE, "pictures are stored as u8 or u16, got i32: cast to u8 first");
    view = view_of(data, DLPARK_DTYPE(kDLUInt, 8, 3), 4, 4, 1);
    check_refused(&view, jpeg, DLPARK_E_DTYPE, "got u8x3");
    view = view_of(data, DLPARK_U8, 4, 4, 3);
    view.device = DLPARK_DEVICE(kDLCUDA, 0);
    check_refused(&view, jpeg, DLPARK_E_DEVICE, "host memory, got cuda");
    view = view_of(data, DLPARK_U8, 3, 4, 8);
    check_refused(&view, jpeg, DLPARK_E_SHAPE,
                  "1 to 4 channels in dimension 2 (layout HWC), got [3, 4, 8]; layout CHW?");
    view = view_of(data, DLPARK_U8, 8, 4, 3);
    check_refused(&view, (dlpark_image_save_desc){.format = DLPARK_IMAGE_JPEG, .layout = DLPARK_IMAGE_CHW},
                  DLPARK_E_SHAPE, "1 to 4 channels in dimension 0 (layout CHW), got [8, 4, 3]");
    for (int i = 0; i < 3; i++) {
        view = view_of(data, DLPARK_U8, 4, 4, 3);
        view.shape[i] = 0;
        check_refused(&view, jpeg, DLPARK_E_SHAPE, "expected a picture with pixels, got [");
    }
    view = view_of(data, DLPARK_U8, 4, 4, 3);
    view.ndim = 1;
    check_refused(&view, jpeg, DLPARK_E_SHAPE, "rank 2 or 3, got [4]");
    check_refused(NULL, jpeg, DLPARK_E_ARGUMENT, "view is NULL");
    free(data);
}

static void fields_out_of_range_are_refused(void **state)
{
    (void)state;
    void *data = picture_memory(4096);
    const dlpark_view view = view_of(data, DLPARK_U8, 4, 4, 3);
    const struct {
        dlpark_image_save_desc desc;
        const char *text;
    } cases[] = {
        {{.format = (dlpark_image_format)9}, "format is 9"},
        {{.format = DLPARK_IMAGE_JPEG, .layout = (dlpark_image_layout)7}, "layout is 7"},
        {{.format = DLPARK_IMAGE_JPEG, .quality = -1}, "quality is -1"},
        {{.format = DLPARK_IMAGE_JPEG, .quality = 101}, "quality is 101"},
        {{.format = DLPARK_IMAGE_JPEG, .subsampling = 411}, "subsampling is 411"},
        {{.format = DLPARK_IMAGE_PNG, .compression = 10}, "compression is 10, not 1 to 9"},
        {{.format = DLPARK_IMAGE_WEBP, .compression = 7}, "compression is 7, not 1 to 6"},
        {{.format = DLPARK_IMAGE_WEBP, .compression = 10, .lossless = true}, "compression is 10, not 1 to 9"},
        {{.format = DLPARK_IMAGE_PNG, .compression = -1}, "compression is -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(&view, cases[i].desc, DLPARK_E_ARGUMENT, cases[i].text);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_image_save_desc desc = {.path = "x.jpg"};
    assert_fails(DLPARK_E_ARGUMENT, "desc has a path", dlpark_image_encode(&tensor, &view, &desc, NULL, e));
    desc = (dlpark_image_save_desc){0};
    assert_fails(DLPARK_E_ARGUMENT, "format is 0", dlpark_image_encode(&tensor, &view, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc has no path", dlpark_image_save(&view, &desc, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_image_save(&view, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_image_encode(NULL, &view, &desc, NULL, e));
    desc.format = DLPARK_IMAGE_JPEG;
    assert_ok(dlpark_image_encode(&tensor, &view, &desc, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds", dlpark_image_encode(&tensor, &view, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    free(data);
}

/* Allocations fail in turn until a run needs no more of them; JPEG of a view that has to be gathered row by row. */
static void without_memory_nothing_is_left(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "old.jpg");
    picture p = picture_noise(300, 200, 3, 8);
    uint8_t *memory = picture_memory(300 * 200 * 3);
    const dlpark_view view = spread(&p, memory, 0, (int64_t[]){300, 1, 60000});
    const dlpark_image_save_desc encode = {.format = DLPARK_IMAGE_JPEG, .quality = 100};
    const dlpark_image_save_desc save = {.path = file.text, .quality = 100};
    long refused = 0;
    for (int to_file = 0; to_file < 2; to_file++)
        for (long nth = 1;; nth++) {
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
            folder_write(file.text, "old", 3);
            const long live = failing_alloc_live();
            failing_alloc_arm(nth);
            const dlpark_status status = to_file ? dlpark_image_save(&view, &save, NULL)
                                                 : dlpark_image_encode(&tensor, &view, &encode, NULL, NULL);
            const long asked = failing_alloc_count();
            failing_alloc_arm(0);
            picture_bytes left = folder_read(file.text);
            if (status != DLPARK_OK) {
                assert_int_equal(status, DLPARK_E_MEMORY);
                assert_null(tensor.managed);
                assert_int_equal(left.nbytes, 3);
                refused++;
            }
            free(left.bytes);
            dlpark_tensor_release(&tensor);
            assert_int_equal(failing_alloc_live(), live);
            assert_int_equal(folder_count(&here), 1);
            if (asked < nth)
                break;
        }
    assert_true(refused >= 6);
    free(memory);
    free(p.samples);
    folder_end(&here, 1, &file);
}

/* Save, load: within what quality 100 without subsampling loses. */
static void a_saved_picture_comes_back(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "p.jpg");
    picture p = jpeg_photo(WIDTH, HEIGHT, 3);
    uint8_t *memory = picture_memory(WIDTH * HEIGHT * 3);
    const dlpark_view view =
        spread(&p, memory, WIDTH * HEIGHT * 3 - 3, (int64_t[]){-WIDTH * 3, -3, 1}); /* turned by strides alone */
    const dlpark_image_save_desc desc = {.path = file.text, .quality = 100, .subsampling = 444};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view back;
    assert_ok(dlpark_image_save(&view, &desc, e));
    assert_ok(dlpark_image_load(&tensor, &(dlpark_image_load_desc){.path = file.text}, &back, e));
    for (int i = 0; i < WIDTH * HEIGHT * 3; i++)
        assert_in_range(((const uint8_t *)back.data)[i] + 4 - p.samples[i], 0, 8);
    dlpark_tensor_release(&tensor);
    free(memory);
    free(p.samples);
    folder_end(&here, 1, &file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jpeg_is_what_libjpeg_writes),
        cmocka_unit_test(defaults_are_quality_90_and_420),
        cmocka_unit_test(a_large_file_is_whole),
        cmocka_unit_test(strided_views_give_the_same_file),
        cmocka_unit_test(planes_and_rank_2),
        cmocka_unit_test(strides_of_one_place_mean_nothing),
        cmocka_unit_test(strides_of_one_place_are_not_multiplied),
        cmocka_unit_test(the_ending_decides),
        cmocka_unit_test(what_a_format_cannot_hold_is_said),
        cmocka_unit_test(the_longest_side_is_stored),
        cmocka_unit_test(what_is_no_picture_is_refused),
        cmocka_unit_test(fields_out_of_range_are_refused),
        cmocka_unit_test(without_memory_nothing_is_left),
        cmocka_unit_test(a_saved_picture_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
