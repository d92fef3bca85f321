/*
 * The end of a ZIP archive: a record that says where the directory is, in front of it another with the same in 64 bits and
 * a locator of that one, behind it a comment.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "zip_parts.h"

#define ZIP_END_NBYTES         ((size_t)22)
#define ZIP_END_LOCATOR_NBYTES ((size_t)20)
#define ZIP_END_WIDE_NBYTES    ((size_t)56)
#define ZIP_END_MOST_COMMENT   ((size_t)65535)

/* What both records say, in this order. */
enum { END_DISK, END_DIRECTORY_DISK, END_COUNT_HERE, END_COUNT, END_NBYTES, END_AT, END_FIELDS };

/* A number in a record. */
typedef struct zip_end_field {
    uint8_t at;
    uint8_t nbytes;
} zip_end_field;

static const zip_end_field zip_end_fields[END_FIELDS] = {{4, 2}, {6, 2}, {8, 2}, {10, 2}, {12, 4}, {16, 4}};
static const zip_end_field zip_end_wide_fields[END_FIELDS] = {{16, 4}, {20, 4}, {24, 8}, {32, 8}, {40, 8}, {48, 8}};

/* The last bytes of the file. */
typedef struct zip_end_tail {
    unsigned char *bytes;
    size_t nbytes;
    uint64_t begin; /* in the file */
    size_t record;  /* in `bytes` */
} zip_end_tail;

/* ---- The record ---- */

/* The last one, as Python's reader does. What stands behind it is a comment, all of it. */
static bool zip_end_find_record(const dlpark__zip_reader *reader, zip_end_tail *tail)
{
    size_t at = tail->nbytes < ZIP_END_NBYTES ? 0 : tail->nbytes - ZIP_END_NBYTES + 1;

    while (at > 0 && memcmp(tail->bytes + at - 1, "PK\5\6", 4) != 0)
        at--;
    if (at == 0) {
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "end", tail->begin, NULL,
                                "no end of a ZIP archive is in its last %zu bytes: it may be cut short", tail->nbytes);
        return false;
    }
    tail->record = at - 1;
    size_t behind = tail->nbytes - tail->record - ZIP_END_NBYTES;
    size_t comment = (size_t)dlpark__zip_number(tail->bytes + tail->record + 20, 2);
    if (comment == behind)
        return true;
    (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "end", tail->begin + tail->record, NULL,
                            "the archive's comment has %zu bytes, and %zu are behind its end", comment, behind);
    return false;
}

/* ---- The record in 64 bits ---- */

/* Its place; where there is none, that of the plain record. False after a fault. */
static bool zip_end_find_wide(const dlpark__zip_reader *reader, const zip_end_tail *tail, uint64_t *wide)
{
    uint64_t record = tail->begin + tail->record;

    *wide = record;
    if (tail->record < ZIP_END_LOCATOR_NBYTES)
        return true;
    const unsigned char *locator = tail->bytes + tail->record - ZIP_END_LOCATOR_NBYTES;
    if (memcmp(locator, "PK\6\7", 4) != 0)
        return true;
    uint64_t disk = dlpark__zip_number(locator + 4, 4), disks = dlpark__zip_number(locator + 16, 4);
    *wide = dlpark__zip_number(locator + 8, 8);
    record -= ZIP_END_LOCATOR_NBYTES;
    if (disk != 0 || disks > 1) {
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "disks", record, NULL, "its end is on disk %llu of %llu",
                                (unsigned long long)disk, (unsigned long long)disks);
        return false;
    }
    if (record >= ZIP_END_WIDE_NBYTES && *wide <= record - ZIP_END_WIDE_NBYTES)
        return true;
    (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "zip64", record, NULL,
                            "the ZIP64 end would be at byte %llu, less than 56 in front of its locator",
                            (unsigned long long)*wide);
    return false;
}

