/*
 * One sample to another depth, and runs of them between any strides. The inner loops are plain so that compilers
 * vectorise them; the runs that every photo takes (u8 to u8 and to f32, flat or from interleaved to planar) are apart.
 */
#include <string.h>

#include "adapter.h"

/* 1/255 as a sum whose first part times 0..255 is exact: one rounding at the end, which gives v / 255.0f for every v
 * with two multiplications in place of a division. */
#define SAMPLE_255TH_HIGH 0x1.01p-8f
#define SAMPLE_255TH_LOW  ((float)(1.0 / 255.0 - 0x1.01p-8))

/* The same values for lookups, which win over arithmetic where the samples do not lie side by side. */
#define SAMPLE_255TH(v)    ((float)(v) / 255.0f)
#define SAMPLE_255TH_4(v)  SAMPLE_255TH(v), SAMPLE_255TH((v) + 1), SAMPLE_255TH((v) + 2), SAMPLE_255TH((v) + 3)
#define SAMPLE_255TH_16(v) SAMPLE_255TH_4(v), SAMPLE_255TH_4((v) + 4), SAMPLE_255TH_4((v) + 8), SAMPLE_255TH_4((v) + 12)
#define SAMPLE_255TH_64(v)                                                                                             \
    SAMPLE_255TH_16(v), SAMPLE_255TH_16((v) + 16), SAMPLE_255TH_16((v) + 32), SAMPLE_255TH_16((v) + 48)
static const float sample_255ths[256] = {SAMPLE_255TH_64(0), SAMPLE_255TH_64(64), SAMPLE_255TH_64(128),
                                         SAMPLE_255TH_64(192)};

size_t dlpark__image_sample_nbytes(image_sample sample)
{
    return sample == IMAGE_U8 ? 1 : sample == IMAGE_U16 ? 2 : 4;
}

static inline float sample_f32_from_u8(uint8_t value)
{
    float exact = (float)value;
    return exact * SAMPLE_255TH_HIGH + exact * SAMPLE_255TH_LOW;
}

/* round(value / 257); never half-way, since 257 is odd. */
static inline uint8_t sample_u8_from_u16(uint16_t value)
{
    return (uint8_t)((value * 255u + 32895u) >> 16);
}

static void sample_u8_u8(unsigned char *restrict to, ptrdiff_t to_step, const uint8_t *restrict from, size_t from_step,
                         size_t count)
{
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, count);
    } else {
        for (size_t i = 0; i < count; i++, to += to_step)
            *to = from[i * from_step];
    }
}

static void sample_u8_u16(unsigned char *restrict to, ptrdiff_t to_step, const uint8_t *restrict from, size_t from_step,
                          size_t count)
{
    for (size_t i = 0; i < count; i++, to += to_step) {
        uint16_t value = (uint16_t)(from[i * from_step] * 257u);
        memcpy(to, &value, sizeof value);
    }
}

static void sample_u8_f32(unsigned char *restrict to, ptrdiff_t to_step, const uint8_t *restrict from, size_t from_step,
                          size_t count)
{
    if (to_step == sizeof(float) && from_step == 1) {
        for (size_t i = 0; i < count; i++) {
            float value = sample_f32_from_u8(from[i]);
            memcpy(to + i * sizeof value, &value, sizeof value);
        }
    } else {
        for (size_t i = 0; i < count; i++, to += to_step)
            memcpy(to, &sample_255ths[from[i * from_step]], sizeof(float));
    }
}

static void sample_u16_u8(unsigned char *restrict to, ptrdiff_t to_step, const uint16_t *restrict from,
                          size_t from_step, size_t count)
{
    for (size_t i = 0; i < count; i++, to += to_step)
        *to = sample_u8_from_u16(from[i * from_step]);
}

static void sample_u16_u16(unsigned char *restrict to, ptrdiff_t to_step, const uint16_t *restrict from,
                           size_t from_step, size_t count)
{
    if (to_step == sizeof *from && from_step == 1) {
        memcpy(to, from, count * sizeof *from);
        return;
    }
    for (size_t i = 0; i < count; i++, to += to_step)
        memcpy(to, &from[i * from_step], sizeof *from);
}

