/* dlpark check: whether files are right, and every fault of those that are not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pictures.h"

enum { CHECK_FORMAT, CHECK_STRICT, CHECK_QUIET, CHECK_JSON };

static const cli_option check_options[] = {
    {"format", 0, "FORMAT", "no other: safetensors, npy, npz, gguf, safetensors-index, jpeg, png, webp"},
    {"strict", 0, NULL, "hazards count as faults"},
    {"quiet", 'q', NULL, "print nothing for files that are right"},
    {"json", 0, NULL, "for programs: the schema dlpark.check/1"},
    CLI_FOLLOW_LINKS,
};

/* What is known of a file: its faults, and when it has none its hazards. */
typedef struct check_found {
    dlpark_file_fault *list;
    size_t count;
    bool is_hazards;
} check_found;

/* So many of a file are told; the rest is counted. A header of 100 MB can have a million. */
#define CHECK_FAULTS ((size_t)1000)

/* ---- For people ---- */

static void check_print(const cli_call *call, const char *path, const check_found *found)
{
    bool is_strict = cli_value(call, CHECK_STRICT) != NULL;

    if (cli_value(call, CHECK_QUIET) == NULL && (found->count == 0 || (found->is_hazards && !is_strict)))
        printf("%s: ok\n", path);
    if (cli_value(call, CHECK_QUIET) != NULL && found->is_hazards && !is_strict)
        return;
    for (size_t i = 0; i < found->count && i < CHECK_FAULTS; i++) {
        const dlpark_file_fault *fault = &found->list[i];
        printf("%s: %sbyte %llu: ", path, found->is_hazards ? "hazard: " : "", (unsigned long long)fault->offset);
        if (fault->tensor[0] != '\0')
            printf("tensor '%s': ", fault->tensor);
        printf("%s [%s]\n", fault->message, fault->rule);
    }
    if (found->count > CHECK_FAULTS)
        printf("%s: and %zu more\n", path, found->count - CHECK_FAULTS);
}

/* ---- For programs ---- */

