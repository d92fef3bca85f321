/* One array of NumPy's in a file: read, and written byte for byte as NumPy writes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../format.h"
#include "../write_plan.h"
#include "npy_header.h"

/* The name of an array that has none, as NumPy has it in its archives. */
#define NPY_NAME "arr_0"

/* Where the data begins is a multiple of it. */
#define NPY_ALIGNMENT ((size_t)64)

/* Of the dictionary: 64 extents of 19 digits, and what is between them. */
#define NPY_TEXT_NBYTES ((size_t)2048)

/* The first extent has room for so many digits: an array that grows can be told by changing it where it is. */
#define NPY_GROWTH_DIGITS 21

/* ---- Read ---- */

static dlpark_status npy_fill_index(dlpark__index *index, const dlpark__npy_header *header, dlpark_error *err)
{
    const dlpark__index_entry entry = {
        .name = {0, sizeof NPY_NAME - 1},
        .ndim = (uint16_t)header->ndim,
        .type = header->type,
        .is_column_major = header->is_column_major,
        .begin = header->header_nbytes,
        .nbytes = header->nbytes,
    };
    int64_t twin = -1;

    index->text = malloc(sizeof NPY_NAME);
    if (index->text == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    memcpy(index->text, NPY_NAME, sizeof NPY_NAME);
    if (!dlpark__index_add(index, &entry, header->shape) || !dlpark__index_find_names(index, &twin))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    return DLPARK_OK;
}

static dlpark_status npy_read_text(const dlpark__format_job *job, dlpark__npy_text *text, unsigned char *bytes,
                                   size_t nbytes, dlpark_error *err)
{
    dlpark__npy_header header;

    DLPARK_TRY(dlpark__source_read(job->source, 0, bytes, nbytes, err));
    text->bytes = bytes;
    text->nbytes = nbytes;
    return dlpark__npy_read_header(text, &header) ? npy_fill_index(job->index, &header, err) : DLPARK_OK;
}

static dlpark_status npy_read(const dlpark__format_job *job, dlpark_error *err)
{
    uint64_t array = job->source->nbytes, nbytes;
    dlpark__npy_text text = {.bytes = job->head,
                             .nbytes = array < sizeof job->head ? (size_t)array : sizeof job->head,
                             .array_nbytes = array,
                             .max_header_nbytes = job->options->max_header_nbytes,
                             .faults = job->faults};

    job->index->types = dlpark__npy_types;
    if (!dlpark__npy_header_nbytes(&text, &nbytes))
        return DLPARK_OK;
    unsigned char *bytes = malloc((size_t)nbytes);
    if (bytes == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for a header of %llu bytes",
                                job->source->name.text, (unsigned long long)nbytes);
    dlpark_status status = npy_read_text(job, &text, bytes, (size_t)nbytes, err);
    free(bytes);
    return status;
}

/* ---- Write ---- */

static const char *npy_type_of(DLDataType dtype)
{
    for (int i = 0; i < DLPARK__NPY_TYPES; i++)
        if (!dlpark__npy_types[i].is_big_endian && dlpark_dtype_equal(dlpark__npy_types[i].dtype, dtype))
            return dlpark__npy_types[i].name;
    return NULL;
}

/* Bytes of all elements. */
static dlpark_status npy_count_bytes(const dlpark_file_part *part, const dlpark__write_kind *kind, uint64_t *nbytes,
                                     dlpark_error *err)
{
    dlpark__write_size size;

    DLPARK_TRY(dlpark__write_measure(part, kind->dtype.bits / 8U, &size, err));
    if (size.is_vast || size.product > INT64_MAX - 2 * 4096) /* with the header */
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "tensor '%s': shape %s has more bytes than a file",
                                dlpark__write_name(part).text, dlpark__layout_list(kind->ndim, kind->shape).text);
    *nbytes = size.is_empty ? 0 : size.product;
    return DLPARK_OK;
}

