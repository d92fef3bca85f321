#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

uint8_t fuzz_byte(fuzz_input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->data++;
}

int fuzz_choice(fuzz_input *in, int past)
{
    return fuzz_byte(in) % past;
}

int64_t fuzz_number(fuzz_input *in)
{
    uint8_t kind = fuzz_byte(in);

    if (kind < 0xE0)
        return kind % 16 - 4;
    if (kind < 0xF0)
        return (int64_t)((UINT64_C(1) << fuzz_byte(in) % 64) - 1 + kind % 3);
    if (kind < 0xF8)
        return (int64_t)(UINT64_C(0) - (UINT64_C(1) << fuzz_byte(in) % 64) + kind % 3);
    if (kind < 0xFC)
        return (const int64_t[]){INT64_MIN, INT64_MAX, INT64_MIN + 1, INT64_MAX - 1}[kind % 4];
    uint64_t any = 0;
    for (int i = 0; i < 8; i++)
        any = any << 8 | fuzz_byte(in);
    return (int64_t)any;
}

void fuzz_fail(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
    abort();
}
