/* dlpark stats: what the numbers of tensors are like. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "numbers.h"

enum { STATS_INCLUDE, STATS_EXCLUDE, STATS_HISTOGRAM, STATS_FORMAT, STATS_JSON };

static const cli_option stats_options[] = {
    {"include", 'i', "PATTERN", "only tensors whose names match, as the shell's *; may be repeated"},
    {"exclude", 'x', "PATTERN", "but not those; may be repeated"},
    {"histogram", 'g', NULL, "how the finite numbers are spread between the least and the greatest"},
    {"format", 0, "FORMAT", "no other: safetensors, npy, npz, gguf, safetensors-index, jpeg, png, webp"},
    {"json", 0, NULL, "for programs: the schema dlpark.stats/1"},
    CLI_FOLLOW_LINKS,
};

/* ---- For people ---- */

static void stats_draw(const cli_numbers *numbers)
{
    enum { WIDTH = 50 };
    int64_t most = 1;
    double step = numbers->greatest / CLI_BINS - numbers->least / CLI_BINS;

    for (int i = 0; i < CLI_BINS; i++)
        most = numbers->bins[i] > most ? numbers->bins[i] : most;
    for (int i = 0; i < CLI_BINS; i++) {
        int length = (int)((double)numbers->bins[i] / (double)most * WIDTH + 0.5);
        if (length == 0 && numbers->bins[i] > 0)
            length = 1;
        printf("    %12.5g  ", numbers->least + step * i);
        for (int j = 0; j < length; j++)
            putchar('#');
        printf("%s%lld\n", length > 0 ? " " : "", (long long)numbers->bins[i]);
    }
    printf("    %12.5g\n", numbers->greatest);
}

static void stats_print(const char *name, const dlpark_file_entry *entry, const cli_numbers *numbers,
                        bool has_histogram)
{
    printf("%s%s%s  %s%s\n", cli_bold(), name, cli_plain(), dlpark_dtype_long_name(entry->dtype).text,
           cli_show_shape(entry).text);
    if (numbers->finite > 0)
        printf("  min %s  max %s  mean %.6g  std %.6g\n", cli_numbers_extreme(numbers, false).text,
               cli_numbers_extreme(numbers, true).text, numbers->mean, cli_numbers_deviation(numbers));
    printf("  %lld number%s, %lld zero%s", (long long)numbers->count, numbers->count == 1 ? "" : "s",
           (long long)numbers->zeros, numbers->zeros == 1 ? "" : "s");
    if (numbers->nans > 0)
        printf(", %lld NaN", (long long)numbers->nans);
    if (numbers->infinities > 0)
        printf(", %lld infinite", (long long)numbers->infinities);
    putchar('\n');
    if (has_histogram && numbers->finite > 0)
        stats_draw(numbers);
}

/* ---- For programs ---- */

static void stats_write_extreme(cli_json *json, const char *key, const cli_numbers *numbers, bool is_greatest)
{
    if (numbers->integers.bits == 0) {
        cli_json_number(json, key, numbers->finite == 0 ? NAN : is_greatest ? numbers->greatest : numbers->least);
        return;
    }
    cli_json_key(json, key);
    fputs(cli_numbers_extreme(numbers, is_greatest).text, stdout);
}

static void stats_write(cli_json *json, const dlpark_file_entry *entry, const cli_numbers *numbers, bool has_histogram)
{
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "name", entry->name, entry->name_nbytes);
    cli_json_word(json, "dtype", dlpark_dtype_long_name(entry->dtype).text);
    cli_json_shape(json, "shape", entry);
    cli_json_uint(json, "count", (uint64_t)numbers->count);
    stats_write_extreme(json, "min", numbers, false);
    stats_write_extreme(json, "max", numbers, true);
    cli_json_number(json, "mean", numbers->finite > 0 ? numbers->mean : NAN);
    cli_json_number(json, "std", cli_numbers_deviation(numbers));
    cli_json_uint(json, "zeros", (uint64_t)numbers->zeros);
    cli_json_uint(json, "nans", (uint64_t)numbers->nans);
    cli_json_uint(json, "infinities", (uint64_t)numbers->infinities);
    if (has_histogram) {
        int64_t bins[CLI_BINS];
        for (int i = 0; i < CLI_BINS; i++)
            bins[i] = numbers->bins[i];
        cli_json_extents(json, "histogram", CLI_BINS, bins);
    }
    cli_json_close(json, '}');
}

