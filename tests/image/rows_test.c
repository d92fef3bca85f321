#include "adapter.h"
#include "picture.h"

enum { WIDTH = 301, HEIGHT = 21 };

/* A picture's rows as a decoder hands them over: interleaved, u8 or u16, `pitch` bytes apart. */
static unsigned char *decoded(const picture *p, size_t pitch)
{
    unsigned char *rows = picture_memory(pitch * (size_t)p->height);
    for (int y = 0; y < p->height; y++)
        for (int i = 0; i < p->width * p->channels; i++) {
            const uint16_t value = p->samples[y * p->width * p->channels + i];
            if (p->bits == 8)
                rows[(size_t)y * pitch + (size_t)i] = (unsigned char)value;
            else
                memcpy(rows + (size_t)y * pitch + (size_t)i * 2, &value, 2);
        }
    return rows;
}

typedef struct placing {
    image_sink sink;
    unsigned char *memory;
    size_t nbytes;
} placing;

/* Memory in which x, y, c lie in the order given, with a gap before each row, and may run backwards. */
static placing place(const picture *p, image_sample sample, int channels, const char *order, int backwards)
{
    const size_t nbytes = dlpark__image_sample_nbytes(sample);
    placing out = {.sink = {.sample = sample, .channels = channels, .width = p->width, .height = p->height}};
    size_t step = nbytes;
    size_t first = 0;
    for (int i = 2; i >= 0; i--) {
        const char axis = order[i];
        const size_t extent = (size_t)(axis == 'x' ? p->width : axis == 'y' ? p->height : channels);
        const bool back = backwards >> i & 1;
        ptrdiff_t *stride = axis == 'x' ? &out.sink.x_stride : axis == 'y' ? &out.sink.y_stride : &out.sink.c_stride;
        *stride = back ? -(ptrdiff_t)step : (ptrdiff_t)step;
        first += back ? (extent - 1) * step : 0;
        step = step * extent + (i == 1 ? 3 * nbytes : 0);
    }
    out.nbytes = step;
    out.memory = picture_memory(step);
    memset(out.memory, 0xA5, step);
    out.sink.data = out.memory + first;
    return out;
}

static double element(const placing *out, int x, int y, int c)
{
    const unsigned char *at = out->sink.data + x * out->sink.x_stride + y * out->sink.y_stride + c * out->sink.c_stride;
    uint16_t narrow;
    float real;
    if (out->sink.sample == IMAGE_U8)
        return *at;
    if (out->sink.sample == IMAGE_U16) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&real, at, sizeof real);
    return (double)real;
}

static double expected(const picture *p, image_sample sample, int x, int y, int c, int channels)
{
    const uint32_t value = picture_channel(p, x, y, c, channels);
    if (sample == IMAGE_F32)
        return (double)((float)value / (p->bits == 8 ? 255.0f : 65535.0f));
    if (sample == IMAGE_U8)
        return p->bits == 8 ? value : (2 * value + 257) / 514;
    return p->bits == 16 ? value : value * 257;
}

static void check_placed(const picture *p, const placing *out)
{
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++)
            for (int c = 0; c < out->sink.channels; c++)
                assert_true(element(out, x, y, c) == expected(p, out->sink.sample, x, y, c, out->sink.channels));
}

/* What belongs to no element holds what was there. */
static void check_gaps(const placing *out)
{
    const size_t nbytes = dlpark__image_sample_nbytes(out->sink.sample);
    const size_t first = (size_t)(out->sink.data - out->memory);
    unsigned char *is_used = picture_memory(out->nbytes);
    for (int y = 0; y < out->sink.height; y++)
        for (int x = 0; x < out->sink.width; x++)
            for (int c = 0; c < out->sink.channels; c++)
                memset(is_used + (ptrdiff_t)first + x * out->sink.x_stride + y * out->sink.y_stride +
                           c * out->sink.c_stride,
                       1, nbytes);
    for (size_t i = 0; i < out->nbytes; i++)
        assert_true(is_used[i] || out->memory[i] == 0xA5);
    free(is_used);
}

static const char *const orders[] = {"yxc", "cyx", "xyc", "cxy", "ycx", "xcy"};

static void put_and_check(const picture *p, image_sample sample, int channels, const char *order, int backwards,
                          int block)
{
    const size_t pitch = ((size_t)p->width * (size_t)p->channels + 5) * (p->bits == 8 ? 1 : 2);
    placing out = place(p, sample, channels, order, backwards);
    unsigned char *rows = decoded(p, pitch);
    for (int y = 0; y < p->height; y += block) {
        const int count = p->height - y < block ? p->height - y : block;
        dlpark__image_sink_put_rows(&out.sink, y, count, rows + (size_t)y * pitch, pitch,
                                    p->bits == 8 ? IMAGE_U8 : IMAGE_U16, p->channels);
    }
    check_placed(p, &out);
    check_gaps(&out);
    free(rows);
    free(out.memory);
}

static void every_channel_count_to_every_other(void **state)
{
    (void)state;
    for (int bits = 8; bits <= 16; bits += 8)
        for (int from = 1; from <= 4; from++) {
            picture p = picture_noise(WIDTH, 3, from, bits);
            for (int to = 1; to <= 4; to++)
                for (int sample = IMAGE_U8; sample <= IMAGE_F32; sample++)
                    for (size_t order = 0; order < 2; order++)
                        put_and_check(&p, (image_sample)sample, to, orders[order], 0, 1);
            free(p.samples);
        }
}

