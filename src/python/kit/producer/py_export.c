/*
 * A tensor as an object of a framework: which one, by which way, and what is said when it cannot be.
 */
#include "frameworks.h"

dlpark_spec_framework dlpark_py_framework_of(PyObject *object)
{
    dlpark_spec_framework framework = DLPARK_SPEC_AS_UNSAID;
    pending_error saved = dlpark__py_error_save();
    dlpark__py_state *state = dlpark__py_state_get();

    if (state != NULL)
        framework = dlpark__py_type_of(state, Py_TYPE(object))->framework;
    PyErr_Clear();
    dlpark__py_error_restore(&saved);
    return framework;
}

/* ---- Refusals ---- */

/* As a spec has it. */
static const char *export_name(dlpark_spec_framework framework)
{
    static const char *const names[DLPARK__PY_NFRAMEWORKS] = {"",
#define EXPORT_NAME(name, value, text) text,
                                                              DLPARK_SPEC_FRAMEWORK_TABLE(EXPORT_NAME)
#undef EXPORT_NAME
    };

    return names[framework];
}

/* The pending exception as an object with its traceback; the caller owns it. */
static PyObject *export_catch(void)
{
    pending_error saved = dlpark__py_error_save();

#if PY_VERSION_HEX < 0x030C0000
    PyErr_NormalizeException(&saved.type, &saved.value, &saved.traceback);
    if (saved.traceback != NULL)
        PyException_SetTraceback(saved.value, saved.traceback);
#endif
    PyObject *error = Py_XNewRef(saved.value);
    dlpark__py_error_discard(&saved);
    return error;
}

static void export_throw(PyObject *error)
{
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
}

/* Makes of what a framework raised a BufferError that names it and the elements, with the framework's own as the cause.
 * What says nothing of the tensor passes as it is: an exit, no memory, no such module. Returns NULL. */
static DLPARK_COLD PyObject *export_refuse(const char *taker, DLDataType dtype, DLDevice device)
{
    dlpark_name dtype_name = dlpark_dtype_long_name(dtype);
    dlpark_name device_name = dlpark_device_name(device);

    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError) ||
        PyErr_ExceptionMatches(PyExc_ImportError))
        return NULL;
    PyObject *cause = export_catch();
    PyObject *text = PyObject_Str(cause);
    PyErr_Clear();
    if (text != NULL)
        PyErr_Format(PyExc_BufferError, "%s cannot take %s on %s: %U", taker, dtype_name.text, device_name.text, text);
    else
        PyErr_Format(PyExc_BufferError, "%s cannot take %s on %s", taker, dtype_name.text, device_name.text);
    Py_XDECREF(text);
    PyObject *error = export_catch();
    PyException_SetContext(error, Py_NewRef(cause));
    PyException_SetCause(error, cause);
    export_throw(error);
    return NULL;
}

/* ---- Export ---- */

/* Takes the tensor. */
static PyObject *export_to(dlpark__py_state *state, dlpark_tensor *tensor, dlpark_spec_framework framework)
{
    switch (framework) {
    case DLPARK_SPEC_AS_NUMPY:
        return dlpark__py_to_numpy(state, tensor);
    case DLPARK_SPEC_AS_TORCH:
        return dlpark__py_to_torch(state, tensor);
    case DLPARK_SPEC_AS_TENSORFLOW:
        return dlpark__py_to_tensorflow(state, tensor);
    case DLPARK_SPEC_AS_MEMORYVIEW:
        return dlpark__py_to_memoryview(state, tensor);
    case DLPARK_SPEC_AS_JAX:
    case DLPARK_SPEC_AS_CUPY:
    case DLPARK_SPEC_AS_MLX:
        return dlpark__py_to_consumer(state, tensor, framework);
    case DLPARK_SPEC_AS_UNSAID:
    case DLPARK_SPEC_AS_DLPARK:
    case DLPARK_SPEC_AS_PIN_32:
        break;
    }
    return dlpark__py_to_dlpark(state, tensor);
}

/* As the object is: by its framework, or by the exchange table of its type. Takes the tensor. */
static PyObject *export_like(dlpark__py_state *state, dlpark_tensor *tensor, PyObject *like,
                             dlpark_spec_framework *framework)
{
    const dlpark__py_type *entry = dlpark__py_type_of(state, Py_TYPE(like));
    const DLPackExchangeAPI *table = entry->exchange;

    *framework = entry->framework;
    if (*framework != DLPARK_SPEC_AS_UNSAID)
        return export_to(state, tensor, *framework);
    if (table != NULL && table->managed_tensor_to_py_object_no_sync != NULL)
        return dlpark__py_to_exchange(table, tensor);
    *framework = DLPARK_SPEC_AS_DLPARK;
    return dlpark__py_to_dlpark(state, tensor);
}

PyObject *dlpark__py_export(dlpark__py_state *state, dlpark_tensor *tensor, dlpark_spec_framework framework,
                            PyObject *like)
{
    DLDataType dtype = tensor->managed->dl_tensor.dtype;
    DLDevice device = tensor->managed->dl_tensor.device;
    PyObject *object;

    if (framework == DLPARK_SPEC_AS_UNSAID && like == NULL)
        framework = DLPARK_SPEC_AS_DLPARK;
    if (framework == DLPARK_SPEC_AS_UNSAID)
        object = export_like(state, tensor, like, &framework);
    else
        object = export_to(state, tensor, framework);
    if (DLPARK_LIKELY(object != NULL))
        return object;
    bool is_table = framework == DLPARK_SPEC_AS_UNSAID;
    dlpark_name type = is_table ? dlpark__py_type_name(like) : (dlpark_name){""};
    return export_refuse(is_table ? type.text : export_name(framework), dtype, device);
}

PyObject *dlpark_py_export(dlpark_tensor *tensor, dlpark_spec_framework framework, PyObject *like)
{
    dlpark__py_state *state = dlpark__py_state_get();

    if (DLPARK_LIKELY(state != NULL && (unsigned)framework < DLPARK__PY_NFRAMEWORKS))
        return dlpark__py_export(state, tensor, framework, like);
    if (state != NULL)
        PyErr_Format(PyExc_ValueError, "%d is no framework", (int)framework);
    dlpark__py_tensor_release(tensor);
    return NULL;
}
