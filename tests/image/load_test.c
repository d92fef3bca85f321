/* What loading promises whatever the format: which memory it takes and refuses, and what it leaves behind. */
#include "failing_alloc.h"
#include "jpeg_made.h"

enum { WIDTH = 30, HEIGHT = 20, SAMPLES = WIDTH * HEIGHT * 4 };

static picture_bytes file_bytes;
static picture file_rgb;
static picture file_luma;

static int make_file(void **state)
{
    (void)state;
    picture p = jpeg_photo(WIDTH, HEIGHT, 3);
    const jpeg_recipe recipe = {.given = JCS_RGB, .h = 2, .v = 2};
    file_bytes = jpeg_made(&p, &recipe);
    file_rgb = jpeg_by_hand(&file_bytes, JCS_RGB);
    file_luma = jpeg_by_hand(&file_bytes, JCS_GRAYSCALE);
    free(p.samples);
    return 0;
}

static int free_file(void **state)
{
    (void)state;
    free(file_bytes.bytes);
    free(file_rgb.samples);
    free(file_luma.samples);
    return 0;
}

static dlpark_image_load_desc description(void)
{
    return (dlpark_image_load_desc){.bytes = file_bytes.bytes, .nbytes = file_bytes.nbytes};
}

static void fields_out_of_range_are_refused(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_image_load_desc desc = description();
    desc.channels = 5;
    assert_fails(DLPARK_E_ARGUMENT, "channels is 5, not 1 to 4 (0: as the file has them)",
                 dlpark_image_load(&tensor, &desc, NULL, e));
    desc.channels = -1;
    assert_fails(DLPARK_E_ARGUMENT, "channels is -1", dlpark_image_load(&tensor, &desc, NULL, e));
    desc = description();
    desc.layout = (dlpark_image_layout)2;
    assert_fails(DLPARK_E_ARGUMENT, "layout is 2", dlpark_image_load(&tensor, &desc, NULL, e));
    desc = description();
    desc.dtype = DLPARK_F16;
    assert_fails(DLPARK_E_ARGUMENT, "dtype is f16", dlpark_image_load(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "dtype is f16", dlpark_image_load_into(NULL, &desc, e));
    desc = description();
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_image_load(NULL, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "out is NULL", dlpark_image_load_into(NULL, &desc, e));
    assert_null(tensor.managed);
}

static void a_full_tensor_is_left_alone(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    const dlpark_image_load_desc desc = description();
    assert_ok(dlpark_image_load(&tensor, &desc, NULL, e));
    DLManagedTensorVersioned *held = tensor.managed;
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds", dlpark_image_load(&tensor, &desc, NULL, e));
    assert_ptr_equal(tensor.managed, held);
    dlpark_tensor_release(&tensor);
}

static void a_loaded_tensor_is_nobody_elses(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    const dlpark_image_load_desc desc = description();
    assert_ok(dlpark_image_load(&tensor, &desc, &view, e));
    assert_true(tensor.managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED);
    assert_int_equal((uintptr_t)view.data % 64, 0);
    picture_check(&file_rgb, &view, DLPARK_IMAGE_HWC);
    dlpark_tensor_release(&tensor);
}

/* Wraps `memory` and loads into it; the channels and the dtype are the view's. */
static dlpark_status into(void *memory, DLDataType dtype, const int64_t shape[3], const int64_t strides[3],
                          const dlpark_image_load_desc *desc, dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    picture_wrap(&tensor, view, memory, dtype, shape, strides);
    const dlpark_status status = dlpark_image_load_into(view, desc, err);
    dlpark_tensor_release(&tensor);
    return status;
}

static void any_strides_are_written(void **state)
{
    (void)state;
    const DLDataType dtypes[] = {DLPARK_U8, DLPARK_U16, DLPARK_F32};
    const int64_t shape[] = {HEIGHT, WIDTH, 3};
    const int64_t strides[][3] = {{WIDTH * 3, 3, 1},           {100, 3, 1},          {3, HEIGHT * 3, 1},
                                  {WIDTH, 1, WIDTH * HEIGHT},  {-WIDTH * 3, -3, -1}, {WIDTH * 4, 4, 1},
                                  {1, HEIGHT, WIDTH * HEIGHT}, {100, -3, 1},         {100, 3, -1}};
    float *memory = picture_memory(2 * SAMPLES * sizeof *memory);
    for (size_t d = 0; d < 3; d++)
        for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
            int64_t first = 0;
            for (int i = 0; i < 3; i++)
                first += strides[s][i] < 0 ? -strides[s][i] * (shape[i] - 1) : 0;
            dlpark_view view;
            const dlpark_image_load_desc desc = description();
            unsigned char *data = (unsigned char *)memory + first * (dtypes[d].bits / 8);
            assert_ok(into(data, dtypes[d], shape, strides[s], &desc, &view, e));
            picture_check(&file_rgb, &view, DLPARK_IMAGE_HWC);
        }
    free(memory);
}

