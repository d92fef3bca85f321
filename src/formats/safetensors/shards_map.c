/*
 * The index file of a sharded checkpoint: JSON of metadata, and of a shard's name for each tensor.
 *
 * No specification says more. So what two readers could take for two things is refused, as in a header of safetensors; and
 * the name of a shard is the name of a file, and never a path.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../json.h"
#include "shards_map.h"

#define SHARDS_MAP_MOST   UINT64_C(100000000) /* bytes */
#define SHARDS_MAP_SHARDS ((size_t)100000)
#define SHARDS_MAP_NAME   ((size_t)255) /* of a shard: more is no name of a file */

typedef struct shards_map_reader {
    dlpark__json json;
    const dlpark__format_job *job;
    dlpark__shards_map *map;
    bool has_metadata;
    bool has_weights;
    bool is_starved; /* out of memory, or of numbers */
} shards_map_reader;

void dlpark__shards_map_end(dlpark__shards_map *map)
{
    dlpark__names_end(&map->names);
    dlpark__index_end(&map->weights);
    free(map->shard_of);
    *map = (dlpark__shards_map){.shard_of = NULL};
}

bool dlpark__shards_map_begins(const unsigned char *head, size_t nbytes)
{
    size_t first = 0;

    while (first < nbytes && (head[first] == ' ' || head[first] == '\n' || head[first] == '\r' || head[first] == '\t'))
        first++;
    return first < nbytes && head[first] == '{' && memchr(head, '\0', nbytes < 8 ? nbytes : 8) == NULL;
}

bool dlpark__shards_is_plain(const char *name, size_t nbytes)
{
    bool is_folder = nbytes == 0 || (nbytes <= 2 && memcmp(name, "..", nbytes) == 0);

    return !is_folder && nbytes <= SHARDS_MAP_NAME && memchr(name, '/', nbytes) == NULL &&
           memchr(name, '\0', nbytes) == NULL;
}

/* ---- JSON ---- */

static bool shards_map_is(const dlpark__json_text *text, const char *word)
{
    return text->nbytes == strlen(word) && memcmp(text->text, word, text->nbytes) == 0;
}

static bool shards_map_add(shards_map_reader *reader, dlpark__index *index, const dlpark__json_text *key,
                           const dlpark__json_text *value)
{
    const char *text = reader->json.text;
    dlpark__span_text spans[] = {{(uint32_t)(key->text - text), (uint32_t)key->nbytes},
                                 {(uint32_t)(value->text - text), (uint32_t)value->nbytes}};

    reader->is_starved = !dlpark__index_add_pair(index, spans[0], spans[1]);
    return !reader->is_starved;
}

/* The value of a metadata: a text, or a number, which is kept as it is written. Any other is left out. */
static bool shards_map_read_value(shards_map_reader *reader, const dlpark__json_text *key)
{
    dlpark__json *json = &reader->json;
    dlpark__json_text value;
    char first = dlpark__json_peek(json);
    size_t begin = json->at;

    if (first == '"') {
        if (!dlpark__json_string(json, "a text in quotation marks", &value))
            return false;
        return shards_map_add(reader, reader->job->index, key, &value);
    }
    if (!dlpark__json_skip(json))
        return false;
    if (strchr("-0123456789", first) == NULL)
        return true;
    value = (dlpark__json_text){json->text + begin, json->at - begin};
    return shards_map_add(reader, reader->job->index, key, &value);
}

static bool shards_map_read_metadata(shards_map_reader *reader, size_t at)
{
    dlpark__json *json = &reader->json;
    dlpark__json_text key;
    bool is_empty;

    if (reader->has_metadata)
        return dlpark__json_fail(json, at, "there are two \"metadata\"");
    reader->has_metadata = true;
    if (dlpark__json_peek(json) == 'n') /* null */
        return dlpark__json_skip(json);
    if (!dlpark__json_open(json, '{', "the '{' of metadata", &is_empty))
        return false;
    if (is_empty)
        return true;
    do {
        if (!dlpark__json_key(json, &key) || !shards_map_read_value(reader, &key))
            return false;
    } while (dlpark__json_more(json, '}'));
    return json->fault[0] == '\0';
}

static bool shards_map_read_weights(shards_map_reader *reader, size_t at)
{
    dlpark__json *json = &reader->json;
    dlpark__json_text name, shard;
    bool is_empty;

    if (reader->has_weights)
        return dlpark__json_fail(json, at, "there are two \"weight_map\"");
    reader->has_weights = true;
    if (!dlpark__json_open(json, '{', "the '{' of weight_map", &is_empty))
        return false;
    if (is_empty)
        return true;
    do {
        if (!dlpark__json_key(json, &name) || !dlpark__json_string(json, "the name of a shard", &shard) ||
            !shards_map_add(reader, &reader->map->weights, &name, &shard))
            return false;
    } while (dlpark__json_more(json, '}'));
    return json->fault[0] == '\0';
}

