/* dlpark split: a file as shards of a size, with an index. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

enum { SPLIT_SIZE, SPLIT_COUNT, SPLIT_SYNC, SPLIT_FORMAT, SPLIT_FOLLOW_LINKS };

static const cli_option split_options[] = {
    {"size", 's', "SIZE", "of a shard at most: 500MB, 2GiB, bytes; 5GB. A larger tensor has its own"},
    {"count", 'n', "NUMBER", "so many shards, or fewer, as equal as they come"},
    {"sync", 0, NULL, "end only when all is on the disk"},
    {"format", 0, "FORMAT", "refuse FROM of any other; `dlpark info --help` names them"},
    CLI_FOLLOW_LINKS,
};

#define SPLIT_PLAIN UINT64_C(5000000000)
#define SPLIT_MOST  99999 /* what the names have digits for */

typedef struct split_job {
    const cli_call *call;
    dlpark_file *file;
    cli_parts parts;
    cli_texts texts;
    char *prefix;             /* of all paths: "out/model" */
    uint32_t *shard_of;       /* of each tensor */
    int64_t *tensors;         /* by shard */
    dlpark_file_part *sorted; /* the same */
    size_t *begins;           /* of each shard among them, and the end */
    dlpark_file_writer **writers;
    size_t nshards;
} split_job;

/* ---- What is asked for ---- */

static bool split_read_size(const cli_call *call, uint64_t *size)
{
    static const struct {
        const char *unit;
        uint64_t nbytes;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"KB", UINT64_C(1000)},
                 {"MB", UINT64_C(1000000)},
                 {"GB", UINT64_C(1000000000)},
                 {"TB", UINT64_C(1000000000000)},
                 {"KiB", UINT64_C(1) << 10},
                 {"MiB", UINT64_C(1) << 20},
                 {"GiB", UINT64_C(1) << 30},
                 {"TiB", UINT64_C(1) << 40}};
    const char *given = cli_value(call, SPLIT_SIZE);
    char *end = NULL;

    *size = SPLIT_PLAIN;
    if (given == NULL)
        return true;
    uint64_t number = given[0] >= '0' && given[0] <= '9' ? strtoumax(given, &end, 10) : 0;
    for (size_t i = 0; number > 0 && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].unit) == 0 && number <= INT64_MAX / units[i].nbytes) {
            *size = number * units[i].nbytes;
            return true;
        }
    }
    cli_complain(call->verb, "--size %s: expected bytes, or a number of KB, MB, GB, TB, KiB, MiB, GiB or TiB", given);
    return false;
}

static bool split_read_count(const cli_call *call, uint32_t *count)
{
    const char *given = cli_value(call, SPLIT_COUNT);
    char *end = NULL;
    unsigned long number = given != NULL ? strtoul(given, &end, 10) : 0;

    *count = (uint32_t)number;
    if (given != NULL && cli_value(call, SPLIT_SIZE) != NULL) {
        cli_complain(call->verb, "--size and --count: expected one of them");
        return false;
    }
    if (given == NULL || (given[0] >= '1' && given[0] <= '9' && *end == '\0' && number <= SPLIT_MOST))
        return true;
    cli_complain(call->verb, "--count %s: expected a number from 1 to %d", given, SPLIT_MOST);
    return false;
}

/* "out/model" of a folder, else what was given, without an end that the names get anyway. */
static char *split_prefix(const char *given)
{
    static const char end[] = ".safetensors", usual[] = "/model";
    struct stat status;
    size_t length = strlen(given);
    char *prefix = malloc(length + sizeof usual);

    if (prefix == NULL)
        return NULL;
    bool is_folder = stat(given, &status) == 0 && S_ISDIR(status.st_mode);
    is_folder |= length > 0 && given[length - 1] == '/';
    if (!is_folder && length > sizeof end - 1 && strcmp(given + length - (sizeof end - 1), end) == 0)
        length -= sizeof end - 1;
    memcpy(prefix, given, length);
    bool has_slash = length > 0 && given[length - 1] == '/';
    strcpy(prefix + length, is_folder ? usual + has_slash : "");
    return prefix;
}

/* ---- Which tensor goes where ---- */

/* As huggingface_hub: in their order, a new shard where one would grow too large, and one of its own for a tensor that
 * is. Returns how many there are; the numbers go to `shard_of`, by when a shard is full. */
static size_t split_deal(const cli_parts *parts, uint64_t size, uint32_t *shard_of)
{
    size_t full = 0, first = 0; /* of those that the shard at hand has, the first */
    uint64_t used = 0;
    bool is_open = false;

    for (size_t i = 0; i < parts->count; i++) {
        bool is_large = parts->sizes[i] > size;
        shard_of[i] = UINT32_MAX;
        if (is_large) {
            shard_of[i] = (uint32_t)full++;
            continue;
        }
        if (is_open && parts->sizes[i] > size - used) {
            for (; first < i; first++)
                shard_of[first] = shard_of[first] == UINT32_MAX ? (uint32_t)full : shard_of[first];
            full++;
            used = 0;
        }
        used += parts->sizes[i];
        is_open = true;
    }
    for (; is_open && first < parts->count; first++)
        shard_of[first] = shard_of[first] == UINT32_MAX ? (uint32_t)full : shard_of[first];
    return full + is_open;
}

