/*
 * What the two sides call the same thing: element types, memory, kinds of values.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "onnxruntime_parts.h"

/* ---- Element types ---- */

/* By the library's own numbers, which are part of its ABI; its header names the last ones from 1.23, 1.24 and later on.
 * The complex ones have numbers, and are refused by the library itself. */
typedef struct onnxruntime_element {
    const char *name;
    DLDataType dtype; /* no lanes: DLPack has none */
} onnxruntime_element;

static const onnxruntime_element onnxruntime_elements[] = {
    {"undefined", {0, 0, 0}},
    {"float", {kDLFloat, 32, 1}},
    {"uint8", {kDLUInt, 8, 1}},
    {"int8", {kDLInt, 8, 1}},
    {"uint16", {kDLUInt, 16, 1}},
    {"int16", {kDLInt, 16, 1}},
    {"int32", {kDLInt, 32, 1}},
    {"int64", {kDLInt, 64, 1}},
    {"string", {0, 0, 0}},
    {"bool", {kDLBool, 8, 1}},
    {"float16", {kDLFloat, 16, 1}},
    {"double", {kDLFloat, 64, 1}},
    {"uint32", {kDLUInt, 32, 1}},
    {"uint64", {kDLUInt, 64, 1}},
    {"complex64", {kDLComplex, 64, 1}},
    {"complex128", {kDLComplex, 128, 1}},
    {"bfloat16", {kDLBfloat, 16, 1}},
    {"float8e4m3fn", {kDLFloat8_e4m3fn, 8, 1}},
    {"float8e4m3fnuz", {kDLFloat8_e4m3fnuz, 8, 1}},
    {"float8e5m2", {kDLFloat8_e5m2, 8, 1}},
    {"float8e5m2fnuz", {kDLFloat8_e5m2fnuz, 8, 1}},
    {"uint4", {kDLUInt, 4, 1}},
    {"int4", {kDLInt, 4, 1}},
    {"float4e2m1", {kDLFloat4_e2m1fn, 4, 1}},
    {"uint2", {kDLUInt, 2, 1}},
    {"int2", {kDLInt, 2, 1}},
    {"float8e8m0", {kDLFloat8_e8m0fnu, 8, 1}},
};

enum { ONNXRUNTIME_ELEMENTS = sizeof onnxruntime_elements / sizeof *onnxruntime_elements };

_Static_assert(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT == 1 && ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL == 9 &&
                   ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 == 16 && ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 == 22,
               "the table is in the order of the library's numbers");

dlpark_status dlpark__onnxruntime_dtype(int type, DLDataType *dtype, dlpark_error *err)
{
    if (type < 0 || type >= ONNXRUNTIME_ELEMENTS)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "the value's element type has the number %d, which is not known",
                                type);
    if (onnxruntime_elements[type].dtype.lanes == 0)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "the value's elements are %s, which DLPack has no dtype for",
                                onnxruntime_elements[type].name);
    *dtype = onnxruntime_elements[type].dtype;
    return DLPARK_OK;
}

dlpark_status dlpark__onnxruntime_type(DLDataType dtype, ONNXTensorElementDataType *type, dlpark_error *err)
{
    for (int i = 0; i < ONNXRUNTIME_ELEMENTS; i++)
        if (dlpark_dtype_equal(onnxruntime_elements[i].dtype, dtype)) {
            *type = (ONNXTensorElementDataType)i;
            return DLPARK_OK;
        }
    return dlpark_error_set(err, DLPARK_E_DTYPE, "ONNX Runtime has no element type for %s",
                            dlpark_dtype_name(dtype).text);
}

/* ---- Memory ---- */

/* The first of a device's names is the one that is given out. DLPack gives page-locked memory no number of a device. */
static const struct onnxruntime_place {
    const char *name;
    DLDeviceType type;
    bool numbered;
} onnxruntime_places[] = {
    {"Cpu", kDLCPU, false}, {"Cuda", kDLCUDA, true},           {"CudaPinned", kDLCUDAHost, false},
    {"Hip", kDLROCM, true}, {"HipPinned", kDLROCMHost, false}, {"CpuAligned4K", kDLCPU, false},
};

enum { ONNXRUNTIME_PLACES = sizeof onnxruntime_places / sizeof *onnxruntime_places };

dlpark_status dlpark__onnxruntime_device(const char *name, int id, DLDevice *device, dlpark_error *err)
{
    for (int i = 0; i < ONNXRUNTIME_PLACES; i++)
        if (strcmp(onnxruntime_places[i].name, name) == 0) {
            device->device_type = onnxruntime_places[i].type;
            device->device_id = onnxruntime_places[i].numbered ? id : 0;
            return DLPARK_OK;
        }
    return dlpark_error_set(err, DLPARK_E_DEVICE,
                            "the value's memory is called %.60s, id %d, which is none that a cpu, cuda or rocm has",
                            name, id);
}

const char *dlpark__onnxruntime_memory(DLDevice device)
{
    for (int i = 0; i < ONNXRUNTIME_PLACES; i++)
        if (onnxruntime_places[i].type == device.device_type)
            return onnxruntime_places[i].name;
    return NULL;
}

/* ---- Words for messages ---- */

const char *dlpark__onnxruntime_kind(int kind)
{
    static const char *const kinds[] = {"of no known kind", "a tensor",        "a sequence", "a map",
                                        "opaque",           "a sparse tensor", "an optional"};

    return kind >= 0 && kind < (int)(sizeof kinds / sizeof *kinds) ? kinds[kind] : kinds[0];
}

onnxruntime_list dlpark__onnxruntime_list(int32_t count, const int64_t *values)
{
    onnxruntime_list list = {"["};
    size_t used = 1;

    for (int32_t i = 0; i < count; i++) {
        size_t room = sizeof list.text - used;
        int length = snprintf(list.text + used, room, "%s%" PRId64, i == 0 ? "" : ", ", values[i]);
        if (length < 0 || (size_t)length + sizeof ", ...]" > room) {
            memcpy(list.text + used, ", ...", sizeof ", ...");
            used += strlen(", ...");
            break;
        }
        used += (size_t)length;
    }
    memcpy(list.text + used, "]", sizeof "]");
    return list;
}
