/* Tensors of files on their way into others as they are: what they are declared as, their bytes, and their texts. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "command.h"

/* Between two looks at how far the work is. */
#define PARTS_NBYTES ((uint64_t)64 << 20)

/* ---- Tensors ---- */

bool cli_parts_begin(cli_parts *parts, const dlpark_file *file)
{
    size_t count = (size_t)dlpark_file_count(file), extents = 0;
    dlpark_file_entry entry;

    *parts = (cli_parts){.file = file, .count = count};
    for (size_t i = 0; i < count; i++)
        if (dlpark_file_entry_get(file, (int64_t)i, &entry, NULL) == DLPARK_OK)
            extents += (size_t)(entry.ndim < DLPARK_MAX_NDIM ? entry.ndim : DLPARK_MAX_NDIM);
    parts->parts = calloc(count + 1, sizeof *parts->parts);
    parts->sizes = calloc(count + 1, sizeof *parts->sizes);
    parts->extents = calloc(extents + 1, sizeof *parts->extents);
    if (parts->parts == NULL || parts->sizes == NULL || parts->extents == NULL)
        return false;
    int64_t *shape = parts->extents;
    for (size_t i = 0; i < count && dlpark_file_entry_get(file, (int64_t)i, &entry, NULL) == DLPARK_OK; i++) {
        size_t ndim = (size_t)(entry.ndim < DLPARK_MAX_NDIM ? entry.ndim : DLPARK_MAX_NDIM);
        parts->parts[i] = (dlpark_file_part){.name = entry.name_nbytes > 0 ? entry.name : "",
                                             .name_nbytes = entry.name_nbytes,
                                             .dtype = entry.dtype,
                                             .ndim = entry.ndim,
                                             .shape = shape};
        memcpy(shape, entry.shape, ndim * sizeof *shape);
        parts->sizes[i] = entry.nbytes;
        parts->nbytes += entry.nbytes;
        parts->nquantised += cli_is_quantised(file, &entry);
        shape += ndim;
    }
    return true;
}

void cli_parts_end(cli_parts *parts)
{
    free(parts->parts);
    free(parts->sizes);
    free(parts->extents);
    *parts = (cli_parts){.file = NULL};
}

dlpark_status cli_parts_copy(const cli_parts *parts, const int64_t *tensors, size_t count, dlpark_file_writer *writer,
                             size_t first, cli_progress *progress, dlpark_error *err)
{
    for (size_t begin = 0, end = 0; begin < count && !cli_is_interrupted(); begin = end) {
        uint64_t nbytes = 0;
        while (end < count && (end == begin || nbytes < PARTS_NBYTES))
            nbytes += parts->sizes[tensors[end++]];
        DLPARK_TRY(dlpark_file_writer_put_from(writer, first + begin, end - begin, parts->file, tensors + begin, err));
        cli_progress_add(progress, nbytes);
    }
    return DLPARK_OK;
}

/* ---- Texts ---- */

void cli_texts_end(cli_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->memory[i].text);
    free(texts->memory);
    free(texts->pairs);
    *texts = (cli_texts){.pairs = NULL};
}

/* Those of one file, in memory of their own. */
static bool parts_add_texts(cli_texts *texts, const dlpark_file *file)
{
    size_t more = (size_t)dlpark_file_metadata_count(file), room = texts->count + more + 1;
    cli_text *memory = realloc(texts->memory, room * sizeof *memory);

    if (memory == NULL)
        return false;
    texts->memory = memory;
    for (size_t i = 0; i < more; i++) {
        dlpark_file_text key, value;
        if (dlpark_file_metadata_get(file, (int64_t)i, &key, &value, NULL) != DLPARK_OK)
            break;
        char *text = malloc(key.nbytes + value.nbytes + 1);
        if (text == NULL)
            return false;
        memcpy(text, key.text, key.nbytes);
        memcpy(text + key.nbytes, value.text, value.nbytes);
        memory[texts->count] = (cli_text){text, key.nbytes, value.nbytes, texts->count};
        texts->count++;
    }
    return true;
}

static int parts_compare_keys(const cli_text *a, const cli_text *b)
{
    size_t shorter = a->key_nbytes < b->key_nbytes ? a->key_nbytes : b->key_nbytes;
    int order = memcmp(a->text, b->text, shorter);

    return order != 0 ? order : (a->key_nbytes > b->key_nbytes) - (a->key_nbytes < b->key_nbytes);
}