static void misaligned_memory_is_written(void **state)
{
    (void)state;
    unsigned char *memory = picture_memory(SAMPLES * sizeof(float) + 1);
    unsigned char *copy = picture_memory(SAMPLES * sizeof(float));
    for (int layout = DLPARK_IMAGE_HWC; layout <= DLPARK_IMAGE_CHW; layout++) {
        const int64_t hwc[] = {HEIGHT, WIDTH, 3}, chw[] = {3, HEIGHT, WIDTH};
        const int64_t hwc_strides[] = {WIDTH * 3, 3, 1}, chw_strides[] = {WIDTH * HEIGHT, WIDTH, 1};
        const bool planar = layout == DLPARK_IMAGE_CHW;
        dlpark_view view;
        dlpark_image_load_desc desc = description();
        desc.layout = (dlpark_image_layout)layout;
        assert_ok(
            into(memory + 1, DLPARK_F32, planar ? chw : hwc, planar ? chw_strides : hwc_strides, &desc, &view, e));
        memcpy(copy, memory + 1, SAMPLES * sizeof(float));
        view.data = copy;
        picture_check(&file_rgb, &view, desc.layout);
    }
    free(copy);
    free(memory);
}

static void the_shape_must_be_the_pictures(void **state)
{
    (void)state;
    unsigned char *memory = picture_memory(SAMPLES * 2);
    dlpark_view view;
    dlpark_image_load_desc desc = description();
    assert_fails(DLPARK_E_SHAPE, "<memory>: expected out shape [20, 30, 3], got [20, 31, 3]",
                 into(memory, DLPARK_U8, (int64_t[]){HEIGHT, WIDTH + 1, 3}, (int64_t[]){93, 3, 1}, &desc, &view, e));
    assert_fails(DLPARK_E_SHAPE, "expected out shape [20, 30, 3], got [30, 20, 3]",
                 into(memory, DLPARK_U8, (int64_t[]){WIDTH, HEIGHT, 3}, (int64_t[]){60, 3, 1}, &desc, &view, e));
    assert_fails(DLPARK_E_SHAPE, "1 to 4 channels, got [20, 30, 5]",
                 into(memory, DLPARK_U8, (int64_t[]){HEIGHT, WIDTH, 5}, (int64_t[]){150, 5, 1}, &desc, &view, e));
    desc.channels = 3;
    assert_fails(DLPARK_E_SHAPE, "expected out shape [20, 30, 3], got [20, 30, 4]",
                 into(memory, DLPARK_U8, (int64_t[]){HEIGHT, WIDTH, 4}, (int64_t[]){120, 4, 1}, &desc, &view, e));
    desc.layout = DLPARK_IMAGE_CHW;
    assert_fails(DLPARK_E_SHAPE, "expected out shape [3, 20, 30], got [3, 30, 20]",
                 into(memory, DLPARK_U8, (int64_t[]){3, WIDTH, HEIGHT}, (int64_t[]){600, 20, 1}, &desc, &view, e));
    for (int i = 0; i < SAMPLES * 2; i++)
        assert_int_equal(memory[i], 0);
    view.ndim = 2;
    assert_fails(DLPARK_E_SHAPE, "rank 3 with 1 to 4 channels, got [3, 30]", dlpark_image_load_into(&view, &desc, e));
    free(memory);
}

