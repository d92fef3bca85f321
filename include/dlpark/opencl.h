/**
 * Buffers of OpenCL as tensors, and tensors as buffers. The ICD loader is found at run time: nothing is linked, and no
 * header of OpenCL is needed.
 *
 *     dlpark_opencl opencl = DLPARK_OPENCL_EMPTY;
 *     DLPARK_TRY(dlpark_opencl_open(&opencl, NULL, err));                               // libOpenCL.so.1
 *     DLPARK_TRY(dlpark_opencl_import(&opencl, &tensor, &mem, &(dlpark_tensor_desc){    // mem is NULL now
 *         .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})}, &view, err));
 *     DLPARK_TRY(dlpark_opencl_map(&opencl, &host, &tensor, NULL, queue, DLPARK_OPENCL_READ, &view, err));
 *
 * What the data of such a tensor is, is a handle, a cl_mem; element 0 is `byte_offset` bytes behind its beginning. A kernel
 * is given both: sub-buffers begin at multiples of what the device asks for, often 128 bytes, so that few offsets can be
 * turned into a handle of their own. Views are arithmetic on the offset.
 *
 * OpenCL counts the references to a buffer, and frees it only when the commands that use it have finished: so a tensor may
 * be released at any time, on any thread, and there is nothing to wait for. Who reads what another's queue writes has to be
 * ordered behind it: dlpark_opencl_order().
 *
 * The id of a device says little, as OpenCL does not number devices: it is the index among those that the loader lists,
 * platform after platform, and so for the first platform that of clGetDeviceIDs(); 0 for a device that it does not list. Ask
 * the buffer for its context.
 *
 * Pointers must not be NULL unless a parameter says optional, or a status is listed for it.
 */
#ifndef DLPARK_OPENCL_H
#define DLPARK_OPENCL_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"
#include "tensor.h"
#include "tensor_desc.h"
#include "view.h"

/* As CL/cl.h declares them: cl_mem is a struct _cl_mem *, and so on. */
struct _cl_command_queue;
struct _cl_context;
struct _cl_mem;

DLPARK_BEGIN_C

struct dlpark__opencl; /* a loaded loader */

/** A loaded ICD loader, found once and handed to every call. Owns nothing: copy it, forget it; the loader stays loaded. */
typedef struct dlpark_opencl {
    const struct dlpark__opencl *loader; /**< NULL: none is loaded */
    const char *library;                 /**< the file that it was loaded from */
    int32_t platform_count;              /**< implementations that the loader found */
    int32_t device_count; /**< opencl:0 to opencl:(device_count - 1), of all platforms; at most 64 are counted */
} dlpark_opencl;

/* clang-format off */
/** None is loaded: what a variable begins as. */
#define DLPARK_OPENCL_EMPTY {DLPARK_NULL, DLPARK_NULL, 0, 0}
/* clang-format on */

/** What a mapping is for. The numbers are those of CL_MAP_READ, CL_MAP_WRITE and CL_MAP_WRITE_INVALIDATE_REGION. */
#define DLPARK_OPENCL_READ    UINT32_C(0x1) /**< the mapping is READ_ONLY, unless it is for writing as well */
#define DLPARK_OPENCL_WRITE   UINT32_C(0x2) /**< it may be written, and read: the elements are in it */
#define DLPARK_OPENCL_DISCARD UINT32_C(0x4) /**< alone: all will be written, what was there need not be brought */

/**
 * Loads the ICD loader, or finds it where the program has it already, and lists platforms and devices.
 *
 * @param opencl  out. Must be empty; stays so on failure. Needs no closing: the loader is never unloaded.
 * @param path    in, optional. The library's file. NULL: what the environment variable DLPARK_OPENCL_LIBRARY names, else
 *                "libOpenCL.so.1", wherever the dynamic linker looks.
 * @param err     out, optional. Has the linker's or the loader's own reason.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL); DLPARK_E_NOT_EMPTY; DLPARK_E_NOT_FOUND (the linker does not find or take
 *         it); DLPARK_E_DEVICE (a loader without a platform, or platforms without a device); DLPARK_E_FOREIGN (a function
 *         of OpenCL 1.2 is missing, or the loader's own reason); DLPARK_E_MEMORY.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_opencl_open(dlpark_opencl *opencl, const char *path,
                                                             dlpark_error *err);

/**
 * The name of a device, "pthread-skylake-avx512", cut to fit.
 *
 * @param id    in. 0 to opencl->device_count - 1.
 * @param name  out. Not written on failure.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, `opencl` empty); DLPARK_E_DEVICE (no such device); DLPARK_E_FOREIGN.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_opencl_device_name(const dlpark_opencl *opencl, int32_t id,
                                                                    dlpark_name *name, dlpark_error *err);

/* ---- Buffers as tensors ---- */

