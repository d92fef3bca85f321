/* dlpark convert: a file written anew, with other dtypes, names or places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pictures.h"

enum {
    CONVERT_DTYPE,
    CONVERT_OVERFLOW,
    CONVERT_INCLUDE,
    CONVERT_EXCLUDE,
    CONVERT_RENAME,
    CONVERT_ALIGN,
    CONVERT_SYNC,
    CONVERT_FORMAT,
    CONVERT_TO,
    CONVERT_NO_METADATA,
    CONVERT_KEEP_FIRST,
    CONVERT_FOLLOW_LINKS,
    CONVERT_LAYOUT,
    CONVERT_QUALITY,
    CONVERT_COMPRESS
};

static const cli_option convert_options[] = {
    {"dtype", 'd', "DTYPE", "floats become this float, integers this integer; others stay"},
    {"overflow", 0, "MODE", "of --dtype: default, nosat, satfinite, satall, wrap, saturate; see above"},
    {"include", 'i', "PATTERN", "only tensors whose names match, as the shell's *; may be repeated"},
    {"exclude", 'x', "PATTERN", "but not those; may be repeated"},
    {"rename", 'r', "OLD=NEW", "each OLD in a name becomes NEW; may be repeated, in order"},
    {"align", 'a', "BYTES", "as many tensors as can be begin at a multiple, up to 4096"},
    {"sync", 0, NULL, "end only when the file is on the disk"},
    {"format", 0, "FORMAT", "refuse FROM of any other; `dlpark info --help` names them"},
    {"to", 't', "FORMAT", "safetensors, npy, npz, gguf, jpeg, png, webp; else as TO ends"},
    {"no-metadata", 0, NULL, "leave out the texts of FROM, for which npy and npz have no place"},
    {"keep-first", 0, NULL, "of metadata that shards have differently the first shard's"},
    CLI_FOLLOW_LINKS,
    {"layout", 0, "LAYOUT", "of a picture's tensor: hwc (height, width, channels), or chw"},
    {"quality", 'q', "NUMBER", "of a JPEG or a lossy WebP, 1 to 100; 90"},
    {"compress", 'z', NULL, "of an npz file: deflate its members, as numpy.savez_compressed does"},
};

/* One tensor on its way. */
typedef struct convert_tensor {
    int64_t index; /* in the source */
    char *name;    /* in the destination */
    int64_t shape[DLPARK_MAX_NDIM];
} convert_tensor;

typedef struct convert_job {
    const cli_call *call;
    dlpark_file *file;
    convert_tensor *tensors;
    dlpark_file_part *parts;
    cli_texts texts;
    cli_values values;
    size_t count;
    uint64_t nbytes; /* to be read */
    cli_losses losses;
    dlpark_cast_options cast;
    const DLDataType *to; /* what numbers of its kind become; NULL: nothing else */
    DLDataType dtype;
    size_t nkind;    /* tensors whose numbers are of that kind */
    size_t nchanged; /* those of another dtype */
    bool is_scaled;  /* the integers of a picture are floats already */
    bool
        is_packed; /* what is written is deflated, which takes its time: by pieces, between which the process may end */
} convert_job;

/* ---- What is asked for ---- */

static bool convert_read_overflow(const cli_call *call, dlpark_overflow *overflow)
{
    static const char *const words[] = {"default", "nosat", "satfinite", "satall", "wrap", "saturate"};
    static const dlpark_overflow modes[] = {DLPARK_OVERFLOW_DEFAULT, DLPARK_OVERFLOW_NOSAT, DLPARK_OVERFLOW_SATFINITE,
                                            DLPARK_OVERFLOW_SATALL,  DLPARK_OVERFLOW_WRAP,  DLPARK_OVERFLOW_SATURATE};
    const char *given = cli_value(call, CONVERT_OVERFLOW);

    *overflow = DLPARK_OVERFLOW_DEFAULT;
    if (given == NULL)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(given, words[i]) != 0)
            continue;
        *overflow = modes[i];
        if (cli_value(call, CONVERT_DTYPE) == NULL)
            cli_complain(call->verb, "--overflow %s: is of numbers that --dtype changes, which is missing", given);
        return cli_value(call, CONVERT_DTYPE) != NULL;
    }
    const char *nearest = cli_nearest(given, words, sizeof words / sizeof words[0]);
    cli_complain(call->verb, "--overflow %s: expected default, nosat, satfinite, satall, wrap or saturate%s%s%s", given,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return false;
}

