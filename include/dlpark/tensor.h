/**
 * The owner: one pointer to a tensor that it ends exactly once.
 *
 *     dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
 *     dlpark_view view;
 *     DLPARK_TRY(dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
 *         .data = values, .dtype = DLPARK_I32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3}),
 *         .owner = values, .release = free}, &view, err));
 *     DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);   // tensor is empty; the receiver ends it
 *
 * The words: *new* and *alloc* make, *import* takes a foreign tensor, *share* adds an owner, *export* gives ours out,
 * *release* ends. Makers
 * want an empty output and leave it empty on failure; what they take from the caller they take only on success.
 * What an owner holds always has strides (above rank 0) and a deleter, no byte offset where addresses can be added, NULL data when
 * there are no elements, and has passed dlpark_check(). So export moves a pointer and cannot fail.
 * One variable belongs to one thread at a time; the tensor may be released on any thread.
 * Pointers must not be NULL unless a parameter says optional, or a status is listed for it; release accepts NULL.
 */
#ifndef DLPARK_TENSOR_H
#define DLPARK_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "dlpack.h"
#include "dtype.h"
#include "layout.h"
#include "status.h"
#include "tensor_desc.h"
#include "view.h"

DLPARK_BEGIN_C

/** An owner. `managed` is NULL when it is empty; it may be read, and is changed only by the functions below. */
typedef struct dlpark_tensor {
    DLManagedTensorVersioned *managed;
} dlpark_tensor;

/** Holds nothing: what a variable begins as, and what makers want. */
#define DLPARK_TENSOR_EMPTY                                                                                            \
    {                                                                                                                  \
        NULL                                                                                                           \
    }

/**
 * Wraps memory of the caller's as a tensor, with one allocation for header, shape, strides and extra bytes, or none
 * when `storage` is given.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 * @param desc    in, borrowed until the call returns.
 * @param view    out, optional. What the tensor is. Unspecified on failure.
 * @param err     out, optional. Names the field with its value.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (contradicting fields, storage too small or misaligned);
 *         DLPARK_E_ALIGNMENT (data, where alignment_bytes asks for more); DLPARK_E_MEMORY; and as dlpark_check().
 * Ownership: takes `owner` on success; on failure `release` has not been and will not be called.
 * Threads:   any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_tensor_new(dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                                               dlpark_view *view, dlpark_error *err);

/**
 * Allocates memory for a tensor, uninitialised, and owns it. Compact row-major on the CPU, aligned to 64 bytes or to
 * `alignment_bytes`. From 4 MiB on, huge pages are asked for, so that the first touch does not cost more than the work;
 * an `allocator` of the caller's does as it likes.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 * @param desc    in. dtype, ndim, shape or shape_borrowed, flags PADDED, extra_nbytes, allocator, alignment_bytes; the
 *                other fields must be zero.
 * @param view    out, optional.
 * @param err     out, optional.
 * @return as dlpark_tensor_new(). The tensor says IS_COPIED: nobody else sees the memory.
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_tensor_alloc(dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                                                 dlpark_view *view, dlpark_error *err);

/**
 * Takes a tensor from anybody.
 *
 * A conformant one is taken as it is, without an allocation. Anything else that dlpark_check() accepts (no strides, no
 * deleter, a byte offset, data without elements) gets one small wrapper, and its own struct is not written to.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 * @param theirs  in, out. *theirs is NULL on success, and still the caller's, unchanged, on failure: end it with
 *                dlpark_managed_release(), which is all that a foreign major version allows.
 * @param view    out, optional. Without READ_ONLY it may be written.
 * @param err     out, optional.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (NULL); DLPARK_E_VERSION; DLPARK_E_MEMORY; and as
 *         dlpark_check().
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_tensor_import(dlpark_tensor *tensor, DLManagedTensorVersioned **theirs,
                                                               dlpark_view *view, dlpark_error *err);

/**
 * The same for the legacy ABI, with one wrapper; but a tensor that this library gave out by dlpark_tensor_export_legacy()
 * is taken back itself, and what that lost stays lost.
 *
 * The view says UNKNOWN_WRITE: nobody said that the memory may be written. DLPack has no flag for this, so the struct says
 * READ_ONLY to whoever receives it from dlpark_tensor_export(); a dlpark_tensor_import() by this library restores
 * UNKNOWN_WRITE. dlpark_view_allow_write() changes the view alone, and dlpark_tensor_share() of that view makes an owner
 * which says so to everybody.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_tensor_import_legacy(dlpark_tensor *tensor, DLManagedTensor **theirs,
                                                                      dlpark_view *view, dlpark_error *err);

/**
 * Adds an owner: `part` keeps the memory alive as `tensor` does, whichever of them ends first, on whatever threads.
 * One small allocation; the first share of a foreign tensor takes a second, for the count.
 *
 * @param part    out. Must be empty; stays so on failure. May be shared again, exported, and ended like any tensor.
 * @param tensor  in, out. Not empty. Its memory, layout and views stay; it no longer says IS_COPIED, since it is no sole
 *                owner any more. `tensor->managed` may change.
 * @param view    in, optional. The part: any view of the tensor's memory, checked as by dlpark_check(). NULL is the whole.
 * @param err     out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, an empty tensor, or a view outside its memory); DLPARK_E_NOT_EMPTY;
 *         DLPARK_E_LAYOUT (a view that begins inside a byte, which DLPack cannot express); DLPARK_E_MEMORY; and as
 *         dlpark_check().
 * Ownership: `part` is READ_ONLY if the tensor or the view is. A view of UNKNOWN_WRITE makes a part of it; one that
 *            dlpark_view_allow_write() allowed makes a part that may be written.
 * Threads:   tensors that share memory may be used on different threads, each by one at a time.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_tensor_share(dlpark_tensor *part, dlpark_tensor *tensor,
                                                              const dlpark_view *view, dlpark_error *err);

/**
 * The view of a tensor. Cannot fail: a tensor is checked when it is made. Of an empty tensor: rank 1, no elements.
 * Valid until the tensor is released by whoever has it then.
 */
