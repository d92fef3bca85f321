/* dlpark diff: two files, tensor by tensor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "pictures.h"

enum { DIFF_TOLERANCE, DIFF_INCLUDE, DIFF_EXCLUDE, DIFF_FORMAT, DIFF_JSON };

static const cli_option diff_options[] = {
    {"tolerance", 't', "NUMBER", "numbers that differ by no more are equal; 0"},
    {"include", 'i', "PATTERN", "only tensors whose names match, as the shell's *; may be repeated"},
    {"exclude", 'x', "PATTERN", "but not those; may be repeated"},
    {"format", 0, "FORMAT", "no other: safetensors, npy, npz, gguf, safetensors-index, jpeg, png, webp"},
    {"json", 0, NULL, "for programs: the schema dlpark.diff/1"},
    CLI_FOLLOW_LINKS,
};

typedef struct diff_job {
    const cli_call *call;
    dlpark_file *files[2];
    double tolerance;
    cli_progress progress;
    cli_json *json;          /* NULL: for people */
    int64_t told;            /* differences, of which a tensor may have two */
    int64_t same, different; /* tensors */
} diff_job;

/* How the numbers of two tensors differ. */
typedef struct diff_numbers {
    int64_t count;      /* of those that do */
    double largest;     /* difference; infinite where one is NaN or infinite and the other is not the same */
    int64_t largest_at; /* in row-major order */
    bool are_integers;  /* of 64 bits: then it is this, which a double may round */
    uint64_t largest_integer;
} diff_numbers;

/* ---- Numbers ---- */

static double diff_between(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double difference = fabs(a - b);
    return isnan(difference) ? INFINITY : difference;
}

static void diff_note(const diff_job *job, diff_numbers *numbers, double difference, int64_t at)
{
    numbers->count += difference > job->tolerance;
    if (difference > numbers->largest) {
        numbers->largest = difference;
        numbers->largest_at = at;
    }
}

static void diff_add(const diff_job *job, diff_numbers *numbers, const double *a, const double *b, int64_t count,
                     int64_t first)
{
    for (int64_t i = 0; i < count; i++) {
        double difference = diff_between(a[i], b[i]);
        diff_note(job, numbers, difference, first + i);
    }
}

/* Integers of 64 bits, of which doubles would hide the last. */
static void diff_add_integers(const diff_job *job, diff_numbers *numbers, const dlpark_view *a, const dlpark_view *b,
                              int64_t first)
{
    const uint64_t *left = a->data, *right = b->data;
    bool is_signed = a->dtype.code == kDLInt;

    numbers->are_integers = true;
    for (int64_t i = 0; i < dlpark_view_numel(a); i++) {
        bool is_less = is_signed ? (int64_t)left[i] < (int64_t)right[i] : left[i] < right[i];
        uint64_t distance = is_less ? right[i] - left[i] : left[i] - right[i];
        numbers->count += (double)distance > job->tolerance;
        if (distance > numbers->largest_integer) {
            numbers->largest_integer = distance;
            numbers->largest_at = first + i;
        }
    }
}

/* Complex numbers differ by the magnitude of their difference. */
static void diff_add_complex(const diff_job *job, diff_numbers *numbers, const double *a, const double *b,
                             int64_t count, int64_t first)
{
    for (int64_t i = 0; i < count; i++) {
        double difference = cli_magnitude(diff_between(a[2 * i], b[2 * i]), diff_between(a[2 * i + 1], b[2 * i + 1]));
        diff_note(job, numbers, difference, first + i);
    }
}

static dlpark_status diff_pieces(diff_job *job, cli_elements *elements, diff_numbers *numbers, dlpark_error *err)
{
    while (elements[0].done < elements[0].numel && !cli_is_interrupted()) {
        dlpark_view pieces[2];
        int64_t first = elements[0].done;
        DLPARK_TRY(cli_elements_next(&elements[0], &pieces[0], err));
        DLPARK_TRY(cli_elements_next(&elements[1], &pieces[1], err));
        int64_t count = dlpark_view_numel(&pieces[0]);
        if (elements[0].to.code == kDLInt || elements[0].to.code == kDLUInt)
            diff_add_integers(job, numbers, &pieces[0], &pieces[1], first);
        else if (elements[0].to.code == kDLComplex)
            diff_add_complex(job, numbers, pieces[0].data, pieces[1].data, count, first);
        else
            diff_add(job, numbers, pieces[0].data, pieces[1].data, count, first);
        cli_progress_add(&job->progress, (uint64_t)count * elements[0].from.bits / 8);
    }
    return DLPARK_OK;
}

