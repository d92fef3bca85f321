/*
 * Values that end a tensor.
 */
#include <stdlib.h>

#include "onnxruntime_parts.h"

/* What a value keeps alive: the tensor, and what the library asks about its memory. Ends with the value. */
typedef struct onnxruntime_owner {
    OrtAllocator allocator; /* first: the library hands it back to onnxruntime_free() */
    const OrtApi *api;
    const OrtMemoryInfo *memory;
    OrtMemoryInfo *made; /* NULL on the CPU */
    DLManagedTensorVersioned *managed;
} onnxruntime_owner;

/* Nothing is ever allocated from a value. */
static void *ORT_API_CALL onnxruntime_alloc(OrtAllocator *allocator, size_t nbytes)
{
    (void)allocator;
    (void)nbytes;
    return NULL;
}

static const OrtMemoryInfo *ORT_API_CALL onnxruntime_info(const OrtAllocator *allocator)
{
    return ((const onnxruntime_owner *)allocator)->memory;
}

static void onnxruntime_drop(onnxruntime_owner *owner)
{
    if (owner->made)
        owner->api->ReleaseMemoryInfo(owner->made);
    free(owner);
}

static void ORT_API_CALL onnxruntime_free(OrtAllocator *allocator, void *data)
{
    onnxruntime_owner *owner = (onnxruntime_owner *)allocator;

    (void)data;
    if (!owner->managed) /* it failed after the value was there, for want of memory: the export ends the owner */
        return;
    owner->managed->deleter(owner->managed);
    onnxruntime_drop(owner);
}

static dlpark_status onnxruntime_owner_new(onnxruntime_owner **out, const dlpark_onnxruntime *runtime,
                                           const dlpark_view *view, dlpark_error *err)
{
    onnxruntime_owner *owner = calloc(1, sizeof *owner);

    if (!owner)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %zu bytes beside an OrtValue", sizeof *owner);
    owner->allocator.version = DLPARK_ONNXRUNTIME_LEVEL_EXPORT;
    owner->allocator.Alloc = onnxruntime_alloc;
    owner->allocator.Free = onnxruntime_free;
    owner->allocator.Info = onnxruntime_info;
    owner->api = runtime->api;
    dlpark_status status = dlpark__onnxruntime_describe(runtime, view, &owner->made, &owner->memory, err);
    if (status != DLPARK_OK) {
        free(owner);
        return status;
    }
    *out = owner;
    return DLPARK_OK;
}

static dlpark_status onnxruntime_check_level(const dlpark_onnxruntime *runtime, dlpark_error *err)
{
    if (runtime->level >= DLPARK_ONNXRUNTIME_LEVEL_EXPORT)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_FOREIGN,
                            "values of ONNX Runtime %.20s end no tensor, those of 1.%d do; dlpark_onnxruntime_borrow() "
                            "makes one that borrows it",
                            runtime->version, DLPARK_ONNXRUNTIME_LEVEL_EXPORT);
}

dlpark_status dlpark_onnxruntime_export(const dlpark_onnxruntime *runtime, OrtValue **value, dlpark_tensor *tensor,
                                        uint64_t dropped, dlpark_error *err)
{
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    dlpark_view view DLPARK_UNINITIALIZED;
    onnxruntime_owner *owner = NULL;
    OrtValue *created = NULL;

    DLPARK_TRY(dlpark__onnxruntime_check_out(runtime, value, err));
    if (!tensor || !tensor->managed)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, tensor ? "the tensor is empty" : "tensor is NULL");
    DLPARK_TRY(onnxruntime_check_level(runtime, err));
    dlpark_tensor_view(tensor, &view);
    DLPARK_TRY(dlpark__onnxruntime_check_view(&view, dropped, &type, err));
    DLPARK_TRY(onnxruntime_owner_new(&owner, runtime, &view, err));
    OrtStatus *failed = runtime->api->CreateTensorWithDataAndDeleterAsOrtValue(
        &owner->allocator, view.data, (size_t)dlpark_view_nbytes(&view), view.shape, (size_t)view.ndim, type, &created);
    if (failed) {
        onnxruntime_drop(owner); /* it may have called Free, which does nothing so far */
        return dlpark__onnxruntime_created(runtime, failed, "CreateTensorWithDataAndDeleterAsOrtValue", view.dtype,
                                           err);
    }
    owner->managed = dlpark_tensor_export(tensor);
    *value = created;
    return DLPARK_OK;
}