/* The smallest size with which there are no more shards than `count`. */
static uint64_t split_find_size(const cli_parts *parts, uint32_t count, uint32_t *shard_of)
{
    uint64_t low = 0, high = parts->nbytes;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (split_deal(parts, middle, shard_of) > count)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

/* The tensors of each shard beside one another. */
static void split_sort(split_job *job)
{
    const cli_parts *parts = &job->parts;

    for (size_t i = 0; i < parts->count; i++)
        job->begins[job->shard_of[i] + 1]++;
    for (size_t i = 0; i < job->nshards; i++)
        job->begins[i + 1] += job->begins[i];
    for (size_t i = parts->count; i-- > 0;) { /* from the last, which takes the last place: ends become begins */
        size_t place = --job->begins[job->shard_of[i] + 1];
        job->tensors[place] = (int64_t)i;
        job->sorted[place] = parts->parts[i];
    }
    for (size_t i = 0; i < job->nshards; i++)
        job->begins[i] = job->begins[i + 1];
    job->begins[job->nshards] = parts->count;
}

/* False after telling. */
static bool split_plan(split_job *job, uint64_t size, uint32_t count)
{
    size_t tensors = job->parts.count + 1;

    job->shard_of = calloc(tensors, sizeof *job->shard_of);
    job->tensors = calloc(tensors, sizeof *job->tensors);
    job->sorted = calloc(tensors, sizeof *job->sorted);
    if (job->shard_of != NULL) {
        size = count > 0 ? split_find_size(&job->parts, count, job->shard_of) : size;
        job->nshards = split_deal(&job->parts, size, job->shard_of);
    }
    job->nshards = job->nshards > 0 ? job->nshards : 1; /* without tensors: one, for the texts */
    job->begins = calloc(job->nshards + 2, sizeof *job->begins);
    job->writers = calloc(job->nshards, sizeof(dlpark_file_writer *));
    if (job->shard_of == NULL || job->tensors == NULL || job->sorted == NULL || job->begins == NULL ||
        job->writers == NULL) {
        cli_complain(job->call->verb, "out of memory");
        return false;
    }
    if (job->nshards > SPLIT_MOST) {
        cli_complain(job->call->verb, "there would be %zu shards, more than %d: --size %" PRIu64 " is too small",
                     job->nshards, SPLIT_MOST, size);
        return false;
    }
    split_sort(job);
    return true;
}

/* ---- The files ---- */

/* "out/model-00001-of-00003.safetensors". */
static void split_name(const split_job *job, size_t shard, char *path, size_t nbytes)
{
    snprintf(path, nbytes, "%s-%05zu-of-%05zu.safetensors", job->prefix, shard + 1, job->nshards);
}

static dlpark_status split_write(split_job *job, const dlpark_file_write_options *options, char *path, size_t nbytes,
                                 dlpark_error *err)
{
    cli_progress progress;
    dlpark_status status = DLPARK_OK;

    cli_progress_begin(&progress, job->parts.nbytes);
    for (size_t i = 0; i < job->nshards && status == DLPARK_OK && !cli_is_interrupted(); i++) {
        size_t begin = job->begins[i], count = job->begins[i + 1] - begin;
        split_name(job, i, path, nbytes);
        status = dlpark_file_writer_open(&job->writers[i], path, job->sorted + begin, count, options, err);
        if (status == DLPARK_OK)
            status = cli_parts_copy(&job->parts, job->tensors + begin, count, job->writers[i], 0, &progress, err);
    }
    cli_progress_end(&progress);
    return status;
}

/* The index, when all that it names is there. */
static dlpark_status split_write_index(const split_job *job, const char *path, size_t nbytes, bool sync,
                                       dlpark_error *err)
{
    dlpark_file_pair *pairs = calloc(job->parts.count + 1, sizeof *pairs);
    char *names = malloc(job->nshards * nbytes);
    const char *slash = strrchr(job->prefix, '/');
    size_t folder = slash != NULL ? (size_t)(slash - job->prefix) + 1 : 0;
    dlpark_status status = DLPARK_E_MEMORY;

    if (pairs != NULL && names != NULL) {
        for (size_t shard = 0; shard < job->nshards; shard++) {
            char *name = names + shard * nbytes;
            split_name(job, shard, name, nbytes);
            for (size_t i = job->begins[shard]; i < job->begins[shard + 1]; i++)
                pairs[i] = (dlpark_file_pair){{job->sorted[i].name, job->sorted[i].name_nbytes},
                                              {name + folder, strlen(name + folder)}};
        }
        status = dlpark_file_save_index(path, pairs, job->parts.count, job->parts.nbytes, sync, err);
    } else {
        status = dlpark_error_set(err, status, "out of memory");
    }
    free(pairs);
    free(names);
    return status;
}

/* Writes the index under another name, and takes it away again: what would fail once the shards have their names, names that
 * are no UTF-8 for one, fails before. */
static dlpark_status split_try_index(const split_job *job, char *path, size_t nbytes, dlpark_error *err)
{
    const char *slash = strrchr(job->prefix, '/');
    int folder = slash != NULL ? (int)(slash - job->prefix) + 1 : 0;
    struct stat found;

    snprintf(path, nbytes, "%s.safetensors.index.json", job->prefix);
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode))
        return dlpark_error_set(err, DLPARK_E_IO, "%s: exists and is not a regular file", path);
    snprintf(path, nbytes, "%.*s.dlpark-%016lx.tmp", folder, job->prefix, (unsigned long)getpid());
    DLPARK_TRY(split_write_index(job, path, nbytes, false, err));
    (void)unlink(path);
    snprintf(path, nbytes, "%s.safetensors.index.json", job->prefix);
    return DLPARK_OK;
}