static dlpark_status diff_compare(diff_job *job, const int64_t indices[2], DLDataType as, diff_numbers *numbers,
                                  dlpark_error *err)
{
    cli_elements elements[2];

    *numbers = (diff_numbers){.count = 0};
    DLPARK_TRY(cli_elements_begin(&elements[0], job->files[0], indices[0], as, err));
    dlpark_status status = cli_elements_begin(&elements[1], job->files[1], indices[1], as, err);
    if (status == DLPARK_OK) {
        status = diff_pieces(job, elements, numbers, err);
        cli_elements_end(&elements[1]);
    }
    cli_elements_end(&elements[0]);
    return status;
}

/* ---- Telling ---- */

static void diff_tell(diff_job *job, const char *name, const char *kind, const char *text, const diff_numbers *numbers)
{
    job->told++;
    cli_progress_end(&job->progress);
    if (job->json == NULL) {
        printf("%s: %s\n", name, text);
        return;
    }
    cli_json_open(job->json, NULL, '{');
    cli_json_word(job->json, "tensor", name);
    cli_json_word(job->json, "kind", kind);
    cli_json_word(job->json, "message", text);
    if (numbers != NULL) {
        cli_json_uint(job->json, "count", (uint64_t)numbers->count);
        if (numbers->are_integers)
            cli_json_uint(job->json, "largest", numbers->largest_integer);
        else
            cli_json_number(job->json, "largest", numbers->largest);
        cli_json_uint(job->json, "at", (uint64_t)numbers->largest_at);
    }
    cli_json_close(job->json, '}');
}

static void diff_show_largest(const diff_numbers *numbers, char *text, size_t nbytes)
{
    if (numbers->are_integers)
        snprintf(text, nbytes, "%llu", (unsigned long long)numbers->largest_integer);
    else
        snprintf(text, nbytes, "%g", numbers->largest);
}

/* "[1, 2]" of a number in row-major order. */
static void diff_show_index(const dlpark_file_entry *entry, int64_t at, char *text, size_t nbytes)
{
    int64_t index[DLPARK_MAX_NDIM];
    size_t used = 1;

    for (int32_t i = entry->ndim - 1; i >= 0; i--) {
        index[i] = at % entry->shape[i];
        at /= entry->shape[i];
    }
    snprintf(text, nbytes, "[");
    for (int32_t i = 0; i < entry->ndim && used < nbytes; i++)
        used += (size_t)snprintf(text + used, nbytes - used, "%s%lld", i > 0 ? ", " : "", (long long)index[i]);
    if (used < nbytes)
        snprintf(text + used, nbytes - used, "]");
}

/* "float32"; "Q4_0" where bytes stand for it. */
static const char *diff_type(const diff_job *job, int which, const dlpark_file_entry *entry, dlpark_name *name)
{
    *name = dlpark_dtype_long_name(entry->dtype);
    return cli_is_quantised(job->files[which], entry) ? entry->type : name->text;
}

/* False: of two types of blocks, whose bytes say nothing of each other. */
static bool diff_types(diff_job *job, const char *name, const dlpark_file_entry entries[2])
{
    bool are_quantised[] = {cli_is_quantised(job->files[0], &entries[0]), cli_is_quantised(job->files[1], &entries[1])};
    bool are_other_blocks = (are_quantised[0] || are_quantised[1]) && strcmp(entries[0].type, entries[1].type) != 0;
    dlpark_name names[2];
    char text[200];

    if (are_other_blocks || !dlpark_dtype_equal(entries[0].dtype, entries[1].dtype)) {
        snprintf(text, sizeof text, "dtype %s and %s", diff_type(job, 0, &entries[0], &names[0]),
                 diff_type(job, 1, &entries[1], &names[1]));
        diff_tell(job, name, "dtype", text, NULL);
    }
    return !(are_other_blocks && are_quantised[0] && are_quantised[1]);
}

