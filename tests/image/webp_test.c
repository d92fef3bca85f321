#include "webp_make.h"

/* ---- reading ---- */

static void every_size_both_kinds(void **state)
{
    (void)state;
    for (int size = 0; size < 81; size++)
        for (int way = 0; way < 4; way++) {
            picture p = webp_noise(size % 9 + 1, size / 9 + 1, way < 2 ? 3 : 4);
            picture_bytes file = webp_make(&p, way % 2 == 1);
            picture decoded = webp_decode(file.bytes, file.nbytes);
            picture_check_file(&decoded, &file);
            if (way % 2 == 1)
                picture_check_file(&p, &file);
            if (size % 20 == 0)
                picture_check_every_way(&decoded, &file);
            free(decoded.samples);
            free(file.bytes);
            free(p.samples);
        }
}

static void photo_size_every_way(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        picture p = webp_noise(130, 70, way < 2 ? 3 : 4);
        picture_bytes file = webp_make(&p, way % 2 == 1);
        picture decoded = webp_decode(file.bytes, file.nbytes);
        picture_check_every_way(&decoded, &file);
        free(decoded.samples);
        free(file.bytes);
        free(p.samples);
    }
}

static void info_says_what_loading_gives(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        picture p = webp_noise(13, 6, way < 2 ? 3 : 4);
        picture_bytes file = webp_make(&p, way % 2 == 1);
        dlpark_image_info info;
        dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes};
        assert_ok(dlpark_image_read_info(&info, &desc, e));
        assert_int_equal(info.format, DLPARK_IMAGE_WEBP);
        assert_int_equal(info.width, 13);
        assert_int_equal(info.height, 6);
        assert_int_equal(info.channels, p.channels);
        assert_int_equal(info.bits, 8);
        assert_int_equal(info.orientation, 1);
        assert_int_equal(info.lossless, way % 2 == 1);
        assert_false(info.progressive);
        free(file.bytes);
        free(p.samples);
    }
}

static void check_orientation(const picture_bytes *file, const picture *decoded, int orientation)
{
    const DLDataType dtypes[] = {DLPARK_U8, DLPARK_U16, DLPARK_F32};
    for (size_t d = 0; d < 3; d++)
        for (int layout = DLPARK_IMAGE_HWC; layout <= DLPARK_IMAGE_CHW; layout++) {
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
            dlpark_view view;
            dlpark_image_load_desc desc = {.bytes = file->bytes, .nbytes = file->nbytes, .dtype = dtypes[d]};
            desc.layout = (dlpark_image_layout)layout;
            assert_ok(dlpark_image_load(&tensor, &desc, &view, e));
            picture_check_oriented(decoded, &view, desc.layout, orientation);
            dlpark_tensor_release(&tensor);
        }
}

static void orientation_is_applied(void **state)
{
    (void)state;
    for (int orientation = 1; orientation <= 8; orientation++)
        for (int way = 0; way < 2; way++) {
            picture p = webp_noise(11, 37, way == 0 ? 3 : 4);
            picture_bytes file = webp_make(&p, way == 1);
            unsigned char exif[PICTURE_EXIF_NBYTES];
            picture_exif(exif, orientation);
            webp_extend(&file, &p, way == 0 ? 0x08 : 0x18);
            webp_append(&file, "ICCP", "odd", 3);
            webp_append(&file, "EXIF", exif, sizeof exif);
            picture decoded = webp_decode(file.bytes, file.nbytes);
            check_orientation(&file, &decoded, orientation);
            free(decoded.samples);
            free(file.bytes);
            free(p.samples);
        }
}

static void animation_is_refused_by_name(void **state)
{
    (void)state;
    picture p = picture_noise(8, 8, 3, 8);
    picture_bytes file = webp_make(&p, false);
    const unsigned char frame[16] = {0};
    webp_extend(&file, &p, 0x02);
    webp_append(&file, "ANIM", frame, 6);
    webp_append(&file, "ANMF", frame, 16);
    webp_append(&file, "ANMF", frame, 16);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    assert_fails(DLPARK_E_UNSUPPORTED, "<memory>: animated WebP (2 frames)",
                 picture_load(&file, false, &tensor, NULL, e));
    assert_null(tensor.managed);
    free(file.bytes);
    free(p.samples);
}