/* The dictionary as Python shows it, and room for the first extent to grow: its length. */
static size_t npy_format(char *text, const char *type, const dlpark__write_kind *kind)
{
    int used = snprintf(text, NPY_TEXT_NBYTES, "{'descr': '%s', 'fortran_order': False, 'shape': (", type), digits = 0;

    for (int32_t i = 0; i < kind->ndim; i++) {
        int begin = used += snprintf(text + used, NPY_TEXT_NBYTES - (size_t)used, "%s", i > 0 ? ", " : "");
        used += snprintf(text + used, NPY_TEXT_NBYTES - (size_t)used, "%lld", (long long)kind->shape[i]);
        digits = i == 0 ? used - begin : digits;
    }
    used += snprintf(text + used, NPY_TEXT_NBYTES - (size_t)used, "%s), }%*s", kind->ndim == 1 ? "," : "",
                     kind->ndim > 0 ? NPY_GROWTH_DIGITS - digits : 0, "");
    return (size_t)used;
}

/* Magic, version 1.0, the length of what follows, the dictionary, and spaces up to a line's end where the data begins. */
static dlpark_status npy_write_head(dlpark__write_plan *plan, const char *type, const dlpark__write_kind *kind,
                                    size_t alignment_bytes, dlpark_error *err)
{
    static const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    enum { PREFIX = sizeof magic + 2 };
    char text[NPY_TEXT_NBYTES];
    size_t length = npy_format(text, type, kind), multiple = alignment_bytes;

    multiple = multiple > NPY_ALIGNMENT ? multiple : NPY_ALIGNMENT;
    size_t used = PREFIX + length + 1; /* NumPy adds a whole multiple where nothing is missing */
    plan->head_nbytes = used + multiple - used % multiple;
    plan->head = malloc(plan->head_nbytes);
    if (plan->head == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    memset(plan->head, ' ', plan->head_nbytes);
    memcpy(plan->head, magic, sizeof magic);
    plan->head[sizeof magic] = (char)((plan->head_nbytes - PREFIX) & 0xFF);
    plan->head[sizeof magic + 1] = (char)((plan->head_nbytes - PREFIX) >> 8);
    memcpy(plan->head + PREFIX, text, length);
    plan->head[plan->head_nbytes - 1] = '\n';
    return DLPARK_OK;
}

static dlpark_status npy_plan(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                              const dlpark_file_write_options *options, dlpark_error *err)
{
    uint64_t nbytes = 0;

    *plan = (dlpark__write_plan){.head = NULL};
    if (count != 1)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "an npy file has one tensor, and %zu were given", count);
    if (options->nmetadata != 0)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "an npy file has no place for metadata, and %zu were given",
                                options->nmetadata);
    dlpark__write_kind kind = dlpark__write_kind_of(&parts[0]);
    const char *type = npy_type_of(kind.dtype);
    if (type == NULL)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "tensor '%s': npy has no dtype for %s",
                                dlpark__write_name(&parts[0]).text, dlpark_dtype_long_name(kind.dtype).text);
    DLPARK_TRY(npy_count_bytes(&parts[0], &kind, &nbytes, err));
    dlpark_status status = npy_write_head(plan, type, &kind, options->alignment_bytes, err);
    if (status == DLPARK_OK) {
        plan->places = malloc(sizeof *plan->places);
        status = plan->places != NULL ? DLPARK_OK : dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    }
    if (status != DLPARK_OK) {
        dlpark__write_plan_end(plan);
        return status;
    }
    plan->places[0] = (dlpark__write_place){plan->head_nbytes, nbytes};
    plan->nbytes = plan->head_nbytes + nbytes;
    return DLPARK_OK;
}

const dlpark__format dlpark__format_npy = {
    .format = DLPARK_FILE_NPY,
    .name = "npy",
    .suffix = ".npy",
    .matches = dlpark__npy_matches,
    .read = npy_read,
    .plan = npy_plan,
};
