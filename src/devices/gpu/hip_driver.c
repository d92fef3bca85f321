/*
 * HIP's runtime behind what the common code calls. A thread has a current device instead of a context, which is set and set
 * back; the runtime itself keeps what a device needs.
 */
#include <string.h>

#include "gpu_parts.h"
#include "hip_functions.h"
#include "hip_types.h"

/* As hipDriverGetVersion() counts: 5.2.21153 is 50221153. */
enum { HIP_DRIVER_VERSION_LEAST = 50000000, HIP_DRIVER_VERSION_6 = 60000000 };

/* What was found for each symbol. */
#define HIP_DRIVER_FIELD(field, symbol, is_optional, returns, parameters) returns(*field) parameters;
typedef struct hip_driver_functions {
    DLPARK__HIP_FUNCTIONS(HIP_DRIVER_FIELD)
} hip_driver_functions;

#define HIP_DRIVER_SYMBOL(field, symbol, is_optional, returns, parameters) {#symbol, is_optional},
static const dlpark__gpu_symbol hip_driver_symbols[] = {DLPARK__HIP_FUNCTIONS(HIP_DRIVER_SYMBOL)};

enum { HIP_DRIVER_SYMBOLS = sizeof hip_driver_symbols / sizeof hip_driver_symbols[0] };
_Static_assert(sizeof(hip_driver_functions) == HIP_DRIVER_SYMBOLS * sizeof(void *),
               "functions are found as addresses of data");

/* The symbol of a field, for messages. */
#define HIP_DRIVER_NAME(field) hip_driver_symbols[offsetof(hip_driver_functions, field) / sizeof(void *)].name
#define HIP_DRIVER_CALL(gpu, field, ...)                                                                               \
    ((dlpark__gpu_result){hip_driver_of(gpu)->field(__VA_ARGS__), HIP_DRIVER_NAME(field)})

static inline const hip_driver_functions *hip_driver_of(const dlpark__gpu *gpu)
{
    return (const hip_driver_functions *)(const void *)gpu->functions;
}

/* An optional function that is not there. */
static dlpark__gpu_result hip_driver_lacks(const char *function)
{
    return (dlpark__gpu_result){HIP_NUMBER_ErrorNotSupported, function};
}

/* ---- Driver and devices ---- */

/* Not hipInit(), which does not tell a machine without a device from other failures. */
static dlpark__gpu_result hip_driver_init(const dlpark__gpu *gpu, int32_t *version, int32_t *device_count)
{
    int number = 0, count = 0;
    dlpark__gpu_result result = HIP_DRIVER_CALL(gpu, driver_version, &number);

    if (result.code == DLPARK__GPU_SUCCESS)
        result = HIP_DRIVER_CALL(gpu, device_count, &count);
    *version = number;
    *device_count = count;
    return result;
}

static const char *hip_driver_error_name(const dlpark__gpu *gpu, int code)
{
    return hip_driver_of(gpu)->error_name(code);
}

static dlpark__gpu_result hip_driver_retain(const dlpark__gpu *gpu, int32_t ordinal, void **context, bool *has_pools)
{
    int supported = 0;
    dlpark__gpu_result result =
        HIP_DRIVER_CALL(gpu, device_attribute, &supported, HIP_NUMBER_DeviceAttributeMemoryPoolsSupported, ordinal);

    *context = NULL;
    if (result.code == DLPARK__GPU_INVALID_VALUE) /* it does not know the attribute, and so has no pools */
        result.code = DLPARK__GPU_SUCCESS;
    *has_pools = supported != 0 && hip_driver_of(gpu)->mem_alloc_async;
    return result;
}

static dlpark__gpu_result hip_driver_device_name(const dlpark__gpu *gpu, int32_t ordinal, char *text, int nbytes)
{
    return HIP_DRIVER_CALL(gpu, device_name, text, nbytes, ordinal);
}

static dlpark__gpu_result hip_driver_enter(const dlpark__gpu *gpu, int32_t ordinal, void *context,
                                           dlpark__gpu_scope *scope)
{
    dlpark__gpu_result result = HIP_DRIVER_CALL(gpu, get_device, &scope->previous);

    (void)context;
    scope->is_changed = result.code == DLPARK__GPU_SUCCESS && scope->previous != ordinal;
    return scope->is_changed ? HIP_DRIVER_CALL(gpu, set_device, ordinal) : result;
}

static dlpark__gpu_result hip_driver_leave(const dlpark__gpu *gpu, const dlpark__gpu_scope *scope)
{
    if (!scope->is_changed)
        return (dlpark__gpu_result){DLPARK__GPU_SUCCESS, NULL};
    return HIP_DRIVER_CALL(gpu, set_device, scope->previous);
}

