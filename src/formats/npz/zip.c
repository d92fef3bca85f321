#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../json.h"
#include "zip_parts.h"

/* Bits of flags that are understood: how well it was deflated, and those two. */
#define ZIP_FLAGS        (0x0006u | DLPARK__ZIP_HAS_DESCRIPTOR | DLPARK__ZIP_IS_UTF8)
#define ZIP_IS_ENCRYPTED 0x2041u

/* What a reader has to be able to do, times ten: 6.3 is the last that ZIP's own text has. */
#define ZIP_MOST_VERSION 63

/* So many bytes of a deflated member come of one: 258 of two bits. */
#define ZIP_MOST_RATIO 1032

/* Extra fields. */
#define ZIP_EXTRA_WIDE 0x0001u /* ZIP64 */
#define ZIP_EXTRA_NAME 0x7075u /* another name, in UTF-8 */

/* ---- Numbers, names, extra fields ---- */

uint64_t dlpark__zip_number(const unsigned char *bytes, size_t nbytes)
{
    uint64_t number = 0;

    for (size_t i = nbytes; i > 0; i--)
        number = number << 8 | bytes[i - 1];
    return number;
}

dlpark__span_text dlpark__zip_tensor_name(const char *text, dlpark__span_text name)
{
    if (name.nbytes >= 4 && memcmp(text + name.at + name.nbytes - 4, ".npy", 4) == 0)
        name.nbytes -= 4;
    return name;
}

dlpark__file_fault_place dlpark__zip_place(const dlpark__zip_reader *reader, const char *rule, uint64_t at,
                                           const dlpark__zip_member *member)
{
    const char *text = reader->zip->text;

    if (member == NULL)
        return (dlpark__file_fault_place){rule, at, NULL, 0};
    dlpark__span_text name = dlpark__zip_tensor_name(text, member->name);
    return (dlpark__file_fault_place){rule, at, text + name.at, name.nbytes};
}

/* The next extra field; false behind the last. Fewer than four bytes at the end are padding. */
static bool zip_next_extra(const unsigned char **extra, size_t *nbytes, unsigned *kind, size_t *field_nbytes)
{
    if (*nbytes < 4)
        return false;
    *kind = (unsigned)dlpark__zip_number(*extra, 2);
    *field_nbytes = (size_t)dlpark__zip_number(*extra + 2, 2);
    *extra += 4;
    *nbytes -= 4;
    return true;
}

const char *dlpark__zip_widen(const unsigned char *extra, size_t nbytes, uint64_t *const *numbers, size_t count)
{
    const unsigned char *wide = NULL;
    size_t wide_nbytes = 0, field_nbytes;
    unsigned kind;

    for (; zip_next_extra(&extra, &nbytes, &kind, &field_nbytes); extra += field_nbytes, nbytes -= field_nbytes) {
        if (field_nbytes > nbytes)
            return "an extra field ends behind all of them";
        if (kind == ZIP_EXTRA_NAME)
            return "an extra field has another name";
        if (kind != ZIP_EXTRA_WIDE)
            continue;
        if (wide != NULL)
            return "there are two ZIP64 fields";
        wide = extra;
        wide_nbytes = field_nbytes;
    }
    for (size_t i = 0; i < count; i++) {
        if (*numbers[i] != DLPARK__ZIP_FULL_32)
            continue;
        if (wide_nbytes < 8)
            return "a number that should be in the ZIP64 field is not";
        *numbers[i] = dlpark__zip_number(wide, 8);
        wide += 8;
        wide_nbytes -= 8;
    }
    return NULL;
}

/* ---- The directory ---- */

/* An entry, as it is read. */
typedef struct zip_entry {
    uint64_t at;      /* in the file */
    unsigned version; /* needed */
    uint64_t disk;
    const unsigned char *extra;
    size_t extra_nbytes;
} zip_entry;

static bool zip_has_part(const char *name, size_t nbytes, const char *part)
{
    size_t length = strlen(part), begin = 0;

    for (size_t i = 0; i <= nbytes; i++) {
        if (i < nbytes && name[i] != '/')
            continue;
        if (i - begin == length && memcmp(name + begin, part, length) == 0)
            return true;
        begin = i + 1;
    }
    return false;
}

