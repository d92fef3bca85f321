/*
 * The producer's side: what __dlpack__ is asked, and the capsule that answers.
 */
#include "export_parts.h"

#if defined(Py_LIMITED_API)
#define EXPORT_ITEM(tuple, at) PyTuple_GetItem(tuple, at)
#define EXPORT_SIZE(tuple)     PyTuple_Size(tuple)
#else
#define EXPORT_ITEM(tuple, at) PyTuple_GET_ITEM(tuple, at)
#define EXPORT_SIZE(tuple)     PyTuple_GET_SIZE(tuple)
#endif

/* ---- Keywords ---- */

enum { EXPORT_STREAM, EXPORT_MAX_VERSION, EXPORT_DL_DEVICE, EXPORT_COPY, EXPORT_KEYWORDS };

/* NULL, without an exception, late in the interpreter's life: tensors are given out all the same. */
static inline dlpark__py_state *export_state(void)
{
    dlpark__py_state *state = dlpark__py_state_get();

    if (DLPARK_UNLIKELY(state == NULL))
        PyErr_Clear();
    return state;
}

/* By identity: names in a program are interned, as ours are. -1 for any other. */
static int export_find(const dlpark__py_state *state, const PyObject *name)
{
    if (name == state->name_max_version)
        return EXPORT_MAX_VERSION;
    if (name == state->name_stream)
        return EXPORT_STREAM;
    if (name == state->name_dl_device)
        return EXPORT_DL_DEVICE;
    return name == state->name_copy ? EXPORT_COPY : -1;
}

static int export_read_keywords(PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names, PyObject **values)
{
    static const char *const names[] = {"stream", "max_version", "dl_device", "copy"};
    const dlpark__py_state *state = export_state();
    Py_ssize_t given = EXPORT_SIZE(keyword_names);

    for (Py_ssize_t i = 0; i < given; i++) {
        int at = state != NULL ? export_find(state, EXPORT_ITEM(keyword_names, i)) : -1;
        if (DLPARK_UNLIKELY(at < 0)) /* by text */
            return dlpark__py_keywords("__dlpack__", args, nargs, keyword_names, names, values, EXPORT_KEYWORDS);
        values[at] = args[nargs + i];
    }
    return 0;
}

static bool export_read_exact(PyObject *first, PyObject *second, bool *is_legacy)
{
    int overflow_major, overflow_minor;

    if (!PyLong_CheckExact(first) || !PyLong_CheckExact(second))
        return false;
    long major = PyLong_AsLongAndOverflow(first, &overflow_major);
    long minor = PyLong_AsLongAndOverflow(second, &overflow_minor);
    *is_legacy = major == 0;
    return overflow_major == 0 && overflow_minor == 0 && major >= 0 && minor >= 0;
}

/* A version as nearly everybody writes it, read without a call that could fail. False for any other. Small integers are
 * often one object, so that looking at the objects is enough. */
static inline bool export_read_plain_version(const dlpark__py_state *state, PyObject *version, bool *is_legacy)
{
    if (!PyTuple_CheckExact(version) || EXPORT_SIZE(version) != 2)
        return false;
    PyObject *first = EXPORT_ITEM(version, 0), *second = EXPORT_ITEM(version, 1);
    *is_legacy = false;
    return (first == EXPORT_ITEM(state->abi_version, 0) && second == EXPORT_ITEM(state->abi_version, 1)) ||
           export_read_exact(first, second, is_legacy);
}

