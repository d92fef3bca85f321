/*
 * The CUDA driver's functions behind what the common code calls. Works in the primary context of each device, which is
 * pushed and popped: to set it would leave the caller's thread with another one.
 */
#include <string.h>

#include "cuda_functions.h"
#include "cuda_types.h"
#include "gpu_parts.h"

/* The least version that knows which memory is of a pool: 11.3. */
enum { CUDA_DRIVER_VERSION_MEMPOOL_HANDLE = 11030 };

/* What was found for each symbol. */
#define CUDA_DRIVER_FIELD(field, symbol, is_optional, parameters) CUresult(*field) parameters;
typedef struct cuda_driver_functions {
    DLPARK__CUDA_FUNCTIONS(CUDA_DRIVER_FIELD)
} cuda_driver_functions;

#define CUDA_DRIVER_SYMBOL(field, symbol, is_optional, parameters) {#symbol, is_optional},
static const dlpark__gpu_symbol cuda_driver_symbols[] = {DLPARK__CUDA_FUNCTIONS(CUDA_DRIVER_SYMBOL)};

enum { CUDA_DRIVER_SYMBOLS = sizeof cuda_driver_symbols / sizeof cuda_driver_symbols[0] };
_Static_assert(sizeof(cuda_driver_functions) == CUDA_DRIVER_SYMBOLS * sizeof(void *),
               "functions are found as addresses of data");

/* The symbol of a field, for messages. */
#define CUDA_DRIVER_NAME(field) cuda_driver_symbols[offsetof(cuda_driver_functions, field) / sizeof(void *)].name
#define CUDA_DRIVER_CALL(gpu, field, ...)                                                                              \
    ((dlpark__gpu_result){cuda_driver_of(gpu)->field(__VA_ARGS__), CUDA_DRIVER_NAME(field)})

static inline const cuda_driver_functions *cuda_driver_of(const dlpark__gpu *gpu)
{
    return (const cuda_driver_functions *)(const void *)gpu->functions;
}

