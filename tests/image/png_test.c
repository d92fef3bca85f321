#include "png_make.h"

/* ---- every kind of file ---- */

static void check_kind(const png_kind *kind, int width, int height, bool every_way)
{
    picture raw = png_raw(kind, width, height);
    picture wanted = png_picture(kind, &raw);
    picture_bytes made = png_make(kind, &raw);
    picture_bytes file = picture_copy(made.bytes, made.nbytes);
    picture_check_file(&wanted, &file);
    if (every_way)
        picture_check_every_way(&wanted, &file);
    free(file.bytes);
    free(made.bytes);
    free(wanted.samples);
    free(raw.samples);
}

static bool can_have_trns(int type)
{
    return type != PNG_COLOR_TYPE_GRAY_ALPHA && type != PNG_COLOR_TYPE_RGB_ALPHA;
}

static void check_every_size(bool interlaced)
{
    for (size_t k = 0; k < PNG_KINDS; k++)
        for (int trns = 0; trns <= (can_have_trns(png_kinds[k].type) ? 1 : 0); trns++)
            for (int size = 0; size < 81; size++) {
                png_kind kind = {.type = png_kinds[k].type,
                                 .depth = png_kinds[k].depth,
                                 .interlaced = interlaced,
                                 .trns = trns == 1,
                                 .level = -1,
                                 .odd_chunks = size % 2 == 1};
                check_kind(&kind, size % 9 + 1, size / 9 + 1, size % 20 == 0 || size == 49);
            }
}

static void every_kind_and_size_in_one_pass(void **state)
{
    (void)state;
    check_every_size(false);
}

static void every_kind_and_size_interlaced(void **state)
{
    (void)state;
    check_every_size(true);
}

static void every_filter_and_level(void **state)
{
    (void)state;
    static const int filters[] = {PNG_FILTER_NONE, PNG_FILTER_SUB,   PNG_FILTER_UP,
                                  PNG_FILTER_AVG,  PNG_FILTER_PAETH, PNG_ALL_FILTERS};
    for (size_t f = 0; f < sizeof filters / sizeof filters[0]; f++)
        for (int level = 0; level <= 9; level++) {
            png_kind kind = {.type = PNG_COLOR_TYPE_RGB, .depth = 8, .filters = filters[f], .level = level};
            check_kind(&kind, 67, 19, false);
            kind.type = PNG_COLOR_TYPE_RGB_ALPHA;
            kind.depth = 16;
            check_kind(&kind, 67, 19, false);
        }
}

static void all_65536_samples_round_to_the_nearest_byte(void **state)
{
    (void)state;
    png_kind kind = {.type = PNG_COLOR_TYPE_GRAY, .depth = 16, .level = -1};
    picture every = picture_new(256, 256, 1, 16);
    for (int i = 0; i < 65536; i++)
        every.samples[i] = (uint16_t)i;
    picture_bytes file = png_make(&kind, &every);
    picture_check_every_way(&every, &file);
    free(file.bytes);
    free(every.samples);
}

/* ---- the head ---- */

static void info_says_what_loading_gives(void **state)
{
    (void)state;
    for (size_t k = 0; k < PNG_KINDS; k++)
        for (int trns = 0; trns <= (can_have_trns(png_kinds[k].type) ? 1 : 0); trns++) {
            png_kind kind = {png_kinds[k].type, png_kinds[k].depth, k % 2 == 0, trns == 1, 0, -1, 0, false};
            picture raw = png_raw(&kind, 13, 6);
            picture wanted = png_picture(&kind, &raw);
            picture_bytes file = png_make(&kind, &raw);
            dlpark_image_info info;
            dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes};
            assert_ok(dlpark_image_read_info(&info, &desc, e));
            assert_int_equal(info.format, DLPARK_IMAGE_PNG);
            assert_int_equal(info.width, 13);
            assert_int_equal(info.height, 6);
            assert_int_equal(info.channels, wanted.channels);
            assert_int_equal(info.bits, wanted.bits);
            assert_int_equal(info.orientation, 1);
            assert_int_equal(info.progressive, kind.interlaced);
            assert_true(info.lossless);
            free(file.bytes);
            free(wanted.samples);
            free(raw.samples);
        }
}

