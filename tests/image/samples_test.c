#include "adapter.h"
#include "picture.h"

static size_t nbytes_of(image_sample sample)
{
    return sample == IMAGE_U8 ? 1 : sample == IMAGE_U16 ? 2 : 4;
}

/* By the definition: a quotient, rounded once. */
static double converted(uint32_t value, image_sample from, image_sample to)
{
    if (to == IMAGE_F32)
        return (double)((float)value / (from == IMAGE_U8 ? 255.0f : 65535.0f));
    if (from == to)
        return value;
    return from == IMAGE_U8 ? value * 257.0 : (double)((value * 2 + 257) / 514);
}

static double loaded(const unsigned char *at, image_sample sample)
{
    uint16_t narrow;
    float real;
    if (sample == IMAGE_U8)
        return *at;
    if (sample == IMAGE_U16) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&real, at, sizeof real);
    return (double)real;
}

/* Every value of `from`, at these steps, into memory that begins `skew` bytes beside an aligned address. */
static void check(image_sample from, size_t from_step, image_sample to, ptrdiff_t to_step, size_t skew)
{
    const size_t count = from == IMAGE_U8 ? 256 : 65536;
    const size_t reach = (size_t)(to_step < 0 ? -to_step : to_step);
    unsigned char *source = picture_memory(count * from_step * nbytes_of(from));
    unsigned char *memory = picture_memory(count * reach + 8 + skew);
    unsigned char *first = memory + skew + (to_step < 0 ? (count - 1) * reach : 0);
    memset(memory, 0xA5, count * reach + 8 + skew);
    for (size_t i = 0; i < count; i++) {
        const uint16_t value = (uint16_t)i;
        if (from == IMAGE_U8)
            source[i * from_step] = (unsigned char)value;
        else
            memcpy(source + i * from_step * sizeof value, &value, sizeof value);
    }
    dlpark__image_samples(first, to_step, to, source, from_step, from, count);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *at = first + (ptrdiff_t)i * to_step;
        assert_true(loaded(at, to) == converted((uint32_t)i, from, to));
        for (size_t gap = nbytes_of(to); gap < reach; gap++)
            assert_int_equal(at[gap], 0xA5);
    }
    free(source);
    free(memory);
}

static void every_value_at_every_step(void **state)
{
    (void)state;
    for (int from = IMAGE_U8; from <= IMAGE_U16; from++)
        for (int to = IMAGE_U8; to <= IMAGE_F32; to++)
            for (size_t from_step = 1; from_step <= 4; from_step += from == IMAGE_U8 ? 1 : 3)
                for (ptrdiff_t step = 1; step <= 3; step += from == IMAGE_U8 ? 1 : 2)
                    for (size_t skew = 0; skew < 2; skew++) {
                        ptrdiff_t nbytes = (ptrdiff_t)nbytes_of((image_sample)to);
                        check((image_sample)from, from_step, (image_sample)to, step * nbytes, skew);
                        check((image_sample)from, from_step, (image_sample)to, -step * nbytes, skew);
                        check((image_sample)from, from_step, (image_sample)to, step * nbytes + 1, skew);
                    }
}

static void thirds_go_to_their_planes(void **state)
{
    (void)state;
    enum { COUNT = 256, PLANE = 1100 };
    uint8_t pixels[3 * COUNT];
    for (int i = 0; i < COUNT; i++)
        for (int c = 0; c < 3; c++)
            pixels[3 * i + c] = (uint8_t)(i + 85 * c);
    for (int to = IMAGE_U8; to <= IMAGE_F32; to += IMAGE_F32 - IMAGE_U8)
        for (int count = 0; count <= COUNT; count += 1 + count / 2) {
            unsigned char planes[3 * PLANE];
            size_t nbytes = nbytes_of((image_sample)to);
            memset(planes, 0xA5, sizeof planes);
            dlpark__image_samples_split(planes, PLANE, (image_sample)to, pixels, (size_t)count);
            for (int c = 0; c < 3; c++) {
                for (int i = 0; i < count; i++)
                    assert_true(loaded(planes + c * PLANE + (size_t)i * nbytes, (image_sample)to) ==
                                converted(pixels[3 * i + c], IMAGE_U8, (image_sample)to));
                for (size_t i = (size_t)count * nbytes; i < PLANE; i++)
                    assert_int_equal(planes[(size_t)c * PLANE + i], 0xA5);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_at_every_step),
        cmocka_unit_test(thirds_go_to_their_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
