/* Files that were cut or changed, and memory that runs out: a clean error with nothing left, or a whole picture. */
#include "failing_alloc.h"
#include "jpeg_made.h"

enum { KINDS = 4 };

static picture_bytes made(int kind)
{
    unsigned char exif[JPEG_EXIF_NBYTES];
    jpeg_exif(exif, 6, kind % 2);
    const jpeg_recipe recipes[KINDS] = {
        {.given = JCS_RGB, .h = 2, .v = 2, .restart = 3, .exif = exif, .exif_nbytes = sizeof exif},
        {.given = JCS_RGB, .h = 2, .v = 1, .progressive = true},
        {.given = JCS_GRAYSCALE},
        {.given = JCS_CMYK, .stored = JCS_YCCK, .progressive = true},
    };
    picture p = jpeg_photo(45, 35, kind == 2 ? 1 : kind == 3 ? 4 : 3);
    picture_bytes file = jpeg_made(&p, &recipes[kind]);
    free(p.samples);
    return file;
}

/* Either way is fine, but it must be one of the two entirely. */
static bool load_or_clean(const picture_bytes *file, bool tolerant, bool planar)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err = test_fresh_error();
    const long live = failing_alloc_live();
    const dlpark_image_load_desc desc = {.bytes = file->bytes,
                                         .nbytes = file->nbytes,
                                         .tolerant = tolerant,
                                         .max_pixels = 1 << 20,
                                         .layout = planar ? DLPARK_IMAGE_CHW : DLPARK_IMAGE_HWC,
                                         .dtype = planar ? DLPARK_F32 : DLPARK_U8};
    const dlpark_status status = dlpark_image_load(&tensor, &desc, &view, &err);
    if (status == DLPARK_OK) {
        assert_non_null(tensor.managed);
        assert_true(dlpark_view_numel(&view) <= 4 * desc.max_pixels);
        dlpark_tensor_release(&tensor);
    } else {
        assert_true(status == DLPARK_E_FORMAT || status == DLPARK_E_UNSUPPORTED || status == DLPARK_E_LIMIT);
        assert_null(tensor.managed);
        assert_int_equal(err.status, status);
        if (status == DLPARK_E_FORMAT)
            assert_int_equal(strncmp(err.message, "<memory>: ", 10), 0);
        if (strstr(err.message, "; `tolerant` may accept what is there") != NULL)
            assert_true(!tolerant && status == DLPARK_E_FORMAT);
    }
    assert_int_equal(failing_alloc_live(), live);
    return status == DLPARK_OK;
}

static void a_file_cut_short_is_an_error(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        picture_bytes file = made(kind);
        assert_true(load_or_clean(&file, false, false));
        for (size_t nbytes = 0; nbytes < file.nbytes; nbytes += nbytes + 2 * 64 < file.nbytes ? 64 : 1) {
            picture_bytes cut = picture_copy(file.bytes, nbytes);
            assert_false(load_or_clean(&cut, false, false));
            assert_false(load_or_clean(&cut, false, true));
            free(cut.bytes);
        }
        free(file.bytes);
    }
}

/* All rows are there and libjpeg has no reason to look further, but the end marker is missing behind a comment. */
static void a_missing_end_is_an_error(void **state)
{
    (void)state;
    picture_bytes file = made(2);
    picture_insert(&file, file.nbytes - 2, "\xFF\xFE\0\4hi", 6);
    assert_true(load_or_clean(&file, false, false));
    for (int i = 0; i < 8; i++) {
        file.nbytes--;
        picture_bytes cut = picture_copy(file.bytes, file.nbytes);
        assert_false(load_or_clean(&cut, false, false));
        assert_true(load_or_clean(&cut, true, false));
        free(cut.bytes);
    }
    free(file.bytes);
}

/* A marker that has no business behind the rows is an error to libjpeg, yet all rows are there. */
static void damage_behind_the_rows_is_tolerated(void **state)
{
    (void)state;
    picture_bytes file = made(2);
    picture_insert(&file, file.nbytes - 2, "\xFF\xD8", 2);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    assert_fails(DLPARK_E_FORMAT, "; `tolerant` may accept what is there",
                 picture_load(&file, false, &tensor, &view, e));
    assert_false(load_or_clean(&file, false, false));
    assert_true(load_or_clean(&file, true, false));
    free(file.bytes);
}