static bool convert_is_float(DLDataType dtype)
{
    return dtype.code == kDLFloat || dtype.code == kDLBfloat || dtype.code >= kDLFloat8_e3m4;
}

static bool convert_is_integer(DLDataType dtype)
{
    return dtype.code == kDLInt || dtype.code == kDLUInt;
}

/* What a tensor's elements become: floats a float, integers an integer. Blocks are no integers. */
static DLDataType convert_dtype(convert_job *job, const dlpark_file_entry *entry)
{
    DLDataType from = entry->dtype;

    if (job->to == NULL || from.lanes != 1 || cli_is_quantised(job->file, entry) ||
        !((convert_is_float(from) && convert_is_float(*job->to)) ||
          (convert_is_integer(from) && convert_is_integer(*job->to))))
        return from;
    job->nkind++;
    job->nchanged += !dlpark_dtype_equal(from, *job->to);
    return *job->to;
}

static bool convert_read_dtype(const cli_call *call, convert_job *job)
{
    dlpark_error err;
    const char *given = cli_value(call, CONVERT_DTYPE);

    if (given == NULL)
        return true;
    if (dlpark_dtype_parse(given, &job->dtype, &err) != DLPARK_OK) {
        cli_complain(call->verb, "--dtype %s: %s", given, err.message);
        return false;
    }
    job->to = &job->dtype;
    if (convert_is_float(job->dtype) || convert_is_integer(job->dtype))
        return true;
    cli_complain(call->verb, "--dtype %s: expected a float or an integer", given);
    return false;
}

/* ---- The job ---- */

static void convert_end(convert_job *job)
{
    for (size_t i = 0; job->tensors != NULL && i < job->count; i++)
        free(job->tensors[i].name);
    free(job->tensors);
    free(job->parts);
    cli_texts_end(&job->texts);
    cli_values_end(&job->values);
    dlpark_file_release(&job->file);
}

/* Chooses a tensor, or leaves it. False: out of memory, which is told. */
static bool convert_add(convert_job *job, int64_t index)
{
    dlpark_file_entry entry;

    if (dlpark_file_entry_get(job->file, index, &entry, NULL) != DLPARK_OK)
        return true;
    char *shown = cli_show_name(entry.name, entry.name_nbytes);
    bool is_wanted = shown != NULL && cli_is_wanted(job->call, CONVERT_INCLUDE, CONVERT_EXCLUDE, shown);
    bool is_starved = shown == NULL;
    free(shown);
    if (is_wanted) {
        convert_tensor *tensor = &job->tensors[job->count];
        dlpark_file_part *part = &job->parts[job->count++];
        size_t kept = (size_t)(entry.ndim < DLPARK_MAX_NDIM ? entry.ndim : DLPARK_MAX_NDIM) * sizeof *tensor->shape;
        tensor->index = index;
        memcpy(tensor->shape, entry.shape, kept);
        *part = (dlpark_file_part){.dtype = convert_dtype(job, &entry), .ndim = entry.ndim};
        tensor->name = cli_rename(job->call, CONVERT_RENAME, &entry, &part->name_nbytes);
        part->name = tensor->name;
        part->shape = tensor->shape;
        job->nbytes += entry.nbytes;
        job->losses.nquantised += cli_is_quantised(job->file, &entry);
        is_starved = tensor->name == NULL;
    }
    if (is_starved)
        cli_complain(job->call->verb, "out of memory");
    return !is_starved;
}