static void check_write_list(cli_json *json, const char *key, const dlpark_file_fault *list, size_t count)
{
    cli_json_open(json, key, '[');
    for (size_t i = 0; i < count && i < CHECK_FAULTS; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_word(json, "rule", list[i].rule);
        cli_json_uint(json, "offset", list[i].offset);
        cli_json_word(json, "tensor", list[i].tensor);
        cli_json_word(json, "message", list[i].message);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void check_write(cli_json *json, const check_found *found)
{
    size_t faults = found->is_hazards ? 0 : found->count, hazards = found->is_hazards ? found->count : 0;

    cli_json_bool(json, "ok", faults == 0);
    cli_json_uint(json, "count", faults);
    check_write_list(json, "faults", found->list, faults);
    cli_json_uint(json, "hazard_count", hazards);
    check_write_list(json, "hazards", found->list, hazards);
}

/* ---- The verb ---- */

/* What failed because of the file is a fault of it, told without the path, which stands before it. */
static dlpark_status check_take_error(const char *path, const char *rule, dlpark_status status, check_found *found,
                                      const dlpark_error *err)
{
    size_t head = strlen(path);
    const char *message = err->message;

    if (cli_exit_of(status) != CLI_FAULTY)
        return status;
    if (strncmp(message, path, head) == 0 && strncmp(message + head, ": ", 2) == 0)
        message += head + 2;
    found->count = 1;
    found->list[0] = (dlpark_file_fault){.rule = rule};
    snprintf(found->list[0].message, sizeof found->list[0].message, "%.255s", message);
    return DLPARK_OK;
}

/* A picture is decoded: what is wrong with one is found in no other way, and the codec tells the first fault. */
static dlpark_status check_find_in_picture(const char *path, check_found *found, dlpark_error *err)
{
    dlpark_file *file = NULL;
    dlpark_status status = cli_picture_open(&file, path, &(cli_picture_form){.is_chw = false}, true, err);

    dlpark_file_release(&file);
    found->count = 0;
    return status != DLPARK_OK ? check_take_error(path, "picture", status, found, err) : DLPARK_OK;
}

/* Faults, or hazards of a file without any. */
static dlpark_status check_find(const char *path, const dlpark_file_options *options, check_found *found,
                                dlpark_error *err)
{
    dlpark_file *file = NULL;

    dlpark_file_format picture;

    found->is_hazards = false;
    dlpark_status told = cli_picture_tell(path, options->format, &picture, err);
    if (told != DLPARK_OK)
        return check_take_error(path, "format", told, found, err);
    if (picture != DLPARK_FILE_ANY)
        return check_find_in_picture(path, found, err);
    DLPARK_TRY(dlpark_file_check(path, options, found->list, CHECK_FAULTS, &found->count, err));
    struct stat status;
    if (found->count != 0 || stat(path, &status) != 0 || !S_ISREG(status.st_mode)) /* a pipe can be read once */
        return DLPARK_OK;
    DLPARK_TRY(dlpark_file_open(&file, path, options, err));
    found->count = dlpark_file_hazards(file, found->list, CHECK_FAULTS);
    found->is_hazards = found->count != 0;
    dlpark_file_release(&file);
    return DLPARK_OK;
}

static int check_run_file(const cli_call *call, const char *path, const dlpark_file_options *options,
                          dlpark_file_fault *faults, cli_json *json)
{
    dlpark_error err;
    check_found found = {faults, 0, false};
    dlpark_status status = check_find(path, options, &found, &err);

    if (json != NULL) {
        cli_json_open(json, NULL, '{');
        cli_json_word(json, "path", path);
    }
    if (status != DLPARK_OK && json != NULL)
        cli_json_word(json, "error", err.message);
    else if (status != DLPARK_OK)
        cli_complain(call->verb, "%s", err.message);
    else if (json != NULL)
        check_write(json, &found);
    else
        check_print(call, path, &found);
    if (json != NULL)
        cli_json_close(json, '}');
    if (status != DLPARK_OK)
        return cli_exit_of(status);
    return found.count == 0 || (found.is_hazards && cli_value(call, CHECK_STRICT) == NULL) ? CLI_FINE : CLI_FAULTY;
}

static int check_run_all(const cli_call *call, dlpark_file_fault *faults, cli_json *json)
{
    dlpark_file_options options;
    int worst = CLI_FINE;

    if (!cli_read_file_options(call, CHECK_FORMAT, &options))
        return CLI_MISUSE;
    if (json != NULL) {
        cli_json_begin(json, "dlpark.check/1", "files");
    }
    for (int i = 0; i < call->noperands; i++) {
        int code = check_run_file(call, call->operands[i], &options, faults, json);
        worst = code > worst ? code : worst;
    }
    if (json != NULL)
        cli_json_end(json);
    return worst;
}

static int check_run(const cli_call *call)
{
    cli_json json = {0};
    dlpark_file_fault *faults = calloc(CHECK_FAULTS, sizeof *faults);

    if (faults == NULL) {
        cli_complain(call->verb, "out of memory");
        return CLI_UNREADABLE;
    }
    int code = check_run_all(call, faults, cli_value(call, CHECK_JSON) != NULL ? &json : NULL);
    free(faults);
    return code;
}

const cli_verb cli_verb_check = {
    .name = "check",
    .operands = "FILE...",
    .summary = "whether files are right; every fault of those that are not",
    .help = "Prints `ok` for each file that is right, and one line a fault for those that are\n"
            "not: the byte, the tensor, what is wrong with its numbers, and the rule in\n"
            "brackets. A hazard is nothing wrong, but some readers get it wrong: numbers that\n"
            "are not aligned, names that a terminal would obey. It is told, and changes the\n"
            "exit code with --strict only. Of an index file its shards are checked too, and\n"
            "the byte of a fault that is in a shard is the shard's. The bytes of the tensors\n"
            "are not read; a picture is decoded, and told with its first fault.",
    .examples = "  dlpark check *.safetensors\n"
                "  dlpark check --quiet downloads/*.safetensors || echo faulty\n"
                "  dlpark check --strict --json model.safetensors\n"
                "  dlpark check photos/*.jpg\n",
    .options = check_options,
    .noptions = sizeof check_options / sizeof check_options[0],
    .least = 1,
    .most = -1,
    .run = check_run,
};
