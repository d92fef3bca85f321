/*
 * The ICD loader, found at run time, and what it lists.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_parts.h"

#if defined(__APPLE__)
#define OPENCL_LIBRARY "/System/Library/Frameworks/OpenCL.framework/OpenCL"
#else
#define OPENCL_LIBRARY "libOpenCL.so.1"
#endif

#define OPENCL_MAX_PLATFORMS 16

static pthread_mutex_t opencl_lock = PTHREAD_MUTEX_INITIALIZER;
static dlpark__opencl *opencl_loaders; /* all that were ever loaded */

dlpark_status dlpark__opencl_check(const dlpark_opencl *opencl, dlpark_error *err)
{
    if (opencl != NULL && opencl->loader != NULL)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            opencl != NULL ? "no loader of OpenCL is loaded; dlpark_opencl_open() does"
                                           : "opencl is NULL");
}

/* ---- Loading ---- */

/* What dlsym() found, as the function that it is. */
static void opencl_set_function(void *member, void *symbol)
{
    memcpy(member, &symbol, sizeof symbol);
}

static dlpark_status opencl_find_functions(dlpark__opencl *loader, dlpark_error *err)
{
    const char *missing = NULL;
    void *symbol;

#define OPENCL_FIND(result, name, parameters)                                                                          \
    symbol = dlsym(loader->library, "cl" #name);                                                                       \
    opencl_set_function(&loader->name, symbol);                                                                        \
    missing = symbol != NULL ? missing : "cl" #name;
    OPENCL_FUNCTIONS(OPENCL_FIND)
#undef OPENCL_FIND
    if (missing != NULL)
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "%.160s has no %s(): it is no loader of OpenCL 1.2 or later",
                                loader->path, missing);
    return DLPARK_OK;
}

/* A platform without a device says so by an error, which is none here. */
static dlpark_status opencl_list_devices(dlpark__opencl *loader, struct _cl_platform_id *platform, dlpark_error *err)
{
    uint32_t room = OPENCL_MAX_DEVICES - loader->device_count, count = 0;

    if (room == 0)
        return DLPARK_OK;
    int32_t code =
        loader->GetDeviceIDs(platform, OPENCL_DEVICE_TYPE_ALL, room, loader->devices + loader->device_count, &count);
    if (code == OPENCL_DEVICE_NOT_FOUND)
        return DLPARK_OK;
    if (code != 0)
        return dlpark__opencl_fail("clGetDeviceIDs", code, err);
    loader->device_count += count < room ? count : room;
    return DLPARK_OK;
}

static dlpark_status opencl_list(dlpark__opencl *loader, dlpark_error *err)
{
    struct _cl_platform_id *platforms[OPENCL_MAX_PLATFORMS];
    uint32_t count = 0;
    int32_t code = loader->GetPlatformIDs(OPENCL_MAX_PLATFORMS, platforms, &count);

    if (code == OPENCL_PLATFORM_NOT_FOUND || (code == 0 && count == 0))
        return dlpark_error_set(
            err, DLPARK_E_DEVICE,
            "%.160s finds no platform: no implementation of OpenCL is installed, or none is named in "
            "/etc/OpenCL/vendors",
            loader->path);
    if (code != 0)
        return dlpark__opencl_fail("clGetPlatformIDs", code, err);
    loader->platform_count = count < OPENCL_MAX_PLATFORMS ? count : OPENCL_MAX_PLATFORMS;
    for (uint32_t i = 0; i < loader->platform_count; i++)
        DLPARK_TRY(opencl_list_devices(loader, platforms[i], err));
    if (loader->device_count == 0)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "%.160s finds no device; platforms: %u", loader->path,
                                (unsigned)loader->platform_count);
    return DLPARK_OK;
}

/* The loader of a library, new where nobody has opened that before; whoever calls holds the lock. */
static dlpark_status opencl_get(void *library, const char *path, dlpark__opencl **out, dlpark_error *err)
{
    size_t path_nbytes = strlen(path) + 1;

    for (dlpark__opencl *known = opencl_loaders; known != NULL; known = known->next)
        if (known->library == library) {
            *out = known;
            return DLPARK_OK;
        }
    dlpark__opencl *made = calloc(1, sizeof *made + path_nbytes);
    if (made == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %zu bytes of OpenCL's functions",
                                sizeof *made + path_nbytes);
    memcpy(made->path, path, path_nbytes);
    made->library = library;
    dlpark_status status = opencl_find_functions(made, err);
    if (status == DLPARK_OK)
        status = opencl_list(made, err);
    if (status != DLPARK_OK) {
        free(made); /* the library stays: what it has started, on threads of its own too, may not be unloaded */
        return status;
    }
    made->next = opencl_loaders;
    opencl_loaders = *out = made;
    return DLPARK_OK;
}

dlpark_status dlpark_opencl_open(dlpark_opencl *opencl, const char *path, dlpark_error *err)
{
    dlpark__opencl *found = NULL;
    const char *named = getenv("DLPARK_OPENCL_LIBRARY");

    if (opencl == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "opencl is NULL");
    if (opencl->loader != NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "opencl already holds %.160s", opencl->library);
    const char *file = path != NULL ? path : named != NULL && named[0] != '\0' ? named : OPENCL_LIBRARY;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_FOUND, "OpenCL's loader cannot be loaded: %s", dlerror());
    (void)pthread_mutex_lock(&opencl_lock);
    dlpark_status status = opencl_get(library, file, &found, err);
    (void)pthread_mutex_unlock(&opencl_lock);
    DLPARK_TRY(status);
    *opencl = (dlpark_opencl){found, found->path, (int32_t)found->platform_count, (int32_t)found->device_count};
    return DLPARK_OK;
}

/* ---- What there is ---- */

dlpark_status dlpark_opencl_device_name(const dlpark_opencl *opencl, int32_t id, dlpark_name *name, dlpark_error *err)
{
    char text[256] = {0};

    DLPARK_TRY(dlpark__opencl_check(opencl, err));
    if (name == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "name is NULL");
    if (id < 0 || id >= opencl->device_count)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "there is no opencl:%d, %d device%s %s known", (int)id,
                                (int)opencl->device_count, opencl->device_count == 1 ? "" : "s",
                                opencl->device_count == 1 ? "is" : "are");
    OPENCL_TRY(opencl->loader, err, GetDeviceInfo, opencl->loader->devices[id], OPENCL_DEVICE_NAME, sizeof text, text,
               NULL);
    text[sizeof text - 1] = '\0';
    (void)snprintf(name->text, sizeof name->text, "%.47s", text);
    return DLPARK_OK;
}
