/* The arguments of a verb, by its table. GNU's manner: options anywhere, --name=value or --name value, "--" ends them. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(CLI_HAS_ZLIB)
#include <dlpark/zlib.h>
#endif

#include "pictures.h"

#define OPTIONS_HELP (-2) /* instead of an option's number */
#define OPTIONS_NONE (-1)

/* ---- Did you mean ---- */

/* How many letters have to be changed, added, taken away or swapped with the next; `most` for words that are too long. */
static int options_distance(const char *a, const char *b, int most)
{
    enum { LONGEST = 128 };
    int rows[3][LONGEST + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t more = a_length > b_length ? a_length - b_length : b_length - a_length;

    if (a_length > LONGEST || b_length > LONGEST || more >= (size_t)most)
        return most;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        int *row = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int best = before[j - 1] + (a[i - 1] != b[j - 1]);
            best = before[j] + 1 < best ? before[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *cli_nearest(const char *given, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    int best = strlen(given) < 4 ? 2 : 3; /* of a short word everything is near */

    for (size_t i = 0; i < count; i++) {
        int distance = options_distance(given, words[i], best);
        if (distance < best) {
            best = distance;
            nearest = words[i];
        }
    }
    return nearest;
}

/* ---- Help ---- */

void cli_print_verb_help(const cli_verb *verb)
{
    printf("Usage: dlpark %s [OPTION]... %s\n\n%s\n\nOptions:\n", verb->name, verb->operands, verb->help);
    for (size_t i = 0; i <= verb->noptions; i++) {
        static const cli_option help = {"help", 'h', NULL, "this text"};
        const cli_option *option = i < verb->noptions ? &verb->options[i] : &help;
        char left[48];
        snprintf(left, sizeof left, "%c%c%s--%s%s%s", option->letter ? '-' : ' ', option->letter ? option->letter : ' ',
                 option->letter ? ", " : "  ", option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        printf("  %-24s %s\n", left, option->help);
    }
    printf("\nExamples:\n%s", verb->examples);
}

/* ---- Reading ---- */

/* The number of an option by its long name, which ends at `length`. */
static int options_find(const cli_verb *verb, const char *name, size_t length)
{
    if (length == 4 && strncmp(name, "help", 4) == 0)
        return OPTIONS_HELP;
    for (size_t i = 0; i < verb->noptions; i++)
        if (strlen(verb->options[i].name) == length && strncmp(verb->options[i].name, name, length) == 0)
            return (int)i;
    return OPTIONS_NONE;
}

static int options_find_letter(const cli_verb *verb, char letter)
{
    if (letter == 'h')
        return OPTIONS_HELP;
    for (size_t i = 0; i < verb->noptions; i++)
        if (letter != '\0' && verb->options[i].letter == letter)
            return (int)i;
    return OPTIONS_NONE;
}

static bool options_refuse(const cli_verb *verb, const char *argument)
{
    enum { MOST = 32 };
    const char *words[MOST];
    char name[40] = "";
    size_t length = strcspn(argument, "=");

    for (size_t i = 0; i < verb->noptions && i < MOST; i++)
        words[i] = verb->options[i].name;
    if (argument[1] == '-' && length - 2 < sizeof name)
        memcpy(name, argument + 2, length - 2);
    const char *nearest = name[0] ? cli_nearest(name, words, verb->noptions) : NULL;
    cli_complain(verb, "there is no option '%.*s'%s%s%s", (int)length, argument, nearest ? "; did you mean '--" : "",
                 nearest ? nearest : "", nearest ? "'?" : "");
    return false;
}

/* Takes one option, at argv[*at], and its value, which may be the next argument. */
static bool options_take(cli_call *call, int option, const char *value, int argc, char **argv, int *at)
{
    const cli_option *row = &call->verb->options[option];

    if (row->value == NULL && value != NULL) {
        cli_complain(call->verb, "--%s takes no value, and '%s' was given", row->name, value);
        return false;
    }
    if (row->value != NULL && value == NULL) {
        if (*at + 1 >= argc) {
            cli_complain(call->verb, "--%s needs a value: %s", row->name, row->value);
            return false;
        }
        value = argv[++*at];
    }
    call->given[call->ngiven++] = (cli_given){option, value != NULL ? value : ""};
    return true;
}

/* Letters after one dash: flags, of which the last may have a value. `*option` is OPTIONS_HELP when it was asked for. */
static bool options_read_letters(cli_call *call, int argc, char **argv, int *at, int *option)
{
    const char *argument = argv[*at];

    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        *option = options_find_letter(call->verb, *letter);
        if (*option == OPTIONS_HELP)
            return true;
        if (*option == OPTIONS_NONE) {
            cli_complain(call->verb, "there is no option '-%s'", dlpark_file_name_text(letter, strlen(letter)).text);
            return false;
        }
        bool has_value = call->verb->options[*option].value != NULL;
        const char *value = has_value && letter[1] != '\0' ? letter + 1 : NULL;
        if (!options_take(call, *option, value, argc, argv, at))
            return false;
        if (has_value)
            break;
    }
    return true;
}

static bool options_read_one(cli_call *call, int argc, char **argv, int *at, int *option)
{
    const char *argument = argv[*at];
    size_t length = strcspn(argument, "=");

    if (argument[1] != '-')
        return options_read_letters(call, argc, argv, at, option);
    *option = options_find(call->verb, argument + 2, length - 2);
    if (*option == OPTIONS_HELP)
        return true;
    if (*option == OPTIONS_NONE)
        return options_refuse(call->verb, argument);
    return options_take(call, *option, argument[length] == '=' ? argument + length + 1 : NULL, argc, argv, at);
}

static bool options_check_operands(const cli_call *call)
{
    if (call->noperands < call->verb->least) {
        cli_complain(call->verb, "%s is missing; usage: dlpark %s [OPTION]... %s", call->verb->operands,
                     call->verb->name, call->verb->operands);
        return false;
    }
    if (call->verb->most >= 0 && call->noperands > call->verb->most) {
        cli_complain(call->verb, "'%s' is one operand too many", call->operands[call->verb->most]);
        return false;
    }
    return true;
}

bool cli_call_begin(cli_call *call, const cli_verb *verb, int argc, char **argv, int *exit_code)
{
    bool options_ended = false;
    size_t room = (size_t)argc + 1;

    /* A cluster of letters holds more than one option an argument. */
    for (int i = 0; i < argc; i++)
        room += argv[i][0] == '-' && argv[i][1] != '-' ? strlen(argv[i]) : 0;
    *call =
        (cli_call){.verb = verb, .operands = calloc(room, sizeof(char *)), .given = calloc(room, sizeof(cli_given))};
    *exit_code = CLI_MISUSE;
    if (call->operands == NULL || call->given == NULL) {
        cli_complain(verb, "out of memory");
        *exit_code = CLI_UNREADABLE;
        return false;
    }
    for (int at = 0; at < argc; at++) {
        int option = OPTIONS_NONE;
        if (options_ended || argv[at][0] != '-' || argv[at][1] == '\0') {
            call->operands[call->noperands++] = argv[at];
        } else if (strcmp(argv[at], "--") == 0) {
            options_ended = true;
        } else if (!options_read_one(call, argc, argv, &at, &option)) {
            return false;
        }
        if (option == OPTIONS_HELP) {
            cli_print_verb_help(verb);
            *exit_code = CLI_FINE;
            return false;
        }
    }
    return options_check_operands(call);
}

void cli_call_end(cli_call *call)
{
    free(call->operands);
    free(call->given);
}

/* ---- Asking ---- */

const char *cli_value(const cli_call *call, int option)
{
    for (int i = call->ngiven - 1; i >= 0; i--)
        if (call->given[i].option == option)
            return call->given[i].value;
    return NULL;
}

bool cli_is_wanted(const cli_call *call, int include, int exclude, const char *name)
{
    bool is_asked = false, is_included = false;

    for (int i = 0; i < call->ngiven; i++) {
        const cli_given *given = &call->given[i];
        bool matches = (given->option == include || given->option == exclude) && fnmatch(given->value, name, 0) == 0;
        if (given->option == exclude && matches)
            return false;
        is_asked |= given->option == include;
        is_included |= given->option == include && matches;
    }
    return is_included || !is_asked;
}

static bool options_has_wanted(const cli_call *call, int include, int exclude, const dlpark_file *file)
{
    bool is_wanted = false;

    for (int64_t i = 0; i < dlpark_file_count(file) && !is_wanted; i++) {
        dlpark_file_entry entry;
        if (dlpark_file_entry_get(file, i, &entry, NULL) != DLPARK_OK)
            continue;
        char *name = cli_show_name(entry.name, entry.name_nbytes);
        is_wanted = name == NULL || cli_is_wanted(call, include, exclude, name); /* who reads it tells of memory */
        free(name);
    }
    return is_wanted;
}

bool cli_check_wanted(const cli_call *call, int include, int exclude, dlpark_file *const *files, size_t count)
{
    char patterns[512] = "";
    size_t used = 0;
    bool has_tensors = false;

    for (size_t i = 0; i < count; i++) {
        if (options_has_wanted(call, include, exclude, files[i]))
            return true;
        has_tensors |= dlpark_file_count(files[i]) > 0;
    }
    for (int i = 0; i < call->ngiven && used < sizeof patterns; i++) {
        const cli_given *given = &call->given[i];
        if (given->option == include || given->option == exclude)
            used += (size_t)snprintf(patterns + used, sizeof patterns - used, " --%s %s",
                                     call->verb->options[given->option].name, given->value);
    }
    if (has_tensors)
        cli_complain(call->verb, "no tensor %s%s", cli_value(call, include) != NULL ? "matches" : "is left by",
                     patterns);
    return !has_tensors;
}

/* At most so many formats are known by name. */
#define OPTIONS_FORMATS 8

static void options_refuse_format(const cli_call *call, int option, const char *const *words, size_t count)
{
    const char *given = cli_value(call, option), *nearest = cli_nearest(given, words, count);
    char list[200] = "";
    size_t used = 0;

    for (size_t i = 0; i < count && used < sizeof list; i++) {
        const char *between = i == 0 ? "" : i == count - 1 ? " or " : ", ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", between, words[i]);
    }
    cli_complain(call->verb, "--%s %s: there is no such format; expected %s%s%s%s", call->verb->options[option].name,
                 given, list, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

bool cli_read_format(const cli_call *call, int option, cli_formats which, dlpark_file_format *format)
{
    static const dlpark_file_format pictures[] = {CLI_JPEG, CLI_PNG, CLI_WEBP};
    const char *given = cli_value(call, option), *words[OPTIONS_FORMATS + 3];
    int last = OPTIONS_FORMATS + (which != CLI_FORMATS_TENSORS ? 3 : 0);
    size_t count = 0;

    *format = DLPARK_FILE_ANY;
    if (given == NULL)
        return true;
    for (int number = 1; number <= last; number++) {
        dlpark_file_format tried =
            number <= OPTIONS_FORMATS ? (dlpark_file_format)number : pictures[number - OPTIONS_FORMATS - 1];
        const char *name = cli_format_name(tried);
        if (strcmp(name, "unknown") == 0)
            continue;
        if (strcmp(given, name) == 0) {
            *format = tried;
            return true;
        }
        if (tried != DLPARK_FILE_SHARDS || which == CLI_FORMATS_READ)
            words[count++] = name;
    }
    options_refuse_format(call, option, words, count);
    return false;
}

bool cli_read_align(const cli_call *call, int option, size_t *alignment_bytes)
{
    const char *given = cli_value(call, option);
    char *end = NULL;
    unsigned long number = given != NULL ? strtoul(given, &end, 10) : 0;

    *alignment_bytes = (size_t)number;
    if (given == NULL)
        return true;
    if (end != given && *end == '\0' && number > 0 && number <= 4096 && (number & (number - 1)) == 0)
        return true;
    cli_complain(call->verb, "--%s %s: expected a power of two up to 4096", call->verb->options[option].name, given);
    return false;
}

bool cli_read_compress(const cli_call *call, int option, const dlpark_deflate **deflate)
{
    *deflate = NULL;
    if (cli_value(call, option) == NULL)
        return true;
#if defined(CLI_HAS_ZLIB)
    *deflate = dlpark_zlib_deflate(0);
    return true;
#else
    cli_complain(call->verb, "--%s: this program was built without zlib", call->verb->options[option].name);
    return false;
#endif
}

bool cli_follows_links(const cli_call *call)
{
    static const char name[] = "follow-links";

    return cli_value(call, options_find(call->verb, name, sizeof name - 1)) != NULL;
}

bool cli_read_file_options(const cli_call *call, int format, dlpark_file_options *options)
{
    *options = (dlpark_file_options){.follow_links = cli_follows_links(call)};
#if defined(CLI_HAS_ZLIB)
    options->inflate = dlpark_zlib_inflate();
#endif
    return cli_read_format(call, format, CLI_FORMATS_READ, &options->format);
}

int cli_open(const cli_call *call, const char *path, int format, dlpark_file **file)
{
    return cli_open_formed(call, path, format, &(cli_picture_form){.is_chw = false}, file);
}

dlpark_status cli_open_file(dlpark_file **file, const char *path, const dlpark_file_options *options,
                            const cli_picture_form *form, dlpark_error *err)
{
    dlpark_file_format picture;

    DLPARK_TRY(cli_picture_tell(path, options->format, &picture, err));
    if (picture != DLPARK_FILE_ANY)
        return cli_picture_open(file, path, form, true, err);
    return dlpark_file_open(file, path, options, err);
}

int cli_open_formed(const cli_call *call, const char *path, int format, const cli_picture_form *form,
                    dlpark_file **file)
{
    dlpark_file_options options;
    dlpark_error err;

    if (!cli_read_file_options(call, format, &options))
        return CLI_MISUSE;
    dlpark_status status = cli_open_file(file, path, &options, form, &err);
    if (status != DLPARK_OK)
        cli_complain(call->verb, "%s", err.message);
    return cli_exit_of(status);
}

int cli_open_read(const cli_call *call, const char *path, int format, const char *schema, dlpark_file **file)
{
    dlpark_file_options options;
    dlpark_error err;

    if (!cli_read_file_options(call, format, &options))
        return CLI_MISUSE;
    dlpark_status status = cli_open_file(file, path, &options, &(cli_picture_form){.is_chw = false}, &err);
    if (status != DLPARK_OK && schema != NULL)
        cli_json_error(schema, err.message);
    else if (status != DLPARK_OK)
        cli_complain(call->verb, "%s", err.message);
    return cli_exit_of(status);
}
