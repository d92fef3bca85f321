/*
 * Drivers that have been loaded, their devices, and what they say when something fails.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_parts.h"

/* The drivers of this process, and which process that is. */
static struct {
    pthread_mutex_t lock;
    dlpark__gpu *first;
    long pid;
    bool has_handler;
    bool is_forked; /* atomic */
} gpu_known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Failures ---- */

dlpark_status dlpark__gpu_fail(const dlpark__gpu *gpu, dlpark__gpu_result result, dlpark_error *err)
{
    dlpark_status status = result.code == DLPARK__GPU_OUT_OF_MEMORY ? DLPARK_E_MEMORY : DLPARK_E_FOREIGN;
    const char *name = gpu->platform->error_name(gpu, result.code);

    return dlpark_error_set(err, status, "%s: %.60s (%d)", result.function, name ? name : "an unknown error",
                            result.code);
}

static DLPARK_COLD dlpark_status gpu_refuse_child(const char *name, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_FOREIGN,
                            "the driver of %s was opened by process %ld, and this is its child %ld: it does not work "
                            "after fork(); open it in the child only, or start the child by exec",
                            name, gpu_known.pid, (long)getpid());
}

dlpark_status dlpark__gpu_check(const dlpark__gpu *gpu, const char *open, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(!gpu))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "no driver is loaded; %s does", open);
    if (DLPARK_UNLIKELY(dlpark__gpu_is_forked()))
        return gpu_refuse_child(gpu->platform->name, err);
    return DLPARK_OK;
}

/* ---- Processes ---- */

bool dlpark__gpu_is_forked(void)
{
    return __atomic_load_n(&gpu_known.is_forked, __ATOMIC_RELAXED); /* set before the child's first thread runs on */
}

/* In a child, which has one thread. A call of getpid() in each of ours would take longer than all the rest of it. */
static void gpu_mark_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    gpu_known.lock = fresh; /* another thread of the parent may have had it */
    if (gpu_known.first)
        __atomic_store_n(&gpu_known.is_forked, true, __ATOMIC_RELAXED);
}

static dlpark_status gpu_watch_forks(dlpark_error *err)
{
    if (gpu_known.has_handler)
        return DLPARK_OK;
    if (pthread_atfork(NULL, NULL, gpu_mark_child) != 0)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a handler of fork()");
    gpu_known.has_handler = true;
    return DLPARK_OK;
}

/* ---- Loading ---- */

/* What dlsym() finds for each symbol; false where one that is needed is missing. */
static dlpark_status gpu_find_functions(const dlpark__gpu_platform *platform, void *library, const char *path,
                                        void **functions, dlpark_error *err)
{
    for (size_t i = 0; i < platform->symbol_count; i++) {
        functions[i] = dlsym(library, platform->symbols[i].name);
        if (!functions[i] && !platform->symbols[i].is_optional)
            return dlpark_error_set(err, DLPARK_E_FOREIGN,
                                    "%.160s has no %s(): it is no driver of %s, or one that is too old", path,
                                    platform->symbols[i].name, platform->name);
    }
    return DLPARK_OK;
}

static void gpu_free(dlpark__gpu *gpu)
{
    free(gpu->functions);
    free(gpu->path);
    free(gpu->devices);
    free(gpu);
}

static dlpark_status gpu_new(const dlpark__gpu_platform *platform, void *library, const char *path, dlpark__gpu **out,
                             dlpark_error *err)
{
    dlpark__gpu *gpu = calloc(1, sizeof *gpu);
    size_t path_nbytes = strlen(path) + 1;

    if (gpu) {
        gpu->platform = platform;
        gpu->library = library;
        gpu->functions = calloc(platform->symbol_count, sizeof *gpu->functions);
        gpu->path = malloc(path_nbytes);
    }
    if (!gpu || !gpu->functions || !gpu->path) {
        if (gpu)
            gpu_free(gpu);
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for the %zu functions of a driver",
                                platform->symbol_count);
    }
    memcpy(gpu->path, path, path_nbytes);
    (void)pthread_mutex_init(&gpu->lock, NULL); /* with plain attributes it cannot fail */
    *out = gpu;
    return DLPARK_OK;
}

