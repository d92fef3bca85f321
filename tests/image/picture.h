/*
 * Pictures whose samples are known: what the tests write into files, and what loading them has to give. Conversions
 * follow the promises of dlpark/image.h, computed here sample by sample.
 */
#ifndef PICTURE_H
#define PICTURE_H

#include <stdbool.h>
#include <stdlib.h>

#include "failing_alloc.h"
#include "test.h"

#include <dlpark/image.h>

typedef struct picture {
    int width;
    int height;
    int channels;
    int bits; /* 8 or 16: what the samples are out of */
    uint16_t *samples;
} picture;

typedef struct picture_bytes {
    unsigned char *bytes;
    size_t nbytes;
} picture_bytes;

/* A fixed sequence: the same in every run. */
static inline uint32_t picture_random(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

static inline void *picture_memory(size_t nbytes)
{
    void *memory = calloc(nbytes ? nbytes : 1, 1);
    assert_non_null(memory);
    return memory;
}

static inline picture picture_new(int width, int height, int channels, int bits)
{
    picture p = {width, height, channels, bits, NULL};
    p.samples = picture_memory((size_t)width * (size_t)height * (size_t)channels * sizeof *p.samples);
    return p;
}

static inline picture picture_noise(int width, int height, int channels, int bits)
{
    picture p = picture_new(width, height, channels, bits);
    uint32_t state = (uint32_t)width * 7919u + (uint32_t)height * 104729u + (uint32_t)(channels * 31 + bits);
    for (size_t i = 0; i < (size_t)width * (size_t)height * (size_t)channels; i++)
        p.samples[i] = (uint16_t)(picture_random(&state) >> (32 - bits));
    return p;
}

static inline uint32_t picture_at(const picture *p, int x, int y, int c)
{
    return p->samples[((size_t)y * (size_t)p->width + (size_t)x) * (size_t)p->channels + (size_t)c];
}

/* Channel `c` of the pixel when `channels` are asked for, at the picture's own depth. */
static inline uint32_t picture_channel(const picture *p, int x, int y, int c, int channels)
{
    bool has_alpha = p->channels % 2 == 0;
    bool wants_alpha = channels % 2 == 0;
    if (wants_alpha && c == channels - 1)
        return has_alpha ? picture_at(p, x, y, p->channels - 1) : (1u << p->bits) - 1;
    if (p->channels <= 2)
        return picture_at(p, x, y, 0);
    if (channels >= 3)
        return picture_at(p, x, y, c);
    uint32_t r = picture_at(p, x, y, 0);
    uint32_t g = picture_at(p, x, y, 1);
    uint32_t b = picture_at(p, x, y, 2);
    return (299 * r + 587 * g + 114 * b + 500) / 1000;
}

/* The place in the file of a pixel that is shown at (x, y), by the EXIF tag. */
static inline void picture_stored(const picture *p, int orientation, int x, int y, int *stored_x, int *stored_y)
{
    bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    int column = orientation >= 5 ? y : x;
    int row = orientation >= 5 ? x : y;
    *stored_x = mirror_x ? p->width - 1 - column : column;
    *stored_y = mirror_y ? p->height - 1 - row : row;
}

static inline void picture_check_element(const dlpark_view *view, int64_t at, uint32_t value, int bits)
{
    if (dlpark_dtype_equal(view->dtype, DLPARK_U8)) {
        uint32_t wanted = bits == 8 ? value : (2 * value + 257) / 514;
        assert_int_equal(((const uint8_t *)view->data)[at], wanted);
    } else if (dlpark_dtype_equal(view->dtype, DLPARK_U16)) {
        uint32_t wanted = bits == 16 ? value : value * 257;
        assert_int_equal(((const uint16_t *)view->data)[at], wanted);
    } else {
        assert_true(dlpark_dtype_equal(view->dtype, DLPARK_F32));
        float wanted = bits == 8 ? (float)value / 255.0f : (float)value / 65535.0f;
        assert_true(((const float *)view->data)[at] == wanted);
    }
}

/* Every element of what was loaded, whatever its strides, channels and depth. */
static inline void picture_check_oriented(const picture *p, const dlpark_view *view, dlpark_image_layout layout,
                                          int orientation)
{
    const int y_axis = layout == DLPARK_IMAGE_CHW ? 1 : 0;
    const int c_axis = layout == DLPARK_IMAGE_CHW ? 0 : 2;
    const int channels = (int)view->shape[c_axis];
    assert_int_equal(view->ndim, 3);
    assert_int_equal(view->shape[y_axis], orientation >= 5 ? p->width : p->height);
    assert_int_equal(view->shape[y_axis + 1], orientation >= 5 ? p->height : p->width);
    for (int y = 0; y < view->shape[y_axis]; y++)
        for (int x = 0; x < view->shape[y_axis + 1]; x++) {
            int stored_x, stored_y;
            picture_stored(p, orientation, x, y, &stored_x, &stored_y);
            for (int c = 0; c < channels; c++)
                picture_check_element(
                    view, y * view->strides[y_axis] + x * view->strides[y_axis + 1] + c * view->strides[c_axis],
                    picture_channel(p, stored_x, stored_y, c, channels), p->bits);
        }
}

static inline void picture_check(const picture *p, const dlpark_view *view, dlpark_image_layout layout)
{
    picture_check_oriented(p, view, layout, 1);
}

/* Wraps memory of the test's as a view [h, w, c] with these strides, in elements. */
static inline void picture_wrap(dlpark_tensor *tensor, dlpark_view *view, void *data, DLDataType dtype,
                                const int64_t shape[3], const int64_t strides[3])
{
    dlpark_tensor_desc desc = {.data = data,
                               .dtype = dtype,
                               .ndim = 3,
                               .shape = {shape, -(int32_t)sizeof *shape, 0},
                               .strides = {strides, -(int32_t)sizeof *strides, 0}};
    assert_ok(dlpark_tensor_new(tensor, &desc, view, e));
}

/* Loads the file into tensors of every kind, and looks at every element. */
static inline void picture_check_tensors(const picture *p, const picture_bytes *file)
{
    const DLDataType dtypes[] = {{0, 0, 0}, DLPARK_U8, DLPARK_U16, DLPARK_F32};
    for (int channels = 0; channels <= 4; channels++)
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
            for (int layout = DLPARK_IMAGE_HWC; layout <= DLPARK_IMAGE_CHW; layout++) {
                dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
                dlpark_view view;
                dlpark_image_load_desc desc = {.bytes = file->bytes,
                                               .nbytes = file->nbytes,
                                               .channels = channels,
                                               .dtype = dtypes[d],
                                               .layout = (dlpark_image_layout)layout};
                assert_ok(dlpark_image_load(&tensor, &desc, &view, e));
                assert_true(dlpark_view_is_compact(&view));
                assert_int_equal(view.shape[layout == DLPARK_IMAGE_CHW ? 0 : 2], channels ? channels : p->channels);
                if (d == 0)
                    assert_int_equal(view.dtype.bits, p->bits);
                picture_check(p, &view, desc.layout);
                dlpark_tensor_release(&tensor);
            }
}

#define PICTURE_GUARD 64

/* Loads into memory between guards, which must stay as they are. */
static inline void picture_check_guarded(const picture *p, const picture_bytes *file, int channels, DLDataType dtype,
                                         dlpark_image_layout layout)
{
    const bool planar = layout == DLPARK_IMAGE_CHW;
    const int64_t w = p->width, h = p->height, n = channels;
    const int64_t shape[3] = {planar ? n : h, planar ? h : w, planar ? w : n};
    const int64_t strides[3] = {planar ? h * w : w * n, planar ? w : n, 1};
    const size_t nbytes = (size_t)(w * h * n) * dtype.bits / 8;
    unsigned char *memory = picture_memory(nbytes + 2 * PICTURE_GUARD);
    memset(memory, 0xA5, nbytes + 2 * PICTURE_GUARD);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    picture_wrap(&tensor, &view, memory + PICTURE_GUARD, dtype, shape, strides);
    dlpark_image_load_desc desc = {.bytes = file->bytes, .nbytes = file->nbytes, .layout = layout};
    assert_ok(dlpark_image_load_into(&view, &desc, e));
    picture_check(p, &view, layout);
    for (size_t i = 0; i < PICTURE_GUARD; i++) {
        assert_int_equal(memory[i], 0xA5);
        assert_int_equal(memory[PICTURE_GUARD + nbytes + i], 0xA5);
    }
    dlpark_tensor_release(&tensor);
    free(memory);
}

/* Every way there is to load the file. */
static inline void picture_check_every_way(const picture *p, const picture_bytes *file)
{
    const DLDataType dtypes[] = {DLPARK_U8, DLPARK_U16, DLPARK_F32};
    picture_check_tensors(p, file);
    for (int channels = 1; channels <= 4; channels++)
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
            picture_check_guarded(p, file, channels, dtypes[d], DLPARK_IMAGE_HWC);
            picture_check_guarded(p, file, channels, dtypes[d], DLPARK_IMAGE_CHW);
        }
}

