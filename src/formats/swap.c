#include <stddef.h>

#include "swap.h"

void dlpark__swap_numbers(unsigned char *bytes, uint64_t nbytes, DLDataType dtype)
{
    size_t number = dtype.code == kDLComplex ? dtype.bits / 16 : dtype.bits / 8;

    if (number < 2)
        return;
    for (uint64_t at = 0; at + number <= nbytes; at += number) {
        for (size_t i = 0; i < number / 2; i++) {
            unsigned char kept = bytes[at + i];
            bytes[at + i] = bytes[at + number - 1 - i];
            bytes[at + number - 1 - i] = kept;
        }
    }
}
