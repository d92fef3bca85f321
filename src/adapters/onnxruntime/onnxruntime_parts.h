/*
 * What the halves of the adapter share. The one header that includes ONNX Runtime's own.
 */
#ifndef DLPARK_ONNXRUNTIME_PARTS_H
#define DLPARK_ONNXRUNTIME_PARTS_H

#include <stdbool.h>

#include <onnxruntime_c_api.h>

#include <dlpark/check.h>
#include <dlpark/onnxruntime.h>

#if ORT_API_VERSION < DLPARK_ONNXRUNTIME_LEVEL_EXPORT
#error "onnxruntime_c_api.h is older than 1.22; the library that is loaded may be older, the header may not"
#endif

/* OrtReadOnlyAllocator, which headers name from 1.23 on. */
enum { ONNXRUNTIME_READ_ONLY_ALLOCATOR = 2 };

/* ---- onnxruntime.c ---- */

/* Releases a failed call's status and reports it: "CreateTensor...: its reason (ONNX Runtime 1.32.0)". */
DLPARK_COLD dlpark_status dlpark__onnxruntime_fail(const dlpark_onnxruntime *runtime, OrtStatus *status,
                                                   const char *function, dlpark_error *err);

/* Calls a function of the library by its name, and returns from the calling function where it fails. */
#define ONNXRUNTIME_TRY(runtime, err, function, ...)                                                                   \
    do {                                                                                                               \
        OrtStatus *onnxruntime_status = (runtime)->api->function(__VA_ARGS__);                                         \
        if (onnxruntime_status)                                                                                        \
            return dlpark__onnxruntime_fail((runtime), onnxruntime_status, #function, (err));                          \
    } while (0)

dlpark_status dlpark__onnxruntime_check(const dlpark_onnxruntime *runtime, dlpark_error *err);

/* ---- onnxruntime_borrow.c ---- */

/* Whether there is a library, and *value is empty. */
dlpark_status dlpark__onnxruntime_check_out(const dlpark_onnxruntime *runtime, OrtValue *const *value,
                                            dlpark_error *err);

/* Whether the view's memory can be a value's; the library's element type then. */
dlpark_status dlpark__onnxruntime_check_view(const dlpark_view *view, uint64_t dropped, ONNXTensorElementDataType *type,
                                             dlpark_error *err);

/* The library's description of the view's memory: its own of the CPU; else one that is made, and then in *made as well. */
dlpark_status dlpark__onnxruntime_describe(const dlpark_onnxruntime *runtime, const dlpark_view *view,
                                           OrtMemoryInfo **made, const OrtMemoryInfo **memory, dlpark_error *err);

/* What a function that creates a value has returned; E_DTYPE where it has no such tensors. */
dlpark_status dlpark__onnxruntime_created(const dlpark_onnxruntime *runtime, OrtStatus *status, const char *function,
                                          DLDataType dtype, dlpark_error *err);

/* ---- onnxruntime_names.c ---- */

/* The dtype of the library's element type; E_DTYPE with the type's name, or its number where it is of a later version. */
dlpark_status dlpark__onnxruntime_dtype(int type, DLDataType *dtype, dlpark_error *err);

/* The library's element type for a dtype; E_DTYPE where it has none. */
dlpark_status dlpark__onnxruntime_type(DLDataType dtype, ONNXTensorElementDataType *type, dlpark_error *err);

/* The device of memory that the library calls `name`; E_DEVICE for names that are none of DLPack's. */
dlpark_status dlpark__onnxruntime_device(const char *name, int id, DLDevice *device, dlpark_error *err);

/* The library's name for the memory of a device; NULL where it has none. */
const char *dlpark__onnxruntime_memory(DLDevice device);

/* What a value is, "a sequence". */
const char *dlpark__onnxruntime_kind(int kind);

/* "[2, 3]", cut to fit. */
typedef struct onnxruntime_list {
    char text[96];
} onnxruntime_list;
onnxruntime_list dlpark__onnxruntime_list(int32_t count, const int64_t *values);

#endif
