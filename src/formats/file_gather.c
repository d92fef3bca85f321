/*
 * A column-major tensor in row-major order, of which neighbours lie far apart in the file. A tensor of some size is read
 * whole and its elements are picked; of a larger one what lies together is read, a tile at a time, and strewn.
 */
#include <stdlib.h>
#include <string.h>

#include "../core/internal.h"
#include "format.h"

/* Tensors up to so many bytes are read whole, however few of their elements are asked for. */
#define GATHER_WHOLE_NBYTES ((uint64_t)16 << 20)

/* Of larger ones so many at a time. */
#define GATHER_TILE_NBYTES ((int64_t)1 << 20)

/* What is no farther apart is read in one call: copying the gap takes no longer than another call. */
#define GATHER_NEAR_NBYTES ((int64_t)8 << 10)

typedef struct file_gather {
    const dlpark_file *file;
    const dlpark_file_entry *entry;
    int64_t strides[DLPARK_MAX_NDIM]; /* in the file */
    int64_t item;                     /* bytes of an element */
    unsigned char *memory;
    bool is_whole; /* all of the tensor is in it */
} file_gather;

/* Some of the tensor: neighbours in each dimension. They go to `to`, compact. */
typedef struct gather_box {
    int64_t begin[DLPARK_MAX_NDIM];
    int64_t count[DLPARK_MAX_NDIM];
    int64_t strides[DLPARK_MAX_NDIM]; /* at `to` */
    unsigned char *to;
} gather_box;

void dlpark__file_column_strides(const dlpark_file_entry *entry, int64_t *strides)
{
    int64_t stride = 1;

    for (int32_t i = 0; i < entry->ndim; i++) {
        strides[i] = stride;
        stride *= entry->shape[i];
    }
}

/* ---- Elements ---- */

static dlpark_view gather_view(const file_gather *gather, unsigned char *data, const int64_t *shape,
                               const int64_t *strides)
{
    dlpark_view view = {.data = data, .device = {kDLCPU, 0}, .dtype = gather->entry->dtype};

    view.ndim = gather->entry->ndim;
    memcpy(view.shape, shape, (size_t)view.ndim * sizeof *shape);
    memcpy(view.strides, strides, (size_t)view.ndim * sizeof *strides);
    return view;
}

static int64_t gather_offset(const file_gather *gather, const int64_t *index, const int64_t *strides)
{
    int64_t offset = 0;

    for (int32_t i = 0; i < gather->entry->ndim; i++)
        offset += index[i] * strides[i];
    return offset * gather->item;
}

/* Out of the whole. */
static dlpark_status gather_pick(const file_gather *gather, const gather_box *box, dlpark_error *err)
{
    unsigned char *at = gather->memory + gather_offset(gather, box->begin, gather->strides);
    dlpark_view from = gather_view(gather, at, box->count, gather->strides);
    dlpark_view to = gather_view(gather, box->to, box->count, box->strides);

    return dlpark_copy(&to, &from, err);
}

/* The dimension of which a tile has some, and of those before it all that the box has. Those that are whole lie together;
 * beyond them, what is near is read with the gaps between. There is always such a dimension, as the tensor does not fit. */
static int32_t gather_outer(const file_gather *gather, const gather_box *box)
{
    const dlpark_file_entry *entry = gather->entry;
    int64_t room = GATHER_TILE_NBYTES / gather->item, near = GATHER_NEAR_NBYTES / gather->item;
    int32_t outer = 0;

    while (box->count[outer] == entry->shape[outer] && box->count[outer] <= room / gather->strides[outer])
        outer++;
    while (outer + 1 < entry->ndim && gather->strides[outer + 1] <= near)
        outer++;
    return outer;
}

/* The place of the next tile in the box; false behind the last. */
static bool gather_next(const file_gather *gather, const gather_box *box, int64_t *index, int32_t outer, int64_t count)
{
    for (int32_t i = outer; i < gather->entry->ndim; i++) {
        index[i] += i == outer ? count : 1;
        if (index[i] < box->count[i])
            return true;
        index[i] = 0;
    }
    return false;
}