/* All of it up to the last brace. */
static bool shards_map_read_object(shards_map_reader *reader)
{
    dlpark__json *json = &reader->json;
    bool is_empty, is_read = true;

    if (!dlpark__json_open(json, '{', "the '{' of the index", &is_empty))
        return false;
    while (!is_empty && is_read) {
        dlpark__json_text name;
        (void)dlpark__json_peek(json);
        size_t at = json->at;
        if (!dlpark__json_key(json, &name))
            return false;
        if (shards_map_is(&name, "metadata"))
            is_read = shards_map_read_metadata(reader, at);
        else if (shards_map_is(&name, "weight_map"))
            is_read = shards_map_read_weights(reader, at);
        else
            is_read = dlpark__json_skip(json);
        is_empty = is_read && !dlpark__json_more(json, '}');
    }
    return is_read && json->fault[0] == '\0' && dlpark__json_end(json);
}

/* ---- Names ---- */

/* A fault of the index, at a text of it. */
static bool shards_map_fault(const shards_map_reader *reader, const char *rule, dlpark__span_text at,
                             dlpark__span_text name, const char *message)
{
    const dlpark__file_fault_place place = {rule, (uint64_t)at.at - 1, reader->json.text + name.at, name.nbytes};

    return dlpark__file_faults_add(reader->job->faults, DLPARK_E_FORMAT, &place, "%s", message);
}

/* The table of the names of tensors, each of which comes once. */
static dlpark_status shards_map_find_names(shards_map_reader *reader, dlpark_error *err)
{
    const dlpark__index *weights = &reader->map->weights;
    dlpark__names *names = &reader->map->names;

    if (!dlpark__names_begin(names, reader->json.text, weights->pairs, sizeof *weights->pairs, weights->pairs_count))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < weights->pairs_count; i++) {
        dlpark__span_text key = weights->pairs[i].key;
        if (dlpark__names_add(names, i) >= 0 &&
            !shards_map_fault(reader, "duplicate", key, key, "the index names it twice"))
            break;
    }
    return DLPARK_OK;
}

static dlpark_status shards_map_check_keys(shards_map_reader *reader, dlpark_error *err)
{
    const dlpark__index *index = reader->job->index;
    dlpark__file_faults *faults = reader->job->faults;
    dlpark__names keys = {0};
    bool goes_on = true;

    if (!dlpark__names_begin(&keys, index->text, index->pairs, sizeof *index->pairs, index->pairs_count))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < index->pairs_count && goes_on; i++) {
        dlpark__span_text key = index->pairs[i].key;
        const dlpark__file_fault_place place = {"duplicate", (uint64_t)key.at - 1, NULL, 0};
        if (dlpark__names_add(&keys, i) >= 0)
            goes_on = dlpark__file_faults_add(faults, DLPARK_E_FORMAT, &place, "metadata has two keys '%s'",
                                              dlpark_file_name_text(index->text + key.at, key.nbytes).text);
    }
    dlpark__names_end(&keys);
    return DLPARK_OK;
}

/* A shard that was not named before. False ends the reading. */
static bool shards_map_add_shard(shards_map_reader *reader, const dlpark__index_pair *pair)
{
    dlpark__shards *shards = reader->job->shards;
    dlpark__span_text name = pair->value;
    char *text = reader->json.text + name.at;

    if (shards->count == SHARDS_MAP_SHARDS) {
        const dlpark__file_fault_place place = {"shards", (uint64_t)name.at - 1, NULL, 0};
        (void)dlpark__file_faults_add(reader->job->faults, DLPARK_E_LIMIT, &place, "there are more than %zu shards",
                                      SHARDS_MAP_SHARDS);
        return false;
    }
    bool is_plain = dlpark__shards_is_plain(text, name.nbytes);
    text[name.nbytes] = '\0'; /* where its quotation mark was, which is read */
    shards->items[shards->count++].text = text;
    return is_plain || shards_map_fault(reader, "shard-name", name, pair->key,
                                        "the name of its shard is to be that of a file beside the index, of 1 to 255 "
                                        "bytes, without '/'");
}

/* The shards by their numbers, in the order in which they are named first. */
static void shards_map_add_shards(shards_map_reader *reader, dlpark__names *seen)
{
    const dlpark__index *weights = &reader->map->weights;
    dlpark__shards *shards = reader->job->shards;

    for (size_t i = 0; i < weights->pairs_count; i++) {
        size_t number = shards->count;
        shards->items[number].name = weights->pairs[i].value;
        int64_t twin = dlpark__names_add(seen, number);
        reader->map->shard_of[i] = (uint32_t)(twin >= 0 ? (size_t)twin : number);
        if (twin < 0 && !shards_map_add_shard(reader, &weights->pairs[i]))
            return;
    }
}

static int shards_map_compare(const void *left, const void *right)
{
    return strcmp(((const dlpark__shard *)left)->text, ((const dlpark__shard *)right)->text);
}