/* The reasons for which a driver that is there is none. */
static dlpark_status gpu_refuse_init(const dlpark__gpu *gpu, dlpark__gpu_result result, dlpark_error *err)
{
    if (result.code == DLPARK__GPU_STUB_LIBRARY)
        return dlpark_error_set(err, DLPARK_E_NOT_FOUND,
                                "%.160s is the stub of the toolkit, for linking only: there is no driver of %s",
                                gpu->path, gpu->platform->name);
    if (result.code == DLPARK__GPU_NO_DEVICE)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "%.160s finds no device of %s", gpu->path, gpu->platform->name);
    return dlpark__gpu_fail(gpu, result, err);
}

static dlpark_status gpu_init(dlpark__gpu *gpu, dlpark_error *err)
{
    const dlpark__gpu_platform *platform = gpu->platform;

    DLPARK_TRY(gpu_find_functions(platform, gpu->library, gpu->path, gpu->functions, err));
    dlpark__gpu_result result = platform->init(gpu, &gpu->version, &gpu->device_count);
    if (result.code != DLPARK__GPU_SUCCESS)
        return gpu_refuse_init(gpu, result, err);
    if (gpu->version < platform->version_least)
        return dlpark_error_set(err, DLPARK_E_FOREIGN,
                                "%.160s is for version %" PRId32 " of %s, %" PRId32 " or later is needed", gpu->path,
                                gpu->version, platform->name, platform->version_least);
    if (gpu->device_count < 1)
        return gpu_refuse_init(gpu, (dlpark__gpu_result){DLPARK__GPU_NO_DEVICE, NULL}, err);
    gpu->devices = calloc((size_t)gpu->device_count, sizeof *gpu->devices);
    if (!gpu->devices)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %" PRId32 " devices", gpu->device_count);
    return DLPARK_OK;
}

/* The driver of a library that has just been loaded: one that is known already, or a new one. */
static dlpark_status gpu_find(const dlpark__gpu_platform *platform, void *library, const char *path, dlpark__gpu **out,
                              dlpark_error *err)
{
    for (dlpark__gpu *known = gpu_known.first; known; known = known->next)
        if (known->library == library && known->platform == platform) {
            (void)dlclose(library); /* it is counted once */
            *out = known;
            return DLPARK_OK;
        }
    dlpark__gpu *gpu = NULL;
    DLPARK_TRY(gpu_new(platform, library, path, &gpu, err));
    dlpark_status status = gpu_init(gpu, err);
    if (status != DLPARK_OK) {
        gpu_free(gpu);
        return status;
    }
    gpu->next = gpu_known.first;
    gpu_known.first = gpu;
    gpu_known.pid = (long)getpid();
    *out = gpu;
    return DLPARK_OK;
}

/* The library of the argument, of the environment, or the first of the usual ones that there is. */
static void *gpu_load(const dlpark__gpu_platform *platform, const char **path)
{
    const char *const *usual = platform->libraries;
    void *library;

    if (!*path)
        *path = getenv(platform->environment);
    if (*path && **path)
        return dlopen(*path, RTLD_NOW | RTLD_LOCAL);
    do {
        *path = *usual++;
        library = dlopen(*path, RTLD_NOW | RTLD_LOCAL);
    } while (!library && *usual);
    return library;
}

static dlpark_status gpu_open_locked(const dlpark__gpu_platform *platform, const char *path, dlpark__gpu **out,
                                     dlpark_error *err)
{
    DLPARK_TRY(gpu_watch_forks(err));
    void *library = gpu_load(platform, &path);
    if (!library)
        return dlpark_error_set(err, DLPARK_E_NOT_FOUND, "the driver of %s cannot be loaded: %s", platform->name,
                                dlerror());
    dlpark_status status = gpu_find(platform, library, path, out, err);
    if (status != DLPARK_OK)
        (void)dlclose(library);
    return status;
}

dlpark_status dlpark__gpu_open(const dlpark__gpu_platform *platform, const char *path, dlpark__gpu **out,
                               dlpark_error *err)
{
    if (dlpark__gpu_is_forked())
        return gpu_refuse_child(platform->name, err);
    (void)pthread_mutex_lock(&gpu_known.lock);
    dlpark_status status = gpu_open_locked(platform, path, out, err);
    (void)pthread_mutex_unlock(&gpu_known.lock);
    return status;
}

/* ---- Devices ---- */

