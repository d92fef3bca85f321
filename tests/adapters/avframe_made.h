/*
 * Frames for the tests of the avframe adapter: made by libavutil, with noise in all of their bytes, and such as wrap memory
 * of the test's whose end is counted. What libavutil allocates fails in turn as well.
 */
#ifndef AVFRAME_MADE_H
#define AVFRAME_MADE_H

#include "test.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include <libavutil/channel_layout.h>
#include <libavutil/frame.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>

#include <dlpark/avframe.h>

#include "failing_alloc.h"

/* libavutil's allocations come here instead of to the C library, and are counted with those of the test. */
__attribute__((visibility("default"))) int posix_memalign(void **out, size_t alignment, size_t nbytes);
int posix_memalign(void **out, size_t alignment, size_t nbytes)
{
    *out = aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment);
    return *out ? 0 : ENOMEM;
}

/* Not under valgrind, which takes posix_memalign to itself: there only the adapter's own allocations fail. */
static inline bool made_fails_in_libavutil(void)
{
    failing_alloc_arm(1);
    void *block = av_malloc(1);
    failing_alloc_arm(0);
    bool failed = block == NULL;

    av_free(block);
    return failed;
}

static inline void made_noise(AVFrame *frame)
{
    uint32_t seed = 7;

    for (int i = 0; i < AV_NUM_DATA_POINTERS + frame->nb_extended_buf; i++) {
        AVBufferRef *buffer = i < AV_NUM_DATA_POINTERS ? frame->buf[i] : frame->extended_buf[i - AV_NUM_DATA_POINTERS];
        for (size_t j = 0; buffer && j < buffer->size; j++) {
            seed = seed * 1664525 + 1013904223;
            buffer->data[j] = (uint8_t)(seed >> 24);
        }
    }
}

static inline AVFrame *made_picture(int format, int width, int height)
{
    AVFrame *frame = av_frame_alloc();

    assert_non_null(frame);
    frame->format = format;
    frame->width = width;
    frame->height = height;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    made_noise(frame);
    return frame;
}

static inline AVFrame *made_sound(int format, int samples, int channels)
{
    AVFrame *frame = av_frame_alloc();

    assert_non_null(frame);
    frame->format = format;
    frame->nb_samples = samples;
    frame->sample_rate = 48000;
    frame->ch_layout.order = AV_CHANNEL_ORDER_UNSPEC;
    frame->ch_layout.nb_channels = channels;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    made_noise(frame);
    return frame;
}

static atomic_int made_ends;

static inline void made_end(void *opaque, uint8_t *data)
{
    (void)opaque;
    (void)data;
    atomic_fetch_add(&made_ends, 1);
}

/* A picture in one plane whose rows lie in memory of the test's; its end counts in made_ends. */
static inline AVFrame *made_around(int format, int width, int height, void *memory, size_t nbytes, int linesize,
                                   int flags)
{
    AVFrame *frame = av_frame_alloc();

    assert_non_null(frame);
    frame->format = format;
    frame->width = width;
    frame->height = height;
    frame->data[0] = memory;
    frame->linesize[0] = linesize;
    frame->buf[0] = av_buffer_create(memory, nbytes, made_end, NULL, flags);
    assert_non_null(frame->buf[0]);
    return frame;
}

#endif
