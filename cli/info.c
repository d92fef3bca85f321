/* dlpark info: what is in a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pictures.h"

enum { INFO_INCLUDE, INFO_EXCLUDE, INFO_FORMAT, INFO_JSON };

static const cli_option info_options[] = {
    {"include", 'i', "PATTERN", "only tensors whose names match, as the shell's *; may be repeated"},
    {"exclude", 'x', "PATTERN", "but not those; may be repeated"},
    {"format", 0, "FORMAT", "no other: safetensors, npy, npz, gguf, safetensors-index, jpeg, png, webp"},
    {"json", 0, NULL, "for programs: the schema dlpark.info/1"},
    CLI_FOLLOW_LINKS,
};

#define INFO_WIDEST 100

/* A file that is told of. That of a picture is in memory, and only stands for it. */
typedef struct info_subject {
    dlpark_file *file;
    dlpark_file_format format;
    uint64_t nbytes;
} info_subject;

/* How wide the columns of one file are, and what is in it. */
typedef struct info_table {
    const dlpark_file *file;
    int name;
    int dtype;
    int shape;
    int64_t count;
    uint64_t nbytes;
} info_table;

/* ---- For people ---- */

/* Characters of UTF-8, which begin in all bytes but 0x80 to 0xBF. */
static int info_width(const char *text)
{
    int width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static void info_print_padded(const char *text, int width)
{
    static const char blanks[] = "                                ";

    fputs(text, stdout);
    for (int left = width - info_width(text); left > 0; left -= (int)sizeof blanks - 1)
        fputs(left < (int)sizeof blanks - 1 ? blanks + (int)sizeof blanks - 1 - left : blanks, stdout);
}

/* A name that is too wide loses its middle: layers are told by their number, weights by their end. */
static void info_print_name(const char *name, int width)
{
    int length = info_width(name);

    if (length <= width || cli_columns() == 0) {
        info_print_padded(name, width);
        return;
    }
    int head = (width - 3) / 2, skipped = 0;
    for (int shown = 0; *name != '\0'; name++) {
        bool begins = ((unsigned char)*name & 0xC0) != 0x80;
        shown += begins;
        if (shown <= head || shown > length - (width - 3 - head))
            putchar(*name);
        else if (begins && skipped++ == 0)
            fputs("...", stdout);
    }
}

typedef void info_visitor(void *state, const dlpark_file *file, const dlpark_file_entry *entry, const char *name);

/* Calls `visit` for each tensor that is wanted. False: out of memory, which is told. */
static bool info_each(const cli_call *call, const info_subject *subject, info_visitor *visit, void *state)
{
    for (int64_t i = 0; i < dlpark_file_count(subject->file); i++) {
        dlpark_file_entry entry;
        if (dlpark_file_entry_get(subject->file, i, &entry, NULL) != DLPARK_OK)
            continue;
        if (cli_is_picture(subject->format)) { /* no byte of the file is one of its numbers */
            entry.offset = 0;
            entry.flags = DLPARK_FILE_COMPRESSED;
        }
        char *name = cli_show_name(entry.name, entry.name_nbytes);
        if (name == NULL) {
            cli_complain(call->verb, "out of memory");
            return false;
        }
        if (cli_is_wanted(call, INFO_INCLUDE, INFO_EXCLUDE, name))
            visit(state, subject->file, &entry, name);
        free(name);
    }
    return true;
}

/* "float32"; "Q4_0" where bytes stand for it. */
static dlpark_name info_dtype(const info_table *table, const dlpark_file_entry *entry)
{
    dlpark_name name = dlpark_dtype_long_name(entry->dtype);

    if (cli_is_quantised(table->file, entry))
        snprintf(name.text, sizeof name.text, "%s", entry->type);
    return name;
}

static void info_measure(void *state, const dlpark_file *file, const dlpark_file_entry *entry, const char *name)
{
    info_table *table = state;
    int widths[] = {info_width(name), (int)strlen(info_dtype(table, entry).text), cli_show_shape(entry).length};

    (void)file;
    table->name = widths[0] > table->name ? widths[0] : table->name;
    table->dtype = widths[1] > table->dtype ? widths[1] : table->dtype;
    table->shape = widths[2] > table->shape ? widths[2] : table->shape;
    table->count++;
    table->nbytes += entry->nbytes;
}

/* What is special of a tensor in its file, as words: how many. */
static size_t info_flags(const dlpark_file_entry *entry, const char *words[3])
{
    const uint16_t one = 1;
    unsigned char first;
    size_t count = 0;

    memcpy(&first, &one, 1);
    if ((entry->flags & DLPARK_FILE_COLUMN_MAJOR) != 0)
        words[count++] = "column-major";
    if ((entry->flags & DLPARK_FILE_SWAPPED) != 0)
        words[count++] = first == 1 ? "big-endian" : "little-endian";
    if ((entry->flags & DLPARK_FILE_COMPRESSED) != 0)
        words[count++] = "compressed";
    return count;
}

static void info_print(void *state, const dlpark_file *file, const dlpark_file_entry *entry, const char *name)
{
    const info_table *table = state;
    const char *words[3];
    size_t nwords = info_flags(entry, words);

    (void)file;
    fputs("  ", stdout);
    info_print_name(name, table->name);
    fputs("  ", stdout);
    info_print_padded(info_dtype(table, entry).text, table->dtype);
    fputs("  ", stdout);
    info_print_padded(cli_show_shape(entry).text, table->shape);
    cli_size size = cli_show_size(entry->nbytes);
    fputs("  ", stdout);
    for (int left = 10 - (int)strlen(size.text); left > 0; left--)
        putchar(' ');
    fputs(size.text, stdout);
    for (size_t i = 0; i < nwords; i++)
        printf("%s%s", i > 0 ? ", " : "  ", words[i]);
    putchar('\n');
}

static bool info_print_metadata(const cli_call *call, const dlpark_file *file)
{
    for (int64_t i = 0; i < dlpark_file_metadata_count(file); i++) {
        dlpark_file_text key, value;
        if (dlpark_file_metadata_get(file, i, &key, &value, NULL) != DLPARK_OK)
            continue;
        char *shown[] = {cli_show_name(key.text, key.nbytes), cli_show_name(value.text, value.nbytes)};
        bool is_shown = shown[0] != NULL && shown[1] != NULL;
        if (is_shown)
            printf("  %s = %s\n", shown[0], shown[1]);
        else
            cli_complain(call->verb, "out of memory");
        free(shown[0]);
        free(shown[1]);
        if (!is_shown)
            return false;
    }
    return true;
}

static bool info_print_file(const cli_call *call, const char *path, const info_subject *subject)
{
    info_table table = {subject->file, 4, 5, 5, 0, 0};
    int columns = cli_columns();

    if (!info_each(call, subject, info_measure, &table))
        return false;
    int64_t count = dlpark_file_count(subject->file);
    int64_t shards = dlpark_file_shard_count(subject->file);
    printf("%s%s%s: %s, ", cli_bold(), path, cli_plain(), cli_format_name(subject->format));
    if (shards > 0)
        printf("%lld shard%s, ", (long long)shards, shards == 1 ? "" : "s");
    printf("%lld tensor%s, %s\n", (long long)count, count == 1 ? "" : "s", cli_show_size(subject->nbytes).text);
    if (!info_print_metadata(call, subject->file))
        return false;
    /* A column is no wider than a person reads: a longer name sticks out, and not every other row with it. */
    table.name = columns == 0 && table.name > INFO_WIDEST ? INFO_WIDEST : table.name;
    table.shape = table.shape > INFO_WIDEST ? INFO_WIDEST : table.shape;
    int others = 2 + 2 + table.dtype + 2 + table.shape + 2 + 10;
    if (columns > 0 && table.name > columns - others)
        table.name = columns - others > 16 ? columns - others : 16;
    if (table.count > 0) {
        fputs("  ", stdout);
        info_print_padded("name", table.name);
        printf("  %-*s  %-*s  %10s\n", table.dtype, "dtype", table.shape, "shape", "size");
    }
    if (!info_each(call, subject, info_print, &table))
        return false;
    if (table.count != count)
        printf("  %lld of %lld tensors, %s\n", (long long)table.count, (long long)count,
               cli_show_size(table.nbytes).text);
    return true;
}

/* ---- For programs ---- */

static void info_write_tensor(void *state, const dlpark_file *file, const dlpark_file_entry *entry, const char *name)
{
    cli_json *json = state;
    const char *words[3];
    size_t nwords = info_flags(entry, words);
    const char *shard = dlpark_file_shard_name(file, entry->index);

    (void)name; /* JSON escapes in its own way */
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "name", entry->name, entry->name_nbytes);
    cli_json_word(json, "dtype", dlpark_dtype_long_name(entry->dtype).text);
    cli_json_word(json, "type", entry->type);
    cli_json_shape(json, "shape", entry);
    cli_json_uint(json, "offset", entry->offset);
    cli_json_uint(json, "nbytes", entry->nbytes);
    cli_json_open(json, "flags", '[');
    for (size_t i = 0; i < nwords; i++)
        cli_json_word(json, NULL, words[i]);
    cli_json_close(json, ']');
    if (shard != NULL)
        cli_json_word(json, "shard", shard);
    cli_json_close(json, '}');
}

