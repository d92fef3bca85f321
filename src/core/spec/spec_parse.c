/*
 * The parser: recursive descent, one function for each rule of the grammar in docs/reference/spec.md. It fills a spec
 * and the room behind the known names; both count only when the whole text was read.
 */
#include <stdio.h>
#include <string.h>

#include "spec_parts.h"

#define SPEC_SEEN_DEVICE    UINT32_C(0x80000000)
#define SPEC_SEEN_ALIGNMENT UINT32_C(0x40000000)
#define SPEC_SEEN_FRAMEWORK UINT32_C(0x20000000)

#define SPEC_DTYPES "any, same(ARGUMENT), or names such as f32, u8, bf16, bool, c64, float32"

/* ---- What could have stood there ---- */

static bool spec_is_device(int type)
{
    return dlpark_device_check(DLPARK_DEVICE(type, 0), NULL) == DLPARK_OK;
}

static void spec_list_devices(dlpark__sink *sink)
{
    for (int type = 0; type < 32; type++)
        if (spec_is_device(type)) {
            dlpark__sink_text(sink, type == kDLCPU ? "" : ", ");
            dlpark__sink_text(sink, dlpark__spec_device_word(type).text);
        }
}

static dlpark__spec_line spec_devices(void)
{
    dlpark__spec_line line;
    dlpark__sink sink;

    dlpark__sink_begin(&sink, line.text, sizeof line.text);
    spec_list_devices(&sink);
    dlpark__sink_end_marked(&sink);
    return line;
}

static dlpark__spec_line spec_words(void)
{
    dlpark__spec_line line;
    dlpark__sink sink;

    dlpark__sink_begin(&sink, line.text, sizeof line.text);
    for (int i = 0; i < DLPARK__SPEC_NWORDS; i++) {
        dlpark__sink_text(&sink, dlpark__spec_words[i].name);
        dlpark__sink_text(&sink, ", ");
    }
    dlpark__sink_text(&sink, "align=N, as=FRAMEWORK, or a device: ");
    spec_list_devices(&sink);
    dlpark__sink_end_marked(&sink);
    return line;
}

static dlpark__spec_line spec_frameworks(void)
{
    dlpark__spec_line line;
    dlpark__sink sink;

    dlpark__sink_begin(&sink, line.text, sizeof line.text);
    for (int i = 1; i < DLPARK__SPEC_NFRAMEWORKS; i++) {
        dlpark__sink_text(&sink, i == 1 ? "a framework: " : ", ");
        dlpark__sink_text(&sink, dlpark__spec_frameworks[i]);
    }
    dlpark__sink_end_marked(&sink);
    return line;
}

/* Of names that are equally near, the first is taken: the widths are in the order in which they are likely. */
static dlpark__spec_line spec_guess_dtype(dlpark__spec_token token)
{
    static const uint8_t widths[] = {64, 32, 16, 8, 128, 4, 6, 2, 1};
    dlpark__spec_guess guess = dlpark__spec_guess_begin(token);

    dlpark__spec_guess_try(&guess, "any");
    dlpark__spec_guess_try(&guess, "same");
    for (size_t i = 0; i < sizeof widths; i++)
        for (uint8_t code = 0; *dlpark__dtype_widths(code) != '\0'; code++) {
            DLDataType dtype = {code, widths[i], 1};
            if (dlpark_dtype_check(dtype, NULL) != DLPARK_OK)
                continue;
            dlpark__spec_guess_try(&guess, dlpark_dtype_name(dtype).text);
            dlpark__spec_guess_try(&guess, dlpark_dtype_long_name(dtype).text);
        }
    return dlpark__spec_guess_text(&guess);
}