static void orientation_is_applied(void **state)
{
    (void)state;
    for (int orientation = 1; orientation <= 8; orientation++)
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            png_kind kind = {.type = PNG_COLOR_TYPE_RGB, .depth = 8, .interlaced = interlaced == 1, .level = -1};
            picture raw = png_raw(&kind, 11, 37);
            picture_bytes file = png_make(&kind, &raw);
            unsigned char exif[PICTURE_EXIF_NBYTES];
            picture_exif(exif, orientation);
            png_insert(&file, "IDAT", "eXIf", exif, sizeof exif);
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
            dlpark_view view;
            assert_ok(picture_load(&file, false, &tensor, &view, e));
            picture_check_oriented(&raw, &view, DLPARK_IMAGE_HWC, orientation);
            dlpark_tensor_release(&tensor);
            free(file.bytes);
            free(raw.samples);
        }
}

static void orientation_behind_the_picture_is_not_looked_at(void **state)
{
    (void)state;
    png_kind kind = {.type = PNG_COLOR_TYPE_GRAY, .depth = 8, .level = -1};
    picture raw = png_raw(&kind, 3, 2);
    picture_bytes file = png_make(&kind, &raw);
    unsigned char exif[PICTURE_EXIF_NBYTES];
    picture_exif(exif, 6);
    png_insert(&file, "IEND", "eXIf", exif, sizeof exif);
    picture_check_file(&raw, &file);
    free(file.bytes);
    free(raw.samples);
}

/* ---- hostile and damaged files ---- */

static void animation_is_refused_by_name(void **state)
{
    (void)state;
    const unsigned char control[8] = {0, 0, 0, 7, 0, 0, 0, 0};
    picture raw;
    picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, false, 0, &raw);
    picture_bytes after = picture_copy(file.bytes, file.nbytes);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    png_insert(&file, "IDAT", "acTL", control, sizeof control);
    assert_fails(DLPARK_E_UNSUPPORTED, "<memory>: animated PNG (acTL, 7 frames)",
                 picture_load(&file, false, &tensor, NULL, e));
    assert_null(tensor.managed);
    png_insert(&after, "IEND", "acTL", control, sizeof control);
    picture_check_file(&raw, &after);
    free(after.bytes);
    free(file.bytes);
    free(raw.samples);
}

static long allocations_to_load(const picture_bytes *file)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    failing_alloc_arm(0);
    assert_ok(picture_load(file, false, &tensor, NULL, e));
    long count = failing_alloc_count();
    dlpark_tensor_release(&tensor);
    return count;
}

/* 32 MiB of zeros as compressed text and as a colour profile: nothing is allocated for them. */
static void compressed_text_is_never_inflated(void **state)
{
    (void)state;
    picture raw;
    picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, false, 0, &raw);
    picture_bytes bomb = picture_copy(file.bytes, file.nbytes);
    const size_t length = (size_t)32 << 20;
    png_text text = {.compression = PNG_TEXT_COMPRESSION_zTXt, .key = "k", .text = picture_memory(length + 1)};
    memset(text.text, 'a', length);
    picture_bytes texts = {NULL, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, png_make_error, png_make_warning);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &texts, png_make_write, png_make_flush);
    png_set_IHDR(png, info, 1, 1, 8, PNG_COLOR_TYPE_GRAY, 0, 0, 0);
    png_set_text(png, info, &text, 1);
    png_write_info(png, info);
    png_destroy_write_struct(&png, &info);
    size_t at = png_find(&texts, "zTXt");
    png_insert(&bomb, "IDAT", "zTXt", texts.bytes + at + 8, png_get_uint_32(texts.bytes + at));
    png_insert(&bomb, "IDAT", "iCCP", texts.bytes + at + 8, png_get_uint_32(texts.bytes + at));
    png_insert(&bomb, "IEND", "zTXt", texts.bytes + at + 8, png_get_uint_32(texts.bytes + at));
    picture_check_file(&raw, &bomb);
    assert_int_equal(allocations_to_load(&bomb), allocations_to_load(&file));
    free(texts.bytes);
    free(text.text);
    free(bomb.bytes);
    free(file.bytes);
    free(raw.samples);
}

