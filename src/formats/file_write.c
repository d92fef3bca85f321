/* Files that are written: a plan, a temporary file, and the elements of views into their places. */
#include <stdlib.h>
#include <string.h>

#include "../core/internal.h"
#include "file_writer.h"
#include "format.h"
#include "npz/crc32.h"
#include "swap.h"

/* ---- Begin ---- */

/* What is written, or kept elsewhere. */
static void file_write_forget(dlpark__write_plan *plan)
{
    free(plan->head);
    free(plan->places);
    plan->head = NULL;
    plan->places = NULL;
}

void dlpark__write_plan_end(dlpark__write_plan *plan)
{
    if (plan->state != NULL)
        plan->end(plan->state);
    file_write_forget(plan);
    *plan = (dlpark__write_plan){.head = NULL};
}

static dlpark_status file_write_check_options(const dlpark_file_write_options *options, dlpark_error *err)
{
    size_t alignment = options->alignment_bytes;

    if (options->format != DLPARK_FILE_ANY && dlpark__format_find(options->format) == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "files of format %d cannot be written", (int)options->format);
    if (alignment > 4096 || (alignment & (alignment - 1)) != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "alignment_bytes is %zu, expected 0 or a power of two up to 4096", alignment);
    return DLPARK_OK;
}

dlpark__write_kind dlpark__write_kind_of(const dlpark_file_part *part)
{
    if (part->view == NULL)
        return (dlpark__write_kind){part->dtype, part->ndim, part->shape};
    return (dlpark__write_kind){part->view->dtype, part->view->ndim, part->view->shape};
}

dlpark_status dlpark__write_measure(const dlpark_file_part *part, uint64_t each, dlpark__write_size *size,
                                    dlpark_error *err)
{
    dlpark__write_kind kind = dlpark__write_kind_of(part);

    *size = (dlpark__write_size){each, false, false};
    if (kind.ndim < 0 || kind.ndim > DLPARK_MAX_NDIM)
        return dlpark_error_set(err, DLPARK_E_RANK, "tensor '%s' has %d dimensions, expected 0 to %d",
                                dlpark__write_name(part).text, (int)kind.ndim, DLPARK_MAX_NDIM);
    for (int32_t i = 0; i < kind.ndim; i++) {
        if (kind.shape[i] < 0)
            return dlpark_error_set(err, DLPARK_E_SHAPE, "tensor '%s': shape[%d] is %lld",
                                    dlpark__write_name(part).text, (int)i, (long long)kind.shape[i]);
        if (kind.shape[i] == 0)
            size->is_empty = true;
        else
            size->is_vast |= __builtin_mul_overflow(size->product, (uint64_t)kind.shape[i], &size->product);
    }
    return DLPARK_OK;
}

size_t dlpark__write_name_nbytes(const dlpark_file_part *part)
{
    return part->name_nbytes != 0 ? part->name_nbytes : strlen(part->name);
}

dlpark_file_name dlpark__write_name(const dlpark_file_part *part)
{
    return dlpark_file_name_text(part->name, dlpark__write_name_nbytes(part));
}

/* Keeps what was declared. False: out of memory. */
static bool file_write_keep(dlpark_file_writer *writer, const dlpark__write_plan *plan, const dlpark_file_part *parts)
{
    size_t extents = 0;

    for (size_t i = 0; i < writer->count; i++)
        extents += (size_t)dlpark__write_kind_of(&parts[i]).ndim;
    writer->parts = calloc(writer->count + 1, sizeof *writer->parts);
    writer->extents = calloc(extents + 1, sizeof *writer->extents);
    if (writer->parts == NULL || writer->extents == NULL)
        return false;
    int64_t *shape = writer->extents;
    for (size_t i = 0; i < writer->count; i++) {
        dlpark__write_kind kind = dlpark__write_kind_of(&parts[i]);
        dlpark__file_writer_part *part = &writer->parts[i];
        part->name = dlpark__write_name(&parts[i]);
        part->place = plan->places[i];
        part->dtype = kind.dtype;
        part->ndim = kind.ndim;
        part->shape = shape;
        if (kind.ndim > 0)
            memcpy(shape, kind.shape, (size_t)kind.ndim * sizeof *shape);
        atomic_init(&part->nbytes_put, 0);
        atomic_init(&part->begun, 0);
        shape += kind.ndim;
    }
    return true;
}