/**
 * Allocates a buffer for a tensor, uninitialised, and owns it. Compact row-major; kernels may read and write it. Without
 * elements there is no buffer, as OpenCL has none of 0 bytes.
 *
 * @param opencl   in.
 * @param tensor   out. Must be empty; stays so on failure.
 * @param context  in. Where the buffer lies.
 * @param desc     in, borrowed until the call returns. dtype, device, ndim, shape or shape_borrowed, flags PADDED; the
 *                 other fields must be zero. `device` {0, 0} is the first of the context's; else it must be one of them.
 * @param view     out, optional. What the tensor is. Unspecified on failure.
 * @param err      out, optional. Names the field with its value, or the function of OpenCL and its error.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (NULL, `opencl` empty, a field that must be zero);
 *         DLPARK_E_DEVICE; DLPARK_E_MEMORY (the host's or the device's); DLPARK_E_FOREIGN; and as dlpark_check(). The
 *         tensor says IS_COPIED: nobody else sees the memory.
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_opencl_alloc(const dlpark_opencl *opencl, dlpark_tensor *tensor,
                                                                 struct _cl_context *context,
                                                                 const dlpark_tensor_desc *desc, dlpark_view *view,
                                                                 dlpark_error *err);

/**
 * A buffer as a view. Valid as long as the buffer.
 *
 * @param opencl  in.
 * @param view    out. Unspecified on failure. READ_ONLY where kernels may only read the buffer, or `desc` says so.
 * @param mem     in, borrowed. A buffer or a sub-buffer; no image or pipe, and none that kernels may only write.
 * @param desc    in, borrowed until the call returns. dtype, ndim, shape, strides (either form), byte_offset, device,
 *                flags; the other fields must be zero. `device` as for dlpark_opencl_alloc().
 * @param err     out, optional. Names the field with its value, or the function of OpenCL and its error.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, `opencl` empty, no such buffer, a field that must be zero); DLPARK_E_LAYOUT
 *         (elements outside of the buffer); DLPARK_E_DEVICE; DLPARK_E_FOREIGN; and as dlpark_check().
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_opencl_view(const dlpark_opencl *opencl, dlpark_view *view,
                                                                struct _cl_mem *mem, const dlpark_tensor_desc *desc,
                                                                dlpark_error *err);

/**
 * Adds a reference to a buffer: a tensor that keeps it, and drops the reference in the end.
 *
 * @param opencl  in.
 * @param tensor  out. Must be empty; stays so on failure.
 * @param mem     in. As for dlpark_opencl_view(); still the caller's.
 * @param desc    in. As for dlpark_opencl_view().
 * @param view    out, optional. What the tensor is. Unspecified on failure.
 * @param err     out, optional.
 * @return as dlpark_opencl_view(), and DLPARK_E_NOT_EMPTY, DLPARK_E_MEMORY. One small allocation.
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_opencl_share(const dlpark_opencl *opencl, dlpark_tensor *tensor,
                                                                 struct _cl_mem *mem, const dlpark_tensor_desc *desc,
                                                                 dlpark_view *view, dlpark_error *err);

/**
 * The same with a reference of the caller's, which the tensor takes.
 *
 * @param mem  in, out. *mem is NULL on success, and still the caller's, unchanged, on failure.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_opencl_import(const dlpark_opencl *opencl, dlpark_tensor *tensor,
                                                                  struct _cl_mem **mem, const dlpark_tensor_desc *desc,
                                                                  dlpark_view *view, dlpark_error *err);

/* ---- Tensors as buffers ---- */

