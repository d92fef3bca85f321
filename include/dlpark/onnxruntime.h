/**
 * Values of ONNX Runtime as tensors, and tensors as its values, without a copy.
 *
 *     dlpark_onnxruntime runtime = DLPARK_ONNXRUNTIME_EMPTY;
 *     DLPARK_TRY(dlpark_onnxruntime_open(&runtime, NULL, err));                       // libonnxruntime.so.1
 *     DLPARK_TRY(dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, err));       // an OrtValue that ends the tensor
 *     DLPARK_TRY(dlpark_onnxruntime_import(&runtime, &tensor, &value, &view, err));   // a tensor that ends the OrtValue
 *
 * The library is loaded at run time: nothing links it, and this header needs none of its headers. An OrtValue is
 * compact and row-major, has one owner, and, but for weights of a model, cannot say that it must not be written. Of its
 * values tensors pass; strings, sequences, maps, optionals and sparse tensors are refused by name. On a GPU nobody waits
 * for a stream: whoever wrote the memory has finished before it is handed on, either way.
 * Link with dlpark::onnxruntime. Pointers must not be NULL unless a parameter says optional, or a status is listed for it.
 */
#ifndef DLPARK_ONNXRUNTIME_H
#define DLPARK_ONNXRUNTIME_H

#include <stdint.h>

#include "status.h"
#include "tensor.h"
#include "view.h"

/* As onnxruntime_c_api.h declares them. */
struct OrtApi;
struct OrtApiBase;
struct OrtMemoryInfo;
struct OrtValue;

DLPARK_BEGIN_C

/** A loaded library, found once and handed to every call. Owns nothing: copy it, forget it; the library stays loaded. */
typedef struct dlpark_onnxruntime {
    const struct OrtApi *api;         /**< its functions, for calls of your own; NULL: none is loaded */
    const struct OrtMemoryInfo *host; /**< its word for memory of the CPU */
    const char *version;              /**< "1.32.0" */
    uint32_t level;                   /**< the version of `api`: 32, which is what ORT_API_VERSION counts */
    uint32_t reserved;                /**< 0 */
} dlpark_onnxruntime;

/** None is loaded: what a variable begins as. */
#define DLPARK_ONNXRUNTIME_EMPTY                                                                                       \
    {                                                                                                                  \
        DLPARK_NULL, DLPARK_NULL, DLPARK_NULL, 0, 0                                                                    \
    }

/** The least `level` that is taken, and the least at which a value can end a tensor: dlpark_onnxruntime_export(). */
#define DLPARK_ONNXRUNTIME_LEVEL_LEAST  10
#define DLPARK_ONNXRUNTIME_LEVEL_EXPORT 22

/**
 * Loads ONNX Runtime, or finds it where the program has it already.
 *
 * @param runtime  out. Must be empty; stays so on failure. Needs no closing: the library is never unloaded.
 * @param path     in, optional. The library's file. NULL: "libonnxruntime.so.1", wherever the loader looks.
 * @param err      out, optional. Has the loader's own reason.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL); DLPARK_E_NOT_EMPTY; DLPARK_E_NOT_FOUND (the loader does not find or take
 *         it); DLPARK_E_FOREIGN (no OrtGetApiBase() in it, or as dlpark_onnxruntime_init()).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_onnxruntime_open(dlpark_onnxruntime *runtime, const char *path,
                                                                  dlpark_error *err);

/**
 * The same for a program that links ONNX Runtime itself: dlpark_onnxruntime_init(&runtime, OrtGetApiBase(), err).
 *
 * @param base  in. Not an OrtApi, which does not say of which version it is.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL); DLPARK_E_NOT_EMPTY; DLPARK_E_FOREIGN (older than 1.10, not a version 1,
 *         or the library's own reason).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_onnxruntime_init(dlpark_onnxruntime *runtime,
                                                                  const struct OrtApiBase *base, dlpark_error *err);

/**
 * The view of a value. Valid as long as that; may be written, unless it is of OrtReadOnlyAllocator, as weights are.
 *
 * @param runtime  in.
 * @param view     out. Unspecified on failure.
 * @param value    in, borrowed. A tensor in memory that is called Cpu, CpuAligned4K, Cuda, CudaPinned, Hip or HipPinned.
 * @param err      out, optional. Names what the value is, or the function of ONNX Runtime that failed and its reason.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, `runtime` empty, or no tensor); DLPARK_E_DTYPE (strings, and types that
 *         are none of DLPack's); DLPARK_E_RANK; DLPARK_E_DEVICE; DLPARK_E_FOREIGN; and as dlpark_check().
 * Threads: any, as long as nobody changes the value meanwhile.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_onnxruntime_view(const dlpark_onnxruntime *runtime, dlpark_view *view,
                                                                  struct OrtValue *value, dlpark_error *err);

/**
 * Takes a value: the tensor ends it by ReleaseValue, on whatever thread.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 * @param value   in, out. *value is NULL on success, and still the caller's, unchanged, on failure.
 * @param view    out, optional. As of dlpark_onnxruntime_view().
 * @return as dlpark_onnxruntime_view(), and DLPARK_E_NOT_EMPTY, DLPARK_E_MEMORY. One small allocation.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_onnxruntime_import(const dlpark_onnxruntime *runtime,
                                                                    dlpark_tensor *tensor, struct OrtValue **value,
                                                                    dlpark_view *view, dlpark_error *err);

/**
 * Gives the tensor out as a value, which ends it: its deleter runs when the last user of the value is done, on whatever
 * thread that is, a thread of a session among them. Needs ONNX Runtime 1.22.
 *
 * @param value    out. Must point to NULL; what the caller ends by ReleaseValue. NULL stays on failure.
 * @param tensor   in, out. Empty on success, unchanged on failure. Compact row-major, elements aligned to their size, on
 *                 cpu, cuda, cuda_host, rocm or rocm_host.
 * @param dropped  in. DLPARK_TENSOR_READ_ONLY: what may be lost although the tensor has it, since an OrtValue cannot say
 *                 it: for inputs, which a session reads only. 0 to lose nothing.
 * @param err      out, optional. Says what would have to be copied.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, `runtime` or `tensor` empty, an unknown bit in `dropped`);
 *         DLPARK_E_NOT_EMPTY; DLPARK_E_DTYPE (none of the library's, or not yet in its version); DLPARK_E_DEVICE;
 *         DLPARK_E_READ_ONLY (also of a tensor that nobody said may be written); DLPARK_E_FLAGS (padded sub-byte
 *         elements); DLPARK_E_LAYOUT; DLPARK_E_ALIGNMENT; DLPARK_E_MEMORY; DLPARK_E_FOREIGN (older than 1.22, or the
 *         library's own reason).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_onnxruntime_export(const dlpark_onnxruntime *runtime,
                                                                    struct OrtValue **value, dlpark_tensor *tensor,
                                                                    uint64_t dropped, dlpark_error *err);

/**
 * A value that borrows a view's memory, for inputs and outputs of a session that the caller keeps: by any version.
 *
 * @param value  out. Must point to NULL; what the caller ends by ReleaseValue, before the memory ends. NULL stays on
 *               failure.
 * @param view   in, borrowed. The memory is; the view itself is not needed afterwards.
 * @return as dlpark_onnxruntime_export().
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_onnxruntime_borrow(const dlpark_onnxruntime *runtime,
                                                                    struct OrtValue **value, const dlpark_view *view,
                                                                    uint64_t dropped, dlpark_error *err);

DLPARK_END_C

#endif
