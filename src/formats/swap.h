/*
 * Byte orders: tensor files are little-endian.
 */
#ifndef DLPARK_FORMATS_SWAP_H
#define DLPARK_FORMATS_SWAP_H

#include <stdint.h>

#include <dlpark/dlpack.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define DLPARK__IS_BIG_ENDIAN 1
#else
#define DLPARK__IS_BIG_ENDIAN 0
#endif

/* Turns each number around, both of a complex one. */
void dlpark__swap_numbers(unsigned char *bytes, uint64_t nbytes, DLDataType dtype);

#endif
