/*
 * Sharded checkpoints: one index of the tensors of many files, each of which is read and checked as it would be alone.
 *
 * A shard is opened by its name in the folder of the index, once, and no link is followed unless that is asked for: who
 * writes an index cannot have another file of the machine taken for a shard. An index that is stale is told apart from one
 * that lacks files, as the remedies are different.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../core/internal.h"
#include "../json.h"
#include "shards_map.h"

/* Whether the tensor of a pair was found where the index says. */
typedef struct shards_found {
    bool is_there;
    uint32_t elsewhere; /* one more than the number of another shard that has it; 0: none */
} shards_found;

typedef struct shards_reader {
    const dlpark__format_job *job;
    dlpark__shards_map map;
    shards_found *found; /* of each pair */
    int folder;          /* of the index */
    char *path;          /* that folder with a slash behind it, or "", and room for a name */
    size_t path_nbytes;
} shards_reader;

void dlpark__shards_end(dlpark__shards *shards)
{
    for (size_t i = 0; i < shards->count; i++)
        dlpark__source_release(shards->items[i].source);
    free(shards->items);
    *shards = (dlpark__shards){NULL, 0};
}

const dlpark__shard *dlpark__shards_find(const dlpark__shards *shards, int64_t index)
{
    size_t low = 0, high = shards->count; /* it is in [low, high) */

    if (high == 0)
        return NULL;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if ((int64_t)shards->items[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return &shards->items[low];
}

/* ---- Faults ---- */

static dlpark_file_name shards_shown(const dlpark__shard *shard)
{
    return dlpark_file_name_text(shard->text, strlen(shard->text));
}

/* What is wrong with a shard as a file: where the index names it first. */
#define SHARDS_FAULT(reader, status, rule, shard, ...)                                                                 \
    (void)dlpark__file_faults_add((reader)->job->faults, (status),                                                     \
                                  &(dlpark__file_fault_place){(rule), (uint64_t)(shard)->name.at - 1, NULL, 0},        \
                                  __VA_ARGS__)

/* What is wrong with a tensor of the index, which is in two shards, or is said to be in one. */
static dlpark__file_fault_place shards_place(const shards_reader *reader, const char *rule, size_t pair)
{
    dlpark__span_text key = reader->map.weights.pairs[pair].key;

    return (dlpark__file_fault_place){rule, (uint64_t)key.at - 1, reader->job->index->text + key.at, key.nbytes};
}

/* ---- Opening ---- */

/* The folder of the index: all names are looked up in this one. */
static dlpark_status shards_open_folder(shards_reader *reader, dlpark_error *err)
{
    const char *path = reader->job->path, *slash = strrchr(path, '/');
    size_t nbytes = slash != NULL ? (size_t)(slash - path) + 1 : 0;

    reader->path = malloc(nbytes + 256);
    if (reader->path == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    memcpy(reader->path, path, nbytes);
    strcpy(reader->path + nbytes, nbytes == 0 ? "." : "");
    do
        reader->folder = open(reader->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (reader->folder < 0 && errno == EINTR);
    reader->path_nbytes = nbytes;
    if (reader->folder >= 0)
        return DLPARK_OK;
    dlpark__source_name name = dlpark__source_name_of(reader->path);
    return dlpark__source_fail(&name, errno, err);
}

/* Why a shard could not be opened. What is wrong with the checkpoint is a fault, the rest a status. */
static dlpark_status shards_refuse(const shards_reader *reader, const dlpark__shard *shard,
                                   const dlpark__source_name *name, int failed, dlpark_error *err)
{
    const dlpark__shards *shards = reader->job->shards;

    if (failed == ENOENT) {
        SHARDS_FAULT(reader, DLPARK_E_NOT_FOUND, "shard-missing", shard, "there is no shard '%s' beside the index",
                     shards_shown(shard).text);
        return DLPARK_OK;
    }
    if (failed == ELOOP && !reader->job->options->follow_links) {
        SHARDS_FAULT(
            reader, DLPARK_E_PERMISSION, "shard-link", shard,
            "the shard '%s' is a link; such are followed when that is asked for, as in a cache of Hugging Face "
            "(follow_links, --follow-links)",
            shards_shown(shard).text);
        return DLPARK_OK;
    }
    dlpark_error own;
    dlpark_status status = dlpark__source_fail(name, failed, &own);
    return dlpark_error_set(err, status, "%s; it is shard %zu of %zu%s", own.message,
                            (size_t)(shard - shards->items) + 1, shards->count,
                            failed == EMFILE ? ", and each is an open file (ulimit -n)" : "");
}

/* Leaves the source NULL where there is a fault. */
static dlpark_status shards_open(const shards_reader *reader, dlpark__shard *shard, dlpark_error *err)
{
    const dlpark_file_options *options = reader->job->options;
    int flags =
        O_RDONLY | O_CLOEXEC | O_NONBLOCK | (options->follow_links ? 0 : O_NOFOLLOW); /* no pipe is waited for */
    struct stat status;
    int descriptor;

    strcpy(reader->path + reader->path_nbytes, shard->text);
    dlpark__source_name name = dlpark__source_name_of(reader->path);
    do
        descriptor = openat(reader->folder, shard->text, flags);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return shards_refuse(reader, shard, &name, errno, err);
    int failed = fstat(descriptor, &status) == 0 ? 0 : errno;
    if (failed == 0 && S_ISREG(status.st_mode))
        return dlpark__source_adopt(&shard->source, descriptor, &name, options->is_private, err);
    (void)close(descriptor);
    if (failed != 0)
        return dlpark__source_fail(&name, failed, err);
    SHARDS_FAULT(reader, DLPARK_E_FORMAT, "shard-kind", shard, "the shard '%s' is not a regular file",
                 shards_shown(shard).text);
    return DLPARK_OK;
}

/* ---- One shard ---- */

/* The tensors that the index says are in this shard, out of the shard's own index. */
static dlpark_status shards_take(shards_reader *reader, size_t number, const dlpark__index *own, dlpark_error *err)
{
    dlpark__index *index = reader->job->index;
    dlpark__file_faults *faults = reader->job->faults;
    int64_t shape[DLPARK_MAX_NDIM];

    for (size_t i = 0; i < own->count; i++) {
        dlpark__index_entry entry = own->entries[i];
        const char *name = own->text + entry.name.at;
        int64_t pair = dlpark__names_find(&reader->map.names, name, entry.name.nbytes);
        if (pair < 0) { /* who reads by the index never sees it */
            const dlpark__file_fault_place place = {"tensor-unlisted", entry.begin, name, entry.name.nbytes};
            if (faults->lists)
                (void)dlpark__file_faults_add(faults, DLPARK_E_FORMAT, &place,
                                              "is in the shard '%s', and the index does not name it",
                                              shards_shown(&reader->job->shards->items[number]).text);
            continue;
        }
        if (reader->map.shard_of[pair] != number) {
            reader->found[pair].elsewhere = (uint32_t)number + 1;
            continue;
        }
        reader->found[pair].is_there = true;
        entry.name = reader->map.weights.pairs[pair].key;
        dlpark__index_shape(own, &entry, shape);
        if (!dlpark__index_add(index, &entry, shape))
            return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for its %zu tensors",
                                    reader->job->source->name.text, reader->map.weights.pairs_count);
    }
    return DLPARK_OK;
}

/* A shard as the file that it is. */
static dlpark_status shards_read_one(shards_reader *reader, size_t number, dlpark_error *err)
{
    dlpark__shard *shard = &reader->job->shards->items[number];
    dlpark__file_faults *all = reader->job->faults, faults = *all;
    dlpark__index own = {0};
    dlpark__format_job job = {
        .source = shard->source, .options = reader->job->options, .index = &own, .faults = &faults};
    size_t nbytes = shard->source->nbytes < sizeof job.head ? (size_t)shard->source->nbytes : sizeof job.head;
    size_t listed = all->count < all->capacity ? all->count : all->capacity;
    dlpark_file_name shown = shards_shown(shard);

    faults.within = shown.text;
    faults.count = 0;
    faults.capacity -= listed;
    faults.list = listed > 0 ? all->list + listed : all->list;
    DLPARK_TRY(dlpark__source_read(shard->source, 0, job.head, nbytes, err));
    dlpark_status status = dlpark__format_safetensors.read(&job, err);
    all->count += faults.count;
    all->status = faults.count > 0 ? faults.status : all->status;
    shard->is_read = status == DLPARK_OK && faults.count == 0;
    if (shard->is_read) {
        reader->job->index->types = own.types;
        status = shards_take(reader, number, &own, err);
    }
    dlpark__index_end(&own);
    return status;
}

/* ---- All shards ---- */

/* Whether one tensor was found where the index says, and nowhere else. False ends the reading. */
static bool shards_check_one(const shards_reader *reader, size_t pair)
{
    const dlpark__shard *shards = reader->job->shards->items;
    dlpark__file_faults *faults = reader->job->faults;
    shards_found found = reader->found[pair];
    size_t said = reader->map.shard_of[pair], other = found.elsewhere > 0 ? found.elsewhere - 1 : said;
    dlpark_file_name names[] = {shards_shown(&shards[said]), shards_shown(&shards[other])};

    if (other != said && found.is_there) {
        const dlpark__file_fault_place place = shards_place(reader, "tensor-twice", pair);
        return dlpark__file_faults_add(faults, DLPARK_E_FORMAT, &place, "is in the shard '%s', and in '%s' too",
                                       names[0].text, names[1].text);
    }
    if (other != said) {
        const dlpark__file_fault_place place = shards_place(reader, "tensor-elsewhere", pair);
        return dlpark__file_faults_add(faults, DLPARK_E_FORMAT, &place,
                                       "is in the shard '%s', and the index says in '%s': it is stale", names[1].text,
                                       names[0].text);
    }
    if (!found.is_there && shards[said].is_read) {
        const dlpark__file_fault_place place = shards_place(reader, "tensor-missing", pair);
        return dlpark__file_faults_add(faults, DLPARK_E_FORMAT, &place,
                                       "is not in the shard '%s', where the index says, nor in another", names[0].text);
    }
    return true;
}

/* What the index says of all bytes together is a hint, and only told who asks for every fault. */
static void shards_check_total(const shards_reader *reader)
{
    const dlpark__index *index = reader->job->index;
    unsigned long long nbytes = 0;
    uint64_t total;
    dlpark__json json;

    for (size_t i = 0; i < index->count; i++)
        nbytes += index->entries[i].nbytes;
    for (size_t i = 0; i < index->pairs_count; i++) {
        dlpark__index_pair pair = index->pairs[i];
        if (pair.key.nbytes != 10 || memcmp(index->text + pair.key.at, "total_size", 10) != 0)
            continue;
        dlpark__json_begin(&json, index->text + pair.value.at, pair.value.nbytes);
        if (!dlpark__json_uint(&json, "total_size", &total) || total == nbytes)
            continue;
        const dlpark__file_fault_place place = {"total-size", pair.value.at, NULL, 0};
        (void)dlpark__file_faults_add(reader->job->faults, DLPARK_E_FORMAT, &place,
                                      "metadata has a total_size of %llu, and the tensors have %llu bytes",
                                      (unsigned long long)total, nbytes);
    }
}

static dlpark_status shards_read_each(shards_reader *reader, dlpark_error *err)
{
    dlpark__shards *shards = reader->job->shards;
    const dlpark__file_faults *faults = reader->job->faults;

    for (size_t i = 0; i < shards->count; i++) {
        shards->items[i].first = (uint32_t)reader->job->index->count;
        DLPARK_TRY(shards_open(reader, &shards->items[i], err));
        if (shards->items[i].source != NULL)
            DLPARK_TRY(shards_read_one(reader, i, err));
        if (faults->count != 0 && !faults->lists)
            break;
    }
    return DLPARK_OK;
}

static dlpark_status shards_read_all(shards_reader *reader, dlpark_error *err)
{
    const dlpark__file_faults *faults = reader->job->faults;
    int64_t twin = -1; /* names of pairs, of which each comes once */

    DLPARK_TRY(shards_open_folder(reader, err));
    reader->found = calloc(reader->map.weights.pairs_count + 1, sizeof *reader->found);
    if (reader->found == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    DLPARK_TRY(shards_read_each(reader, err));
    bool goes_on = faults->count == 0 || faults->lists;
    for (size_t i = 0; i < reader->map.weights.pairs_count && goes_on; i++)
        goes_on = shards_check_one(reader, i);
    if (faults->count == 0 && faults->lists)
        shards_check_total(reader);
    if (faults->count != 0)
        return DLPARK_OK;
    dlpark__index_trim(reader->job->index);
    if (!dlpark__index_find_names(reader->job->index, &twin))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    return DLPARK_OK;
}

static dlpark_status shards_read(const dlpark__format_job *job, dlpark_error *err)
{
    shards_reader reader = {.job = job, .folder = -1};
    dlpark_status status = dlpark__shards_map_read(&reader.map, job, err);

    if (status == DLPARK_OK && job->faults->count == 0 && job->path == NULL)
        status = dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                                  "%s: is the index of %zu shards, which lie beside it: it is opened by its path",
                                  job->source->name.text, job->shards->count);
    else if (status == DLPARK_OK && job->faults->count == 0)
        status = shards_read_all(&reader, err);
    if (reader.folder >= 0)
        (void)close(reader.folder);
    dlpark__shards_map_end(&reader.map);
    free(reader.path);
    free(reader.found);
    return status;
}

/* ---- Writing ---- */

static dlpark_status shards_plan(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                                 const dlpark_file_write_options *options, dlpark_error *err)
{
    (void)parts;
    (void)options;
    *plan = (dlpark__write_plan){.head = NULL};
    return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                            "an index file holds no tensors, and %zu were given: write the shards, and then "
                            "dlpark_file_save_index(), or let `dlpark split` do it",
                            count);
}

const dlpark__format dlpark__format_shards = {
    .format = DLPARK_FILE_SHARDS,
    .name = "safetensors-index",
    .suffix = ".safetensors.index.json",
    .matches = dlpark__shards_map_begins,
    .read = shards_read,
    .plan = shards_plan,
};