/* The fields of the record in 64 bits in place of the plain ones, which are full or say the same. */
static bool zip_end_widen(const dlpark__zip_reader *reader, const zip_end_tail *tail, uint64_t at,
                          const unsigned char *record, uint64_t *fields)
{
    uint64_t nbytes = dlpark__zip_number(record + 4, 8);
    uint64_t end = tail->begin + tail->record - ZIP_END_LOCATOR_NBYTES;

    if (memcmp(record, "PK\6\6", 4) != 0 || nbytes != end - at - 12) {
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "zip64", at, NULL,
                                "no ZIP64 end of %llu bytes is here, where the locator says",
                                (unsigned long long)(end - at));
        return false;
    }
    for (int i = 0; i < END_FIELDS; i++) {
        uint64_t full = zip_end_fields[i].nbytes == 2 ? DLPARK__ZIP_FULL_16 : DLPARK__ZIP_FULL_32;
        uint64_t wide = dlpark__zip_number(record + zip_end_wide_fields[i].at, zip_end_wide_fields[i].nbytes);
        if (fields[i] != full && fields[i] != wide) {
            (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "zip64", at + zip_end_wide_fields[i].at, NULL,
                                    "the ZIP64 end says %llu, and the end %llu", (unsigned long long)wide,
                                    (unsigned long long)fields[i]);
            return false;
        }
        fields[i] = wide;
    }
    return true;
}

/* ---- What they say ---- */

static void zip_end_check(const dlpark__zip_reader *reader, uint64_t end, uint64_t most, const uint64_t *fields)
{
    unsigned long long count = fields[END_COUNT], nbytes = fields[END_NBYTES], at = fields[END_AT];

    if (fields[END_DISK] != 0 || fields[END_DIRECTORY_DISK] != 0)
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "disks", end, NULL,
                                "is disk %llu of an archive whose directory is on disk %llu",
                                (unsigned long long)fields[END_DISK], (unsigned long long)fields[END_DIRECTORY_DISK]);
    else if (fields[END_COUNT_HERE] != count)
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "count", end, NULL,
                                "has %llu members on this disk, and %llu in all",
                                (unsigned long long)fields[END_COUNT_HERE], count);
    else if (nbytes > end || at != end - nbytes)
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "directory", end, NULL,
                                "the directory has %llu bytes from byte %llu on, and ends at byte %llu", nbytes, at,
                                (unsigned long long)end);
    else if (nbytes > most)
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_LIMIT, "header-size", end, NULL,
                                "the directory has %llu bytes, more than %llu", nbytes, (unsigned long long)most);
    else if (count > nbytes / DLPARK__ZIP_ENTRY_NBYTES)
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "count", end, NULL,
                                "%llu members are not in a directory of %llu bytes", count, nbytes);
    else if (count > DLPARK__ZIP_MOST_MEMBERS)
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_LIMIT, "limit", end, NULL, "has %llu members, more than %llu", count,
                                (unsigned long long)DLPARK__ZIP_MOST_MEMBERS);
}

static dlpark_status zip_end_read(dlpark__zip_reader *reader, zip_end_tail *tail, uint64_t most, dlpark_error *err)
{
    unsigned char record[ZIP_END_WIDE_NBYTES];
    uint64_t fields[END_FIELDS], end;

    DLPARK_TRY(dlpark__source_read(reader->source, tail->begin, tail->bytes, tail->nbytes, err));
    if (!zip_end_find_record(reader, tail) || !zip_end_find_wide(reader, tail, &end))
        return DLPARK_OK;
    for (int i = 0; i < END_FIELDS; i++)
        fields[i] = dlpark__zip_number(tail->bytes + tail->record + zip_end_fields[i].at, zip_end_fields[i].nbytes);
    if (end != tail->begin + tail->record) {
        DLPARK_TRY(dlpark__source_read(reader->source, end, record, sizeof record, err));
        if (!zip_end_widen(reader, tail, end, record, fields))
            return DLPARK_OK;
    }
    zip_end_check(reader, end, most, fields);
    reader->directory = fields[END_AT];
    reader->directory_nbytes = fields[END_NBYTES];
    reader->count = fields[END_COUNT];
    return DLPARK_OK;
}

dlpark_status dlpark__zip_find_directory(dlpark__zip_reader *reader, uint64_t max_nbytes, dlpark_error *err)
{
    const size_t most = ZIP_END_MOST_COMMENT + ZIP_END_NBYTES + ZIP_END_LOCATOR_NBYTES;
    uint64_t nbytes = reader->source->nbytes;
    zip_end_tail tail = {NULL, nbytes < most ? (size_t)nbytes : most, 0, 0};

    tail.begin = nbytes - tail.nbytes;
    tail.bytes = malloc(tail.nbytes + 1);
    if (tail.bytes == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    if (max_nbytes == 0 || max_nbytes > DLPARK__ZIP_MOST_DIRECTORY)
        max_nbytes = DLPARK__ZIP_MOST_DIRECTORY;
    dlpark_status status = zip_end_read(reader, &tail, max_nbytes, err);
    free(tail.bytes);
    return status;
}
