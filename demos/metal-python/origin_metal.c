/*
 * Buffers of Metal, on Apple's systems.
 */
#include "origin.h"

#include <objc/message.h>
#include <objc/runtime.h>

extern id MTLCreateSystemDefaultDevice(void);

static id device(void)
{
    static id only;

    if (only == NULL)
        only = MTLCreateSystemDefaultDevice();
    return only;
}

dlpark_status origin_open(dlpark_metal *metal, dlpark_error *err)
{
    return dlpark_metal_open(metal, NULL, err);
}

void *origin_make(size_t nbytes)
{
    const unsigned long shared = 0; /* MTLResourceStorageModeShared */

    if (device() == NULL)
        return NULL;
    return ((id(*)(id, SEL, unsigned long, unsigned long))objc_msgSend)(
        device(), sel_registerName("newBufferWithLength:options:"), nbytes, shared);
}

const char *origin_device(void)
{
    if (device() == NULL)
        return "no device";
    id name = ((id(*)(id, SEL))objc_msgSend)(device(), sel_registerName("name"));
    return ((const char *(*)(id, SEL))objc_msgSend)(name, sel_registerName("UTF8String"));
}

int origin_references(const void *buffer)
{
    (void)buffer;
    return -1;
}

int origin_count_ended(void)
{
    return -1;
}
