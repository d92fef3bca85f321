#include "fakeopencl.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_parts.h"

#define OPENCL_DECLARE_FUNCTION(result, name, parameters) opencl_##name##_fn cl##name;
OPENCL_FUNCTIONS(OPENCL_DECLARE_FUNCTION)

#if defined(FAKEOPENCL_MANY)
enum { FAKE_PLATFORMS = 17, FAKE_DEVICES = 30 };
#else
enum { FAKE_PLATFORMS = 2, FAKE_DEVICES = 2 };
#endif

enum {
    INVALID_VALUE = -30,
    MISALIGNED = -13,
    INVALID_CONTEXT = -34,
    INVALID_MEM = -38,
    INVALID_WAIT_LIST = -57,
    INVALID_OPERATION = -59,
    INVALID_SIZE = -61
};

struct _cl_platform_id {
    int number;
};
struct _cl_device_id {
    int number;
};
struct _cl_context {
    int references;
    struct _cl_device_id *device;
};
struct _cl_command_queue {
    uint32_t references;
    struct _cl_context *context;
    int number;
    bool is_flushed;
};
struct _cl_event {
    uint32_t references;
    struct _cl_command_queue *queue;
};
struct _cl_mem {
    uint32_t references;
    uint64_t flags;
    size_t size, offset;
    struct _cl_context *context;
    struct _cl_mem *parent;
    unsigned char *bytes;
    opencl_callback *callback;
    void *callback_context;
    void *mapped; /* one at a time */
    size_t mapped_offset, mapped_size;
    uint64_t mapped_flags;
};

fakeopencl_settings fakeopencl;
static struct _cl_platform_id platforms[FAKE_PLATFORMS];
static struct _cl_device_id devices[FAKE_PLATFORMS * FAKE_DEVICES], unlisted;
static long live, calls, fail_at;
static int32_t fail_code;
static const char *failed;
static char log_text[512];

static void die(const char *what)
{
    fprintf(stderr, "fakeopencl: %s\n", what);
    abort();
}

/* ---- Controls ---- */

void fakeopencl_fail(long nth, int32_t code)
{
    calls = 0;
    fail_at = nth;
    fail_code = code;
    failed = NULL;
}

long fakeopencl_calls(void)
{
    return calls;
}

const char *fakeopencl_failed(void)
{
    return failed;
}

long fakeopencl_live(void)
{
    return live;
}

const char *fakeopencl_log(void)
{
    static char told[sizeof log_text];

    memcpy(told, log_text, sizeof told);
    log_text[0] = '\0';
    return told;
}

static void note(const char *format, ...)
{
    size_t length = strlen(log_text);
    va_list arguments;

    va_start(arguments, format);
    if (length > 0 && length + 1 < sizeof log_text)
        log_text[length++] = ' ';
    (void)vsnprintf(log_text + length, sizeof log_text - length, format, arguments);
    va_end(arguments);
}

/* Every call that may fail begins so; 0: go on. */
static int32_t planted(const char *function)
{
    if (++calls != fail_at)
        return 0;
    failed = function;
    return fail_code;
}

#define PLANTED()                                                                                                      \
    do {                                                                                                               \
        int32_t planted_code = planted(__func__);                                                                      \
        if (planted_code != 0)                                                                                         \
            return planted_code;                                                                                       \
    } while (0)

/* Of functions that return an object and their error through a pointer. */
#define REFUSE(code, out)                                                                                              \
    do {                                                                                                               \
        *(out) = (code);                                                                                               \
        return NULL;                                                                                                   \
    } while (0)

static int32_t answer(size_t room, void *out, size_t *nbytes, const void *value, size_t value_nbytes)
{
    if (nbytes != NULL)
        *nbytes = value_nbytes;
    if (out == NULL)
        return 0;
    if (room < value_nbytes)
        return INVALID_VALUE;
    memcpy(out, value, value_nbytes);
    return 0;
}

/* ---- What there is ---- */

