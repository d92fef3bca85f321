#include "fake.h"

#include <string.h>

/* What the two ends of a copy may be. */
typedef enum side { SIDE_HOST, SIDE_DEVICE, SIDE_ANY } side;

/* Bytes from the first to the last of so many rows; 0 if they are more than the address space has. */
static size_t span_of(size_t width, size_t height, size_t pitch)
{
    size_t span;

    if (__builtin_mul_overflow(height - 1, pitch, &span) || __builtin_add_overflow(span, width, &span))
        return 0;
    return span;
}

/* Whether these bytes can be that side of a copy that is queued now. A pointer of the host must not be a device's. */
static bool fits(CUdeviceptr address, size_t nbytes, side wanted)
{
    fake_block *block = fake_block_at(address);
    bool of_the_host = block == NULL || block->kind == FAKE_HOST_MEMORY || block->kind == FAKE_MANAGED_MEMORY;

    if (address == 0 || (wanted == SIDE_HOST && !of_the_host) || (wanted == SIDE_DEVICE && block == NULL))
        return false;
    return block == NULL || fake_block_usable(address, nbytes) != NULL;
}

/* Memory that the driver knows nothing of: read before the call returns, and written before it does. */
static bool is_pageable(CUdeviceptr address)
{
    return fake_block_at(address) == NULL;
}

