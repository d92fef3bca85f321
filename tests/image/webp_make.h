/*
 * WebP files from known samples, by libwebp alone; what it makes of them; and chunks of the extended format by hand.
 */
#ifndef WEBP_MAKE_H
#define WEBP_MAKE_H

#include <webp/decode.h>
#include <webp/encode.h>

#include "picture.h"

static inline unsigned char *webp_interleaved(const picture *p)
{
    size_t count = (size_t)p->width * (size_t)p->height * (size_t)p->channels;
    unsigned char *samples = picture_memory(count);
    for (size_t i = 0; i < count; i++)
        samples[i] = (unsigned char)p->samples[i];
    return samples;
}

/* RGB or RGBA, as WebP wants them. */
static inline picture_bytes webp_make(const picture *p, bool lossless)
{
    WebPPicture canvas;
    WebPConfig config;
    WebPMemoryWriter writer;
    unsigned char *samples = webp_interleaved(p);
    assert_true(WebPConfigInit(&config) && WebPPictureInit(&canvas));
    config.quality = 75;
    config.lossless = lossless;
    config.exact = lossless;
    WebPMemoryWriterInit(&writer);
    canvas.use_argb = lossless;
    canvas.width = p->width;
    canvas.height = p->height;
    canvas.writer = WebPMemoryWrite;
    canvas.custom_ptr = &writer;
    if (p->channels == 4)
        assert_true(WebPPictureImportRGBA(&canvas, samples, 4 * p->width));
    else
        assert_true(WebPPictureImportRGB(&canvas, samples, 3 * p->width));
    assert_true(WebPEncode(&config, &canvas));
    picture_bytes file = picture_copy(writer.mem, writer.size);
    WebPMemoryWriterClear(&writer);
    WebPPictureFree(&canvas);
    free(samples);
    return file;
}

/* What libwebp makes of a file. */
static inline picture webp_decode(const unsigned char *bytes, size_t nbytes)
{
    WebPBitstreamFeatures features;
    assert_int_equal(WebPGetFeatures(bytes, nbytes, &features), VP8_STATUS_OK);
    const int channels = features.has_alpha ? 4 : 3;
    int width = 0, height = 0;
    uint8_t *samples =
        channels == 4 ? WebPDecodeRGBA(bytes, nbytes, &width, &height) : WebPDecodeRGB(bytes, nbytes, &width, &height);
    assert_non_null(samples);
    picture p = picture_new(width, height, channels, 8);
    for (size_t i = 0; i < (size_t)width * (size_t)height * (size_t)channels; i++)
        p.samples[i] = samples[i];
    WebPFree(samples);
    return p;
}

/* Noise with some pixels that alpha hides. */
static inline picture webp_noise(int width, int height, int channels)
{
    picture p = picture_noise(width, height, channels, 8);
    for (int i = 0; channels % 2 == 0 && i < width * height; i += 3)
        p.samples[i * channels + channels - 1] = 0;
    return p;
}

static inline void webp_put_le(unsigned char *to, size_t value, int nbytes)
{
    for (int i = 0; i < nbytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static inline void webp_append(picture_bytes *file, const char *type, const void *data, size_t nbytes)
{
    unsigned char chunk[64] = {0};
    assert_true(nbytes <= 50);
    memcpy(chunk, type, 4);
    webp_put_le(chunk + 4, nbytes, 4);
    memcpy(chunk + 8, data, nbytes);
    picture_insert(file, file->nbytes, chunk, 8 + nbytes + nbytes % 2);
    webp_put_le(file->bytes + 4, file->nbytes - 8, 4);
}

/* The extended head in front of the chunks of a plain file. */
static inline void webp_extend(picture_bytes *file, const picture *p, unsigned char flags)
{
    unsigned char head[18] = {'V', 'P', '8', 'X', 10, 0, 0, 0, flags};
    webp_put_le(head + 12, (size_t)p->width - 1, 3);
    webp_put_le(head + 15, (size_t)p->height - 1, 3);
    if (memcmp(file->bytes + 12, "VP8X", 4) == 0)
        file->bytes[20] = (unsigned char)(file->bytes[20] | flags);
    else
        picture_insert(file, 12, head, sizeof head);
    webp_put_le(file->bytes + 4, file->nbytes - 8, 4);
}

#endif
