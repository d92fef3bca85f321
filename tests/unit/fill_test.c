#include "bitwise.h"

#define MIDDLE 16384

static unsigned char memory[2 * MIDDLE], expected[2 * MIDDLE], noise[2 * MIDDLE], element[8192];

/* Fills bit by bit and compares all of the memory; what is above an element's bits must not matter. */
static void check_fill(const dlpark_view *to)
{
    int64_t index[8] = {0};
    unsigned char *base = expected + ((unsigned char *)to->data - memory);

    memcpy(memory, noise, sizeof memory);
    memcpy(expected, noise, sizeof memory);
    do {
        for (int bit = 0; bit < bitwise_slot(to); bit++)
            bitwise_set(base, bitwise_at(to, index) + bit, bit < bitwise_width(to) ? bitwise_get(element, bit) : 0);
    } while (bitwise_next(to, index));
    assert_ok(dlpark_fill(to, element, e));
    if (memcmp(memory, expected, sizeof memory) != 0) /* which cmocka does a byte at a time */
        assert_memory_equal(memory, expected, sizeof memory);
}

static const DLDataType dtypes[] = {
    {kDLUInt, 8, 1},  {kDLBfloat, 16, 1},       {kDLUInt, 8, 3}, {kDLFloat, 32, 1}, {kDLFloat, 64, 1},
    {kDLInt, 128, 1}, {kDLUInt, 64, 4},         {kDLUInt, 1, 1}, {kDLInt, 2, 1},    {kDLInt, 4, 1},
    {kDLInt, 1, 5},   {kDLFloat6_e2m3fn, 6, 1}, {kDLInt, 4, 3},  {kDLInt, 2, 9},
};
#define DTYPES ((int)(sizeof dtypes / sizeof dtypes[0]))

static void every_width_in_every_layout(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{2, 3, 4}, {1, 1, 1}, {5, 1, 7}, {2, 2, 11}};
    static const int64_t layouts[][3] = {{12, 4, 1},  {77, 7, 1}, {1, 2, 6},  {-12, 4, -1},
                                         {44, 22, 2}, {0, 0, 1},  {30, 0, 1}, {1, 1, 1}};

    for (int dtype = 0; dtype < DTYPES; dtype++)
        for (int shape = 0; shape < 4; shape++)
            for (int layout = 0; layout < 8; layout++) {
                bitwise_fill(element, sizeof element, (uint32_t)(dtype + 17 * layout));
                dlpark_view to = bitwise_view(memory + MIDDLE, 0, dtypes[dtype], 0, 3, shapes[shape], layouts[layout]);
                check_fill(&to);
                to.flags = DLPARK_VIEW_PADDED;
                check_fill(&to);
                if (bitwise_width(&to) % 8 == 0)
                    continue;
                to.flags = 0;
                to.bit_offset = 1 + (unsigned)layout % 7;
                check_fill(&to);
            }
}

/* Lengths around that of the block, and patterns whose bytes are all alike. */
static void every_length(void **state)
{
    (void)state;
    static const int64_t one = 1;
    static const int64_t counts[] = {1, 2, 7, 8, 9, 15, 31, 64, 127, 128, 129, 255, 256, 257, 600, 1000};

    for (int uniform = 0; uniform < 2; uniform++)
        for (int dtype = 0; dtype < DTYPES; dtype++)
            for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
                bitwise_fill(element, sizeof element, (uint32_t)dtype);
                if (uniform)
                    memset(element, 0x66, sizeof element);
                dlpark_view to = bitwise_view(memory + 1001, 0, dtypes[dtype], 0, 1, &counts[i], &one);
                if (counts[i] * bitwise_width(&to) > 20000)
                    continue;
                check_fill(&to);
                if (bitwise_width(&to) % 8 != 0)
                    to.bit_offset = 3;
                check_fill(&to);
            }
}

