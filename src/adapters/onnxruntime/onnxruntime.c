/*
 * The library, found at run time, and its values as tensors.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnxruntime_parts.h"

#if defined(__APPLE__)
#define ONNXRUNTIME_LIBRARY "libonnxruntime.dylib"
#else
#define ONNXRUNTIME_LIBRARY "libonnxruntime.so.1"
#endif

/* ---- Failures ---- */

dlpark_status dlpark__onnxruntime_fail(const dlpark_onnxruntime *runtime, OrtStatus *status, const char *function,
                                       dlpark_error *err)
{
    dlpark_error_set(err, DLPARK_E_FOREIGN, "%s: %s (ONNX Runtime %.20s)", function,
                     runtime->api->GetErrorMessage(status), runtime->version);
    runtime->api->ReleaseStatus(status);
    return DLPARK_E_FOREIGN;
}

dlpark_status dlpark__onnxruntime_check(const dlpark_onnxruntime *runtime, dlpark_error *err)
{
    if (runtime && runtime->api)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            runtime ? "no ONNX Runtime is loaded; dlpark_onnxruntime_open() does" : "runtime is NULL");
}

/* ---- The library ---- */

/* 32 of "1.32.0"; 0 where it is no such version. Version 1.N serves the levels up to N; asked for more, it prints. */
static uint32_t onnxruntime_level(const char *version)
{
    unsigned level = 0;

    return sscanf(version, "1.%9u.", &level) == 1 ? level : 0;
}

static dlpark_status onnxruntime_check_empty(const dlpark_onnxruntime *runtime, dlpark_error *err)
{
    if (!runtime)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "runtime is NULL");
    if (runtime->api)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "runtime already holds ONNX Runtime %.20s", runtime->version);
    return DLPARK_OK;
}

/* Its default allocator lasts as long as the library, and so does what that says of its memory. */
static dlpark_status onnxruntime_find_host(dlpark_onnxruntime *found, dlpark_error *err)
{
    OrtAllocator *allocator = NULL;

    ONNXRUNTIME_TRY(found, err, GetAllocatorWithDefaultOptions, &allocator);
    ONNXRUNTIME_TRY(found, err, AllocatorGetInfo, allocator, &found->host);
    return DLPARK_OK;
}

dlpark_status dlpark_onnxruntime_init(dlpark_onnxruntime *runtime, const OrtApiBase *base, dlpark_error *err)
{
    DLPARK_TRY(onnxruntime_check_empty(runtime, err));
    if (!base)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "base is NULL");
    dlpark_onnxruntime found = {.version = base->GetVersionString()};
    found.level = onnxruntime_level(found.version);
    if (found.level < DLPARK_ONNXRUNTIME_LEVEL_LEAST)
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "ONNX Runtime is version %.20s, 1.%d or a later 1.x is needed",
                                found.version, DLPARK_ONNXRUNTIME_LEVEL_LEAST);
    found.api = base->GetApi(found.level);
    if (!found.api)
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "ONNX Runtime %.20s does not serve version %u of its functions",
                                found.version, (unsigned)found.level);
    DLPARK_TRY(onnxruntime_find_host(&found, err));
    *runtime = found;
    return DLPARK_OK;
}

/* What dlsym() found, as the function that it is. */
static const OrtApiBase *onnxruntime_base(void *symbol)
{
    const OrtApiBase *(ORT_API_CALL * get_base)(void);

    memcpy(&get_base, &symbol, sizeof get_base);
    return get_base();
}

dlpark_status dlpark_onnxruntime_open(dlpark_onnxruntime *runtime, const char *path, dlpark_error *err)
{
    const char *file = path ? path : ONNXRUNTIME_LIBRARY;

    DLPARK_TRY(onnxruntime_check_empty(runtime, err));
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlpark_error_set(err, DLPARK_E_NOT_FOUND, "ONNX Runtime cannot be loaded: %s", dlerror());
    void *symbol = dlsym(library, "OrtGetApiBase");
    dlpark_status status =
        symbol ? dlpark_onnxruntime_init(runtime, onnxruntime_base(symbol), err)
               : dlpark_error_set(err, DLPARK_E_FOREIGN, "%.160s has no OrtGetApiBase(): it is not ONNX Runtime", file);
    if (status != DLPARK_OK)
        (void)dlclose(library);
    return status;
}

/* ---- Values as tensors ---- */

/* A value without anything in it, an optional's, is of a type all the same, and must be asked nothing else. */
static dlpark_status onnxruntime_check_tensor(const dlpark_onnxruntime *runtime, const OrtValue *value,
                                              dlpark_error *err)
{
    enum ONNXType kind = ONNX_TYPE_UNKNOWN;
    int there = 0, tensor = 0;

    ONNXRUNTIME_TRY(runtime, err, HasValue, value, &there);
    if (!there)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the value is an optional without anything in it");
    ONNXRUNTIME_TRY(runtime, err, IsTensor, value, &tensor);
    if (tensor)
        return DLPARK_OK;
    ONNXRUNTIME_TRY(runtime, err, GetValueType, value, &kind);
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the value is %s; only tensors pass",
                            dlpark__onnxruntime_kind((int)kind));
}