static CUresult queue_copy(const fake_work *wanted, CUstream stream)
{
    size_t from_span = span_of(wanted->width, wanted->height, wanted->from_pitch);
    bool staged = is_pageable(wanted->from);
    fake_work *work = fake_new_work(FAKE_COPY, staged ? from_span : 0);

    if (work == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->to = wanted->to;
    work->from = staged ? 0 : wanted->from;
    work->to_pitch = wanted->to_pitch;
    work->from_pitch = wanted->from_pitch;
    work->width = wanted->width;
    work->height = wanted->height;
    for (size_t row = 0; staged && row < wanted->height; row++)
        memcpy(work->staged + row * wanted->from_pitch,
               (const unsigned char *)(uintptr_t)wanted->from + row * wanted->from_pitch, wanted->width);
    fake_queue(stream, work);
    if (is_pageable(wanted->to))
        fake_run_stream(stream);
    return CUDA_SUCCESS;
}

/* A call has begun; this ends it. */
static CUresult copy(const fake_work *wanted, side to, side from, CUstream stream)
{
    size_t to_span, from_span;
    bool captured;
    CUresult result = fake_find_stream(stream, true, &stream);

    if (result == CUDA_SUCCESS)
        result = fake_capture_takes(stream, &captured);
    if (result != CUDA_SUCCESS || wanted->width == 0 || wanted->height == 0)
        return fake_end(result);
    to_span = span_of(wanted->width, wanted->height, wanted->to_pitch);
    from_span = span_of(wanted->width, wanted->height, wanted->from_pitch);
    if (to_span == 0 || from_span == 0 || !fits(wanted->to, to_span, to) || !fits(wanted->from, from_span, from))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    return fake_end(captured ? CUDA_SUCCESS : queue_copy(wanted, stream));
}

static fake_work straight(CUdeviceptr to, CUdeviceptr from, size_t nbytes)
{
    return (fake_work){.to = to, .from = from, .width = nbytes, .height = 1};
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t nbytes, CUstream stream)
{
    fake_work wanted = straight(to, (CUdeviceptr)(uintptr_t)from, nbytes);

    FAKE_BEGIN(cuMemcpyHtoDAsync_v2, FAKE_NEEDS_CONTEXT);
    return copy(&wanted, SIDE_DEVICE, SIDE_HOST, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t nbytes, CUstream stream)
{
    fake_work wanted = straight((CUdeviceptr)(uintptr_t)to, from, nbytes);

    FAKE_BEGIN(cuMemcpyDtoHAsync_v2, FAKE_NEEDS_CONTEXT);
    return copy(&wanted, SIDE_HOST, SIDE_DEVICE, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t nbytes, CUstream stream)
{
    fake_work wanted = straight(to, from, nbytes);

    FAKE_BEGIN(cuMemcpyDtoDAsync_v2, FAKE_NEEDS_CONTEXT);
    return copy(&wanted, SIDE_DEVICE, SIDE_DEVICE, stream);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t nbytes, CUstream stream)
{
    fake_work wanted = straight(to, from, nbytes);

    FAKE_BEGIN(cuMemcpyAsync, FAKE_NEEDS_CONTEXT);
    return copy(&wanted, SIDE_ANY, SIDE_ANY, stream);
}

static bool is_of(CUdeviceptr address, CUcontext context)
{
    fake_block *block = fake_block_at(address);

    return block != NULL && block->context == context;
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t nbytes, CUstream stream)
{
    fake_work wanted = straight(to, from, nbytes);

    FAKE_BEGIN(cuMemcpyPeerAsync, FAKE_NEEDS_CONTEXT);
    if (!fake_is_context(to_context) || !fake_is_context(from_context))
        return fake_end(CUDA_ERROR_INVALID_CONTEXT);
    if (!is_of(to, to_context) || !is_of(from, from_context))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    return copy(&wanted, SIDE_DEVICE, SIDE_DEVICE, stream);
}

/* ---- Rows ---- */

static bool side_of(CUmemorytype type, side *out)
{
    *out = type == CU_MEMORYTYPE_HOST ? SIDE_HOST : type == CU_MEMORYTYPE_DEVICE ? SIDE_DEVICE : SIDE_ANY;
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}

/* The address of the first byte; 0 if the rows overlap, or the pitch is wider than the device takes. */
static CUdeviceptr first_byte(CUdeviceptr base, size_t x, size_t y, size_t pitch, size_t width)
{
    size_t end, offset;

    if (__builtin_add_overflow(x, width, &end) || pitch < end || pitch > INT32_MAX ||
        __builtin_mul_overflow(y, pitch, &offset) || __builtin_add_overflow(offset, x, &offset))
        return 0;
    return base != 0 ? base + offset : 0;
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *rows, CUstream stream)
{
    side to, from;

    FAKE_BEGIN(cuMemcpy2DAsync_v2, FAKE_NEEDS_CONTEXT);
    if (rows == NULL || !side_of(rows->dstMemoryType, &to) || !side_of(rows->srcMemoryType, &from))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr to_base = to == SIDE_HOST ? (CUdeviceptr)(uintptr_t)rows->dstHost : rows->dstDevice;
    CUdeviceptr from_base = from == SIDE_HOST ? (CUdeviceptr)(uintptr_t)rows->srcHost : rows->srcDevice;
    fake_work wanted = {
        .to = first_byte(to_base, rows->dstXInBytes, rows->dstY, rows->dstPitch, rows->WidthInBytes),
        .from = first_byte(from_base, rows->srcXInBytes, rows->srcY, rows->srcPitch, rows->WidthInBytes),
        .to_pitch = rows->dstPitch,
        .from_pitch = rows->srcPitch,
        .width = rows->WidthInBytes,
        .height = rows->Height,
    };
    return copy(&wanted, to, from, stream);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    bool captured;

    FAKE_BEGIN(cuMemsetD8Async, FAKE_NEEDS_CONTEXT);
    CUresult result = fake_find_stream(stream, false, &stream);
    if (result == CUDA_SUCCESS)
        result = fake_capture_takes(stream, &captured);
    if (result != CUDA_SUCCESS || count == 0)
        return fake_end(result);
    if (!fits(to, count, SIDE_DEVICE))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    fake_work *work = captured ? NULL : fake_new_work(FAKE_SET, 0);
    if (work == NULL)
        return fake_end(captured ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
    work->to = to;
    work->width = count;
    work->value = value;
    fake_queue(stream, work);
    return fake_end(CUDA_SUCCESS);
}
