/* dlpark show: values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { SHOW_ALL, SHOW_PRECISION, SHOW_FORMAT, SHOW_JSON };

static const cli_option show_options[] = {
    {"all", 'a', NULL, "every element, however many there are"},
    {"precision", 'p', "DIGITS", "digits behind the point, at most; 8"},
    {"format", 0, "FORMAT", "no other: safetensors, npy, npz, gguf, safetensors-index, jpeg, png, webp"},
    {"json", 0, NULL, "for programs: the schema dlpark.show/1, all elements in nested lists"},
    CLI_FOLLOW_LINKS,
};

/* ---- For people ---- */

static bool show_print(const cli_call *call, const char *text, const dlpark_view *view,
                       const dlpark_text_options *options)
{
    char head[256];
    size_t length = dlpark_view_text(view, options, NULL, 0);
    char *values = malloc(length + 1);

    if (values == NULL) {
        cli_complain(call->verb, "out of memory");
        return false;
    }
    (void)dlpark_view_text(view, options, values, length + 1);
    (void)dlpark_view_describe(view, head, sizeof head);
    char *name = cli_show_name(text, strlen(text));
    printf("%s%s%s: %s\n%s\n", cli_bold(), name != NULL ? name : "", cli_plain(), head, values);
    free(name);
    free(values);
    return true;
}

/* ---- For programs ---- */

static void show_write_scalar(const dlpark_scalar *scalar)
{
    switch (scalar->kind) {
    case DLPARK_SCALAR_BOOL:
        fputs(scalar->low != 0 ? "true" : "false", stdout);
        break;
    case DLPARK_SCALAR_INT:
        printf("%lld", (long long)scalar->low);
        break;
    case DLPARK_SCALAR_UINT:
        printf("%llu", (unsigned long long)scalar->low);
        break;
    case DLPARK_SCALAR_FLOAT:
        cli_json_put_number(scalar->re);
        break;
    case DLPARK_SCALAR_COMPLEX:
        putchar('[');
        cli_json_put_number(scalar->re);
        fputs(", ", stdout);
        cli_json_put_number(scalar->im);
        putchar(']');
        break;
    default:
        fputs("null", stdout);
        break;
    }
}

/* Nested lists, one level a dimension. */
static void show_write_values(const dlpark_view *view, int64_t *index, int32_t dim)
{
    dlpark_scalar scalar;

    if (dlpark_view_numel(view) == 0) { /* however many lists that would be */
        fputs("[]", stdout);
        return;
    }
    if (dim == view->ndim) {
        if (dlpark_element_read(view, index, 0, &scalar, NULL) == DLPARK_OK)
            show_write_scalar(&scalar);
        else
            fputs("null", stdout);
        return;
    }
    putchar('[');
    for (index[dim] = 0; index[dim] < view->shape[dim]; index[dim]++) {
        if (index[dim] > 0)
            fputs(", ", stdout);
        show_write_values(view, index, dim + 1);
    }
    putchar(']');
}

static void show_write(cli_json *json, const char *text, const dlpark_view *view)
{
    int64_t index[DLPARK_MAX_NDIM] = {0};

    cli_json_open(json, NULL, '{');
    cli_json_word(json, "tensor", text);
    cli_json_word(json, "dtype", dlpark_dtype_long_name(view->dtype).text);
    cli_json_extents(json, "shape", view->ndim, view->shape);
    cli_json_key(json, "values");
    show_write_values(view, index, 0);
    cli_json_close(json, '}');
}

/* ---- The verb ---- */

static int show_view(const cli_call *call, const char *text, const dlpark_view *view,
                     const dlpark_text_options *options, cli_json *json)
{
    if (json != NULL)
        show_write(json, text, view);
    else if (!show_print(call, text, view, options))
        return CLI_UNREADABLE;
    return CLI_FINE;
}

/* A tensor that was asked for by its name. */
static int show_named(const cli_call *call, dlpark_file *file, const char *text, const dlpark_text_options *options,
                      cli_json *json)
{
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;
    dlpark_status status = cli_select(file, text, &view, &loaded, &err);
    int code = CLI_MISUSE;

    if (status == DLPARK_OK)
        code = show_view(call, text, &view, options, json);
    else
        cli_complain(call->verb, "%s", err.message);
    if (status != DLPARK_OK && status != DLPARK_E_ARGUMENT && status != DLPARK_E_INDEX)
        code = cli_exit_of(status);
    dlpark_tensor_release(&loaded);
    return code;
}

