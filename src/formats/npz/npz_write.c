/*
 * An archive of NumPy arrays to be written: its members are stored, begin so that their data are aligned, and carry no
 * time, so that the same tensors make the same file. Their check sums are known when the tensors are there; then the
 * headers are written, and the directory behind the last member.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../format.h"
#include "crc32.h"
#include "zip_parts.h"

#define NPZ_WRITE_ALIGNMENT ((size_t)64)
#define NPZ_WRITE_DATE      0x0021u /* 1980-01-01, the first that there is */
#define NPZ_WRITE_END_MOST  ((size_t)98)

/* Extra fields: ZIP64; and the one that Android's tools align members with. */
#define NPZ_WRITE_WIDE          0x0001u
#define NPZ_WRITE_PADDING       0xD935u
#define NPZ_WRITE_PADDING_LEAST ((size_t)6)

/* Texts that grow at their end. */
typedef struct npz_write_text {
    char *bytes;
    size_t nbytes, room;
} npz_write_text;

typedef struct npz_write_member {
    dlpark__span_text name; /* in the directory, without ".npy" */
    size_t header;          /* in the headers; with the array's */
    size_t header_nbytes;
    size_t array_header_nbytes; /* of them, at the end */
    size_t entry;               /* in the directory */
    uint64_t at;                /* in the file */
    uint64_t data_nbytes;
} npz_write_member;

/* All but the data. */
typedef struct npz_write_plan {
    npz_write_text headers;
    npz_write_text directory; /* and the records at the end */
    npz_write_member *members;
    size_t count;
    uint64_t directory_at;
} npz_write_plan;

static void npz_write_end(void *context)
{
    npz_write_plan *state = context;

    free(state->headers.bytes);
    free(state->directory.bytes);
    free(state->members);
    free(state);
}

/* ---- Texts ---- */

/* Room for so many bytes more. False: out of memory. */
static bool npz_write_reserve(npz_write_text *text, size_t nbytes)
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

static void npz_write_put(npz_write_text *text, const void *bytes, size_t nbytes)
{
    memcpy(text->bytes + text->nbytes, bytes, nbytes);
    text->nbytes += nbytes;
}

static void npz_write_number_at(char *bytes, uint64_t number, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++, number >>= 8)
        bytes[i] = (char)(number & 0xFF);
}

static void npz_write_number(npz_write_text *text, uint64_t number, size_t nbytes)
{
    npz_write_number_at(text->bytes + text->nbytes, number, nbytes);
    text->nbytes += nbytes;
}

/* As it stands in a field of 32 bits. */
static void npz_write_narrow(npz_write_text *text, uint64_t number)
{
    npz_write_number(text, number < DLPARK__ZIP_FULL_32 ? number : DLPARK__ZIP_FULL_32, 4);
}

/* ---- Members ---- */

/* What a header and an entry of the directory have in common. */
typedef struct npz_write_shared {
    const char *name; /* without ".npy" */
    size_t name_nbytes;
    uint64_t nbytes; /* of the array, with its header */
    bool is_wide;    /* and that leaves 32 bits */
    size_t padding;  /* bytes of that extra field */
} npz_write_shared;

/* The version that is needed, flags, method, time, date, sum, sizes, length of the name. */
static void npz_write_common(npz_write_text *text, const npz_write_shared *shared, bool is_wide)
{
    bool is_ascii = true;

    for (size_t i = 0; i < shared->name_nbytes; i++)
        is_ascii &= (unsigned char)shared->name[i] < 0x80;
    npz_write_number(text, is_wide ? 45 : 20, 2);
    npz_write_number(text, is_ascii ? 0 : DLPARK__ZIP_IS_UTF8, 2);
    npz_write_number(text, DLPARK__ZIP_STORED, 2);
    npz_write_number(text, 0, 2);
    npz_write_number(text, NPZ_WRITE_DATE, 2);
    npz_write_number(text, 0, 4);
    npz_write_narrow(text, shared->nbytes);
    npz_write_narrow(text, shared->nbytes);
    npz_write_number(text, shared->name_nbytes + 4, 2);
}

static void npz_write_name(npz_write_text *text, const npz_write_shared *shared)
{
    npz_write_put(text, shared->name, shared->name_nbytes);
    npz_write_put(text, ".npy", 4);
}

static void npz_write_header(npz_write_text *text, const npz_write_shared *shared, const dlpark__write_plan *array)
{
    npz_write_put(text, "PK\3\4", 4);
    npz_write_common(text, shared, shared->is_wide);
    npz_write_number(text, (shared->is_wide ? 20U : 0U) + shared->padding, 2);
    npz_write_name(text, shared);
    if (shared->is_wide) {
        npz_write_number(text, NPZ_WRITE_WIDE, 2);
        npz_write_number(text, 16, 2);
        npz_write_number(text, shared->nbytes, 8);
        npz_write_number(text, shared->nbytes, 8);
    }
    if (shared->padding != 0) {
        npz_write_number(text, NPZ_WRITE_PADDING, 2);
        npz_write_number(text, shared->padding - 4, 2);
        memset(text->bytes + text->nbytes, 0, shared->padding - 4);
        text->nbytes += shared->padding - 4;
    }
    npz_write_put(text, array->head, array->head_nbytes);
}

