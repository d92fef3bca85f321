/*
 * A GGUF file: four letters, a version, two counts, so many pairs, so many tensors, and behind them the bytes of the
 * tensors, each at a multiple of the file's alignment.
 *
 * The rules are those of ggml and of the specification. docs/tensor-files.md lists where a file is read that ggml does
 * not read, and the other way round.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "gguf_parts.h"

#define GGUF_MAX_HEADER UINT64_C(100000000)
#define GGUF_PREFIX     24 /* letters, version, counts */

/* The least that a pair and a tensor take: a letter, a byte; no letter, no dimension. */
#define GGUF_PAIR_LEAST   14
#define GGUF_TENSOR_LEAST 24

static bool gguf_matches(const unsigned char *head, size_t nbytes)
{
    return nbytes >= 4 && memcmp(head, "GGUF", 4) == 0;
}

/* ---- The beginning ---- */

static bool gguf_check_version(dlpark__gguf_reader *reader, uint64_t version)
{
    unsigned long number = (unsigned long)version, turned = (unsigned long)__builtin_bswap32((uint32_t)version);

    if (version == 2 || version == 3)
        return true;
    if ((number & 0xFFFF) == 0 && number != 0)
        (void)DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "big-endian", 4,
                                 "is a big-endian GGUF file (version %lu), which is not read", turned);
    else
        (void)DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "version", 4, "is of version %lu, and 2 and 3 are read",
                                 number);
    return false;
}

/* So many of them cannot be: they do not fit in the file, or in an index. */
static bool gguf_check_count(dlpark__gguf_reader *reader, uint64_t count, uint64_t least, uint64_t offset,
                             const char *what)
{
    uint64_t left = dlpark__gguf_left(reader);

    if (count > left / least)
        (void)DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "count", offset,
                                 "%llu %s do not fit in the %llu bytes behind byte 24", (unsigned long long)count, what,
                                 (unsigned long long)left);
    else if (count > DLPARK__NAMES_MOST)
        (void)DLPARK__GGUF_FAULT(reader, DLPARK_E_LIMIT, "count", offset, "has %llu %s, more than %zu",
                                 (unsigned long long)count, what, DLPARK__NAMES_MOST);
    else
        return true;
    return false;
}

static bool gguf_read_prefix(dlpark__gguf_reader *reader, const dlpark__format_job *job)
{
    uint64_t letters, version;

    if (!gguf_matches(job->head, job->source->nbytes < sizeof job->head ? (size_t)job->source->nbytes : 4)) {
        (void)DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "magic", 0, "does not begin with 'GGUF'");
        return false;
    }
    return dlpark__gguf_take(reader, 4, "'GGUF'", &letters) && dlpark__gguf_take(reader, 4, "the version", &version) &&
           gguf_check_version(reader, version) &&
           dlpark__gguf_take(reader, 8, "the number of tensors", &reader->ntensors) &&
           dlpark__gguf_take(reader, 8, "the number of metadata", &reader->npairs) &&
           gguf_check_count(reader, reader->ntensors, GGUF_TENSOR_LEAST, 8, "tensors") &&
           gguf_check_count(reader, reader->npairs, GGUF_PAIR_LEAST, 16, "metadata");
}

/* ---- The whole ---- */

static bool gguf_read_header(dlpark__gguf_reader *reader, const dlpark__format_job *job)
{
    if (!gguf_read_prefix(reader, job))
        return false;
    for (uint64_t i = 0; i < reader->npairs; i++)
        if (!dlpark__gguf_read_pair(reader))
            return false;
    for (uint64_t i = 0; i < reader->ntensors; i++)
        if (!dlpark__gguf_read_tensor(reader))
            return false;
    return true;
}

static uint64_t gguf_pad(const dlpark__gguf_reader *reader, uint64_t at)
{
    return (at + reader->alignment - 1) & ~(reader->alignment - 1);
}

/* What follows the header. The padding may be missing where nothing comes behind it. */
static void gguf_find_data(dlpark__gguf_reader *reader)
{
    uint64_t at = gguf_pad(reader, dlpark__gguf_at(reader)), nbytes = reader->source->nbytes;

    reader->data_begin = at < nbytes ? at : nbytes;
    reader->data_nbytes = nbytes - reader->data_begin;
}

#define GGUF_ENTRY_PLACE(reader, rule, offset, entry)                                                                  \
    {                                                                                                                  \
        (rule), (offset), (reader)->index->text + (entry)->name.at, (entry)->name.nbytes                               \
    }

/* Tensors that are not within the file have no place in the index. */
static void gguf_drop_outside(dlpark__gguf_reader *reader)
{
    dlpark__index *index = reader->index;
    size_t kept = 0;
    bool goes_on = true;

    for (size_t i = 0; i < index->count && goes_on; i++) {
        const dlpark__index_entry *entry = &index->entries[i];
        unsigned long long begin = entry->begin, nbytes = entry->nbytes, data = reader->data_nbytes;
        if (begin <= data && nbytes <= data - begin) {
            index->entries[kept++] = *entry;
            continue;
        }
        reader->has_outside = true;
        dlpark__file_fault_place place =
            GGUF_ENTRY_PLACE(reader, "truncated", dlpark__gguf_place_of(index, entry->name), entry);
        goes_on = dlpark__file_faults_add(reader->faults, DLPARK_E_FORMAT, &place,
                                          "its %llu bytes begin at %llu of the data, of which the file has %llu",
                                          nbytes, begin, data);
    }
    index->count = kept;
}