/* Runs of many blocks. */
static void long_runs(void **state)
{
    (void)state;
    static const int64_t one = 1;

    for (int dtype = 0; dtype < DTYPES; dtype++) {
        int64_t count = 90000 / (dtypes[dtype].bits * dtypes[dtype].lanes);
        bitwise_fill(element, sizeof element, (uint32_t)dtype);
        dlpark_view to = bitwise_view(memory + 1001, 0, dtypes[dtype], 0, 1, &count, &one);
        to.bit_offset = bitwise_width(&to) % 8 != 0 ? 3 : 0;
        check_fill(&to);
    }
}

/* Vectors that no block holds. */
static void elements_longer_than_a_block(void **state)
{
    (void)state;
    static const DLDataType vectors[] = {
        {kDLUInt, 8, 2049}, {kDLInt, 4, 4099}, {kDLUInt, 1, 16389}, {kDLUInt, 8, 2048}};
    static const int64_t layouts[][2] = {{3, 1}, {1, 2}, {-3, 1}, {0, 1}};

    bitwise_fill(element, sizeof element, 8);
    for (int dtype = 0; dtype < 4; dtype++)
        for (int layout = 0; layout < 4; layout++) {
            dlpark_view to = bitwise_view(memory + MIDDLE, 0, vectors[dtype], 0, 2, (int64_t[]){2, 3}, layouts[layout]);
            check_fill(&to);
            to.flags = DLPARK_VIEW_PADDED;
            check_fill(&to);
            to.flags = 0;
            to.bit_offset = bitwise_width(&to) % 8 == 0 ? 0 : 5;
            check_fill(&to);
        }
}

/* An element that is repeated by strides of 0 is stored once, or this would not end. */
static void repeated_elements_are_stored_once(void **state)
{
    (void)state;
    dlpark_view to = bitwise_view(memory + MIDDLE, 0, DLPARK_F32, 0, 3, (int64_t[]){INT64_C(1) << 40, 3, 1 << 20},
                                  (int64_t[]){0, 1, 0});
    const float value = 1.5f;
    float out[3];

    assert_ok(dlpark_fill(&to, &value, e));
    memcpy(out, memory + MIDDLE, sizeof out);
    assert_true(out[0] == 1.5f && out[1] == 1.5f && out[2] == 1.5f);
}

static void refusals_write_nothing(void **state)
{
    (void)state;
    dlpark_view to =
        bitwise_view(memory + MIDDLE, 0, DLPARK_U8, DLPARK_VIEW_READ_ONLY, 1, (int64_t[]){4}, (int64_t[]){1});

    memset(memory, 0xEE, sizeof memory);
    memset(expected, 0xEE, sizeof expected);
    assert_fails(DLPARK_E_READ_ONLY, "read-only", dlpark_fill(&to, element, e));
    to.flags = DLPARK_VIEW_UNKNOWN_WRITE;
    assert_fails(DLPARK_E_READ_ONLY, "allow_write", dlpark_fill(&to, element, e));
    to.flags = 0;
    to.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_fails(DLPARK_E_DEVICE, "cuda:0", dlpark_fill(&to, element, e));
    assert_memory_equal(memory, expected, sizeof memory);
}

static void no_elements_is_nothing_to_do(void **state)
{
    (void)state;
    dlpark_view to = bitwise_view(NULL, 0, DLPARK_F32, 0, 2, (int64_t[]){3, 0}, (int64_t[]){INT64_MAX, 1});

    assert_ok(dlpark_fill(&to, element, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_in_every_layout),
        cmocka_unit_test(every_length),
        cmocka_unit_test(long_runs),
        cmocka_unit_test(elements_longer_than_a_block),
        cmocka_unit_test(repeated_elements_are_stored_once),
        cmocka_unit_test(refusals_write_nothing),
        cmocka_unit_test(no_elements_is_nothing_to_do),
    };

    bitwise_fill(noise, sizeof noise, 3);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
