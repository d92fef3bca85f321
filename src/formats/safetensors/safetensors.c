/*
 * The header of a safetensors file: 8 bytes of its length, JSON, and then nothing but the bytes of the tensors, each byte
 * of exactly one.
 *
 * The rules are the reference's, and stricter where it lets two readers see two files in one: a name comes once, at every
 * level. docs/tensor-files.md lists the differences.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "safetensors_parts.h"

#define SAFETENSORS_MAX_HEADER UINT64_C(100000000)

/* So much of a header is read at once, and worked on: a part of the second cache. */
#define SAFETENSORS_PIECE ((size_t)256 << 10)

/* A fault of the file, at a byte of the header. */
#define SAFETENSORS_HEADER_FAULT(reader, rule, at, ...)                                                                \
    (void)dlpark__file_faults_add(                                                                                     \
        (reader)->faults, DLPARK_E_FORMAT,                                                                             \
        &(dlpark__file_fault_place){(rule), DLPARK__SAFETENSORS_PREFIX + (uint64_t)(at), NULL, 0}, __VA_ARGS__)

/* ---- Metadata ---- */

static bool safetensors_read_metadata(dlpark__safetensors_reader *reader, size_t at)
{
    dlpark__json *json = &reader->json;
    dlpark__json_text key, value;
    bool is_empty;

    if (reader->has_metadata)
        return dlpark__json_fail(json, at, "there are two \"__metadata__\"");
    reader->has_metadata = true;
    if (dlpark__json_peek(json) == 'n') /* null, which the reference takes for none */
        return dlpark__json_skip(json);
    if (!dlpark__json_open(json, '{', "the '{' of __metadata__", &is_empty))
        return false;
    if (is_empty)
        return true;
    do {
        if (!dlpark__json_key(json, &key) || !dlpark__json_string(json, "a text in quotation marks", &value))
            return false;
        dlpark__span_text spans[] = {{(uint32_t)(key.text - json->text), (uint32_t)key.nbytes},
                                     {(uint32_t)(value.text - json->text), (uint32_t)value.nbytes}};
        reader->is_starved = !dlpark__index_add_pair(reader->index, spans[0], spans[1]);
        if (reader->is_starved)
            return false;
    } while (dlpark__json_more(json, '}'));
    return json->fault[0] == '\0';
}

/* ---- The whole ---- */

static bool safetensors_read_member(dlpark__safetensors_reader *reader)
{
    dlpark__json *json = &reader->json;
    dlpark__json_text name;

    (void)dlpark__json_peek(json);
    size_t at = json->at;
    if (!dlpark__json_key(json, &name))
        return false;
    return dlpark__safetensors_is(&name, "__metadata__") ? safetensors_read_metadata(reader, at)
                                                         : dlpark__safetensors_read_tensor(reader, at, &name);
}

static bool safetensors_read_object(dlpark__safetensors_reader *reader)
{
    dlpark__json *json = &reader->json;
    bool is_empty;

    if (json->at > 0) { /* some members were read as usual */
        if (!dlpark__json_more(json, '}'))
            return json->fault[0] == '\0';
    } else {
        if (!dlpark__json_open(json, '{', "the '{' of the header", &is_empty))
            return false;
        if (is_empty)
            return true;
    }
    do {
        if (!safetensors_read_member(reader) || !dlpark__safetensors_read_usual(reader))
            return false;
    } while (dlpark__json_more(json, '}'));
    return json->fault[0] == '\0';
}

