/* dlpark merge: the shards of a checkpoint, or other files, as one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"

enum {
    MERGE_KEEP_FIRST,
    MERGE_ALIGN,
    MERGE_SYNC,
    MERGE_FORMAT,
    MERGE_TO,
    MERGE_FORCE,
    MERGE_NO_METADATA,
    MERGE_FOLLOW_LINKS
};

static const cli_option merge_options[] = {
    {"keep-first", 0, NULL, "of metadata that the files have differently the first file's"},
    {"align", 'a', "BYTES", "as many tensors as can be begin at a multiple, up to 4096"},
    {"sync", 0, NULL, "end only when the file is on the disk"},
    {"format", 0, "FORMAT", "refuse FROM of any other; `dlpark info --help` names them"},
    {"to", 't', "FORMAT", "safetensors, npy, npz, gguf; else as TO ends, or safetensors"},
    {"force", 'f', NULL, "replace TO where it exists"},
    {"no-metadata", 0, NULL, "leave out the texts of FROM, for which npy and npz have no place"},
    CLI_FOLLOW_LINKS,
};

/* One of the files that are merged. */
typedef struct merge_source {
    dlpark_file *file;
    cli_parts parts;
} merge_source;

typedef struct merge_job {
    const cli_call *call;
    merge_source *sources;
    size_t nsources;
    dlpark_file_part *parts; /* of all, one file behind the other */
    size_t count;
    uint64_t nbytes;
    cli_texts texts;
    cli_losses losses;
} merge_job;

static void merge_end(merge_job *job)
{
    for (size_t i = 0; i < job->nsources; i++) {
        cli_parts_end(&job->sources[i].parts);
        dlpark_file_release(&job->sources[i].file);
    }
    free(job->sources);
    free(job->parts);
    cli_texts_end(&job->texts);
}

/* ---- What is merged ---- */

static int merge_open(merge_job *job)
{
    const cli_call *call = job->call;

    job->sources = calloc((size_t)call->noperands, sizeof *job->sources);
    if (job->sources == NULL) {
        cli_complain(call->verb, "out of memory");
        return CLI_UNREADABLE;
    }
    for (int i = 0; i < call->noperands - 1; i++) {
        merge_source *source = &job->sources[job->nsources++];
        int code = cli_open(call, call->operands[i], MERGE_FORMAT, &source->file);
        if (code == CLI_FINE && cli_value(call, MERGE_NO_METADATA) == NULL) {
            code = cli_texts_add(&job->texts, call, call->operands[i], source->file);
            cli_losses_add_texts(&job->losses, source->file);
        }
        if (code != CLI_FINE)
            return code;
        if (!cli_parts_begin(&source->parts, source->file)) {
            cli_complain(call->verb, "out of memory");
            return CLI_UNREADABLE;
        }
        job->count += source->parts.count;
        job->nbytes += source->parts.nbytes;
        job->losses.nquantised += source->parts.nquantised;
    }
    return cli_texts_unite(&job->texts, call->verb, cli_value(call, MERGE_KEEP_FIRST) != NULL) ? CLI_FINE : CLI_MISUSE;
}

/* All tensors, in the order of the operands. False after telling. */
static bool merge_plan(merge_job *job)
{
    size_t used = 0;

    job->parts = calloc(job->count + 1, sizeof *job->parts);
    if (job->parts == NULL) {
        cli_complain(job->call->verb, "out of memory");
        return false;
    }
    for (size_t i = 0; i < job->nsources; i++) {
        const cli_parts *parts = &job->sources[i].parts;
        memcpy(job->parts + used, parts->parts, parts->count * sizeof *job->parts);
        used += parts->count;
    }
    return true;
}

/* ---- The file ---- */

/* The tensors of one file, whose numbers there are 0 and so on. */
static dlpark_status merge_copy(const cli_parts *parts, dlpark_file_writer *writer, size_t first,
                                cli_progress *progress, dlpark_error *err)
{
    int64_t *tensors = calloc(parts->count + 1, sizeof *tensors);

    if (tensors == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < parts->count; i++)
        tensors[i] = (int64_t)i;
    dlpark_status status = cli_parts_copy(parts, tensors, parts->count, writer, first, progress, err);
    free(tensors);
    return status;
}

static dlpark_status merge_write(const merge_job *job, dlpark_file_writer *writer, dlpark_error *err)
{
    cli_progress progress;
    dlpark_status status = DLPARK_OK;
    size_t first = 0;

    cli_progress_begin(&progress, job->nbytes);
    for (size_t i = 0; i < job->nsources && status == DLPARK_OK && !cli_is_interrupted(); i++) {
        status = merge_copy(&job->sources[i].parts, writer, first, &progress, err);
        first += job->sources[i].parts.count;
    }
    cli_progress_end(&progress);
    return status;
}

static int merge_file(const merge_job *job, const char *path, const dlpark_file_write_options *options)
{
    dlpark_file_writer *writer = NULL;
    dlpark_error err;
    dlpark_status status = dlpark_file_writer_open(&writer, path, job->parts, job->count, options, &err);

    if (status == DLPARK_OK)
        status = merge_write(job, writer, &err);
    return cli_end_writing(job->call, writer, status, path, options, &job->losses, &err);
}

/* Who forgets TO names the last shard, which nothing else has. */
static bool merge_check_target(const cli_call *call)
{
    const char *path = call->operands[call->noperands - 1];
    struct stat status;

    if (cli_value(call, MERGE_FORCE) != NULL || lstat(path, &status) != 0)
        return true;
    cli_complain(call->verb, "%s exists, and would be TO, the last operand; --force replaces it", path);
    return false;
}

static int merge_run(const cli_call *call)
{
    dlpark_file_write_options options = {.sync = cli_value(call, MERGE_SYNC) != NULL};
    merge_job job = {.call = call};

    if (!cli_read_format(call, MERGE_TO, CLI_FORMATS_TENSORS, &options.format) ||
        !cli_read_align(call, MERGE_ALIGN, &options.alignment_bytes) || !merge_check_target(call))
        return CLI_MISUSE;
    int code = merge_open(&job);
    cli_watch_signals();
    if (code == CLI_FINE && !merge_plan(&job))
        code = CLI_UNREADABLE;
    options.metadata = job.texts.pairs;
    options.nmetadata = job.texts.npairs;
    if (code == CLI_FINE)
        code = merge_file(&job, call->operands[call->noperands - 1], &options);
    if (code == CLI_FINE)
        cli_losses_tell(&job.losses, call->verb);
    merge_end(&job);
    return code;
}

const cli_verb cli_verb_merge = {
    .name = "merge",
    .operands = "FROM... TO",
    .summary = "the shards of a checkpoint, or other files, as one",
    .help = "Writes the tensors of files into one: of a sharded checkpoint by its index, or of\n"
            "files one by one. A name comes once among them. The bytes are copied by the\n"
            "system, which on file systems that share blocks copies none. The metadata is that\n"
            "of the shards. TO gets its name when it is whole. One that exists is replaced with\n"
            "--force only: without it a forgotten TO would cost the last of the shards.",
    .examples = "  dlpark merge model.safetensors.index.json model.safetensors\n"
                "  dlpark merge model-*.safetensors model.safetensors\n",
    .options = merge_options,
    .noptions = sizeof merge_options / sizeof merge_options[0],
    .least = 2,
    .most = -1,
    .run = merge_run,
};
