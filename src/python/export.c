/*
 * The producer's side: what __dlpack__ is asked, and the header that answers.
 */
#include "module.h"

/* Below this many bytes a copy is over sooner than another thread would get the GIL. */
#define EXPORT_GIL_NBYTES 65536

/* ---- The header ---- */

#if PY_VERSION_HEX >= 0x030D0000 && !defined(Py_LIMITED_API)
#define EXPORT_IS_FINALIZING() (Py_IsFinalizing() != 0)
#elif !defined(Py_LIMITED_API)
#define EXPORT_IS_FINALIZING() (_Py_IsFinalizing() != 0)
#else
#define EXPORT_IS_FINALIZING() false
#endif

/*
 * The release function of an exported header. Comes on any thread, with or without the GIL, with any exception
 * pending, and after the interpreter has ended: then the object is leaked, since nothing is left that could end it.
 */
static void export_end(void *owner)
{
    if (!Py_IsInitialized() || EXPORT_IS_FINALIZING())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    dlpark__py_drop(owner);
    PyGILState_Release(gil);
}

/* The object's memory under a header of its own, which keeps the object alive. */
static int export_share(tensor_object *self, const dlpark_view *view, DLDevice device, dlpark_tensor *out)
{
    const DLTensor *held = &self->tensor.managed->dl_tensor;
    dlpark_error err;
    dlpark_tensor_desc desc = {
        .data = held->data,
        .byte_offset = held->byte_offset,
        .dtype = held->dtype,
        .device = device,
        .ndim = held->ndim,
        .shape = DLPARK_DIMS(held->shape),
        .strides = DLPARK_DIMS(held->strides),
        .flags = (view->flags & DLPARK_VIEW_PADDED ? DLPARK_TENSOR_PADDED : 0) |
                 (view->flags & DLPARK_VIEW_READ_ONLY ? DLPARK_TENSOR_READ_ONLY : 0),
        .owner = self,
        .release = export_end,
    };

    if (dlpark_tensor_new(out, &desc, NULL, &err)) {
        dlpark__py_raise(&err);
        return -1;
    }
    Py_INCREF((PyObject *)self);
    if ((view->flags & DLPARK_VIEW_UNKNOWN_WRITE) && dlpark__py_forget_write(out, &err)) {
        dlpark__py_tensor_release(out);
        dlpark__py_raise(&err);
        return -1;
    }
    return 0;
}

dlpark_status dlpark__py_forget_write(dlpark_tensor *tensor, dlpark_error *err)
{
    DLManagedTensor *legacy = NULL;

    DLPARK_TRY(dlpark_tensor_export_legacy(tensor, 0, &legacy, err));
    dlpark_status status = dlpark_tensor_import_legacy(tensor, &legacy, NULL, err);
    dlpark_managed_release_legacy(&legacy); /* ours still, only if the import failed */
    return status;
}

bool dlpark__py_is_host(DLDevice device)
{
    return dlpark_device_is_host_accessible(device) && device.device_type != kDLCUDAManaged;
}

const char *dlpark__py_host_hint(DLDevice device)
{
    return device.device_type == kDLCUDAManaged
               ? ": the host may read it only when the device is done with it, and dlpark cannot wait for that"
               : "";
}

int dlpark__py_copy(const dlpark_view *from, dlpark_tensor *out)
{
    dlpark_error err;
    dlpark_view to;
    dlpark_tensor_desc desc = {.dtype = from->dtype,
                               .ndim = from->ndim,
                               .shape = DLPARK_DIMS(from->shape),
                               .flags = from->flags & DLPARK_VIEW_PADDED ? DLPARK_TENSOR_PADDED : 0};
    dlpark_status status = dlpark_tensor_alloc(out, &desc, &to, &err);

    if (status == DLPARK_OK && dlpark_view_nbytes(from) >= EXPORT_GIL_NBYTES) {
        PyThreadState *thread = PyEval_SaveThread();
        status = dlpark_copy(&to, from, &err);
        PyEval_RestoreThread(thread);
    } else if (status == DLPARK_OK) {
        status = dlpark_copy(&to, from, &err);
    }
    if (status != DLPARK_OK) {
        dlpark_tensor_release(out);
        dlpark__py_raise(&err);
        return -1;
    }
    return 0;
}

/* ---- The request ---- */

/* Whether memory on `from` can be described as on `to` without moving a byte. */
static bool export_is_same_memory(DLDevice from, DLDevice to)
{
    return dlpark_device_equal(from, to) || (dlpark__py_is_host(from) && dlpark_device_equal(to, DLPARK_DEVICE_CPU));
}

