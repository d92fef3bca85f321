/*
 * Values over memory of ours, without an owner. ONNX Runtime looks neither at alignment nor at who may write, so all of that
 * is looked at here.
 */
#include <inttypes.h>

#include "onnxruntime_parts.h"

/* ---- What passes ---- */

static dlpark_status onnxruntime_check_write(const dlpark_view *view, uint64_t dropped, dlpark_error *err)
{
    if (dropped & ~DLPARK_TENSOR_READ_ONLY)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "dropped is 0x%" PRIx64 ", expected READ_ONLY or 0", dropped);
    if (dropped & DLPARK_TENSOR_READ_ONLY)
        return DLPARK_OK;
    if (view->flags & DLPARK_VIEW_READ_ONLY)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY,
                                "the tensor is read-only, which an OrtValue cannot say; drop READ_ONLY by name for an "
                                "input");
    if (view->flags & DLPARK_VIEW_UNKNOWN_WRITE)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY,
                                "nobody said that the tensor may be written, as an OrtValue may be; drop READ_ONLY by "
                                "name for an input");
    return DLPARK_OK;
}

/* What an element's address has to be a multiple of. */
static uint32_t onnxruntime_alignment(DLDataType dtype)
{
    uint32_t nbytes = dlpark_dtype_nbits(dtype) / 8;

    return dtype.code == kDLComplex ? nbytes / 2 : nbytes;
}

static dlpark_status onnxruntime_check_memory(const dlpark_view *view, dlpark_error *err)
{
    if (view->flags & DLPARK_VIEW_PADDED)
        return dlpark_error_set(err, DLPARK_E_FLAGS,
                                "the tensor's %s elements are padded, those of ONNX Runtime are packed; copy them to a "
                                "packed tensor of %" PRId64 " bytes",
                                dlpark_dtype_name(view->dtype).text, dlpark_view_nbytes(view));
    if (view->bit_offset)
        return dlpark_error_set(err, DLPARK_E_LAYOUT,
                                "element 0 is at bit %" PRIu32 " of its byte; copy its %" PRId64 " bytes to a tensor "
                                "of their own",
                                view->bit_offset, dlpark_view_nbytes(view));
    if (!dlpark_view_is_compact(view))
        return dlpark_error_set(err, DLPARK_E_LAYOUT,
                                "ONNX Runtime takes compact row-major elements, got shape %s with strides %s; copy the "
                                "%" PRId64 " bytes to a compact tensor",
                                dlpark__onnxruntime_list(view->ndim, view->shape).text,
                                dlpark__onnxruntime_list(view->ndim, view->strides).text, dlpark_view_nbytes(view));
    uint32_t alignment = onnxruntime_alignment(view->dtype);
    if (alignment > 1 && view->data && (uintptr_t)view->data % alignment != 0)
        return dlpark_error_set(err, DLPARK_E_ALIGNMENT,
                                "data is %p, not a multiple of the %" PRIu32 " bytes of %s; copy its %" PRId64
                                " bytes to an aligned tensor",
                                view->data, alignment, dlpark_dtype_name(view->dtype).text, dlpark_view_nbytes(view));
    return DLPARK_OK;
}

dlpark_status dlpark__onnxruntime_check_view(const dlpark_view *view, uint64_t dropped, ONNXTensorElementDataType *type,
                                             dlpark_error *err)
{
    DLPARK_TRY(onnxruntime_check_write(view, dropped, err));
    DLPARK_TRY(dlpark__onnxruntime_type(view->dtype, type, err));
    if (!dlpark__onnxruntime_memory(view->device))
        return dlpark_error_set(err, DLPARK_E_DEVICE,
                                "ONNX Runtime has no word for memory of %s; copy it to cpu, cuda or rocm",
                                dlpark_device_name(view->device).text);
    return onnxruntime_check_memory(view, err);
}

dlpark_status dlpark__onnxruntime_check_out(const dlpark_onnxruntime *runtime, OrtValue *const *value,
                                            dlpark_error *err)
{
    DLPARK_TRY(dlpark__onnxruntime_check(runtime, err));
    if (!value)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "value is NULL");
    if (*value)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "*value is not NULL; release it first");
    return DLPARK_OK;
}

/* ---- Where it lies ---- */

dlpark_status dlpark__onnxruntime_describe(const dlpark_onnxruntime *runtime, const dlpark_view *view,
                                           OrtMemoryInfo **made, const OrtMemoryInfo **memory, dlpark_error *err)
{
    *made = NULL;
    if (view->device.device_type != kDLCPU)
        ONNXRUNTIME_TRY(runtime, err, CreateMemoryInfo, dlpark__onnxruntime_memory(view->device), OrtDeviceAllocator,
                        view->device.device_id, OrtMemTypeDefault, made);
    *memory = *made ? *made : runtime->host;
    return DLPARK_OK;
}

/* Its function for tensors over foreign memory says by this code alone that it lacks the element type. */
dlpark_status dlpark__onnxruntime_created(const dlpark_onnxruntime *runtime, OrtStatus *status, const char *function,
                                          DLDataType dtype, dlpark_error *err)
{
    if (!status)
        return DLPARK_OK;
    if (runtime->api->GetErrorCode(status) != ORT_NOT_IMPLEMENTED)
        return dlpark__onnxruntime_fail(runtime, status, function, err);
    dlpark_error_set(err, DLPARK_E_DTYPE, "ONNX Runtime %.20s has no %s tensors: %s", runtime->version,
                     dlpark_dtype_name(dtype).text, runtime->api->GetErrorMessage(status));
    runtime->api->ReleaseStatus(status);
    return DLPARK_E_DTYPE;
}

dlpark_status dlpark_onnxruntime_borrow(const dlpark_onnxruntime *runtime, OrtValue **value, const dlpark_view *view,
                                        uint64_t dropped, dlpark_error *err)
{
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    const OrtMemoryInfo *memory = NULL;
    OrtMemoryInfo *made = NULL;
    OrtValue *created = NULL;

    DLPARK_TRY(dlpark__onnxruntime_check_out(runtime, value, err));
    if (!view)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "view is NULL");
    DLPARK_TRY(dlpark__onnxruntime_check_view(view, dropped, &type, err));
    DLPARK_TRY(dlpark__onnxruntime_describe(runtime, view, &made, &memory, err));
    OrtStatus *failed = runtime->api->CreateTensorWithDataAsOrtValue(
        memory, view->data, (size_t)dlpark_view_nbytes(view), view->shape, (size_t)view->ndim, type, &created);
    if (made)
        runtime->api->ReleaseMemoryInfo(made); /* the value has its own */
    DLPARK_TRY(dlpark__onnxruntime_created(runtime, failed, "CreateTensorWithDataAsOrtValue", view->dtype, err));
    *value = created;
    return DLPARK_OK;
}
