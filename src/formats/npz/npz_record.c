#include <stdlib.h>
#include <string.h>

#include "npz_record.h"

#define NPZ_RECORD_DATE     0x0021u /* 1980-01-01, the first that there is */
#define NPZ_RECORD_END_MOST ((size_t)98)

/* Extra fields: ZIP64; and the one that Android's tools align members with. */
#define NPZ_RECORD_WIDE          0x0001u
#define NPZ_RECORD_PADDING       0xD935u
#define NPZ_RECORD_PADDING_LEAST ((size_t)6)

/* ---- Texts ---- */

bool dlpark__npz_reserve(dlpark__npz_text *text, size_t nbytes)
{
    size_t wanted = text->room + text->room / 2 + 256;

    if (nbytes <= text->room - text->nbytes)
        return true;
    if (wanted - text->nbytes < nbytes)
        wanted = text->nbytes + nbytes;
    char *grown = realloc(text->bytes, wanted);
    if (grown == NULL)
        return false;
    text->bytes = grown;
    text->room = wanted;
    return true;
}

void dlpark__npz_put(dlpark__npz_text *text, const void *bytes, size_t nbytes)
{
    memcpy(text->bytes + text->nbytes, bytes, nbytes);
    text->nbytes += nbytes;
}

static void npz_record_number_at(char *bytes, uint64_t number, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++, number >>= 8)
        bytes[i] = (char)(number & 0xFF);
}

static void npz_record_number(dlpark__npz_text *text, uint64_t number, size_t nbytes)
{
    npz_record_number_at(text->bytes + text->nbytes, number, nbytes);
    text->nbytes += nbytes;
}

/* As it stands in a field of 32 bits. */
static void npz_record_narrow(dlpark__npz_text *text, uint64_t number)
{
    npz_record_number(text, number < DLPARK__ZIP_FULL_32 ? number : DLPARK__ZIP_FULL_32, 4);
}

/* ---- Headers and entries ---- */

/* The version that is needed, flags, method, time, date, sum, sizes, length of the name. */
static void npz_record_common(dlpark__npz_text *text, const dlpark__npz_record *record, bool is_wide, uint64_t packed,
                              uint64_t nbytes)
{
    bool is_ascii = true;

    for (size_t i = 0; i < record->name_nbytes; i++)
        is_ascii &= (unsigned char)record->name[i] < 0x80;
    npz_record_number(text, is_wide ? 45 : 20, 2);
    npz_record_number(text, is_ascii ? 0 : DLPARK__ZIP_IS_UTF8, 2);
    npz_record_number(text, record->method, 2);
    npz_record_number(text, 0, 2);
    npz_record_number(text, NPZ_RECORD_DATE, 2);
    npz_record_number(text, record->sum, 4);
    npz_record_narrow(text, packed);
    npz_record_narrow(text, nbytes);
    npz_record_number(text, record->name_nbytes + 4, 2);
}

static void npz_record_name(dlpark__npz_text *text, const dlpark__npz_record *record)
{
    dlpark__npz_put(text, record->name, record->name_nbytes);
    dlpark__npz_put(text, ".npy", 4);
}

size_t dlpark__npz_header_nbytes(const dlpark__npz_record *record)
{
    return DLPARK__ZIP_LOCAL_NBYTES + record->name_nbytes + 4 + (record->is_wide ? 20U : 0U);
}

size_t dlpark__npz_padding(uint64_t at, size_t alignment)
{
    size_t padding = (size_t)(-at & (alignment - 1));

    while (padding != 0 && padding < NPZ_RECORD_PADDING_LEAST)
        padding += alignment;
    return padding;
}