static void limit_on_pixels(void **state)
{
    (void)state;
    picture p = picture_noise(30, 20, 3, 8);
    picture_bytes file = webp_make(&p, false);
    dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes, .max_pixels = 599};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    assert_fails(DLPARK_E_LIMIT, "600", dlpark_image_load(&tensor, &desc, NULL, e));
    desc.max_pixels = 600;
    assert_ok(dlpark_image_load(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    free(file.bytes);
    free(p.samples);
}

/* ---- damage ---- */

static void check_cut(const picture_bytes *file, size_t nbytes, const picture *decoded, int *right)
{
    picture_bytes part = picture_copy(file->bytes, nbytes);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    assert_fails(DLPARK_E_FORMAT, "<memory>: ", picture_load(&part, false, &tensor, &view, e));
    assert_null(tensor.managed);
    dlpark_error err;
    assert_int_equal(picture_load(&part, false, &tensor, &view, &err), DLPARK_E_FORMAT);
    dlpark_status status = picture_load(&part, true, &tensor, &view, NULL);
    assert_int_equal(strstr(err.message, "; `tolerant` may accept what is there") != NULL, status == DLPARK_OK);
    assert_true(status == DLPARK_OK || (status == DLPARK_E_FORMAT && nbytes < 128));
    assert_int_equal(status == DLPARK_OK, tensor.managed != NULL);
    if (status == DLPARK_OK) {
        int rows = picture_rows_right(decoded, &view);
        assert_true(rows >= *right);
        *right = rows;
    }
    dlpark_tensor_release(&tensor);
    free(part.bytes);
}

static void files_cut_short(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        picture p = webp_noise(64, 72, way < 2 ? 3 : 4);
        picture_bytes file = webp_make(&p, way % 2 == 1);
        picture decoded = webp_decode(file.bytes, file.nbytes);
        int right = 0;
        assert_in_range(file.nbytes, 2000, 20480);
        for (size_t nbytes = 0; nbytes < file.nbytes; nbytes += 64)
            check_cut(&file, nbytes, &decoded, &right);
        assert_in_range(right, 40, 72);
        check_cut(&file, file.nbytes - 1, &decoded, &right);
        free(decoded.samples);
        free(file.bytes);
        free(p.samples);
    }
}

/* Rows from the bottom up, and rows that are widened in place: what is missing is zero there as well. */
static void tolerated_damage_leaves_zeros(void **state)
{
    (void)state;
    picture p = picture_noise(40, 64, 3, 8);
    picture_bytes file = webp_make(&p, true);
    picture decoded = webp_decode(file.bytes, file.nbytes);
    for (int turned = 0; turned < 2; turned++) {
        const int64_t shape[3] = {64, 40, 3};
        const int64_t strides[3] = {turned ? -120 : 120, 3, 1};
        const DLDataType dtype = turned ? DLPARK_U8 : DLPARK_F32;
        unsigned char *memory = picture_memory((size_t)64 * 120 * sizeof(float));
        memset(memory, 0x77, (size_t)64 * 120 * sizeof(float));
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        picture_wrap(&tensor, &view, memory + (turned ? 63 * 120 : 0), dtype, shape, strides);
        dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes / 2, .tolerant = true};
        assert_ok(dlpark_image_load_into(&view, &desc, e));
        for (int i = 0; i < 120; i++) {
            picture_check_element(&view, i, picture_at(&decoded, i / 3, 0, i % 3), 8);
            picture_check_element(&view, 63 * strides[0] + i, 0, 8);
        }
        dlpark_tensor_release(&tensor);
        free(memory);
    }
    free(decoded.samples);
    free(file.bytes);
    free(p.samples);
}

static void random_damage(void **state)
{
    (void)state;
    uint32_t random = 20240608;
    int loaded = 0;
    for (int i = 0; i < 2000; i++) {
        picture p = webp_noise(19, 11, i % 4 < 2 ? 3 : 4);
        picture_bytes file = webp_make(&p, i % 2 == 1);
        for (uint32_t flips = 1 + picture_random(&random) % 3; flips > 0; flips--)
            file.bytes[picture_random(&random) % file.nbytes] ^= (unsigned char)(1 + picture_random(&random) % 255);
        loaded += picture_load_damaged(&file, i % 3 == 0);
        free(file.bytes);
        free(p.samples);
    }
    assert_in_range(loaded, 200, 1900);
}

/* ---- into memory of the caller's ---- */