/* Nothing here makes a path of a name, but who unpacks an archive does. */
const char *dlpark__zip_judge_name(const char *name, size_t nbytes, unsigned flags)
{
    size_t plain = 0;

    while (plain < nbytes && (unsigned char)name[plain] < 0x80)
        plain++;
    if (plain < nbytes && (flags & DLPARK__ZIP_IS_UTF8) == 0)
        return "its name has bytes above 0x7F, and no flag says that they are UTF-8";
    if (dlpark__utf8_check(name, nbytes) != nbytes)
        return "its name is no UTF-8";
    if (nbytes == 0)
        return "has no name";
    if (name[0] == '/' || memchr(name, '\\', nbytes) != NULL || memchr(name, '\0', nbytes) != NULL)
        return "its name begins with '/', or has a backslash or a zero";
    if (zip_has_part(name, nbytes, "..") || zip_has_part(name, nbytes, "."))
        return "its name has a part '.' or '..'";
    return NULL;
}

static bool zip_check_name(const dlpark__zip_reader *reader, const zip_entry *entry, const dlpark__zip_member *member)
{
    const char *name = reader->zip->text + member->name.at, *why;
    size_t nbytes = member->name.nbytes;

    why = dlpark__zip_judge_name(name, nbytes, member->flags);
    if (why != NULL)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "name", entry->at, member, "%s", why);
    if (name[nbytes - 1] == '/')
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "folder", entry->at, member, "is a folder");
    return true;
}

/* How it is packed. */
static bool zip_check_packing(const dlpark__zip_reader *reader, const zip_entry *entry,
                              const dlpark__zip_member *member)
{
    if ((member->flags & ZIP_IS_ENCRYPTED) != 0)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_UNSUPPORTED, "encrypted", entry->at, member, "is encrypted");
    if (entry->version > ZIP_MOST_VERSION)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_UNSUPPORTED, "version", entry->at, member,
                                 "needs version %u.%u of the format, above 6.3", entry->version / 10,
                                 entry->version % 10);
    if ((member->flags & ~ZIP_FLAGS) != 0)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_UNSUPPORTED, "flags", entry->at, member,
                                 "has flags 0x%04X, of which 0x%04X are understood", (unsigned)member->flags,
                                 ZIP_FLAGS);
    if (member->method != DLPARK__ZIP_STORED && member->method != DLPARK__ZIP_DEFLATED)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_UNSUPPORTED, "method", entry->at, member,
                                 "is packed by method %u; 0 (stored) and 8 (deflated) are understood",
                                 (unsigned)member->method);
    if (member->method == DLPARK__ZIP_STORED && member->packed_nbytes != member->nbytes)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "size", entry->at, member,
                                 "is stored, has %llu bytes, and takes %llu", (unsigned long long)member->nbytes,
                                 (unsigned long long)member->packed_nbytes);
    if (member->nbytes / ZIP_MOST_RATIO > member->packed_nbytes)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "ratio", entry->at, member,
                                 "%llu bytes cannot be packed into %llu, at most 1032 into one",
                                 (unsigned long long)member->nbytes, (unsigned long long)member->packed_nbytes);
    return true;
}

static bool zip_check_entry(const dlpark__zip_reader *reader, const zip_entry *entry, dlpark__zip_member *member)
{
    uint64_t *const numbers[] = {&member->nbytes, &member->packed_nbytes, &member->header};
    const char *why = dlpark__zip_widen(entry->extra, entry->extra_nbytes, numbers, 3);

    if (why != NULL)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "extra", entry->at, member, "%s", why);
    if (entry->disk != 0)
        return DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "disks", entry->at, member, "is on disk %llu",
                                 (unsigned long long)entry->disk);
    return zip_check_packing(reader, entry, member) && zip_check_name(reader, entry, member);
}