static void limits_are_kept(void **state)
{
    (void)state;
    picture raw;
    picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, false, 0, &raw);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    for (int i = 0; i < 6; i++)
        png_insert(&file, i < 3 ? "IDAT" : "IEND", "tEXt", "k\0v", 3);
    dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes, .max_chunks = 5};
    assert_fails(DLPARK_E_LIMIT, "max_chunks = 5", dlpark_image_load(&tensor, &desc, NULL, e));
    desc.max_chunks = 6;
    assert_ok(dlpark_image_load(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    desc.max_pixels = 80 * 64 - 1;
    assert_fails(DLPARK_E_LIMIT, "5120", dlpark_image_load(&tensor, &desc, NULL, e));
    desc.max_pixels = 80 * 64;
    assert_ok(dlpark_image_load(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    png_save_uint_32(file.bytes + 16, 0x7fffffff);
    png_save_uint_32(file.bytes + 20, 0x7fffffff);
    png_seal(&file);
    assert_fails(DLPARK_E_LIMIT, "2147483647", dlpark_image_load(&tensor, &desc, NULL, e));
    png_save_uint_32(file.bytes + 16, 0);
    png_seal(&file);
    assert_fails(DLPARK_E_FORMAT, "Image width is zero", dlpark_image_load(&tensor, &desc, NULL, e));
    free(file.bytes);
    free(raw.samples);
}

/* Chunks behind the picture count before memory is taken for it: what is asked for is what the head alone costs. */
static void chunks_are_counted_before_a_picture_is_made(void **state)
{
    (void)state;
    picture raw;
    picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, false, 0, &raw);
    for (int i = 0; i < 6; i++)
        png_insert(&file, "IEND", "tEXt", "k\0v", 3);
    dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes, .max_chunks = 5};
    dlpark_image_info info;
    assert_fails(DLPARK_E_LIMIT, "max_chunks = 5", dlpark_image_read_info(&info, &desc, e));
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    failing_alloc_arm(0);
    assert_fails(DLPARK_E_LIMIT, "max_chunks = 5", dlpark_image_load(&tensor, &desc, NULL, e));
    assert_int_equal(failing_alloc_count(), 2); /* assert_fails calls twice: a reader each */
    free(file.bytes);
    free(raw.samples);
}

/* Rows that a prefix of a noise file holds: it does not compress, so bytes are proportional to rows. */
static int rows_expected(const picture *raw, size_t nbytes)
{
    int row_nbytes = raw->width * raw->channels + 1;
    int rows = ((int)nbytes - 100) / row_nbytes - 1;
    return rows < 0 ? 0 : rows;
}

static void check_cut(const picture_bytes *file, size_t nbytes, const picture *raw, bool interlaced)
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
    if (nbytes < png_find(file, "IDAT") + 8) {
        assert_int_equal(status, DLPARK_E_FORMAT);
        assert_null(tensor.managed);
    } else {
        assert_int_equal(status, DLPARK_OK);
        if (!interlaced)
            assert_true(picture_rows_right(raw, &view) >= rows_expected(raw, nbytes));
    }
    dlpark_tensor_release(&tensor);
    free(part.bytes);
}

static void files_cut_short(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        picture raw;
        bool interlaced = way % 2 == 1;
        picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, interlaced, way < 2 ? 2048 : 1 << 20, &raw);
        assert_in_range(file.nbytes, 15000, 20480);
        for (size_t nbytes = 0; nbytes < file.nbytes; nbytes += 64)
            check_cut(&file, nbytes, &raw, interlaced);
        check_cut(&file, file.nbytes - 1, &raw, interlaced);
        free(file.bytes);
        free(raw.samples);
    }
}

