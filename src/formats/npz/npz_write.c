/*
 * An archive of NumPy arrays to be written: its members are stored, and begin so that their data are aligned, or are packed,
 * and carry no time, so that the same tensors make the same file. Their check sums are known when the tensors are there;
 * then the headers are written, and the directory behind the last member.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../format.h"
#include "crc32.h"
#include "npz_pack.h"

#define NPZ_WRITE_ALIGNMENT ((size_t)64)

static void npz_write_end(void *context)
{
    dlpark__npz_archive *archive = context;

    dlpark__npz_pack_end(archive->pack);
    free(archive->headers.bytes);
    free(archive->directory.bytes);
    free(archive->members);
    free(archive);
}

/* ---- Members ---- */

/* Where a member lies, and its bytes: stored, at a multiple of the alignment; to be packed, so far behind its header that what
 * is packed never reaches what is not. */
static void npz_write_lay(const dlpark__npz_archive *archive, dlpark__npz_record *record, dlpark__npz_member *member,
                          size_t alignment)
{
    bool is_packed = archive->pack != NULL;
    uint64_t most = is_packed ? dlpark__npz_pack_bound(record->nbytes) : record->nbytes;
    size_t plain = is_packed ? 0 : member->array_header_nbytes;

    record->method = is_packed ? DLPARK__ZIP_DEFLATED : DLPARK__ZIP_STORED;
    record->is_wide = member->is_wide = most >= DLPARK__ZIP_FULL_32;
    record->packed_nbytes = most;
    plain += dlpark__npz_header_nbytes(record);
    record->padding = is_packed ? 0 : dlpark__npz_padding(member->at + plain, alignment);
    member->header_nbytes = dlpark__npz_header_nbytes(record) + record->padding + member->array_header_nbytes;
    member->data_nbytes = record->nbytes - member->array_header_nbytes;
    member->data = member->at + dlpark__npz_header_nbytes(record) + record->padding + most - member->data_nbytes;
}

/* Into both texts; and how far the file goes then. */
static dlpark_status npz_write_member_add(dlpark__npz_archive *archive, dlpark__npz_record *record,
                                          const dlpark__write_plan *array, size_t alignment, uint64_t *reached,
                                          dlpark_error *err)
{
    dlpark__npz_text *headers = &archive->headers, *directory = &archive->directory;
    dlpark__npz_member *member = &archive->members[archive->count];

    *member = (dlpark__npz_member){
        .name = {(uint32_t)(directory->nbytes + DLPARK__ZIP_ENTRY_NBYTES), (uint32_t)record->name_nbytes},
        .header = headers->nbytes,
        .array_header_nbytes = array->head_nbytes,
        .entry = directory->nbytes,
        .at = *reached,
    };
    record->nbytes = array->nbytes;
    npz_write_lay(archive, record, member, alignment);
    if (!dlpark__npz_reserve(headers, member->header_nbytes) ||
        !dlpark__npz_reserve(directory, DLPARK__NPZ_ENTRY_MOST + record->name_nbytes))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    dlpark__npz_put_header(headers, record);
    dlpark__npz_put(headers, array->head, array->head_nbytes);
    dlpark__npz_put_entry(directory, record, *reached);
    if (directory->nbytes > DLPARK__ZIP_MOST_DIRECTORY)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "the names have more than %llu bytes with what is said of them",
                                (unsigned long long)DLPARK__ZIP_MOST_DIRECTORY);
    *reached = member->data + member->data_nbytes; /* below 2^63, and as much again */
    if (*reached > INT64_MAX)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "the tensors have more than 2^63-1 bytes together");
    archive->count++;
    return DLPARK_OK;
}

/* The name as it is to be in the archive. */
static dlpark_status npz_write_check_name(const dlpark_file_part *part, size_t nbytes, dlpark_error *err)
{
    const size_t most = DLPARK__ZIP_FULL_16 - 4;

    if (nbytes > most)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "tensor '%s': its name has %zu bytes, more than %zu",
                                dlpark__write_name(part).text, nbytes, most);
    char *name = malloc(nbytes + 4);
    if (name == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    memcpy(name, part->name, nbytes);
    memcpy(name + nbytes, ".npy", 4);
    const char *why = dlpark__zip_judge_name(name, nbytes + 4, DLPARK__ZIP_IS_UTF8);
    free(name);
    if (why != NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "tensor '%s': %s", dlpark__write_name(part).text, why);
    return DLPARK_OK;
}

static dlpark_status npz_write_part(dlpark__npz_archive *archive, const dlpark_file_part *part, size_t alignment,
                                    uint64_t *reached, dlpark_error *err)
{
    const dlpark_file_write_options plain = {.format = DLPARK_FILE_NPY};
    dlpark__npz_record record = {.name = part->name, .name_nbytes = dlpark__write_name_nbytes(part)};
    dlpark__write_plan array;

    DLPARK_TRY(npz_write_check_name(part, record.name_nbytes, err));
    DLPARK_TRY(dlpark__format_npy.plan(&array, part, 1, &plain, err));
    dlpark_status status = npz_write_member_add(archive, &record, &array, alignment, reached, err);
    dlpark__write_plan_end(&array);
    return status;
}

/* ---- The end ---- */

/* A tensor "x.npy" beside a tensor "x"; -1: none. */
static int64_t npz_write_find_shadow(const dlpark__npz_archive *archive, const dlpark__names *names,
                                     const dlpark_file_part *parts)
{
    for (size_t i = 0; i < archive->count; i++) {
        size_t nbytes = dlpark__write_name_nbytes(&parts[i]);
        if (nbytes >= 4 && memcmp(parts[i].name + nbytes - 4, ".npy", 4) == 0 &&
            dlpark__names_find(names, parts[i].name, nbytes - 4) >= 0)
            return (int64_t)i;
    }
    return -1;
}

