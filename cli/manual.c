/* What is made of the tables of verbs: the manual page, and completions for shells. Not verbs that people look for. */
#include <stdio.h>
#include <string.h>

#include "command.h"

/* ---- The manual page ---- */

/* Text as roff takes it: no line begins with a point, and a hyphen that is typed stays one. */
static void manual_put(const char *text)
{
    bool begins = true;

    for (; *text != '\0'; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '-' || *text == '\\')
            printf("\\%c", *text == '-' ? '-' : 'e');
        else
            putchar(*text);
        begins = *text == '\n';
    }
}

static void manual_put_option(const cli_option *option)
{
    fputs(".TP\n\\fB", stdout);
    if (option->letter != 0)
        printf("\\-%c\\fR, \\fB", option->letter);
    fputs("\\-\\-", stdout);
    manual_put(option->name);
    fputs("\\fR", stdout);
    if (option->value != NULL)
        printf(" \\fI%s\\fR", option->value);
    putchar('\n');
    manual_put(option->help);
    putchar('\n');
}

static void manual_put_verb(const cli_verb *verb)
{
    printf(".SS dlpark %s \\fR[\\fIOPTION\\fR]... ", verb->name);
    manual_put(verb->operands);
    putchar('\n');
    manual_put(verb->help);
    putchar('\n');
    for (size_t i = 0; i < verb->noptions; i++)
        manual_put_option(&verb->options[i]);
    fputs(".PP\n.nf\n", stdout);
    manual_put(verb->examples);
    fputs(".fi\n", stdout);
}

static void manual_print(const cli_verb *const *verbs, size_t count)
{
    printf(".TH DLPARK 1 \"\" \"dlpark %s\" \"User Commands\"\n", dlpark_version());
    fputs(".SH NAME\ndlpark \\- look into tensor files, check, compare and change them\n"
          ".SH SYNOPSIS\n\\fBdlpark\\fR \\fIVERB\\fR [\\fIOPTION\\fR]... \\fIFILE\\fR...\n"
          ".SH DESCRIPTION\nWhat a file is, is told by its content, never by its name. Names and texts of files are\n"
          "shown with what a terminal would obey escaped.\n.SH VERBS\n",
          stdout);
    for (size_t i = 0; i < count; i++)
        manual_put_verb(verbs[i]);
    fputs(".SH EXIT STATUS\n.TP\n0\nall is well\n.TP\n1\na file could be read and is faulty, or two files differ\n"
          ".TP\n2\nthe command line is not understood\n.TP\n3\na file could not be opened, read or written\n"
          ".TP\n128 and a number\ninterrupted by that signal\n.PP\nOf several files the highest counts.\n"
          ".SH ENVIRONMENT\n.TP\nNO_COLOR\nnothing is bold or coloured\n",
          stdout);
}

/* ---- Completions ---- */

static void manual_print_bash(const cli_verb *const *verbs, size_t count)
{
    fputs("# bash completion for dlpark\n_dlpark()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} options=\n"
          "    COMPREPLY=()\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"",
          stdout);
    for (size_t i = 0; i < count; i++)
        printf("%s ", verbs[i]->name);
    fputs("help --help --version\" -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n", stdout);
    for (size_t i = 0; i < count; i++) {
        printf("    %s) options=\"--help", verbs[i]->name);
        for (size_t j = 0; j < verbs[i]->noptions; j++)
            printf(" --%s", verbs[i]->options[j].name);
        fputs("\" ;;\n", stdout);
    }
    fputs("    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\ncomplete -o filenames -F _dlpark dlpark\n",
          stdout);
}

/* Within single quotation marks of zsh, and of the square brackets that its descriptions are in. */
static void manual_put_zsh(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (*text == '[' || *text == ']' || *text == ':')
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void manual_print_zsh(const cli_verb *const *verbs, size_t count)
{
    fputs("#compdef dlpark\nlocal -a verbs\nverbs=(\n", stdout);
    for (size_t i = 0; i < count; i++) {
        printf("    '%s:", verbs[i]->name);
        manual_put_zsh(verbs[i]->summary);
        fputs("'\n", stdout);
    }
    fputs(")\nif (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\nfi\ncase $words[2] in\n", stdout);
    for (size_t i = 0; i < count; i++) {
        printf("%s)\n    _arguments '--help[this text]' \\\n", verbs[i]->name);
        for (size_t j = 0; j < verbs[i]->noptions; j++) {
            const cli_option *option = &verbs[i]->options[j];
            printf("        '*--%s%s[", option->name, option->value != NULL ? "=" : "");
            manual_put_zsh(option->help);
            printf("]%s%s' \\\n", option->value != NULL ? ":" : "", option->value != NULL ? option->value : "");
        }
        fputs("        '*:file:_files'\n    ;;\n", stdout);
    }
    fputs("esac\n", stdout);
}

int cli_manual(const char *what, const cli_verb *const *verbs, size_t count)
{
    if (strcmp(what, "man") == 0)
        manual_print(verbs, count);
    else if (strcmp(what, "bash") == 0)
        manual_print_bash(verbs, count);
    else if (strcmp(what, "zsh") == 0)
        manual_print_zsh(verbs, count);
    else {
        cli_complain(NULL, "--print %s: expected man, bash or zsh", what);
        return CLI_MISUSE;
    }
    return CLI_FINE;
}
