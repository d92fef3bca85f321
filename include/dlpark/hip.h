/**
 * Memory of ROCm devices as tensors, by HIP's runtime, which is found at run time: cuda.h with other names.
 *
 *     dlpark_hip hip = DLPARK_HIP_EMPTY;
 *     DLPARK_TRY(dlpark_hip_open(&hip, NULL, err));                                    // libamdhip64.so.6, else .5
 *     DLPARK_TRY(dlpark_hip_alloc(&hip, &tensor, &(dlpark_tensor_desc){                // on rocm:0
 *         .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})}, NULL, &view, err));
 *     launch_kernel(view.data, stream);
 *     DLPARK_TRY(dlpark_hip_export(&hip, &managed, &tensor, dlpark_hip_stream(stream), consumer, err));
 *
 * Each function does what the one of cuda.h does whose name it has; what is said there of contexts, threads, fork() and the
 * end of the process holds here. What differs: the devices are rocm:N and rocm_host, a stream is a hipStream_t, the default
 * one is NULL and there is no per-thread one, and a thread's current device is what is as before when a call returns. DLPack
 * has no type for managed memory of ROCm: such memory is imported as the device's.
 * Pointers must not be NULL unless a parameter says optional, or a status is listed for it.
 */
#ifndef DLPARK_HIP_H
#define DLPARK_HIP_H

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

/** A loaded runtime, found once and handed to every call. Owns nothing: copy it, forget it; the runtime stays loaded. */
typedef struct dlpark_hip {
    struct dlpark__gpu *driver; /**< NULL: none is loaded */
    const char *library;        /**< the file that it was loaded from */
    int32_t version;            /**< as hipDriverGetVersion() says it: 50221153 is 5.2.21153 */
    int32_t device_count;       /**< rocm:0 to rocm:(device_count - 1), as HIP_VISIBLE_DEVICES numbers them */
} dlpark_hip;

/* clang-format off */
/** None is loaded: what a variable begins as. */
#define DLPARK_HIP_EMPTY {DLPARK_NULL, DLPARK_NULL, 0, 0}
/* clang-format on */

/** The least `version` that is taken: 5.0. */
#define DLPARK_HIP_VERSION_LEAST 50000000

/**
 * Loads HIP's runtime, or finds it where the program has it already.
 *
 * @param hip   out. Must be empty; stays so on failure. Needs no closing: the runtime is never unloaded.
 * @param path  in, optional. The library's file. NULL: what the environment variable DLPARK_HIP_LIBRARY names, else
 *              "libamdhip64.so.6", else "libamdhip64.so.5", wherever the loader looks.
 * @param err   out, optional. Has the loader's or the runtime's own reason.
 * @return as dlpark_cuda_open().
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_open(dlpark_hip *hip, const char *path, dlpark_error *err);

/** A hipStream_t as a dlpark_stream; NULL is the default stream. */
DLPARK_INLINE dlpark_stream dlpark_hip_stream(void *handle);

/** As dlpark_cuda_alloc(): `device` is {0, 0}, rocm:N or rocm_host. */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_hip_alloc(const dlpark_hip *hip, dlpark_tensor *tensor,
                                                              const dlpark_tensor_desc *desc,
                                                              const dlpark_gpu_options *options, dlpark_view *view,
                                                              dlpark_error *err);

/** As dlpark_cuda_import(). */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_hip_import(const dlpark_hip *hip, dlpark_tensor *tensor,
                                                               const dlpark_tensor_desc *desc,
                                                               const dlpark_gpu_options *options, dlpark_view *view,
                                                               dlpark_error *err);

/** As dlpark_cuda_order(). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_order(const dlpark_hip *hip, DLDevice device,
                                                           dlpark_stream producer, dlpark_stream consumer,
                                                           dlpark_error *err);

/** As dlpark_cuda_wait(). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_wait(const dlpark_hip *hip, DLDevice device, dlpark_stream stream,
                                                          dlpark_error *err);

/** As dlpark_cuda_export(). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_export(const dlpark_hip *hip, DLManagedTensorVersioned **managed,
                                                            dlpark_tensor *tensor, dlpark_stream producer,
                                                            dlpark_stream consumer, dlpark_error *err);

/** As dlpark_cuda_note_use(). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_note_use(const dlpark_hip *hip, const dlpark_tensor *tensor,
                                                              dlpark_stream stream, dlpark_error *err);

/** As dlpark_cuda_release_after(). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_release_after(const dlpark_hip *hip, dlpark_tensor *tensor,
                                                                   dlpark_stream stream, dlpark_error *err);

/** As dlpark_cuda_poll(). */
DLPARK_API size_t dlpark_hip_poll(const dlpark_hip *hip, bool wait);

/** As dlpark_cuda_pointer_info(). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_pointer_info(const dlpark_hip *hip, const void *pointer,
                                                                  dlpark_gpu_pointer *out, dlpark_error *err);

/** As dlpark_cuda_device_name(). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_device_name(const dlpark_hip *hip, int32_t id, dlpark_name *name,
                                                                 dlpark_error *err);

/** What the inline makers forward to: the sizes say which fields the caller's header knows. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_alloc_sized(const dlpark_hip *hip, dlpark_tensor *tensor,
                                                                 const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                                                 const dlpark_gpu_options *options,
                                                                 size_t options_nbytes, dlpark_view *view,
                                                                 dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_import_sized(const dlpark_hip *hip, dlpark_tensor *tensor,
                                                                  const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                                                  const dlpark_gpu_options *options,
                                                                  size_t options_nbytes, dlpark_view *view,
                                                                  dlpark_error *err);

DLPARK_INLINE dlpark_stream dlpark_hip_stream(void *handle)
{
    dlpark_stream stream = {handle ? DLPARK_STREAM_HANDLE : DLPARK_STREAM_DEFAULT, handle};

    return stream;
}

DLPARK_INLINE dlpark_status dlpark_hip_alloc(const dlpark_hip *hip, dlpark_tensor *tensor,
                                             const dlpark_tensor_desc *desc, const dlpark_gpu_options *options,
                                             dlpark_view *view, dlpark_error *err)
{
    return dlpark_hip_alloc_sized(hip, tensor, desc, sizeof *desc, options, sizeof *options, view, err);
}

DLPARK_INLINE dlpark_status dlpark_hip_import(const dlpark_hip *hip, dlpark_tensor *tensor,
                                              const dlpark_tensor_desc *desc, const dlpark_gpu_options *options,
                                              dlpark_view *view, dlpark_error *err)
{
    return dlpark_hip_import_sized(hip, tensor, desc, sizeof *desc, options, sizeof *options, view, err);
}

DLPARK_END_C

#endif
