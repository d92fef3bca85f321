/*
 * What is made by the functions of an exchange table: memory, and objects of the type that has it.
 */
#include "export_parts.h"

int dlpark__py_exchange_allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_context,
                                 void (*set_error)(void *error_context, const char *kind, const char *message))
{
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_status status;

    *out = NULL;
    if (prototype == NULL) {
        status = dlpark_error_set(&err, DLPARK_E_ARGUMENT, "the prototype is NULL");
    } else if (!dlpark_device_equal(prototype->device, DLPARK_DEVICE_CPU)) {
        status = dlpark_error_set(&err, DLPARK_E_DEVICE, "memory was asked for on %s, and is allocated on the cpu only",
                                  dlpark_device_name(prototype->device).text);
    } else {
        const dlpark_tensor_desc desc = {
            .dtype = prototype->dtype, .ndim = prototype->ndim, .shape = DLPARK_DIMS(prototype->shape)};
        status = dlpark_tensor_alloc(&made, &desc, NULL, &err);
    }
    if (status != DLPARK_OK) {
        if (set_error != NULL)
            set_error(error_context, status == DLPARK_E_MEMORY ? "MemoryError" : "BufferError", err.message);
        return -1;
    }
    made.managed->flags &= ~(uint64_t)DLPACK_FLAG_BITMASK_IS_COPIED; /* nothing was copied */
    *out = dlpark_tensor_export(&made);
    return 0;
}

/* A Tensor, for a type that makes no objects of its own. */
static PyObject *exchange_wrap_tensor(dlpark__py_state *state, dlpark_tensor *tensor)
{
    const dlpark__py_shared *shared = dlpark__py_shared_get(state);
    const dlpark_py_origin origin = {
        .path = DLPARK_PY_PATH_EXCHANGE,
        .is_copied = (tensor->managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0,
    };
    PyObject *object = shared != NULL ? shared->tensor_new(shared, tensor->managed, &origin) : NULL;

    if (object != NULL)
        tensor->managed = NULL;
    return object;
}

static PyObject *exchange_wrap(const dlpark_py_exchange *functions, int number, dlpark_tensor *tensor)
{
    dlpark__py_state *state = dlpark__py_state_get();

    if (state == NULL)
        return NULL;
    if (functions->wrap == NULL)
        return exchange_wrap_tensor(state, tensor);
    PyTypeObject *type = state->installed[number].type;
    if (type == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the type of this exchange table is no more");
        return NULL;
    }
    PyObject *kept = Py_NewRef((PyObject *)type); /* the function may run what drops it */
    PyObject *object = functions->wrap(type, tensor);
    if (object == NULL)
        dlpark__py_error_require("wrap", kept);
    dlpark__py_drop(kept);
    return object;
}

int dlpark__py_exchange_make(const dlpark_py_exchange *functions, int number, DLManagedTensorVersioned *managed,
                             void **out)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    *out = NULL;
    dlpark_status status = dlpark_tensor_import(&tensor, &managed, NULL, &err);
    if (status != DLPARK_OK) {
        PyErr_Format(status == DLPARK_E_MEMORY ? PyExc_MemoryError : PyExc_BufferError, "%s", err.message);
        tensor.managed = managed;
    } else {
        *out = exchange_wrap(functions, number, &tensor);
    }
    dlpark__py_tensor_release(&tensor); /* ours still, only if there is no object */
    return *out != NULL ? 0 : -1;
}
