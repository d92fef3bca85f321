/* What the formats share by hand: memory, files, and the scaling of the photograph. */
#define _DEFAULT_SOURCE

#include "image_floor.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>

void floor_die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

void floor_print_libraries(void)
{
    const int webp = WebPGetDecoderVersion();

    printf("libraries: libjpeg-turbo %s, libpng %s, libwebp %d.%d.%d\n", TEXT(LIBJPEG_TURBO_VERSION),
           png_get_libpng_ver(NULL), webp >> 16, webp >> 8 & 0xff, webp & 0xff);
}

void *floor_get(size_t nbytes)
{
    void *memory = malloc(nbytes);

    if (!memory)
        floor_die("out of memory");
    return memory;
}

void *floor_memory(size_t nbytes)
{
    const size_t huge_page = (size_t)2 << 20;
    bool huge = nbytes >= 2 * huge_page;
    void *memory;

    if (posix_memalign(&memory, huge ? huge_page : 64, nbytes) != 0)
        floor_die("out of memory");
#if defined(MADV_HUGEPAGE)
    if (huge)
        (void)madvise(memory, nbytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
    return memory;
}

floor_bytes floor_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    long nbytes;
    floor_bytes out;

    if (!file || fseek(file, 0, SEEK_END) != 0 || (nbytes = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        floor_die(path);
    out = (floor_bytes){floor_get((size_t)nbytes), (size_t)nbytes};
    if (fread(out.data, 1, out.nbytes, file) != out.nbytes)
        floor_die(path);
    fclose(file);
    return out;
}

/* ---- The photograph, scaled ---- */

/* Where pixel `at` of `side` lies among `from`, in 65536ths of a pixel. */
static uint32_t scale_place(int at, int side, int from)
{
    int64_t place = (2 * (int64_t)at + 1) * from * 32768 / side - 32768, last = (int64_t)(from - 1) * 65536;

    return (uint32_t)(place < 0 ? 0 : place > last ? last : place);
}

static unsigned char scale_sample(const unsigned char *upper, const unsigned char *lower, size_t right, uint32_t x,
                                  uint32_t y)
{
    uint64_t above = upper[0] * (uint64_t)(65536 - x) + upper[right] * (uint64_t)x;
    uint64_t below = lower[0] * (uint64_t)(65536 - x) + lower[right] * (uint64_t)x;

    return (unsigned char)((above * (65536 - y) + below * y + (UINT64_C(1) << 31)) >> 32);
}

floor_picture floor_scale(const floor_picture *from, int side)
{
    floor_picture out = {floor_get((size_t)side * (size_t)side * FLOOR_CHANNELS), side, side};
    size_t pitch = (size_t)from->width * FLOOR_CHANNELS;
    unsigned char *to = out.data;

    for (int y = 0; y < side; y++) {
        uint32_t down = scale_place(y, side, from->height);
        const unsigned char *upper = from->data + (down >> 16) * pitch;
        const unsigned char *lower = (int)(down >> 16) + 1 < from->height ? upper + pitch : upper;
        for (int x = 0; x < side; x++) {
            uint32_t along = scale_place(x, side, from->width);
            size_t at = (size_t)(along >> 16) * FLOOR_CHANNELS;
            size_t right = (int)(along >> 16) + 1 < from->width ? FLOOR_CHANNELS : 0;
            for (size_t c = 0; c < FLOOR_CHANNELS; c++)
                *to++ = scale_sample(upper + at + c, lower + at + c, right, along & 0xffff, down & 0xffff);
        }
    }
    return out;
}
