#include "fake.h"

static bool free_waits = true;

void fake_free_waits(bool waits)
{
    fake_lock();
    free_waits = waits;
    fake_unlock();
}

/* ---- Allocated at once ---- */

static CUresult allocate_address(fake_kind kind, size_t nbytes, CUdeviceptr *pointer)
{
    fake_block *block;
    CUresult result = fake_allocate(kind, fake_current(), nbytes, &block);

    if (result == CUDA_SUCCESS)
        *pointer = block->address;
    return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t nbytes)
{
    FAKE_BEGIN(cuMemAlloc_v2, FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    if (pointer == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    return fake_end(allocate_address(FAKE_MEMORY, nbytes, pointer));
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t nbytes, unsigned int flags)
{
    FAKE_BEGIN(cuMemAllocManaged, FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    if (pointer == NULL || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    return fake_end(allocate_address(FAKE_MANAGED_MEMORY, nbytes, pointer));
}

CUresult cuMemHostAlloc(void **pointer, size_t nbytes, unsigned int flags)
{
    CUdeviceptr address;
    CUresult result;

    FAKE_BEGIN(cuMemHostAlloc, FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    if (pointer == NULL || flags > 7)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    result = allocate_address(FAKE_HOST_MEMORY, nbytes, &address);
    if (result == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)address;
    return fake_end(result);
}

/* ---- Freed at once ---- */

/* An allocation of the current context that begins here and is not freed. The driver takes that of another context too. */
static fake_block *freeable(CUdeviceptr pointer)
{
    fake_block *block = fake_block_usable(pointer, 1);

    return block != NULL && block->address == pointer && block->context == fake_current() ? block : NULL;
}

CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    FAKE_BEGIN(cuMemFree_v2, FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    if (pointer == 0) /* as free() */
        return fake_end(CUDA_SUCCESS);
    fake_block *block = freeable(pointer);
    if (block == NULL || block->kind == FAKE_HOST_MEMORY)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (block->kind != FAKE_POOL_MEMORY && free_waits)
        fake_run_context(block->context);
    fake_free_block(block);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void *pointer)
{
    FAKE_BEGIN(cuMemFreeHost, FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    fake_block *block = freeable((CUdeviceptr)(uintptr_t)pointer);
    if (block == NULL || block->kind != FAKE_HOST_MEMORY)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (free_waits)
        fake_run_context(block->context);
    fake_free_block(block);
    return fake_end(CUDA_SUCCESS);
}

/* ---- In the order of a stream ---- */

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t nbytes, CUstream stream)
{
    fake_block *block;
    fake_work *work;
    bool captured;

    FAKE_BEGIN(cuMemAllocAsync, FAKE_NEEDS_CONTEXT);
    if (pointer == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (!fake_has_pools())
        return fake_end(CUDA_ERROR_NOT_SUPPORTED);
    CUresult result = fake_find_stream(stream, false, &stream);
    if (result == CUDA_SUCCESS)
        result = fake_capture_takes(stream, &captured);
    if (result != CUDA_SUCCESS || captured) /* memory of a graph, which this driver has not */
        return fake_end(result != CUDA_SUCCESS ? result : CUDA_ERROR_NOT_SUPPORTED);
    work = fake_new_work(FAKE_BORN, 0);
    result = fake_allocate(FAKE_POOL_MEMORY, stream->context, nbytes, &block);
    if (work == NULL || result != CUDA_SUCCESS) {
        if (result == CUDA_SUCCESS)
            fake_free_block(block);
        fake_drop_work(work);
        return fake_end(result != CUDA_SUCCESS ? result : CUDA_ERROR_OUT_OF_MEMORY);
    }
    block->reached = false;
    work->block = block;
    *pointer = block->address;
    fake_queue(stream, work);
    return fake_end(CUDA_SUCCESS);
}

static bool is_default(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
    fake_work *work;
    bool captured;

    FAKE_BEGIN(cuMemFreeAsync, is_default(stream) ? FAKE_NEEDS_CONTEXT : FAKE_NEEDS_INIT);
    CUresult result = fake_find_stream(stream, true, &stream);
    if (result == CUDA_SUCCESS)
        result = fake_capture_takes(stream, &captured);
    if (result != CUDA_SUCCESS)
        return fake_end(result);
    fake_block *block = fake_block_usable(pointer, 1);
    /* A capture takes only memory of its graph. The driver would free that of cuMemAlloc too, where the device has pools. */
    if (captured || block == NULL || block->address != pointer || block->kind != FAKE_POOL_MEMORY)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    work = fake_new_work(FAKE_END, 0);
    if (work == NULL)
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    work->block = block;
    block->doomed = true;
    fake_queue(stream, work);
    return fake_end(CUDA_SUCCESS);
}

/* ---- What is known of an address ---- */

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *nbytes, CUdeviceptr pointer)
{
    FAKE_BEGIN(cuMemGetAddressRange_v2, FAKE_NEEDS_CONTEXT);
    fake_block *block = fake_block_usable(pointer, 1);
    if (block == NULL)
        return fake_end(CUDA_ERROR_NOT_FOUND);
    if (base != NULL)
        *base = block->address;
    if (nbytes != NULL)
        *nbytes = block->nbytes;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuMemGetInfo_v2(size_t *free_nbytes, size_t *total_nbytes)
{
    FAKE_BEGIN(cuMemGetInfo_v2, FAKE_NEEDS_CONTEXT);
    if (free_nbytes == NULL || total_nbytes == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    *total_nbytes = fake_memory_info(fake_current()->device, free_nbytes);
    return fake_end(CUDA_SUCCESS);
}

/* `block` NULL: an address that the driver does not know; then the value is the one that stands for nothing. */
static CUresult attribute_of(const fake_block *block, CUdeviceptr pointer, CUpointer_attribute attribute, void *value)
{
    static const fake_block nothing;
    bool of_the_host = block != NULL && (block->kind == FAKE_HOST_MEMORY || block->kind == FAKE_MANAGED_MEMORY);
    const fake_block *known = block != NULL ? block : &nothing;

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)value = known->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned int *)value = block == NULL                     ? 0
                                 : block->kind == FAKE_HOST_MEMORY ? CU_MEMORYTYPE_HOST
                                                                   : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)value = block != NULL ? pointer : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)value = of_the_host ? (void *)(uintptr_t)pointer : NULL;
        return of_the_host || block == NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)value = known->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned int *)value = known->kind == FAKE_MANAGED_MEMORY;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = block != NULL ? block->context->device : -2; /* as the real one says it */
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(int *)value = block != NULL && block->kind == FAKE_MEMORY;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)value = known->address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)value = known->nbytes;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)value = block != NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(void **)value = block != NULL && block->kind == FAKE_POOL_MEMORY ? block->context : NULL;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    FAKE_BEGIN(cuPointerGetAttribute, FAKE_NEEDS_INIT);
    fake_block *block = fake_block_usable(pointer, 1);
    if (value == NULL || block == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    return fake_end(attribute_of(block, pointer, attribute, value));
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **values, CUdeviceptr pointer)
{
    FAKE_BEGIN(cuPointerGetAttributes, FAKE_NEEDS_INIT);
    fake_block *block = fake_block_usable(pointer, 1);
    if (count == 0 || attributes == NULL || values == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    for (unsigned int i = 0; i < count; i++) {
        CUresult result = attribute_of(block, pointer, attributes[i], values[i]);
        /* An attribute that this kind of memory has not is a null pointer here, not an error. */
        if (result != CUDA_SUCCESS && attributes[i] != CU_POINTER_ATTRIBUTE_HOST_POINTER)
            return fake_end(result);
    }
    return fake_end(CUDA_SUCCESS);
}
