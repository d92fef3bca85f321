/* What the tests of the libvips adapter have alike: every band format, pixels, and a tensor that counts its end. */
#ifndef VIPS_MADE_H
#define VIPS_MADE_H

#include "test.h"

#include <stdatomic.h>

#include <vips/vips.h>

#include <dlpark/vips.h>

#include "failing_alloc.h"
#include "passage.h"

static const struct {
    VipsBandFormat format;
    DLDataType dtype;
    size_t nbytes;
} bands[] = {
    {VIPS_FORMAT_UCHAR, {kDLUInt, 8, 1}, 1},       {VIPS_FORMAT_CHAR, {kDLInt, 8, 1}, 1},
    {VIPS_FORMAT_USHORT, {kDLUInt, 16, 1}, 2},     {VIPS_FORMAT_SHORT, {kDLInt, 16, 1}, 2},
    {VIPS_FORMAT_UINT, {kDLUInt, 32, 1}, 4},       {VIPS_FORMAT_INT, {kDLInt, 32, 1}, 4},
    {VIPS_FORMAT_FLOAT, {kDLFloat, 32, 1}, 4},     {VIPS_FORMAT_DOUBLE, {kDLFloat, 64, 1}, 8},
    {VIPS_FORMAT_COMPLEX, {kDLComplex, 64, 1}, 8}, {VIPS_FORMAT_DPCOMPLEX, {kDLComplex, 128, 1}, 16},
};

#define BANDS_COUNT (sizeof bands / sizeof bands[0])

/* Room for 4 rows of 5 pixels of 7 bands of any format, and some more. */
static _Alignas(16) unsigned char pixels[4096];

static atomic_int ended;

static inline void count_end(void *owner)
{
    (void)owner;
    atomic_fetch_add(&ended, 1);
}

/* A tensor of `pixels`, compact; nothing has ended yet. */
static inline void make_tensor(dlpark_tensor *tensor, DLDataType dtype, int32_t ndim, const int64_t *shape,
                               const int64_t *strides)
{
    dlpark_tensor_desc desc = {.data = pixels,
                               .dtype = dtype,
                               .ndim = ndim,
                               .shape = DLPARK_DIMS(shape),
                               .owner = pixels,
                               .release = count_end};

    if (strides)
        desc.strides = DLPARK_DIMS(strides);
    atomic_store(&ended, 0);
    assert_ok(dlpark_tensor_new(tensor, &desc, NULL, e));
}

static inline VipsImage *make_image(VipsBandFormat format, int width, int height, int count)
{
    VipsImage *image = vips_image_new_from_memory(pixels, sizeof pixels, width, height, count, format);

    assert_non_null(image);
    return image;
}

static inline VipsImage *invert(VipsImage *image)
{
    VipsImage *out = NULL;

    assert_int_equal(vips_invert(image, &out, NULL), 0);
    return out;
}

static inline double average(VipsImage *image)
{
    double out = -1;

    assert_int_equal(vips_avg(image, &out, NULL), 0);
    return out;
}

static inline size_t line_nbytes(VipsImage *image)
{
    return (size_t)vips_image_get_width(image) * (size_t)vips_image_get_bands(image) *
           (size_t)vips_format_sizeof(vips_image_get_format(image));
}

static inline unsigned references(VipsImage *image)
{
    return G_OBJECT(image)->ref_count;
}

static inline void assert_shape(const dlpark_view *view, int64_t height, int64_t width, int64_t count)
{
    assert_int_equal(view->ndim, 3);
    assert_int_equal(view->shape[0], height);
    assert_int_equal(view->shape[1], width);
    assert_int_equal(view->shape[2], count);
    assert_true(dlpark_view_is_compact(view));
}

/* One thread: what libvips computes is the same, and the sanitizers have less to follow. */
static inline int begin_libvips(void **state)
{
    (void)state;
    if (vips_init("dlpark"))
        return -1;
    vips_concurrency_set(1);
    return 0;
}

static inline int end_libvips(void **state)
{
    (void)state;
    vips_shutdown();
    return 0;
}

#endif