static int parts_by_key(const void *left, const void *right)
{
    const cli_text *a = left, *b = right;
    int order = parts_compare_keys(a, b);

    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static int parts_by_order(const void *left, const void *right)
{
    const cli_text *a = left, *b = right;

    return (a->order > b->order) - (a->order < b->order);
}

/* Two values of one key: which is told. */
static void parts_complain(const cli_verb *verb, const cli_text *first, const cli_text *second)
{
    cli_complain(verb, "two of the files have another metadata '%s': '%s' and '%s'; --keep-first takes the first",
                 dlpark_file_name_text(first->text, first->key_nbytes).text,
                 dlpark_file_name_text(first->text + first->key_nbytes, first->value_nbytes).text,
                 dlpark_file_name_text(second->text + second->key_nbytes, second->value_nbytes).text);
}

bool cli_texts_unite(cli_texts *texts, const cli_verb *verb, bool keeps_first)
{
    size_t kept = 0;
    cli_text *memory = texts->memory;

    if (texts->count > 0)
        qsort(memory, texts->count, sizeof *memory, parts_by_key);
    for (size_t i = 0; i < texts->count; i++) {
        const cli_text *before = kept > 0 ? &memory[kept - 1] : NULL;
        bool is_twin = before != NULL && parts_compare_keys(before, &memory[i]) == 0;
        bool is_same =
            is_twin && before->value_nbytes == memory[i].value_nbytes &&
            memcmp(before->text + before->key_nbytes, memory[i].text + memory[i].key_nbytes, before->value_nbytes) == 0;
        if (is_twin && !is_same && !keeps_first) {
            parts_complain(verb, before, &memory[i]);
            return false;
        }
        if (!is_twin) { /* swapped, so that each is still freed once */
            cli_text own = memory[i];
            memory[i] = memory[kept];
            memory[kept++] = own;
        }
    }
    if (kept > 0)
        qsort(memory, kept, sizeof *memory, parts_by_order);
    texts->pairs = calloc(kept + 1, sizeof *texts->pairs);
    for (size_t i = 0; texts->pairs != NULL && i < kept; i++)
        texts->pairs[i] = (dlpark_file_pair){{memory[i].text, memory[i].key_nbytes},
                                             {memory[i].text + memory[i].key_nbytes, memory[i].value_nbytes}};
    texts->npairs = kept;
    if (texts->pairs == NULL)
        cli_complain(verb, "out of memory");
    return texts->pairs != NULL;
}

/* A shard again, for its metadata, by the rule that it was opened by: what somebody put in its place meanwhile, a link or a
 * pipe, is not read for it. */
static dlpark_status parts_open_shard(dlpark_file **shard, const char *path, bool follows_links, dlpark_error *err)
{
    const dlpark_file_options options = {.format = DLPARK_FILE_SAFETENSORS};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follows_links ? 0 : O_NOFOLLOW));

    if (descriptor < 0)
        return dlpark_error_set(err, DLPARK_E_IO, "%s: %s", path, strerror(errno));
    dlpark_status status = dlpark_file_open_descriptor(shard, descriptor, path, &options, err);
    (void)close(descriptor);
    return status;
}

/* Those of the shards of an index, which are its tensors', where its own are of the index. */
static int parts_add_shards(cli_texts *texts, const cli_call *call, const char *path, const dlpark_file *file)
{
    const char *slash = strrchr(path, '/'), *before = NULL;
    size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *shard_path = malloc(folder + 256);
    int code = CLI_FINE;

    for (int64_t i = 0; i < dlpark_file_count(file) && shard_path != NULL && code == CLI_FINE; i++) {
        const char *name = dlpark_file_shard_name(file, i);
        dlpark_file *shard = NULL;
        dlpark_error err;
        if (name == before) /* they follow one another */
            continue;
        before = name;
        memcpy(shard_path, path, folder);
        strcpy(shard_path + folder, name);
        dlpark_status status = parts_open_shard(&shard, shard_path, cli_follows_links(call), &err);
        if (status == DLPARK_OK && !parts_add_texts(texts, shard))
            status = dlpark_error_set(&err, DLPARK_E_MEMORY, "out of memory");
        dlpark_file_release(&shard);
        if (status != DLPARK_OK)
            cli_complain(call->verb, "%s", err.message);
        code = cli_exit_of(status);
    }
    free(shard_path);
    return code;
}