static void rows_with_a_pitch_leave_the_gaps_alone(void **state)
{
    (void)state;
    picture p = picture_noise(50, 30, 3, 8);
    picture_bytes file = webp_make(&p, false);
    picture decoded = webp_decode(file.bytes, file.nbytes);
    for (int way = 0; way < 4; way++) {
        const bool wide = way >= 2;
        const int64_t pitch = 150 + 7;
        const int64_t shape[3] = {30, 50, 3};
        const int64_t strides[3] = {way % 2 ? -pitch : pitch, 3, 1};
        const int64_t size = wide ? 4 : 1;
        unsigned char *memory = picture_memory((size_t)(pitch * 30 * size));
        memset(memory, 0xA5, (size_t)(pitch * 30 * size));
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        picture_wrap(&tensor, &view, memory + (way % 2 ? pitch * 29 * size : 0), wide ? DLPARK_F32 : DLPARK_U8, shape,
                     strides);
        dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes};
        assert_ok(dlpark_image_load_into(&view, &desc, e));
        picture_check(&decoded, &view, DLPARK_IMAGE_HWC);
        for (int64_t i = 0; i < pitch * 30 * size; i++)
            if (i % (pitch * size) >= 150 * size)
                assert_int_equal(memory[i], 0xA5);
        dlpark_tensor_release(&tensor);
        free(memory);
    }
    free(decoded.samples);
    free(file.bytes);
    free(p.samples);
}

/* ---- writing ---- */

static picture_bytes encode(const picture *p, const int64_t strides[3], int64_t first, int64_t span,
                            const dlpark_image_save_desc *desc)
{
    const int64_t shape[3] = {p->height, p->width, p->channels};
    unsigned char *memory = picture_memory((size_t)span);
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++)
            for (int c = 0; c < p->channels; c++)
                memory[first + y * strides[0] + x * strides[1] + c * strides[2]] =
                    (unsigned char)picture_at(p, x, y, c);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor encoded = DLPARK_TENSOR_EMPTY;
    dlpark_view view, bytes;
    picture_wrap(&tensor, &view, memory + first, DLPARK_U8, shape, strides);
    assert_ok(dlpark_image_encode(&encoded, &view, desc, &bytes, e));
    picture_bytes file = picture_copy(bytes.data, (size_t)bytes.shape[0]);
    dlpark_tensor_release(&encoded);
    dlpark_tensor_release(&tensor);
    free(memory);
    return file;
}

/* Five orders in memory: all must give the same file. */
static picture_bytes encode_all_orders(const picture *p, const dlpark_image_save_desc *desc)
{
    const int64_t w = p->width, h = p->height, n = p->channels, row = w * n;
    const int64_t plain[3] = {row, n, 1};
    const int64_t orders[4][3] = {{row + 3, n, 1}, {-row, n, 1}, {row, -n, 1}, {w, 1, w * h}};
    const int64_t firsts[4] = {0, row * (h - 1), row - n, 0};
    picture_bytes file = encode(p, plain, 0, row * h, desc);
    for (int i = 0; i < 4; i++) {
        picture_bytes other = encode(p, orders[i], firsts[i], (row + 3) * h, desc);
        assert_int_equal(other.nbytes, file.nbytes);
        assert_memory_equal(other.bytes, file.bytes, file.nbytes);
        free(other.bytes);
    }
    return file;
}

static void lossless_files_hold_every_sample(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 4; channels++)
        for (int compression = 0; compression <= 9; compression++) {
            const dlpark_image_save_desc desc = {
                .format = DLPARK_IMAGE_WEBP, .lossless = true, .compression = compression};
            picture p = webp_noise(21 + compression, 13, channels);
            picture_bytes file = encode_all_orders(&p, &desc);
            picture back = webp_decode(file.bytes, file.nbytes);
            const int wanted = channels % 2 == 0 ? 4 : 3;
            assert_int_equal(back.channels, wanted);
            for (int y = 0; y < p.height; y++)
                for (int x = 0; x < p.width; x++)
                    for (int c = 0; c < wanted; c++)
                        assert_int_equal(picture_at(&back, x, y, c), picture_channel(&p, x, y, c, wanted));
            free(back.samples);
            free(file.bytes);
            free(p.samples);
        }
}

/* The same bytes as libwebp gives by itself: quality and everything else arrive unchanged. */
static void lossy_files_are_those_of_libwebp(void **state)
{
    (void)state;
    for (int channels = 3; channels <= 4; channels++)
        for (int quality = 1; quality <= 100; quality += 33) {
            const dlpark_image_save_desc desc = {.format = DLPARK_IMAGE_WEBP, .quality = quality};
            picture p = webp_noise(45, 27, channels);
            unsigned char *samples = webp_interleaved(&p);
            picture_bytes file = encode_all_orders(&p, &desc);
            uint8_t *theirs = NULL;
            size_t nbytes = channels == 3 ? WebPEncodeRGB(samples, 45, 27, 45 * 3, (float)quality, &theirs)
                                          : WebPEncodeRGBA(samples, 45, 27, 45 * 4, (float)quality, &theirs);
            assert_int_equal(file.nbytes, nbytes);
            assert_memory_equal(file.bytes, theirs, nbytes);
            WebPFree(theirs);
            free(file.bytes);
            free(samples);
            free(p.samples);
        }
}