static dlpark__gpu_result hip_driver_capture_mode(const dlpark__gpu *gpu, int *mode)
{
    if (!hip_driver_of(gpu)->capture_mode)
        return hip_driver_lacks(HIP_DRIVER_NAME(capture_mode));
    return HIP_DRIVER_CALL(gpu, capture_mode, mode);
}

/* ---- Memory ---- */

static dlpark__gpu_result hip_driver_alloc(const dlpark__gpu *gpu, dlpark__gpu_kind kind, size_t nbytes, void **out)
{
    if (kind == DLPARK__GPU_HOST)
        return HIP_DRIVER_CALL(gpu, mem_alloc_host, out, nbytes, HIP_NUMBER_HostMallocPortable);
    return HIP_DRIVER_CALL(gpu, mem_alloc, out, nbytes);
}

static dlpark__gpu_result hip_driver_alloc_async(const dlpark__gpu *gpu, size_t nbytes, void *stream, void **out)
{
    return HIP_DRIVER_CALL(gpu, mem_alloc_async, out, nbytes, (hipStream_t)stream);
}

static dlpark__gpu_result hip_driver_free(const dlpark__gpu *gpu, dlpark__gpu_kind kind, void *memory)
{
    return kind == DLPARK__GPU_HOST ? HIP_DRIVER_CALL(gpu, mem_free_host, memory)
                                    : HIP_DRIVER_CALL(gpu, mem_free, memory);
}

/* A runtime without pools has no order for it: the thread waits. */
static dlpark__gpu_result hip_driver_free_async(const dlpark__gpu *gpu, void *memory, void *stream)
{
    if (hip_driver_of(gpu)->mem_free_async)
        return HIP_DRIVER_CALL(gpu, mem_free_async, memory, (hipStream_t)stream);
    dlpark__gpu_result result = HIP_DRIVER_CALL(gpu, stream_synchronise, (hipStream_t)stream);
    return result.code == DLPARK__GPU_SUCCESS ? HIP_DRIVER_CALL(gpu, mem_free, memory) : result;
}

/* ---- Streams and events ---- */

static dlpark__gpu_result hip_driver_synchronise(const dlpark__gpu *gpu)
{
    return (dlpark__gpu_result){hip_driver_of(gpu)->synchronise(), HIP_DRIVER_NAME(synchronise)};
}

static dlpark__gpu_result hip_driver_stream_synchronise(const dlpark__gpu *gpu, void *stream)
{
    return HIP_DRIVER_CALL(gpu, stream_synchronise, (hipStream_t)stream);
}

static dlpark__gpu_result hip_driver_stream_wait(const dlpark__gpu *gpu, void *stream, void *event)
{
    return HIP_DRIVER_CALL(gpu, stream_wait, (hipStream_t)stream, (hipEvent_t)event, 0);
}

static dlpark__gpu_result hip_driver_stream_capturing(const dlpark__gpu *gpu, void *stream, bool *out)
{
    hipStreamCaptureStatus status = 0;

    *out = false;
    if (!hip_driver_of(gpu)->stream_capturing)
        return (dlpark__gpu_result){DLPARK__GPU_SUCCESS, NULL};
    dlpark__gpu_result result = HIP_DRIVER_CALL(gpu, stream_capturing, (hipStream_t)stream, &status);
    *out = status != 0; /* active, or invalidated and not yet ended */
    return result;
}

static dlpark__gpu_result hip_driver_event_create(const dlpark__gpu *gpu, void **event)
{
    hipEvent_t created = NULL;
    dlpark__gpu_result result = HIP_DRIVER_CALL(gpu, event_create, &created, HIP_NUMBER_EventDisableTiming);

    *event = created;
    return result;
}

static dlpark__gpu_result hip_driver_event_record(const dlpark__gpu *gpu, void *event, void *stream)
{
    return HIP_DRIVER_CALL(gpu, event_record, (hipEvent_t)event, (hipStream_t)stream);
}

static dlpark__gpu_result hip_driver_event_query(const dlpark__gpu *gpu, void *event)
{
    return HIP_DRIVER_CALL(gpu, event_query, (hipEvent_t)event);
}

static dlpark__gpu_result hip_driver_event_synchronise(const dlpark__gpu *gpu, void *event)
{
    return HIP_DRIVER_CALL(gpu, event_synchronise, (hipEvent_t)event);
}

static dlpark__gpu_result hip_driver_event_destroy(const dlpark__gpu *gpu, void *event)
{
    return HIP_DRIVER_CALL(gpu, event_destroy, (hipEvent_t)event);
}

/* ---- Addresses ---- */