dlpark_status dlpark__gpu_check_ordinal(const dlpark__gpu *gpu, int32_t ordinal, dlpark_error *err)
{
    if (DLPARK_LIKELY(ordinal >= 0 && ordinal < gpu->device_count))
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_DEVICE, "there is no device %" PRId32 " of %s, they are 0 to %" PRId32,
                            ordinal, gpu->platform->name, gpu->device_count - 1);
}

dlpark_status dlpark__gpu_read_device(const dlpark__gpu *gpu, DLDevice device, dlpark__gpu_kind *kind, int32_t *ordinal,
                                      dlpark_error *err)
{
    const dlpark__gpu_platform *platform = gpu->platform;

    *ordinal = device.device_id;
    if (device.device_type == platform->device_type || ((int)device.device_type == 0 && device.device_id == 0))
        *kind = DLPARK__GPU_DEVICE;
    else if (device.device_type == platform->host_type)
        *kind = DLPARK__GPU_HOST;
    else if (device.device_type == kDLCUDAManaged && platform->has_managed)
        *kind = DLPARK__GPU_MANAGED;
    else
        return dlpark_error_set(err, DLPARK_E_DEVICE, "%s is not a device of %s", dlpark_device_name(device).text,
                                platform->name);
    return dlpark__gpu_check_ordinal(gpu, *ordinal, err);
}

/* The first time that a device is used. Its context is kept: to release the last reference would reset the device. */
static DLPARK_COLD dlpark__gpu_result gpu_retain(dlpark__gpu *gpu, int32_t ordinal)
{
    dlpark__gpu_device *device = &gpu->devices[ordinal];
    dlpark__gpu_result result = {DLPARK__GPU_SUCCESS, NULL};

    (void)pthread_mutex_lock(&gpu->lock);
    if (!device->is_retained) { /* GCOVR_EXCL_BR_LINE: else another thread was first, just now */
        result = gpu->platform->retain(gpu, ordinal, &device->context, &device->has_pools);
        __atomic_store_n(&device->is_retained, result.code == DLPARK__GPU_SUCCESS, __ATOMIC_RELEASE);
    }
    (void)pthread_mutex_unlock(&gpu->lock);
    return result;
}

dlpark__gpu_result dlpark__gpu_enter(dlpark__gpu *gpu, int32_t ordinal, dlpark__gpu_scope *scope)
{
    const dlpark__gpu_device *device = &gpu->devices[ordinal];

    if (DLPARK_UNLIKELY(!__atomic_load_n(&device->is_retained, __ATOMIC_ACQUIRE))) {
        dlpark__gpu_result result = gpu_retain(gpu, ordinal);
        if (result.code != DLPARK__GPU_SUCCESS)
            return result;
    }
    return gpu->platform->enter(gpu, ordinal, device->context, scope);
}

dlpark_status dlpark__gpu_device_name(const dlpark__gpu *gpu, int32_t ordinal, dlpark_name *name, dlpark_error *err)
{
    char text[256]; /* as much as a driver ever writes */

    if (!name)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "name is NULL");
    DLPARK_TRY(dlpark__gpu_check_ordinal(gpu, ordinal, err));
    DLPARK_TRY(dlpark__gpu_report(gpu, gpu->platform->device_name(gpu, ordinal, text, (int)sizeof text), err));
    (void)snprintf(name->text, sizeof name->text, "%.47s", text);
    return DLPARK_OK;
}

/* ---- Streams ---- */

dlpark_status dlpark__gpu_read_stream(const dlpark__gpu *gpu, dlpark_stream stream, void **out, dlpark_error *err)
{
    DLDevice device = {gpu->platform->device_type, 0};

    switch ((int)stream.kind) {
    case DLPARK_STREAM_PER_THREAD:
        if (!gpu->platform->has_per_thread)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s has no per-thread default stream", gpu->platform->name);
        break;
    case DLPARK_STREAM_HANDLE:
        if (!stream.handle) /* which the runtime may take for either default stream */
            stream.kind = DLPARK_STREAM_DEFAULT;
        break;
    case DLPARK_STREAM_UNSAID:
    case DLPARK_STREAM_DEFAULT:
        break;
    case DLPARK_STREAM_NO_SYNC:
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "a stream is needed here, and \"no synchronisation\" is none");
    default:
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%d is no kind of stream", (int)stream.kind);
    }
    *out = dlpark_stream_native(device, stream);
    return DLPARK_OK;
}