static void npz_write_entry(npz_write_text *text, const npz_write_shared *shared, uint64_t at)
{
    bool is_far = at >= DLPARK__ZIP_FULL_32;
    size_t wide = (shared->is_wide ? 16U : 0U) + (is_far ? 8U : 0U);

    npz_write_put(text, "PK\1\2", 4);
    npz_write_number(text, 20, 2);
    npz_write_common(text, shared, wide != 0);
    npz_write_number(text, wide != 0 ? wide + 4 : 0, 2);
    npz_write_number(text, 0, 2); /* comment, */
    npz_write_number(text, 0, 2); /* disk, */
    npz_write_number(text, 0, 2); /* what kind of text, */
    npz_write_number(text, 0, 4); /* and attributes: none */
    npz_write_narrow(text, at);
    npz_write_name(text, shared);
    if (wide == 0)
        return;
    npz_write_number(text, NPZ_WRITE_WIDE, 2);
    npz_write_number(text, wide, 2);
    if (shared->is_wide) {
        npz_write_number(text, shared->nbytes, 8);
        npz_write_number(text, shared->nbytes, 8);
    }
    if (is_far)
        npz_write_number(text, at, 8);
}

/* The bytes of the extra field that brings what is behind it from `at` to a multiple; it has some bytes of its own. */
static size_t npz_write_padding(uint64_t at, size_t alignment)
{
    size_t padding = (size_t)(-at & (alignment - 1));

    while (padding != 0 && padding < NPZ_WRITE_PADDING_LEAST)
        padding += alignment;
    return padding;
}

/* Into both texts; and how far the file goes then. */
static dlpark_status npz_write_member_add(npz_write_plan *state, npz_write_shared *shared,
                                          const dlpark__write_plan *array, size_t alignment, uint64_t *reached,
                                          dlpark_error *err)
{
    npz_write_text *headers = &state->headers, *directory = &state->directory;
    npz_write_member *member = &state->members[state->count];
    size_t plain = DLPARK__ZIP_LOCAL_NBYTES + shared->name_nbytes + 4 + array->head_nbytes;

    shared->nbytes = array->nbytes;
    shared->is_wide = shared->nbytes >= DLPARK__ZIP_FULL_32;
    plain += shared->is_wide ? 20U : 0U;
    shared->padding = npz_write_padding(*reached + plain, alignment);
    if (!npz_write_reserve(headers, plain + shared->padding) ||
        !npz_write_reserve(directory, DLPARK__ZIP_ENTRY_NBYTES + shared->name_nbytes + 4 + 28))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    *member = (npz_write_member){
        .name = {(uint32_t)(directory->nbytes + DLPARK__ZIP_ENTRY_NBYTES), (uint32_t)shared->name_nbytes},
        .header = headers->nbytes,
        .header_nbytes = plain + shared->padding,
        .array_header_nbytes = array->head_nbytes,
        .entry = directory->nbytes,
        .at = *reached,
        .data_nbytes = array->nbytes - array->head_nbytes,
    };
    npz_write_header(headers, shared, array);
    npz_write_entry(directory, shared, *reached);
    if (directory->nbytes > DLPARK__ZIP_MOST_DIRECTORY)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "the names have more than %llu bytes with what is said of them",
                                (unsigned long long)DLPARK__ZIP_MOST_DIRECTORY);
    *reached += member->header_nbytes + member->data_nbytes; /* each is below 2^63 */
    if (*reached > INT64_MAX)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "the tensors have more than 2^63-1 bytes together");
    state->count++;
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

static dlpark_status npz_write_part(npz_write_plan *state, const dlpark_file_part *part, size_t alignment,
                                    uint64_t *reached, dlpark_error *err)
{
    const dlpark_file_write_options plain = {.format = DLPARK_FILE_NPY};
    npz_write_shared shared = {.name = part->name, .name_nbytes = dlpark__write_name_nbytes(part)};
    dlpark__write_plan array;

    DLPARK_TRY(npz_write_check_name(part, shared.name_nbytes, err));
    DLPARK_TRY(dlpark__format_npy.plan(&array, part, 1, &plain, err));
    dlpark_status status = npz_write_member_add(state, &shared, &array, alignment, reached, err);
    dlpark__write_plan_end(&array);
    return status;
}

/* ---- The end ---- */

/* A tensor "x.npy" beside a tensor "x"; -1: none. */
static int64_t npz_write_find_shadow(const npz_write_plan *state, const dlpark__names *names,
                                     const dlpark_file_part *parts)
{
    for (size_t i = 0; i < state->count; i++) {
        size_t nbytes = dlpark__write_name_nbytes(&parts[i]);
        if (nbytes >= 4 && memcmp(parts[i].name + nbytes - 4, ".npy", 4) == 0 &&
            dlpark__names_find(names, parts[i].name, nbytes - 4) >= 0)
            return (int64_t)i;
    }
    return -1;
}