static bool convert_plan(convert_job *job)
{
    size_t count = (size_t)dlpark_file_count(job->file);

    job->tensors = calloc(count + 1, sizeof *job->tensors);
    job->parts = calloc(count + 1, sizeof *job->parts);
    if (job->tensors == NULL || job->parts == NULL) {
        cli_complain(job->call->verb, "out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!convert_add(job, (int64_t)i))
            return false;
    return true;
}

/* ---- The elements ---- */

/* A tensor that stays as it is, in value and in its bytes, is copied. */
static dlpark_status convert_copy(convert_job *job, dlpark_file_writer *writer, size_t number, cli_progress *progress,
                                  bool *is_copied, dlpark_error *err)
{
    dlpark_file_entry entry;
    int64_t index = job->tensors[number].index;

    DLPARK_TRY(dlpark_file_entry_get(job->file, index, &entry, err));
    *is_copied = !job->is_packed && entry.flags == 0 && dlpark_dtype_equal(entry.dtype, job->parts[number].dtype);
    if (!*is_copied)
        return DLPARK_OK;
    DLPARK_TRY(dlpark_file_writer_put_from(writer, number, 1, job->file, &index, err));
    cli_progress_add(progress, entry.nbytes);
    return DLPARK_OK;
}

static dlpark_status convert_tensor_elements(convert_job *job, dlpark_file_writer *writer, size_t number,
                                             cli_progress *progress, dlpark_error *err)
{
    cli_elements elements;
    dlpark_view piece;
    bool is_copied;

    DLPARK_TRY(convert_copy(job, writer, number, progress, &is_copied, err));
    if (is_copied)
        return DLPARK_OK;
    DLPARK_TRY(cli_elements_begin(&elements, job->file, job->tensors[number].index, job->parts[number].dtype, err));
    elements.cast = job->cast;
    dlpark_status status = DLPARK_OK;
    while (status == DLPARK_OK && elements.done < elements.numel && !cli_is_interrupted()) {
        int64_t first = elements.done;
        status = cli_elements_next(&elements, &piece, err);
        if (status != DLPARK_OK)
            break;
        status = dlpark_file_writer_put_range(writer, number, first, &piece, err);
        cli_progress_add(progress, (uint64_t)(dlpark_view_numel(&piece) * elements.from.bits / 8));
    }
    cli_elements_end(&elements);
    return status;
}

static dlpark_status convert_write(convert_job *job, dlpark_file_writer *writer, dlpark_error *err)
{
    cli_progress progress;
    dlpark_status status = DLPARK_OK;

    cli_progress_begin(&progress, job->nbytes);
    for (size_t i = 0; i < job->count && status == DLPARK_OK && !cli_is_interrupted(); i++)
        status = convert_tensor_elements(job, writer, i, &progress, err);
    cli_progress_end(&progress);
    return status;
}

static int convert_file(convert_job *job, const char *path, const dlpark_file_write_options *options)
{
    dlpark_file_writer *writer = NULL;
    dlpark_error err;
    dlpark_status status = dlpark_file_writer_open(&writer, path, job->parts, job->count, options, &err);

    if (status == DLPARK_OK)
        status = convert_write(job, writer, &err);
    return cli_end_writing(job->call, writer, status, path, options, &job->losses, &err);
}

/* What whoever asked for it may not expect. */
static void convert_tell(const convert_job *job)
{
    const cli_verb *verb = job->call->verb;

    cli_losses_tell(&job->losses, verb);
    if (job->to == NULL || job->nchanged > 0 || job->is_scaled)
        return;
    const char *kind = convert_is_float(*job->to) ? "floats" : "integers";
    if (job->nkind == 0)
        cli_complain(verb, "note: no tensor is of %s, nothing was converted", kind);
    else
        cli_complain(verb, "note: all tensors of %s are %s already, nothing was converted", kind,
                     dlpark_dtype_long_name(*job->to).text);
}

/* ---- Pictures ---- */

/* Whether TO becomes a picture: as --to says, or as its name ends. */
static dlpark_file_format convert_picture_format(const cli_call *call, dlpark_file_format to)
{
    return to == DLPARK_FILE_ANY ? cli_picture_of_name(call->operands[1]) : cli_is_picture(to) ? to : DLPARK_FILE_ANY;
}

/* Whether FROM is one, or cannot be told. */
static bool convert_is_of_picture(const cli_call *call)
{
    dlpark_file_format from = DLPARK_FILE_ANY;

    return cli_picture_tell(call->operands[0], DLPARK_FILE_ANY, &from, NULL) != DLPARK_OK || from != DLPARK_FILE_ANY;
}

/* What is promised of tensor files and not of pictures, and the other way round, is refused rather than forgotten. */
static bool convert_check_picture(const cli_call *call, dlpark_file_format picture)
{
    static const int others[] = {CONVERT_ALIGN, CONVERT_SYNC, CONVERT_RENAME, CONVERT_COMPRESS};

    for (size_t i = 0; picture != DLPARK_FILE_ANY && i < sizeof others / sizeof others[0]; i++) {
        if (cli_value(call, others[i]) != NULL) {
            cli_complain(call->verb, "--%s is of tensor files, and %s becomes a picture",
                         convert_options[others[i]].name, call->operands[1]);
            return false;
        }
    }
    if (cli_value(call, CONVERT_QUALITY) != NULL && picture != CLI_JPEG && picture != CLI_WEBP) {
        cli_complain(call->verb, "--quality is of JPEG and WebP, and %s becomes neither", call->operands[1]);
        return false;
    }
    if (cli_value(call, CONVERT_LAYOUT) == NULL || picture != DLPARK_FILE_ANY || convert_is_of_picture(call))
        return true;
    cli_complain(call->verb, "--layout is of pictures, and neither %s nor %s is one", call->operands[0],
                 call->operands[1]);
    return false;
}

/* What is asked of a picture; CLI_FINE, or what the process ends with. */
static int convert_read_picture(const cli_call *call, dlpark_file_format to, cli_picture_options *picture)
{
    dlpark_error err;

    picture->format = convert_picture_format(call, to);
    if (!cli_read_layout(call, CONVERT_LAYOUT, &picture->is_chw) ||
        !cli_read_quality(call, CONVERT_QUALITY, &picture->quality) || !convert_check_picture(call, picture->format))
        return CLI_MISUSE;
    if (picture->format == DLPARK_FILE_ANY ||
        cli_picture_check_codec(call->operands[1], "is to be", picture->format, &err) == DLPARK_OK)
        return CLI_FINE;
    cli_complain(call->verb, "%s", err.message);
    return CLI_UNREADABLE;
}

static int convert_to_picture(const convert_job *job, const cli_picture_options *options)
{
    const cli_call *call = job->call;
    const char *path = call->operands[1];

    if (job->count != 1) {
        cli_complain(call->verb, "%s: a picture is one tensor, and %zu are chosen; --include chooses", path,
                     job->count);
        return CLI_MISUSE;
    }
    if (job->texts.npairs > 0 && cli_value(call, CONVERT_NO_METADATA) == NULL) {
        cli_complain(call->verb,
                     "%s: a picture has no place for metadata, and %zu were given; --no-metadata leaves "
                     "them out",
                     path, job->texts.npairs);
        return CLI_MISUSE;
    }
    const cli_picture_source source = {job->file, job->tensors[0].index, job->parts[0].dtype, &job->cast};
    return cli_picture_write(call, path, &source, options);
}

/* ---- The verb ---- */

/* As texts; from a GGUF file into another with their types. */
static int convert_take_metadata(convert_job *job, dlpark_file_write_options *options)
{
    bool is_typed = dlpark_file_format_of(job->file) == DLPARK_FILE_GGUF &&
                    cli_written_format(job->call->operands[1], options->format) == DLPARK_FILE_GGUF;

    options->metadata = job->texts.pairs;
    options->nmetadata = job->texts.npairs;
    if (!is_typed) {
        cli_losses_add_texts(&job->losses, job->file);
        return CLI_FINE;
    }
    int code = cli_values_read(&job->values, job->call->verb, job->file);
    options->metadata = job->values.pairs;
    options->nmetadata = job->values.npairs;
    options->values = job->values.values;
    options->nvalues = job->values.count;
    return code;
}

static int convert_open(convert_job *job, dlpark_file_write_options *options, const cli_picture_options *picture)
{
    const cli_call *call = job->call;

    if (!convert_read_overflow(call, &job->cast.overflow) ||
        !cli_read_align(call, CONVERT_ALIGN, &options->alignment_bytes) ||
        !cli_read_compress(call, CONVERT_COMPRESS, &options->deflate) || !convert_read_dtype(call, job) ||
        !cli_check_renames(call, CONVERT_RENAME))
        return CLI_MISUSE;
    const cli_picture_form form = {picture->is_chw,
                                   picture->format == DLPARK_FILE_ANY && job->to != NULL && convert_is_float(*job->to)};
    int code = cli_open_formed(call, call->operands[0], CONVERT_FORMAT, &form, &job->file);
    if (code != CLI_FINE)
        return code;
    cli_watch_signals();
    if (!cli_check_wanted(call, CONVERT_INCLUDE, CONVERT_EXCLUDE, &job->file, 1))
        return CLI_MISUSE;
    job->is_scaled = form.is_float && convert_is_of_picture(call);
    code = cli_texts_add(&job->texts, call, call->operands[0], job->file);
    if (code == CLI_FINE && !cli_texts_unite(&job->texts, call->verb, cli_value(call, CONVERT_KEEP_FIRST) != NULL))
        code = CLI_MISUSE;
    if (code == CLI_FINE && !convert_plan(job))
        code = CLI_UNREADABLE;
    if (code != CLI_FINE)
        return code;
    return cli_value(call, CONVERT_NO_METADATA) == NULL ? convert_take_metadata(job, options) : CLI_FINE;
}

static int convert_run(const cli_call *call)
{
    dlpark_file_write_options options = {.sync = cli_value(call, CONVERT_SYNC) != NULL};
    cli_picture_options picture = {.format = DLPARK_FILE_ANY};
    convert_job job = {.call = call};

    if (!cli_read_format(call, CONVERT_TO, CLI_FORMATS_WRITTEN, &options.format))
        return CLI_MISUSE;
    int code = convert_read_picture(call, options.format, &picture);
    if (code == CLI_FINE)
        code = convert_open(&job, &options, &picture);
    job.is_packed = options.deflate != NULL;
    if (code == CLI_FINE) {
        code = picture.format != DLPARK_FILE_ANY ? convert_to_picture(&job, &picture)
                                                 : convert_file(&job, call->operands[1], &options);
        if (code == CLI_FINE)
            convert_tell(&job);
    }
    convert_end(&job);
    return code;
}

const cli_verb cli_verb_convert = {
    .name = "convert",
    .operands = "FROM TO",
    .summary = "a file written anew: other dtypes, names, places",
    .help = "Writes the tensors of one file into another, a piece at a time, so that files larger\n"
            "than the memory are no matter. --dtype is for numbers of its kind: float16 changes\n"
            "the floats and leaves integers and truth values as they are. TO gets its name when\n"
            "it is whole; FROM and TO may be one file, and what was there is replaced. It is\n"
            "safetensors unless its name ends in .npy, .npz or .gguf, or --to says so. An index\n"
            "file becomes one file with the metadata of its shards.\n"
            "A picture is a tensor called image, of integers: uint8, or uint16 for a PNG of 16\n"
            "bits; with --dtype of a float it is of numbers from 0 to 1. TO is one when its name\n"
            "ends in .jpg, .jpeg, .png or .webp, or --to says so: FROM has one tensor then, or\n"
            "--include chooses it, of shape [height, width], or with 1 to 4 channels behind them.\n"
            "Floats are not scaled on their way into a picture.\n"
            "--overflow says what becomes of a number that DTYPE cannot hold. Of floats: nosat,\n"
            "the default, makes it infinity, or NaN where DTYPE has none, or the largest number\n"
            "where it has neither; satfinite makes it the largest number and leaves infinity as\n"
            "it is; satall makes infinity the largest number too. Of integers: wrap, the default,\n"
            "takes it modulo 2 to the power of the bits; saturate takes the nearest number.",
    .examples = "  dlpark convert model.safetensors half.safetensors --dtype f16\n"
                "  dlpark convert model.safetensors layers.safetensors --include 'layers.*'\n"
                "  dlpark convert old.safetensors new.safetensors --rename transformer.=model.\n"
                "  dlpark convert model.safetensors aligned.safetensors --align 64\n"
                "  dlpark convert array.npy array.safetensors --rename arr_0=weight\n"
                "  dlpark convert model.safetensors norm.npy --include norm --no-metadata\n"
                "  dlpark convert arrays.npz small.npz --compress\n"
                "  dlpark convert photo.jpg photo.npy --layout chw --dtype f32\n"
                "  dlpark convert photo.jpg small.webp --quality 75\n",
    .options = convert_options,
    .noptions = sizeof convert_options / sizeof convert_options[0],
    .least = 2,
    .most = 2,
    .run = convert_run,
};