static bool info_write_file(const cli_call *call, cli_json *json, const info_subject *subject)
{
    const dlpark_file *file = subject->file;

    cli_json_word(json, "format", cli_format_name(subject->format));
    cli_json_uint(json, "nbytes", subject->nbytes);
    if (subject->format == DLPARK_FILE_SHARDS)
        cli_json_uint(json, "shards", (uint64_t)dlpark_file_shard_count(file));
    cli_json_open(json, "metadata", '{');
    for (int64_t i = 0; i < dlpark_file_metadata_count(file); i++) {
        dlpark_file_text key, value;
        if (dlpark_file_metadata_get(file, i, &key, &value, NULL) == DLPARK_OK)
            cli_json_member(json, key.text, key.nbytes, value.text, value.nbytes);
    }
    cli_json_close(json, '}');
    cli_json_open(json, "tensors", '[');
    bool is_whole = info_each(call, subject, info_write_tensor, json);
    cli_json_close(json, ']');
    return is_whole;
}

/* ---- The verb ---- */

/* Of a picture no more than its header is looked at. */
static dlpark_status info_open(info_subject *subject, const char *path, const dlpark_file_options *options,
                               dlpark_error *err)
{
    struct stat status;

    DLPARK_TRY(cli_picture_tell(path, options->format, &subject->format, err));
    if (subject->format != DLPARK_FILE_ANY) {
        subject->nbytes = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
        return cli_picture_open(&subject->file, path, &(cli_picture_form){.is_chw = false}, false, err);
    }
    DLPARK_TRY(dlpark_file_open(&subject->file, path, options, err));
    subject->format = dlpark_file_format_of(subject->file);
    subject->nbytes = dlpark_file_nbytes(subject->file);
    return DLPARK_OK;
}