/* Brings the shards into the order of their names. `ranks` has room for the new number of each. */
static void shards_map_sort(shards_map_reader *reader, uint32_t *ranks)
{
    dlpark__shards *shards = reader->job->shards;

    for (size_t i = 0; i < shards->count; i++)
        shards->items[i].first = (uint32_t)i;
    qsort(shards->items, shards->count, sizeof *shards->items, shards_map_compare);
    for (size_t i = 0; i < shards->count; i++)
        ranks[shards->items[i].first] = (uint32_t)i;
    for (size_t i = 0; i < reader->map->weights.pairs_count; i++)
        reader->map->shard_of[i] = ranks[reader->map->shard_of[i]];
}

static dlpark_status shards_map_find_shards(shards_map_reader *reader, dlpark_error *err)
{
    size_t count = reader->map->weights.pairs_count;
    size_t room = count < SHARDS_MAP_SHARDS ? count : SHARDS_MAP_SHARDS;
    dlpark__shards *shards = reader->job->shards;
    dlpark__names seen = {0};
    /* One more each: the last candidate, which is one of the others, or one too many. */
    uint32_t *ranks = calloc(room + 1, sizeof *ranks);

    reader->map->shard_of = calloc(count + 1, sizeof *reader->map->shard_of);
    shards->items = calloc(room + 1, sizeof *shards->items);
    bool is_made = ranks != NULL && reader->map->shard_of != NULL && shards->items != NULL &&
                   dlpark__names_begin(&seen, reader->json.text, shards->items, sizeof *shards->items, room + 1);
    if (is_made) {
        shards_map_add_shards(reader, &seen);
        if (reader->job->faults->count == 0)
            shards_map_sort(reader, ranks);
    }
    dlpark__names_end(&seen);
    free(ranks);
    return is_made ? DLPARK_OK : dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
}

static dlpark_status shards_map_check(shards_map_reader *reader, dlpark_error *err)
{
    const dlpark__file_faults *faults = reader->job->faults;

    DLPARK_TRY(shards_map_find_names(reader, err));
    if (faults->count == 0 || faults->lists)
        DLPARK_TRY(shards_map_check_keys(reader, err));
    if (faults->count == 0 || faults->lists)
        DLPARK_TRY(shards_map_find_shards(reader, err));
    return DLPARK_OK;
}

/* ---- The whole ---- */

/* The text into the index of the job. */
static dlpark_status shards_map_load(shards_map_reader *reader, size_t *nbytes, dlpark_error *err)
{
    const dlpark__format_job *job = reader->job;
    uint64_t most = job->options->max_header_nbytes;
    unsigned long long given = job->source->nbytes;

    most = most == 0 || most > SHARDS_MAP_MOST ? SHARDS_MAP_MOST : most;
    if (given > most) {
        const dlpark__file_fault_place place = {"header-size", 0, NULL, 0};
        (void)dlpark__file_faults_add(job->faults, DLPARK_E_LIMIT, &place, "the index has %llu bytes, more than %llu",
                                      given, (unsigned long long)most);
        return DLPARK_OK;
    }
    job->index->text = malloc((size_t)given + 1);
    if (job->index->text == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for an index of %llu bytes",
                                job->source->name.text, given);
    DLPARK_TRY(dlpark__source_read(job->source, 0, job->index->text, (size_t)given, err));
    size_t valid = dlpark__utf8_check(job->index->text, (size_t)given);
    if (valid < given) {
        const dlpark__file_fault_place place = {"utf8", valid, NULL, 0};
        (void)dlpark__file_faults_add(job->faults, DLPARK_E_FORMAT, &place, "byte 0x%02X of the index is no UTF-8",
                                      (unsigned)(unsigned char)job->index->text[valid]);
    }
    *nbytes = (size_t)given;
    return DLPARK_OK;
}

static dlpark_status shards_map_starve(const shards_map_reader *reader, dlpark_error *err)
{
    size_t names = reader->map->weights.pairs_count, texts = reader->job->index->pairs_count;

    if (names == DLPARK__NAMES_MOST || texts == DLPARK__NAMES_MOST)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "%s: has more than %zu names or metadata",
                                reader->job->source->name.text, DLPARK__NAMES_MOST);
    return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for its %zu names", reader->job->source->name.text,
                            names);
}

dlpark_status dlpark__shards_map_read(dlpark__shards_map *map, const dlpark__format_job *job, dlpark_error *err)
{
    shards_map_reader reader = {.job = job, .map = map};
    size_t nbytes = 0;

    DLPARK_TRY(shards_map_load(&reader, &nbytes, err));
    if (job->faults->count != 0)
        return DLPARK_OK;
    dlpark__json_begin(&reader.json, job->index->text, nbytes);
    bool is_whole = shards_map_read_object(&reader);
    if (reader.is_starved)
        return shards_map_starve(&reader, err);
    if (is_whole && !reader.has_weights)
        is_whole = dlpark__json_fail(&reader.json, 0, "there is no \"weight_map\"");
    if (!is_whole) {
        const dlpark__file_fault_place place = {"json", reader.json.fault_at, NULL, 0};
        (void)dlpark__file_faults_add(job->faults, DLPARK_E_FORMAT, &place, "%s", reader.json.fault);
        return DLPARK_OK;
    }
    return shards_map_check(&reader, err);
}