/* The entry at `at` of the directory into `member`; its length, 0 where it does not end within the directory. */
static size_t zip_parse_entry(const dlpark__zip_reader *reader, size_t at, zip_entry *entry, dlpark__zip_member *member)
{
    const unsigned char *bytes = (const unsigned char *)reader->zip->text + at;
    size_t left = (size_t)reader->directory_nbytes - at;

    if (left < DLPARK__ZIP_ENTRY_NBYTES || memcmp(bytes, "PK\1\2", 4) != 0)
        return 0;
    size_t name = (size_t)dlpark__zip_number(bytes + 28, 2), extra = (size_t)dlpark__zip_number(bytes + 30, 2);
    size_t nbytes = DLPARK__ZIP_ENTRY_NBYTES + name + extra + (size_t)dlpark__zip_number(bytes + 32, 2);
    if (nbytes > left)
        return 0;
    *member = (dlpark__zip_member){
        .name = {(uint32_t)(at + DLPARK__ZIP_ENTRY_NBYTES), (uint32_t)name},
        .flags = (uint16_t)dlpark__zip_number(bytes + 8, 2),
        .method = (uint16_t)dlpark__zip_number(bytes + 10, 2),
        .crc32 = (uint32_t)dlpark__zip_number(bytes + 16, 4),
        .packed_nbytes = dlpark__zip_number(bytes + 20, 4),
        .nbytes = dlpark__zip_number(bytes + 24, 4),
        .header = dlpark__zip_number(bytes + 42, 4),
    };
    *entry = (zip_entry){reader->directory + at, bytes[6], dlpark__zip_number(bytes + 34, 2),
                         bytes + DLPARK__ZIP_ENTRY_NBYTES + name, extra};
    return nbytes;
}

static void zip_parse_directory(const dlpark__zip_reader *reader)
{
    dlpark__zip *zip = reader->zip;
    size_t at = 0;

    for (; zip->count < reader->count; zip->count++) {
        zip_entry entry;
        dlpark__zip_member *member = &zip->members[zip->count];
        size_t nbytes = zip_parse_entry(reader, at, &entry, member);
        if (nbytes == 0) {
            (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "directory", reader->directory + at, NULL,
                                    "no whole entry of member %zu is here, of %llu", zip->count,
                                    (unsigned long long)reader->count);
            return;
        }
        if (!zip_check_entry(reader, &entry, member))
            return;
        at += nbytes;
    }
    if (at != reader->directory_nbytes)
        (void)DLPARK__ZIP_FAULT(reader, DLPARK_E_FORMAT, "count", reader->directory + at, NULL,
                                "%llu bytes are in the directory behind the last of %zu members",
                                (unsigned long long)(reader->directory_nbytes - at), zip->count);
}

static dlpark_status zip_read_directory(const dlpark__zip_reader *reader, dlpark_error *err)
{
    dlpark__zip *zip = reader->zip;

    zip->text = malloc((size_t)reader->directory_nbytes + 1);
    zip->members = calloc((size_t)reader->count + 1, sizeof *zip->members);
    if (zip->text == NULL || zip->members == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for a directory of %llu bytes",
                                reader->source->name.text, (unsigned long long)reader->directory_nbytes);
    DLPARK_TRY(
        dlpark__source_read(reader->source, reader->directory, zip->text, (size_t)reader->directory_nbytes, err));
    zip_parse_directory(reader);
    return DLPARK_OK;
}

/* ---- The whole ---- */

dlpark_status dlpark__zip_read(dlpark__zip *zip, const dlpark__source *source, uint64_t max_nbytes,
                               dlpark__file_faults *faults, dlpark_error *err)
{
    dlpark__zip_reader reader = {.source = source, .faults = faults, .zip = zip};

    DLPARK_TRY(dlpark__zip_find_directory(&reader, max_nbytes, err));
    if (faults->count != 0)
        return DLPARK_OK;
    DLPARK_TRY(zip_read_directory(&reader, err));
    if (faults->count != 0)
        return DLPARK_OK;
    return dlpark__zip_check_members(&reader, err);
}

void dlpark__zip_end(dlpark__zip *zip)
{
    free(zip->text);
    free(zip->members);
    *zip = (dlpark__zip){NULL, NULL, 0};
}
