/* dlpark check: whether files are right, and every fault of those that are not. */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"

enum { CHECK_FORMAT, CHECK_QUIET, CHECK_JSON };

static const cli_option check_options[] = {
    {"format", 0, "FORMAT", "refuse any other: safetensors"},
    {"quiet", 'q', NULL, "print nothing for files that are right"},
    {"json", 0, NULL, "for programs: the schema dlpark.check/1"},
};

/* So many faults of a file are told; the rest is counted. A header of 100 MB can have a million. */
#define CHECK_FAULTS ((size_t)1000)

/* ---- For people ---- */

static void check_print(const cli_call *call, const char *path, const dlpark_file_fault *faults, size_t count)
{
    if (count == 0 && cli_value(call, CHECK_QUIET) == NULL)
        printf("%s: ok\n", path);
    for (size_t i = 0; i < count && i < CHECK_FAULTS; i++) {
        printf("%s: byte %llu: ", path, (unsigned long long)faults[i].offset);
        if (faults[i].tensor[0] != '\0')
            printf("tensor '%s': ", faults[i].tensor);
        printf("%s [%s]\n", faults[i].message, faults[i].rule);
    }
    if (count > CHECK_FAULTS)
        printf("%s: and %zu more\n", path, count - CHECK_FAULTS);
}

/* ---- For programs ---- */

static void check_write(cli_json *json, const dlpark_file_fault *faults, size_t count)
{
    cli_json_bool(json, "ok", count == 0);
    cli_json_uint(json, "count", count);
    cli_json_open(json, "faults", '[');
    for (size_t i = 0; i < count && i < CHECK_FAULTS; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_word(json, "rule", faults[i].rule);
        cli_json_uint(json, "offset", faults[i].offset);
        cli_json_word(json, "tensor", faults[i].tensor);
        cli_json_word(json, "message", faults[i].message);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

/* ---- The verb ---- */

static int check_run_file(const cli_call *call, const char *path, const dlpark_file_options *options,
                          dlpark_file_fault *faults, cli_json *json)
{
    dlpark_error err;
    size_t count = 0;
    dlpark_status status = dlpark_file_check(path, options, faults, CHECK_FAULTS, &count, &err);

    if (json != NULL) {
        cli_json_open(json, NULL, '{');
        cli_json_word(json, "path", path);
    }
    if (status != DLPARK_OK && json != NULL)
        cli_json_word(json, "error", err.message);
    else if (status != DLPARK_OK)
        cli_complain(call->verb, "%s", err.message);
    else if (json != NULL)
        check_write(json, faults, count);
    else
        check_print(call, path, faults, count);
    if (json != NULL)
        cli_json_close(json, '}');
    if (status != DLPARK_OK)
        return cli_exit_of(status);
    return count == 0 ? CLI_FINE : CLI_FAULTY;
}

static int check_run_all(const cli_call *call, dlpark_file_fault *faults, cli_json *json)
{
    dlpark_file_options options = {.format = DLPARK_FILE_ANY};
    int worst = CLI_FINE;

    if (!cli_read_format(call, CHECK_FORMAT, &options.format))
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
            "brackets. The bytes of the tensors are not read.",
    .examples = "  dlpark check *.safetensors\n"
                "  dlpark check --quiet downloads/*.safetensors || echo faulty\n"
                "  dlpark check --json model.safetensors\n",
    .options = check_options,
    .noptions = sizeof check_options / sizeof check_options[0],
    .least = 1,
    .most = -1,
    .run = check_run,
};
