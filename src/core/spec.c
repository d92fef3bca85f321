#include <stdio.h>
#include <string.h>

#include "spec_parts.h"

const dlpark__spec_word dlpark__spec_words[DLPARK__SPEC_NWORDS] = {
    {"contig", "layout", DLPARK_SPEC_C | DLPARK_SPEC_F, DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER},
    {"c", "layout", DLPARK_SPEC_C, DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER},
    {"f", "layout", DLPARK_SPEC_F, DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER},
    {"inner", "layout", DLPARK_SPEC_INNER, DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER},
    {"mut", "mut", DLPARK_SPEC_MUT, DLPARK_SPEC_MUT},
    {"none", "none", DLPARK_SPEC_NONE, DLPARK_SPEC_NONE},
    {"convert", "convert", DLPARK_SPEC_CONVERT, DLPARK_SPEC_CONVERT},
};

const char *const dlpark__spec_frameworks[DLPARK__SPEC_NFRAMEWORKS] = {"",
#define DLPARK_SPEC_NAME(name, value, text) [value] = text,
                                                                       DLPARK_SPEC_FRAMEWORK_TABLE(DLPARK_SPEC_NAME)
#undef DLPARK_SPEC_NAME
};

/* ---- Writing ---- */

void dlpark__spec_put(dlpark__spec_writer *writer, const char *text)
{
    size_t length = strlen(text);

    if (writer->length < writer->nbytes) {
        size_t room = writer->nbytes - writer->length - 1;
        size_t fits = length < room ? length : room;
        memcpy(writer->text + writer->length, text, fits);
        writer->text[writer->length + fits] = '\0';
    }
    writer->length += length;
}

void dlpark__spec_put_number(dlpark__spec_writer *writer, int64_t number)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%lld", (long long)number);
    dlpark__spec_put(writer, digits);
}

void dlpark__spec_put_end(dlpark__spec_writer *writer)
{
    static const char more[] = "...";

    if (writer->length >= writer->nbytes)
        memcpy(writer->text + writer->nbytes - sizeof more, more, sizeof more);
}

/* ---- Printing ---- */

dlpark_name dlpark__spec_device_word(int type)
{
    dlpark_name name = dlpark_device_name(DLPARK_DEVICE(type, 0));

    name.text[strcspn(name.text, ":")] = '\0';
    return name;
}

static void spec_print_dtype(dlpark__spec_writer *writer, const dlpark_spec *spec, const dlpark_spec_bound *bound)
{
    if (spec->same >= 0) {
        dlpark__spec_put(writer, "same(");
        dlpark__spec_put(writer, spec->names->arguments[spec->same]);
        dlpark__spec_put(writer, ")");
        if (bound != NULL && (bound->dtypes_known >> spec->same & 1) != 0) {
            dlpark__spec_put(writer, "=");
            dlpark__spec_put(writer, dlpark_dtype_name(bound->dtypes[spec->same]).text);
        }
    } else if (spec->ndtypes == 0) {
        dlpark__spec_put(writer, "any");
    }
    for (int32_t i = 0; i < spec->ndtypes; i++) {
        dlpark__spec_put(writer, i == 0 ? "" : "|");
        dlpark__spec_put(writer, dlpark_dtype_name(spec->dtypes[i]).text);
    }
}

static void spec_print_dim(dlpark__spec_writer *writer, const dlpark_spec *spec, const dlpark_spec_bound *bound,
                           int64_t dim)
{
    if (dim >= 0) {
        dlpark__spec_put_number(writer, dim);
    } else if (dim == DLPARK_SPEC_DIM_ANY || dim == DLPARK_SPEC_DIM_UNKNOWN) {
        dlpark__spec_put(writer, dim == DLPARK_SPEC_DIM_ANY ? "_" : "?");
    } else {
        dlpark__spec_put(writer, spec->names->dims[~dim]);
        if (bound != NULL && (bound->dims_known >> ~dim & 1) != 0) {
            dlpark__spec_put(writer, "=");
            dlpark__spec_put_number(writer, bound->dims[~dim]);
        }
    }
}

static void spec_print_dims(dlpark__spec_writer *writer, const dlpark_spec *spec, const dlpark_spec_bound *bound)
{
    const char *comma = "";

    if (spec->ndims == 0 && spec->ndims_extra != 0)
        return; /* any rank */
    dlpark__spec_put(writer, "[");
    for (int32_t i = 0;; i++) {
        if (i == spec->ndims_leading && spec->ndims_extra != 0) {
            dlpark__spec_put(writer, comma);
            dlpark__spec_put(writer, "...");
            comma = ",";
        }
        if (i == spec->ndims)
            break;
        dlpark__spec_put(writer, comma);
        spec_print_dim(writer, spec, bound, spec->dims[i]);
        comma = ",";
    }
    dlpark__spec_put(writer, "]");
}

