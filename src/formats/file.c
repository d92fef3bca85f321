/* Opening a file of any format, and asking what is in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/internal.h"
#include "access.h"
#include "format.h"
#include "json.h"

/* The one that takes what no other claims is the last. */
static const dlpark__format *const file_formats[] = {&dlpark__format_npy, &dlpark__format_npz, &dlpark__format_gguf,
                                                     &dlpark__format_shards, &dlpark__format_safetensors};

#define FILE_FORMATS (sizeof file_formats / sizeof file_formats[0])

/* ---- Formats ---- */

const dlpark__format *dlpark__format_find(dlpark_file_format format)
{
    for (size_t i = 0; i < FILE_FORMATS; i++)
        if (file_formats[i]->format == format)
            return file_formats[i];
    return NULL;
}

/* Whether a name ends so, in letters of either case. */
static bool file_ends_in(const char *end, const char *suffix)
{
    for (; *suffix != '\0'; end++, suffix++)
        if (*end != *suffix && !(*end >= 'A' && *end <= 'Z' && *end + ('a' - 'A') == *suffix))
            return false;
    return true;
}

const dlpark__format *dlpark__format_of_name(const char *path)
{
    size_t nbytes = strlen(path);

    for (size_t i = 0; i < FILE_FORMATS; i++) {
        size_t suffix_nbytes = strlen(file_formats[i]->suffix);
        if (nbytes > suffix_nbytes && file_ends_in(path + nbytes - suffix_nbytes, file_formats[i]->suffix))
            return file_formats[i];
    }
    return &dlpark__format_safetensors;
}

const char *dlpark_file_format_name(dlpark_file_format format)
{
    const dlpark__format *found = dlpark__format_find(format);

    if (found != NULL)
        return found->name;
    return format == DLPARK_FILE_ANY ? "any" : "unknown";
}

/* The format by a file's first bytes. */
static const dlpark__format *file_tell_format(const unsigned char *head, size_t nbytes)
{
    size_t i = 0;

    while (file_formats[i]->matches != NULL && !file_formats[i]->matches(head, nbytes))
        i++;
    return file_formats[i];
}

/* ---- Opening ---- */

/* Of a disk that takes many requests at once, and of two cores, eight get nearly all that there is. */
#define FILE_THREADS      8
#define FILE_MOST_THREADS 64

static dlpark_status file_check_options(const dlpark_file_options *options, dlpark_error *err)
{
    if (options->format != DLPARK_FILE_ANY && dlpark__format_find(options->format) == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "there is no file format %d", (int)options->format);
    if ((unsigned)options->float4 > DLPARK_FILE_FLOAT4_BYTES)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "there is no form %d of float4", (int)options->float4);
    if ((unsigned)options->access > DLPARK_FILE_ACCESS_READ)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "there is no access %d", (int)options->access);
    if ((unsigned)options->threads > FILE_MOST_THREADS)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "threads is %d, expected 0 to %d", options->threads,
                                FILE_MOST_THREADS);
    return DLPARK_OK;
}

/* Takes the source. Faults go to `faults`; a file with any is not opened. `path`: NULL where there is none. */
static dlpark_status file_read(dlpark_file *file, dlpark__source *source, const char *path,
                               const dlpark_file_options *options, dlpark__file_faults *faults, dlpark_error *err)
{
    file->source = source;
    file->options = *options;
    dlpark__format_job job = {source, {0}, &file->options, &file->index, faults, &file->state, &file->shards, path};
    size_t nbytes = source->nbytes < sizeof job.head ? (size_t)source->nbytes : sizeof job.head;
    DLPARK_TRY(dlpark__source_read(source, 0, job.head, nbytes, err));
    file->format = file_tell_format(job.head, nbytes);
    if (options->format == DLPARK_FILE_ANY || file->format->format == options->format)
        return file->format->read(&job, err);
    if (file->format->matches == NULL) {
        file->format = dlpark__format_find(options->format); /* which says what is missing */
        return file->format->read(&job, err);
    }
    (void)dlpark__file_faults_add(faults, DLPARK_E_FORMAT, &(dlpark__file_fault_place){"format", 0, NULL, 0},
                                  "is %s, and was to be %s", file->format->name,
                                  dlpark_file_format_name(options->format));
    return DLPARK_OK;
}

/* All but the source. */
static void file_end(dlpark_file *file)
{
    if (file->state != NULL)
        file->format->end(file->state);
    dlpark__index_end(&file->index);
    dlpark__shards_end(&file->shards);
}

/* All that was opened, into memory. */
static dlpark_status file_take(dlpark_file *file, dlpark_error *err)
{
    for (size_t i = 0; i < file->shards.count; i++)
        DLPARK_TRY(dlpark__source_take(file->shards.items[i].source, file->options.threads, err));
    return dlpark__source_take(file->source, file->options.threads, err);
}