/* Reads a tile, from its first element to its last, and puts its elements where they belong. */
static dlpark_status gather_tile(const file_gather *gather, const gather_box *box, const int64_t *index,
                                 const int64_t *shape, dlpark_error *err)
{
    int64_t begin = gather_offset(gather, box->begin, gather->strides) + gather_offset(gather, index, gather->strides);
    int64_t nbytes = gather->item;
    unsigned char *at = box->to + gather_offset(gather, index, box->strides);
    dlpark_view from = gather_view(gather, gather->memory, shape, gather->strides);
    dlpark_view to = gather_view(gather, at, shape, box->strides);

    for (int32_t i = 0; i < gather->entry->ndim; i++)
        nbytes += (shape[i] - 1) * gather->strides[i] * gather->item;
    DLPARK_TRY(
        dlpark__file_read_bytes(gather->file, gather->entry, (uint64_t)begin, gather->memory, (uint64_t)nbytes, err));
    return dlpark_copy(&to, &from, err);
}

static dlpark_status gather_strew(const file_gather *gather, const gather_box *box, dlpark_error *err)
{
    int64_t index[DLPARK_MAX_NDIM] = {0}, shape[DLPARK_MAX_NDIM];
    int32_t outer = gather_outer(gather, box);
    int64_t most = GATHER_TILE_NBYTES / gather->item / gather->strides[outer];
    dlpark_status status;

    for (int32_t i = 0; i < gather->entry->ndim; i++)
        shape[i] = i < outer ? box->count[i] : 1;
    do {
        int64_t left = box->count[outer] - index[outer];
        shape[outer] = left < most ? left : most;
        status = gather_tile(gather, box, index, shape, err);
    } while (status == DLPARK_OK && gather_next(gather, box, index, outer, shape[outer]));
    return status;
}

/* ---- Boxes ---- */

/* The largest box that begins at an element, in row-major order, and ends before another: its number of elements. */
static int64_t gather_cut(const file_gather *gather, int64_t at, int64_t end, gather_box *box)
{
    const int64_t *shape = gather->entry->shape;
    int32_t dim = gather->entry->ndim - 1;
    int64_t block = 1, stride = 1;

    for (; dim > 0 && at / block % shape[dim] == 0 && shape[dim] <= (end - at) / block; dim--) {
        box->begin[dim] = 0;
        box->count[dim] = shape[dim];
        block *= shape[dim];
    }
    int64_t rest = at / block, most = shape[dim] - rest % shape[dim];
    for (int32_t i = dim; i >= 0; i--) {
        box->begin[i] = rest % shape[i];
        box->count[i] = 1;
        rest /= shape[i];
    }
    box->count[dim] = (end - at) / block < most ? (end - at) / block : most;
    for (int32_t i = gather->entry->ndim - 1; i >= 0; i--) {
        box->strides[i] = stride;
        stride *= box->count[i];
    }
    return box->count[dim] * block;
}

static dlpark_status gather_boxes(const file_gather *gather, int64_t first, int64_t count, unsigned char *to,
                                  dlpark_error *err)
{
    dlpark_status status = DLPARK_OK;
    gather_box box;

    for (int64_t at = first; at < first + count && status == DLPARK_OK;) {
        box.to = to + (at - first) * gather->item;
        at += gather_cut(gather, at, first + count, &box);
        status = gather->is_whole ? gather_pick(gather, &box, err) : gather_strew(gather, &box, err);
    }
    return status;
}

dlpark_status dlpark__file_gather(const dlpark_file *file, const dlpark_file_entry *entry, uint64_t first,
                                  uint64_t count, unsigned char *to, dlpark_error *err)
{
    file_gather gather = {.file = file, .entry = entry, .item = entry->dtype.bits / 8 * entry->dtype.lanes};
    dlpark_status status = DLPARK_OK;

    if (count == 0)
        return DLPARK_OK;
    gather.is_whole = entry->nbytes <= GATHER_WHOLE_NBYTES || (entry->flags & DLPARK_FILE_COMPRESSED) != 0;
    uint64_t room = gather.is_whole ? entry->nbytes : (uint64_t)GATHER_TILE_NBYTES;
    if (room <= SIZE_MAX / 2) /* GCOVR_EXCL_BR_LINE: only where a size_t has 32 bits */
        gather.memory = malloc((size_t)room);
    if (gather.memory == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for %llu bytes of tensor '%s'",
                                file->source->name.text, (unsigned long long)room,
                                dlpark_file_name_text(entry->name, entry->name_nbytes).text);
    dlpark__file_column_strides(entry, gather.strides);
    if (gather.is_whole)
        status = dlpark__file_read_bytes(file, entry, 0, gather.memory, room, err);
    if (status == DLPARK_OK)
        status = gather_boxes(&gather, (int64_t)first, (int64_t)count, to, err);
    free(gather.memory);
    return status;
}