int cli_texts_add(cli_texts *texts, const cli_call *call, const char *path, const dlpark_file *file)
{
    if (dlpark_file_format_of(file) == DLPARK_FILE_SHARDS)
        return parts_add_shards(texts, call, path, file);
    if (parts_add_texts(texts, file))
        return CLI_FINE;
    cli_complain(call->verb, "out of memory");
    return CLI_UNREADABLE;
}

/* ---- What became of it ---- */

void cli_losses_add_texts(cli_losses *losses, const dlpark_file *file)
{
    losses->has_texts |= dlpark_file_format_of(file) == DLPARK_FILE_GGUF && dlpark_file_metadata_count(file) > 0;
}

void cli_losses_tell(const cli_losses *losses, const cli_verb *verb)
{
    bool is_one = losses->nquantised == 1;

    if (losses->has_texts)
        cli_complain(verb, "note: the metadata are texts now, numbers and arrays too");
    if (losses->nquantised > 0)
        cli_complain(verb, "note: %zu quantised tensor%s came as bytes, without the name of %s type%s",
                     losses->nquantised, is_one ? "" : "s", is_one ? "its" : "their", is_one ? "" : "s");
}

dlpark_file_format cli_written_format(const char *path, dlpark_file_format asked)
{
    static const dlpark_file_format formats[] = {DLPARK_FILE_NPY, DLPARK_FILE_NPZ, DLPARK_FILE_GGUF};
    const char *end = strrchr(path, '.');

    if (asked != DLPARK_FILE_ANY)
        return asked;
    for (size_t i = 0; end != NULL && i < sizeof formats / sizeof formats[0]; i++)
        if (strcasecmp(end + 1, dlpark_file_format_name(formats[i])) == 0)
            return formats[i];
    return DLPARK_FILE_SAFETENSORS;
}

static void parts_complain_of_writing(const cli_verb *verb, const char *path, const dlpark_file_write_options *options,
                                      const cli_losses *losses, const dlpark_error *err)
{
    dlpark_file_format format = cli_written_format(path, options->format);
    bool is_array = format == DLPARK_FILE_NPY || format == DLPARK_FILE_NPZ;
    const char *more = "";

    if (err->status == DLPARK_E_UNSUPPORTED && is_array && options->nmetadata > 0)
        more = "; --no-metadata leaves them out";
    if (err->status == DLPARK_E_UNSUPPORTED && format == DLPARK_FILE_GGUF && losses->nquantised > 0)
        more = "; quantised tensors can be read and not written";
    cli_complain(verb, "%s%s", err->message, more);
}

int cli_exit_of_written(dlpark_status status, dlpark_file_format format)
{
    switch (status) {
    case DLPARK_E_ARGUMENT:
    case DLPARK_E_UNSUPPORTED:
    case DLPARK_E_DTYPE:
    case DLPARK_E_VALUE:
    case DLPARK_E_SHAPE:
    case DLPARK_E_OVERFLOW:
    case DLPARK_E_LIMIT:
        return CLI_MISUSE;
    case DLPARK_E_RANK: /* more than 64 dimensions no verb takes, and no other format helps */
        return format == DLPARK_FILE_GGUF ? CLI_MISUSE : CLI_FAULTY;
    default:
        return cli_exit_of(status);
    }
}

int cli_end_writing(const cli_call *call, dlpark_file_writer *writer, dlpark_status status, const char *path,
                    const dlpark_file_write_options *options, const cli_losses *losses, dlpark_error *err)
{
    bool is_interrupted = cli_is_interrupted(); /* from here on the file is whole: a wish to end comes too late */

    if (status == DLPARK_OK && !is_interrupted)
        status = dlpark_file_writer_finish(&writer, err);
    dlpark_file_writer_release(&writer);
    if (is_interrupted) {
        cli_complain(call->verb, "interrupted; %s is as it was", path);
        return cli_interrupted();
    }
    if (status != DLPARK_OK)
        parts_complain_of_writing(call->verb, path, options, losses, err);
    return cli_exit_of_written(status, cli_written_format(path, options->format));
}