/* A stride of zero repeats one row. */
static void one_row_may_stand_for_all(void **state)
{
    (void)state;
    const int64_t strides[3] = {0, 3, 1};
    const dlpark_image_save_desc desc = {.format = DLPARK_IMAGE_WEBP, .lossless = true};
    picture p = picture_noise(20, 6, 3, 8);
    for (size_t i = 60; i < 360; i++)
        p.samples[i] = p.samples[i - 60];
    picture_bytes file = encode(&p, strides, 0, 60, &desc);
    picture_check_file(&p, &file);
    free(file.bytes);
    free(p.samples);
}

static void effort_of_lossy_files(void **state)
{
    (void)state;
    picture p = picture_noise(45, 27, 3, 8);
    picture_bytes fast = {NULL, 0};
    for (int compression = 1; compression <= 6; compression++) {
        const dlpark_image_save_desc desc = {.format = DLPARK_IMAGE_WEBP, .compression = compression};
        picture_bytes file = encode_all_orders(&p, &desc);
        picture decoded = webp_decode(file.bytes, file.nbytes);
        assert_int_equal(decoded.width, 45);
        if (compression == 1) {
            fast = picture_copy(file.bytes, file.nbytes);
        } else if (compression == 6) {
            assert_true(file.nbytes != fast.nbytes || memcmp(file.bytes, fast.bytes, file.nbytes) != 0);
        }
        free(decoded.samples);
        free(file.bytes);
    }
    free(fast.bytes);
    free(p.samples);
}

static void sides_up_to_16383(void **state)
{
    (void)state;
    unsigned char *memory = picture_memory((size_t)16384 * 3);
    dlpark_image_save_desc desc = {.format = DLPARK_IMAGE_WEBP, .compression = 1};
    for (int64_t side = 16383; side <= 16384; side++)
        for (int tall = 0; tall < 2; tall++) {
            const int64_t shape[3] = {tall ? side : 1, tall ? 1 : side, 3};
            const int64_t strides[3] = {tall ? 3 : side * 3, 3, 1};
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
            dlpark_tensor encoded = DLPARK_TENSOR_EMPTY;
            dlpark_view view;
            picture_wrap(&tensor, &view, memory, DLPARK_U8, shape, strides);
            if (side == 16383)
                assert_ok(dlpark_image_encode(&encoded, &view, &desc, NULL, e));
            else
                assert_fails(DLPARK_E_UNSUPPORTED, tall ? "1 x 16384" : "16384 x 1",
                             dlpark_image_encode(&encoded, &view, &desc, NULL, e));
            dlpark_tensor_release(&encoded);
            dlpark_tensor_release(&tensor);
        }
    free(memory);
}

/* ---- memory that is out, as far as it is asked for here; libwebp's own allocations are not seen ---- */

static void every_allocation_of_a_load_may_fail(void **state)
{
    (void)state;
    picture p = picture_noise(20, 10, 3, 8);
    picture_bytes file = webp_make(&p, false);
    for (int way = 0; way < 6; way++) {
        dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes, .tolerant = way % 2 == 1};
        desc.channels = way / 2 == 1 ? 1 : 0;
        desc.dtype = way / 2 == 2 ? DLPARK_F32 : DLPARK_U8;
        assert_in_range(picture_load_without_memory(&desc), 1 + (way >= 2), 10);
    }
    free(file.bytes);
    free(p.samples);
}

static void every_allocation_of_an_encode_may_fail(void **state)
{
    (void)state;
    assert_in_range(picture_encode_without_memory(DLPARK_IMAGE_WEBP, false), 2, 20);
    assert_in_range(picture_encode_without_memory(DLPARK_IMAGE_WEBP, true), 3, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_both_kinds),
        cmocka_unit_test(photo_size_every_way),
        cmocka_unit_test(info_says_what_loading_gives),
        cmocka_unit_test(orientation_is_applied),
        cmocka_unit_test(animation_is_refused_by_name),
        cmocka_unit_test(limit_on_pixels),
        cmocka_unit_test(files_cut_short),
        cmocka_unit_test(tolerated_damage_leaves_zeros),
        cmocka_unit_test(random_damage),
        cmocka_unit_test(rows_with_a_pitch_leave_the_gaps_alone),
        cmocka_unit_test(lossless_files_hold_every_sample),
        cmocka_unit_test(lossy_files_are_those_of_libwebp),
        cmocka_unit_test(one_row_may_stand_for_all),
        cmocka_unit_test(effort_of_lossy_files),
        cmocka_unit_test(sides_up_to_16383),
        cmocka_unit_test(every_allocation_of_a_load_may_fail),
        cmocka_unit_test(every_allocation_of_an_encode_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
