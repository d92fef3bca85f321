/*
 * Casts the way one writes them without a library: plain loops, left to the compiler.
 */
#ifndef BENCH_CAST_PLAIN_H
#define BENCH_CAST_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum plain_pair { PLAIN_F32_F16, PLAIN_F16_F32, PLAIN_F32_BF16, PLAIN_BF16_F32 } plain_pair;

/* False where the compiler has no such type. */
bool plain_cast(plain_pair pair, void *to, const void *from, int64_t count);

#endif
