/* The elements of a tensor in pieces, converted. */
#include "command.h"

/* Elements of a piece. A multiple of 8, so that each piece of packed ones begins at a byte. */
#define ELEMENTS_PIECE ((int64_t)1 << 20)

static dlpark_status elements_alloc(dlpark_tensor *tensor, dlpark_view *view, DLDataType dtype, int64_t count,
                                    dlpark_error *err)
{
    const dlpark_tensor_desc desc = {.dtype = dtype, .ndim = 1, .shape = DLPARK_DIMS(&count)};

    return dlpark_tensor_alloc(tensor, &desc, view, err);
}

/* What is unpacked whole for each range, and in another order, is read once. */
static bool elements_are_whole(const dlpark_file_entry *entry)
{
    const uint32_t both = DLPARK_FILE_COMPRESSED | DLPARK_FILE_COLUMN_MAJOR;

    return (entry->flags & both) == both;
}

static dlpark_status elements_read_whole(cli_elements *elements, const dlpark_file_entry *entry, dlpark_error *err)
{
    const dlpark_tensor_desc desc = {.dtype = entry->dtype, .ndim = entry->ndim, .shape = DLPARK_DIMS(entry->shape)};

    DLPARK_TRY(dlpark_tensor_alloc(&elements->read_memory, &desc, &elements->read, err));
    DLPARK_TRY(dlpark_file_read(elements->file, elements->index, &elements->read, err));
    elements->is_whole = true;
    return dlpark_view_reshape(&elements->read, 1, &elements->numel, err);
}

dlpark_status cli_elements_begin(cli_elements *elements, const dlpark_file *file, int64_t index, DLDataType to,
                                 dlpark_error *err)
{
    dlpark_file_entry entry;

    *elements = (cli_elements){.file = file, .index = index, .to = to, .numel = 1};
    DLPARK_TRY(dlpark_file_entry_get(file, index, &entry, err));
    for (int32_t i = 0; i < entry.ndim && i < DLPARK_MAX_NDIM; i++)
        elements->numel *= entry.shape[i];
    elements->from = entry.dtype;
    /* A piece of a column-major tensor may touch all of the file, so there are few. */
    elements->most = (entry.flags & DLPARK_FILE_COLUMN_MAJOR) != 0 ? 8 * ELEMENTS_PIECE : ELEMENTS_PIECE;
    int64_t piece = elements->numel < elements->most ? elements->numel : elements->most;
    dlpark_status status = elements_are_whole(&entry)
                               ? elements_read_whole(elements, &entry, err)
                               : elements_alloc(&elements->read_memory, &elements->read, entry.dtype, piece, err);
    if (status == DLPARK_OK && !dlpark_dtype_equal(entry.dtype, to))
        status = elements_alloc(&elements->cast_memory, &elements->converted, to, piece, err);
    if (status != DLPARK_OK)
        cli_elements_end(elements);
    return status;
}

void cli_elements_end(cli_elements *elements)
{
    dlpark_tensor_release(&elements->read_memory);
    dlpark_tensor_release(&elements->cast_memory);
}

dlpark_status cli_elements_next(cli_elements *elements, dlpark_view *piece, dlpark_error *err)
{
    int64_t left = elements->numel - elements->done;
    int64_t count = left < elements->most ? left : elements->most;
    dlpark_view read;

    dlpark_view_copy(&read, &elements->read);
    int64_t begin = elements->is_whole ? elements->done : 0;
    DLPARK_TRY(dlpark_view_slice(&read, 0, begin, begin + count, 1, err));
    if (!elements->is_whole)
        DLPARK_TRY(dlpark_file_read_range(elements->file, elements->index, elements->done, &read, err));
    elements->done += count;
    if (elements->cast_memory.managed == NULL) {
        dlpark_view_copy(piece, &read);
        return DLPARK_OK;
    }
    dlpark_view_copy(piece, &elements->converted);
    DLPARK_TRY(dlpark_view_slice(piece, 0, 0, count, 1, err));
    return dlpark_cast(piece, &read, &elements->cast, err);
}