static inline dlpark_status picture_load(const picture_bytes *file, bool tolerant, dlpark_tensor *tensor,
                                         dlpark_view *view, dlpark_error *err)
{
    dlpark_image_load_desc desc = {.bytes = file->bytes, .nbytes = file->nbytes, .tolerant = tolerant};
    desc.max_pixels = 1 << 20;
    return dlpark_image_load(tensor, &desc, view, err);
}

/* Whatever the bytes: a picture or a reason, and no tensor with a reason. Whether it was a picture. */
static inline bool picture_load_damaged(const picture_bytes *file, bool tolerant)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err = test_fresh_error();
    dlpark_status status = picture_load(file, tolerant, &tensor, NULL, &err);
    assert_true(status == DLPARK_OK || status == DLPARK_E_FORMAT || status == DLPARK_E_UNSUPPORTED ||
                status == DLPARK_E_LIMIT);
    assert_int_equal(status == DLPARK_OK, tensor.managed != NULL);
    if (status != DLPARK_OK)
        assert_memory_equal(err.message, "<memory>: ", 10);
    dlpark_tensor_release(&tensor);
    return status == DLPARK_OK;
}

/* The file gives the picture, by default. */
static inline void picture_check_file(const picture *p, const picture_bytes *file)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    assert_ok(picture_load(file, false, &tensor, &view, e));
    assert_int_equal(view.shape[2], p->channels);
    assert_int_equal(view.dtype.bits, p->bits);
    picture_check(p, &view, DLPARK_IMAGE_HWC);
    dlpark_tensor_release(&tensor);
}