int32_t clGetPlatformIDs(uint32_t room, struct _cl_platform_id **out, uint32_t *count)
{
    PLANTED();
    if (fakeopencl.platforms_code != 0)
        return fakeopencl.platforms_code;
    *count = fakeopencl.no_platforms ? 0 : FAKE_PLATFORMS;
    for (uint32_t i = 0; i < room && i < *count; i++) {
        platforms[i].number = (int)i;
        out[i] = &platforms[i];
    }
    return 0;
}

int32_t clGetDeviceIDs(struct _cl_platform_id *platform, uint64_t types, uint32_t room, struct _cl_device_id **out,
                       uint32_t *count)
{
    PLANTED();
    if (types != OPENCL_DEVICE_TYPE_ALL || room == 0)
        return INVALID_VALUE;
    if (fakeopencl.devices_code != 0)
        return fakeopencl.devices_code;
    *count = FAKE_DEVICES;
    for (uint32_t i = 0; i < room && i < FAKE_DEVICES; i++)
        out[i] = &devices[(uint32_t)platform->number * FAKE_DEVICES + i];
    return 0;
}

int32_t clGetDeviceInfo(struct _cl_device_id *device, uint32_t what, size_t room, void *out, size_t *nbytes)
{
    static const char name[] = "a device that is none, with a name of more than 47 characters";
    uint32_t align_nbits = fakeopencl.align_nbits ? fakeopencl.align_nbits : 1024;

    PLANTED();
    if (what == OPENCL_DEVICE_NAME)
        return answer(room, out, nbytes, name, sizeof name);
    if (device == &unlisted)
        align_nbits = 8;
    return what == OPENCL_DEVICE_MEM_BASE_ADDR_ALIGN ? answer(room, out, nbytes, &align_nbits, sizeof align_nbits)
                                                     : INVALID_VALUE;
}

int32_t clGetContextInfo(struct _cl_context *context, uint32_t what, size_t room, void *out, size_t *nbytes)
{
    struct _cl_device_id *all[80];
    size_t count = fakeopencl.context_devices ? fakeopencl.context_devices : 2;

    PLANTED();
    if (what != OPENCL_CONTEXT_DEVICES || count > 80)
        return INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        all[i] = i == 0 ? context->device : &unlisted;
    return answer(room, out, nbytes, all, count * sizeof *all);
}

/* ---- Contexts and queues ---- */

struct _cl_context *fakeopencl_context(int device)
{
    struct _cl_context *made = calloc(1, sizeof *made);

    if (made == NULL)
        die("no memory");
    made->references = 1;
    made->device = device < 0 ? &unlisted : &devices[device];
    live++;
    return made;
}

void fakeopencl_context_release(struct _cl_context *context)
{
    live--;
    free(context);
}

struct _cl_command_queue *fakeopencl_queue(struct _cl_context *context, int number)
{
    struct _cl_command_queue *made = calloc(1, sizeof *made);

    if (made == NULL)
        die("no memory");
    *made = (struct _cl_command_queue){1, context, number, false};
    live++;
    return made;
}

int32_t clRetainCommandQueue(struct _cl_command_queue *queue)
{
    PLANTED();
    queue->references++;
    return 0;
}

int32_t clReleaseCommandQueue(struct _cl_command_queue *queue)
{
    if (--queue->references == 0) {
        live--;
        free(queue);
    }
    return 0;
}

int32_t clGetCommandQueueInfo(struct _cl_command_queue *queue, uint32_t what, size_t room, void *out, size_t *nbytes)
{
    PLANTED();
    return what == OPENCL_QUEUE_CONTEXT ? answer(room, out, nbytes, &queue->context, sizeof queue->context)
                                        : INVALID_VALUE;
}

/* ---- Order ---- */

static void event_release(struct _cl_event *event)
{
    if (--event->references == 0) {
        live--;
        free(event);
    }
}

int32_t clEnqueueMarkerWithWaitList(struct _cl_command_queue *queue, uint32_t count, struct _cl_event *const *list,
                                    struct _cl_event **event)
{
    PLANTED();
    if (count != 0 || list != NULL || event == NULL)
        return INVALID_VALUE;
    *event = calloc(1, sizeof **event);
    if (*event == NULL)
        return OPENCL_OUT_OF_HOST_MEMORY;
    **event = (struct _cl_event){1, queue};
    queue->is_flushed = false;
    live++;
    note("marker%d", queue->number);
    return 0;
}