/* Into memory that holds something: each pixel is right or zero, and rows that came lie where they should. */
static void check_cut_into(const picture_bytes *file, size_t nbytes, const picture *raw, bool interlaced, bool planar)
{
    const int64_t shape[3] = {planar ? 3 : 64, planar ? 64 : 80, planar ? 80 : 3};
    const int64_t strides[3] = {planar ? 64 * 80 : 80 * 3, planar ? 80 : 3, 1};
    unsigned char memory[64 * 80 * 3];
    memset(memory, 0x77, sizeof memory);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    picture_wrap(&tensor, &view, memory, DLPARK_U8, shape, strides);
    dlpark_image_load_desc desc = {.bytes = file->bytes, .nbytes = nbytes, .tolerant = true};
    desc.layout = planar ? DLPARK_IMAGE_CHW : DLPARK_IMAGE_HWC;
    assert_ok(dlpark_image_load_into(&view, &desc, e));
    const int rows = interlaced ? 0 : rows_expected(raw, nbytes);
    int zeros = 0;
    for (int i = 0; i < 64 * 80 * 3; i++) {
        const int y = i / 240, x = i % 240 / 3, c = i % 3;
        const uint32_t loaded = memory[planar ? c * 64 * 80 + y * 80 + x : i];
        if (loaded != picture_at(raw, x, y, c))
            assert_int_equal(loaded, 0);
        if (y < rows)
            assert_int_equal(loaded, picture_at(raw, x, y, c));
        zeros += loaded == 0;
    }
    const int missing = (int)((file->nbytes - nbytes) * 64 * 80 * 3 / file->nbytes);
    assert_in_range(zeros, missing / 2, missing + 3000);
    dlpark_tensor_release(&tensor);
}

static void messages_count_from_one(void **state)
{
    (void)state;
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        picture raw;
        picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, interlaced == 1, 1 << 20, &raw);
        picture_bytes part = picture_copy(file.bytes, png_find(&file, "IDAT") + 8 + 20);
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        assert_fails(DLPARK_E_FORMAT, interlaced ? ", in row 1 of 64, pass 1 of 7; `" : ", in row 1 of 64; `",
                     picture_load(&part, false, &tensor, NULL, e));
        free(part.bytes);
        free(file.bytes);
        free(raw.samples);
    }
}

static void tolerated_damage_leaves_zeros(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        picture raw;
        picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, way % 2 == 1, 0, &raw);
        for (size_t nbytes = file.nbytes / 4; nbytes < file.nbytes / 4 * 3; nbytes += 80)
            check_cut_into(&file, nbytes, &raw, way % 2 == 1, way >= 2);
        free(file.bytes);
        free(raw.samples);
    }
}

static void wrong_checksums(void **state)
{
    (void)state;
    static const char *const types[] = {"IDAT", "tEXt", "IEND"};
    picture raw;
    picture_bytes sound = png_make_plain(PNG_COLOR_TYPE_RGB, 8, false, 1 << 20, &raw);
    png_insert(&sound, "IDAT", "tEXt", "k\0v", 3);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        picture_bytes file = picture_copy(sound.bytes, sound.nbytes);
        size_t at = png_find(&file, types[i]);
        file.bytes[at + 8 + png_get_uint_32(file.bytes + at)] ^= 1;
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        assert_fails(DLPARK_E_FORMAT, "CRC", picture_load(&file, false, &tensor, &view, e));
        assert_fails(DLPARK_E_FORMAT, types[i], picture_load(&file, false, &tensor, &view, e));
        assert_ok(picture_load(&file, true, &tensor, &view, e));
        picture_check(&raw, &view, DLPARK_IMAGE_HWC);
        dlpark_tensor_release(&tensor);
        free(file.bytes);
    }
    free(sound.bytes);
    free(raw.samples);
}

