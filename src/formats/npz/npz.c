/*
 * An archive of NumPy arrays: a ZIP whose members are .npy files. Those that are stored lie in the file as they are, and
 * are mapped; those that are deflated are unpacked by the function that the options give.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../format.h"
#include "../npy/npy_header.h"
#include "unpack.h"
#include "zip.h"

/* So much of a member is read at first: headers are rarely longer. */
#define NPZ_USUAL_HEADER ((size_t)256)

/* So many bytes those that are longer have together, as deflated a header takes no room in the file. */
#define NPZ_MOST_HEADERS UINT64_C(100000000)

/* What an open file keeps. */
typedef struct npz_state {
    dlpark__zip zip;
    unsigned char *text; /* the header that was read last */
    uint64_t headers;    /* bytes of those that are longer than usual */
    /* The member that was read last and not to its end: who goes on where it stopped needs not begin anew. Whoever reads
     * takes it out. */
    _Atomic(dlpark__unpack *) kept;
} npz_state;

static bool npz_matches(const unsigned char *head, size_t nbytes)
{
    return nbytes >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

static void npz_end(void *context)
{
    npz_state *state = context;

    dlpark__unpack_end(atomic_load_explicit(&state->kept, memory_order_relaxed));
    dlpark__zip_end(&state->zip);
    free(state->text);
    free(state);
}

/* ---- Members ---- */

/* A member, as its header is read. */
typedef struct npz_member {
    const dlpark__zip_member *zip;
    dlpark__unpack *unpack; /* NULL: it is stored */
    dlpark__npy_text text;
} npz_member;

static dlpark__file_fault_place npz_place(const char *rule, const npz_member *member)
{
    return (dlpark__file_fault_place){rule, member->zip->begin, member->text.name, member->text.name_nbytes};
}

#define NPZ_FAULT(job, status, rule, member, ...)                                                                      \
    ((void)dlpark__file_faults_add((job)->faults, (status), (dlpark__file_fault_place[]){npz_place((rule), (member))}, \
                                   __VA_ARGS__))

/* So many of its first bytes into the state's text, which has room for them. False after a fault or on failure. */
static bool npz_read_text(const dlpark__format_job *job, npz_state *state, npz_member *member, uint64_t nbytes,
                          dlpark_status *status, dlpark_error *err)
{
    size_t had = member->text.nbytes, more = (size_t)nbytes - had;
    unsigned char *grown = realloc(state->text, (size_t)nbytes + 1);

    *status = DLPARK_OK;
    if (grown == NULL) {
        *status = dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
        return false;
    }
    state->text = grown;
    if (member->unpack != NULL)
        *status = dlpark__unpack_read(member->unpack, grown + had, more, err);
    else
        *status = dlpark__source_read(job->source, member->zip->begin + had, grown + had, more, err);
    if (*status == DLPARK_OK && member->unpack != NULL && member->unpack->fault != NULL)
        NPZ_FAULT(job, DLPARK_E_FORMAT, "deflate", member, "%s", member->unpack->fault);
    member->text.bytes = grown;
    member->text.nbytes = (size_t)nbytes;
    return *status == DLPARK_OK && (member->unpack == NULL || member->unpack->fault == NULL);
}

static dlpark_status npz_add(const dlpark__format_job *job, const npz_member *member, const dlpark__npy_header *header,
                             dlpark_error *err)
{
    const dlpark__zip_member *zip = member->zip;
    bool is_compressed = zip->method == DLPARK__ZIP_DEFLATED;

    if (header->header_nbytes + header->nbytes != zip->nbytes) {
        NPZ_FAULT(job, DLPARK_E_FORMAT, "size", member, "its array has %llu bytes with its header, the member %llu",
                  (unsigned long long)(header->header_nbytes + header->nbytes), (unsigned long long)zip->nbytes);
        return DLPARK_OK;
    }
    const dlpark__index_entry entry = {
        .name = dlpark__zip_tensor_name(job->index->text, zip->name),
        .ndim = (uint16_t)header->ndim,
        .type = header->type,
        .is_column_major = header->is_column_major,
        .is_compressed = is_compressed,
        .begin = is_compressed ? zip->begin : zip->begin + header->header_nbytes,
        .nbytes = header->nbytes,
    };
    if (!dlpark__index_add(job->index, &entry, header->shape))
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for its %zu tensors", job->source->name.text,
                                job->index->count);
    return DLPARK_OK;
}