#if !defined(FAKEOPENCL_OLD) /* as OpenCL 1.1 */
int32_t clEnqueueBarrierWithWaitList(struct _cl_command_queue *queue, uint32_t count, struct _cl_event *const *list,
                                     struct _cl_event **event)
{
    PLANTED();
    if (event != NULL || count > 1 || (count == 0) != (list == NULL))
        return INVALID_VALUE;
    if (count == 0) {
        note("barrier%d", queue->number);
        return 0;
    }
    if (list[0]->queue->context != queue->context)
        return INVALID_CONTEXT;
    if (!list[0]->queue->is_flushed) /* what an implementation would wait for in vain */
        return INVALID_WAIT_LIST;
    note("barrier%d<%d", queue->number, list[0]->queue->number);
    return 0;
}
#endif

int32_t clReleaseEvent(struct _cl_event *event)
{
    event_release(event);
    return 0;
}

int32_t clFlush(struct _cl_command_queue *queue)
{
    PLANTED();
    queue->is_flushed = true;
    note("flush%d", queue->number);
    return 0;
}

int32_t clFinish(struct _cl_command_queue *queue)
{
    PLANTED();
    note("finish%d", queue->number);
    return 0;
}

/* ---- Buffers ---- */

static struct _cl_mem *mem_new(struct _cl_context *context, uint64_t flags, size_t size)
{
    struct _cl_mem *made = calloc(1, sizeof *made);

    if (made == NULL)
        die("no memory");
    made->references = 1;
    made->context = context;
    made->flags = flags;
    made->size = size;
    live++;
    return made;
}

struct _cl_mem *clCreateBuffer(struct _cl_context *context, uint64_t flags, size_t size, void *host, int32_t *code)
{
    *code = planted(__func__);
    if (*code != 0)
        return NULL;
    if (size == 0)
        REFUSE(INVALID_SIZE, code);
    if ((host != NULL) != ((flags & OPENCL_MEM_USE_HOST_PTR) != 0))
        REFUSE(INVALID_VALUE, code);
    unsigned char *bytes = host != NULL ? host : size < 1000000 ? malloc(size) : NULL;
    if (bytes == NULL)
        REFUSE(OPENCL_MEM_ALLOCATION_FAILURE, code);
    struct _cl_mem *made = mem_new(context, flags, size);
    made->bytes = bytes;
    return made;
}

struct _cl_mem *clCreateSubBuffer(struct _cl_mem *parent, uint64_t flags, uint32_t kind, const void *region,
                                  int32_t *code)
{
    const opencl_region *where = region;
    size_t align_nbytes = (fakeopencl.align_nbits ? fakeopencl.align_nbits : 1024) / 8;

    *code = planted(__func__);
    if (*code != 0)
        return NULL;
    if (parent->parent != NULL)
        REFUSE(INVALID_MEM, code);
    if (kind != OPENCL_BUFFER_CREATE_TYPE_REGION || where->origin > parent->size ||
        where->size > parent->size - where->origin)
        REFUSE(INVALID_VALUE, code);
    if ((parent->flags & OPENCL_MEM_READ_ONLY) != 0 && (flags & OPENCL_MEM_READ_WRITE) != 0)
        REFUSE(INVALID_VALUE, code);
    if (where->size == 0)
        REFUSE(INVALID_SIZE, code);
    if (where->origin % align_nbytes != 0)
        REFUSE(MISALIGNED, code);
    struct _cl_mem *made = mem_new(parent->context, flags, where->size);
    made->parent = parent;
    made->offset = where->origin;
    made->bytes = parent->bytes + where->origin;
    parent->references++;
    return made;
}

int32_t clRetainMemObject(struct _cl_mem *mem)
{
    PLANTED();
    mem->references++;
    return 0;
}