/**
 * The buffer of a view, for the argument of a kernel; element 0 is at view->byte_offset. For tensors of anybody's: it is
 * OpenCL that is asked how large the buffer is. Whatever else a producer puts there instead of a cl_mem, as TVM does with a
 * struct of its own, cannot be told from one.
 *
 * @param opencl  in.
 * @param view    in, borrowed. On opencl, with elements.
 * @param err     out, optional.
 * @return the cl_mem, valid as long as the tensor; NULL on failure: DLPARK_E_ARGUMENT (NULL, `opencl` empty, no such
 *         buffer), DLPARK_E_DEVICE (on another device), DLPARK_E_SHAPE (no elements, and so no buffer), DLPARK_E_LAYOUT
 *         (elements outside of the buffer), DLPARK_E_FOREIGN.
 * Threads: any.
 */
DLPARK_API struct _cl_mem *dlpark_opencl_borrow(const dlpark_opencl *opencl, const dlpark_view *view,
                                                dlpark_error *err);

/**
 * Gives the tensor out as a buffer, without a copy: the last reference to that ends the tensor, on whatever thread the
 * implementation of OpenCL is on then.
 *
 * A tensor on opencl that is the only one of its buffer, made by alloc, import or share above, is that buffer. Any other is
 * a sub-buffer of its own. It begins at the last multiple of what the devices of its context ask for, so that up to that
 * many bytes before the first element belong to it. A tensor of the host is a buffer over its memory, by
 * CL_MEM_USE_HOST_PTR: on a CPU there is one memory; a GPU may keep the elements in its own, and then host and kernels see
 * each other's writes only when the buffer is mapped and unmapped.
 *
 * @param opencl       in.
 * @param mem          out. Must point to NULL; what the caller ends by clReleaseMemObject(). NULL stays on failure.
 * @param byte_offset  out, optional. From the beginning of the buffer to element 0. NULL: it has to be 0.
 * @param tensor       in, out. Empty on success, unchanged on failure. On opencl or host accessible, with elements. A
 *                     READ_ONLY one becomes a buffer that kernels may only read.
 * @param context      in, optional. Where the buffer lies. A tensor on opencl has one, which it then must be; a tensor of
 *                     the host needs it.
 * @param err          out, optional. Says which offset there would be, and at what multiples buffers begin.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL or empty tensor, `opencl` empty, no context, no such buffer);
 *         DLPARK_E_NOT_EMPTY; DLPARK_E_DEVICE (any other device, or another context); DLPARK_E_SHAPE (no elements);
 *         DLPARK_E_LAYOUT (elements outside of the buffer); DLPARK_E_ALIGNMENT (an offset that is not 0, and nobody asks
 *         for); DLPARK_E_MEMORY; DLPARK_E_FOREIGN.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_opencl_export(const dlpark_opencl *opencl, struct _cl_mem **mem,
                                                               uint64_t *byte_offset, dlpark_tensor *tensor,
                                                               struct _cl_context *context, dlpark_error *err);

/* ---- On the host, and in order ---- */

