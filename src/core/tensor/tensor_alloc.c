/*
 * alloc: header, extra bytes and data in one piece of memory.
 */
#include <stdlib.h>

#include "tensor_parts.h"

#define ALLOC_ALIGNMENT ((size_t)64)

dlpark_status dlpark__alloc_check_fields(const dlpark_tensor_desc *desc, dlpark_error *err)
{
    const char *field = desc->data != NULL || desc->data_const != NULL                   ? "data"
                        : desc->byte_offset != 0                                         ? "byte_offset"
                        : desc->strides.values != NULL || desc->strides_borrowed != NULL ? "strides"
                        : desc->owner != NULL                                            ? "owner"
                        : desc->release != NULL                                          ? "release"
                        : desc->storage != NULL                                          ? "storage"
                                                                                         : NULL;
    if (field != NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is given, and alloc makes its own", field);
    if ((desc->flags & ~DLPARK_TENSOR_PADDED) != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "flags is 0x%llx, and alloc takes PADDED only: what it makes is writable, and says "
                                "IS_COPIED by itself",
                                (unsigned long long)desc->flags);
    return DLPARK_OK;
}

static dlpark_status alloc_check(const dlpark_tensor_desc *desc, dlpark_error *err)
{
    DLPARK_TRY(dlpark__alloc_check_fields(desc, err));
    if (!dlpark__device_is_usual(desc->device))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "alloc makes host memory, not %s",
                                dlpark_device_name(desc->device).text);
    return DLPARK_OK;
}

/* The bytes that the elements of a description take. */
static dlpark_status alloc_nbytes(const dlpark_tensor_desc *desc, int64_t *nbytes, dlpark_error *err)
{
    int64_t scratch[DLPARK_MAX_NDIM];
    const int64_t *shape = desc->shape_borrowed;
    DLTensor head;
    int64_t numel;

    DLPARK_TRY(dlpark__desc_read_head(desc, &head, err));
    if (shape == NULL && desc->ndim > 0) {
        DLPARK_TRY(dlpark__desc_read_dims(&desc->shape, desc->ndim, scratch, "shape", err));
        shape = scratch;
    }
    DLPARK_TRY(dlpark_layout_numel(desc->ndim, shape, &numel, err));
    return dlpark_layout_nbytes(desc->dtype, (desc->flags & DLPARK_TENSOR_PADDED) != 0, numel, nbytes, err);
}

/* A piece of memory for a tensor, and what ends it. The header lies in it as in a caller's storage. */
typedef struct alloc_piece {
    void *owner;
    void (*release)(void *owner);
    unsigned char *header;
    size_t header_nbytes; /* up to the data */
} alloc_piece;

/* What the heap gives, or a caller's allocator; `nbytes` and what stands before them. */
static dlpark_status alloc_get_memory(const dlpark_allocator *allocator, size_t nbytes, size_t alignment,
                                      alloc_piece *piece, dlpark_error *err)
{
    dlpark__hook *hook = NULL;

    if (allocator != NULL) {
        DLPARK_TRY(dlpark__hook_new(allocator, nbytes - sizeof *hook, alignment, &hook, err));
        piece->owner = hook;
        piece->release = dlpark__hook_end;
        piece->header = (unsigned char *)(hook + 1);
        return DLPARK_OK;
    }
    piece->owner = dlpark__memory_get_large(nbytes, alignment);
    piece->release = free;
    piece->header = piece->owner;
    if (piece->owner == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a tensor of %zu bytes, its header included",
                                nbytes);
    return DLPARK_OK;
}