static void sample_u16_f32(unsigned char *restrict to, ptrdiff_t to_step, const uint16_t *restrict from,
                           size_t from_step, size_t count)
{
    for (size_t i = 0; i < count; i++, to += to_step) {
        float value = (float)from[i * from_step] / 65535.0f;
        memcpy(to, &value, sizeof value);
    }
}

void dlpark__image_samples(unsigned char *to, ptrdiff_t to_step, image_sample to_sample, const void *from,
                           size_t from_step, image_sample from_sample, size_t count)
{
    if (from_sample == IMAGE_U8) {
        if (to_sample == IMAGE_U8)
            sample_u8_u8(to, to_step, from, from_step, count);
        else if (to_sample == IMAGE_U16)
            sample_u8_u16(to, to_step, from, from_step, count);
        else
            sample_u8_f32(to, to_step, from, from_step, count);
    } else {
        if (to_sample == IMAGE_U8)
            sample_u16_u8(to, to_step, from, from_step, count);
        else if (to_sample == IMAGE_U16)
            sample_u16_u16(to, to_step, from, from_step, count);
        else
            sample_u16_f32(to, to_step, from, from_step, count);
    }
}

/* Pixels that are taken apart at a time, 2^5: five shuffles bring every byte to its plane. */
#define SAMPLE_BLOCK 32

/* A perfect shuffle of 3 * SAMPLE_BLOCK bytes, halves interleaved, which compilers make of vector instructions. */
static inline void sample_shuffle(uint8_t *restrict to, const uint8_t *restrict from)
{
    for (size_t i = 0; i < 3 * SAMPLE_BLOCK / 2; i++) {
        to[2 * i] = from[i];
        to[2 * i + 1] = from[3 * SAMPLE_BLOCK / 2 + i];
    }
}

/*
 * SAMPLE_BLOCK RGB pixels as that many reds, greens, blues. A shuffle moves the byte at p to 2 p modulo the last place,
 * five of them to 32 p: byte c of pixel i goes from 3 i + c to 96 i + 32 c, which is 32 c + i modulo 95.
 */
static inline void sample_unmix(uint8_t *restrict planes, const uint8_t *restrict pixels)
{
    uint8_t other[3 * SAMPLE_BLOCK];
    sample_shuffle(planes, pixels);
    sample_shuffle(other, planes);
    sample_shuffle(planes, other);
    sample_shuffle(other, planes);
    sample_shuffle(planes, other);
}

static inline void sample_block_f32(unsigned char *restrict to, const uint8_t *restrict from)
{
    for (size_t i = 0; i < SAMPLE_BLOCK; i++) {
        float value = sample_f32_from_u8(from[i]);
        memcpy(to + i * sizeof value, &value, sizeof value);
    }
}

/* One pass over the row, three streams out: half the time of three passes. */
void dlpark__image_samples_split(unsigned char *to, ptrdiff_t plane_step, image_sample to_sample,
                                 const uint8_t *restrict from, size_t count)
{
    size_t nbytes = dlpark__image_sample_nbytes(to_sample);
    size_t i = 0;
    for (; count - i >= SAMPLE_BLOCK; i += SAMPLE_BLOCK, from += 3 * SAMPLE_BLOCK) {
        uint8_t planes[3 * SAMPLE_BLOCK];
        sample_unmix(planes, from);
        for (int c = 0; c < 3; c++) {
            unsigned char *plane = to + c * plane_step + i * nbytes;
            if (to_sample == IMAGE_U8)
                memcpy(plane, planes + c * SAMPLE_BLOCK, SAMPLE_BLOCK);
            else
                sample_block_f32(plane, planes + c * SAMPLE_BLOCK);
        }
    }
    for (int c = 0; c < 3; c++)
        dlpark__image_samples(to + c * plane_step + i * nbytes, (ptrdiff_t)nbytes, to_sample, from + c, 3, IMAGE_U8,
                              count - i);
}