static void what_must_not_be_written_is_refused(void **state)
{
    (void)state;
    unsigned char *memory = picture_memory(SAMPLES * 8);
    dlpark_view view;
    const dlpark_image_load_desc desc = description();
    const int64_t shape[] = {HEIGHT, WIDTH, 3}, strides[] = {WIDTH * 3, 3, 1};
    assert_fails(DLPARK_E_DTYPE, "expected out of u8, u16 or f32, got i8",
                 into(memory, DLPARK_I8, shape, strides, &desc, &view, e));
    assert_ok(into(memory, DLPARK_U8, shape, strides, &desc, &view, e));
    memset(memory, 0, SAMPLES);
    view.flags = DLPARK_VIEW_READ_ONLY;
    assert_fails(DLPARK_E_READ_ONLY, "out is read-only", dlpark_image_load_into(&view, &desc, e));
    view.flags = DLPARK_VIEW_UNKNOWN_WRITE;
    assert_fails(DLPARK_E_READ_ONLY, "dlpark_view_allow_write", dlpark_image_load_into(&view, &desc, e));
    view.flags = 0;
    view.device = DLPARK_DEVICE(kDLCUDA, 1);
    assert_fails(DLPARK_E_DEVICE, "host memory, got cuda:1", dlpark_image_load_into(&view, &desc, e));
    for (int i = 0; i < SAMPLES; i++)
        assert_int_equal(memory[i], 0);
    view.device = DLPARK_DEVICE(kDLCUDAHost, 0);
    assert_ok(dlpark_image_load_into(&view, &desc, e));
    picture_check(&file_rgb, &view, DLPARK_IMAGE_HWC);
    free(memory);
}

/* Whether any two of the elements lie at one place, by marking each. */
static bool meets_by_hand(const int64_t shape[3], const int64_t strides[3])
{
    enum { MIDDLE = 4000 };
    static unsigned char seen[2 * MIDDLE];
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < shape[0]; i++)
        for (int64_t k = 0; k < shape[1]; k++)
            for (int64_t m = 0; m < shape[2]; m++) {
                unsigned char *place = &seen[MIDDLE + i * strides[0] + k * strides[1] + m * strides[2]];
                if (*place)
                    return true;
                *place = 1;
            }
    return false;
}

/* Exactly the layouts in which elements meet are refused, and no others, however odd. */
static void only_elements_that_meet_are_refused(void **state)
{
    (void)state;
    picture p = jpeg_photo(4, 3, 3);
    const jpeg_recipe recipe = {.given = JCS_RGB};
    picture_bytes file = jpeg_made(&p, &recipe);
    const dlpark_image_load_desc desc = {.bytes = file.bytes, .nbytes = file.nbytes};
    picture rgb = jpeg_by_hand(&file, JCS_RGB);
    unsigned char *memory = picture_memory(8000);
    uint32_t random = 88172645u;
    int met = 0;
    for (int i = 0; i < 3000; i++) {
        const int64_t shape[] = {3, 4, 1 + (int64_t)(picture_random(&random) % 3) * (i % 2)};
        int64_t strides[3];
        for (int k = 0; k < 3; k++)
            strides[k] = (int64_t)(picture_random(&random) % 41) - 20;
        dlpark_view view;
        const bool expected = meets_by_hand(shape, strides);
        met += expected;
        if (expected) {
            assert_int_equal(into(memory + 4000, DLPARK_U8, shape, strides, &desc, &view, NULL), DLPARK_E_STRIDES);
        } else {
            assert_ok(into(memory + 4000, DLPARK_U8, shape, strides, &desc, &view, e));
            if (shape[2] == 3)
                picture_check(&rgb, &view, DLPARK_IMAGE_HWC);
        }
    }
    assert_in_range(met, 300, 2700);
    dlpark_view view;
    assert_fails(DLPARK_E_STRIDES, "out has elements that share memory: shape [3, 4, 3] with strides [0, 3, 1]",
                 into(memory, DLPARK_U8, (int64_t[]){3, 4, 3}, (int64_t[]){0, 3, 1}, &desc, &view, e));
    free(memory);
    free(rgb.samples);
    free(file.bytes);
    free(p.samples);
}