static dlpark_status npz_write_check_names(const npz_write_plan *state, const dlpark_file_part *parts,
                                           dlpark_error *err)
{
    dlpark__names names = {0};
    int64_t twin = -1;

    if (!dlpark__names_begin(&names, state->directory.bytes, state->members, sizeof *state->members, state->count))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < state->count && twin < 0; i++)
        twin = dlpark__names_add(&names, i);
    int64_t shadow = twin < 0 ? npz_write_find_shadow(state, &names, parts) : -1;
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

/* The records behind the directory; those in 64 bits where they are needed. */
static dlpark_status npz_write_records(npz_write_plan *state, dlpark_error *err)
{
    npz_write_text *text = &state->directory;
    uint64_t nbytes = text->nbytes, count = state->count, at = state->directory_at;

    if (!npz_write_reserve(text, NPZ_WRITE_END_MOST))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    if (count >= DLPARK__ZIP_FULL_16 || at >= DLPARK__ZIP_FULL_32) { /* the directory itself is never so large */
        npz_write_put(text, "PK\6\6", 4);
        npz_write_number(text, 44, 8);
        npz_write_number(text, 45, 2);
        npz_write_number(text, 45, 2);
        npz_write_number(text, 0, 8);
        npz_write_number(text, count, 8);
        npz_write_number(text, count, 8);
        npz_write_number(text, nbytes, 8);
        npz_write_number(text, at, 8);
        npz_write_put(text, "PK\6\7", 4);
        npz_write_number(text, 0, 4);
        npz_write_number(text, at + nbytes, 8);
        npz_write_number(text, 1, 4);
    }
    uint64_t narrow = count < DLPARK__ZIP_FULL_16 ? count : DLPARK__ZIP_FULL_16;
    npz_write_put(text, "PK\5\6", 4);
    npz_write_number(text, 0, 4);
    npz_write_number(text, narrow, 2);
    npz_write_number(text, narrow, 2);
    npz_write_narrow(text, nbytes);
    npz_write_narrow(text, at);
    npz_write_number(text, 0, 2);
    return DLPARK_OK;
}

/* The sums into the headers and the directory, and all of it into the file. */
static dlpark_status npz_write_finish(void *context, const _Atomic(uint32_t) *sums, const dlpark__replace *file,
                                      dlpark_error *err)
{
    npz_write_plan *state = context;

    for (size_t i = 0; i < state->count; i++) {
        const npz_write_member *member = &state->members[i];
        char *header = state->headers.bytes + member->header;
        size_t array = member->header_nbytes - member->array_header_nbytes;
        uint32_t sum = dlpark__crc32_add(DLPARK__CRC32_BEGIN, header + array, member->array_header_nbytes);
        sum = dlpark__crc32_shift(sum, member->data_nbytes) ^ atomic_load_explicit(&sums[i], memory_order_relaxed);
        npz_write_number_at(header + 14, sum ^ DLPARK__CRC32_BEGIN, 4);
        npz_write_number_at(state->directory.bytes + member->entry + 16, sum ^ DLPARK__CRC32_BEGIN, 4);
        DLPARK_TRY(dlpark__replace_write(file, member->at, header, member->header_nbytes, err));
    }
    return dlpark__replace_write(file, state->directory_at, state->directory.bytes, state->directory.nbytes, err);
}

/* ---- The plan ---- */

static dlpark_status npz_write_make(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                                    size_t alignment, dlpark_error *err)
{
    npz_write_plan *state = plan->state;
    uint64_t reached = 0;

    state->members = calloc(count + 1, sizeof *state->members);
    plan->places = calloc(count + 1, sizeof *plan->places);
    if (state->members == NULL || plan->places == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < count; i++) {
        DLPARK_TRY(npz_write_part(state, &parts[i], alignment, &reached, err));
        const npz_write_member *member = &state->members[i];
        plan->places[i] = (dlpark__write_place){member->at + member->header_nbytes, member->data_nbytes};
    }
    DLPARK_TRY(npz_write_check_names(state, parts, err));
    state->directory_at = reached;
    DLPARK_TRY(npz_write_records(state, err));
    plan->nbytes = reached + state->directory.nbytes; /* above 2^63-1 it is told when the file is made */
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
    plan->state = calloc(1, sizeof(npz_write_plan));
    if (plan->state == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    plan->finish = npz_write_finish;
    plan->end = npz_write_end;
    size_t alignment = options->alignment_bytes != 0 ? options->alignment_bytes : NPZ_WRITE_ALIGNMENT;
    dlpark_status status = npz_write_make(plan, parts, count, alignment, err);
    if (status != DLPARK_OK)
        dlpark__write_plan_end(plan);
    return status;
}