static void every_order_and_direction(void **state)
{
    (void)state;
    for (int bits = 8; bits <= 16; bits += 8)
        for (int channels = 1; channels <= 3; channels += 2) {
            picture p = picture_noise(37, HEIGHT, channels, bits);
            for (size_t order = 0; order < 6; order++)
                for (int backwards = 0; backwards < 8; backwards++)
                    for (int sample = IMAGE_U8; sample <= IMAGE_F32; sample++) {
                        put_and_check(&p, (image_sample)sample, channels, orders[order], backwards, 1);
                        put_and_check(&p, (image_sample)sample, channels, orders[order], backwards, 16);
                        put_and_check(&p, (image_sample)sample, 4, orders[order], backwards, 16);
                    }
            free(p.samples);
        }
}

/* More rows than are turned at once, and a rest. */
static void many_rows_at_once(void **state)
{
    (void)state;
    picture p = picture_noise(19, 150, 3, 8);
    for (size_t order = 0; order < 6; order++)
        for (int backwards = 0; backwards < 8; backwards++)
            for (int block = 63; block <= 150; block += 29)
                put_and_check(&p, IMAGE_F32, 3, orders[order], backwards, block);
    free(p.samples);
}

static void one_row_is_put_alone(void **state)
{
    (void)state;
    picture p = picture_noise(WIDTH, 1, 3, 8);
    placing out = place(&p, IMAGE_F32, 3, "cyx", 0);
    unsigned char *row = decoded(&p, WIDTH * 3);
    dlpark__image_sink_put(&out.sink, 0, row, IMAGE_U8, 3);
    check_placed(&p, &out);
    free(row);
    free(out.memory);
    free(p.samples);
}

static void direct_is_interleaved_of_the_same_kind(void **state)
{
    (void)state;
    image_sink sink = {.x_stride = 3, .y_stride = -40, .c_stride = 1, .sample = IMAGE_U8, .channels = 3, .width = 4};
    assert_true(dlpark__image_sink_is_direct(&sink, IMAGE_U8, 3));
    assert_false(dlpark__image_sink_is_direct(&sink, IMAGE_U16, 3));
    assert_false(dlpark__image_sink_is_direct(&sink, IMAGE_U8, 4));
    assert_int_equal(dlpark__image_sink_block(&sink), 4);
    sink.x_stride = -3;
    assert_false(dlpark__image_sink_is_direct(&sink, IMAGE_U8, 3));
    sink.x_stride = 4;
    assert_false(dlpark__image_sink_is_direct(&sink, IMAGE_U8, 3));
    sink = (image_sink){.x_stride = 40, .y_stride = 3, .c_stride = 1, .sample = IMAGE_U8, .channels = 3, .width = 4};
    assert_false(dlpark__image_sink_is_direct(&sink, IMAGE_U8, 3));
    assert_int_equal(dlpark__image_sink_block(&sink), 64);
    sink = (image_sink){.x_stride = 1, .y_stride = 9, .c_stride = 99, .sample = IMAGE_U8, .channels = 3, .width = 4};
    assert_false(dlpark__image_sink_is_direct(&sink, IMAGE_U8, 3));
}

static void a_source_is_gathered_from_any_strides(void **state)
{
    (void)state;
    for (int bits = 8; bits <= 16; bits += 8)
        for (int channels = 1; channels <= 4; channels++)
            for (size_t order = 0; order < 6; order++)
                for (int backwards = 0; backwards < 8; backwards++) {
                    picture p = picture_noise(11, 5, channels, bits);
                    const image_sample sample = bits == 8 ? IMAGE_U8 : IMAGE_U16;
                    const size_t pitch = (size_t)(11 * channels * bits / 8);
                    unsigned char *rows = decoded(&p, pitch);
                    unsigned char *row = picture_memory(pitch);
                    placing in = place(&p, sample, channels, orders[order], backwards);
                    const image_source source = {.data = in.sink.data,
                                                 .x_stride = in.sink.x_stride,
                                                 .y_stride = in.sink.y_stride,
                                                 .c_stride = in.sink.c_stride,
                                                 .sample = sample,
                                                 .channels = channels,
                                                 .width = 11,
                                                 .height = 5};
                    dlpark__image_sink_put_rows(&in.sink, 0, 5, rows, pitch, sample, channels);
                    if (dlpark__image_source_is_direct(&source))
                        assert_true(source.c_stride == bits / 8 && source.x_stride == channels * bits / 8);
                    for (int y = 0; y < 5; y++) {
                        dlpark__image_source_get(&source, y, row);
                        assert_memory_equal(row, rows + (size_t)y * pitch, pitch);
                    }
                    free(in.memory);
                    free(row);
                    free(rows);
                    free(p.samples);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_channel_count_to_every_other),
        cmocka_unit_test(every_order_and_direction),
        cmocka_unit_test(many_rows_at_once),
        cmocka_unit_test(one_row_is_put_alone),
        cmocka_unit_test(direct_is_interleaved_of_the_same_kind),
        cmocka_unit_test(a_source_is_gathered_from_any_strides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
