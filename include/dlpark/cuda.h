/**
 * Memory of CUDA devices as tensors. The driver is found at run time: nothing is linked, and no header of CUDA is needed.
 *
 *     dlpark_cuda cuda = DLPARK_CUDA_EMPTY;
 *     DLPARK_TRY(dlpark_cuda_open(&cuda, NULL, err));                                  // libcuda.so.1
 *     DLPARK_TRY(dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){              // on cuda:0
 *         .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})}, NULL, &view, err));
 *     launch_kernel(view.data, stream);
 *     DLPARK_TRY(dlpark_cuda_export(&cuda, &managed, &tensor, dlpark_cuda_stream(stream), consumer, err));
 *
 * Views of such tensors are arithmetic on addresses, as everywhere. A stream is a dlpark_stream: unsaid, it is the legacy
 * default stream; its handle is a CUstream, which the runtime calls cudaStream_t.
 *
 * Every call works in the device's primary context, which is the one of the CUDA runtime, PyTorch and CuPy. It is retained
 * at the first use of the device and kept as long as the process; the caller's current context is as before when a call
 * returns. Tensors may be released on any thread, with any context current or none, and after the driver has shut down.
 * After fork() a driver does not work in the child: every call says so there, and a tensor that ends there leaves the
 * device's memory to the parent.
 * Pointers must not be NULL unless a parameter says optional, or a status is listed for it.
 */
#ifndef DLPARK_CUDA_H
#define DLPARK_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu.h"
#include "status.h"
#include "stream.h"
#include "tensor.h"
#include "view.h"

DLPARK_BEGIN_C

struct dlpark__gpu; /* a loaded driver */

/** A loaded driver, found once and handed to every call. Owns nothing: copy it, forget it; the driver stays loaded. */
typedef struct dlpark_cuda {
    struct dlpark__gpu *driver; /**< NULL: none is loaded */
    const char *library;        /**< the file that it was loaded from */
    int32_t version;            /**< as cuDriverGetVersion() says it: 13000 is CUDA 13.0 */
    int32_t device_count;       /**< cuda:0 to cuda:(device_count - 1), as CUDA_VISIBLE_DEVICES numbers them */
} dlpark_cuda;

/* clang-format off */
/** None is loaded: what a variable begins as. */
#define DLPARK_CUDA_EMPTY {DLPARK_NULL, DLPARK_NULL, 0, 0}
/* clang-format on */

/** The least `version` that is taken: 11.0. */
#define DLPARK_CUDA_VERSION_LEAST 11000

/**
 * Loads the CUDA driver, or finds it where the program has it already. Makes no context.
 *
 * @param cuda  out. Must be empty; stays so on failure. Needs no closing: the driver is never unloaded.
 * @param path  in, optional. The library's file. NULL: what the environment variable DLPARK_CUDA_LIBRARY names, else
 *              "libcuda.so.1", wherever the loader looks; not "libcuda.so", which may be the toolkit's stub.
 * @param err   out, optional. Has the loader's or the driver's own reason.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL); DLPARK_E_NOT_EMPTY; DLPARK_E_NOT_FOUND (the loader does not find or take
 *         it, or it is the toolkit's stub: there is no driver); DLPARK_E_DEVICE (a driver without a device);
 *         DLPARK_E_FOREIGN (too old, a function is missing, or the driver's own reason); DLPARK_E_MEMORY.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_open(dlpark_cuda *cuda, const char *path, dlpark_error *err);

/** A CUstream or cudaStream_t as a dlpark_stream; NULL is the legacy default stream. */
DLPARK_INLINE dlpark_stream dlpark_cuda_stream(void *handle);

