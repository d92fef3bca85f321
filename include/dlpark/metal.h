/**
 * Buffers of Metal as tensors, and the host's view of the same memory, over one owner.
 *
 *     dlpark_metal metal = DLPARK_METAL_EMPTY;
 *     DLPARK_TRY(dlpark_metal_open(&metal, NULL, err));                                 // the Objective-C runtime
 *     DLPARK_TRY(dlpark_metal_share(&metal, &tensor, buffer, &(dlpark_tensor_desc){     // an id<MTLBuffer>
 *         .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})}, &view, err));
 *     DLPARK_TRY(dlpark_metal_map(&metal, &host, &tensor, NULL, &seen, err));           // the same bytes, on the CPU
 *
 * What the data of a tensor on metal is, is the object, an id<MTLBuffer>, not its contents; element 0 is `byte_offset` bytes
 * behind its beginning, and views are arithmetic on that. Metal counts the references to a buffer, and keeps it while
 * commands use it: a tensor may be released at any time, on any thread.
 *
 * Nobody waits here. DLPack has no streams for Metal: who reads what a command buffer writes waits until that has completed,
 * by its own means. (PyTorch: torch.mps.synchronize(); MLX: mx.eval().)
 *
 * Nothing of Objective-C is needed to build: what is called is a table of functions, which dlpark_metal_open() fills from the
 * runtime, and anybody else may fill otherwise. Pointers must not be NULL unless a parameter says optional.
 */
#ifndef DLPARK_METAL_H
#define DLPARK_METAL_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"
#include "tensor.h"
#include "tensor_desc.h"
#include "view.h"

DLPARK_BEGIN_C

/** Where the bytes of a buffer are: MTLStorageMode. */
#define DLPARK_METAL_SHARED     UINT64_C(0)
#define DLPARK_METAL_MANAGED    UINT64_C(1) /**< two copies, which the program keeps alike */
#define DLPARK_METAL_PRIVATE    UINT64_C(2)
#define DLPARK_METAL_MEMORYLESS UINT64_C(3)

/** What is asked of a buffer, and its references. All must be safe to call on any thread. */
typedef struct dlpark_metal_functions {
    void (*retain)(void *buffer);           /**< one reference more */
    void (*release)(void *buffer);          /**< one less; the last one ends the buffer */
    void *(*contents)(void *buffer);        /**< where the host finds the bytes; NULL of private memory */
    uint64_t (*length)(void *buffer);       /**< in bytes */
    uint64_t (*storage_mode)(void *buffer); /**< DLPARK_METAL_SHARED and the rest */
} dlpark_metal_functions;

/** The functions, found once and handed to every call. Owns nothing: copy it, forget it. */
typedef struct dlpark_metal {
    const dlpark_metal_functions *functions; /**< NULL: none; must outlive every tensor that is made by them */
} dlpark_metal;

/* clang-format off */
/** None is loaded: what a variable begins as. */
#define DLPARK_METAL_EMPTY {DLPARK_NULL}
/* clang-format on */

/**
 * Finds the Objective-C runtime.
 *
 * @param metal  out. Must be empty; stays so on failure. Needs no closing: the runtime is never unloaded.
 * @param path   in, optional. The library's file. NULL: what the environment variable DLPARK_METAL_LIBRARY names, else
 *               "libobjc.A.dylib", wherever the loader looks: on Apple's systems only.
 * @param err    out, optional. Has the loader's own reason.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL); DLPARK_E_NOT_EMPTY; DLPARK_E_NOT_FOUND (the loader does not find or take it);
 *         DLPARK_E_FOREIGN (a function is missing, or another runtime was opened before).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_metal_open(dlpark_metal *metal, const char *path, dlpark_error *err);

/**
 * A buffer as a view. Valid as long as the buffer.
 *
 * @param metal   in.
 * @param view    out. Unspecified on failure. On metal.
 * @param buffer  in, borrowed. An id<MTLBuffer>. Anything else cannot be told from one.
 * @param desc    in, borrowed until the call returns. dtype, ndim, shape, strides (either form), byte_offset, flags, device
 *                ({0, 0} is metal:0, else metal:N); the other fields must be zero.
 * @param err     out, optional. Names the field with its value.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, `metal` empty, a field that must be zero); DLPARK_E_DEVICE; DLPARK_E_LAYOUT
 *         (elements outside of the buffer, or a buffer without memory of its own); and as dlpark_check().
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_metal_view(const dlpark_metal *metal, dlpark_view *view,
                                                               void *buffer, const dlpark_tensor_desc *desc,
                                                               dlpark_error *err);

/**
 * Adds a reference to a buffer: a tensor that keeps it, and drops the reference in the end.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 * @param buffer  in. As for dlpark_metal_view(); still the caller's.
 * @param view    out, optional. What the tensor is. Unspecified on failure.
 * @return as dlpark_metal_view(), and DLPARK_E_NOT_EMPTY, DLPARK_E_MEMORY. One small allocation.
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_metal_share(const dlpark_metal *metal, dlpark_tensor *tensor,
                                                                void *buffer, const dlpark_tensor_desc *desc,
                                                                dlpark_view *view, dlpark_error *err);

/**
 * The same with a reference of the caller's, which the tensor takes.
 *
 * @param buffer  in, out. *buffer is NULL on success, and still the caller's, unchanged, on failure.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_metal_import(const dlpark_metal *metal, dlpark_tensor *tensor,
                                                                 void **buffer, const dlpark_tensor_desc *desc,
                                                                 dlpark_view *view, dlpark_error *err);

/**
 * The buffer of a view, for a command; element 0 is at view->byte_offset. For tensors of anybody's: Metal is asked how long
 * the buffer is.
 *
 * @param view  in, borrowed. On metal, with elements.
 * @return the buffer, valid as long as the tensor; NULL on failure: DLPARK_E_ARGUMENT (NULL, `metal` empty), DLPARK_E_DEVICE
 *         (on another device), DLPARK_E_SHAPE (no elements, and so no buffer), DLPARK_E_LAYOUT.
 * Threads: any.
 */
