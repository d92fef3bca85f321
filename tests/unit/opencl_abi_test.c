/*
 * What the library declares of OpenCL, held to the real headers, where there are any; else nothing is said, and that aloud.
 */
#include <stdio.h>

#if !__has_include(<CL/cl.h>)

int main(void)
{
    puts("skipped: there is no CL/cl.h (Debian package opencl-c-headers)");
    return 77;
}

#else

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <string.h>

#include "opencl_parts.h"

#define SAME(ours, theirs)                    _Static_assert(__builtin_types_compatible_p(ours, theirs), #ours " is " #theirs)
#define EQUAL(ours, theirs)                   _Static_assert((ours) == (theirs), #ours " is " #theirs)

/* The attributes of theirs, which say since when and until when, are no part of the type. */
#define OPENCL_HOLD(result, name, parameters) SAME(opencl_##name##_fn *, __typeof__(&cl##name));
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
OPENCL_FUNCTIONS(OPENCL_HOLD)

SAME(struct _cl_mem *, cl_mem);
SAME(struct _cl_context *, cl_context);
SAME(struct _cl_command_queue *, cl_command_queue);
SAME(opencl_callback *, void(CL_CALLBACK *)(cl_mem, void *));
EQUAL(sizeof(opencl_region), sizeof(cl_buffer_region));
EQUAL(offsetof(opencl_region, origin), offsetof(cl_buffer_region, origin));
EQUAL(offsetof(opencl_region, size), offsetof(cl_buffer_region, size));

EQUAL(OPENCL_DEVICE_NOT_FOUND, CL_DEVICE_NOT_FOUND);
EQUAL(OPENCL_MEM_ALLOCATION_FAILURE, CL_MEM_OBJECT_ALLOCATION_FAILURE);
EQUAL(OPENCL_OUT_OF_RESOURCES, CL_OUT_OF_RESOURCES);
EQUAL(OPENCL_OUT_OF_HOST_MEMORY, CL_OUT_OF_HOST_MEMORY);
EQUAL(OPENCL_PLATFORM_NOT_FOUND, CL_PLATFORM_NOT_FOUND_KHR);
EQUAL(OPENCL_DEVICE_MEM_BASE_ADDR_ALIGN, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
EQUAL(OPENCL_DEVICE_NAME, CL_DEVICE_NAME);
EQUAL(OPENCL_CONTEXT_DEVICES, CL_CONTEXT_DEVICES);
EQUAL(OPENCL_QUEUE_CONTEXT, CL_QUEUE_CONTEXT);
EQUAL(OPENCL_MEM_TYPE, CL_MEM_TYPE);
EQUAL(OPENCL_MEM_FLAGS, CL_MEM_FLAGS);
EQUAL(OPENCL_MEM_SIZE, CL_MEM_SIZE);
EQUAL(OPENCL_MEM_CONTEXT, CL_MEM_CONTEXT);
EQUAL(OPENCL_MEM_ASSOCIATED_MEMOBJECT, CL_MEM_ASSOCIATED_MEMOBJECT);
EQUAL(OPENCL_MEM_OFFSET, CL_MEM_OFFSET);
EQUAL(OPENCL_MEM_OBJECT_BUFFER, CL_MEM_OBJECT_BUFFER);
EQUAL(OPENCL_BUFFER_CREATE_TYPE_REGION, CL_BUFFER_CREATE_TYPE_REGION);
EQUAL(OPENCL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_ALL);
EQUAL(OPENCL_MEM_READ_WRITE, CL_MEM_READ_WRITE);
EQUAL(OPENCL_MEM_WRITE_ONLY, CL_MEM_WRITE_ONLY);
EQUAL(OPENCL_MEM_READ_ONLY, CL_MEM_READ_ONLY);
EQUAL(OPENCL_MEM_USE_HOST_PTR, CL_MEM_USE_HOST_PTR);
EQUAL(DLPARK_OPENCL_READ, CL_MAP_READ);
EQUAL(DLPARK_OPENCL_WRITE, CL_MAP_WRITE);
EQUAL(DLPARK_OPENCL_DISCARD, CL_MAP_WRITE_INVALIDATE_REGION);

/* The names of errors, which messages quote. */
static int wrong_names(void)
{
#define ERROR(name)                                                                                                    \
    {                                                                                                                  \
        name, #name                                                                                                    \
    }
    static const struct {
        int32_t code;
        const char *name;
    } errors[] = {
        ERROR(CL_DEVICE_NOT_FOUND),
        ERROR(CL_DEVICE_NOT_AVAILABLE),
        ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        ERROR(CL_OUT_OF_RESOURCES),
        ERROR(CL_OUT_OF_HOST_MEMORY),
        ERROR(CL_MAP_FAILURE),
        ERROR(CL_MISALIGNED_SUB_BUFFER_OFFSET),
        ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        ERROR(CL_INVALID_VALUE),
        ERROR(CL_INVALID_PLATFORM),
        ERROR(CL_INVALID_DEVICE),
        ERROR(CL_INVALID_CONTEXT),
        ERROR(CL_INVALID_COMMAND_QUEUE),
        ERROR(CL_INVALID_HOST_PTR),
        ERROR(CL_INVALID_MEM_OBJECT),
        ERROR(CL_INVALID_EVENT_WAIT_LIST),
        ERROR(CL_INVALID_EVENT),
        ERROR(CL_INVALID_OPERATION),
        ERROR(CL_INVALID_BUFFER_SIZE),
    };
    int wrong = 0;

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        dlpark_error err;
        char expected[128];
        (void)dlpark__opencl_fail("clX", errors[i].code, &err);
        (void)snprintf(expected, sizeof expected, "clX: %s (%d)", errors[i].name, (int)errors[i].code);
        if (strcmp(err.message, expected) != 0) {
            printf("\"%s\" instead of \"%s\"\n", err.message, expected);
            wrong++;
        }
    }
    return wrong;
}

int main(void)
{
    return wrong_names() == 0 ? 0 : 1;
}

#endif
