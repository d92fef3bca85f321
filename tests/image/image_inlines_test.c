/* The inline functions of image.h as symbols: called here by declarations of ours, as a language without C would. */
#define dlpark_image_read_info inline_read_info
#define dlpark_image_load      inline_load
#define dlpark_image_load_into inline_load_into
#define dlpark_image_save      inline_save
#define dlpark_image_encode    inline_encode
#include <dlpark/image.h>
#undef dlpark_image_read_info
#undef dlpark_image_load
#undef dlpark_image_load_into
#undef dlpark_image_save
#undef dlpark_image_encode

#include "test.h"

dlpark_status dlpark_image_read_info(dlpark_image_info *info, const dlpark_image_load_desc *desc, dlpark_error *err);
dlpark_status dlpark_image_load(dlpark_tensor *tensor, const dlpark_image_load_desc *desc, dlpark_view *view,
                                dlpark_error *err);
dlpark_status dlpark_image_load_into(const dlpark_view *out, const dlpark_image_load_desc *desc, dlpark_error *err);
dlpark_status dlpark_image_save(const dlpark_view *view, const dlpark_image_save_desc *desc, dlpark_error *err);
dlpark_status dlpark_image_encode(dlpark_tensor *tensor, const dlpark_view *view, const dlpark_image_save_desc *desc,
                                  dlpark_view *bytes, dlpark_error *err);

static void a_picture_goes_there_and_back(void **state)
{
    (void)state;
    const uint8_t samples[6] = {1, 2, 3, 250, 251, 252};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor file = DLPARK_TENSOR_EMPTY;
    dlpark_view view, bytes;
    dlpark_image_info info;
    const dlpark_tensor_desc made = {.dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS(((int64_t[]){1, 2, 3}))};
    assert_ok(dlpark_tensor_alloc(&tensor, &made, &view, e));
    memcpy(view.data, samples, sizeof samples);
    const dlpark_image_save_desc save = {.format = DLPARK_IMAGE_PNG};
    assert_ok(dlpark_image_encode(&file, &view, &save, &bytes, e));
    const dlpark_image_load_desc load = {.bytes = bytes.data, .nbytes = (size_t)bytes.shape[0]};
    assert_ok(dlpark_image_read_info(&info, &load, e));
    assert_int_equal(info.width, 2);
    memset(view.data, 0, sizeof samples);
    assert_ok(dlpark_image_load_into(&view, &load, e));
    assert_memory_equal(view.data, samples, sizeof samples);
    dlpark_tensor_release(&tensor);
    assert_ok(dlpark_image_load(&tensor, &load, &view, e));
    assert_memory_equal(view.data, samples, sizeof samples);
    assert_fails(DLPARK_E_ARGUMENT, "desc has no path", dlpark_image_save(&view, &save, e));
    dlpark_tensor_release(&tensor);
    dlpark_tensor_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_picture_goes_there_and_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