DLPARK_API void *dlpark_metal_borrow(const dlpark_metal *metal, const dlpark_view *view, dlpark_error *err);

/**
 * Gives the tensor out as a buffer, with a reference that the caller ends; the tensor itself ends here, as the buffer keeps
 * its memory. Without a copy.
 *
 * @param buffer       out. Must point to NULL; stays so on failure.
 * @param byte_offset  out. From the beginning of the buffer to element 0.
 * @param tensor       in, out. Empty on success, unchanged on failure. On metal, with elements.
 * @return as dlpark_metal_borrow(), and DLPARK_E_NOT_EMPTY.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_metal_export(const dlpark_metal *metal, void **buffer,
                                                              uint64_t *byte_offset, dlpark_tensor *tensor,
                                                              dlpark_error *err);

/**
 * The same memory as a tensor on the CPU, which keeps the one on metal: two tensors over one owner, released in any order.
 *
 * @param host    out. Must be empty; stays so on failure. READ_ONLY where the tensor is.
 * @param tensor  in, out. On metal, in shared memory. Shared, so that `tensor->managed` may change and no longer says IS_COPIED.
 * @param part    in, optional. Any view of the tensor's memory; NULL is the whole.
 * @param view    out, optional. What `host` is. Unspecified on failure.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL or empty tensor, `metal` empty); DLPARK_E_NOT_EMPTY; DLPARK_E_DEVICE (not on metal,
 *         or memory that the host does not see as it is: managed, private, memoryless; a blit would have to copy it);
 *         DLPARK_E_LAYOUT; DLPARK_E_MEMORY.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_metal_map(const dlpark_metal *metal, dlpark_tensor *host,
                                                           dlpark_tensor *tensor, const dlpark_view *part,
                                                           dlpark_view *view, dlpark_error *err);

/** What the inline makers forward to: the size says which fields the caller's header knows. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_metal_view_sized(const dlpark_metal *metal, dlpark_view *view,
                                                                  void *buffer, const dlpark_tensor_desc *desc,
                                                                  size_t desc_nbytes, dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_metal_share_sized(const dlpark_metal *metal, dlpark_tensor *tensor,
                                                                   void *buffer, const dlpark_tensor_desc *desc,
                                                                   size_t desc_nbytes, dlpark_view *view,
                                                                   dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_metal_import_sized(const dlpark_metal *metal, dlpark_tensor *tensor,
                                                                    void **buffer, const dlpark_tensor_desc *desc,
                                                                    size_t desc_nbytes, dlpark_view *view,
                                                                    dlpark_error *err);

DLPARK_INLINE dlpark_status dlpark_metal_view(const dlpark_metal *metal, dlpark_view *view, void *buffer,
                                              const dlpark_tensor_desc *desc, dlpark_error *err)
{
    return dlpark_metal_view_sized(metal, view, buffer, desc, sizeof *desc, err);
}

DLPARK_INLINE dlpark_status dlpark_metal_share(const dlpark_metal *metal, dlpark_tensor *tensor, void *buffer,
                                               const dlpark_tensor_desc *desc, dlpark_view *view, dlpark_error *err)
{
    return dlpark_metal_share_sized(metal, tensor, buffer, desc, sizeof *desc, view, err);
}

DLPARK_INLINE dlpark_status dlpark_metal_import(const dlpark_metal *metal, dlpark_tensor *tensor, void **buffer,
                                                const dlpark_tensor_desc *desc, dlpark_view *view, dlpark_error *err)
{
    return dlpark_metal_import_sized(metal, tensor, buffer, desc, sizeof *desc, view, err);
}

DLPARK_END_C

#endif