/* With `tolerant` the rows that are there come, and the picture is whole. */
static void a_tolerant_load_takes_what_there_is(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        picture_bytes file = made(kind);
        long taken = 0;
        for (size_t nbytes = 0; nbytes < file.nbytes; nbytes += 64) {
            picture_bytes cut = picture_copy(file.bytes, nbytes);
            taken += load_or_clean(&cut, true, nbytes % 128 == 0);
            free(cut.bytes);
        }
        picture_bytes most = picture_copy(file.bytes, file.nbytes - 2);
        assert_true(load_or_clean(&most, true, false));
        assert_true(taken > 0);
        free(most.bytes);
        free(file.bytes);
    }
}

static void flipped_bytes_are_survived(void **state)
{
    (void)state;
    uint32_t random = 2463534242u;
    picture_bytes files[KINDS];
    for (int kind = 0; kind < KINDS; kind++)
        files[kind] = made(kind);
    for (int i = 0; i < 2000; i++) {
        picture_bytes file = picture_copy(files[i % KINDS].bytes, files[i % KINDS].nbytes);
        for (uint32_t k = picture_random(&random) % 4 + 1; k > 0; k--) {
            /* half of the damage to the head, where it has the most to decide */
            const size_t reach = k % 2 ? file.nbytes : file.nbytes < 700 ? file.nbytes : 700;
            file.bytes[picture_random(&random) % reach] ^= (unsigned char)(1u << picture_random(&random) % 8);
        }
        (void)load_or_clean(&file, i % 8 < 4, i % 16 < 8);
        free(file.bytes);
    }
    for (int kind = 0; kind < KINDS; kind++)
        free(files[kind].bytes);
}

static void the_reason_is_the_librarys(void **state)
{
    (void)state;
    picture_bytes file = made(1);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    file.nbytes -= 2;
    assert_fails(DLPARK_E_FORMAT, "<memory>: Premature end of JPEG file; `tolerant` may accept what is there",
                 picture_load(&file, false, &tensor, &view, e));
    file.nbytes = 3;
    assert_fails(DLPARK_E_FORMAT, "<memory>: ", picture_load(&file, false, &tensor, &view, e));
    free(file.bytes);
}

/* Every allocation of ours fails in turn; the loop ends when the load needed no more of them. */
static void check_without_memory(const picture_bytes *file, bool planar)
{
    const dlpark_image_load_desc desc = {
        .bytes = file->bytes, .nbytes = file->nbytes, .layout = planar ? DLPARK_IMAGE_CHW : DLPARK_IMAGE_HWC};
    for (long nth = 1;; nth++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_error err;
        const long live = failing_alloc_live();
        failing_alloc_arm(nth);
        const dlpark_status status = dlpark_image_load(&tensor, &desc, NULL, &err);
        const long asked = failing_alloc_count();
        failing_alloc_arm(0);
        if (asked < nth) {
            assert_int_equal(status, DLPARK_OK);
            assert_true(nth >= (planar ? 3 : 2));
            dlpark_tensor_release(&tensor);
            assert_int_equal(failing_alloc_live(), live);
            return;
        }
        assert_int_equal(status, DLPARK_E_MEMORY);
        assert_null(tensor.managed);
        assert_int_equal(failing_alloc_live(), live);
    }
}

static void without_memory_nothing_is_left(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        picture_bytes file = made(kind);
        check_without_memory(&file, false);
        check_without_memory(&file, true);
        free(file.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_short_is_an_error),        cmocka_unit_test(a_missing_end_is_an_error),
        cmocka_unit_test(damage_behind_the_rows_is_tolerated), cmocka_unit_test(a_tolerant_load_takes_what_there_is),
        cmocka_unit_test(flipped_bytes_are_survived),          cmocka_unit_test(the_reason_is_the_librarys),
        cmocka_unit_test(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
