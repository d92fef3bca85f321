/*
 * Drivers of devices, as the module uses them: found at their first use, one for the process. Functions that return a
 * dlpark_status set no exception; all need the GIL, and release it while a device works.
 */
#ifndef DLPARK_PYTHON_DEVICES_H
#define DLPARK_PYTHON_DEVICES_H

#include "module.h"

/* ---- devices.c ---- */

/* Whether a driver serves the device: of CUDA or ROCm, their memory of the host among it. */
bool dlpark__py_device_has_driver(DLDevice device);

/* Uninitialised memory for a compact tensor of a view's dtype, shape and packing, on any device that memory can be had on. */
dlpark_status dlpark__py_device_alloc(DLDevice device, const dlpark_tensor_desc *desc, dlpark_tensor *out,
                                      dlpark_view *view, dlpark_error *err);

/* A compact copy of a view on a device, ready for whoever comes. `producer`: the stream on which the source is ready. */
dlpark_status dlpark__py_device_copy(const dlpark_view *from, dlpark_stream producer, DLDevice to, dlpark_tensor *out,
                                     dlpark_error *err);

/* Makes one stream wait for another of the same driver. */
dlpark_status dlpark__py_device_order(DLDevice device, dlpark_stream producer, dlpark_stream consumer,
                                      dlpark_error *err);

/* Raises what a user of a device expects: RuntimeError where there is no driver. Returns NULL. */
PyObject *dlpark__py_raise_device(DLDevice device, const dlpark_error *err);

/* ---- devices_stream.c ---- */

/* The stream that dlpark.stream() has made this thread's current one; one that is unsaid where it has not. */
dlpark_stream dlpark__py_device_stream(DLDevice device);

/* _stream_number(device, stream): a stream to work on, as an integer or None. */
PyObject *dlpark__py_stream_number(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
extern const char dlpark__py_stream_number_doc[];

/* _stream_set(device, stream): makes it the current one of this thread, and gives the one before. */
PyObject *dlpark__py_stream_set(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
extern const char dlpark__py_stream_set_doc[];

/* ---- tensor_protocol.c ---- */

/* Makes this thread's current stream, if it has one of the device, wait for that on which a Tensor is ready. 0; -1. */
int dlpark__py_tensor_make_ready(PyObject *self);

/* ---- tensor_device.c ---- */

/* empty(shape, dtype, device). */
PyObject *dlpark__py_empty(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names);
extern const char dlpark__py_empty_doc[];

#endif