/* False: out of memory. */
static bool file_write_begin_sums(dlpark_file_writer *writer)
{
    if (writer->plan.finish == NULL)
        return true;
    writer->sums = calloc(writer->count + 1, sizeof *writer->sums);
    for (size_t i = 0; i < writer->count && writer->sums != NULL; i++)
        atomic_init(&writer->sums[i], 0);
    return writer->sums != NULL;
}

static dlpark_status file_write_begin(dlpark_file_writer *writer, const char *path, const dlpark_file_part *parts,
                                      dlpark_error *err)
{
    const dlpark__write_plan *plan = &writer->plan;

    if (!file_write_keep(writer, plan, parts) || !file_write_begin_sums(writer))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    DLPARK_TRY(dlpark__replace_begin(&writer->file, path, plan->nbytes, err));
    return dlpark__replace_write(&writer->file, 0, plan->head, plan->head_nbytes, err);
}

dlpark_status dlpark_file_writer_open(dlpark_file_writer **out, const char *path, const dlpark_file_part *parts,
                                      size_t count, const dlpark_file_write_options *given, dlpark_error *err)
{
    dlpark_file_write_options options = given != NULL ? *given : (dlpark_file_write_options){.format = DLPARK_FILE_ANY};
    dlpark__write_plan plan;

    if (*out != NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the variable for the writer holds one already");
    DLPARK_TRY(file_write_check_options(&options, err));
    const dlpark__format *format =
        options.format != DLPARK_FILE_ANY ? dlpark__format_find(options.format) : dlpark__format_of_name(path);
    if (options.nvalues != 0 && format->format != DLPARK_FILE_GGUF)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "%s has no place for metadata with types (%zu)",
                                format->name, options.nvalues);
    if (options.deflate != NULL && format->format != DLPARK_FILE_NPZ)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "%s files are not deflated, npz files are", format->name);
    DLPARK_TRY(format->plan(&plan, parts, count, &options, err));
    dlpark_file_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        dlpark__write_plan_end(&plan);
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    }
    writer->file.descriptor = -1;
    writer->count = count;
    writer->sync = options.sync;
    writer->plan = plan;
    dlpark_status status = file_write_begin(writer, path, parts, err);
    file_write_forget(&writer->plan);
    if (status != DLPARK_OK)
        dlpark_file_writer_release(&writer);
    *out = writer;
    return status;
}

/* ---- Elements ---- */

static dlpark_status file_write_place(dlpark_file_writer *writer, dlpark__file_writer_part *part, uint64_t offset,
                                      unsigned char *bytes, size_t nbytes, bool is_ours, dlpark_error *err)
{
    if (DLPARK__IS_BIG_ENDIAN && is_ours)
        dlpark__swap_numbers(bytes, nbytes, part->dtype);
    DLPARK_TRY(dlpark__replace_write(&writer->file, part->place.offset + offset, bytes, nbytes, err));
    if (writer->sums != NULL) {
        uint32_t sum = dlpark__crc32_shift(dlpark__crc32_add(0, bytes, nbytes), part->place.nbytes - offset - nbytes);
        (void)atomic_fetch_xor_explicit(&writer->sums[part - writer->parts], sum, memory_order_relaxed);
    }
    /* Whoever sees the last byte sees the sum. */
    (void)atomic_fetch_add_explicit(&part->nbytes_put, nbytes, memory_order_release);
    if (writer->plan.advance == NULL)
        return DLPARK_OK;
    (void)atomic_compare_exchange_strong_explicit(&part->begun, &offset, offset + nbytes, memory_order_release,
                                                  memory_order_relaxed);
    return writer->plan.advance(writer->plan.state, writer, err);
}