/* What others call the words of a spec; nearness of letters finds the wrong ones for some of them. */
static const char *spec_other_word(dlpark__spec_token token)
{
    static const char *const pairs[][2] = {
        {"gpu", "cuda"},  {"nvidia", "cuda"},  {"hip", "rocm"},       {"amd", "rocm"},      {"mps", "metal"},
        {"host", "cpu"},  {"contiguous", "c"}, {"compact", "c"},      {"C", "c"},           {"F", "f"},
        {"fortran", "f"}, {"row_major", "c"},  {"column_major", "f"}, {"writable", "mut"},  {"inout", "mut"},
        {"out", "mut"},   {"rw", "mut"},       {"None", "none"},      {"optional", "none"}, {"cast", "convert"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strlen(pairs[i][0]) == token.length && memcmp(pairs[i][0], token.text, token.length) == 0)
            return pairs[i][1];
    return NULL;
}

static dlpark__spec_line spec_guess_word(dlpark__spec_token token)
{
    dlpark__spec_guess guess = dlpark__spec_guess_begin(token);
    const char *other = spec_other_word(token);

    if (other != NULL) {
        snprintf(guess.word.text, sizeof guess.word.text, "%s", other);
        return dlpark__spec_guess_text(&guess);
    }
    for (int i = 0; i < DLPARK__SPEC_NWORDS; i++)
        dlpark__spec_guess_try(&guess, dlpark__spec_words[i].name);
    dlpark__spec_guess_try(&guess, "align");
    dlpark__spec_guess_try(&guess, "as");
    for (int type = 0; type < 32; type++)
        if (spec_is_device(type))
            dlpark__spec_guess_try(&guess, dlpark__spec_device_word(type).text);
    return dlpark__spec_guess_text(&guess);
}

static dlpark__spec_line spec_guess_framework(dlpark__spec_token token)
{
    dlpark__spec_guess guess = dlpark__spec_guess_begin(token);

    for (int i = 1; i < DLPARK__SPEC_NFRAMEWORKS; i++)
        dlpark__spec_guess_try(&guess, dlpark__spec_frameworks[i]);
    return dlpark__spec_guess_text(&guess);
}

/* ---- The rules ---- */

static dlpark_status spec_read_number(dlpark__spec_parser *parser, int64_t limit, int64_t *out)
{
    dlpark__spec_token token = parser->token;
    int64_t value;

    if (token.length == 0 || !dlpark__spec_is_digit(*token.text))
        return dlpark__spec_refuse_token(parser, "a number");
    if (dlpark__read_decimal(token.text, token.length, limit, &value) != token.length)
        return dlpark__spec_refuse_token(parser, "a number in decimal, without leading zeros");
    if (value < 0)
        return dlpark__spec_refuse(parser, token, "%s is too large, at most %lld is possible",
                                   dlpark__spec_quote(token).text, (long long)limit);
    *out = value;
    dlpark__spec_advance(parser);
    return DLPARK_OK;
}

/* The index of a name in a list; `count` when it is not there. */
static int32_t spec_find(char (*names)[DLPARK_SPEC_NAME_NBYTES], int32_t count, dlpark__spec_token token)
{
    int32_t i = 0;

    while (i < count && (strlen(names[i]) != token.length || memcmp(names[i], token.text, token.length) != 0))
        i++;
    return i;
}

static dlpark_status spec_read_same(dlpark__spec_parser *parser)
{
    if (!dlpark__spec_accept(parser, "("))
        return dlpark__spec_refuse_token(parser, "\"(\" and the name of an argument");
    if (!dlpark__spec_is_name(parser->token))
        return dlpark__spec_refuse_token(parser, "the name of an argument");

    int32_t argument = spec_find(parser->names->arguments, parser->names->narguments, parser->token);
    if (argument == parser->names->narguments)
        return dlpark__spec_refuse(parser, parser->token,
                                   "%s is not declared: same(...) takes an argument before this one",
                                   dlpark__spec_quote(parser->token).text);
    parser->spec->same = argument;
    dlpark__spec_advance(parser);
    if (!dlpark__spec_accept(parser, ")"))
        return dlpark__spec_refuse_token(parser, "\")\"");
    return DLPARK_OK;
}

static dlpark_status spec_read_dtype(dlpark__spec_parser *parser)
{
    dlpark_spec *spec = parser->spec;
    DLDataType dtype;
    int32_t i = 0;

    if (!dlpark__spec_is_word(parser->token))
        return dlpark__spec_refuse_token(parser, "a dtype: " SPEC_DTYPES);
    if (dlpark__spec_is(parser->token, "any") || dlpark__spec_is(parser->token, "same"))
        return dlpark__spec_refuse(parser, parser->token, "%s cannot stand beside other dtypes",
                                   dlpark__spec_quote(parser->token).text);
    if (dlpark_dtype_parse(dlpark__spec_copy(parser->token).text, &dtype, NULL) != DLPARK_OK)
        return dlpark__spec_refuse(parser, parser->token, "%s is not a dtype%s; expected " SPEC_DTYPES,
                                   dlpark__spec_quote(parser->token).text, spec_guess_dtype(parser->token).text);
    while (i < spec->ndtypes && !dlpark_dtype_equal(spec->dtypes[i], dtype))
        i++;
    if (i == DLPARK_SPEC_MAX_DTYPES)
        return dlpark__spec_refuse(parser, parser->token, "a spec has at most %d dtypes", DLPARK_SPEC_MAX_DTYPES);
    spec->dtypes[i] = dtype;
    spec->ndtypes += i == spec->ndtypes;
    dlpark__spec_advance(parser);
    return DLPARK_OK;
}

static dlpark_status spec_read_dtypes(dlpark__spec_parser *parser)
{
    if (dlpark__spec_accept(parser, "any"))
        return DLPARK_OK;
    if (dlpark__spec_accept(parser, "same"))
        return spec_read_same(parser);
    do
        DLPARK_TRY(spec_read_dtype(parser));
    while (dlpark__spec_accept(parser, "|"));
    return DLPARK_OK;
}

static dlpark_status spec_read_dim_name(dlpark__spec_parser *parser, int64_t *dim)
{
    dlpark__spec_token token = parser->token;
    int32_t name = spec_find(parser->names->dims, parser->ndims, token);

    if (token.length >= DLPARK_SPEC_NAME_NBYTES)
        return dlpark__spec_refuse(parser, token, "a name has at most %d characters", DLPARK_SPEC_NAME_NBYTES - 1);
    if (name == DLPARK_SPEC_MAX_NAMES)
        return dlpark__spec_refuse(parser, token, "a call has at most %d dimension names", DLPARK_SPEC_MAX_NAMES);
    if (name == parser->ndims) {
        memcpy(parser->names->dims[name], dlpark__spec_copy(token).text, token.length + 1);
        parser->ndims++;
    }
    *dim = ~(int64_t)name;
    dlpark__spec_advance(parser);
    return DLPARK_OK;
}

static dlpark_status spec_read_ellipsis(dlpark__spec_parser *parser)
{
    if (parser->spec->ndims_extra != 0)
        return dlpark__spec_refuse(parser, parser->token, "a second \"...\": one is allowed");
    parser->spec->ndims_extra = DLPARK_MAX_NDIM;
    parser->spec->ndims_leading = parser->spec->ndims;
    dlpark__spec_advance(parser);
    return DLPARK_OK;
}

static dlpark_status spec_read_dim(dlpark__spec_parser *parser)
{
    dlpark_spec *spec = parser->spec;
    bool is_result = (spec->flags & DLPARK_SPEC_RESULT) != 0;
    dlpark__spec_token token = parser->token;
    int64_t dim;

    if (dlpark__spec_is(parser->token, "..."))
        return spec_read_ellipsis(parser);
    if (dlpark__spec_is(parser->token, "?") && !is_result)
        return dlpark__spec_refuse(parser, token, "only a result may have \"?\"; \"_\" is any extent");
    if (dlpark__spec_is_name(token))
        DLPARK_TRY(spec_read_dim_name(parser, &dim));
    else if (dlpark__spec_accept(parser, "_"))
        dim = DLPARK_SPEC_DIM_ANY;
    else if (dlpark__spec_accept(parser, "?"))
        dim = DLPARK_SPEC_DIM_UNKNOWN;
    else if (token.length != 0 && dlpark__spec_is_digit(*token.text))
        DLPARK_TRY(spec_read_number(parser, INT64_MAX, &dim));
    else
        return dlpark__spec_refuse_token(parser, is_result ? "a dimension: a number, a name, \"_\", \"?\" or \"...\""
                                                           : "a dimension: a number, a name, \"_\" or \"...\"");
    if (spec->ndims == DLPARK_SPEC_MAX_DIMS)
        return dlpark__spec_refuse(parser, token, "a spec has at most %d dimensions beside \"...\"",
                                   DLPARK_SPEC_MAX_DIMS);
    spec->dims[spec->ndims++] = dim;
    return DLPARK_OK;
}

static dlpark_status spec_read_dims(dlpark__spec_parser *parser)
{
    dlpark_spec *spec = parser->spec;

    if (!dlpark__spec_accept(parser, "[")) {
        spec->ndims_extra = DLPARK_MAX_NDIM;
        return DLPARK_OK;
    }
    if (!dlpark__spec_is(parser->token, "]")) {
        do
            DLPARK_TRY(spec_read_dim(parser));
        while (dlpark__spec_accept(parser, ","));
    }
    if (!dlpark__spec_accept(parser, "]"))
        return dlpark__spec_refuse_token(parser, "\",\" or \"]\"");
    if (spec->ndims_extra == 0)
        spec->ndims_leading = spec->ndims;
    return DLPARK_OK;
}

/* Notes that a class of words was met; it may be met once. `class_name` is NULL where it is but one word. */
static dlpark_status spec_see(dlpark__spec_parser *parser, uint32_t class_flags, const char *class_name)
{
    if ((parser->seen & class_flags) != 0 && class_name != NULL)
        return dlpark__spec_refuse(parser, parser->token, "%s is a second word about the %s: one is allowed",
                                   dlpark__spec_quote(parser->token).text, class_name);
    if ((parser->seen & class_flags) != 0)
        return dlpark__spec_refuse(parser, parser->token, "%s stands here a second time: once is allowed",
                                   dlpark__spec_quote(parser->token).text);
    parser->seen |= class_flags;
    return DLPARK_OK;
}

/* A device's name alone; its id, where there is one, is a token of its own. */
static bool spec_find_device(dlpark__spec_token token, DLDevice *out)
{
    return dlpark_device_parse(dlpark__spec_copy(token).text, out, NULL) == DLPARK_OK;
}

static dlpark_status spec_read_device(dlpark__spec_parser *parser)
{
    dlpark_spec *spec = parser->spec;
    dlpark__spec_token token = parser->token;
    DLDevice device;
    int64_t id;
    int32_t i = 0;

    if (!spec_find_device(token, &device))
        return dlpark__spec_refuse(parser, token, "expected a device: %s; got %s%s", spec_devices().text,
                                   dlpark__spec_quote(token).text, spec_guess_word(token).text);
    dlpark__spec_advance(parser);
    if (!dlpark__spec_accept(parser, ":")) {
        spec->device_types |= device.device_type == kDLCPU ? DLPARK__SPEC_HOST : DLPARK_DEVICE_BIT(device.device_type);
        return DLPARK_OK;
    }
    DLPARK_TRY(spec_read_number(parser, INT32_MAX, &id));
    device.device_id = (int32_t)id;
    while (i < spec->ndevices && !dlpark_device_equal(spec->devices[i], device))
        i++;
    if (i == DLPARK_SPEC_MAX_DEVICES)
        return dlpark__spec_refuse(parser, token, "a spec has at most %d devices with an id", DLPARK_SPEC_MAX_DEVICES);
    spec->devices[i] = device;
    spec->ndevices += i == spec->ndevices;
    return DLPARK_OK;
}

static dlpark_status spec_read_devices(dlpark__spec_parser *parser)
{
    DLDevice device;

    if (!spec_find_device(parser->token, &device))
        return dlpark__spec_refuse(parser, parser->token, "%s is not a word of a spec%s; expected %s",
                                   dlpark__spec_quote(parser->token).text, spec_guess_word(parser->token).text,
                                   spec_words().text);
    DLPARK_TRY(spec_see(parser, SPEC_SEEN_DEVICE, "device"));
    parser->spec->device_types = 0; /* it was any */
    do
        DLPARK_TRY(spec_read_device(parser));
    while (dlpark__spec_accept(parser, "|"));
    return DLPARK_OK;
}

static dlpark_status spec_read_alignment(dlpark__spec_parser *parser)
{
    dlpark__spec_token token;
    int64_t number;

    if (!dlpark__spec_accept(parser, "="))
        return dlpark__spec_refuse_token(parser, "\"=\" and a number of bytes");
    token = parser->token;
    DLPARK_TRY(spec_read_number(parser, INT64_MAX, &number));
    if (number == 0 || (number & (number - 1)) != 0)
        return dlpark__spec_refuse(parser, token, "%s is not a power of two", dlpark__spec_quote(token).text);
    parser->spec->alignment_bytes = (uint64_t)number;
    return DLPARK_OK;
}

static dlpark_status spec_read_framework(dlpark__spec_parser *parser)
{
    if (!dlpark__spec_accept(parser, "="))
        return dlpark__spec_refuse_token(parser, "\"=\" and a framework");
    for (int i = 1; i < DLPARK__SPEC_NFRAMEWORKS; i++)
        if (dlpark__spec_accept(parser, dlpark__spec_frameworks[i])) {
            parser->spec->framework = (dlpark_spec_framework)i;
            return DLPARK_OK;
        }
    if (parser->token.length == 0)
        return dlpark__spec_refuse_token(parser, spec_frameworks().text);
    return dlpark__spec_refuse(parser, parser->token, "%s is not a framework%s; expected %s",
                               dlpark__spec_quote(parser->token).text, spec_guess_framework(parser->token).text,
                               spec_frameworks().text);
}

static dlpark_status spec_read_word(dlpark__spec_parser *parser)
{
    for (int i = 0; i < DLPARK__SPEC_NWORDS; i++) {
        const dlpark__spec_word *word = &dlpark__spec_words[i];
        if (!dlpark__spec_is(parser->token, word->name))
            continue;
        DLPARK_TRY(spec_see(parser, word->class_flags, word->class_name));
        parser->spec->flags |= word->flags;
        dlpark__spec_advance(parser);
        return DLPARK_OK;
    }
    if (dlpark__spec_is(parser->token, "align")) {
        DLPARK_TRY(spec_see(parser, SPEC_SEEN_ALIGNMENT, NULL));
        dlpark__spec_advance(parser);
        return spec_read_alignment(parser);
    }
    if (dlpark__spec_is(parser->token, "as")) {
        DLPARK_TRY(spec_see(parser, SPEC_SEEN_FRAMEWORK, NULL));
        dlpark__spec_advance(parser);
        return spec_read_framework(parser);
    }
    return spec_read_devices(parser);
}

static dlpark_status spec_read_all(dlpark__spec_parser *parser, bool open_ended)
{
    dlpark__spec_advance(parser);
    DLPARK_TRY(spec_read_dtypes(parser));
    DLPARK_TRY(spec_read_dims(parser));
    while (parser->token.length != 0) {
        if (open_ended && (dlpark__spec_is(parser->token, ",") || dlpark__spec_is(parser->token, ")") ||
                           dlpark__spec_is(parser->token, ";")))
            break;
        DLPARK_TRY(spec_read_word(parser));
    }
    return DLPARK_OK;
}

/* ---- The functions ---- */

/* Declares the argument behind the known ones; it counts when the spec is right. */
static dlpark_status spec_declare(dlpark_spec_names *names, const dlpark_spec_source *source, dlpark_error *err)
{
    dlpark__spec_token token = {source->argument, 0, source->argument_length};
    size_t length = 0;

    while (length < token.length && dlpark__spec_is_word((dlpark__spec_token){token.text + length, 0, 1}))
        length++;
    if (!dlpark__spec_is_name(token) || length != token.length || length >= DLPARK_SPEC_NAME_NBYTES)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "'%s' cannot be an argument's name: expected letters, digits and \"_\", at most %d, "
                                "not beginning with a digit and not \"_\" alone",
                                dlpark__quote(token.text, token.length).text, DLPARK_SPEC_NAME_NBYTES - 1);
    if (spec_find(names->arguments, names->narguments, token) != names->narguments)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "argument '%s' is declared twice",
                                dlpark__spec_copy(token).text);
    if (names->narguments == DLPARK_SPEC_MAX_NAMES)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "argument '%s' is one too many: a call has at most %d with a name",
                                dlpark__spec_copy(token).text, DLPARK_SPEC_MAX_NAMES);
    memcpy(names->arguments[names->narguments], dlpark__spec_copy(token).text, length + 1);
    return DLPARK_OK;
}