static dlpark_status onnxruntime_read_info(const dlpark_onnxruntime *runtime, const OrtTensorTypeAndShapeInfo *info,
                                           DLTensor *out, dlpark_error *err)
{
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t ndim = 0;

    ONNXRUNTIME_TRY(runtime, err, GetTensorElementType, info, &type);
    DLPARK_TRY(dlpark__onnxruntime_dtype((int)type, &out->dtype, err));
    ONNXRUNTIME_TRY(runtime, err, GetDimensionsCount, info, &ndim);
    if (ndim > DLPARK_MAX_NDIM)
        return dlpark_error_set(err, DLPARK_E_RANK, "the value's rank is %zu, at most %d are allowed", ndim,
                                DLPARK_MAX_NDIM);
    out->ndim = (int32_t)ndim;
    ONNXRUNTIME_TRY(runtime, err, GetDimensions, info, out->shape, ndim);
    return DLPARK_OK;
}

/* Where it lies, and READ_ONLY for the one allocator whose memory must not be written: that of a model's weights. */
static dlpark_status onnxruntime_read_memory(const dlpark_onnxruntime *runtime, const OrtValue *value, DLTensor *out,
                                             uint64_t *flags, dlpark_error *err)
{
    const OrtMemoryInfo *memory = NULL;
    OrtAllocatorType allocator = OrtInvalidAllocator;
    const char *name = NULL;
    int id = 0;

    ONNXRUNTIME_TRY(runtime, err, GetTensorMemoryInfo, value, &memory);
    ONNXRUNTIME_TRY(runtime, err, MemoryInfoGetName, memory, &name);
    ONNXRUNTIME_TRY(runtime, err, MemoryInfoGetId, memory, &id);
    ONNXRUNTIME_TRY(runtime, err, MemoryInfoGetType, memory, &allocator);
    *flags = (int)allocator == ONNXRUNTIME_READ_ONLY_ALLOCATOR ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    return dlpark__onnxruntime_device(name, id, &out->device, err);
}

/* The view's own shape is what the library writes to. */
static dlpark_status onnxruntime_look(const dlpark_onnxruntime *runtime, dlpark_view *view, OrtValue *value,
                                      dlpark_error *err)
{
    OrtTensorTypeAndShapeInfo *info = NULL;
    DLTensor tensor = {.shape = view->shape};
    uint64_t flags = 0;

    DLPARK_TRY(onnxruntime_check_tensor(runtime, value, err));
    ONNXRUNTIME_TRY(runtime, err, GetTensorTypeAndShape, value, &info);
    dlpark_status status = onnxruntime_read_info(runtime, info, &tensor, err);
    runtime->api->ReleaseTensorTypeAndShapeInfo(info);
    DLPARK_TRY(status);
    DLPARK_TRY(onnxruntime_read_memory(runtime, value, &tensor, &flags, err));
    ONNXRUNTIME_TRY(runtime, err, GetTensorMutableData, value, &tensor.data);
    DLPARK_TRY(dlpark_check(&tensor, flags, view, err));
    return flags ? DLPARK_OK : dlpark_view_allow_write(view, err);
}

dlpark_status dlpark_onnxruntime_view(const dlpark_onnxruntime *runtime, dlpark_view *view, OrtValue *value,
                                      dlpark_error *err)
{
    DLPARK_TRY(dlpark__onnxruntime_check(runtime, err));
    if (!view || !value)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, view ? "value is NULL" : "view is NULL");
    return onnxruntime_look(runtime, view, value, err);
}

/* ---- Owners ---- */

/* One block: what ends the value, and the header of the tensor. A header with extra bytes would take twice the time. */
typedef struct onnxruntime_kept {
    const OrtApi *api;
    OrtValue *value;
    _Alignas(max_align_t) unsigned char header[];
} onnxruntime_kept;

static void onnxruntime_end(void *owner)
{
    onnxruntime_kept *kept = owner;

    kept->api->ReleaseValue(kept->value);
    free(kept);
}

static dlpark_status onnxruntime_keep(const dlpark_onnxruntime *runtime, dlpark_tensor *tensor, OrtValue *value,
                                      const dlpark_view *seen, dlpark_error *err)
{
    size_t nbytes = DLPARK_TENSOR_STORAGE_NBYTES(seen->ndim);
    onnxruntime_kept *kept = malloc(sizeof *kept + nbytes);

    if (!kept)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %zu bytes beside an OrtValue",
                                sizeof *kept + nbytes);
    const dlpark_tensor_desc desc = {.data = seen->data,
                                     .dtype = seen->dtype,
                                     .device = seen->device,
                                     .ndim = seen->ndim,
                                     .shape = DLPARK_DIMS((const int64_t *)seen->shape),
                                     .flags = seen->flags & DLPARK_VIEW_READ_ONLY,
                                     .owner = kept,
                                     .release = onnxruntime_end,
                                     .storage = kept->header,
                                     .storage_nbytes = nbytes};
    dlpark_status status = dlpark_tensor_new(tensor, &desc, NULL, err);
    if (status != DLPARK_OK) {
        free(kept);
        return status;
    }
    kept->api = runtime->api;
    kept->value = value;
    return DLPARK_OK;
}

dlpark_status dlpark_onnxruntime_import(const dlpark_onnxruntime *runtime, dlpark_tensor *tensor, OrtValue **value,
                                        dlpark_view *view, dlpark_error *err)
{
    dlpark_view seen DLPARK_UNINITIALIZED;

    DLPARK_TRY(dlpark__onnxruntime_check(runtime, err));
    if (!tensor || !value || !*value)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, tensor ? "value is NULL" : "tensor is NULL");
    if (tensor->managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "tensor already holds something; release it first");
    DLPARK_TRY(onnxruntime_look(runtime, &seen, *value, err));
    DLPARK_TRY(onnxruntime_keep(runtime, tensor, *value, &seen, err));
    *value = NULL;
    if (view)
        dlpark_tensor_view(tensor, view);
    return DLPARK_OK;
}
