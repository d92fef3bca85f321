/*
 * Devices: the drivers are dlpark._core's, and one for the process.
 */
#include "kit.h"

/* NULL, without an exception: it has not been imported, or knows of no devices. */
static const dlpark__py_shared *device_shared(void)
{
    dlpark__py_state *state = dlpark__py_state_get();
    const dlpark__py_shared *shared = state != NULL ? dlpark__py_shared_peek(state) : NULL;

    if (state == NULL)
        PyErr_Clear();
    return shared != NULL && shared->nbytes >= sizeof *shared ? shared : NULL;
}

static dlpark_status device_refuse(dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                            "the module dlpark, which knows the drivers of devices, has not "
                            "been imported");
}

dlpark_status dlpark__py_move(const dlpark_view *from, dlpark_stream producer, DLDevice to, dlpark_tensor *out,
                              dlpark_error *err)
{
    const dlpark__py_shared *shared = device_shared();

    return shared != NULL ? shared->device_copy(from, producer, to, out, err) : device_refuse(err);
}

dlpark_status dlpark__py_order_streams(DLDevice device, dlpark_stream producer, dlpark_stream consumer,
                                       dlpark_error *err)
{
    const dlpark__py_shared *shared = device_shared();

    return shared != NULL ? shared->device_order(device, producer, consumer, err) : device_refuse(err);
}

dlpark_stream dlpark__py_current_stream(DLDevice device)
{
    const dlpark__py_shared *shared = device_shared();

    return shared != NULL ? shared->device_stream(device) : (dlpark_stream){DLPARK_STREAM_UNSAID, NULL};
}

dlpark_stream dlpark__py_stream_of_native(DLDevice device, void *native)
{
    bool is_cuda =
        device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged || device.device_type == kDLCUDAHost;
    uintptr_t number = (uintptr_t)native;

    if (number == 0 || (is_cuda && number == 1))
        return (dlpark_stream){DLPARK_STREAM_DEFAULT, NULL};
    if (is_cuda && number == 2)
        return (dlpark_stream){DLPARK_STREAM_PER_THREAD, NULL};
    return (dlpark_stream){DLPARK_STREAM_HANDLE, native};
}
