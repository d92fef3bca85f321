/*
 * The drivers of CUDA and ROCm, and copies between what they and the host have.
 */
#include <pthread.h>
#include <stdatomic.h>

#include <dlpark/cuda.h>
#include <dlpark/hip.h>
#include <dlpark/transfer.h>

#include "arguments.h"
#include "devices.h"

/* Found once, under the lock, and never closed: a driver stays loaded. */
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static dlpark_cuda devices_cuda;
static dlpark_hip devices_hip;
static atomic_bool devices_has_cuda, devices_has_hip;

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

static dlpark_status devices_find(bool is_rocm, atomic_bool *has, dlpark_error *err)
{
    dlpark_status status = DLPARK_OK;

    (void)pthread_mutex_lock(&devices_lock);
    if (!atomic_load_explicit(has, memory_order_acquire)) {
        status = is_rocm ? dlpark_hip_open(&devices_hip, NULL, err) : dlpark_cuda_open(&devices_cuda, NULL, err);
        atomic_store_explicit(has, status == DLPARK_OK, memory_order_release);
    }
    (void)pthread_mutex_unlock(&devices_lock);
    return status;
}

static dlpark_status devices_open(DLDevice device, dlpark_error *err)
{
    bool is_rocm = devices_is_rocm(device);
    atomic_bool *has = is_rocm ? &devices_has_hip : &devices_has_cuda;

    if (atomic_load_explicit(has, memory_order_acquire))
        return DLPARK_OK;
    PyThreadState *thread = PyEval_SaveThread(); /* a driver takes its time to begin */
    dlpark_status status = devices_find(is_rocm, has, err);
    PyEval_RestoreThread(thread);
    return status;
}

PyObject *dlpark__py_raise_device(DLDevice device, const dlpark_error *err)
{
    switch ((int)err->status) {
    case DLPARK_E_NOT_FOUND:
    case DLPARK_E_FOREIGN:
        return PyErr_Format(PyExc_RuntimeError, "%s: %s", dlpark_device_name(device).text, err->message);
    case DLPARK_E_DEVICE:
        return PyErr_Format(PyExc_ValueError, "%s: %s", dlpark_device_name(device).text, err->message);
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

static dlpark_status devices_order(DLDevice device, dlpark_stream producer, dlpark_stream consumer, dlpark_error *err)
{
    return devices_is_rocm(device) ? dlpark_hip_order(&devices_hip, device, producer, consumer, err)
                                   : dlpark_cuda_order(&devices_cuda, device, producer, consumer, err);
}

dlpark_status dlpark__py_device_order(DLDevice device, dlpark_stream producer, dlpark_stream consumer,
                                      dlpark_error *err)
{
    if (!dlpark__py_device_has_driver(device))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "streams of %s are not known to dlpark",
                                dlpark_device_name(device).text);
    DLPARK_TRY(devices_open(device, err));
    PyThreadState *thread = PyEval_SaveThread(); /* a driver's lock may be held by who waits for the GIL */
    dlpark_status status = devices_order(devices_of_streams(device), producer, consumer, err);
    PyEval_RestoreThread(thread);
    return status;
}

static dlpark_status devices_wait(DLDevice device, dlpark_stream stream, dlpark_error *err)
{
    device = devices_of_streams(device);
    return devices_is_rocm(device) ? dlpark_hip_wait(&devices_hip, device, stream, err)
                                   : dlpark_cuda_wait(&devices_cuda, device, stream, err);
}

/* The same for a source, with which this thread may have worked on its current stream. */
static dlpark_status devices_wait_here(DLDevice device, dlpark_stream producer, dlpark_error *err)
{
    dlpark_stream current = dlpark__py_device_stream(device);

    if (current.kind == DLPARK_STREAM_UNSAID)
        return devices_wait(device, producer, err);
    DLPARK_TRY(devices_order(devices_of_streams(device), producer, current, err));
    return devices_wait(device, current, err);
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
        DLPARK_TRY(devices_wait_here(from->device, producer, err)); /* the copy is on a stream of the other */
    else if (from_device)
        DLPARK_TRY(devices_order(devices_of_streams(from->device), producer, stream, err));
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