static int show_numbered(const cli_call *call, dlpark_file *file, int64_t index, const dlpark_text_options *options,
                         cli_json *json)
{
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
    dlpark_file_entry entry;
    dlpark_view view;
    dlpark_error err;
    dlpark_status status = dlpark_file_entry_get(file, index, &entry, &err);
    char *name = status == DLPARK_OK ? cli_show_name(entry.name, entry.name_nbytes) : NULL;
    int code = CLI_UNREADABLE;

    if (status == DLPARK_OK)
        status = cli_view(file, index, &view, &loaded, &err);
    if (status != DLPARK_OK) {
        cli_complain(call->verb, "%s", err.message);
        code = cli_exit_of(status);
    } else if (name != NULL) {
        code = show_view(call, name, &view, options, json);
    }
    dlpark_tensor_release(&loaded);
    free(name);
    return code;
}

/* The tensors that are named, or all. */
static int show_each(const cli_call *call, dlpark_file *file, const dlpark_text_options *options, cli_json *json)
{
    int worst = CLI_FINE;

    for (int i = 1; i < call->noperands; i++) {
        int code = show_named(call, file, call->operands[i], options, json);
        worst = code > worst ? code : worst;
    }
    for (int64_t i = 0; call->noperands == 1 && i < dlpark_file_count(file); i++) {
        int code = show_numbered(call, file, i, options, json);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static bool show_read_options(const cli_call *call, dlpark_text_options *options)
{
    const char *precision = cli_value(call, SHOW_PRECISION);
    char *end = NULL;
    long digits = precision != NULL ? strtol(precision, &end, 10) : 8;

    *options = DLPARK_TEXT_DEFAULTS;
    options->precision = (int32_t)digits;
    if (cli_columns() > 0)
        options->linewidth = cli_columns() - 1;
    if (cli_value(call, SHOW_ALL) != NULL)
        options->threshold = INT64_MAX;
    if (precision == NULL || (end != precision && *end == '\0' && digits >= 0 && digits <= 100))
        return true;
    cli_complain(call->verb, "--precision %s: expected a number from 0 to 100", precision);
    return false;
}

static int show_run(const cli_call *call)
{
    dlpark_text_options options;
    dlpark_file *file = NULL;
    cli_json json = {0};
    bool is_json = cli_value(call, SHOW_JSON) != NULL;

    if (!show_read_options(call, &options))
        return CLI_MISUSE;
    int code = cli_open_read(call, call->operands[0], SHOW_FORMAT, is_json ? "dlpark.show/1" : NULL, &file);
    if (code != CLI_FINE)
        return code;
    if (is_json)
        cli_json_begin(&json, "dlpark.show/1", "tensors");
    code = show_each(call, file, &options, is_json ? &json : NULL);
    if (is_json)
        cli_json_end(&json);
    dlpark_file_release(&file);
    return code;
}

const cli_verb cli_verb_show = {
    .name = "show",
    .operands = "FILE [TENSOR[SLICE]]...",
    .summary = "the values of tensors, whole or in part",
    .help = "Prints values as NumPy does, the middle of long dimensions left out. A slice is\n"
            "written as in Python: [0:2, :8], [-1], [..., ::2]; only what it touches is read.\n"
            "Of a file with one tensor a slice alone is enough. Without a tensor, all of them.",
    .examples = "  dlpark show model.safetensors 'lm_head.weight[0:2, :8]'\n"
                "  dlpark show model.safetensors 'bias[-1]' norm\n"
                "  dlpark show photo.jpg 'image[0:2, 0:3]'\n"
                "  dlpark show array.npy '[0, :3]'\n"
                "  dlpark show --json model.safetensors 'scale[:]'\n",
    .options = show_options,
    .noptions = sizeof show_options / sizeof show_options[0],
    .least = 1,
    .most = -1,
    .run = show_run,
};