static void spec_print_devices(dlpark__spec_writer *writer, const dlpark_spec *spec)
{
    const char *between = " ";
    uint32_t types = spec->device_types;

    if (types == UINT32_MAX)
        return;
    if ((types & DLPARK_DEVICE_BIT(kDLCPU)) != 0)
        types = (types & ~DLPARK__SPEC_HOST) | DLPARK_DEVICE_BIT(kDLCPU); /* `cpu` says the others too */
    for (int type = 0; type < 32; type++) {
        if ((types >> type & 1) == 0)
            continue;
        dlpark__spec_put(writer, between);
        dlpark__spec_put(writer, dlpark__spec_device_word(type).text);
        between = "|";
    }
    for (int32_t i = 0; i < spec->ndevices; i++) {
        dlpark__spec_put(writer, between);
        dlpark__spec_put(writer, dlpark__spec_device_word((int)spec->devices[i].device_type).text);
        dlpark__spec_put(writer, ":");
        dlpark__spec_put_number(writer, spec->devices[i].device_id);
        between = "|";
    }
}

static void spec_print_words(dlpark__spec_writer *writer, const dlpark_spec *spec)
{
    for (int i = 0; i < DLPARK__SPEC_NWORDS; i++) {
        const dlpark__spec_word *word = &dlpark__spec_words[i];
        if ((spec->flags & word->class_flags) != word->flags)
            continue;
        dlpark__spec_put(writer, " ");
        dlpark__spec_put(writer, word->name);
    }
}

size_t dlpark_spec_text(const dlpark_spec *spec, const dlpark_spec_bound *bound, char *text, size_t nbytes)
{
    dlpark__spec_writer writer = {text, nbytes, 0};

    spec_print_dtype(&writer, spec, bound);
    spec_print_dims(&writer, spec, bound);
    spec_print_words(&writer, spec);
    spec_print_devices(&writer, spec);
    if (spec->alignment_bytes != 0) {
        dlpark__spec_put(&writer, " align=");
        dlpark__spec_put_number(&writer, (int64_t)spec->alignment_bytes);
    }
    if (spec->framework != DLPARK_SPEC_AS_UNSAID) {
        dlpark__spec_put(&writer, " as=");
        dlpark__spec_put(&writer, dlpark__spec_frameworks[spec->framework]);
    }
    return writer.length;
}

dlpark__spec_line dlpark__spec_line_of(const dlpark_spec *spec, const dlpark_spec_bound *bound)
{
    dlpark__spec_line line;
    dlpark__spec_writer writer = {line.text, sizeof line.text, 0};

    writer.length = dlpark_spec_text(spec, bound, line.text, sizeof line.text);
    dlpark__spec_put_end(&writer);
    return line;
}

/* ---- What a call's names stand for ---- */

/* "n, k, m" */
static dlpark_status spec_refuse_name(const dlpark_spec_names *names, const char *name, dlpark_error *err)
{
    char list[240];
    dlpark__spec_writer writer = {list, sizeof list, 0};

    for (int32_t i = 0; i < names->ndims; i++) {
        dlpark__spec_put(&writer, i == 0 ? "; the names are " : ", ");
        dlpark__spec_put(&writer, names->dims[i]);
    }
    dlpark__spec_put(&writer, "");
    dlpark__spec_put_end(&writer);
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "no spec has a dimension \"%.60s\"%s", name, list);
}

static dlpark_status spec_refuse_unbound(const char *name, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "dimension '%s' has no extent: no argument that has it was matched",
                            name);
}

dlpark_status dlpark_spec_dim(const dlpark_spec_names *names, const dlpark_spec_bound *bound, const char *name,
                              int64_t *out, dlpark_error *err)
{
    for (int32_t i = 0; i < names->ndims; i++) {
        if (strcmp(names->dims[i], name) != 0)
            continue;
        if ((bound->dims_known >> i & 1) == 0)
            return spec_refuse_unbound(name, err);
        *out = bound->dims[i];
        return DLPARK_OK;
    }
    return spec_refuse_name(names, name, err);
}

dlpark_status dlpark_spec_shape(const dlpark_spec *spec, const dlpark_spec_bound *bound, int64_t *shape,
                                dlpark_error *err)
{
    if (spec->ndims_extra != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s does not say how many dimensions there are",
                                dlpark__spec_line_of(spec, bound).text);
    for (int32_t i = 0; i < spec->ndims; i++) {
        int64_t dim = spec->dims[i];
        if (dim == DLPARK_SPEC_DIM_ANY || dim == DLPARK_SPEC_DIM_UNKNOWN)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "dimension %d of %s does not say its extent", (int)i,
                                    dlpark__spec_line_of(spec, bound).text);
        if (dim < 0 && (bound->dims_known >> ~dim & 1) == 0)
            return spec_refuse_unbound(spec->names->dims[~dim], err);
    }
    for (int32_t i = 0; i < spec->ndims; i++)
        shape[i] = spec->dims[i] >= 0 ? spec->dims[i] : bound->dims[~spec->dims[i]];
    return DLPARK_OK;
}

dlpark_status dlpark_spec_dtype(const dlpark_spec *spec, const dlpark_spec_bound *bound, DLDataType *out,
                                dlpark_error *err)
{
    if (spec->same >= 0) {
        if ((bound->dtypes_known >> spec->same & 1) == 0)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the dtype is that of argument '%s', which was not matched",
                                    spec->names->arguments[spec->same]);
        *out = bound->dtypes[spec->same];
        return DLPARK_OK;
    }
    if (spec->ndtypes != 1)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s does not say one dtype",
                                dlpark__spec_line_of(spec, bound).text);
    *out = spec->dtypes[0];
    return DLPARK_OK;
}
