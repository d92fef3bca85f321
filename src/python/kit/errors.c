/*
 * From a dlpark_status to a Python exception, and exceptions that are put aside while foreign code runs.
 */
#include "kit.h"

#include <errno.h>
#include <string.h>

/* Beyond the last errno of every system. */
#define RAISE_ERRNO_END 200

/* The exceptions that DLPARK_STATUS_TABLE may name: another one does not compile. */
#define RAISE_CLASS_None              PyExc_SystemError
#define RAISE_CLASS_ValueError        PyExc_ValueError
#define RAISE_CLASS_TypeError         PyExc_TypeError
#define RAISE_CLASS_BufferError       PyExc_BufferError
#define RAISE_CLASS_IndexError        PyExc_IndexError
#define RAISE_CLASS_OverflowError     PyExc_OverflowError
#define RAISE_CLASS_MemoryError       PyExc_MemoryError
#define RAISE_CLASS_RuntimeError      PyExc_RuntimeError
#define RAISE_CLASS_OSError           PyExc_OSError
#define RAISE_CLASS_FileNotFoundError PyExc_FileNotFoundError
#define RAISE_CLASS_PermissionError   PyExc_PermissionError

static PyObject *raise_class(dlpark_status status)
{
    switch (status) {
#define RAISE_CASE(name, value, exception, text)                                                                       \
    case DLPARK_##name:                                                                                                \
        return RAISE_CLASS_##exception;
        DLPARK_STATUS_TABLE(RAISE_CASE)
#undef RAISE_CASE
    case DLPARK_STATUS_PIN_32:
        break;
    }
    return PyExc_SystemError;
}

PyObject *dlpark_py_raise(const dlpark_error *err)
{
    /* Not PyErr_SetString: the message may quote bytes that are not UTF-8, and a bad text must not hide the error. */
    return PyErr_Format(raise_class(err->status), "%s", err->message);
}

/* The errno whose text the message ends with, since the C library reports no numbers; 0 if there is none. */
static int raise_errno(const dlpark_error *err)
{
    size_t length = strlen(err->message);

    for (int number = 1; number < RAISE_ERRNO_END; number++) {
        const char *text = strerror(number);
        size_t text_length = strlen(text);
        if (text_length + 2 < length && memcmp(err->message + length - text_length - 2, ": ", 2) == 0 &&
            strcmp(err->message + length - text_length, text) == 0)
            return number;
    }
    return 0;
}

PyObject *dlpark__py_raise_file(const dlpark_error *err, PyObject *filename)
{
    int number = raise_errno(err);

    if (number != 0 && err->status == DLPARK_E_NOT_FOUND)
        number = ENOENT;
    else if (number != 0 && err->status == DLPARK_E_PERMISSION)
        number = EACCES;
    else if (err->status != DLPARK_E_IO)
        number = 0;
    /* Where the library says more than the system does, as of a shard beside the file, that is what is to be read. */
    if (filename == NULL || number == 0)
        return dlpark_py_raise(err);
    errno = number;
    return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, filename);
}

int dlpark__py_raise_device_copy(DLDevice from, DLDevice to)
{
    dlpark_name from_name = dlpark_device_name(from);
    dlpark_name to_name = dlpark_device_name(to);
    dlpark__py_state *state = dlpark__py_state_get();
    const dlpark__py_shared *shared = state != NULL ? dlpark__py_shared_get(state) : NULL;

    /* Without the module, as where an extension runs alone, or late in the interpreter's life. */
    PyErr_Clear();
    PyObject *class = shared != NULL ? shared->device_copy_error : PyExc_BufferError;
    PyErr_Format(class, "the tensor is on %s and %s was asked for: that needs a copy, and copy=False", from_name.text,
                 to_name.text);
    return -1;
}

#if PY_VERSION_HEX >= 0x030C0000

pending_error dlpark__py_error_save(void)
{
    return (pending_error){.value = PyErr_GetRaisedException()};
}

void dlpark__py_error_restore(pending_error *saved)
{
    PyErr_SetRaisedException(saved->value);
    saved->value = NULL;
}

PyObject *dlpark__py_error_value(pending_error *saved)
{
    return saved->value;
}

bool dlpark__py_error_has_frames(const pending_error *saved)
{
    PyObject *traceback = saved->value != NULL ? PyException_GetTraceback(saved->value) : NULL;
    bool has_frames = traceback != NULL;

    Py_XDECREF(traceback);
    return has_frames;
}

#else