static dlpark_status npz_write_check_names(const dlpark__npz_archive *archive, const dlpark_file_part *parts,
                                           dlpark_error *err)
{
    dlpark__names names = {0};
    int64_t twin = -1;

    if (!dlpark__names_begin(&names, archive->directory.bytes, archive->members, sizeof *archive->members,
                             archive->count))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < archive->count && twin < 0; i++)
        twin = dlpark__names_add(&names, i);
    int64_t shadow = twin < 0 ? npz_write_find_shadow(archive, &names, parts) : -1;
    dlpark__names_end(&names);
    if (twin >= 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "two of the tensors are called '%s'",
                                dlpark__write_name(&parts[twin]).text);
    if (shadow >= 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "tensor '%s': NumPy takes its name for the file of the tensor without the .npy, which "
                                "there is too",
                                dlpark__write_name(&parts[shadow]).text);
    return DLPARK_OK;
}

uint32_t dlpark__npz_sum(const dlpark__npz_archive *archive, const dlpark__npz_member *member, uint32_t sum)
{
    const char *array = archive->headers.bytes + member->header + member->header_nbytes - member->array_header_nbytes;
    uint32_t own = dlpark__crc32_add(DLPARK__CRC32_BEGIN, array, member->array_header_nbytes);

    return dlpark__crc32_shift(own, member->data_nbytes) ^ sum ^ DLPARK__CRC32_BEGIN;
}

/* The sums into the headers and the directory, and all of it into the file. */
static dlpark_status npz_write_finish(void *context, const _Atomic(uint32_t) *sums, const dlpark__replace *file,
                                      dlpark_error *err)
{
    dlpark__npz_archive *archive = context;

    if (archive->pack != NULL)
        return dlpark__npz_pack_finish(archive, sums, file, err);
    for (size_t i = 0; i < archive->count; i++) {
        const dlpark__npz_member *member = &archive->members[i];
        char *header = archive->headers.bytes + member->header;
        uint32_t sum = dlpark__npz_sum(archive, member, atomic_load_explicit(&sums[i], memory_order_relaxed));
        const dlpark__npz_record record = {
            .name_nbytes = member->name.nbytes,
            .sum = sum,
            .packed_nbytes = member->array_header_nbytes + member->data_nbytes,
            .nbytes = member->array_header_nbytes + member->data_nbytes,
            .is_wide = member->is_wide,
        };
        dlpark__npz_set_header(header, &record);
        dlpark__npz_set_entry(archive->directory.bytes + member->entry, sum);
        DLPARK_TRY(dlpark__replace_write(file, member->at, header, member->header_nbytes, err));
    }
    return dlpark__replace_write(file, archive->directory_at, archive->directory.bytes, archive->directory.nbytes, err);
}

static dlpark_status npz_write_advance(void *context, const dlpark_file_writer *writer, dlpark_error *err)
{
    return dlpark__npz_pack_advance(context, writer, err);
}

/* ---- The plan ---- */

static dlpark_status npz_write_make(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                                    const dlpark_deflate *deflate, size_t alignment, dlpark_error *err)
{
    dlpark__npz_archive *archive = plan->state;
    uint64_t reached = 0;

    archive->members = calloc(count + 1, sizeof *archive->members);
    plan->places = calloc(count + 1, sizeof *plan->places);
    if (deflate != NULL)
        archive->pack = dlpark__npz_pack_new(deflate);
    if (archive->members == NULL || plan->places == NULL || (deflate != NULL && archive->pack == NULL))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < count; i++) {
        DLPARK_TRY(npz_write_part(archive, &parts[i], alignment, &reached, err));
        plan->places[i] = (dlpark__write_place){archive->members[i].data, archive->members[i].data_nbytes};
    }
    DLPARK_TRY(npz_write_check_names(archive, parts, err));
    archive->directory_at = reached;
    if (!dlpark__npz_put_end(&archive->directory, archive->count, archive->directory_at))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    plan->nbytes = reached + archive->directory.nbytes; /* above 2^63-1 it is told when the file is made */
    if (deflate != NULL)
        archive->directory.nbytes = 0; /* it is written anew, in the same memory */
    return DLPARK_OK;
}

dlpark_status dlpark__npz_plan(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                               const dlpark_file_write_options *options, dlpark_error *err)
{
    *plan = (dlpark__write_plan){.head = NULL};
    if (options->nmetadata != 0)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "an npz file has no place for metadata, and %zu were given",
                                options->nmetadata);
    if (count > DLPARK__ZIP_MOST_MEMBERS)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "%zu tensors, more than %llu", count,
                                (unsigned long long)DLPARK__ZIP_MOST_MEMBERS);
    if (options->deflate != NULL && options->alignment_bytes != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "alignment_bytes is %zu, and what is deflated has none",
                                options->alignment_bytes);
    dlpark__npz_archive *archive = calloc(1, sizeof *archive);
    if (archive == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    *plan = (dlpark__write_plan){.finish = npz_write_finish, .state = archive, .end = npz_write_end};
    if (options->deflate != NULL)
        plan->advance = npz_write_advance;
    size_t alignment = options->alignment_bytes != 0 ? options->alignment_bytes : NPZ_WRITE_ALIGNMENT;
    dlpark_status status = npz_write_make(plan, parts, count, options->deflate, alignment, err);
    if (status != DLPARK_OK)
        dlpark__write_plan_end(plan);
    return status;
}