/* What a long header takes of what all of them have. */
static bool npz_spend(const dlpark__format_job *job, npz_state *state, const npz_member *member, uint64_t nbytes)
{
    uint64_t most = job->options->max_header_nbytes;

    most = most == 0 || most > NPZ_MOST_HEADERS ? NPZ_MOST_HEADERS : most;
    state->headers += nbytes; /* each is below 2^32 */
    if (state->headers <= most)
        return true;
    NPZ_FAULT(job, DLPARK_E_LIMIT, "header-size", member,
              "the headers of arrays to this one have %llu bytes, more than %llu", (unsigned long long)state->headers,
              (unsigned long long)most);
    return false;
}

/* The header of the array that a member is, and its entry. */
static dlpark_status npz_read_array(const dlpark__format_job *job, npz_state *state, npz_member *member,
                                    dlpark_error *err)
{
    dlpark__npy_header header;
    dlpark_status status;
    uint64_t nbytes = member->zip->nbytes < NPZ_USUAL_HEADER ? member->zip->nbytes : NPZ_USUAL_HEADER;

    if (!npz_read_text(job, state, member, nbytes, &status, err))
        return status;
    if (!dlpark__npy_matches(member->text.bytes, member->text.nbytes)) {
        NPZ_FAULT(job, DLPARK_E_UNSUPPORTED, "npy", member, "is no array: it does not begin as an .npy file does");
        return DLPARK_OK;
    }
    if (!dlpark__npy_header_nbytes(&member->text, &nbytes))
        return DLPARK_OK;
    if (nbytes > member->text.nbytes && !npz_spend(job, state, member, nbytes))
        return DLPARK_OK;
    if (nbytes > member->text.nbytes && !npz_read_text(job, state, member, nbytes, &status, err))
        return status;
    if (!dlpark__npy_read_header(&member->text, &header))
        return DLPARK_OK;
    return npz_add(job, member, &header, err);
}

static dlpark_status npz_read_member(const dlpark__format_job *job, npz_state *state, const dlpark__zip_member *zip,
                                     dlpark_error *err)
{
    const dlpark_inflate *inflate = job->options->inflate;
    dlpark__span_text name = dlpark__zip_tensor_name(job->index->text, zip->name);
    npz_member member = {zip,
                         NULL,
                         {.array_nbytes = zip->nbytes,
                          .at = zip->begin,
                          .is_packed = zip->method == DLPARK__ZIP_DEFLATED,
                          .name = job->index->text + name.at,
                          .name_nbytes = name.nbytes,
                          .max_header_nbytes = job->options->max_header_nbytes,
                          .faults = job->faults}};

    if (zip->method == DLPARK__ZIP_DEFLATED && inflate == NULL) {
        NPZ_FAULT(job, DLPARK_E_UNSUPPORTED, "deflate", &member,
                  "is deflated, and nothing to unpack it was given: dlpark_zlib_inflate() of libdlpark-zlib does");
        return DLPARK_OK;
    }
    if (zip->method == DLPARK__ZIP_DEFLATED)
        DLPARK_TRY(dlpark__unpack_begin(&member.unpack, job->source, inflate, zip->begin, zip->packed_nbytes, err));
    dlpark_status status = npz_read_array(job, state, &member, err);
    dlpark__unpack_end(member.unpack);
    return status;
}

/* ---- The whole ---- */

/* A tensor "x.npy" beside a tensor "x". */
static void npz_check_shadows(const dlpark__format_job *job, const npz_state *state)
{
    const dlpark__index *index = job->index;

    for (size_t i = 0; i < index->count; i++) {
        dlpark__span_text name = index->entries[i].name;
        dlpark__span_text file = dlpark__zip_tensor_name(index->text, name);
        dlpark__file_fault_place place = {"duplicate", state->zip.members[i].header, index->text + name.at,
                                          name.nbytes};
        if (file.nbytes < name.nbytes && dlpark__names_find(&index->names, index->text + file.at, file.nbytes) >= 0 &&
            !dlpark__file_faults_add(job->faults, DLPARK_E_FORMAT, &place,
                                     "NumPy takes its name for the file of the tensor without the .npy"))
            return;
    }
}