/* What there is to tell but numbers, and whether they are to be compared then. */
static bool diff_kinds(diff_job *job, const char *name, const dlpark_file_entry entries[2])
{
    char text[3000];
    if (entries[0].ndim > DLPARK_MAX_NDIM || entries[1].ndim > DLPARK_MAX_NDIM) {
        snprintf(text, sizeof text, "has more than %d dimensions, and is not compared", DLPARK_MAX_NDIM);
        diff_tell(job, name, "rank", text, NULL);
        return false;
    }
    bool same_shape = entries[0].ndim == entries[1].ndim &&
                      memcmp(entries[0].shape, entries[1].shape, (size_t)entries[0].ndim * sizeof(int64_t)) == 0;

    if (!same_shape) {
        snprintf(text, sizeof text, "shape %s and %s", cli_show_shape(&entries[0]).text,
                 cli_show_shape(&entries[1]).text);
        diff_tell(job, name, "shape", text, NULL);
    }
    return same_shape && diff_types(job, name, entries);
}

/* What the numbers of both are compared as: one dtype that holds those of either. A float beside an integer of 64 bits is
 * compared as doubles are. */
static DLDataType diff_common(const dlpark_file_entry entries[2])
{
    DLDataType a = entries[0].dtype, b = entries[1].dtype;

    if (a.code == kDLComplex || b.code == kDLComplex)
        return (DLDataType){kDLComplex, 128, 1};
    if (a.bits == 64 && b.bits == 64 && a.code == b.code && (a.code == kDLInt || a.code == kDLUInt))
        return a;
    return DLPARK_F64;
}

static int diff_tensor(diff_job *job, const int64_t indices[2], const char *name)
{
    dlpark_file_entry entries[2];
    diff_numbers numbers;
    dlpark_error err;
    char where[512], largest[32], text[600];
    int64_t before = job->told;

    if (dlpark_file_entry_get(job->files[0], indices[0], &entries[0], &err) != DLPARK_OK ||
        dlpark_file_entry_get(job->files[1], indices[1], &entries[1], &err) != DLPARK_OK ||
        !diff_kinds(job, name, entries))
        return CLI_FINE;
    dlpark_status status = diff_compare(job, indices, diff_common(entries), &numbers, &err);
    if (status != DLPARK_OK) {
        cli_progress_end(&job->progress);
        cli_complain(job->call->verb, "%s: %s", name, err.message);
        return cli_exit_of(status);
    }
    if (numbers.count > 0) {
        diff_show_index(&entries[0], numbers.largest_at, where, sizeof where);
        diff_show_largest(&numbers, largest, sizeof largest);
        snprintf(text, sizeof text, "%lld number%s differ%s, by at most %s at %s", (long long)numbers.count,
                 numbers.count == 1 ? "" : "s", numbers.count == 1 ? "s" : "", largest, where);
        diff_tell(job, name, "values", text, &numbers);
    }
    job->same += job->told == before;
    return CLI_FINE;
}

/* The tensors of one file, and those with the same names in the other. `second`: only those that the first lacks. */
static int diff_file(diff_job *job, int which)
{
    const char *absent = which == 0 ? "only in the first file" : "only in the second file";
    int worst = CLI_FINE;

    for (int64_t i = 0; i < dlpark_file_count(job->files[which]) && !cli_is_interrupted(); i++) {
        dlpark_file_entry entry;
        if (dlpark_file_entry_get(job->files[which], i, &entry, NULL) != DLPARK_OK)
            continue;
        char *name = cli_show_name(entry.name, entry.name_nbytes);
        int code = name == NULL ? CLI_UNREADABLE : CLI_FINE;
        if (name != NULL && cli_is_wanted(job->call, DIFF_INCLUDE, DIFF_EXCLUDE, name)) {
            int64_t before = job->told;
            int64_t other = dlpark_file_find(job->files[1 - which], entry.name, entry.name_nbytes);
            if (other < 0)
                diff_tell(job, name, which == 0 ? "missing" : "added", absent, NULL);
            else if (which == 0)
                code = diff_tensor(job, (const int64_t[]){i, other}, name);
            job->different += job->told != before;
        }
        free(name);
        worst = code > worst ? code : worst;
    }
    return worst;
}

