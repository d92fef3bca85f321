/*
 * The drivers of CUDA and ROCm, and copies between what they and the host have.
 */
#include <dlpark/cuda.h>
#include <dlpark/hip.h>
#include <dlpark/transfer.h>

#include "arguments.h"
#include "devices.h"

/* Never closed: a driver stays loaded. Written under the GIL; where there is none, two threads find the same. */
static dlpark_cuda devices_cuda;
static dlpark_hip devices_hip;

static bool devices_is_cuda(DLDevice device)
{
    return device.device_type == kDLCUDA || device.device_type == kDLCUDAHost || device.device_type == kDLCUDAManaged;
}

static bool devices_is_rocm(DLDevice device)
{
    return device.device_type == kDLROCM || device.device_type == kDLROCMHost;
}

bool dlpark__py_device_has_driver(DLDevice device)
{
    return devices_is_cuda(device) || devices_is_rocm(device);
}

/* ---- Drivers ---- */

static dlpark_status devices_open_cuda(dlpark_error *err)
{
    dlpark_cuda opened = DLPARK_CUDA_EMPTY;

    if (devices_cuda.driver != NULL)
        return DLPARK_OK;
    DLPARK_TRY(dlpark_cuda_open(&opened, NULL, err));
    devices_cuda = opened;
    return DLPARK_OK;
}

static dlpark_status devices_open_hip(dlpark_error *err)
{
    dlpark_hip opened = DLPARK_HIP_EMPTY;

    if (devices_hip.driver != NULL)
        return DLPARK_OK;
    DLPARK_TRY(dlpark_hip_open(&opened, NULL, err));
    devices_hip = opened;
    return DLPARK_OK;
}

static dlpark_status devices_open(DLDevice device, dlpark_error *err)
{
    return devices_is_rocm(device) ? devices_open_hip(err) : devices_open_cuda(err);
}

PyObject *dlpark__py_raise_device(DLDevice device, const dlpark_error *err)
{
    switch ((int)err->status) {
    case DLPARK_E_NOT_FOUND:
        return PyErr_Format(PyExc_RuntimeError, "%s: %s", dlpark_device_name(device).text, err->message);
    case DLPARK_E_DEVICE:
        return PyErr_Format(PyExc_ValueError, "%s: %s", dlpark_device_name(device).text, err->message);
    case DLPARK_E_FOREIGN:
        return dlpark_py_raise(err);
    default:
        return dlpark__py_raise_value(err);
    }
}

/* ---- Memory ---- */

dlpark_status dlpark__py_device_alloc(DLDevice device, const dlpark_tensor_desc *desc, dlpark_tensor *out,
                                      dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor_desc placed = *desc;

    if (dlpark_device_equal(device, DLPARK_DEVICE_CPU))
        return dlpark_tensor_alloc(out, desc, view, err);
    if (!dlpark__py_device_has_driver(device))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "memory is allocated on the cpu, CUDA and ROCm, not on %s",
                                dlpark_device_name(device).text);
    placed.device = device;
    DLPARK_TRY(devices_open(device, err));
    PyThreadState *thread = PyEval_SaveThread();
    dlpark_status status = devices_is_rocm(device) ? dlpark_hip_alloc(&devices_hip, out, &placed, NULL, view, err)
                                                   : dlpark_cuda_alloc(&devices_cuda, out, &placed, NULL, view, err);
    PyEval_RestoreThread(thread);
    return status;
}

/* ---- Streams ---- */

/* Where a stream lies: managed memory has those of a device. */
static DLDevice devices_of_streams(DLDevice device)
{
    if (device.device_type == kDLCUDAManaged)
        device.device_type = kDLCUDA;
    return device;
}