static dlpark_status npz_check_names(const dlpark__format_job *job, const npz_state *state, dlpark_error *err)
{
    dlpark__index *index = job->index;
    int64_t twin = -1;

    do {
        if (!dlpark__index_find_names(index, &twin))
            return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
        if (twin < 0)
            break;
        dlpark__span_text name = index->entries[twin].name;
        dlpark__file_fault_place place = {"duplicate", state->zip.members[twin].header, index->text + name.at,
                                          name.nbytes};
        if (!dlpark__file_faults_add(job->faults, DLPARK_E_FORMAT, &place, "there are two tensors of this name"))
            return DLPARK_OK;
    } while (true);
    npz_check_shadows(job, state);
    return DLPARK_OK;
}

/* The entries are in the order of the members, and so of their bytes: no two members overlap. */
static dlpark_status npz_read_members(const dlpark__format_job *job, npz_state *state, dlpark_error *err)
{
    for (size_t i = 0; i < state->zip.count; i++) {
        DLPARK_TRY(npz_read_member(job, state, &state->zip.members[i], err));
        if (job->faults->count != 0 && !job->faults->lists)
            return DLPARK_OK;
    }
    dlpark__index_trim(job->index);
    if (job->index->count != state->zip.count)
        return DLPARK_OK;
    return npz_check_names(job, state, err);
}

static dlpark_status npz_read(const dlpark__format_job *job, dlpark_error *err)
{
    npz_state *state = calloc(1, sizeof *state);

    if (state == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    atomic_init(&state->kept, NULL);
    *job->state = state;
    job->index->types = dlpark__npy_types;
    DLPARK_TRY(dlpark__zip_read(&state->zip, job->source, job->options->max_header_nbytes, job->faults, err));
    if (job->faults->count != 0)
        return DLPARK_OK;
    job->index->text = state->zip.text;
    state->zip.text = NULL;
    return npz_read_members(job, state, err);
}

/* ---- Deflated bytes ---- */

/* Goes on from where it is to `from`, and from there; at its end all of it is judged. */
static dlpark_status npz_unpack(dlpark__unpack *unpack, const dlpark__zip_member *member, uint64_t from,
                                unsigned char *to, uint64_t nbytes, dlpark_error *err)
{
    DLPARK_TRY(dlpark__unpack_read(unpack, NULL, from - unpack->done, err));
    DLPARK_TRY(dlpark__unpack_read(unpack, to, nbytes, err));
    if (unpack->fault == NULL && unpack->done == member->nbytes)
        DLPARK_TRY(dlpark__unpack_finish(unpack, member->crc32, err));
    return DLPARK_OK;
}

static dlpark_status npz_read_bytes(const dlpark_file *file, int64_t index, uint64_t begin, unsigned char *to,
                                    uint64_t nbytes, dlpark_error *err)
{
    npz_state *state = file->state;
    const dlpark__index_entry *entry = &file->index.entries[index];
    const dlpark__zip_member *member = &state->zip.members[index];
    uint64_t from = member->nbytes - entry->nbytes + begin;
    dlpark__unpack *unpack = atomic_exchange(&state->kept, NULL);

    if (unpack != NULL && (unpack->begin != member->begin || unpack->done > from)) {
        dlpark__unpack_end(unpack);
        unpack = NULL;
    }
    if (unpack == NULL)
        DLPARK_TRY(dlpark__unpack_begin(&unpack, file->source, file->options.inflate, member->begin,
                                        member->packed_nbytes, err));
    dlpark_status status = npz_unpack(unpack, member, from, to, nbytes, err);
    if (status == DLPARK_OK && unpack->fault != NULL)
        status = dlpark_error_set(err, DLPARK_E_FORMAT, "%s: tensor '%s': %s (byte %llu)", file->source->name.text,
                                  dlpark_file_name_text(file->index.text + entry->name.at, entry->name.nbytes).text,
                                  unpack->fault, (unsigned long long)member->begin);
    if (status == DLPARK_OK && unpack->done < member->nbytes)
        unpack = atomic_exchange(&state->kept, unpack);
    dlpark__unpack_end(unpack);
    return status;
}

const dlpark__format dlpark__format_npz = {
    .format = DLPARK_FILE_NPZ,
    .name = "npz",
    .suffix = ".npz",
    .matches = npz_matches,
    .read = npz_read,
    .read_bytes = npz_read_bytes,
    .end = npz_end,
    .plan = dlpark__npz_plan,
};