/* Indices of 0 to 3, at 2 or 8 bits, for a palette that is then cut to three colours. */
static picture_bytes palette_too_short(int depth, bool interlaced, picture *raw)
{
    png_kind kind = {.type = PNG_COLOR_TYPE_PALETTE, .depth = depth, .interlaced = interlaced, .level = -1};
    *raw = png_raw(&kind, 21, 18);
    for (int i = 0; i < 21 * 18; i++)
        raw->samples[i] %= 3;
    raw->samples[17 * 21 + 20] = 3;
    picture_bytes file = png_make(&kind, raw);
    size_t at = png_find(&file, "PLTE");
    size_t end = at + 12 + png_get_uint_32(file.bytes + at);
    png_save_uint_32(file.bytes + at, 9);
    memmove(file.bytes + at + 21, file.bytes + end, file.nbytes - end);
    file.nbytes -= end - (at + 21);
    png_seal(&file);
    return file;
}

static void an_index_beyond_the_palette_is_damage(void **state)
{
    (void)state;
    for (int way = 0; way < 8; way++) {
        picture raw;
        const int depth = way % 2 ? 2 : 8;
        const bool interlaced = way / 2 % 2 == 1;
        picture_bytes file = palette_too_short(depth, interlaced, &raw);
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes};
        desc.layout = way < 4 ? DLPARK_IMAGE_HWC : DLPARK_IMAGE_CHW;
        assert_fails(DLPARK_E_FORMAT, "index 3 into a palette of 3 colours, in row 18 of 18",
                     dlpark_image_load(&tensor, &desc, &view, e));
        assert_null(tensor.managed);
        desc.tolerant = true;
        assert_ok(dlpark_image_load(&tensor, &desc, &view, e));
        for (int i = 0; i < 21 * 18 * 3; i++) {
            const int index = raw.samples[i / 3], c = i % 3;
            const png_color colour = png_palette_colour(index);
            const int wanted = index == 3 ? 0 : c == 0 ? colour.red : c == 1 ? colour.green : colour.blue;
            assert_int_equal(((const uint8_t *)view.data)[way < 4 ? i : c * 21 * 18 + i / 3], wanted);
        }
        dlpark_tensor_release(&tensor);
        free(file.bytes);
        free(raw.samples);
    }
}

/* What libpng only warns of, or passes over: an error that names it, and a whole picture to who tolerates it. */
static void check_warned(picture_bytes *file, const picture *wanted, const char *message)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    assert_fails(DLPARK_E_FORMAT, message, picture_load(file, false, &tensor, &view, e));
    assert_null(tensor.managed);
    assert_ok(picture_load(file, true, &tensor, &view, e));
    picture_check(wanted, &view, DLPARK_IMAGE_HWC);
    dlpark_tensor_release(&tensor);
    free(file->bytes);
}

static void check_more_data(const picture_bytes *sound, const picture *raw)
{
    const size_t idat = png_find(sound, "IDAT");
    const size_t length = png_get_uint_32(sound->bytes + idat);
    picture_bytes file = picture_copy(sound->bytes, sound->nbytes);
    picture_insert(&file, idat + 8 + length, "more", 4);
    png_save_uint_32(file.bytes + idat, (png_uint_32)length + 4);
    png_seal(&file);
    check_warned(&file, raw, "Extra compressed data");
    file = picture_copy(sound->bytes, sound->nbytes);
    png_insert(&file, "IEND", "IDAT", "more", 4);
    check_warned(&file, raw, "IDAT: more data behind the end");
}

static void more_data_than_the_picture_has(void **state)
{
    (void)state;
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        picture raw;
        picture_bytes file = png_make_plain(PNG_COLOR_TYPE_GRAY, 8, interlaced == 1, 1 << 20, &raw);
        check_more_data(&file, &raw);
        png_insert(&file, "IEND", "IDAT", "", 0); /* says nothing, and is allowed */
        picture_check_file(&raw, &file);
        free(file.bytes);
        free(raw.samples);
    }
}

static void more_rows_than_the_picture_has(void **state)
{
    (void)state;
    picture raw;
    picture_bytes file = png_make_plain(PNG_COLOR_TYPE_GRAY, 8, false, 0, &raw);
    png_save_uint_32(file.bytes + 20, 63);
    png_seal(&file);
    picture shorter = raw;
    shorter.height = 63;
    check_warned(&file, &shorter, "IDAT: Too much image data, in row 63 of 63");
    free(raw.samples);
}