/* The picture as a file of the format, lossless. */
static picture_bytes stored(const picture *p, dlpark_image_format format)
{
    const jpeg_recipe recipe = {.given = JCS_RGB};
    if (format == DLPARK_IMAGE_JPEG)
        return jpeg_made(p, &recipe);
    unsigned char *bytes = picture_memory((size_t)(p->width * p->height * 3));
    for (int i = 0; i < p->width * p->height * 3; i++)
        bytes[i] = (unsigned char)p->samples[i];
    dlpark_tensor pixels = DLPARK_TENSOR_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    picture_wrap(&pixels, &view, bytes, DLPARK_U8, (int64_t[]){p->height, p->width, 3},
                 (int64_t[]){p->width * 3, 3, 1});
    assert_ok(
        dlpark_image_encode(&tensor, &view, &(dlpark_image_save_desc){.format = format, .lossless = true}, &view, e));
    picture_bytes file = picture_copy(view.data, (size_t)view.shape[0]);
    dlpark_tensor_release(&tensor);
    dlpark_tensor_release(&pixels);
    free(bytes);
    return file;
}

static void check_wild(const picture *p, const picture_bytes *file, DLDataType dtype, int64_t channels)
{
    const int64_t wild = INT64_MAX;
    float memory[9 * 3];
    const dlpark_image_load_desc desc = {.bytes = file->bytes, .nbytes = file->nbytes};
    dlpark_view view = {.data = memory,
                        .device = DLPARK_DEVICE_CPU,
                        .dtype = dtype,
                        .ndim = 3,
                        .shape = {p->height, p->width, channels}};
    view.strides[0] = p->height == 1 ? wild : p->width * channels;
    view.strides[1] = p->width == 1 ? -wild : channels;
    view.strides[2] = channels == 1 ? wild : 1;
    assert_ok(dlpark_image_load_into(&view, &desc, e));
    for (int k = 0; k < 3; k++)
        view.strides[k] = view.shape[k] == 1 ? 0 : view.strides[k];
    picture_check(p, &view, DLPARK_IMAGE_HWC);
}

/* Strides along an extent of 1 mean nothing, and may be anything. */
static void one_row_or_column_with_wild_strides(void **state)
{
    (void)state;
    const int sizes[][2] = {{1, 1}, {1, 9}, {9, 1}};
    for (size_t s = 0; s < 3; s++)
        for (int format = DLPARK_IMAGE_JPEG; format <= DLPARK_IMAGE_WEBP; format++) {
            picture p = jpeg_photo(sizes[s][0], sizes[s][1], 3);
            picture_bytes file = stored(&p, (dlpark_image_format)format);
            const bool is_jpeg = format == DLPARK_IMAGE_JPEG;
            picture rgb = is_jpeg ? jpeg_by_hand(&file, JCS_RGB) : jpeg_photo(p.width, p.height, 3);
            picture grey = is_jpeg ? jpeg_by_hand(&file, JCS_GRAYSCALE) : jpeg_photo(p.width, p.height, 3);
            check_wild(&rgb, &file, DLPARK_U8, 3);
            check_wild(&rgb, &file, DLPARK_F32, 3);
            check_wild(&grey, &file, DLPARK_U8, 1);
            check_wild(&grey, &file, DLPARK_F32, 1);
            free(grey.samples);
            free(rgb.samples);
            free(file.bytes);
            free(p.samples);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_out_of_range_are_refused),     cmocka_unit_test(a_full_tensor_is_left_alone),
        cmocka_unit_test(a_loaded_tensor_is_nobody_elses),     cmocka_unit_test(any_strides_are_written),
        cmocka_unit_test(misaligned_memory_is_written),        cmocka_unit_test(the_shape_must_be_the_pictures),
        cmocka_unit_test(what_must_not_be_written_is_refused), cmocka_unit_test(only_elements_that_meet_are_refused),
        cmocka_unit_test(one_row_or_column_with_wild_strides),
    };
    return cmocka_run_group_tests(tests, make_file, free_file);
}