dlpark_status dlpark__py_device_order(DLDevice device, dlpark_stream producer, dlpark_stream consumer,
                                      dlpark_error *err)
{
    if (!dlpark__py_device_has_driver(device))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "streams of %s are not known to dlpark",
                                dlpark_device_name(device).text);
    DLPARK_TRY(devices_open(device, err));
    device = devices_of_streams(device);
    return devices_is_rocm(device) ? dlpark_hip_order(&devices_hip, device, producer, consumer, err)
                                   : dlpark_cuda_order(&devices_cuda, device, producer, consumer, err);
}

static dlpark_status devices_wait(DLDevice device, dlpark_stream stream, dlpark_error *err)
{
    device = devices_of_streams(device);
    return devices_is_rocm(device) ? dlpark_hip_wait(&devices_hip, device, stream, err)
                                   : dlpark_cuda_wait(&devices_cuda, device, stream, err);
}

/* ---- Copies ---- */

/* What the driver of `driver` does, on a stream of the side that is its device; all of it is done on return. */
static dlpark_status devices_move(DLDevice driver, const dlpark_view *to, const dlpark_view *from,
                                  dlpark_stream producer, dlpark_error *err)
{
    bool to_device = dlpark_device_has_streams(to->device), from_device = dlpark_device_has_streams(from->device);
    DLDevice device = to_device ? to->device : from->device;
    dlpark_stream stream = dlpark__py_device_stream(device);

    if (!to_device && !from_device) /* both are the host's to read */
        return dlpark_copy(to, from, err);
    if (from_device && to_device && !dlpark_device_equal(to->device, from->device))
        DLPARK_TRY(devices_wait(from->device, producer, err)); /* the copy is on a stream of the other */
    else if (from_device)
        DLPARK_TRY(dlpark__py_device_order(from->device, producer, stream, err));
    DLPARK_TRY(devices_is_rocm(driver) ? dlpark_hip_copy(&devices_hip, to, from, stream, err)
                                       : dlpark_cuda_copy(&devices_cuda, to, from, stream, err));
    /* Whoever ends the source now need not know of the stream, and whoever takes the copy neither. */
    return to_device && from_device ? devices_wait(device, stream, err) : DLPARK_OK;
}

/* Of which driver the copy is; the cpu where it needs none. */
static dlpark_status devices_driver(DLDevice to, DLDevice from, DLDevice *out, dlpark_error *err)
{
    bool by_cuda = devices_is_cuda(to) || devices_is_cuda(from), by_rocm = devices_is_rocm(to) || devices_is_rocm(from);
    DLDevice other = dlpark__py_device_has_driver(to) ? from : to;

    *out = dlpark__py_device_has_driver(to) ? to : dlpark__py_device_has_driver(from) ? from : DLPARK_DEVICE_CPU;
    if (!(by_cuda && by_rocm) && (dlpark__py_device_has_driver(other) || dlpark_device_is_host_accessible(other)))
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_DEVICE, "dlpark copies between the host and CUDA or ROCm, not from %s to %s",
                            dlpark_device_name(from).text, dlpark_device_name(to).text);
}

dlpark_status dlpark__py_device_copy(const dlpark_view *from, dlpark_stream producer, DLDevice to, dlpark_tensor *out,
                                     dlpark_error *err)
{
    const dlpark_tensor_desc desc = {.dtype = from->dtype,
                                     .ndim = from->ndim,
                                     .shape = DLPARK_DIMS(from->shape),
                                     .flags = from->flags & DLPARK_VIEW_PADDED ? DLPARK_TENSOR_PADDED : 0};
    DLDevice driver;
    dlpark_view view;

    DLPARK_TRY(devices_driver(to, from->device, &driver, err));
    if (dlpark__py_device_has_driver(driver))
        DLPARK_TRY(devices_open(driver, err));
    DLPARK_TRY(dlpark__py_device_alloc(to, &desc, out, &view, err));
    PyThreadState *thread = PyEval_SaveThread();
    dlpark_status status = dlpark_view_nbytes(from) == 0 ? DLPARK_OK : devices_move(driver, &view, from, producer, err);
    if (status != DLPARK_OK)
        dlpark_tensor_release(out);
    PyEval_RestoreThread(thread);
    return status;
}