/* Every byte belongs to one tensor. The entries are in order, and end within the file. */
static void safetensors_check_cover(dlpark__safetensors_reader *reader)
{
    const dlpark__index *index = reader->index;
    uint64_t reached = 0;
    unsigned long long data = reader->data_nbytes;

    for (size_t i = 0; i < index->count; i++) {
        const dlpark__index_entry *entry = &index->entries[i];
        uint64_t begin = entry->begin - reader->data_begin;
        dlpark__file_fault_place place = {begin < reached ? "overlap" : "hole", entry->begin,
                                          index->text + entry->name.at, entry->name.nbytes};
        bool goes_on = true;
        if (begin < reached)
            goes_on =
                dlpark__file_faults_add(reader->faults, DLPARK_E_FORMAT, &place,
                                        "begins at %llu of the data, before %llu, where the tensor before it ends",
                                        (unsigned long long)begin, (unsigned long long)reached);
        else if (begin > reached && !reader->has_outside)
            goes_on = dlpark__file_faults_add(reader->faults, DLPARK_E_FORMAT, &place,
                                              "begins at %llu of the data, and bytes from %llu on belong to no tensor",
                                              (unsigned long long)begin, (unsigned long long)reached);
        if (!goes_on)
            return;
        if (begin + entry->nbytes > reached)
            reached = begin + entry->nbytes;
    }
    if (reached < data && !reader->has_outside) {
        dlpark__file_fault_place place = {"trailing", reader->data_begin + reached, NULL, 0};
        (void)dlpark__file_faults_add(reader->faults, DLPARK_E_FORMAT, &place,
                                      "%llu byte%s behind the last tensor belong%s to none", data - reached,
                                      data - reached == 1 ? "" : "s", data - reached == 1 ? "s" : "");
    }
}

static dlpark_status safetensors_check_names(dlpark__safetensors_reader *reader, dlpark_error *err)
{
    dlpark__index *index = reader->index;
    int64_t twin = -1;

    do {
        if (!dlpark__index_find_names(index, &twin))
            return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
        if (twin < 0)
            break;
        dlpark__span_text name = index->entries[twin].name;
        dlpark__file_fault_place place = {"duplicate", DLPARK__SAFETENSORS_PREFIX + (uint64_t)name.at - 1,
                                          index->text + name.at, name.nbytes};
        if (!dlpark__file_faults_add(reader->faults, DLPARK_E_FORMAT, &place, "there are two tensors of this name"))
            break;
    } while (true);
    return DLPARK_OK;
}

static dlpark_status safetensors_check_keys(dlpark__safetensors_reader *reader, dlpark_error *err)
{
    const dlpark__index *index = reader->index;
    dlpark__names keys = {0};

    if (!dlpark__names_begin(&keys, index->text, index->pairs, sizeof *index->pairs, index->pairs_count))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < index->pairs_count; i++) {
        dlpark__span_text key = index->pairs[i].key;
        if (dlpark__names_add(&keys, i) < 0)
            continue;
        SAFETENSORS_HEADER_FAULT(reader, "duplicate", key.at - 1, "__metadata__ has two keys '%s'",
                                 dlpark_file_name_text(index->text + key.at, key.nbytes).text);
        if (!reader->faults->lists)
            break;
    }
    dlpark__names_end(&keys);
    return DLPARK_OK;
}

static DLPARK_COLD dlpark_status safetensors_fail_starved(const dlpark__safetensors_reader *reader,
                                                          const dlpark__source *source, dlpark_error *err)
{
    if (reader->index->pairs_count == DLPARK__NAMES_MOST) /* of tensors no header holds so many */
        return dlpark_error_set(err, DLPARK_E_LIMIT, "%s: has more than %zu texts of metadata", source->name.text,
                                DLPARK__NAMES_MOST);
    return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for its %zu tensors", source->name.text,
                            reader->index->count);
}

/* A piece at a time, of which what is usual is read while it is in the cache, and so for each piece that had something
 * usual: what a piece is too small for would be begun again and again. Tells what is no UTF-8. */
static dlpark_status safetensors_load_text(dlpark__safetensors_reader *reader, const dlpark__source *source,
                                           dlpark_error *err)
{
    dlpark__json *json = &reader->json;
    size_t loaded = 0, valid = 0, before = SIZE_MAX;

    while (loaded < json->end && loaded - valid < 4) { /* a character may be cut */
        size_t more = json->end - loaded < SAFETENSORS_PIECE ? json->end - loaded : SAFETENSORS_PIECE;
        DLPARK_TRY(dlpark__source_read(source, DLPARK__SAFETENSORS_PREFIX + loaded, json->text + loaded, more, err));
        loaded += more;
        memset(json->text + loaded, 0, DLPARK__SAFETENSORS_PADDING);
        valid += dlpark__utf8_check(json->text + valid, loaded - valid);
        if (json->at == before)
            continue;
        before = json->at;
        if (!dlpark__safetensors_read_usual(reader) || !dlpark__index_hash_names(reader->index))
            return safetensors_fail_starved(reader, source, err);
    }
    if (valid < json->end)
        SAFETENSORS_HEADER_FAULT(reader, "utf8", valid, "byte 0x%02X of the header is no UTF-8",
                                 (unsigned)(unsigned char)json->text[valid]);
    return DLPARK_OK;
}