/* Takes the source on success only. */
static dlpark_status file_make(dlpark_file **out, dlpark__source *source, const char *path,
                               const dlpark_file_options *options, dlpark_error *err)
{
    dlpark_file *file = calloc(1, sizeof *file);
    dlpark__file_faults faults = {.file = &source->name, .err = err};

    if (file == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    dlpark_status status = file_read(file, source, path, options, &faults, err);
    if (status == DLPARK_OK && faults.count != 0)
        status = faults.status;
    if (status == DLPARK_OK)
        file->options.access = dlpark__access_choose(source, options->access);
    if (status == DLPARK_OK && file->options.access == DLPARK_FILE_ACCESS_READ)
        status = file_take(file, err);
    if (status != DLPARK_OK) {
        file_end(file);
        free(file);
        return status;
    }
    *out = file;
    return DLPARK_OK;
}

/* What every way of opening begins with. */
static dlpark_status file_begin(dlpark_file *const *file, const dlpark_file_options *given,
                                dlpark_file_options *options, dlpark_error *err)
{
    *options = given != NULL ? *given : (dlpark_file_options){.format = DLPARK_FILE_ANY};
    options->threads = options->threads != 0 ? options->threads : FILE_THREADS;
    if (*file != NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the variable for the file holds one already");
    return file_check_options(options, err);
}

dlpark_status dlpark_file_open(dlpark_file **file, const char *path, const dlpark_file_options *options,
                               dlpark_error *err)
{
    dlpark_file_options own;
    dlpark__source *source = NULL;

    DLPARK_TRY(file_begin(file, options, &own, err));
    DLPARK_TRY(dlpark__source_open(&source, path, own.is_private, err));
    dlpark_status status = file_make(file, source, path, &own, err);
    if (status != DLPARK_OK)
        dlpark__source_release(source);
    return status;
}

dlpark_status dlpark_file_open_descriptor(dlpark_file **file, int descriptor, const char *name,
                                          const dlpark_file_options *options, dlpark_error *err)
{
    dlpark_file_options own;
    dlpark__source *source = NULL;

    DLPARK_TRY(file_begin(file, options, &own, err));
    DLPARK_TRY(dlpark__source_open_descriptor(&source, descriptor, name, own.is_private, err));
    dlpark_status status = file_make(file, source, NULL, &own, err);
    if (status != DLPARK_OK)
        dlpark__source_release(source);
    return status;
}

dlpark_status dlpark_file_open_memory(dlpark_file **file, const void *bytes, size_t nbytes, void *owner,
                                      void (*release)(void *owner), const dlpark_file_options *options,
                                      dlpark_error *err)
{
    dlpark_file_options own;
    dlpark__source *source = NULL;

    DLPARK_TRY(file_begin(file, options, &own, err));
    if (own.is_private)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "memory of the caller's cannot be mapped privately");
    DLPARK_TRY(dlpark__source_open_memory(&source, bytes, nbytes, owner, release, err));
    dlpark_status status = file_make(file, source, NULL, &own, err);
    if (status != DLPARK_OK) {
        source->release = NULL; /* the caller still owns it */
        dlpark__source_release(source);
    }
    return status;
}

void dlpark_file_release(dlpark_file **file)
{
    if (file == NULL || *file == NULL)
        return;
    file_end(*file);
    dlpark__source_release((*file)->source);
    free(*file);
    *file = NULL;
}

dlpark_status dlpark_file_check(const char *path, const dlpark_file_options *options, dlpark_file_fault *faults,
                                size_t capacity, size_t *count, dlpark_error *err)
{
    dlpark_file file = {0}, *none = NULL;
    dlpark_file_options own;
    dlpark__source *source = NULL;

    DLPARK_TRY(file_begin(&none, options, &own, err));
    DLPARK_TRY(dlpark__source_open(&source, path, own.is_private, err));
    dlpark__file_faults all = {.file = &source->name, .lists = true, .list = faults, .capacity = capacity};
    dlpark_status status = file_read(&file, source, path, &own, &all, err);
    file_end(&file);
    dlpark__source_release(source);
    if (status == DLPARK_OK)
        *count = all.count;
    return status;
}

/* ---- Asking ---- */

dlpark_file_format dlpark_file_format_of(const dlpark_file *file)
{
    return file->format->format;
}

int64_t dlpark_file_count(const dlpark_file *file)
{
    return (int64_t)file->index.count;
}

uint64_t dlpark_file_nbytes(const dlpark_file *file)
{
    uint64_t nbytes = file->source->nbytes;

    for (size_t i = 0; i < file->shards.count; i++)
        nbytes += file->shards.items[i].source->nbytes;
    return nbytes;
}

int64_t dlpark_file_shard_count(const dlpark_file *file)
{
    return (int64_t)file->shards.count;
}

const char *dlpark_file_shard_name(const dlpark_file *file, int64_t index)
{
    bool is_there = index >= 0 && index < (int64_t)file->index.count;
    const dlpark__shard *shard = is_there ? dlpark__shards_find(&file->shards, index) : NULL;

    return shard != NULL ? shard->text : NULL;
}

int64_t dlpark_file_find(const dlpark_file *file, const char *name, size_t name_nbytes)
{
    return dlpark__names_find(&file->index.names, name, name_nbytes);
}

dlpark_status dlpark__file_check_index(const dlpark_file *file, int64_t index, dlpark_error *err)
{
    if (index >= 0 && index < (int64_t)file->index.count)
        return DLPARK_OK;
    if (index == -1)
        return dlpark_error_set(err, DLPARK_E_INDEX, "%s: has no tensor of that name", file->source->name.text);
    return dlpark_error_set(err, DLPARK_E_INDEX, "%s: has no tensor %lld, it has %zu", file->source->name.text,
                            (long long)index, file->index.count);
}

int64_t dlpark_file_metadata_count(const dlpark_file *file)
{
    return (int64_t)file->index.pairs_count;
}

dlpark_status dlpark_file_metadata_get(const dlpark_file *file, int64_t index, dlpark_file_text *key,
                                       dlpark_file_text *value, dlpark_error *err)
{
    const dlpark__index *all = &file->index;

    if (index < 0 || index >= (int64_t)all->pairs_count)
        return dlpark_error_set(err, DLPARK_E_INDEX, "%s: has no metadata %lld, it has %zu", file->source->name.text,
                                (long long)index, all->pairs_count);
    const dlpark__index_pair *pair = &all->pairs[index];
    *key = (dlpark_file_text){all->text + pair->key.at, pair->key.nbytes};
    *value = (dlpark_file_text){all->text + pair->value.at, pair->value.nbytes};
    return DLPARK_OK;
}

/* ---- Names for people ---- */

/* Characters that a terminal would obey, or that turn the direction of what follows: U+00 to 1F, U+7F to 9F, U+200E, F,
 * U+2028 to 202E, U+2066 to 2069, U+FEFF, U+061C. U+20 to 7E are not asked about. */
static bool file_disturbs(uint32_t code)
{
    return code < 0xA0 || (code & ~UINT32_C(1)) == 0x200E || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF || code == 0x061C;
}

/* The character that valid UTF-8 begins with, and its width. What is no UTF-8 is taken for U+FFFD, a byte wide. */
static uint32_t file_character(const unsigned char *text, size_t nbytes, size_t *width)
{
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t wanted = text[0] < 0x80 ? 1 : text[0] < 0xC2 ? 0 : text[0] < 0xE0 ? 2 : text[0] < 0xF0 ? 3 : 4;

    *width = 1;
    if (wanted == 0 || wanted > nbytes || dlpark__utf8_check((const char *)text, wanted) != wanted)
        return 0xFFFD;
    uint32_t code = text[0] & masks[wanted];
    for (size_t i = 1; i < wanted; i++)
        code = code << 6 | (text[i] & 0x3F);
    *width = wanted;
    return code;
}

/* The first character as it is shown; its width in the name is returned. */
static size_t file_show_character(const char *name, size_t nbytes, char shown[8])
{
    size_t width;

    if (*name >= 0x20 && *name < 0x7F) { /* as nearly all of them */
        shown[0] = *name;
        shown[1] = '\0';
        return 1;
    }
    uint32_t code = file_character((const unsigned char *)name, nbytes, &width);
    if (code == 0xFFFD && width == 1)
        snprintf(shown, 8, "\\x%02X", (unsigned)(unsigned char)*name);
    else if (file_disturbs(code))
        snprintf(shown, 8, code < 0x100 ? "\\x%02X" : "\\u%04X", (unsigned)code);
    else
        snprintf(shown, 8, "%.*s", (int)width, name);
    return width;
}

/* How many bytes from the first on are shown as they are: what is neither a control nor beyond ASCII. */
static size_t file_plain_length(const char *name, size_t nbytes)
{
    size_t length = 0;

    while (length < nbytes && name[length] >= 0x20 && name[length] < 0x7F)
        length++;
    return length;
}

size_t dlpark_file_name_format(const char *name, size_t name_nbytes, char *text, size_t text_nbytes)
{
    size_t length = 0, room = text_nbytes > 0 ? text_nbytes - 1 : 0, used = 0;

    for (size_t at = 0; at < name_nbytes;) {
        char shown[8];
        const char *from = name + at;
        size_t added = file_plain_length(from, name_nbytes - at), fits;
        if (added > 0) {
            at += added;
            fits = added < room - used ? added : room - used;
        } else {
            at += file_show_character(from, name_nbytes - at, shown);
            from = shown;
            added = strlen(shown);
            fits = added <= room - used ? added : 0;
        }
        if (fits > 0)
            memcpy(text + used, from, fits);
        used += fits;
        length += added;
        if (fits < added) /* the rest is only counted */
            room = used;
    }
    if (text_nbytes > 0)
        text[used] = '\0';
    return length;
}

dlpark_file_name dlpark_file_name_text(const char *name, size_t name_nbytes)
{
    enum { MOST = 60, DOTS = 3 };
    dlpark_file_name out;
    size_t used = 0, cut = 0;

    for (size_t at = 0; at < name_nbytes;) {
        char shown[8];
        at += file_show_character(name + at, name_nbytes - at, shown);
        size_t length = strlen(shown);
        if (used + length > MOST) {
            memcpy(out.text + cut, "...", DOTS + 1);
            return out;
        }
        memcpy(out.text + used, shown, length);
        used += length;
        if (used <= MOST - DOTS)
            cut = used;
    }
    out.text[used] = '\0';
    return out;
}