/* Padding apart, each byte belongs to one tensor. The entries are in order, and end within the file. */
static void gguf_check_cover(dlpark__gguf_reader *reader)
{
    const dlpark__index *index = reader->index;
    uint64_t reached = 0;
    bool goes_on = true;

    for (size_t i = 0; i < index->count && goes_on; i++) {
        const dlpark__index_entry *entry = &index->entries[i];
        bool is_overlap = entry->begin < reached;
        dlpark__file_fault_place place =
            GGUF_ENTRY_PLACE(reader, is_overlap ? "overlap" : "hole", reader->data_begin + entry->begin, entry);
        if (is_overlap)
            goes_on =
                dlpark__file_faults_add(reader->faults, DLPARK_E_FORMAT, &place,
                                        "begins at %llu of the data, before %llu, where the tensor before it ends",
                                        (unsigned long long)entry->begin, (unsigned long long)reached);
        else if (entry->begin > gguf_pad(reader, reached) && !reader->has_outside)
            goes_on = dlpark__file_faults_add(reader->faults, DLPARK_E_FORMAT, &place,
                                              "begins at %llu of the data, and bytes from %llu on belong to no tensor",
                                              (unsigned long long)entry->begin,
                                              (unsigned long long)gguf_pad(reader, reached));
        if (entry->begin + entry->nbytes > reached)
            reached = entry->begin + entry->nbytes;
    }
    reached = gguf_pad(reader, reached);
    if (goes_on && reached < reader->data_nbytes && !reader->has_outside)
        (void)dlpark__file_faults_add(reader->faults, DLPARK_E_FORMAT,
                                      &(dlpark__file_fault_place){"trailing", reader->data_begin + reached, NULL, 0},
                                      "%llu bytes behind the last tensor and its padding belong to none",
                                      (unsigned long long)(reader->data_nbytes - reached));
}

static dlpark_status gguf_check_names(dlpark__gguf_reader *reader, dlpark_error *err)
{
    dlpark__index *index = reader->index;
    int64_t twin = -1;
    bool goes_on = true;

    do {
        if (!dlpark__index_find_names(index, &twin))
            return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
        if (twin < 0)
            break;
        const dlpark__index_entry *entry = &index->entries[twin];
        dlpark__file_fault_place place =
            GGUF_ENTRY_PLACE(reader, "duplicate", dlpark__gguf_place_of(index, entry->name), entry);
        goes_on =
            dlpark__file_faults_add(reader->faults, DLPARK_E_FORMAT, &place, "there are two tensors of this name");
    } while (goes_on);
    return DLPARK_OK;
}

static dlpark_status gguf_check_keys(dlpark__gguf_reader *reader, dlpark_error *err)
{
    const dlpark__index *index = reader->index;
    dlpark__names keys = {0};
    bool goes_on = true;

    if (!dlpark__names_begin(&keys, index->text, index->pairs, sizeof *index->pairs, index->pairs_count))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < index->pairs_count && goes_on; i++) {
        dlpark__span_text key = index->pairs[i].key;
        if (dlpark__names_add(&keys, i) >= 0)
            goes_on = DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "duplicate", dlpark__gguf_place_of(index, key),
                                         "there are two metadata '%s'",
                                         dlpark_file_name_text(index->text + key.at, key.nbytes).text);
    }
    dlpark__names_end(&keys);
    return DLPARK_OK;
}

static dlpark_status gguf_check(dlpark__gguf_reader *reader, dlpark_error *err)
{
    const dlpark__file_faults *faults = reader->faults;

    reader->name.nbytes = UINT32_MAX;
    gguf_find_data(reader);
    gguf_drop_outside(reader);
    dlpark__index_trim(reader->index);
    dlpark__index_sort(reader->index);
    if (faults->count == 0 || faults->lists)
        DLPARK_TRY(gguf_check_names(reader, err));
    if (faults->count == 0 || faults->lists)
        DLPARK_TRY(gguf_check_keys(reader, err));
    if (faults->count == 0 || faults->lists)
        gguf_check_cover(reader);
    for (size_t i = 0; i < reader->index->count; i++)
        reader->index->entries[i].begin += reader->data_begin;
    return DLPARK_OK;
}

static dlpark_status gguf_read(const dlpark__format_job *job, dlpark_error *err)
{
    uint64_t most = job->options->max_header_nbytes;
    dlpark__gguf_reader reader = {
        .source = job->source,
        .index = job->index,
        .faults = job->faults,
        .err = err,
        .most = most == 0 || most > GGUF_MAX_HEADER ? GGUF_MAX_HEADER : most,
        .name.nbytes = UINT32_MAX,
        .alignment = DLPARK__GGUF_ALIGNMENT,
    };

    job->index->types = dlpark__gguf_types;
    bool is_read = gguf_read_header(&reader, job);
    free(reader.window);
    return is_read ? gguf_check(&reader, err) : reader.status;
}

const dlpark__format dlpark__format_gguf = {
    .format = DLPARK_FILE_GGUF,
    .name = "gguf",
    .suffix = ".gguf",
    .matches = gguf_matches,
    .read = gguf_read,
    .load_value = dlpark__gguf_load_value,
    .plan = dlpark__gguf_plan,
};