/* The header's text into the index; what is wrong with its length, and with its UTF-8, is told. */
static dlpark_status safetensors_load(dlpark__safetensors_reader *reader, const dlpark__format_job *job,
                                      dlpark_error *err)
{
    uint64_t file_nbytes = job->source->nbytes, most = job->options->max_header_nbytes;
    unsigned long long header = 0, left;

    if (file_nbytes < DLPARK__SAFETENSORS_PREFIX) {
        (void)dlpark__file_faults_add(job->faults, DLPARK_E_FORMAT, &(dlpark__file_fault_place){"short", 0, NULL, 0},
                                      "has %llu bytes; a safetensors file has at least 8, the length of its header",
                                      (unsigned long long)file_nbytes);
        return DLPARK_OK;
    }
    for (int i = DLPARK__SAFETENSORS_PREFIX - 1; i >= 0; i--)
        header = header << 8 | job->head[i];
    left = file_nbytes - DLPARK__SAFETENSORS_PREFIX;
    most = most == 0 || most > SAFETENSORS_MAX_HEADER ? SAFETENSORS_MAX_HEADER : most;
    dlpark__file_fault_place place = {"header-size", 0, NULL, 0};
    if (header > left) {
        (void)dlpark__file_faults_add(
            job->faults, DLPARK_E_FORMAT, &place,
            "the header has %llu bytes by its length, and the file has %llu behind it: it is cut "
            "short, or no tensor file",
            header, left);
        return DLPARK_OK;
    }
    if (header > most) {
        (void)dlpark__file_faults_add(job->faults, DLPARK_E_LIMIT, &place, "the header has %llu bytes, more than %llu",
                                      header, (unsigned long long)most);
        return DLPARK_OK;
    }
    reader->index->text = malloc((size_t)header + DLPARK__SAFETENSORS_PADDING);
    if (reader->index->text == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for a header of %llu bytes",
                                job->source->name.text, header);
    reader->data_begin = DLPARK__SAFETENSORS_PREFIX + header;
    reader->data_nbytes = left - header;
    dlpark__json_begin(&reader->json, reader->index->text, (size_t)header);
    return safetensors_load_text(reader, job->source, err);
}

static dlpark_status safetensors_read(const dlpark__format_job *job, dlpark_error *err)
{
    dlpark__safetensors_reader reader = {.index = job->index, .faults = job->faults, .is_seamless = true};

    job->index->types = dlpark__safetensors_types;
    DLPARK_TRY(safetensors_load(&reader, job, err));
    if (job->faults->count != 0)
        return DLPARK_OK;
    bool is_whole = safetensors_read_object(&reader) && dlpark__json_end(&reader.json);
    if (reader.is_starved)
        return safetensors_fail_starved(&reader, job->source, err);
    if (reader.json.fault[0] != '\0')
        SAFETENSORS_HEADER_FAULT(&reader, "json", reader.json.fault_at, "%s", reader.json.fault);
    if (!is_whole)
        return DLPARK_OK;
    dlpark__index_trim(job->index);
    bool is_covered = reader.is_seamless && reader.reached == reader.data_nbytes; /* which each usual file is */
    if (!is_covered)
        dlpark__index_sort(job->index);
    DLPARK_TRY(safetensors_check_names(&reader, err));
    if (job->faults->count == 0 || job->faults->lists)
        DLPARK_TRY(safetensors_check_keys(&reader, err));
    if (!is_covered && (job->faults->count == 0 || job->faults->lists))
        safetensors_check_cover(&reader);
    return DLPARK_OK;
}

const dlpark__format dlpark__format_safetensors = {
    .format = DLPARK_FILE_SAFETENSORS,
    .name = "safetensors",
    .suffix = ".safetensors",
    .read = safetensors_read,
    .plan = dlpark__safetensors_plan,
};