/* How many of the last dimensions go into a tile together: their bytes are whole. -1: not even one element does. */
static int32_t file_write_inner(const dlpark_view *view, uint64_t *nbytes)
{
    uint64_t bits = (uint64_t)view->dtype.bits * view->dtype.lanes;
    int32_t first = view->ndim, found = bits % 8 == 0 ? view->ndim : -1;

    *nbytes = bits / 8;
    while (first > 0) {
        uint64_t extent = (uint64_t)view->shape[first - 1];
        if (extent > DLPARK__FILE_WRITER_TILE * 8 / bits)
            break;
        bits *= extent;
        first--;
        if (bits % 8 == 0) {
            found = first;
            *nbytes = bits / 8;
        }
    }
    return found;
}

/* Strided elements on their way through a tile: some rows of the dimension `rows`, those behind it whole. */
typedef struct file_write_tile {
    const dlpark_view *view;
    dlpark_view memory;
    int32_t rows;  /* -1: all fit */
    int64_t count; /* of rows in a tile */
    int64_t index[DLPARK_MAX_NDIM];
    uint64_t offset;
} file_write_tile;

/* The first row of the next tile; false behind the last. */
static bool file_write_next(file_write_tile *tile)
{
    for (int32_t i = tile->rows; i >= 0; i--) {
        tile->index[i] += i == tile->rows ? tile->count : 1;
        if (tile->index[i] < tile->view->shape[i])
            return true;
        tile->index[i] = 0;
    }
    return false;
}

/* What of the view goes into the tile now, and the part of the tile that it fills. */
static dlpark_status file_write_select(const file_write_tile *tile, dlpark_view *from, dlpark_view *to,
                                       dlpark_error *err)
{
    dlpark_view_copy(from, tile->view);
    dlpark_view_copy(to, &tile->memory);
    if (tile->rows < 0)
        return DLPARK_OK;
    for (int32_t i = 0; i < tile->rows; i++)
        DLPARK_TRY(dlpark_view_index(from, 0, tile->index[i], err)); /* GCOVR_EXCL_BR_LINE: below its extent */
    int64_t begin = tile->index[tile->rows], left = tile->view->shape[tile->rows] - begin;
    int64_t count = left < tile->count ? left : tile->count;
    DLPARK_TRY(dlpark_view_slice(from, 0, begin, begin + count, 1, err)); /* GCOVR_EXCL_BR_LINE: rows that are there */
    return dlpark_view_slice(to, 0, 0, count, 1, err);
}

static dlpark_status file_write_tiles(dlpark_file_writer *writer, dlpark__file_writer_part *part, file_write_tile *tile,
                                      dlpark_error *err)
{
    do {
        dlpark_view from, to;
        DLPARK_TRY(file_write_select(tile, &from, &to, err)); /* GCOVR_EXCL_BR_LINE: neither step fails, see there */
        DLPARK_TRY(dlpark_copy(&to, &from, err)); /* GCOVR_EXCL_BR_LINE: of one shape, and in memory of our own */
        size_t nbytes = (size_t)dlpark_view_nbytes(&to);
        DLPARK_TRY(file_write_place(writer, part, tile->offset, to.data, nbytes, true, err));
        tile->offset += nbytes;
    } while (file_write_next(tile));
    return DLPARK_OK;
}

/* Packs what is not compact, a tile at a time; sub-byte elements whose rows end within a byte all at once. `offset` is where
 * they begin in the tensor. */
