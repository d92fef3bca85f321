/*
 * The headers that stand in front of the members of a ZIP archive. The directory has said all that they say: here it is seen
 * that they say the same, as there are readers that believe them.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "zip_parts.h"

#define ZIP_LOCAL_MOST (DLPARK__ZIP_LOCAL_NBYTES + 2 * (size_t)65535)

/* Beyond the name so much is read at once: a ZIP64 field, and what aligns the data. */
#define ZIP_LOCAL_USUAL ((size_t)256)

#define ZIP_LOCAL_DESCRIPTOR_MOST ((size_t)24)

/* The header of a member, as far as the file goes before the directory. */
typedef struct zip_local_header {
    unsigned char *bytes; /* room for any */
    size_t nbytes;        /* of them that are there */
} zip_local_header;

static uint64_t zip_local_end(const dlpark__zip_member *member)
{
    return member->begin + member->packed_nbytes;
}

/* ---- One header ---- */

/* Its bytes, the name and extra fields with it. Fewer: the directory begins before. */
static dlpark_status zip_local_read(const dlpark__zip_reader *reader, const dlpark__zip_member *member,
                                    zip_local_header *header, dlpark_error *err)
{
    uint64_t left = member->header < reader->directory ? reader->directory - member->header : 0;
    size_t wanted = DLPARK__ZIP_LOCAL_NBYTES + member->name.nbytes + ZIP_LOCAL_USUAL;

    header->nbytes = left < wanted ? (size_t)left : wanted;
    DLPARK_TRY(dlpark__source_read(reader->source, member->header, header->bytes, header->nbytes, err));
    if (header->nbytes < wanted)
        return DLPARK_OK;
    size_t nbytes = DLPARK__ZIP_LOCAL_NBYTES + (size_t)dlpark__zip_number(header->bytes + 26, 2) +
                    (size_t)dlpark__zip_number(header->bytes + 28, 2);
    if (nbytes <= wanted)
        return DLPARK_OK;
    header->nbytes = left < nbytes ? (size_t)left : nbytes;
    return dlpark__source_read(reader->source, member->header + wanted, header->bytes + wanted, header->nbytes - wanted,
                               err);
}

/* Sizes and sum: those of the directory; or zeros where they follow in a descriptor. */
static bool zip_local_check_sizes(const dlpark__zip_reader *reader, const dlpark__zip_member *member,
                                  const zip_local_header *header, size_t begin)
{
    const unsigned char *bytes = header->bytes;
    uint64_t sum = dlpark__zip_number(bytes + 14, 4), packed = dlpark__zip_number(bytes + 18, 4);
    uint64_t nbytes = dlpark__zip_number(bytes + 22, 4);
    uint64_t *const numbers[] = {&nbytes, &packed};
    size_t extra = DLPARK__ZIP_LOCAL_NBYTES + member->name.nbytes;
    const char *why = dlpark__zip_widen(bytes + extra, begin - extra, numbers, 2);

    if (why != NULL)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "extra", member->header, member, "%s", why);
    if ((member->flags & DLPARK__ZIP_HAS_DESCRIPTOR) != 0 && sum == 0 && packed == 0 && nbytes == 0)
        return true;
    if (sum == member->crc32 && packed == member->packed_nbytes && nbytes == member->nbytes)
        return true;
    return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "local", member->header, member,
                             "its header says %llu bytes from %llu, sum %08llx; the directory %llu from %llu, %08lx",
                             (unsigned long long)nbytes, (unsigned long long)packed, (unsigned long long)sum,
                             (unsigned long long)member->nbytes, (unsigned long long)member->packed_nbytes,
                             (unsigned long)member->crc32);
}

static bool zip_local_check(const dlpark__zip_reader *reader, dlpark__zip_member *member,
                            const zip_local_header *header)
{
    const unsigned char *bytes = header->bytes;
    size_t name = member->name.nbytes, begin = DLPARK__ZIP_LOCAL_NBYTES + name;

    if (member->header >= reader->directory)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "outside",
                                 reader->directory + member->name.at - DLPARK__ZIP_ENTRY_NBYTES, member,
                                 "its header would be at byte %llu, and the directory begins at %llu",
                                 (unsigned long long)member->header, (unsigned long long)reader->directory);
    if (header->nbytes < begin || memcmp(bytes, "PK\3\4", 4) != 0)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "local", member->header, member,
                                 "no whole header of it is here, where the directory says");
    begin += (size_t)dlpark__zip_number(bytes + 28, 2);
    member->begin = member->header + begin;
    if (begin > header->nbytes || member->packed_nbytes > reader->directory - member->begin)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "outside", member->header, member,
                                 "its %llu bytes would end behind byte %llu, where the directory begins",
                                 (unsigned long long)member->packed_nbytes, (unsigned long long)reader->directory);
    if (dlpark__zip_number(bytes + 26, 2) != name ||
        memcmp(bytes + DLPARK__ZIP_LOCAL_NBYTES, reader->zip->text + member->name.at, name) != 0)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "local", member->header, member,
                                 "its header has another name");
    if (dlpark__zip_number(bytes + 6, 2) != member->flags || dlpark__zip_number(bytes + 8, 2) != member->method)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "local", member->header, member,
                                 "its header says method %llu, flags 0x%04llX; the directory %u, 0x%04X",
                                 (unsigned long long)dlpark__zip_number(bytes + 8, 2),
                                 (unsigned long long)dlpark__zip_number(bytes + 6, 2), (unsigned)member->method,
                                 (unsigned)member->flags);
    return zip_local_check_sizes(reader, member, header, begin);
}