static void transparency_that_does_not_fit(void **state)
{
    (void)state;
    png_kind kind = {.type = PNG_COLOR_TYPE_PALETTE, .depth = 2, .level = -1};
    picture raw = png_raw(&kind, 9, 5);
    picture wanted = png_picture(&kind, &raw);
    picture_bytes file = png_make(&kind, &raw);
    png_insert(&file, "IDAT", "tRNS", "\x10\x20\x30\x40\x50", 5);
    check_warned(&file, &wanted, "tRNS: invalid");
    free(wanted.samples);
    free(raw.samples);

    file = png_make_plain(PNG_COLOR_TYPE_GRAY, 8, false, 0, &raw);
    png_insert(&file, "IDAT", "tRNS", "\x00\x01\x02", 3);
    check_warned(&file, &raw, "tRNS: invalid");
    free(raw.samples);
}

/* Chunks that do not touch pixels are not parsed: whatever is wrong with them, the picture is good. */
static void odd_metadata_is_no_damage(void **state)
{
    (void)state;
    static const char *const types[] = {"iCCP", "sRGB", "gAMA", "cHRM", "pHYs", "tIME", "bKGD", "hIST", "sBIT",
                                        "sPLT", "tEXt", "zTXt", "iTXt", "oFFs", "pCAL", "sCAL", "prIv"};
    picture raw;
    picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, false, 0, &raw);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        png_insert(&file, "IDAT", types[i], "", 0);
        png_insert(&file, "IDAT", types[i], "nonsense", 8);
        png_insert(&file, "IEND", types[i], "too late", 8);
    }
    const size_t large = (size_t)9 << 20;
    unsigned char *text = picture_memory(large);
    memcpy(text, "k", 2);
    png_insert(&file, "IDAT", "tEXt", text, large);
    picture_check_file(&raw, &file);
    free(text);
    free(file.bytes);
    free(raw.samples);
}

static void random_damage(void **state)
{
    (void)state;
    uint32_t random = 20240607;
    int loaded = 0;
    for (int i = 0; i < 2000; i++) {
        size_t k = picture_random(&random) % PNG_KINDS;
        png_kind kind = {png_kinds[k].type,
                         png_kinds[k].depth,
                         i % 3 == 0,
                         i % 5 == 0 && can_have_trns(png_kinds[k].type),
                         0,
                         -1,
                         0,
                         false};
        picture raw = png_raw(&kind, 17, 9);
        picture_bytes file = png_make(&kind, &raw);
        for (uint32_t flips = 1 + picture_random(&random) % 3; flips > 0; flips--)
            file.bytes[picture_random(&random) % file.nbytes] ^= (unsigned char)(1 + picture_random(&random) % 255);
        if (i % 4 != 0)
            png_seal(&file);
        loaded += picture_load_damaged(&file, i % 2 == 0);
        free(file.bytes);
        free(raw.samples);
    }
    assert_in_range(loaded, 200, 1900);
}

/* ---- into memory of the caller's ---- */

static void rows_with_a_pitch_leave_the_gaps_alone(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        picture raw;
        picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, way % 2 == 1, 0, &raw);
        const int64_t pitch = 80 * 3 + 5;
        const int64_t shape[3] = {64, 80, 3};
        const int64_t strides[3] = {way < 2 ? pitch : -pitch, 3, 1};
        unsigned char *memory = picture_memory((size_t)pitch * 64);
        memset(memory, 0xA5, (size_t)pitch * 64);
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        picture_wrap(&tensor, &view, way < 2 ? memory : memory + pitch * 63, DLPARK_U8, shape, strides);
        dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes};
        assert_ok(dlpark_image_load_into(&view, &desc, e));
        picture_check(&raw, &view, DLPARK_IMAGE_HWC);
        for (int64_t i = 0; i < pitch * 64; i++)
            if (i % pitch >= 240)
                assert_int_equal(memory[i], 0xA5);
        dlpark_tensor_release(&tensor);
        free(memory);
        free(file.bytes);
        free(raw.samples);
    }
}

/* ---- writing ---- */