static int split_files(split_job *job, char *path, size_t nbytes)
{
    const dlpark_file_write_options options = {.format = DLPARK_FILE_SAFETENSORS,
                                               .metadata = job->texts.pairs,
                                               .nmetadata = job->texts.npairs,
                                               .sync = cli_value(job->call, SPLIT_SYNC) != NULL};
    dlpark_error err;
    dlpark_status status = split_write(job, &options, path, nbytes, &err);

    if (status == DLPARK_OK && !cli_is_interrupted())
        status = split_try_index(job, path, nbytes, &err);

    if (cli_is_interrupted()) {
        cli_complain(job->call->verb, "interrupted; nothing was written");
        return cli_interrupted();
    }
    /* From here on all shards are whole: a wish to end comes too late. */
    for (size_t i = 0; i < job->nshards && status == DLPARK_OK; i++)
        status = dlpark_file_writer_finish(&job->writers[i], &err);
    if (status == DLPARK_OK)
        status = split_write_index(job, path, nbytes, options.sync, &err);
    if (status != DLPARK_OK)
        cli_complain(job->call->verb, "%s", err.message);
    else
        printf("%s: %zu shard%s\n", path, job->nshards, job->nshards == 1 ? "" : "s");
    return cli_exit_of_written(status, options.format);
}

/* ---- The verb ---- */

static void split_end(split_job *job)
{
    for (size_t i = 0; job->writers != NULL && i < job->nshards; i++)
        dlpark_file_writer_release(&job->writers[i]);
    free(job->writers);
    free(job->begins);
    free(job->sorted);
    free(job->tensors);
    free(job->shard_of);
    free(job->prefix);
    cli_texts_end(&job->texts);
    cli_parts_end(&job->parts);
    dlpark_file_release(&job->file);
}

static int split_begin(split_job *job)
{
    const cli_call *call = job->call;
    int code = cli_open(call, call->operands[0], SPLIT_FORMAT, &job->file);

    if (code == CLI_FINE)
        code = cli_texts_add(&job->texts, call, call->operands[0], job->file);
    if (code != CLI_FINE)
        return code;
    job->prefix = split_prefix(call->operands[1]);
    if (job->prefix != NULL && cli_parts_begin(&job->parts, job->file))
        return cli_texts_unite(&job->texts, call->verb, true) ? CLI_FINE : CLI_UNREADABLE;
    cli_complain(call->verb, "out of memory");
    return CLI_UNREADABLE;
}

static int split_run(const cli_call *call)
{
    split_job job = {.call = call};
    uint64_t size;
    uint32_t count;

    if (!split_read_size(call, &size) || !split_read_count(call, &count))
        return CLI_MISUSE;
    int code = split_begin(&job);
    cli_watch_signals();
    if (code == CLI_FINE && !split_plan(&job, size, count))
        code = CLI_MISUSE;
    if (code == CLI_FINE) {
        size_t nbytes = strlen(job.prefix) + 64;
        char *path = malloc(nbytes);
        code = CLI_UNREADABLE;
        if (path != NULL)
            code = split_files(&job, path, nbytes);
        else
            cli_complain(call->verb, "out of memory");
        free(path);
    }
    if (code == CLI_FINE) {
        cli_losses losses = {.nquantised = job.parts.nquantised};
        cli_losses_add_texts(&losses, job.file);
        cli_losses_tell(&losses, call->verb);
    }
    split_end(&job);
    return code;
}

const cli_verb cli_verb_split = {
    .name = "split",
    .operands = "FROM FOLDER|PREFIX",
    .summary = "a file as shards of a size, with an index",
    .help = "Writes PREFIX-00001-of-00003.safetensors and so on, and then, when all of them are\n"
            "there, PREFIX.safetensors.index.json, as the libraries of Hugging Face do; in a\n"
            "FOLDER the prefix is model. Each shard has the metadata of FROM. The bytes are\n"
            "copied by the system, which on file systems that share blocks copies none. Files\n"
            "of these names are replaced; shards of another number stay.",
    .examples = "  dlpark split model.safetensors shards/ --size 5GB\n"
                "  dlpark split model.safetensors shards/llama --count 4\n"
                "  dlpark split model.safetensors.index.json other/ --size 2GiB\n",
    .options = split_options,
    .noptions = sizeof split_options / sizeof split_options[0],
    .least = 2,
    .most = 2,
    .run = split_run,
};