void dlpark__npz_put_header(dlpark__npz_text *text, const dlpark__npz_record *record)
{
    const uint64_t full = DLPARK__ZIP_FULL_32;

    dlpark__npz_put(text, "PK\3\4", 4);
    npz_record_common(text, record, record->is_wide, record->is_wide ? full : record->packed_nbytes,
                      record->is_wide ? full : record->nbytes);
    npz_record_number(text, (record->is_wide ? 20U : 0U) + record->padding, 2);
    npz_record_name(text, record);
    if (record->is_wide) {
        npz_record_number(text, NPZ_RECORD_WIDE, 2);
        npz_record_number(text, 16, 2);
        npz_record_number(text, record->nbytes, 8);
        npz_record_number(text, record->packed_nbytes, 8);
    }
    if (record->padding != 0) {
        npz_record_number(text, NPZ_RECORD_PADDING, 2);
        npz_record_number(text, record->padding - 4, 2);
        memset(text->bytes + text->nbytes, 0, record->padding - 4);
        text->nbytes += record->padding - 4;
    }
}

void dlpark__npz_set_header(char *header, const dlpark__npz_record *record)
{
    npz_record_number_at(header + 14, record->sum, 4);
    if (record->is_wide) {
        char *wide = header + DLPARK__ZIP_LOCAL_NBYTES + record->name_nbytes + 4;
        npz_record_number_at(wide + 4, record->nbytes, 8);
        npz_record_number_at(wide + 12, record->packed_nbytes, 8);
        return;
    }
    npz_record_number_at(header + 18, record->packed_nbytes, 4);
    npz_record_number_at(header + 22, record->nbytes, 4);
}

void dlpark__npz_put_entry(dlpark__npz_text *text, const dlpark__npz_record *record, uint64_t at)
{
    const uint64_t numbers[] = {record->nbytes, record->packed_nbytes, at};
    size_t wide = 0;

    for (size_t i = 0; i < 3; i++)
        wide += numbers[i] >= DLPARK__ZIP_FULL_32 ? 8 : 0;
    dlpark__npz_put(text, "PK\1\2", 4);
    npz_record_number(text, 20, 2);
    npz_record_common(text, record, record->is_wide || wide != 0, record->packed_nbytes, record->nbytes);
    npz_record_number(text, wide != 0 ? wide + 4 : 0, 2);
    npz_record_number(text, 0, 2); /* comment, */
    npz_record_number(text, 0, 2); /* disk, */
    npz_record_number(text, 0, 2); /* what kind of text, */
    npz_record_number(text, 0, 4); /* and attributes: none */
    npz_record_narrow(text, at);
    npz_record_name(text, record);
    if (wide == 0)
        return;
    npz_record_number(text, NPZ_RECORD_WIDE, 2);
    npz_record_number(text, wide, 2);
    for (size_t i = 0; i < 3; i++)
        if (numbers[i] >= DLPARK__ZIP_FULL_32)
            npz_record_number(text, numbers[i], 8);
}

void dlpark__npz_set_entry(char *entry, uint32_t sum)
{
    npz_record_number_at(entry + 16, sum, 4);
}

/* ---- The end ---- */

bool dlpark__npz_put_end(dlpark__npz_text *text, size_t count, uint64_t at)
{
    uint64_t nbytes = text->nbytes;

    if (!dlpark__npz_reserve(text, NPZ_RECORD_END_MOST))
        return false;
    if (count >= DLPARK__ZIP_FULL_16 || at >= DLPARK__ZIP_FULL_32) { /* the directory itself is never so large */
        dlpark__npz_put(text, "PK\6\6", 4);
        npz_record_number(text, 44, 8);
        npz_record_number(text, 45, 2);
        npz_record_number(text, 45, 2);
        npz_record_number(text, 0, 8);
        npz_record_number(text, count, 8);
        npz_record_number(text, count, 8);
        npz_record_number(text, nbytes, 8);
        npz_record_number(text, at, 8);
        dlpark__npz_put(text, "PK\6\7", 4);
        npz_record_number(text, 0, 4);
        npz_record_number(text, at + nbytes, 8);
        npz_record_number(text, 1, 4);
    }
    uint64_t narrow = count < DLPARK__ZIP_FULL_16 ? count : DLPARK__ZIP_FULL_16;
    dlpark__npz_put(text, "PK\5\6", 4);
    npz_record_number(text, 0, 4);
    npz_record_number(text, narrow, 2);
    npz_record_number(text, narrow, 2);
    npz_record_narrow(text, nbytes);
    npz_record_narrow(text, at);
    npz_record_number(text, 0, 2);
    return true;
}