/* ---- The verb ---- */

typedef struct stats_job {
    const cli_call *call;
    const dlpark_file *file;
    cli_json *json; /* NULL: for people */
    cli_progress progress;
    bool has_histogram;
} stats_job;

static int stats_tensor(stats_job *job, int64_t index, const dlpark_file_entry *entry, const char *name)
{
    cli_numbers numbers;
    dlpark_error err;
    dlpark_status status = cli_numbers_read(&numbers, job->file, index, entry->dtype, &job->progress, &err);

    if (status == DLPARK_OK && job->has_histogram)
        status = cli_numbers_histogram(&numbers, job->file, index, entry->dtype, &job->progress, &err);
    cli_progress_end(&job->progress);
    if (cli_is_interrupted())
        return cli_interrupted();
    if (status != DLPARK_OK) {
        cli_complain(job->call->verb, "%s: %s", name, err.message);
        return cli_exit_of(status);
    }
    if (job->json != NULL)
        stats_write(job->json, entry, &numbers, job->has_histogram);
    else
        stats_print(name, entry, &numbers, job->has_histogram);
    return CLI_FINE;
}

static int stats_each(stats_job *job)
{
    int worst = CLI_FINE;

    for (int64_t i = 0; i < dlpark_file_count(job->file) && !cli_is_interrupted(); i++) {
        dlpark_file_entry entry;
        if (dlpark_file_entry_get(job->file, i, &entry, NULL) != DLPARK_OK)
            continue;
        char *name = cli_show_name(entry.name, entry.name_nbytes);
        int code = name == NULL ? CLI_UNREADABLE : CLI_FINE;
        if (name != NULL && cli_is_wanted(job->call, STATS_INCLUDE, STATS_EXCLUDE, name))
            code = stats_tensor(job, i, &entry, name);
        free(name);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static int stats_run(const cli_call *call)
{
    dlpark_file *file = NULL;
    cli_json json = {0};
    stats_job job = {.call = call, .has_histogram = cli_value(call, STATS_HISTOGRAM) != NULL};
    bool is_json = cli_value(call, STATS_JSON) != NULL;
    int code = cli_open_read(call, call->operands[0], STATS_FORMAT, is_json ? "dlpark.stats/1" : NULL, &file);

    if (code != CLI_FINE)
        return code;
    if (!cli_check_wanted(call, STATS_INCLUDE, STATS_EXCLUDE, &file, 1)) {
        dlpark_file_release(&file);
        return CLI_MISUSE;
    }
    job.file = file;
    job.json = is_json ? &json : NULL;
    cli_watch_signals();
    cli_progress_begin(&job.progress, dlpark_file_nbytes(file) * (job.has_histogram ? 2 : 1));
    if (job.json != NULL)
        cli_json_begin(&json, "dlpark.stats/1", "tensors");
    code = stats_each(&job);
    if (job.json != NULL)
        cli_json_end(&json);
    dlpark_file_release(&file);
    return code;
}

const cli_verb cli_verb_stats = {
    .name = "stats",
    .operands = "FILE",
    .summary = "what the numbers are like: extremes, mean, NaNs, a histogram",
    .help = "Reads every number of the tensors, a piece at a time. Minimum, maximum, mean and\n"
            "standard deviation are of the finite ones; NaNs and infinities are counted. Of\n"
            "complex numbers the magnitudes are taken.",
    .examples = "  dlpark stats model.safetensors\n"
                "  dlpark stats --histogram --include '*.weight' model.safetensors\n"
                "  dlpark stats -g photo.jpg\n"
                "  dlpark stats --json model.safetensors | jq '.tensors[] | select(.nans > 0)'\n",
    .options = stats_options,
    .noptions = sizeof stats_options / sizeof stats_options[0],
    .least = 1,
    .most = 1,
    .run = stats_run,
};