/* ---- All of them ---- */

static int zip_local_compare(const void *left, const void *right)
{
    const dlpark__zip_member *a = left, *b = right;

    if (a->header != b->header)
        return a->header < b->header ? -1 : 1;
    return (a->name.at > b->name.at) - (a->name.at < b->name.at); /* as the directory has them */
}

static void zip_local_sort(dlpark__zip *zip)
{
    for (size_t i = 1; i < zip->count; i++) {
        if (zip->members[i - 1].header > zip->members[i].header) {
            qsort(zip->members, zip->count, sizeof *zip->members, zip_local_compare);
            return;
        }
    }
}

/* In the order of their places, and none that begins in another: so no more is read than the file has, however many members
 * the directory says there are in one place. */
static dlpark_status zip_local_check_all(dlpark__zip_reader *reader, zip_local_header *header, dlpark_error *err)
{
    uint64_t reached = 0;

    for (size_t i = 0; i < reader->zip->count; i++) {
        dlpark__zip_member *member = &reader->zip->members[i];
        size_t faults = reader->faults->count;
        if (member->header < reached) {
            if (!DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "overlap", member->header, member,
                                   "begins before byte %llu, where the member before it ends",
                                   (unsigned long long)reached))
                break;
            continue;
        }
        DLPARK_TRY(zip_local_read(reader, member, header, err));
        if (!zip_local_check(reader, member, header))
            break;
        if (reader->faults->count == faults) /* where one ends that is not right, nobody knows */
            reached = zip_local_end(member);
    }
    return DLPARK_OK;
}

/* ---- What is between them ---- */

/* What may stand behind a member: its sum and sizes once more, with a mark before them or without, in 32 bits or in 64.
 * True where that is all. */
static dlpark_status zip_local_check_descriptor(const dlpark__zip_reader *reader, const dlpark__zip_member *member,
                                                uint64_t nbytes, bool *is_right, dlpark_error *err)
{
    unsigned char bytes[ZIP_LOCAL_DESCRIPTOR_MOST];
    const unsigned char *at = bytes;

    *is_right = false;
    if (nbytes < 12 || nbytes > ZIP_LOCAL_DESCRIPTOR_MOST || nbytes % 4 != 0)
        return DLPARK_OK;
    DLPARK_TRY(dlpark__source_read(reader->source, zip_local_end(member), bytes, (size_t)nbytes, err));
    if (nbytes % 8 == 0) { /* 16 or 24 */
        if (memcmp(bytes, "PK\7\10", 4) != 0)
            return DLPARK_OK;
        at += 4;
        nbytes -= 4;
    }
    size_t width = nbytes == 12 ? 4 : 8;
    *is_right = dlpark__zip_number(at, 4) == member->crc32 &&
                dlpark__zip_number(at + 4, width) == member->packed_nbytes &&
                dlpark__zip_number(at + 4 + width, width) == member->nbytes;
    return DLPARK_OK;
}

/* Bytes between `from` and `to` that are no member's: before the first, or behind `member`. */
static dlpark_status zip_local_check_gap(const dlpark__zip_reader *reader, const dlpark__zip_member *member,
                                         uint64_t from, uint64_t to, dlpark_error *err)
{
    unsigned long long nbytes = to - from;
    bool is_right;

    if (member != NULL && (member->flags & DLPARK__ZIP_HAS_DESCRIPTOR) != 0) {
        DLPARK_TRY(zip_local_check_descriptor(reader, member, nbytes, &is_right, err));
        if (!is_right)
            (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "descriptor", from, member,
                                    "the %llu bytes behind its data are not its sum and sizes", nbytes);
    } else if (nbytes != 0 && member != NULL) {
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "hole", from, member,
                                "%llu bytes behind it belong to no member", nbytes);
    } else if (nbytes != 0) {
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "prepended", from, NULL,
                                "%llu bytes stand before the first member", nbytes);
    }
    return DLPARK_OK;
}

static dlpark_status zip_local_check_cover(const dlpark__zip_reader *reader, dlpark_error *err)
{
    const dlpark__zip *zip = reader->zip;
    const dlpark__zip_member *before = NULL;
    uint64_t reached = 0;

    for (size_t i = 0; i < zip->count; i++) {
        const dlpark__zip_member *member = &zip->members[i];
        DLPARK_TRY(zip_local_check_gap(reader, before, reached, member->header, err));
        if (reader->faults->count != 0 && !reader->faults->lists)
            return DLPARK_OK;
        before = member;
        reached = zip_local_end(member);
    }
    return zip_local_check_gap(reader, before, reached, reader->directory, err);
}

dlpark_status dlpark__zip_check_members(dlpark__zip_reader *reader, dlpark_error *err)
{
    zip_local_header header = {malloc(ZIP_LOCAL_MOST + ZIP_LOCAL_USUAL), 0};

    if (header.bytes == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    zip_local_sort(reader->zip);
    dlpark_status status = zip_local_check_all(reader, &header, err);
    free(header.bytes);
    if (status != DLPARK_OK || reader->faults->count != 0)
        return status;
    return zip_local_check_cover(reader, err);
}
