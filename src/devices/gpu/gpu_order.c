/*
 * One stream after another, by an event between them.
 */
#include "gpu_parts.h"

/* The first of two results that is a failure. */
static dlpark__gpu_result order_first(dlpark__gpu_result first, dlpark__gpu_result second)
{
    return first.code != DLPARK__GPU_SUCCESS ? first : second;
}

/* A call may tell of the failure of earlier work instead of doing its own: then it is made once more. */
static dlpark__gpu_result order_end_event(const dlpark__gpu *gpu, void *event)
{
    dlpark__gpu_result result = gpu->platform->event_destroy(gpu, event);

    if (result.code != DLPARK__GPU_SUCCESS)
        (void)gpu->platform->event_destroy(gpu, event);
    return result;
}

dlpark__gpu_result dlpark__gpu_mark(const dlpark__gpu *gpu, void *stream, void **event)
{
    dlpark__gpu_result result = gpu->platform->event_create(gpu, event);

    if (result.code != DLPARK__GPU_SUCCESS)
        return result;
    result = gpu->platform->event_record(gpu, *event, stream);
    if (result.code != DLPARK__GPU_SUCCESS)
        (void)order_end_event(gpu, *event);
    return result;
}

/* The event may end at once: the driver keeps what it needs of it. */
static dlpark__gpu_result order_inside(const dlpark__gpu *gpu, void *producer, void *consumer)
{
    void *event = NULL;
    dlpark__gpu_result result = dlpark__gpu_mark(gpu, producer, &event);

    if (result.code != DLPARK__GPU_SUCCESS)
        return result;
    result = gpu->platform->stream_wait(gpu, consumer, event);
    return order_first(result, order_end_event(gpu, event));
}

/* Whether somebody has said that there is nothing to wait for. */
static bool order_is_needless(dlpark_stream producer, dlpark_stream consumer)
{
    return producer.kind == DLPARK_STREAM_NO_SYNC || consumer.kind == DLPARK_STREAM_NO_SYNC;
}

static dlpark_status order_streams(dlpark__gpu *gpu, int32_t ordinal, dlpark_stream producer, dlpark_stream consumer,
                                   dlpark_error *err)
{
    void *from, *to;
    dlpark__gpu_scope scope;

    if (order_is_needless(producer, consumer))
        return DLPARK_OK;
    DLPARK_TRY(dlpark__gpu_read_stream(gpu, producer, &from, err));
    DLPARK_TRY(dlpark__gpu_read_stream(gpu, consumer, &to, err));
    if (from == to)
        return DLPARK_OK;
    DLPARK_TRY(dlpark__gpu_report(gpu, dlpark__gpu_enter(gpu, ordinal, &scope), err));
    dlpark__gpu_result result = order_inside(gpu, from, to);
    return dlpark__gpu_report(gpu, order_first(result, gpu->platform->leave(gpu, &scope)), err);
}

static dlpark_status order_wait(dlpark__gpu *gpu, int32_t ordinal, dlpark_stream stream, dlpark_error *err)
{
    void *handle;
    dlpark__gpu_scope scope;

    if (stream.kind == DLPARK_STREAM_NO_SYNC)
        return DLPARK_OK;
    DLPARK_TRY(dlpark__gpu_read_stream(gpu, stream, &handle, err));
    DLPARK_TRY(dlpark__gpu_report(gpu, dlpark__gpu_enter(gpu, ordinal, &scope), err));
    dlpark__gpu_result result = gpu->platform->stream_synchronise(gpu, handle);
    return dlpark__gpu_report(gpu, order_first(result, gpu->platform->leave(gpu, &scope)), err);
}

dlpark_status dlpark__gpu_order(dlpark__gpu *gpu, DLDevice device, dlpark_stream producer, dlpark_stream consumer,
                                dlpark_error *err)
{
    dlpark__gpu_kind kind;
    int32_t ordinal;

    DLPARK_TRY(dlpark__gpu_read_device(gpu, device, &kind, &ordinal, err));
    return order_streams(gpu, ordinal, producer, consumer, err);
}

dlpark_status dlpark__gpu_wait(dlpark__gpu *gpu, DLDevice device, dlpark_stream stream, dlpark_error *err)
{
    dlpark__gpu_kind kind;
    int32_t ordinal;

    DLPARK_TRY(dlpark__gpu_read_device(gpu, device, &kind, &ordinal, err));
    return order_wait(gpu, ordinal, stream, err);
}

/* Whoever reads page-locked memory reads it on the host, where no stream waits for another. */
static dlpark_status order_for_tensor(dlpark__gpu *gpu, const dlpark_tensor *tensor, dlpark_stream producer,
                                      dlpark_stream consumer, dlpark_error *err)
{
    int32_t ordinal;

    DLPARK_TRY(dlpark__gpu_find_ordinal(gpu, tensor, &ordinal, err));
    if (!tensor->managed->dl_tensor.data)
        return DLPARK_OK;
    if (tensor->managed->dl_tensor.device.device_type != gpu->platform->host_type)
        return order_streams(gpu, ordinal, producer, consumer, err);
    return consumer.kind == DLPARK_STREAM_NO_SYNC ? DLPARK_OK : order_wait(gpu, ordinal, producer, err);
}

dlpark_status dlpark__gpu_export(dlpark__gpu *gpu, DLManagedTensorVersioned **managed, dlpark_tensor *tensor,
                                 dlpark_stream producer, dlpark_stream consumer, dlpark_error *err)
{
    if (!managed || !tensor || !tensor->managed)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s",
                                !managed ? "managed is NULL" : (tensor ? "the tensor is empty" : "tensor is NULL"));
    if (*managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the output already holds a tensor; it must point to NULL");
    DLPARK_TRY(order_for_tensor(gpu, tensor, producer, consumer, err));
    *managed = dlpark_tensor_export(tensor);
    return DLPARK_OK;
}