static dlpark_status alloc_get_piece(const dlpark_tensor_desc *desc, uint64_t nbytes, alloc_piece *piece,
                                     dlpark_error *err)
{
    size_t alignment = desc->alignment_bytes > ALLOC_ALIGNMENT ? desc->alignment_bytes : ALLOC_ALIGNMENT;
    size_t hook_nbytes = desc->allocator != NULL ? sizeof(dlpark__hook) : 0;
    /* Below 2^32 before it is rounded up, so that this cannot wrap. */
    uint64_t before = hook_nbytes + DLPARK_TENSOR_STORAGE_NBYTES(desc->ndim) + (uint64_t)desc->extra_nbytes;
    size_t total;

    before = (before + (alignment - 1)) & ~((uint64_t)alignment - 1);
    if (__builtin_add_overflow(before, nbytes, &total)) /* GCOVR_EXCL_BR_LINE: only where a size_t has 32 bits */
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a tensor of %llu bytes",
                                (unsigned long long)nbytes);
    piece->header_nbytes = (size_t)before - hook_nbytes;
    return alloc_get_memory(desc->allocator, total, alignment, piece, err);
}

/* In the words of the general way, with about as many bytes. */
static DLPARK_COLD dlpark_status alloc_refuse_usual(const dlpark_tensor_desc *desc, dlpark_error *err)
{
    int64_t nbytes;

    DLPARK_TRY(alloc_nbytes(desc, &nbytes, err)); /* GCOVR_EXCL_BR_LINE: they have been counted by now */
    return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a tensor of %llu bytes, its header included",
                            DLPARK_TENSOR_STORAGE_NBYTES(desc->ndim) + (unsigned long long)nbytes);
}

/* Whether a description has only what nearly all have. */
static bool alloc_is_usual(const dlpark_tensor *tensor, const dlpark_tensor_desc *desc)
{
    return tensor != NULL && tensor->managed == NULL && desc != NULL && dlpark__tensor_desc_is_usual(desc) &&
           desc->data == NULL && desc->strides.values == NULL && desc->owner == NULL && desc->release == NULL &&
           desc->storage == NULL;
}

static dlpark_status alloc_general(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, dlpark_view *view,
                                   dlpark_error *err)
{
    alloc_piece piece = {NULL, NULL, NULL, 0};
    int64_t nbytes;

    DLPARK_TRY(dlpark__desc_check(tensor, desc, err));
    DLPARK_TRY(alloc_check(desc, err));
    DLPARK_TRY(alloc_nbytes(desc, &nbytes, err));
    DLPARK_TRY(alloc_get_piece(desc, (uint64_t)nbytes, &piece, err));

    dlpark_tensor_desc made = *desc;
    made.data = piece.header + piece.header_nbytes;
    made.flags |= DLPARK_TENSOR_CLAIM_COPIED;
    made.storage = piece.header;
    made.storage_nbytes = piece.header_nbytes;
    made.allocator = NULL;
    made.owner = piece.owner;
    made.release = piece.release;
    dlpark_status status = dlpark_tensor_new_sized(tensor, &made, sizeof made, view, err);
    if (status != DLPARK_OK) /* GCOVR_EXCL_BR_LINE: all that new could refuse has been checked by now */
        piece.release(piece.owner);
    return status;
}

static dlpark_status alloc_tensor(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, dlpark_view *view,
                                  dlpark_error *err)
{
    dlpark__tensor_made made = {NULL, DLPARK_OK};

    if (DLPARK_LIKELY(alloc_is_usual(tensor, desc)))
        made = dlpark__tensor_alloc_heap(dlpark__tensor_kind(desc->dtype, desc->ndim), desc->shape.values);
    if (DLPARK_UNLIKELY(made.status != DLPARK_OK))
        return alloc_refuse_usual(desc, err);
    if (made.managed == NULL)
        return alloc_general(tensor, desc, view, err);
    tensor->managed = made.managed;
    if (view != NULL)
        dlpark_tensor_view(tensor, view);
    return DLPARK_OK;
}

dlpark_status dlpark_tensor_alloc_sized(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                        dlpark_view *view, dlpark_error *err)
{
    return dlpark__desc_make(alloc_tensor, tensor, desc, desc_nbytes, view, err);
}
