/* A driver for the tests of copies between devices, beneath the table that src/devices/gpu has over real ones. */
#ifndef TRANSFER_FAKE_H
#define TRANSFER_FAKE_H

#include "test.h"

#include "../../src/devices/transfer/transfer_parts.h"

/*
 * A driver whose devices are pieces of this memory, and which does at once what it is given: what is proved here is the way that
 * the bytes take. What a real driver makes of the calls is tests/devices' to prove.
 */
enum { DEVICES = 2, ARENA = 4096 };
static _Alignas(64) unsigned char arena[DEVICES + 1][ARENA]; /* the last is the host's */
static struct {
    long copies, rows, peers, waits, all, fail_at;
    int depth, current;
} seen;

static int whose(const void *address)
{
    for (int i = 0; i < DEVICES; i++)
        if ((uintptr_t)address - (uintptr_t)arena[i] < ARENA)
            return i;
    return -1;
}

static dlpark__gpu_result answer(const char *function)
{
    return (dlpark__gpu_result){++seen.all == seen.fail_at ? 700 : DLPARK__GPU_SUCCESS, function};
}

static dlpark__gpu_result fake_enter(const dlpark__gpu *gpu, int32_t ordinal, void *context, dlpark__gpu_scope *scope)
{
    dlpark__gpu_result result = answer("fakeEnter");

    (void)gpu;
    (void)context;
    if (result.code == DLPARK__GPU_SUCCESS) {
        *scope = (dlpark__gpu_scope){.previous = seen.current};
        seen.current = ordinal;
        seen.depth++;
    }
    return result;
}

static dlpark__gpu_result fake_leave(const dlpark__gpu *gpu, const dlpark__gpu_scope *scope)
{
    (void)gpu;
    seen.current = scope->previous;
    seen.depth--;
    return answer("fakeLeave");
}

static dlpark__gpu_result fake_synchronise(const dlpark__gpu *gpu, void *stream)
{
    (void)gpu;
    assert_ptr_equal(stream, (void *)7);
    assert_int_equal(seen.depth, 1);
    seen.waits++;
    return answer("fakeSynchronise");
}

static dlpark__gpu_result fake_copy(const dlpark__gpu *gpu, dlpark__gpu_way way, void *to, const void *from,
                                    size_t nbytes, void *stream)
{
    dlpark__gpu_result result = answer("fakeCopy");

    (void)gpu;
    assert_ptr_equal(stream, (void *)7);
    assert_int_equal(seen.depth, 1);
    assert_int_equal(whose(to) >= 0, way != DLPARK__GPU_TO_HOST);
    assert_int_equal(whose(from) >= 0, way != DLPARK__GPU_TO_DEVICE);
    seen.copies++;
    if (result.code == DLPARK__GPU_SUCCESS)
        memcpy(to, from, nbytes);
    return result;
}

static dlpark__gpu_result fake_copy_rows(const dlpark__gpu *gpu, dlpark__gpu_way way, const dlpark__gpu_rows *rows,
                                         void *stream)
{
    dlpark__gpu_result result = answer("fakeCopyRows");

    (void)gpu;
    assert_ptr_equal(stream, (void *)7);
    assert_true(rows->to_pitch >= rows->nbytes && rows->from_pitch >= rows->nbytes && rows->count > 1);
    assert_int_equal(whose(rows->to) >= 0, way != DLPARK__GPU_TO_HOST);
    assert_int_equal(whose(rows->from) >= 0, way != DLPARK__GPU_TO_DEVICE);
    seen.rows++;
    for (size_t i = 0; i < rows->count && result.code == DLPARK__GPU_SUCCESS; i++)
        memcpy((unsigned char *)rows->to + i * rows->to_pitch, (const unsigned char *)rows->from + i * rows->from_pitch,
               rows->nbytes);
    return result;
}

static dlpark__gpu_result fake_copy_peer(const dlpark__gpu *gpu, void *to, int32_t to_ordinal, const void *from,
                                         int32_t from_ordinal, size_t nbytes, void *stream)
{
    dlpark__gpu_result result = answer("fakeCopyPeer");

    (void)gpu;
    assert_ptr_equal(stream, (void *)7);
    assert_int_equal(whose(to), to_ordinal);
    assert_int_equal(whose(from), from_ordinal);
    seen.peers++;
    if (result.code == DLPARK__GPU_SUCCESS)
        memcpy(to, from, nbytes);
    return result;
}

static dlpark__gpu_result fake_pointer(const dlpark__gpu *gpu, const void *address, dlpark_gpu_pointer *out)
{
    (void)gpu;
    out->ordinal = whose(address);
    return answer("fakePointer");
}

static const char *fake_error_name(const dlpark__gpu *gpu, int code)
{
    (void)gpu;
    return code == 700 ? "FAKE_ERROR" : NULL;
}

static const dlpark__gpu_platform platform = {.name = "CUDA",
                                              .device_type = kDLCUDA,
                                              .host_type = kDLCUDAHost,
                                              .has_managed = true,
                                              .has_per_thread = true,
                                              .error_name = fake_error_name,
                                              .enter = fake_enter,
                                              .leave = fake_leave,
                                              .stream_synchronise = fake_synchronise,
                                              .copy = fake_copy,
                                              .copy_rows = fake_copy_rows,
                                              .copy_peer = fake_copy_peer,
                                              .pointer = fake_pointer};
static dlpark__gpu_device devices[DEVICES] = {{.is_retained = true}, {.is_retained = true}};
static dlpark__gpu gpu = {.platform = &platform, .device_count = DEVICES, .devices = devices};
static const dlpark_stream stream = {DLPARK_STREAM_HANDLE, (void *)7};

#endif
