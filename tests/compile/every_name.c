/*
 * Uses every name of DLPack 1.3, as C and as C++, after including an upstream dlpack.h and ours in either order and
 * each twice. FIRST and SECOND are the two headers; STANDIN says which release the upstream one is.
 */
#include FIRST

#include SECOND

#include FIRST

#include SECOND

#ifdef __cplusplus
#define REQUIRE(condition) static_assert(condition, #condition)
#else
#define REQUIRE(condition) _Static_assert(condition, #condition)
#endif

REQUIRE(kDLCPU == 1 && kDLCUDA == 2 && kDLCUDAHost == 3 && kDLOpenCL == 4 && kDLVulkan == 7 && kDLMetal == 8);
REQUIRE(kDLVPI == 9 && kDLROCM == 10 && kDLROCMHost == 11 && kDLExtDev == 12 && kDLCUDAManaged == 13);
REQUIRE(kDLOneAPI == 14 && kDLWebGPU == 15 && kDLHexagon == 16 && kDLMAIA == 17 && kDLTrn == 18);
REQUIRE(kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2 && kDLOpaqueHandle == 3 && kDLBfloat == 4 && kDLComplex == 5);
REQUIRE(kDLBool == 6 && kDLFloat8_e3m4 == 7 && kDLFloat8_e4m3 == 8 && kDLFloat8_e4m3b11fnuz == 9);
REQUIRE(kDLFloat8_e4m3fn == 10 && kDLFloat8_e4m3fnuz == 11 && kDLFloat8_e5m2 == 12 && kDLFloat8_e5m2fnuz == 13);
REQUIRE(kDLFloat8_e8m0fnu == 14 && kDLFloat6_e2m3fn == 15 && kDLFloat6_e3m2fn == 16 && kDLFloat4_e2m1fn == 17);
REQUIRE(DLPACK_FLAG_BITMASK_READ_ONLY == 1 && DLPACK_FLAG_BITMASK_IS_COPIED == 2);
REQUIRE(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED == 4);
REQUIRE(sizeof(DLDeviceType) == 4);
#if STANDIN >= 100 && defined(UPSTREAM_FIRST)
REQUIRE(DLPACK_MAJOR_VERSION * 100 + DLPACK_MINOR_VERSION == STANDIN);
#else
REQUIRE(DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION == 3);
#endif

/* The preprocessor sees the version too. */
#if DLPACK_MAJOR_VERSION != 1
#error "DLPACK_MAJOR_VERSION is not 1"
#endif

DLPACK_EXTERN_C DLPACK_DLL int abi_every_name(void *object, void (*set_error)(void *, const char *, const char *));

static const char *device_text(DLDevice device)
{
    switch ((int)device.device_type) {
    case kDLCPU:
        return "cpu";
    case kDLOneAPI:
        return "oneapi";
    case kDLWebGPU:
        return "webgpu";
    case kDLHexagon:
        return "hexagon";
    case kDLMAIA:
        return "maia";
    case kDLTrn:
        return "trn";
    default:
        return "";
    }
}

static int code_bits(DLDataType dtype)
{
    switch (dtype.code) {
    case kDLBool:
    case kDLFloat8_e3m4:
    case kDLFloat8_e4m3:
    case kDLFloat8_e4m3b11fnuz:
    case kDLFloat8_e4m3fn:
    case kDLFloat8_e4m3fnuz:
    case kDLFloat8_e5m2:
    case kDLFloat8_e5m2fnuz:
    case kDLFloat8_e8m0fnu:
        return 8;
    case kDLFloat6_e2m3fn:
    case kDLFloat6_e3m2fn:
        return 6;
    case kDLFloat4_e2m1fn:
        return 4;
    default:
        return dtype.bits;
    }
}

#if STANDIN >= 102 || !defined(UPSTREAM_FIRST)
/* Without a default the compiler checks that the enum has exactly these. */
static int is_host(DLDeviceType type)
{
    switch (type) {
    case kDLCPU:
    case kDLCUDAHost:
    case kDLROCMHost:
    case kDLCUDAManaged:
        return 1;
    case kDLCUDA:
    case kDLOpenCL:
    case kDLVulkan:
    case kDLMetal:
    case kDLVPI:
    case kDLROCM:
    case kDLExtDev:
    case kDLOneAPI:
    case kDLWebGPU:
    case kDLHexagon:
    case kDLMAIA:
    case kDLTrn:
        return 0;
    }
    return 0;
}
#else
static int is_host(DLDeviceType type)
{
    return type == kDLCPU || type == kDLCUDAHost;
}
#endif

static void end_versioned(DLManagedTensorVersioned *self)
{
    self->flags = 0;
}

static void end_legacy(struct DLManagedTensor *self)
{
    self->manager_ctx = NULL;
}

static int make(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                void (*SetError)(void *error_ctx, const char *kind, const char *message))
{
    if (SetError)
        SetError(error_ctx, "BufferError", prototype->ndim ? "rank" : "scalar");
    *out = NULL;
    return -1;
}

static int from_object(void *py_object, DLManagedTensorVersioned **out)
{
    *out = (DLManagedTensorVersioned *)py_object;
    return 0;
}

static int to_object(DLManagedTensorVersioned *tensor, void **out_py_object)
{
    *out_py_object = tensor;
    return 0;
}

static int view_object(void *py_object, DLTensor *out)
{
    *out = ((struct DLManagedTensorVersioned *)py_object)->dl_tensor;
    return 0;
}

static int stream(DLDeviceType device_type, int32_t device_id, void **out_current_stream)
{
    *out_current_stream = NULL;
    return device_type == kDLTrn && device_id ? -1 : 0;
}

int abi_every_name(void *object, void (*set_error)(void *, const char *, const char *))
{
    int64_t shape[1] = {3}, strides[1] = {1};
    DLDevice device = {kDLMAIA, 0};
    DLDataType dtype = {kDLFloat8_e5m2, 8, 1};
    DLDataTypeCode code = kDLInt;
    DLPackVersion version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    DLTensor tensor = {object, device, 1, dtype, shape, strides, 0};
    DLManagedTensor legacy = {tensor, NULL, end_legacy};
    DLManagedTensorVersioned versioned = {version, NULL, end_versioned,
                                          DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
                                          tensor};
    struct DLManagedTensorVersioned *tagged = &versioned;
    DLPackManagedTensorAllocator allocator = make;
    DLPackManagedTensorFromPyObjectNoSync from = from_object;
    DLPackManagedTensorToPyObjectNoSync to = to_object;
    DLPackDLTensorFromPyObjectNoSync view = view_object;
    DLPackCurrentWorkStream work_stream = stream;
    DLPackExchangeAPIHeader header = {version, NULL};
    DLPackExchangeAPI table = {header, allocator, from, to, view, work_stream};
    struct DLPackExchangeAPIHeader *previous = &table.header;
    struct DLPackExchangeAPI *tagged_table = &table;

    legacy.deleter(&legacy);
    tagged->deleter(tagged);
    device.device_type = kDLTrn;
    header.prev_api = previous;
    return tagged_table->managed_tensor_allocator(&tensor, &tagged, NULL, set_error) + code_bits(dtype) + (int)code +
           is_host(kDLCPU) + (device_text(device)[0] == 't') + (header.prev_api == NULL);
}
