#include "copy_plain.h"

typedef struct plain_16 {
    uint64_t half[2];
} plain_16;

#define PLAIN_LOOPS(type, name)                                                                                        \
    static void plain_transpose_##name(type *restrict to, const type *restrict from, int64_t rows, int64_t columns)    \
    {                                                                                                                  \
        for (int64_t j = 0; j < columns; j++)                                                                          \
            for (int64_t i = 0; i < rows; i++)                                                                         \
                to[j * rows + i] = from[i * columns + j];                                                              \
    }                                                                                                                  \
    static void plain_split_##name(type *restrict to, const type *restrict from, int64_t images, int64_t pixels)       \
    {                                                                                                                  \
        for (int64_t n = 0; n < images; n++, to += 3 * pixels, from += 3 * pixels)                                     \
            for (int64_t i = 0; i < pixels; i++) {                                                                     \
                to[i] = from[3 * i];                                                                                   \
                to[pixels + i] = from[3 * i + 1];                                                                      \
                to[2 * pixels + i] = from[3 * i + 2];                                                                  \
            }                                                                                                          \
    }                                                                                                                  \
    static void plain_join_##name(type *restrict to, const type *restrict from, int64_t images, int64_t pixels)        \
    {                                                                                                                  \
        for (int64_t n = 0; n < images; n++, to += 3 * pixels, from += 3 * pixels)                                     \
            for (int64_t i = 0; i < pixels; i++) {                                                                     \
                to[3 * i] = from[i];                                                                                   \
                to[3 * i + 1] = from[pixels + i];                                                                      \
                to[3 * i + 2] = from[2 * pixels + i];                                                                  \
            }                                                                                                          \
    }                                                                                                                  \
    static void plain_drop_##name(type *restrict to, const type *restrict from, int64_t pixels)                        \
    {                                                                                                                  \
        for (int64_t i = 0; i < pixels; i++) {                                                                         \
            to[3 * i] = from[4 * i];                                                                                   \
            to[3 * i + 1] = from[4 * i + 1];                                                                           \
            to[3 * i + 2] = from[4 * i + 2];                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void plain_step_##name(type *restrict to, const type *restrict from, int64_t count, int64_t step)           \
    {                                                                                                                  \
        if (step == -1)                                                                                                \
            for (int64_t i = 0; i < count; i++)                                                                        \
                to[i] = from[count - 1 - i];                                                                           \
        else if (step == 2)                                                                                            \
            for (int64_t i = 0; i < count; i++)                                                                        \
                to[i] = from[2 * i];                                                                                   \
        else                                                                                                           \
            for (int64_t i = 0; i < count; i++)                                                                        \
                to[i] = from[16 * i];                                                                                  \
    }                                                                                                                  \
    static void plain_rows_##name(type *restrict to, const type *restrict from, int64_t rows, int64_t columns,         \
                                  int64_t next)                                                                        \
    {                                                                                                                  \
        for (int64_t i = 0; i < rows; i++)                                                                             \
            for (int64_t j = 0; j < columns; j++)                                                                      \
                to[i * columns + j] = from[i * next + j];                                                              \
    }                                                                                                                  \
    static bool plain_copy_##name(plain_job job, type *to, const type *from, int64_t a, int64_t b)                     \
    {                                                                                                                  \
        switch (job) {                                                                                                 \
        case PLAIN_TRANSPOSE:                                                                                          \
            plain_transpose_##name(to, from, a, b);                                                                    \
            return true;                                                                                               \
        case PLAIN_SPLIT:                                                                                              \
            plain_split_##name(to, from, a, b);                                                                        \
            return true;                                                                                               \
        case PLAIN_JOIN:                                                                                               \
            plain_join_##name(to, from, a, b);                                                                         \
            return true;                                                                                               \
        case PLAIN_DROP:                                                                                               \
            plain_drop_##name(to, from, a);                                                                            \
            return true;                                                                                               \
        case PLAIN_REVERSE:                                                                                            \
            plain_step_##name(to, from, a, -1);                                                                        \
            return true;                                                                                               \
        case PLAIN_SECOND:                                                                                             \
            plain_step_##name(to, from, a, 2);                                                                         \
            return true;                                                                                               \
        case PLAIN_COLUMN:                                                                                             \
            plain_step_##name(to, from, a, 16);                                                                        \
            return true;                                                                                               \
        case PLAIN_CONTIGUOUS:                                                                                         \
            plain_rows_##name(to, from, 1, a, a);                                                                      \
            return true;                                                                                               \
        case PLAIN_ROWS:                                                                                               \
            plain_rows_##name(to, from, a, b, 0);                                                                      \
            return true;                                                                                               \
        case PLAIN_MIDDLE:                                                                                             \
            plain_rows_##name(to, from + b / 2, a, b, 2 * b);                                                          \
            return true;                                                                                               \
        default:                                                                                                       \
            return false;                                                                                              \
        }                                                                                                              \
    }

PLAIN_LOOPS(uint8_t, 1)
PLAIN_LOOPS(uint32_t, 4)
PLAIN_LOOPS(plain_16, 16)

bool plain_copy(plain_job job, int element, void *to, const void *from, int64_t a, int64_t b)
{
    switch (element) {
    case 1:
        return plain_copy_1(job, to, from, a, b);
    case 4:
        return plain_copy_4(job, to, from, a, b);
    case 16:
        return plain_copy_16(job, to, from, a, b);
    default:
        return false;
    }
}
