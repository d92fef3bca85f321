/*
 * What the fuzz targets share: reading an input as a stream of choices, and saying that something is wrong.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The entry point of a target, under libFuzzer's name. Returns 0; what is wrong ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An input that is used up goes on as zeros. */
typedef struct fuzz_input {
    const uint8_t *data;
    size_t left;
} fuzz_input;

uint8_t fuzz_byte(fuzz_input *in);

/* 0 to past - 1. */
int fuzz_choice(fuzz_input *in, int past);

/* Mostly small, of either sign; sometimes at the limits of 63 bits, a power of two or beside one, or anything. */
int64_t fuzz_number(fuzz_input *in);

/* Ends the process, so that libFuzzer keeps the input. */
_Noreturn void fuzz_fail(const char *file, int line, const char *text);

#define FUZZ_WANT(condition)                                                                                           \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fuzz_fail(__FILE__, __LINE__, #condition);                                                                 \
    } while (0)

#endif
