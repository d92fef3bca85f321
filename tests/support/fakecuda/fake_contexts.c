#include "fake.h"

#include <stdio.h>

_Thread_local fake_thread fake_this_thread;

struct CUctx_st fake_contexts[FAKE_DEVICES] = {{.device = 0}, {.device = 1}};

CUcontext fake_current(void)
{
    return fake_this_thread.depth > 0 ? fake_this_thread.stack[fake_this_thread.depth - 1] : NULL;
}

bool fake_is_context(CUcontext context)
{
    for (int i = 0; i < FAKE_DEVICES; i++)
        if (context == &fake_contexts[i])
            return true;
    return false;
}

int fake_context_depth(void)
{
    return fake_this_thread.depth;
}

void fake_lose(int device, int error)
{
    fake_lock();
    fake_contexts[device].lost = error;
    fake_unlock();
}

/* ---- Devices ---- */

static bool is_device(CUdevice device)
{
    return device >= 0 && device < FAKE_DEVICES;
}

CUresult cuDeviceGetCount(int *count)
{
    FAKE_BEGIN(cuDeviceGetCount, FAKE_NEEDS_INIT);
    if (count == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    *count = FAKE_DEVICES;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    FAKE_BEGIN(cuDeviceGet, FAKE_NEEDS_INIT);
    if (device == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (!is_device(ordinal))
        return fake_end(CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int nbytes, CUdevice device)
{
    FAKE_BEGIN(cuDeviceGetName, FAKE_NEEDS_INIT);
    if (name == NULL || nbytes <= 0)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (!is_device(device))
        return fake_end(CUDA_ERROR_INVALID_DEVICE);
    snprintf(name, (size_t)nbytes, "Fake GPU %d", device);
    return fake_end(CUDA_SUCCESS);
}

static int attribute_value(CUdevice_attribute attribute)
{
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
        return INT32_MAX;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        return 1;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return 0;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        return fake_has_pools();
    default:
        return -1;
    }
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    FAKE_BEGIN(cuDeviceGetAttribute, FAKE_NEEDS_INIT);
    if (value == NULL || attribute_value(attribute) < 0)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (!is_device(device))
        return fake_end(CUDA_ERROR_INVALID_DEVICE);
    *value = attribute_value(attribute);
    return fake_end(CUDA_SUCCESS);
}

/* ---- Primary contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    FAKE_BEGIN(cuDevicePrimaryCtxRetain, FAKE_NEEDS_INIT);
    if (context == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (!is_device(device))
        return fake_end(CUDA_ERROR_INVALID_DEVICE);
    fake_contexts[device].references++;
    *context = &fake_contexts[device];
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    FAKE_BEGIN(cuDevicePrimaryCtxRelease_v2, FAKE_NEEDS_INIT);
    if (!is_device(device))
        return fake_end(CUDA_ERROR_INVALID_DEVICE);
    CUcontext context = &fake_contexts[device];
    if (context->references == 0)
        return fake_end(CUDA_ERROR_INVALID_CONTEXT);
    context->references--;
    if (context->references == 0) { /* the driver resets it, and with it goes everything in it */
        fake_run_context(context);
        fake_close_events(context);
        fake_close_streams(context);
        fake_free_all(context);
        context->lost = 0;
    }
    return fake_end(CUDA_SUCCESS);
}

/* ---- The current context ---- */

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    FAKE_BEGIN(cuCtxPushCurrent_v2, FAKE_NEEDS_INIT);
    fake_thread *thread = &fake_this_thread;
    if (!fake_is_context(context))
        return fake_end(CUDA_ERROR_INVALID_CONTEXT);
    if (context->references == 0)
        return fake_end(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if (thread->depth == (int)(sizeof thread->stack / sizeof *thread->stack))
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    thread->stack[thread->depth++] = context;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    FAKE_BEGIN(cuCtxPopCurrent_v2, FAKE_NEEDS_INIT);
    CUcontext current = fake_current();
    if (current == NULL)
        return fake_end(CUDA_ERROR_INVALID_CONTEXT);
    fake_this_thread.depth--;
    if (context != NULL)
        *context = current;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    FAKE_BEGIN(cuCtxGetCurrent, FAKE_NEEDS_INIT);
    if (context == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    *context = fake_current();
    return fake_end(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    FAKE_BEGIN(cuCtxGetDevice, FAKE_NEEDS_CONTEXT);
    if (device == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    *device = fake_current()->device;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void)
{
    FAKE_BEGIN(cuCtxSynchronize, FAKE_NEEDS_CONTEXT);
    if (fake_capture_spoil(fake_current(), false))
        return fake_end(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    fake_run_context(fake_current());
    return fake_end(CUDA_SUCCESS);
}

/* ---- What is alive ---- */

long fake_live(fake_kind kind)
{
    long count = 0;

    fake_lock();
    if (kind <= FAKE_HOST_MEMORY)
        count = fake_block_count(kind);
    else if (kind == FAKE_EVENT)
        count = fake_event_count();
    else if (kind == FAKE_STREAM)
        count = fake_stream_count();
    else if (kind == FAKE_WORK)
        count = fake_work_count();
    else
        for (int i = 0; i < FAKE_DEVICES; i++)
            count += fake_contexts[i].references;
    fake_unlock();
    return count;
}

long fake_live_all(void)
{
    long sum = 0;

    for (int kind = 0; kind < FAKE_KINDS; kind++)
        sum += kind != FAKE_PRIMARY ? fake_live((fake_kind)kind) : 0;
    return sum;
}