/**
 * Allocates memory for a tensor, uninitialised, and owns it. Compact row-major, at a multiple of 256 bytes at least.
 * Without elements nothing is allocated and no call of the driver is made.
 *
 * @param cuda     in.
 * @param tensor   out. Must be empty; stays so on failure.
 * @param desc     in, borrowed until the call returns. dtype, device, ndim, shape or shape_borrowed, flags PADDED,
 *                 extra_nbytes, alignment_bytes; the other fields must be zero. `device` says what memory: {0, 0} or
 *                 cuda:N is the device's, cuda_managed may be used by all devices and the host, cuda_host is page-locked
 *                 memory of the host. The id is the device whose context is used, and the tensor's own is 0 where DLPack
 *                 wants 0.
 * @param options  in, optional. NULL: plain memory, released by waiting. A stream that is said: from the pool, where the
 *                 device has one.
 * @param view     out, optional. What the tensor is. Unspecified on failure.
 * @param err      out, optional. Names the field with its value, or the driver's function and its reason.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (NULL, `cuda` empty, contradicting fields); DLPARK_E_DEVICE
 *         (not of CUDA, or there is no such device); DLPARK_E_MEMORY (the host's or the device's); DLPARK_E_FOREIGN; and as
 *         dlpark_check(). The tensor says IS_COPIED: nobody else sees the memory.
 * Ownership: at the end by options->release.
 * Threads:   any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_cuda_alloc(const dlpark_cuda *cuda, dlpark_tensor *tensor,
                                                               const dlpark_tensor_desc *desc,
                                                               const dlpark_gpu_options *options, dlpark_view *view,
                                                               dlpark_error *err);

/**
 * Takes memory that is there already. The driver is asked which device it is of, and how far it reaches.
 *
 * @param cuda     in.
 * @param tensor   out. Must be empty; stays so on failure.
 * @param desc     in, borrowed until the call returns. As of dlpark_tensor_new(), without storage and allocator. `device`
 *                 {0, 0}: as the driver says; anything else must be what it says, but that the id of managed and
 *                 page-locked memory may be 0 or the device's. `release` ends `owner` in the end; NULL: the driver frees
 *                 the memory, of which `data` then must be the beginning.
 * @param options  in, optional. When that happens; NULL: after waiting.
 * @param view     out, optional. What the tensor is. Unspecified on failure.
 * @param err      out, optional. Names the field with its value, or what the driver says instead.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (NULL, `cuda` empty, contradicting fields, memory that the driver
 *         is to free and not its beginning); DLPARK_E_DEVICE (the driver does not know the memory, or it is another
 *         device's); DLPARK_E_LAYOUT (elements outside of the allocation, where the driver tells how far that reaches);
 *         DLPARK_E_MEMORY; DLPARK_E_FOREIGN; and as dlpark_check().
 * Ownership: takes memory and owner on success; on failure nothing has been and will be released.
 * Threads:   any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_cuda_import(const dlpark_cuda *cuda, dlpark_tensor *tensor,
                                                                const dlpark_tensor_desc *desc,
                                                                const dlpark_gpu_options *options, dlpark_view *view,
                                                                dlpark_error *err);

/**
 * Makes a consumer's stream wait for what a producer's has been given so far. Neither the host nor any other work waits.
 * No call of the driver where the streams are the same, six otherwise.
 *
 * @param cuda      in.
 * @param device    in. Where the producer's stream lies: cuda:N. Of managed memory dlpark_cuda_pointer_info() knows it.
 * @param producer  in. DLPARK_STREAM_NO_SYNC: it has finished, there is nothing to wait for.
 * @param consumer  in. May be a stream of another device. DLPARK_STREAM_NO_SYNC: it does not want to wait.
 * @param err       out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, `cuda` empty, no kind of stream); DLPARK_E_DEVICE; DLPARK_E_FOREIGN (the
 *         driver's own reason: in a graph capture the streams must both be part of it).
 * Threads: any. DLPARK_STREAM_PER_THREAD is the calling thread's.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_order(const dlpark_cuda *cuda, DLDevice device,
                                                            dlpark_stream producer, dlpark_stream consumer,
                                                            dlpark_error *err);

/**
 * The host waits for what a stream has been given so far: before it reads managed or page-locked memory, for one.
 *
 * @param device  in. Where the stream lies.
 * @param stream  in. DLPARK_STREAM_NO_SYNC: nothing is waited for.
 * @return as dlpark_cuda_order().
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_wait(const dlpark_cuda *cuda, DLDevice device,
                                                           dlpark_stream stream, dlpark_error *err);

/**
 * Gives the tensor out to a consumer whose stream is known: what `__dlpack__(stream=...)` has to do. Orders as
 * dlpark_cuda_order() does; of page-locked memory, which has no streams, the host waits for the producer's.
 *
 * @param cuda      in.
 * @param managed   out. Must point to NULL; what the receiver ends by its `deleter`. NULL stays on failure.
 * @param tensor    in, out. Empty on success, unchanged on failure. Not empty; of this driver's devices, whoever made it.
 * @param producer  in. Whose work made the data.
 * @param consumer  in. As dlpark_stream_decode() has read it.
 * @param err       out, optional.
 * @return as dlpark_cuda_order(), and DLPARK_E_NOT_EMPTY.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_export(const dlpark_cuda *cuda,
                                                             DLManagedTensorVersioned **managed, dlpark_tensor *tensor,
                                                             dlpark_stream producer, dlpark_stream consumer,
                                                             dlpark_error *err);

/**
 * Notes what a stream has been given so far as a use of the memory, so that its end waits for that and not for the whole
 * device. Who notes one use notes all: work of streams that were not noted is not waited for.
 *
 * @param cuda    in.
 * @param tensor  in. Made by dlpark_cuda_alloc() or dlpark_cuda_import() of this library, or a share of such, also when it
 *                was given out and taken back.
 * @param stream  in. Nothing of it is kept: it may end before the tensor does.
 * @param err     out, optional.
 * @return as dlpark_cuda_order(), and DLPARK_E_ARGUMENT for tensors of others, for which there is
 *         dlpark_cuda_release_after(); DLPARK_E_MEMORY.
 * Threads: any, also at the same time for tensors that share memory.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_note_use(const dlpark_cuda *cuda, const dlpark_tensor *tensor,
                                                               dlpark_stream stream, dlpark_error *err);

/**
 * Ends a tensor of anybody's once a stream has done what it has been given so far: for a consumer, whose work may still
 * run when it is done with the tensor. The deleter runs in dlpark_cuda_poll(), or in another call of this function; never
 * on a thread of the driver's.
 *
 * @param cuda    in.
 * @param tensor  in, out. Empty on success, unchanged on failure. An empty one: nothing.
 * @param stream  in.
 * @param err     out, optional.
 * @return as dlpark_cuda_order(), and DLPARK_E_MEMORY.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_release_after(const dlpark_cuda *cuda, dlpark_tensor *tensor,
                                                                    dlpark_stream stream, dlpark_error *err);

/**
 * Ends what waits to be ended and can be: tensors of dlpark_cuda_release_after() whose streams are done, and memory that
 * could not be freed because a graph was being captured.
 *
 * @param cuda  in. Empty or NULL: nothing.
 * @param wait  in. Whether to wait for the streams; a capture that goes on is not waited for.
 * @return how many still wait. Cannot fail: where the driver has shut down or the context is lost, nothing runs any more
 *         and everything is ended; in a child after fork() nothing is, and 0 is returned.
 * Threads: any. Deleters of others are called without a lock held.
 */