/* ---- The verb ---- */

static bool diff_read_tolerance(const cli_call *call, double *tolerance)
{
    const char *given = cli_value(call, DIFF_TOLERANCE);
    char *end = NULL;

    *tolerance = given != NULL ? strtod(given, &end) : 0;
    if (given == NULL || (end != given && *end == '\0' && *tolerance >= 0))
        return true;
    cli_complain(call->verb, "--tolerance %s: expected a number of 0 or more", given);
    return false;
}

static int diff_both(diff_job *job)
{
    int first = diff_file(job, 0), second = diff_file(job, 1);
    int code = first > second ? first : second;

    cli_progress_end(&job->progress);
    if (cli_is_interrupted())
        return cli_interrupted();
    if (job->json == NULL)
        printf("%lld tensor%s the same, %lld differ%s\n", (long long)job->same, job->same == 1 ? " is" : "s are",
               (long long)job->different, job->different == 1 ? "s" : "");
    return job->different > 0 && code < CLI_FAULTY ? CLI_FAULTY : code;
}

/* Both are opened before anything is said of one. For programs there is one error, of what the process ends with. */
static int diff_open(diff_job *job)
{
    bool is_json = cli_value(job->call, DIFF_JSON) != NULL;
    dlpark_file_options options;
    dlpark_error err, worst_err;
    int worst = CLI_FINE;

    if (!cli_read_file_options(job->call, DIFF_FORMAT, &options))
        return CLI_MISUSE;
    for (int i = 0; i < 2; i++) {
        dlpark_status status =
            cli_open_file(&job->files[i], job->call->operands[i], &options, &(cli_picture_form){.is_chw = false}, &err);
        if (status != DLPARK_OK && !is_json)
            cli_complain(job->call->verb, "%s", err.message);
        if (cli_exit_of(status) > worst) {
            worst = cli_exit_of(status);
            worst_err = err;
        }
    }
    if (is_json && worst != CLI_FINE)
        cli_json_error("dlpark.diff/1", worst_err.message);
    return worst;
}

static int diff_run(const cli_call *call)
{
    diff_job job = {.call = call};
    cli_json json = {0};

    if (!diff_read_tolerance(call, &job.tolerance))
        return CLI_MISUSE;
    int code = diff_open(&job);
    if (code == CLI_FINE && !cli_check_wanted(call, DIFF_INCLUDE, DIFF_EXCLUDE, job.files, 2))
        code = CLI_MISUSE;
    if (code == CLI_FINE) {
        cli_watch_signals();
        cli_progress_begin(&job.progress, dlpark_file_nbytes(job.files[0]));
        job.json = cli_value(call, DIFF_JSON) != NULL ? &json : NULL;
        if (job.json != NULL)
            cli_json_begin(&json, "dlpark.diff/1", "differences");
        code = diff_both(&job);
        if (job.json != NULL)
            cli_json_end(&json);
    }
    dlpark_file_release(&job.files[0]);
    dlpark_file_release(&job.files[1]);
    return code;
}

const cli_verb cli_verb_diff = {
    .name = "diff",
    .operands = "FIRST SECOND",
    .summary = "two files by tensor: missing, dtype, shape, largest difference",
    .help = "Compares the tensors of the same names. Numbers are compared by value, whatever the\n"
            "dtypes; NaN equals NaN. Quantised tensors of two types differ in dtype, and their\n"
            "bytes are not compared. The exit status is 1 when the files differ.",
    .examples = "  dlpark diff model.safetensors half.safetensors\n"
                "  dlpark diff --tolerance 1e-3 model.safetensors half.safetensors\n"
                "  dlpark diff before.png after.png\n",
    .options = diff_options,
    .noptions = sizeof diff_options / sizeof diff_options[0],
    .least = 2,
    .most = 2,
    .run = diff_run,
};
