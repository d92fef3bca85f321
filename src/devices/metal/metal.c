/*
 * The Objective-C runtime, found at run time, and what is asked of a buffer by it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "metal_parts.h"

#define METAL_LIBRARY "libobjc.A.dylib"

/* The runtime, of which a process has one. Written once, before anybody is given metal_functions. */
static struct {
    void *library;
    void (*release)(void *object);
    void *(*retain)(void *object);
    void (*send)(void); /* objc_msgSend, called as what the method is */
    void *(*name)(const char *name);
    void *contents, *length, *storage_mode; /* selectors */
} metal_runtime;
static pthread_mutex_t metal_lock = PTHREAD_MUTEX_INITIALIZER;

static void metal_retain(void *buffer)
{
    (void)metal_runtime.retain(buffer);
}

static void metal_release(void *buffer)
{
    metal_runtime.release(buffer);
}

static void *metal_contents(void *buffer)
{
    return ((void *(*)(void *, void *))metal_runtime.send)(buffer, metal_runtime.contents);
}

/* NSUInteger is an unsigned long. */
static uint64_t metal_length(void *buffer)
{
    return ((unsigned long (*)(void *, void *))metal_runtime.send)(buffer, metal_runtime.length);
}

static uint64_t metal_storage_mode(void *buffer)
{
    return ((unsigned long (*)(void *, void *))metal_runtime.send)(buffer, metal_runtime.storage_mode);
}

static const dlpark_metal_functions metal_functions = {metal_retain, metal_release, metal_contents, metal_length,
                                                       metal_storage_mode};

static dlpark_status metal_find(void *library, const char *path, dlpark_error *err)
{
    const struct {
        const char *name;
        void *member;
    } symbols[] = {{"objc_retain", &metal_runtime.retain},
                   {"objc_release", &metal_runtime.release},
                   {"objc_msgSend", &metal_runtime.send},
                   {"sel_registerName", &metal_runtime.name}};

    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol)
            return dlpark_error_set(err, DLPARK_E_FOREIGN, "%.160s has no %s(): it is not the runtime of Objective-C",
                                    path, symbols[i].name);
        memcpy(symbols[i].member, &symbol, sizeof symbol);
    }
    metal_runtime.contents = metal_runtime.name("contents");
    metal_runtime.length = metal_runtime.name("length");
    metal_runtime.storage_mode = metal_runtime.name("storageMode");
    return DLPARK_OK;
}

/* Whoever calls holds the lock. */
static dlpark_status metal_load(void *library, const char *path, dlpark_error *err)
{
    if (metal_runtime.library == library)
        return DLPARK_OK;
    if (metal_runtime.library)
        return dlpark_error_set(err, DLPARK_E_FOREIGN,
                                "%.160s is another runtime of Objective-C than was opened before", path);
    DLPARK_TRY(metal_find(library, path, err));
    metal_runtime.library = library;
    return DLPARK_OK;
}

dlpark_status dlpark_metal_open(dlpark_metal *metal, const char *path, dlpark_error *err)
{
    const char *named = getenv("DLPARK_METAL_LIBRARY");

    if (!metal)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "metal is NULL");
    if (metal->functions)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "metal already has the functions that it calls");
    const char *file = path ? path : named && named[0] != '\0' ? named : METAL_LIBRARY;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlpark_error_set(err, DLPARK_E_NOT_FOUND, "the runtime of Objective-C cannot be loaded: %s", dlerror());
    (void)pthread_mutex_lock(&metal_lock);
    dlpark_status status = metal_load(library, file, err);
    (void)pthread_mutex_unlock(&metal_lock);
    if (status == DLPARK_OK)
        metal->functions = &metal_functions;
    return status;
}

dlpark_status dlpark__metal_check(const dlpark_metal *metal, dlpark_error *err)
{
    if (metal && metal->functions)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            metal ? "metal has no functions to call: dlpark_metal_open() finds them" : "metal is NULL");
}