dlpark_status dlpark_spec_init_at(dlpark_spec *spec, dlpark_spec_names *names, const dlpark_spec_source *source,
                                  size_t *end, dlpark_error *err)
{
    dlpark_spec made;
    dlpark__spec_parser parser = {
        .source = source, .at = source->at, .spec = &made, .names = names, .ndims = names->ndims, .err = err};

    memset(&made, 0, sizeof made);
    made.names = names;
    made.flags = source->is_result ? DLPARK_SPEC_RESULT : 0;
    made.device_types = UINT32_MAX;
    made.same = -1;
    made.argument = source->argument != NULL ? names->narguments : -1;
    if (source->at > source->length)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the spec begins at byte %zu of a text of %zu", source->at,
                                source->length);
    if (source->argument != NULL)
        DLPARK_TRY(spec_declare(names, source, err));
    DLPARK_TRY(spec_read_all(&parser, end != NULL));
    names->narguments += source->argument != NULL;
    names->ndims = parser.ndims;
    memcpy(spec, &made, sizeof made);
    if (end != NULL)
        *end = parser.token.at;
    return DLPARK_OK;
}

dlpark_status dlpark_spec_init(dlpark_spec *spec, dlpark_spec_names *names, const char *argument, const char *text,
                               dlpark_error *err)
{
    dlpark_spec_source source = {.text = text,
                                 .length = strlen(text),
                                 .argument = argument,
                                 .argument_length = argument != NULL ? strlen(argument) : 0};

    return dlpark_spec_init_at(spec, names, &source, NULL, err);
}

dlpark_status dlpark_spec_init_result(dlpark_spec *spec, dlpark_spec_names *names, const char *text, dlpark_error *err)
{
    dlpark_spec_source source = {.text = text, .length = strlen(text), .is_result = true};

    return dlpark_spec_init_at(spec, names, &source, NULL, err);
}