static dlpark_status file_write_strided(dlpark_file_writer *writer, dlpark__file_writer_part *part,
                                        const dlpark_view *view, uint64_t offset, dlpark_error *err)
{
    dlpark_tensor packed = DLPARK_TENSOR_EMPTY;
    file_write_tile tile = {.view = view, .rows = -1, .offset = offset};
    int64_t shape[DLPARK_MAX_NDIM];
    uint64_t nbytes;
    int32_t inner = file_write_inner(view, &nbytes);

    memcpy(shape, view->shape, (size_t)view->ndim * sizeof *shape);
    if (inner > 0) {
        tile.rows = inner - 1;
        tile.count = (int64_t)(DLPARK__FILE_WRITER_TILE / nbytes);
        tile.count = tile.count < shape[tile.rows] ? tile.count : shape[tile.rows];
        shape[tile.rows] = tile.count;
    }
    int32_t first = tile.rows < 0 ? 0 : tile.rows;
    const dlpark_tensor_desc desc = {
        .dtype = view->dtype, .ndim = view->ndim - first, .shape = DLPARK_DIMS((const int64_t *)shape + first)};
    DLPARK_TRY(dlpark_tensor_alloc(&packed, &desc, &tile.memory, err));
    dlpark_status status = file_write_tiles(writer, part, &tile, err);
    dlpark_tensor_release(&packed);
    return status;
}

dlpark_status dlpark__file_writer_check_index(const dlpark_file_writer *writer, size_t index, dlpark_error *err)
{
    if (index < writer->count)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_INDEX, "there is no tensor %zu, %zu were declared", index, writer->count);
}

static dlpark_status file_write_check(const dlpark__file_writer_part *part, const dlpark_view *view, dlpark_error *err)
{
    if (!dlpark_dtype_equal(view->dtype, part->dtype))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "tensor '%s' was declared as %s, and is %s", part->name.text,
                                dlpark_dtype_long_name(part->dtype).text, dlpark_dtype_long_name(view->dtype).text);
    if (!dlpark_device_is_host_accessible(view->device))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "tensor '%s' is on %s, which the host cannot read",
                                part->name.text, dlpark_device_name(view->device).text);
    return DLPARK_OK;
}

/* Elements from a byte of the tensor on. */
static dlpark_status file_write_elements(dlpark_file_writer *writer, dlpark__file_writer_part *part,
                                         const dlpark_view *view, uint64_t offset, dlpark_error *err)
{
    bool is_padded = (view->flags & DLPARK_VIEW_PADDED) != 0;

    if (dlpark_view_numel(view) == 0)
        return DLPARK_OK;
    if (dlpark_view_is_compact(view) && !is_padded && !DLPARK__IS_BIG_ENDIAN)
        return file_write_place(writer, part, offset, view->data, (size_t)dlpark_view_nbytes(view), false, err);
    return file_write_strided(writer, part, view, offset, err);
}

dlpark_status dlpark_file_writer_put(dlpark_file_writer *writer, size_t index, const dlpark_view *view,
                                     dlpark_error *err)
{
    DLPARK_TRY(dlpark__file_writer_check_index(writer, index, err));
    dlpark__file_writer_part *part = &writer->parts[index];
    DLPARK_TRY(file_write_check(part, view, err));
    if (view->ndim != part->ndim || memcmp(view->shape, part->shape, (size_t)part->ndim * sizeof *part->shape) != 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "tensor '%s' was declared as %s, and is %s", part->name.text,
                                dlpark__layout_list(part->ndim, part->shape).text,
                                dlpark__layout_list(view->ndim, view->shape).text);
    return file_write_elements(writer, part, view, 0, err);
}