int32_t clReleaseMemObject(struct _cl_mem *mem)
{
    if (mem->references == 0)
        die("a reference is dropped twice");
    if (--mem->references != 0)
        return 0;
    if (mem->mapped != NULL)
        die("a buffer ends that is mapped");
    if (mem->callback != NULL)
        mem->callback(mem, mem->callback_context);
    if (mem->parent != NULL)
        (void)clReleaseMemObject(mem->parent);
    else if ((mem->flags & OPENCL_MEM_USE_HOST_PTR) == 0)
        free(mem->bytes);
    live--;
    free(mem);
    return 0;
}

int32_t clSetMemObjectDestructorCallback(struct _cl_mem *mem, opencl_callback *callback, void *context)
{
    PLANTED();
    if (mem->callback != NULL)
        die("a second destructor callback");
    mem->callback = callback;
    mem->callback_context = context;
    return 0;
}

int32_t clGetMemObjectInfo(struct _cl_mem *mem, uint32_t what, size_t room, void *out, size_t *nbytes)
{
    uint32_t type = fakeopencl.mem_type ? fakeopencl.mem_type : OPENCL_MEM_OBJECT_BUFFER;

    PLANTED();
    switch (what) {
    case OPENCL_MEM_TYPE:
        return answer(room, out, nbytes, &type, sizeof type);
    case OPENCL_MEM_FLAGS:
        return answer(room, out, nbytes, &mem->flags, sizeof mem->flags);
    case OPENCL_MEM_SIZE:
        return answer(room, out, nbytes, &mem->size, sizeof mem->size);
    case OPENCL_MEM_CONTEXT:
        return answer(room, out, nbytes, &mem->context, sizeof mem->context);
    case OPENCL_MEM_ASSOCIATED_MEMOBJECT:
        return answer(room, out, nbytes, &mem->parent, sizeof mem->parent);
    case OPENCL_MEM_OFFSET:
        return answer(room, out, nbytes, &mem->offset, sizeof mem->offset);
    default:
        return INVALID_VALUE;
    }
}

unsigned char *fakeopencl_bytes(struct _cl_mem *mem)
{
    return mem->bytes;
}

uint32_t fakeopencl_references(struct _cl_mem *mem)
{
    return mem->references;
}

/* ---- Mappings ---- */

void *clEnqueueMapBuffer(struct _cl_command_queue *queue, struct _cl_mem *mem, uint32_t is_blocking, uint64_t flags,
                         size_t offset, size_t size, uint32_t count, struct _cl_event *const *list,
                         struct _cl_event **event, int32_t *code)
{
    *code = planted(__func__);
    if (*code != 0)
        return NULL;
    if (queue->context != mem->context)
        REFUSE(INVALID_CONTEXT, code);
    if (!is_blocking || count != 0 || list != NULL || event != NULL || size == 0 || offset > mem->size ||
        size > mem->size - offset)
        REFUSE(INVALID_VALUE, code);
    if (mem->mapped != NULL)
        REFUSE(INVALID_OPERATION, code);
    mem->mapped = malloc(size);
    if (mem->mapped == NULL)
        REFUSE(OPENCL_OUT_OF_HOST_MEMORY, code);
    if (flags == 4) /* CL_MAP_WRITE_INVALIDATE_REGION: what is there may be anything */
        memset(mem->mapped, 0xDD, size);
    else
        memcpy(mem->mapped, mem->bytes + offset, size);
    mem->mapped_offset = offset;
    mem->mapped_size = size;
    mem->mapped_flags = flags;
    live++;
    note("map%d", queue->number);
    return mem->mapped;
}

int32_t clEnqueueUnmapMemObject(struct _cl_command_queue *queue, struct _cl_mem *mem, void *address, uint32_t count,
                                struct _cl_event *const *list, struct _cl_event **event)
{
    if (mem->mapped == NULL || mem->mapped != address || count != 0 || list != NULL || event != NULL)
        die("what is unmapped is not mapped");
    if ((mem->mapped_flags & (2 | 4)) != 0)
        memcpy(mem->bytes + mem->mapped_offset, address, mem->mapped_size);
    free(mem->mapped);
    mem->mapped = NULL;
    live--;
    note("unmap%d", queue->number);
    return 0;
}