static inline CUdeviceptr cuda_driver_address(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

/* An optional function that is not there. */
static dlpark__gpu_result cuda_driver_lacks(const char *function)
{
    return (dlpark__gpu_result){CUDA_NUMBER_ERROR_NOT_SUPPORTED, function};
}

/* ---- Driver and devices ---- */

static dlpark__gpu_result cuda_driver_init(const dlpark__gpu *gpu, int32_t *version, int32_t *device_count)
{
    int number = 0, count = 0;
    dlpark__gpu_result result = CUDA_DRIVER_CALL(gpu, init, 0);

    if (result.code == DLPARK__GPU_SUCCESS)
        result = CUDA_DRIVER_CALL(gpu, driver_version, &number);
    if (result.code == DLPARK__GPU_SUCCESS)
        result = CUDA_DRIVER_CALL(gpu, device_count, &count);
    *version = number;
    *device_count = count;
    return result;
}

static const char *cuda_driver_error_name(const dlpark__gpu *gpu, int code)
{
    const char *name = NULL;

    (void)cuda_driver_of(gpu)->error_name(code, &name);
    return name;
}

static dlpark__gpu_result cuda_driver_retain(const dlpark__gpu *gpu, int32_t ordinal, void **context, bool *has_pools)
{
    CUdevice device;
    CUcontext primary;
    int supported = 0;
    dlpark__gpu_result result = CUDA_DRIVER_CALL(gpu, device_get, &device, ordinal);

    if (result.code == DLPARK__GPU_SUCCESS)
        result = CUDA_DRIVER_CALL(gpu, device_attribute, &supported,
                                  CUDA_NUMBER_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device);
    /* A driver that does not know the attribute has no pools. */
    if (result.code == DLPARK__GPU_SUCCESS || result.code == DLPARK__GPU_INVALID_VALUE)
        result = CUDA_DRIVER_CALL(gpu, primary_retain, &primary, device);
    if (result.code != DLPARK__GPU_SUCCESS)
        return result;
    *context = primary;
    *has_pools = supported != 0 && cuda_driver_of(gpu)->mem_alloc_async;
    return result;
}

static dlpark__gpu_result cuda_driver_device_name(const dlpark__gpu *gpu, int32_t ordinal, char *text, int nbytes)
{
    CUdevice device;
    dlpark__gpu_result result = CUDA_DRIVER_CALL(gpu, device_get, &device, ordinal);

    return result.code == DLPARK__GPU_SUCCESS ? CUDA_DRIVER_CALL(gpu, device_name, text, nbytes, device) : result;
}

static dlpark__gpu_result cuda_driver_enter(const dlpark__gpu *gpu, int32_t ordinal, void *context,
                                            dlpark__gpu_scope *scope)
{
    (void)ordinal;
    (void)scope;
    return CUDA_DRIVER_CALL(gpu, push, (CUcontext)context);
}

static dlpark__gpu_result cuda_driver_leave(const dlpark__gpu *gpu, const dlpark__gpu_scope *scope)
{
    CUcontext popped;

    (void)scope;
    return CUDA_DRIVER_CALL(gpu, pop, &popped);
}

static dlpark__gpu_result cuda_driver_capture_mode(const dlpark__gpu *gpu, int *mode)
{
    if (!cuda_driver_of(gpu)->capture_mode)
        return cuda_driver_lacks(CUDA_DRIVER_NAME(capture_mode));
    return CUDA_DRIVER_CALL(gpu, capture_mode, mode);
}

/* ---- Memory ---- */

static dlpark__gpu_result cuda_driver_alloc(const dlpark__gpu *gpu, dlpark__gpu_kind kind, size_t nbytes, void **out)
{
    CUdeviceptr address = 0;
    dlpark__gpu_result result;

    if (kind == DLPARK__GPU_HOST)
        return CUDA_DRIVER_CALL(gpu, mem_alloc_host, out, nbytes, CUDA_NUMBER_MEMHOSTALLOC_PORTABLE);
    if (kind == DLPARK__GPU_MANAGED)
        result = CUDA_DRIVER_CALL(gpu, mem_alloc_managed, &address, nbytes, CUDA_NUMBER_MEM_ATTACH_GLOBAL);
    else
        result = CUDA_DRIVER_CALL(gpu, mem_alloc, &address, nbytes);
    *out = (void *)(uintptr_t)address;
    return result;
}

static dlpark__gpu_result cuda_driver_alloc_async(const dlpark__gpu *gpu, size_t nbytes, void *stream, void **out)
{
    CUdeviceptr address = 0;
    dlpark__gpu_result result = CUDA_DRIVER_CALL(gpu, mem_alloc_async, &address, nbytes, (CUstream)stream);

    *out = (void *)(uintptr_t)address;
    return result;
}

static dlpark__gpu_result cuda_driver_free(const dlpark__gpu *gpu, dlpark__gpu_kind kind, void *memory)
{
    if (kind == DLPARK__GPU_HOST)
        return CUDA_DRIVER_CALL(gpu, mem_free_host, memory);
    return CUDA_DRIVER_CALL(gpu, mem_free, cuda_driver_address(memory));
}

/* A driver without pools has no order for it: the thread waits. */
static dlpark__gpu_result cuda_driver_free_async(const dlpark__gpu *gpu, void *memory, void *stream)
{
    if (cuda_driver_of(gpu)->mem_free_async)
        return CUDA_DRIVER_CALL(gpu, mem_free_async, cuda_driver_address(memory), (CUstream)stream);
    dlpark__gpu_result result = CUDA_DRIVER_CALL(gpu, stream_synchronise, (CUstream)stream);
    return result.code == DLPARK__GPU_SUCCESS ? cuda_driver_free(gpu, DLPARK__GPU_DEVICE, memory) : result;
}

/* ---- Streams and events ---- */

static dlpark__gpu_result cuda_driver_synchronise(const dlpark__gpu *gpu)
{
    return (dlpark__gpu_result){cuda_driver_of(gpu)->synchronise(), CUDA_DRIVER_NAME(synchronise)};
}

static dlpark__gpu_result cuda_driver_stream_synchronise(const dlpark__gpu *gpu, void *stream)
{
    return CUDA_DRIVER_CALL(gpu, stream_synchronise, (CUstream)stream);
}

static dlpark__gpu_result cuda_driver_stream_wait(const dlpark__gpu *gpu, void *stream, void *event)
{
    return CUDA_DRIVER_CALL(gpu, stream_wait, (CUstream)stream, (CUevent)event, 0);
}

static dlpark__gpu_result cuda_driver_stream_capturing(const dlpark__gpu *gpu, void *stream, bool *out)
{
    CUstreamCaptureStatus status = 0;

    *out = false;
    if (!cuda_driver_of(gpu)->stream_capturing)
        return (dlpark__gpu_result){DLPARK__GPU_SUCCESS, NULL};
    dlpark__gpu_result result = CUDA_DRIVER_CALL(gpu, stream_capturing, (CUstream)stream, &status);
    *out = status != 0; /* active, or invalidated and not yet ended */
    return result;
}

static dlpark__gpu_result cuda_driver_event_create(const dlpark__gpu *gpu, void **event)
{
    CUevent created = NULL;
    dlpark__gpu_result result = CUDA_DRIVER_CALL(gpu, event_create, &created, CUDA_NUMBER_EVENT_DISABLE_TIMING);

    *event = created;
    return result;
}

static dlpark__gpu_result cuda_driver_event_record(const dlpark__gpu *gpu, void *event, void *stream)
{
    return CUDA_DRIVER_CALL(gpu, event_record, (CUevent)event, (CUstream)stream);
}

static dlpark__gpu_result cuda_driver_event_query(const dlpark__gpu *gpu, void *event)
{
    return CUDA_DRIVER_CALL(gpu, event_query, (CUevent)event);
}

static dlpark__gpu_result cuda_driver_event_synchronise(const dlpark__gpu *gpu, void *event)
{
    return CUDA_DRIVER_CALL(gpu, event_synchronise, (CUevent)event);
}

static dlpark__gpu_result cuda_driver_event_destroy(const dlpark__gpu *gpu, void *event)
{
    return CUDA_DRIVER_CALL(gpu, event_destroy, (CUevent)event);
}

/* ---- Addresses ---- */

/* What is asked of an address, in the order of the list below. */
typedef struct cuda_driver_answer {
    unsigned int memory_type;
    int ordinal;
    unsigned int is_managed;
    CUdeviceptr base;
    size_t nbytes;
    void *pool;
} cuda_driver_answer;

enum { CUDA_DRIVER_ATTRIBUTES = 6 };

/* In one call, which leaves 0 for what it cannot answer; or one after the other, of which the first must be answered. */
static dlpark__gpu_result cuda_driver_ask(const dlpark__gpu *gpu, CUdeviceptr address, cuda_driver_answer *answer)
{
    static const CUpointer_attribute attributes[CUDA_DRIVER_ATTRIBUTES] = {
        CUDA_NUMBER_POINTER_ATTRIBUTE_MEMORY_TYPE, CUDA_NUMBER_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CUDA_NUMBER_POINTER_ATTRIBUTE_IS_MANAGED,  CUDA_NUMBER_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CUDA_NUMBER_POINTER_ATTRIBUTE_RANGE_SIZE,  CUDA_NUMBER_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    CUpointer_attribute asked[CUDA_DRIVER_ATTRIBUTES];
    void *answers[CUDA_DRIVER_ATTRIBUTES] = {&answer->memory_type, &answer->ordinal, &answer->is_managed,
                                             &answer->base,        &answer->nbytes,  &answer->pool};
    unsigned int count = CUDA_DRIVER_ATTRIBUTES - (gpu->version < CUDA_DRIVER_VERSION_MEMPOOL_HANDLE ? 1 : 0);

    memset(answer, 0, sizeof *answer);
    memcpy(asked, attributes, sizeof asked);
    if (cuda_driver_of(gpu)->pointer_attributes)
        return CUDA_DRIVER_CALL(gpu, pointer_attributes, count, asked, answers, address);
    dlpark__gpu_result result = CUDA_DRIVER_CALL(gpu, pointer_attribute, answers[0], asked[0], address);
    for (unsigned int i = 1; i < count && result.code == DLPARK__GPU_SUCCESS; i++)
        (void)cuda_driver_of(gpu)->pointer_attribute(answers[i], asked[i], address);
    return result;
}

static dlpark__gpu_result cuda_driver_pointer(const dlpark__gpu *gpu, const void *address, dlpark_gpu_pointer *out)
{
    cuda_driver_answer answer;
    dlpark__gpu_result result = cuda_driver_ask(gpu, cuda_driver_address(address), &answer);

    if (result.code == DLPARK__GPU_INVALID_VALUE) { /* memory of nobody's that it knows */
        result.code = DLPARK__GPU_SUCCESS;
        answer.memory_type = 0;
    }
    if (result.code != DLPARK__GPU_SUCCESS || answer.memory_type == 0)
        return result;
    out->ordinal = answer.ordinal;
    out->is_pool = answer.pool != NULL;
    out->base = (void *)(uintptr_t)answer.base;
    out->nbytes = answer.nbytes;
    if (answer.is_managed)
        out->device = (DLDevice){kDLCUDAManaged, 0};
    else if (answer.memory_type == CUDA_NUMBER_MEMORYTYPE_HOST)
        out->device = (DLDevice){kDLCUDAHost, 0};
    else
        out->device = (DLDevice){kDLCUDA, answer.ordinal};
    return result;
}

/* ---- Copies ---- */

static dlpark__gpu_result cuda_driver_copy(const dlpark__gpu *gpu, dlpark__gpu_way way, void *to, const void *from,
                                           size_t nbytes, void *stream)
{
    if (way == DLPARK__GPU_TO_DEVICE)
        return CUDA_DRIVER_CALL(gpu, copy_to_device, cuda_driver_address(to), from, nbytes, (CUstream)stream);
    if (way == DLPARK__GPU_TO_HOST)
        return CUDA_DRIVER_CALL(gpu, copy_to_host, to, cuda_driver_address(from), nbytes, (CUstream)stream);
    return CUDA_DRIVER_CALL(gpu, copy_on_device, cuda_driver_address(to), cuda_driver_address(from), nbytes,
                            (CUstream)stream);
}

static dlpark__gpu_result cuda_driver_copy_rows(const dlpark__gpu *gpu, dlpark__gpu_way way,
                                                const dlpark__gpu_rows *rows, void *stream)
{
    bool from_host = way == DLPARK__GPU_TO_DEVICE, to_host = way == DLPARK__GPU_TO_HOST;
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = from_host ? CUDA_NUMBER_MEMORYTYPE_HOST : CUDA_NUMBER_MEMORYTYPE_DEVICE,
        .srcHost = from_host ? rows->from : NULL,
        .srcDevice = from_host ? 0 : cuda_driver_address(rows->from),
        .srcPitch = rows->from_pitch,
        .dstMemoryType = to_host ? CUDA_NUMBER_MEMORYTYPE_HOST : CUDA_NUMBER_MEMORYTYPE_DEVICE,
        .dstHost = to_host ? rows->to : NULL,
        .dstDevice = to_host ? 0 : cuda_driver_address(rows->to),
        .dstPitch = rows->to_pitch,
        .WidthInBytes = rows->nbytes,
        .Height = rows->count,
    };

    return CUDA_DRIVER_CALL(gpu, copy_rows, &copy, (CUstream)stream);
}

static dlpark__gpu_result cuda_driver_copy_peer(const dlpark__gpu *gpu, void *to, int32_t to_ordinal, const void *from,
                                                int32_t from_ordinal, size_t nbytes, void *stream)
{
    return CUDA_DRIVER_CALL(gpu, copy_peer, cuda_driver_address(to), (CUcontext)gpu->devices[to_ordinal].context,
                            cuda_driver_address(from), (CUcontext)gpu->devices[from_ordinal].context, nbytes,
                            (CUstream)stream);
}

/* Not "libcuda.so": on machines for building that is the toolkit's stub. */
static const char *const cuda_driver_libraries[] = {"libcuda.so.1", NULL};

const dlpark__gpu_platform dlpark__cuda_platform = {
    .name = "CUDA",
    .environment = "DLPARK_CUDA_LIBRARY",
    .libraries = cuda_driver_libraries,
    .symbols = cuda_driver_symbols,
    .symbol_count = CUDA_DRIVER_SYMBOLS,
    .version_least = 11000,
    .device_type = kDLCUDA,
    .host_type = kDLCUDAHost,
    .has_managed = true,
    .has_per_thread = true,
    .init = cuda_driver_init,
    .error_name = cuda_driver_error_name,
    .retain = cuda_driver_retain,
    .device_name = cuda_driver_device_name,
    .enter = cuda_driver_enter,
    .leave = cuda_driver_leave,
    .exchange_capture_mode = cuda_driver_capture_mode,
    .alloc = cuda_driver_alloc,
    .alloc_async = cuda_driver_alloc_async,
    .free = cuda_driver_free,
    .free_async = cuda_driver_free_async,
    .synchronise = cuda_driver_synchronise,
    .stream_synchronise = cuda_driver_stream_synchronise,
    .stream_wait = cuda_driver_stream_wait,
    .stream_is_capturing = cuda_driver_stream_capturing,
    .event_create = cuda_driver_event_create,
    .event_record = cuda_driver_event_record,
    .event_query = cuda_driver_event_query,
    .event_synchronise = cuda_driver_event_synchronise,
    .event_destroy = cuda_driver_event_destroy,
    .pointer = cuda_driver_pointer,
    .copy = cuda_driver_copy,
    .copy_rows = cuda_driver_copy_rows,
    .copy_peer = cuda_driver_copy_peer,
};