static int info_run_file(const cli_call *call, const char *path, const dlpark_file_options *options, cli_json *json)
{
    info_subject subject = {.format = DLPARK_FILE_ANY};
    dlpark_error err;
    dlpark_status status = info_open(&subject, path, options, &err);
    bool is_whole = true;

    if (json != NULL) {
        cli_json_open(json, NULL, '{');
        cli_json_word(json, "path", path);
    }
    if (status != DLPARK_OK && json != NULL)
        cli_json_word(json, "error", err.message);
    else if (status != DLPARK_OK)
        cli_complain(call->verb, "%s", err.message);
    else if (json != NULL)
        is_whole = info_write_file(call, json, &subject);
    else
        is_whole = info_print_file(call, path, &subject);
    if (json != NULL)
        cli_json_close(json, '}');
    dlpark_file_release(&subject.file);
    return is_whole ? cli_exit_of(status) : CLI_UNREADABLE;
}

static int info_run(const cli_call *call)
{
    bool is_json = cli_value(call, INFO_JSON) != NULL;
    cli_json json = {0};
    dlpark_file_options options;
    int worst = CLI_FINE;

    if (!cli_read_file_options(call, INFO_FORMAT, &options))
        return CLI_MISUSE;
    if (is_json)
        cli_json_begin(&json, "dlpark.info/1", "files");
    for (int i = 0; i < call->noperands; i++) {
        if (i > 0 && !is_json)
            putchar('\n');
        int code = info_run_file(call, call->operands[i], &options, is_json ? &json : NULL);
        worst = code > worst ? code : worst;
    }
    if (is_json)
        cli_json_end(&json);
    return worst;
}

const cli_verb cli_verb_info = {
    .name = "info",
    .operands = "FILE...",
    .summary = "what is in a file: names, dtypes, shapes, sizes",
    .help = "Prints what a file says of itself, and of each of its tensors: name, dtype,\n"
            "shape and size. The bytes of the tensors are not read. Characters of a name that\n"
            "a terminal would obey are escaped; patterns see the name as it is printed.\n"
            "A file is refused beyond these limits: a header or directory of 100,000,000 bytes\n"
            "(npy: 1,048,576), 2,097,150 tensors (npz: 1,000,000), 65,535 dimensions, of which 64\n"
            "make a tensor (npy: 64, GGUF: 4), JSON nested 64 deep, 100,000 shards, 1032 bytes\n"
            "unpacked for one that is deflated, and 2^28 pixels.",
    .examples = "  dlpark info model.safetensors\n"
                "  dlpark info --include 'layers.0.*' model.safetensors\n"
                "  dlpark info model.safetensors photo.jpg weights.npz\n"
                "  dlpark info --json model.safetensors | jq '.files[].tensors[].name'\n",
    .options = info_options,
    .noptions = sizeof info_options / sizeof info_options[0],
    .least = 1,
    .most = -1,
    .run = info_run,
};