pending_error dlpark__py_error_save(void)
{
    pending_error saved;

    PyErr_Fetch(&saved.type, &saved.value, &saved.traceback);
    return saved;
}

void dlpark__py_error_restore(pending_error *saved)
{
    PyErr_Restore(saved->type, saved->value, saved->traceback);
    *saved = (pending_error){NULL, NULL, NULL};
}

PyObject *dlpark__py_error_value(pending_error *saved)
{
    if (saved->type != NULL)
        PyErr_NormalizeException(&saved->type, &saved->value, &saved->traceback);
    if (saved->value != NULL && saved->traceback != NULL)
        (void)PyException_SetTraceback(saved->value, saved->traceback);
    return saved->value;
}

bool dlpark__py_error_has_frames(const pending_error *saved)
{
    return saved->traceback != NULL;
}

#endif

void dlpark__py_error_discard(pending_error *saved)
{
    Py_CLEAR(saved->type);
    Py_CLEAR(saved->value);
    Py_CLEAR(saved->traceback);
}

void dlpark__py_error_chain(pending_error *earlier)
{
    pending_error later = dlpark__py_error_save();
    PyObject *context = dlpark__py_error_value(earlier), *exception = dlpark__py_error_value(&later);

    if (context != NULL && exception != NULL && context != exception) {
        PyObject *own = PyException_GetContext(exception);
        if (own == NULL)
            PyException_SetContext(exception, Py_NewRef(context));
        Py_XDECREF(own);
    }
    dlpark__py_error_discard(earlier);
    dlpark__py_error_restore(&later);
}

static DLPARK_COLD void errors_release_pending(dlpark_tensor *tensor)
{
    pending_error saved = dlpark__py_error_save();

    dlpark_tensor_release(tensor);
    dlpark__py_error_restore(&saved);
}

void dlpark__py_tensor_release(dlpark_tensor *tensor)
{
    if (tensor->managed == NULL)
        return;
    if (DLPARK_UNLIKELY(PyErr_Occurred() != NULL)) {
        errors_release_pending(tensor);
        return;
    }
    dlpark_tensor_release(tensor);
    if (DLPARK_UNLIKELY(PyErr_Occurred() != NULL))
        PyErr_Clear();
}

void dlpark__py_drop(PyObject *object)
{
    if (object == NULL)
        return;
    pending_error saved = dlpark__py_error_save();
    Py_DECREF(object);
    dlpark__py_error_restore(&saved);
}

void dlpark__py_error_require(const char *what, PyObject *object)
{
    if (PyErr_Occurred() != NULL)
        return;
    dlpark_name type = dlpark__py_type_name(object);
    PyErr_Format(PyExc_RuntimeError, "%s of %s failed without saying why", what, type.text);
}

#if PY_VERSION_HEX >= 0x030D0000 && !defined(Py_LIMITED_API)
#define ERRORS_IS_FINALIZING() (Py_IsFinalizing() != 0)
#elif !defined(Py_LIMITED_API)
#define ERRORS_IS_FINALIZING() (_Py_IsFinalizing() != 0)
#else
#define ERRORS_IS_FINALIZING() false
#endif

/* How many drops nest, each by the end of what the one before has dropped; and how many wait meanwhile. */
#define ERRORS_MAX_NESTED  50
#define ERRORS_MAX_WAITING 16

static _Thread_local struct {
    int nested;
    int waiting;
    PyObject *objects[ERRORS_MAX_WAITING];
} errors_drops;

/* An array on a tensor on an array, and so on, as loops make them that wrap their state anew in every step: to end them all
 * takes the stack of as many calls. What lies too deep waits until the outermost drop has come back. */
static void errors_drop_in_turn(PyObject *object)
{
    if (Py_REFCNT(object) > 1) { /* the usual case: nothing ends */
        Py_DECREF(object);
        return;
    }
    if (errors_drops.nested >= ERRORS_MAX_NESTED && errors_drops.waiting < ERRORS_MAX_WAITING) {
        errors_drops.objects[errors_drops.waiting++] = object;
        return;
    }
    errors_drops.nested++;
    dlpark__py_drop(object);
    while (errors_drops.nested == 1 && errors_drops.waiting > 0)
        dlpark__py_drop(errors_drops.objects[--errors_drops.waiting]);
    errors_drops.nested--;
}

void dlpark__py_drop_anywhere(void *object)
{
    if (!Py_IsInitialized() || ERRORS_IS_FINALIZING())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    errors_drop_in_turn(object);
    PyGILState_Release(gil);
}