static void written_files_hold_every_sample(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 4; channels++)
        for (int bits = 8; bits <= 16; bits += 8)
            for (int compression = 0; compression <= 9; compression++) {
                const int w = 21 + compression, h = 13;
                picture p = picture_noise(w, h, channels, bits);
                const int64_t row = w * channels;
                const int64_t plain[3] = {row, channels, 1};
                const int64_t pitched[3] = {row + 3, channels, 1};
                const int64_t upwards[3] = {-row, channels, 1};
                const int64_t mirrored[3] = {row, -channels, 1};
                const int64_t planes[3] = {w, 1, w * h};
                png_check_written(&p, plain, 0, row * h, compression);
                png_check_written(&p, pitched, 0, (row + 3) * h, compression);
                png_check_written(&p, upwards, row * (h - 1), row * h, compression);
                png_check_written(&p, mirrored, row - channels, row * h, compression);
                png_check_written(&p, planes, 0, row * h, compression);
                free(p.samples);
            }
}

/* libpng's own limit for a side is a million. */
static void sides_beyond_a_million_are_written_and_read(void **state)
{
    (void)state;
    const int w = 1000001;
    const png_kind kind = {.type = PNG_COLOR_TYPE_GRAY, .depth = 8, .level = 1};
    const int64_t strides[3] = {w, 1, 1};
    picture p = picture_noise(w, 1, 1, 8);
    png_check_written(&p, strides, 0, w, 1);
    check_kind(&kind, w, 1, false);
    check_kind(&kind, 1, w, false);
    free(p.samples);
}

/* ---- memory that is out ---- */

static void every_allocation_of_a_load_may_fail(void **state)
{
    (void)state;
    for (int way = 0; way < 12; way++) {
        picture raw;
        picture_bytes file = png_make_plain(PNG_COLOR_TYPE_RGB, 8, way % 2 == 1, 0, &raw);
        dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = way < 8 ? file.nbytes : file.nbytes / 2};
        desc.layout = way / 2 % 2 ? DLPARK_IMAGE_CHW : DLPARK_IMAGE_HWC;
        desc.tolerant = way >= 4;
        assert_true(picture_load_without_memory(&desc) > 5);
        free(file.bytes);
        free(raw.samples);
    }
}

static void every_allocation_of_an_encode_may_fail(void **state)
{
    (void)state;
    assert_true(picture_encode_without_memory(DLPARK_IMAGE_PNG, false) > 5);
    assert_true(picture_encode_without_memory(DLPARK_IMAGE_PNG, true) > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_and_size_in_one_pass),
        cmocka_unit_test(every_kind_and_size_interlaced),
        cmocka_unit_test(every_filter_and_level),
        cmocka_unit_test(all_65536_samples_round_to_the_nearest_byte),
        cmocka_unit_test(info_says_what_loading_gives),
        cmocka_unit_test(orientation_is_applied),
        cmocka_unit_test(orientation_behind_the_picture_is_not_looked_at),
        cmocka_unit_test(animation_is_refused_by_name),
        cmocka_unit_test(compressed_text_is_never_inflated),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(chunks_are_counted_before_a_picture_is_made),
        cmocka_unit_test(messages_count_from_one),
        cmocka_unit_test(files_cut_short),
        cmocka_unit_test(tolerated_damage_leaves_zeros),
        cmocka_unit_test(wrong_checksums),
        cmocka_unit_test(an_index_beyond_the_palette_is_damage),
        cmocka_unit_test(more_data_than_the_picture_has),
        cmocka_unit_test(more_rows_than_the_picture_has),
        cmocka_unit_test(transparency_that_does_not_fit),
        cmocka_unit_test(odd_metadata_is_no_damage),
        cmocka_unit_test(random_damage),
        cmocka_unit_test(rows_with_a_pitch_leave_the_gaps_alone),
        cmocka_unit_test(written_files_hold_every_sample),
        cmocka_unit_test(sides_beyond_a_million_are_written_and_read),
        cmocka_unit_test(every_allocation_of_a_load_may_fail),
        cmocka_unit_test(every_allocation_of_an_encode_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