DLPARK_API size_t dlpark_cuda_poll(const dlpark_cuda *cuda, bool wait);

/**
 * What the driver says of an address.
 *
 * @param pointer  in. Any address at all.
 * @param out      out. Not written on failure.
 * @return DLPARK_OK, also where the driver does not know it; DLPARK_E_ARGUMENT (NULL, `cuda` empty); DLPARK_E_DEVICE (of a
 *         device that is none of `cuda->device_count`); DLPARK_E_FOREIGN.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_pointer_info(const dlpark_cuda *cuda, const void *pointer,
                                                                   dlpark_gpu_pointer *out, dlpark_error *err);

/**
 * The name of a device, "NVIDIA H200", cut to fit.
 *
 * @param id    in. 0 to cuda->device_count - 1.
 * @param name  out. Not written on failure.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, `cuda` empty); DLPARK_E_DEVICE; DLPARK_E_FOREIGN.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_device_name(const dlpark_cuda *cuda, int32_t id,
                                                                  dlpark_name *name, dlpark_error *err);

/** What the inline makers forward to: the sizes say which fields the caller's header knows. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_alloc_sized(const dlpark_cuda *cuda, dlpark_tensor *tensor,
                                                                  const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                                                  const dlpark_gpu_options *options,
                                                                  size_t options_nbytes, dlpark_view *view,
                                                                  dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_import_sized(const dlpark_cuda *cuda, dlpark_tensor *tensor,
                                                                   const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                                                   const dlpark_gpu_options *options,
                                                                   size_t options_nbytes, dlpark_view *view,
                                                                   dlpark_error *err);

DLPARK_INLINE dlpark_stream dlpark_cuda_stream(void *handle)
{
    dlpark_stream stream = {handle ? DLPARK_STREAM_HANDLE : DLPARK_STREAM_DEFAULT, handle};

    return stream;
}

DLPARK_INLINE dlpark_status dlpark_cuda_alloc(const dlpark_cuda *cuda, dlpark_tensor *tensor,
                                              const dlpark_tensor_desc *desc, const dlpark_gpu_options *options,
                                              dlpark_view *view, dlpark_error *err)
{
    return dlpark_cuda_alloc_sized(cuda, tensor, desc, sizeof *desc, options, sizeof *options, view, err);
}

DLPARK_INLINE dlpark_status dlpark_cuda_import(const dlpark_cuda *cuda, dlpark_tensor *tensor,
                                               const dlpark_tensor_desc *desc, const dlpark_gpu_options *options,
                                               dlpark_view *view, dlpark_error *err)
{
    return dlpark_cuda_import_sized(cuda, tensor, desc, sizeof *desc, options, sizeof *options, view, err);
}

DLPARK_END_C

#endif