DLPARK_API void dlpark_tensor_view(const dlpark_tensor *tensor, dlpark_view *view);

/**
 * The caller's extra bytes of a tensor that this library made with `extra_nbytes`, aligned as malloc's and valid until
 * it is released. NULL for any other tensor.
 */
DLPARK_API void *dlpark_tensor_extra(const dlpark_tensor *tensor);

/**
 * Gives the tensor out. Only moves a pointer; cannot fail.
 *
 * @param tensor  in, out. Empty afterwards, and may be before.
 * @return what the receiver ends by its `deleter`, once, on any thread; never without a deleter. NULL if empty.
 */
DLPARK_INLINE DLPARK_NODISCARD DLManagedTensorVersioned *dlpark_tensor_export(dlpark_tensor *tensor);

/**
 * Gives the tensor out under the legacy ABI, with one allocation; with none when it comes from dlpark_tensor_share().
 *
 * @param tensor   in, out. Empty on success, unchanged on failure.
 * @param dropped  in. DLPARK_TENSOR_READ_ONLY, DLPARK_TENSOR_PADDED: what may be lost although the tensor has it,
 *                 since a legacy tensor cannot say it. 0 to lose nothing.
 * @param out      out. Must point to NULL; what the receiver ends by its `deleter`. NULL stays on failure.
 * @param err      out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL or empty tensor); DLPARK_E_NOT_EMPTY; DLPARK_E_READ_ONLY;
 *         DLPARK_E_FLAGS (padded sub-byte elements); DLPARK_E_MEMORY.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_tensor_export_legacy(dlpark_tensor *tensor, uint64_t dropped,
                                                                      DLManagedTensor **out, dlpark_error *err);

/**
 * Leaves only the end of life, for a library that keeps pointer and layout itself and has a free callback.
 *
 * @param tensor   in, out. Empty afterwards.
 * @param release  out. Call it once, on any thread, with `context`. For an empty tensor a function that does nothing.
 * @param context  out.
 */
DLPARK_API void dlpark_tensor_export_deleter(dlpark_tensor *tensor, void (**release)(void *context), void **context);

/** Ends the tensor: calls its deleter, once, and empties the variable. Empty or NULL: nothing. Cannot fail. */
DLPARK_INLINE void dlpark_tensor_release(dlpark_tensor *tensor);

/** Ends a managed tensor of anybody's, which may have no deleter, and clears the variable. NULL: nothing. */
DLPARK_INLINE void dlpark_managed_release(DLManagedTensorVersioned **managed);

/** The same for the legacy ABI. */
DLPARK_API void dlpark_managed_release_legacy(DLManagedTensor **managed);

/** What the inline makers forward to: the size says which fields the caller's header knows. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_tensor_new_sized(dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                                                  size_t desc_nbytes, dlpark_view *view,
                                                                  dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_tensor_alloc_sized(dlpark_tensor *tensor,
                                                                    const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                                                    dlpark_view *view, dlpark_error *err);

/* Rank and dtype in one register. */
DLPARK_INLINE uint64_t dlpark__tensor_kind(DLDataType dtype, int32_t ndim);

DLPARK_INLINE uint64_t dlpark__tensor_kind(DLDataType dtype, int32_t ndim)
{
    uint32_t word = DLPARK_CAST(uint32_t, dtype.code) | DLPARK_CAST(uint32_t, dtype.bits) << 8 |
                    DLPARK_CAST(uint32_t, dtype.lanes) << 16;

    return DLPARK_CAST(uint64_t, word) << 32 | DLPARK_CAST(uint32_t, ndim);
}