static dlpark__gpu_result hip_driver_pointer(const dlpark__gpu *gpu, const void *address, dlpark_gpu_pointer *out)
{
    hipPointerAttribute_t attributes;
    hipDeviceptr_t base = NULL;
    size_t nbytes = 0;
    bool is_6 = gpu->version >= HIP_DRIVER_VERSION_6;
    int host = is_6 ? HIP_NUMBER_6_MemoryTypeHost : HIP_NUMBER_MemoryTypeHost;

    memset(&attributes, 0, sizeof attributes);
    dlpark__gpu_result result = HIP_DRIVER_CALL(gpu, pointer_attributes, &attributes, address);
    bool is_unknown = result.code == DLPARK__GPU_INVALID_VALUE ||
                      (is_6 && attributes.memoryType == HIP_NUMBER_6_MemoryTypeUnregistered);
    if (result.code == DLPARK__GPU_INVALID_VALUE)
        result.code = DLPARK__GPU_SUCCESS;
    if (result.code != DLPARK__GPU_SUCCESS || is_unknown)
        return result;
    out->ordinal = attributes.device;
    out->device = attributes.memoryType == host ? (DLDevice){kDLROCMHost, 0} : (DLDevice){kDLROCM, attributes.device};
    /* It need not know the range of page-locked memory. */
    if (hip_driver_of(gpu)->address_range(&base, &nbytes, dlpark__unconst(address)) == DLPARK__GPU_SUCCESS) {
        out->base = base;
        out->nbytes = nbytes;
    }
    return result;
}

/* ---- Copies ---- */

static hipMemcpyKind hip_driver_kind(dlpark__gpu_way way)
{
    return way == DLPARK__GPU_TO_DEVICE ? HIP_NUMBER_MemcpyHostToDevice
           : way == DLPARK__GPU_TO_HOST ? HIP_NUMBER_MemcpyDeviceToHost
                                        : HIP_NUMBER_MemcpyDeviceToDevice;
}

static dlpark__gpu_result hip_driver_copy(const dlpark__gpu *gpu, dlpark__gpu_way way, void *to, const void *from,
                                          size_t nbytes, void *stream)
{
    return HIP_DRIVER_CALL(gpu, copy, to, from, nbytes, hip_driver_kind(way), (hipStream_t)stream);
}

static dlpark__gpu_result hip_driver_copy_rows(const dlpark__gpu *gpu, dlpark__gpu_way way,
                                               const dlpark__gpu_rows *rows, void *stream)
{
    return HIP_DRIVER_CALL(gpu, copy_rows, rows->to, rows->to_pitch, rows->from, rows->from_pitch, rows->nbytes,
                           rows->count, hip_driver_kind(way), (hipStream_t)stream);
}

static dlpark__gpu_result hip_driver_copy_peer(const dlpark__gpu *gpu, void *to, int32_t to_ordinal, const void *from,
                                               int32_t from_ordinal, size_t nbytes, void *stream)
{
    return HIP_DRIVER_CALL(gpu, copy_peer, to, to_ordinal, from, from_ordinal, nbytes, (hipStream_t)stream);
}

static const char *const hip_driver_libraries[] = {"libamdhip64.so.6", "libamdhip64.so.5", NULL};

const dlpark__gpu_platform dlpark__hip_platform = {
    .name = "ROCm",
    .environment = "DLPARK_HIP_LIBRARY",
    .libraries = hip_driver_libraries,
    .symbols = hip_driver_symbols,
    .symbol_count = HIP_DRIVER_SYMBOLS,
    .version_least = HIP_DRIVER_VERSION_LEAST,
    .device_type = kDLROCM,
    .host_type = kDLROCMHost,
    .has_managed = false,
    .has_per_thread = false,
    .init = hip_driver_init,
    .error_name = hip_driver_error_name,
    .retain = hip_driver_retain,
    .device_name = hip_driver_device_name,
    .enter = hip_driver_enter,
    .leave = hip_driver_leave,
    .exchange_capture_mode = hip_driver_capture_mode,
    .alloc = hip_driver_alloc,
    .alloc_async = hip_driver_alloc_async,
    .free = hip_driver_free,
    .free_async = hip_driver_free_async,
    .synchronise = hip_driver_synchronise,
    .stream_synchronise = hip_driver_stream_synchronise,
    .stream_wait = hip_driver_stream_wait,
    .stream_is_capturing = hip_driver_stream_capturing,
    .event_create = hip_driver_event_create,
    .event_record = hip_driver_event_record,
    .event_query = hip_driver_event_query,
    .event_synchronise = hip_driver_event_synchronise,
    .event_destroy = hip_driver_event_destroy,
    .pointer = hip_driver_pointer,
    .copy = hip_driver_copy,
    .copy_rows = hip_driver_copy_rows,
    .copy_peer = hip_driver_copy_peer,
};
