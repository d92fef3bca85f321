/* Tensors of other files on their way into one that is written: through the kernel where their bytes stay as they are. */
#include <string.h>

#include "../core/internal.h"
#include "copy_range.h"
#include "file_writer.h"
#include "format.h"

/* Tensors that lie side by side in both files: parts `first` up to `past` of the writer. */
typedef struct write_from_run {
    const dlpark__source *source;
    size_t first, past;
    uint64_t from, to, nbytes;
} write_from_run;

/* Writes the run, if there is one, and leaves none. */
static dlpark_status write_from_flush(dlpark_file_writer *writer, write_from_run *run, dlpark_error *err)
{
    if (run->source != NULL)
        DLPARK_TRY(dlpark__copy_range(run->source, run->from, &writer->file, run->to, run->nbytes, err));
    for (size_t i = run->first; i < run->past; i++)
        (void)atomic_fetch_add_explicit(&writer->parts[i].nbytes_put, writer->parts[i].place.nbytes,
                                        memory_order_relaxed);
    *run = (write_from_run){.source = NULL};
    return DLPARK_OK;
}

/* Puts a tensor behind the run, or begins another with it. */
static dlpark_status write_from_extend(dlpark_file_writer *writer, write_from_run *run, size_t index,
                                       const dlpark__source *source, uint64_t from, dlpark_error *err)
{
    dlpark__write_place place = writer->parts[index].place;

    if (run->source != source || run->from + run->nbytes != from || run->to + run->nbytes != place.offset) {
        DLPARK_TRY(write_from_flush(writer, run, err));
        *run = (write_from_run){source, index, index, from, place.offset, 0};
    }
    run->past = index + 1;
    run->nbytes += place.nbytes;
    return DLPARK_OK;
}

/* What would be unpacked whole for every piece. */
static dlpark_status write_from_whole(dlpark_file_writer *writer, size_t index, const dlpark_file *file, int64_t tensor,
                                      dlpark_error *err)
{
    dlpark_tensor whole = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    DLPARK_TRY(dlpark_file_load(file, tensor, &whole, err));
    dlpark_tensor_view(&whole, &view);
    dlpark_status status = dlpark_file_writer_put(writer, index, &view, err);
    dlpark_tensor_release(&whole);
    return status;
}

/* Some elements of a tensor that is not in its file as it is written. */
static dlpark_status write_from_piece(dlpark_file_writer *writer, size_t index, const dlpark_file *file, int64_t tensor,
                                      int64_t first, int64_t count, dlpark_error *err)
{
    dlpark_tensor piece = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    const dlpark_tensor_desc desc = {
        .dtype = writer->parts[index].dtype, .ndim = 1, .shape = DLPARK_DIMS((const int64_t *)&count)};

    DLPARK_TRY(dlpark_tensor_alloc(&piece, &desc, &view, err));
    dlpark_status status = dlpark_file_read_range(file, tensor, first, &view, err);
    if (status == DLPARK_OK)
        status = dlpark_file_writer_put_range(writer, index, first, &view, err);
    dlpark_tensor_release(&piece);
    return status;
}

/* All of them. A piece of a column-major tensor may touch all of the file, so there are few. */
static dlpark_status write_from_pieces(dlpark_file_writer *writer, size_t index, const dlpark_file *file,
                                       int64_t tensor, bool is_column_major, dlpark_error *err)
{
    const dlpark__file_writer_part *part = &writer->parts[index];
    int64_t numel = 1, piece = (int64_t)DLPARK__FILE_WRITER_TILE; /* a multiple of 8: each begins at a byte */

    if (is_column_major)
        piece *= 16;

    for (int32_t i = 0; i < part->ndim; i++)
        numel *= part->shape[i];
    for (int64_t first = 0; first < numel; first += piece)
        DLPARK_TRY(
            write_from_piece(writer, index, file, tensor, first, numel - first < piece ? numel - first : piece, err));
    return DLPARK_OK;
}

static dlpark_status write_from_tensor(dlpark_file_writer *writer, write_from_run *run, size_t index,
                                       const dlpark_file *file, int64_t tensor, dlpark_error *err)
{
    const dlpark__file_writer_part *part = &writer->parts[index];
    dlpark_file_entry entry;

    DLPARK_TRY(dlpark_file_entry_get(file, tensor, &entry, err));
    if (!dlpark_dtype_equal(entry.dtype, part->dtype))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "tensor '%s' was declared as %s, and is %s in its file",
                                part->name.text, dlpark_dtype_name(part->dtype).text,
                                dlpark_dtype_name(entry.dtype).text);
    if (entry.ndim != part->ndim || memcmp(entry.shape, part->shape, (size_t)part->ndim * sizeof *part->shape) != 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE,
                                "tensor '%s' was declared as %s, and is of %d dimensions, %llu bytes, in its file",
                                part->name.text, dlpark__layout_list(part->ndim, part->shape).text, (int)entry.ndim,
                                (unsigned long long)entry.nbytes);
    const dlpark__index_type *type = &file->index.types[file->index.entries[tensor].type];
    bool is_as_written =
        (entry.flags & (DLPARK_FILE_COMPRESSED | DLPARK_FILE_COLUMN_MAJOR)) == 0 && !type->is_big_endian;
    if (is_as_written && writer->sums == NULL) /* what is summed up has to be seen */
        return write_from_extend(writer, run, index, dlpark__file_source(file, tensor), entry.offset, err);
    DLPARK_TRY(write_from_flush(writer, run, err)); /* a run has only parts that follow one another */
    if ((entry.flags & DLPARK_FILE_COMPRESSED) != 0 && (entry.flags & DLPARK_FILE_COLUMN_MAJOR) != 0)
        return write_from_whole(writer, index, file, tensor, err);
    return write_from_pieces(writer, index, file, tensor, (entry.flags & DLPARK_FILE_COLUMN_MAJOR) != 0, err);
}

dlpark_status dlpark_file_writer_put_from(dlpark_file_writer *writer, size_t index, size_t count,
                                          const dlpark_file *file, const int64_t *tensors, dlpark_error *err)
{
    write_from_run run = {.source = NULL};

    for (size_t i = 0; i < count; i++) {
        DLPARK_TRY(dlpark__file_writer_check_index(writer, index + i, err));
        DLPARK_TRY(write_from_tensor(writer, &run, index + i, file, tensors[i], err));
    }
    return write_from_flush(writer, &run, err);
}