/**
 * Maps a tensor into the host's memory: a tensor on the CPU whose release unmaps it. It waits until the queue has done
 * what it has been given so far; what the queue is given after the release comes after the unmapping.
 *
 * @param opencl  in.
 * @param mapped  out. Must be empty; stays so on failure. On the CPU, with the strides of the part; READ_ONLY where `access`
 *                is DLPARK_OPENCL_READ alone. It keeps the tensor, and the queue; release it before a kernel is to see
 *                what was written, or to write what was mapped.
 * @param tensor  in, out. On opencl. Shared, so that `tensor->managed` may change and no longer says IS_COPIED.
 * @param part    in, optional. Any view of the tensor's memory; NULL is the whole. The bytes from its first to its last are
 *                mapped.
 * @param queue   in. Of the buffer's context.
 * @param access  in. DLPARK_OPENCL_READ, DLPARK_OPENCL_WRITE, both, or DLPARK_OPENCL_DISCARD, which wants elements without
 *                gaps between them.
 * @param view    out, optional. What is mapped. Unspecified on failure.
 * @param err     out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL or empty tensor, `opencl` empty, another `access`, a view outside of the
 *         tensor); DLPARK_E_NOT_EMPTY; DLPARK_E_DEVICE (not on opencl); DLPARK_E_READ_ONLY (for writing: a tensor that is,
 *         or of which nobody said that it may be written); DLPARK_E_LAYOUT (gaps that would be discarded; elements outside
 *         of the buffer); DLPARK_E_MEMORY; DLPARK_E_FOREIGN.
 * Threads: any; the mapping may be released on any thread.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_opencl_map(const dlpark_opencl *opencl, dlpark_tensor *mapped,
                                                            dlpark_tensor *tensor, const dlpark_view *part,
                                                            struct _cl_command_queue *queue, uint32_t access,
                                                            dlpark_view *view, dlpark_error *err);

/**
 * Makes a consumer's queue wait for what a producer's has been given so far: by a marker there and a barrier here, so that
 * the host does not wait. Events do not cross contexts: where the queues are of two, the host waits until the producer's is
 * done.
 *
 * @param opencl    in.
 * @param producer  in, optional. NULL: it has finished, there is nothing to wait for.
 * @param consumer  in, optional. NULL: the host itself, which waits. The same queue as `producer`: a barrier there.
 * @param err       out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, `opencl` empty); DLPARK_E_MEMORY; DLPARK_E_FOREIGN.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_opencl_order(const dlpark_opencl *opencl,
                                                              struct _cl_command_queue *producer,
                                                              struct _cl_command_queue *consumer, dlpark_error *err);

/** What the inline makers forward to: the size says which fields the caller's header knows. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_opencl_alloc_sized(const dlpark_opencl *opencl, dlpark_tensor *tensor,
                                                                    struct _cl_context *context,
                                                                    const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                                                    dlpark_view *view, dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_opencl_view_sized(const dlpark_opencl *opencl, dlpark_view *view,
                                                                   struct _cl_mem *mem, const dlpark_tensor_desc *desc,
                                                                   size_t desc_nbytes, dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_opencl_share_sized(const dlpark_opencl *opencl, dlpark_tensor *tensor,
                                                                    struct _cl_mem *mem, const dlpark_tensor_desc *desc,
                                                                    size_t desc_nbytes, dlpark_view *view,
                                                                    dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_opencl_import_sized(const dlpark_opencl *opencl, dlpark_tensor *tensor,
                                                                     struct _cl_mem **mem,
                                                                     const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                                                     dlpark_view *view, dlpark_error *err);

DLPARK_INLINE dlpark_status dlpark_opencl_alloc(const dlpark_opencl *opencl, dlpark_tensor *tensor,
                                                struct _cl_context *context, const dlpark_tensor_desc *desc,
                                                dlpark_view *view, dlpark_error *err)
{
    return dlpark_opencl_alloc_sized(opencl, tensor, context, desc, sizeof *desc, view, err);
}

DLPARK_INLINE dlpark_status dlpark_opencl_view(const dlpark_opencl *opencl, dlpark_view *view, struct _cl_mem *mem,
                                               const dlpark_tensor_desc *desc, dlpark_error *err)
{
    return dlpark_opencl_view_sized(opencl, view, mem, desc, sizeof *desc, err);
}

DLPARK_INLINE dlpark_status dlpark_opencl_share(const dlpark_opencl *opencl, dlpark_tensor *tensor, struct _cl_mem *mem,
                                                const dlpark_tensor_desc *desc, dlpark_view *view, dlpark_error *err)
{
    return dlpark_opencl_share_sized(opencl, tensor, mem, desc, sizeof *desc, view, err);
}

DLPARK_INLINE dlpark_status dlpark_opencl_import(const dlpark_opencl *opencl, dlpark_tensor *tensor,
                                                 struct _cl_mem **mem, const dlpark_tensor_desc *desc,
                                                 dlpark_view *view, dlpark_error *err)
{
    return dlpark_opencl_import_sized(opencl, tensor, mem, desc, sizeof *desc, view, err);
}

DLPARK_END_C

#endif
