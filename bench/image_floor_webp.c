/* WebP by hand. */
#include "image_floor.h"

#include <webp/decode.h>
#include <webp/encode.h>

void floor_webp_decode(unsigned char *out, const floor_bytes *file)
{
    int width, height;

    if (!WebPGetInfo(file->data, file->nbytes, &width, &height) ||
        !WebPDecodeRGBInto(file->data, file->nbytes, out, (size_t)width * (size_t)height * FLOOR_CHANNELS,
                           width * FLOOR_CHANNELS))
        floor_die("libwebp does not decode");
}

/* In the library's own memory, which free() ends as well: WebPFree() is nothing else. */
floor_bytes floor_webp_encode(const floor_picture *picture)
{
    floor_bytes out = {NULL, 0};

    out.nbytes = WebPEncodeRGB(picture->data, picture->width, picture->height, picture->width * FLOOR_CHANNELS,
                               FLOOR_QUALITY, &out.data);
    if (!out.nbytes)
        floor_die("libwebp does not encode");
    return out;
}

floor_bytes floor_webp_encode_lossless(const floor_picture *picture)
{
    floor_bytes out = {NULL, 0};

    out.nbytes = WebPEncodeLosslessRGB(picture->data, picture->width, picture->height, picture->width * FLOOR_CHANNELS,
                                       &out.data);
    if (!out.nbytes)
        floor_die("libwebp does not encode");
    return out;
}