/* The usual case of new, in registers: data on the CPU, lists of int64_t, a dtype of whole bytes; `kind` is the rank, and
 * from bit 32 on the dtype as code | bits << 8 | lanes << 16. The header on the heap, or in storage that suffices. The
 * result lacks its manager_ctx. NULL, with nothing changed but the storage, when the general way has to look. */
DLPARK_API DLManagedTensorVersioned *dlpark__tensor_new_heap(void *data, uint64_t kind, const int64_t *shape,
                                                             const int64_t *strides, void (*release)(void *owner));
DLPARK_API DLManagedTensorVersioned *dlpark__tensor_new_storage(void *data, uint64_t kind, const int64_t *shape,
                                                                const int64_t *strides, void (*release)(void *owner),
                                                                void *storage);

/* What the general way answers, in registers too. */
typedef struct dlpark__tensor_made {
    DLManagedTensorVersioned *managed;
    dlpark_status status;
} dlpark__tensor_made;

/* The general way from there, so that the usual case need not build the description. */
DLPARK_API DLPARK_COLD dlpark__tensor_made dlpark__tensor_new_unusual(void *data, uint64_t kind, const int64_t *shape,
                                                                      const int64_t *strides, void *owner,
                                                                      void (*release)(void *owner), void *storage,
                                                                      size_t storage_nbytes, dlpark_view *view,
                                                                      dlpark_error *err);

/* The usual case of alloc, in registers as for new: a dtype of whole bytes. The result is complete. Without a tensor and
 * with DLPARK_OK the general way has to look. */
DLPARK_API dlpark__tensor_made dlpark__tensor_alloc_heap(uint64_t kind, const int64_t *shape);

/* A usual description that is written in place never takes shape in memory: zeroing it would cost as much as the rest. */
DLPARK_INLINE dlpark_status dlpark_tensor_new(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, dlpark_view *view,
                                              dlpark_error *err)
{
    if (!tensor || tensor->managed || !desc || !dlpark__tensor_desc_is_plain(desc))
        return dlpark_tensor_new_sized(tensor, desc, sizeof *desc, view, err);

    dlpark__tensor_made made = {DLPARK_NULL, DLPARK_OK};
    bool read_only = desc->data_const || desc->flags != 0;
    void *data = desc->data_const ? DLPARK_POINTER(DLPARK_ADDRESS(desc->data_const)) : desc->data;
    uint64_t kind = dlpark__tensor_kind(desc->dtype, desc->ndim);
    const int64_t *shape = DLPARK_CAST(const int64_t *, desc->shape.values);
    const int64_t *strides = DLPARK_CAST(const int64_t *, desc->strides.values);
    if (!desc->storage)
        made.managed = dlpark__tensor_new_heap(data, kind, shape, strides, desc->release);
    else if (dlpark__tensor_storage_suffices(desc))
        made.managed = dlpark__tensor_new_storage(data, kind, shape, strides, desc->release, desc->storage);
    if (!made.managed && read_only)
        return dlpark_tensor_new_sized(tensor, desc, sizeof *desc, view, err);
    if (!made.managed) {
        made = dlpark__tensor_new_unusual(data, kind, shape, strides, desc->owner, desc->release, desc->storage,
                                          desc->storage_nbytes, view, err);
        tensor->managed = made.managed;
        return made.status;
    }
    if (read_only)
        made.managed->flags = DLPARK_TENSOR_READ_ONLY;
    made.managed->manager_ctx = desc->owner;
    tensor->managed = made.managed;
    if (view)
        dlpark_tensor_view(tensor, view);
    return DLPARK_OK;
}

DLPARK_INLINE dlpark_status dlpark_tensor_alloc(dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                                dlpark_view *view, dlpark_error *err)
{
    return dlpark_tensor_alloc_sized(tensor, desc, sizeof *desc, view, err);
}

DLPARK_INLINE void dlpark_managed_release(DLManagedTensorVersioned **managed)
{
    DLManagedTensorVersioned *ended = managed ? *managed : DLPARK_NULL;
    if (!ended)
        return;
    *managed = DLPARK_NULL;
    if (ended->deleter)
        ended->deleter(ended);
}

DLPARK_INLINE void dlpark_tensor_release(dlpark_tensor *tensor)
{
    if (tensor)
        dlpark_managed_release(&tensor->managed);
}

DLPARK_INLINE DLManagedTensorVersioned *dlpark_tensor_export(dlpark_tensor *tensor)
{
    DLManagedTensorVersioned *managed = tensor->managed;
    tensor->managed = DLPARK_NULL;
    return managed;
}

DLPARK_END_C

#endif