/* A copy of exactly these bytes, so that reading one more is seen. */
static inline picture_bytes picture_copy(const unsigned char *bytes, size_t nbytes)
{
    picture_bytes copy = {picture_memory(nbytes), nbytes};
    memcpy(copy.bytes, bytes, nbytes);
    return copy;
}

static inline void picture_insert(picture_bytes *file, size_t at, const void *bytes, size_t nbytes)
{
    unsigned char *longer = picture_memory(file->nbytes + nbytes);
    memcpy(longer, file->bytes, at);
    memcpy(longer + at, bytes, nbytes);
    memcpy(longer + at + nbytes, file->bytes + at, file->nbytes - at);
    free(file->bytes);
    *file = (picture_bytes){longer, file->nbytes + nbytes};
}

/* A TIFF structure with nothing but the orientation. */
#define PICTURE_EXIF_NBYTES 26
static inline void picture_exif(unsigned char bytes[PICTURE_EXIF_NBYTES], int orientation)
{
    static const unsigned char tiff[PICTURE_EXIF_NBYTES] = {'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                                            0,   1,   0,   0, 0, 0, 0, 0, 0, 0, 0,    0, 0};
    memcpy(bytes, tiff, sizeof tiff);
    bytes[18] = (unsigned char)orientation;
}

/* Rows from the first that differs on are zero in every channel; returns how many rows are right. */
static inline int picture_rows_right(const picture *p, const dlpark_view *view)
{
    const size_t row = (size_t)p->width * (size_t)p->channels;
    int right = p->height;
    assert_int_equal(p->bits, 8);
    for (int y = 0; y < p->height; y++) {
        const uint8_t *loaded = (const uint8_t *)view->data + (size_t)y * row;
        bool same = true;
        bool zero = true;
        for (size_t i = 0; i < row; i++) {
            same = same && loaded[i] == p->samples[(size_t)y * row + i];
            zero = zero && loaded[i] == 0;
        }
        if (!same && right == p->height)
            right = y;
        if (right != p->height)
            assert_true(zero);
    }
    return right;
}

/* ---- memory that is out ---- */

/* Lets each allocation of the load fail in turn: nothing is left behind. Returns how many there are. */
static inline long picture_load_without_memory(const dlpark_image_load_desc *desc)
{
    const long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_status status = DLPARK_E_MEMORY;
    long nth = 0;
    while (status != DLPARK_OK) {
        failing_alloc_arm(++nth);
        status = dlpark_image_load(&tensor, desc, NULL, NULL);
        assert_int_equal(status, failing_alloc_count() < nth ? DLPARK_OK : DLPARK_E_MEMORY);
        failing_alloc_arm(0);
        assert_int_equal(status == DLPARK_OK, tensor.managed != NULL);
        dlpark_tensor_release(&tensor);
        assert_int_equal(failing_alloc_live(), live);
    }
    return nth - 1;
}

/* The same for writing 24 x 16 pixels. One allocation may fail in silence: the last one makes the result tighter. */
static inline long picture_encode_without_memory(dlpark_image_format format, bool planes)
{
    const int64_t shape[3] = {16, 24, 3};
    const int64_t strides[3] = {planes ? 24 : 72, planes ? 1 : 3, planes ? 384 : 1};
    const dlpark_image_save_desc desc = {.format = format};
    unsigned char samples[16 * 24 * 3] = {0};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor encoded = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    picture_wrap(&tensor, &view, samples, DLPARK_U8, shape, strides);
    const long live = failing_alloc_live();
    long nth = 0;
    long silent = 0;
    bool failed = true;
    while (failed) {
        failing_alloc_arm(++nth);
        dlpark_status status = dlpark_image_encode(&encoded, &view, &desc, NULL, NULL);
        failed = failing_alloc_count() >= nth;
        failing_alloc_arm(0);
        silent += failed && status == DLPARK_OK;
        assert_true(status == DLPARK_E_MEMORY || status == DLPARK_OK);
        assert_int_equal(status == DLPARK_OK, encoded.managed != NULL);
        dlpark_tensor_release(&encoded);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_in_range(silent, 0, 1);
    dlpark_tensor_release(&tensor);
    return nth - 1;
}

#endif