int dlpark__py_export(module_state *state, tensor_object *self, const tensor_request *request, dlpark_tensor *out)
{
    dlpark_view view;

    dlpark_tensor_view(&self->tensor, &view);
    DLDevice device = request->has_device ? request->device : view.device;
    if (!export_is_same_memory(view.device, device)) {
        if (request->copy == COPY_NEVER)
            return dlpark__py_raise_device_copy(state, view.device, device);
        dlpark_name from_name = dlpark_device_name(view.device);
        dlpark_name to_name = dlpark_device_name(device);
        PyErr_Format(PyExc_BufferError, "the tensor is on %s and cannot be exported to %s%s", from_name.text,
                     to_name.text, dlpark__py_host_hint(view.device));
        return -1;
    }
    if (request->copy != COPY_ALWAYS)
        return export_share(self, &view, device, out);
    if (!dlpark_device_equal(device, DLPARK_DEVICE_CPU)) {
        dlpark_name name = dlpark_device_name(device);
        PyErr_Format(PyExc_BufferError, "a copy on %s was asked for; copies are made in host memory only", name.text);
        return -1;
    }
    return dlpark__py_copy(&view, out);
}

static int export_refuse_stream(PyObject *class, DLDevice device, PyObject *stream, const char *allowed)
{
    dlpark_name name = dlpark_device_name(device);

    PyErr_Format(class, "stream=%R for a tensor on %s: expected %s", stream, name.text, allowed);
    return -1;
}

/* The tensor's data is ready on the legacy default stream, where its import asked for it, and on no other. */
static int export_check_stream(PyObject *stream, DLDevice device)
{
    int overflow = 0;
    bool is_cuda = device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged;
    bool is_rocm = device.device_type == kDLROCM;

    if (stream == NULL || stream == Py_None)
        return 0;
    PyObject *integer = PyNumber_Index(stream);
    if (integer == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear();
        return export_refuse_stream(PyExc_ValueError, device, stream, "None or an integer");
    }
    long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
    Py_DECREF(integer);
    if (value == -1 && overflow == 0)
        return 0; /* the consumer wants no synchronisation */
    if (is_cuda && value == 0 && overflow == 0)
        return export_refuse_stream(PyExc_ValueError, device, stream,
                                    "1 for the legacy default stream; 0 is ambiguous");
    if (is_rocm && (value == 1 || value == 2))
        return export_refuse_stream(PyExc_ValueError, device, stream, "0 for the default stream; 1 and 2 mean nothing");
    if ((is_cuda && value == 1) || (is_rocm && value == 0 && overflow == 0))
        return 0;
    if (is_cuda || is_rocm)
        return export_refuse_stream(PyExc_BufferError, device, stream,
                                    "the default stream: dlpark cannot order the data for another one");
    return export_refuse_stream(PyExc_ValueError, device, stream, "None or -1");
}

/* Whether a legacy capsule is asked for: max_version is None, or of major version 0. */
static int export_read_max_version(PyObject *max_version, bool *is_legacy)
{
    long long major;
    long long minor;

    *is_legacy = true;
    if (max_version == NULL || max_version == Py_None)
        return 0;
    if (dlpark__py_pair(max_version, "max_version", &major, &minor) < 0)
        return -1;
    if (major < 0 || minor < 0) {
        PyErr_Format(PyExc_TypeError, "max_version is (%lld, %lld), which is no version", major, minor);
        return -1;
    }
    *is_legacy = major == 0;
    return 0;
}

/* ---- The methods ---- */

enum { EXPORT_STREAM, EXPORT_MAX_VERSION, EXPORT_DL_DEVICE, EXPORT_COPY, EXPORT_KEYWORDS };

static int export_read(PyObject *const *values, DLDevice own, tensor_request *request, bool *is_legacy)
{
    PyObject *dl_device = values[EXPORT_DL_DEVICE];

    if (export_read_max_version(values[EXPORT_MAX_VERSION], is_legacy) < 0)
        return -1;
    request->has_device = dl_device != NULL && dl_device != Py_None;
    if (request->has_device && dlpark__py_device_pair(dl_device, "dl_device", &request->device) < 0)
        return -1;
    if (dlpark__py_copy_wish(values[EXPORT_COPY], &request->copy) < 0)
        return -1;
    return export_check_stream(values[EXPORT_STREAM], own);
}

PyObject *dlpark__py_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"stream", "max_version", "dl_device", "copy"};
    PyObject *values[EXPORT_KEYWORDS] = {NULL};
    tensor_object *tensor = (tensor_object *)self;
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;
    tensor_request request = {0};
    bool is_legacy;

    if (nargs != 0)
        return PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments only (%zd given by position)",
                            nargs);
    if (dlpark__py_keywords("__dlpack__", args, nargs, keyword_names, names, values, EXPORT_KEYWORDS) < 0)
        return NULL;
    if (export_read(values, tensor->tensor.managed->dl_tensor.device, &request, &is_legacy) < 0)
        return NULL;
    if (dlpark__py_export(dlpark__py_state_of(self), tensor, &request, &made) < 0)
        return NULL;
    PyObject *capsule = is_legacy ? dlpark__py_capsule_new_legacy(&made) : dlpark__py_capsule_new(&made);
    dlpark__py_tensor_release(&made); /* ours still, only if no capsule took it */
    return capsule;
}

PyObject *dlpark__py_dlpack_device(PyObject *self, PyObject *ignored)
{
    DLDevice device = ((tensor_object *)self)->tensor.managed->dl_tensor.device;

    (void)ignored;
    return Py_BuildValue("(ii)", (int)device.device_type, (int)device.device_id);
}