dlpark_status dlpark_file_writer_put_range(dlpark_file_writer *writer, size_t index, int64_t first,
                                           const dlpark_view *view, dlpark_error *err)
{
    DLPARK_TRY(dlpark__file_writer_check_index(writer, index, err));
    dlpark__file_writer_part *part = &writer->parts[index];
    DLPARK_TRY(file_write_check(part, view, err));
    uint64_t numel = 1, count = (uint64_t)dlpark_view_numel(view);
    uint64_t bits = (uint64_t)part->dtype.bits * part->dtype.lanes;
    for (int32_t i = 0; i < part->ndim; i++)
        numel *= (uint64_t)part->shape[i];
    if (first < 0 || (uint64_t)first > numel || count > numel - (uint64_t)first)
        return dlpark_error_set(err, DLPARK_E_INDEX, "%llu elements from %lld on: tensor '%s' has %llu",
                                (unsigned long long)count, (long long)first, part->name.text,
                                (unsigned long long)numel);
    if ((uint64_t)first % 8 * bits % 8 != 0 || ((uint64_t)first + count) % 8 * bits % 8 != 0)
        return dlpark_error_set(err, DLPARK_E_LAYOUT, "elements %lld to %llu of tensor '%s' are not whole bytes",
                                (long long)first, (unsigned long long)((uint64_t)first + count), part->name.text);
    return file_write_elements(writer, part, view, (uint64_t)first / 8 * bits + (uint64_t)first % 8 * bits / 8, err);
}

dlpark_status dlpark_file_writer_put_bytes(dlpark_file_writer *writer, size_t index, uint64_t offset, const void *bytes,
                                           size_t nbytes, dlpark_error *err)
{
    DLPARK_TRY(dlpark__file_writer_check_index(writer, index, err));
    dlpark__file_writer_part *part = &writer->parts[index];
    if (offset > part->place.nbytes || nbytes > part->place.nbytes - offset)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "bytes %llu to %llu of tensor '%s': it has %llu",
                                (unsigned long long)offset, (unsigned long long)offset + nbytes, part->name.text,
                                (unsigned long long)part->place.nbytes);
    return file_write_place(writer, part, offset, dlpark__unconst(bytes), nbytes, false, err);
}

/* ---- End ---- */

void dlpark_file_writer_release(dlpark_file_writer **writer)
{
    if (writer == NULL || *writer == NULL)
        return;
    dlpark__replace_abandon(&(*writer)->file);
    free((*writer)->parts);
    free((*writer)->extents);
    free((*writer)->sums);
    dlpark__write_plan_end(&(*writer)->plan);
    free(*writer);
    *writer = NULL;
}

static dlpark_status file_write_check_whole(dlpark_file_writer *writer, dlpark_error *err)
{
    for (size_t i = 0; i < writer->count; i++) {
        dlpark__file_writer_part *part = &writer->parts[i];
        unsigned long long put = atomic_load_explicit(&part->nbytes_put, memory_order_acquire);
        if (put != part->place.nbytes)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "tensor '%s' was given %llu of its %llu bytes",
                                    part->name.text, put, (unsigned long long)part->place.nbytes);
    }
    return DLPARK_OK;
}

dlpark_status dlpark_file_writer_finish(dlpark_file_writer **writer, dlpark_error *err)
{
    const dlpark__write_plan *plan = &(*writer)->plan;
    dlpark_status status = file_write_check_whole(*writer, err);

    if (status == DLPARK_OK && plan->finish != NULL)
        status = plan->finish(plan->state, (*writer)->sums, &(*writer)->file, err);
    if (status == DLPARK_OK)
        status = dlpark__replace_commit(&(*writer)->file, (*writer)->sync, err);
    dlpark_file_writer_release(writer);
    return status;
}

dlpark_status dlpark_file_save(const char *path, const dlpark_file_part *parts, size_t count,
                               const dlpark_file_write_options *options, dlpark_error *err)
{
    dlpark_file_writer *writer = NULL;

    for (size_t i = 0; i < count; i++)
        if (parts[i].view == NULL)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "tensor '%s' has no view",
                                    dlpark__write_name(&parts[i]).text);
    DLPARK_TRY(dlpark_file_writer_open(&writer, path, parts, count, options, err));
    for (size_t i = 0; i < count; i++) {
        dlpark_status status = dlpark_file_writer_put(writer, i, parts[i].view, err);
        if (status != DLPARK_OK) {
            dlpark_file_writer_release(&writer);
            return status;
        }
    }
    return dlpark_file_writer_finish(&writer, err);
}
