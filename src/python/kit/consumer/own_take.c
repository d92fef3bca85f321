/*
 * A dlpark.Tensor as it is: what it holds, and when that is ready.
 */
#include "import_parts.h"

dlpark_tensor *dlpark__py_own_tensor(const dlpark__py_state *state, PyObject *object)
{
    return (dlpark_tensor *)(void *)((char *)object + state->shared->managed_offset);
}

/* The stream on which this thread works with the Tensor: its current one, made to wait for that on which the data is ready;
 * where it has none that stream itself. False where the driver does not make it wait. */
static bool own_stream(const dlpark__py_state *state, PyObject *object, DLDevice device, dlpark_stream *out)
{
    const dlpark_py_origin *origin =
        (const dlpark_py_origin *)(const void *)((const char *)object + state->shared->origin_offset);
    dlpark_stream ready = dlpark__py_stream_of_native(device, origin->has_stream ? origin->stream : NULL);
    dlpark_stream current = dlpark__py_current_stream(device);

    *out = current.kind == DLPARK_STREAM_UNSAID ? ready : current;
    return current.kind == DLPARK_STREAM_UNSAID || dlpark__py_order_streams(device, ready, current, NULL) == DLPARK_OK;
}

int dlpark__py_own_is_ready(const dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                            dlpark_py_origin *origin)
{
    DLDevice device = dlpark__py_own_tensor(state, object)->managed->dl_tensor.device;
    bool asks = options->order != NULL || (options->stream != NULL && options->stream != Py_None);
    dlpark_stream producer, consumer = {DLPARK_STREAM_UNSAID, NULL};
    int status = 1;

    if (!dlpark__py_serves_device(device, options))
        return 0;
    if (!dlpark_device_has_streams(device))
        return 1;
    if (!own_stream(state, object, device, &producer))
        return 0;
    if (asks || producer.kind == DLPARK_STREAM_HANDLE)
        status = dlpark__py_order(device, dlpark_stream_native(device, producer), options, &consumer);
    dlpark__py_origin_note(origin, consumer.kind == DLPARK_STREAM_UNSAID ? producer : consumer);
    return status;
}
