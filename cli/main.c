/* The command dlpark: looks into tensor files, checks and changes them. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "command.h"

static const cli_verb *const main_verbs[] = {
    &cli_verb_info, &cli_verb_check,   &cli_verb_show,  &cli_verb_stats,
    &cli_verb_diff, &cli_verb_convert, &cli_verb_split, &cli_verb_merge,
};

#define MAIN_VERBS (sizeof main_verbs / sizeof main_verbs[0])

static void main_print_help(void)
{
    printf("Usage: dlpark VERB [OPTION]... FILE...\n\n"
           "Looks into tensor files, checks, compares and changes them: safetensors, sharded or\n"
           "not, npy, npz, GGUF; and pictures: JPEG, PNG, WebP.\n"
           "What a file is, is told by its content, never by its name.\n\n"
           "Verbs:\n");
    for (size_t i = 0; i < MAIN_VERBS; i++)
        printf("  %-8s %s\n", main_verbs[i]->name, main_verbs[i]->summary);
    printf("\n`dlpark VERB --help` tells more of one. `dlpark --version` says which this is.\n"
           "`dlpark --print man`, bash or zsh: the manual page, and completions for a shell.\n\n"
           "Exit status: 0 all is well; 1 a file is faulty, or two differ; 2 the command line\n"
           "is not understood; 3 a file could not be opened, read or written; 128 and the\n"
           "number of a signal when interrupted. Of several files the highest.\n\n"
           "Examples:\n"
           "  dlpark info model.safetensors\n"
           "  dlpark check *.safetensors\n"
           "  dlpark show model.safetensors 'lm_head.weight[0:2, :8]'\n"
           "  dlpark convert model.safetensors half.safetensors --dtype f16\n"
           "  dlpark merge model.safetensors.index.json model.safetensors\n");
}

static const cli_verb *main_find(const char *name)
{
    for (size_t i = 0; i < MAIN_VERBS; i++)
        if (strcmp(main_verbs[i]->name, name) == 0)
            return main_verbs[i];
    return NULL;
}

static int main_refuse(const char *name)
{
    const char *words[MAIN_VERBS];

    for (size_t i = 0; i < MAIN_VERBS; i++)
        words[i] = main_verbs[i]->name;
    const char *nearest = cli_nearest(name, words, MAIN_VERBS);
    cli_complain(NULL, "there is no verb '%s'%s%s%s", name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                 nearest ? "'?" : "; `dlpark --help` lists them");
    return CLI_MISUSE;
}

/* `dlpark help` and `dlpark help info`. */
static int main_help(int argc, char **argv)
{
    const cli_verb *verb = argc > 2 ? main_find(argv[2]) : NULL;

    if (argc > 2 && verb == NULL)
        return main_refuse(argv[2]);
    if (verb != NULL)
        cli_print_verb_help(verb);
    else
        main_print_help();
    return cli_finish(CLI_FINE);
}

/* Each shard of a checkpoint is an open file, and the limit is that of the nineties. */
static void main_raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* else what cannot be opened says so */
    }
}

static int main_run(const cli_verb *verb, int argc, char **argv)
{
    cli_call call;
    int code;

    main_raise_limit();
    if (cli_call_begin(&call, verb, argc, argv, &code))
        code = verb->run(&call);
    cli_call_end(&call);
    return cli_finish(code);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    if (argc < 2) {
        cli_complain(NULL, "a verb is missing; `dlpark --help` lists them");
        return CLI_MISUSE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return main_help(strcmp(word, "help") == 0 ? argc : 1, argv);
    if (strcmp(word, "--version") == 0) {
        printf("dlpark %s (DLPack %d.%d)\n", dlpark_version(), DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
        return cli_finish(CLI_FINE);
    }
    if (strcmp(word, "--print") == 0 && argc == 3)
        return cli_finish(cli_manual(argv[2], main_verbs, MAIN_VERBS));
    const cli_verb *verb = main_find(word);
    return verb != NULL ? main_run(verb, argc - 2, argv + 2) : main_refuse(word);
}