/* Whether a legacy capsule is asked for: max_version is None, or of major version 0. */
static int export_read_max_version(PyObject *max_version, bool *is_legacy)
{
    long long major;
    long long minor;

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

/* The same with other keywords beside max_version, as NumPy asks: None is what is unsaid. */
static bool export_is_plain_beside(const dlpark__py_state *state, PyObject *const *args, PyObject *keyword_names,
                                   bool *is_legacy)
{
    bool is_plain = true;

    for (Py_ssize_t i = 0; is_plain && i < EXPORT_SIZE(keyword_names); i++) {
        const PyObject *name = EXPORT_ITEM(keyword_names, i);
        if (name == state->name_max_version)
            is_plain = export_read_plain_version(state, args[i], is_legacy);
        else
            is_plain = args[i] == Py_None && export_find(state, name) >= 0;
    }
    return is_plain;
}

bool dlpark__py_export_is_plain(PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names, bool *is_legacy)
{
    *is_legacy = true;
    if (keyword_names == NULL)
        return nargs == 0;
    const dlpark__py_state *state = export_state();
    if (state == NULL || nargs != 0)
        return false;
    if (DLPARK_LIKELY(EXPORT_SIZE(keyword_names) == 1 && EXPORT_ITEM(keyword_names, 0) == state->name_max_version))
        return export_read_plain_version(state, args[0], is_legacy);
    return export_is_plain_beside(state, args, keyword_names, is_legacy);
}

int dlpark__py_export_request_read(PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names,
                                   dlpark__py_export_request *out)
{
    PyObject *values[EXPORT_KEYWORDS] = {NULL};

    *out = (dlpark__py_export_request){0};
    out->is_legacy = true;
    if (nargs != 0) {
        PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments only (%zd given by position)", nargs);
        return -1;
    }
    if (keyword_names == NULL)
        return 0;
    if (export_read_keywords(args, nargs, keyword_names, values) < 0 ||
        export_read_max_version(values[EXPORT_MAX_VERSION], &out->is_legacy) < 0)
        return -1;
    PyObject *dl_device = values[EXPORT_DL_DEVICE];
    out->has_device = dl_device != NULL && dl_device != Py_None;
    if (out->has_device && dlpark__py_device_pair(dl_device, "dl_device", &out->device) < 0)
        return -1;
    out->stream = values[EXPORT_STREAM] != Py_None ? values[EXPORT_STREAM] : NULL;
    return values[EXPORT_COPY] != NULL ? dlpark__py_read_copy(values[EXPORT_COPY], &out->copy) : 0;
}

/* ---- The consumer's stream ---- */

/* The data of a type that says nothing else is ready on the default stream. */
static int export_order_default(const dlpark__py_export_request *request, DLDevice device, dlpark_stream stream)
{
    const dlpark_stream usual = {DLPARK_STREAM_DEFAULT, NULL};
    dlpark_error err;

    if (stream.kind == DLPARK_STREAM_DEFAULT || dlpark__py_order_streams(device, usual, stream, &err) == DLPARK_OK)
        return 0;
    dlpark_name name = dlpark_device_name(device);
    PyErr_Format(
        PyExc_BufferError,
        "stream=%R for a tensor on %s: expected the default stream, the data cannot be ordered for another: %s",
        request->stream, name.text, err.message);
    return -1;
}

static int export_order(const dlpark__py_export_request *request, DLDevice device, dlpark_stream stream)
{
    if (request->order == NULL)
        return export_order_default(request, device, stream);
    if (request->order(request->self, device, stream) == 0)
        return 0;
    dlpark__py_error_require("order", request->self);
    return -1;
}

static int export_make_ready(const dlpark__py_export_request *request, DLDevice device)
{
    dlpark_stream stream;
    int status = dlpark__py_stream_read(device, request->stream, &stream);

    if (status < 0)
        return -1;
    if (stream.kind == DLPARK_STREAM_NO_SYNC || !dlpark_device_has_streams(device))
        return 0;
    if (stream.kind == DLPARK_STREAM_UNSAID)
        stream.kind = DLPARK_STREAM_DEFAULT;
    return export_order(request, device, stream);
}

/* ---- The tensor ---- */

/* Whether memory on `from` can be described as on `to` without moving a byte. */
static bool export_is_same_memory(DLDevice from, DLDevice to)
{
    return dlpark_device_equal(from, to) || (dlpark__py_is_host(from) && dlpark_device_equal(to, DLPARK_DEVICE_CPU));
}

/* Where there is no GIL two threads may share the same owner for the first time, which changes it. */
#if defined(Py_GIL_DISABLED)
static PyMutex export_mutex;
#define EXPORT_LOCK()   PyMutex_Lock(&export_mutex)
#define EXPORT_UNLOCK() PyMutex_Unlock(&export_mutex)
#else
#define EXPORT_LOCK()   ((void)0)
#define EXPORT_UNLOCK() ((void)0)
#endif

/* Again, for the words. */
static DLPARK_COLD int export_refuse_share(dlpark_tensor *tensor, dlpark_tensor *out)
{
    dlpark_error err;

    if (dlpark_tensor_share(out, tensor, NULL, &err) == DLPARK_OK)
        return 0;
    dlpark_py_raise(&err);
    return -1;
}

static inline int export_share(dlpark_tensor *tensor, dlpark_tensor *out)
{
    EXPORT_LOCK();
    dlpark_status status = dlpark_tensor_share(out, tensor, NULL, NULL);
    EXPORT_UNLOCK();
    return DLPARK_LIKELY(status == DLPARK_OK) ? 0 : export_refuse_share(tensor, out);
}

/* A copy elsewhere, or on a device. The data is ready on the consumer's stream, or, as the request names none, on the
 * default one; a consumer that wants no order has one for the copy all the same. */
static int export_move(const dlpark_tensor *tensor, const dlpark__py_export_request *request, DLDevice to,
                       dlpark_tensor *out)
{
    dlpark_stream ready;
    dlpark_error err;
    dlpark_view view;

    dlpark_tensor_view(tensor, &view);
    if (request->copy == DLPARK_PY_COPY_NEVER)
        return dlpark__py_raise_device_copy(view.device, to);
    if (dlpark__py_stream_read(view.device, request->stream, &ready) < 0)
        return -1;
    if (ready.kind == DLPARK_STREAM_NO_SYNC && dlpark_device_has_streams(view.device)) {
        ready = (dlpark_stream){DLPARK_STREAM_DEFAULT, NULL};
        if (export_order(request, view.device, ready) < 0)
            return -1;
    }
    if (dlpark__py_move(&view, ready, to, out, &err) == DLPARK_OK)
        return 0;
    dlpark_name from_name = dlpark_device_name(view.device);
    dlpark_name to_name = dlpark_device_name(to);
    PyErr_Format(err.status == DLPARK_E_MEMORY ? PyExc_MemoryError : PyExc_BufferError,
                 "the tensor is on %s and cannot be copied to %s: %s", from_name.text, to_name.text, err.message);
    return -1;
}

/* An owner for a request that wants a copy, or names a device. */
static int export_fit(dlpark_tensor *tensor, const dlpark__py_export_request *request, dlpark_tensor *out)
{
    DLDevice own = tensor->managed->dl_tensor.device;
    DLDevice device = request->has_device ? request->device : own;
    dlpark_view view;

    if (!export_is_same_memory(own, device))
        return export_move(tensor, request, device, out);
    if (request->copy != DLPARK_PY_COPY_ALWAYS) {
        if (export_share(tensor, out) < 0)
            return -1;
        out->managed->dl_tensor.device = device; /* the header is new, and ours */
        return 0;
    }
    if (!dlpark_device_equal(device, DLPARK_DEVICE_CPU))
        return export_move(tensor, request, device, out);
    dlpark_tensor_view(tensor, &view);
    return dlpark__py_copy(&view, out);
}

/* ---- The capsule ---- */

static PyObject *export_capsule(dlpark_tensor *made, bool is_legacy)
{
    PyObject *capsule = is_legacy ? dlpark_py_capsule_new_legacy(made) : dlpark_py_capsule_new(made);

    if (DLPARK_UNLIKELY(capsule == NULL))
        dlpark__py_tensor_release(made);
    return capsule;
}

PyObject *dlpark__py_export_plain(dlpark_tensor *tensor, bool is_legacy)
{
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;

    return export_share(tensor, &made) == 0 ? export_capsule(&made, is_legacy) : NULL;
}

PyObject *dlpark__py_export_answer(dlpark_tensor *tensor, const dlpark__py_export_request *request)
{
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;

    DLDevice own = tensor->managed->dl_tensor.device;

    if ((request->stream != NULL || own.device_type != kDLCPU) && export_make_ready(request, own) < 0)
        return NULL;
    if (!request->has_device && request->copy != DLPARK_PY_COPY_ALWAYS)
        return dlpark__py_export_plain(tensor, request->is_legacy);
    return export_fit(tensor, request, &made) == 0 ? export_capsule(&made, request->is_legacy) : NULL;
}

PyObject *dlpark__py_export_answer_owned(dlpark_tensor *made, const dlpark__py_export_request *request)
{
    DLDevice own = made->managed->dl_tensor.device;
    dlpark_tensor fitting = DLPARK_TENSOR_EMPTY;
    bool is_copied = (made->managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
    bool is_fitting = (!request->has_device || dlpark_device_equal(own, request->device)) &&
                      (request->copy != DLPARK_PY_COPY_ALWAYS || is_copied);
    int status = request->stream != NULL || own.device_type != kDLCPU ? export_make_ready(request, own) : 0;

    if (status == 0 && is_copied && request->copy == DLPARK_PY_COPY_NEVER) {
        PyErr_SetString(PyExc_BufferError, "the data can be given out as a copy only, and copy=False");
        status = -1;
    }
    if (status == 0 && is_fitting)
        return export_capsule(made, request->is_legacy);
    if (status == 0)
        status = export_fit(made, request, &fitting);
    dlpark__py_tensor_release(made);
    return status == 0 ? export_capsule(&fitting, request->is_legacy) : NULL;
}

/* ---- The methods ---- */

PyObject *dlpark_py_answer_dlpack(dlpark_tensor *tensor, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *keyword_names)
{
    dlpark__py_export_request request;
    bool is_legacy;

    if (dlpark__py_export_is_plain(args, nargs, keyword_names, &is_legacy))
        return dlpark__py_export_plain(tensor, is_legacy);
    if (dlpark__py_export_request_read(args, nargs, keyword_names, &request) < 0)
        return NULL;
    return dlpark__py_export_answer(tensor, &request);
}

/* `entry`, optional, is where it is kept. */
static DLPARK_COLD PyObject *export_make_tuple(dlpark__py_device_tuple *entry, DLDevice device)
{
    PyObject *tuple = Py_BuildValue("(ii)", (int)device.device_type, (int)device.device_id);

    if (tuple != NULL && entry != NULL) {
        Py_XDECREF(entry->tuple); /* of integers: no foreign code runs */
        *entry = (dlpark__py_device_tuple){device, Py_NewRef(tuple)};
    }
    return tuple;
}

PyObject *dlpark__py_device_tuple_of(DLDevice device)
{
#if defined(Py_GIL_DISABLED)
    return export_make_tuple(NULL, device); /* another thread could end the one that is kept */
#else
    dlpark__py_state *state = export_state();
    uint32_t at = ((uint32_t)device.device_type + 5u * (uint32_t)device.device_id) % DLPARK__PY_DEVICES;

    if (DLPARK_UNLIKELY(state == NULL))
        return export_make_tuple(NULL, device);
    dlpark__py_device_tuple *entry = &state->devices[at];
    if (DLPARK_LIKELY(entry->tuple != NULL && dlpark_device_equal(entry->device, device)))
        return Py_NewRef(entry->tuple);
    return export_make_tuple(entry, device);
#endif
}

PyObject *dlpark_py_answer_dlpack_device(const dlpark_tensor *tensor)
{
    return dlpark__py_device_tuple_of(tensor->managed->dl_tensor.device);
}
