/*
 * The check sum of ZIP archives, without what it begins and ends with: so it is linear, and pieces of a member that come in
 * any order add up to the whole by XOR. The sum of an archive begins with DLPARK__CRC32_BEGIN and is inverted at the end.
 */
#ifndef DLPARK_FORMATS_CRC32_H
#define DLPARK_FORMATS_CRC32_H

#include <stddef.h>
#include <stdint.h>

#define DLPARK__CRC32_BEGIN UINT32_C(0xFFFFFFFF)

/* The sum of what `sum` is of, and of these bytes behind it. */
uint32_t dlpark__crc32_add(uint32_t sum, const void *bytes, size_t nbytes);

/* The same as if the bytes were so many zeros; in the time of their number's logarithm. */
uint32_t dlpark__crc32_shift(uint32_t sum, uint64_t nbytes);

#endif
