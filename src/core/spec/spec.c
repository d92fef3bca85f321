#include <string.h>

#include "spec_parts.h"

const dlpark__spec_word dlpark__spec_words[DLPARK__SPEC_NWORDS] = {
    {"contig", "layout", DLPARK_SPEC_C | DLPARK_SPEC_F, DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER},
    {"c", "layout", DLPARK_SPEC_C, DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER},
    {"f", "layout", DLPARK_SPEC_F, DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER},
    {"inner", "layout", DLPARK_SPEC_INNER, DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER},
    {"mut", NULL, DLPARK_SPEC_MUT, DLPARK_SPEC_MUT},
    {"none", NULL, DLPARK_SPEC_NONE, DLPARK_SPEC_NONE},
    {"convert", NULL, DLPARK_SPEC_CONVERT, DLPARK_SPEC_CONVERT},
};

const char *const dlpark__spec_frameworks[DLPARK__SPEC_NFRAMEWORKS] = {"",
#define DLPARK_SPEC_NAME(name, value, text) [value] = text,
                                                                       DLPARK_SPEC_FRAMEWORK_TABLE(DLPARK_SPEC_NAME)
#undef DLPARK_SPEC_NAME
};

/* ---- Printing ---- */

dlpark_name dlpark__spec_device_word(int type)
{
    dlpark_name name = dlpark_device_name(DLPARK_DEVICE(type, 0));

    name.text[strcspn(name.text, ":")] = '\0';
    return name;
}

static void spec_print_dtype(dlpark__sink *sink, const dlpark_spec *spec, const dlpark_spec_bound *bound)
{
    if (spec->same >= 0) {
        dlpark__sink_text(sink, "same(");
        dlpark__sink_text(sink, spec->names->arguments[spec->same]);
        dlpark__sink_text(sink, ")");
        if (bound != NULL && (bound->dtypes_known >> spec->same & 1) != 0) {
            dlpark__sink_text(sink, "=");
            dlpark__sink_text(sink, dlpark_dtype_name(bound->dtypes[spec->same]).text);
        }
    } else if (spec->ndtypes == 0) {
        dlpark__sink_text(sink, "any");
    }
    for (int32_t i = 0; i < spec->ndtypes; i++) {
        dlpark__sink_text(sink, i == 0 ? "" : "|");
        dlpark__sink_text(sink, dlpark_dtype_name(spec->dtypes[i]).text);
    }
}

static void spec_print_dim(dlpark__sink *sink, const dlpark_spec *spec, const dlpark_spec_bound *bound, int64_t dim)
{
    if (dim >= 0) {
        dlpark__sink_integer(sink, dim);
    } else if (dim == DLPARK_SPEC_DIM_ANY || dim == DLPARK_SPEC_DIM_UNKNOWN) {
        dlpark__sink_text(sink, dim == DLPARK_SPEC_DIM_ANY ? "_" : "?");
    } else {
        dlpark__sink_text(sink, spec->names->dims[~dim]);
        if (bound != NULL && (bound->dims_known >> ~dim & 1) != 0) {
            dlpark__sink_text(sink, "=");
            dlpark__sink_integer(sink, bound->dims[~dim]);
        }
    }
}

static void spec_print_dims(dlpark__sink *sink, const dlpark_spec *spec, const dlpark_spec_bound *bound)
{
    const char *comma = "";

    if (spec->ndims == 0 && spec->ndims_extra != 0)
        return; /* any rank */
    dlpark__sink_text(sink, "[");
    for (int32_t i = 0;; i++) {
        if (i == spec->ndims_leading && spec->ndims_extra != 0) {
            dlpark__sink_text(sink, comma);
            dlpark__sink_text(sink, "...");
            comma = ",";
        }
        if (i == spec->ndims)
            break;
        dlpark__sink_text(sink, comma);
        spec_print_dim(sink, spec, bound, spec->dims[i]);
        comma = ",";
    }
    dlpark__sink_text(sink, "]");
}

static void spec_print_devices(dlpark__sink *sink, const dlpark_spec *spec)
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
        dlpark__sink_text(sink, between);
        dlpark__sink_text(sink, dlpark__spec_device_word(type).text);
        between = "|";
    }
    for (int32_t i = 0; i < spec->ndevices; i++) {
        dlpark__sink_text(sink, between);
        dlpark__sink_text(sink, dlpark__spec_device_word((int)spec->devices[i].device_type).text);
        dlpark__sink_text(sink, ":");
        dlpark__sink_integer(sink, spec->devices[i].device_id);
        between = "|";
    }
}

static void spec_print_words(dlpark__sink *sink, const dlpark_spec *spec)
{
    for (int i = 0; i < DLPARK__SPEC_NWORDS; i++) {
        const dlpark__spec_word *word = &dlpark__spec_words[i];
        if ((spec->flags & word->class_flags) != word->flags)
            continue;
        dlpark__sink_text(sink, " ");
        dlpark__sink_text(sink, word->name);
    }
}

static void spec_print(dlpark__sink *sink, const dlpark_spec *spec, const dlpark_spec_bound *bound)
{
    spec_print_dtype(sink, spec, bound);
    spec_print_dims(sink, spec, bound);
    spec_print_words(sink, spec);
    spec_print_devices(sink, spec);
    if (spec->alignment_bytes != 0) {
        dlpark__sink_text(sink, " align=");
        dlpark__sink_integer(sink, (int64_t)spec->alignment_bytes);
    }
    if (spec->framework != DLPARK_SPEC_AS_UNSAID) {
        dlpark__sink_text(sink, " as=");
        dlpark__sink_text(sink, dlpark__spec_frameworks[spec->framework]);
    }
}

size_t dlpark_spec_text(const dlpark_spec *spec, const dlpark_spec_bound *bound, char *text, size_t nbytes)
{
    dlpark__sink sink;

    dlpark__sink_begin(&sink, text, nbytes);
    spec_print(&sink, spec, bound);
    return dlpark__sink_end(&sink);
}

dlpark__spec_line dlpark__spec_line_of(const dlpark_spec *spec, const dlpark_spec_bound *bound)
{
    dlpark__spec_line line;
    dlpark__sink sink;

    dlpark__sink_begin(&sink, line.text, sizeof line.text);
    spec_print(&sink, spec, bound);
    dlpark__sink_end_marked(&sink);
    return line;
}

/* ---- What a call's names stand for ---- */

static dlpark_status spec_refuse_name(const dlpark_spec_names *names, const char *name, dlpark_error *err)
{
    char list[240];
    dlpark__sink sink;

    dlpark__sink_begin(&sink, list, sizeof list);
    for (int32_t i = 0; i < names->ndims; i++) {
        dlpark__sink_text(&sink, i == 0 ? "; the names are " : ", ");
        dlpark__sink_text(&sink, names->dims[i]);
    }
    dlpark__sink_end_marked(&sink);
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "no spec has a dimension '%s'%s",
                            dlpark__quote(name, strlen(name)).text, list);
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
