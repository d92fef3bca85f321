/*
 * What a call holds of its arguments: taken, owned before foreign code runs beside it, given back.
 */
#include "call_parts.h"

/* Whether an owner has the tensor that was lent. Strides where they mean nothing may differ. */
static bool own_is_same(const dlpark_call_tensor *lent, const dlpark_view *view)
{
    const DLTensor *tensor = &lent->tensor;
    bool same = tensor->data == view->data && tensor->byte_offset == view->byte_offset && tensor->ndim == view->ndim &&
                dlpark_dtype_equal(tensor->dtype, view->dtype) && dlpark_device_equal(tensor->device, view->device);

    for (int32_t i = 0; same && i < view->ndim; i++)
        same = tensor->shape[i] == view->shape[i];
    for (int32_t i = 0; same && view->data != NULL && i < view->ndim; i++)
        same = tensor->strides[i] == view->strides[i] || view->shape[i] == 1;
    return same;
}

static int own_refuse_change(const dlpark_call *call, int32_t index)
{
    PyErr_Format(PyExc_RuntimeError, "%s() argument '%s' was changed while the call was reading it",
                 call->signature->name, call->signature->names.arguments[index]);
    return -1;
}

/* A table that gives no owners lends once more: what it lent before is still so, or the call fails. */
static int own_look_again(dlpark_call *call, int32_t index, const DLPackExchangeAPI *table)
{
    DLPARK_UNINITIALIZED dlpark_view view;
    dlpark_call_tensor *lent = &call->tensors[index];
    DLTensor again = {.data = NULL};

    if (table->dltensor_from_py_object_no_sync(lent->object, &again) != 0) {
        dlpark__py_error_require("dltensor_from_py_object_no_sync", lent->object);
        dlpark__call_note_argument(call, call->signature->names.arguments[index]);
        return -1;
    }
    if (dlpark_check(&again, 0, &view, NULL) != DLPARK_OK || !own_is_same(lent, &view))
        return own_refuse_change(call, index);
    return 0;
}

static int own_tensor(dlpark_call *call, int32_t index)
{
    dlpark_call_tensor *lent = &call->tensors[index];
    dlpark_py_options options = {.paths = DLPARK_PY_PATH_EXCHANGE, .order = dlpark__call_order, .order_context = call};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    if (dlpark_py_import(&tensor, lent->object, &options, NULL) < 0) {
        dlpark__call_note_argument(call, call->signature->names.arguments[index]);
        return -1;
    }
    dlpark_tensor_view(&tensor, &view);
    if (!own_is_same(lent, &view)) {
        dlpark__py_tensor_release(&tensor);
        return own_refuse_change(call, index);
    }
    lent->managed = dlpark_tensor_export(&tensor);
    call->owned |= UINT32_C(1) << index;
    call->lent &= ~(UINT32_C(1) << index);
    return 0;
}

int dlpark__call_own(dlpark_call *call)
{
    for (int32_t i = 0; i < call->signature->ntensors; i++)
        if ((call->lent >> i & 1) != 0 && own_tensor(call, i) < 0)
            return -1;
    return 0;
}

/* Those whose table gives owners, or the others. */
static int own_all(dlpark_call *call, bool owners)
{
    for (int32_t i = 0; i < call->signature->ntensors; i++) {
        if ((call->lent >> i & 1) == 0)
            continue;
        const DLPackExchangeAPI *table = dlpark_py_exchange_of(Py_TYPE(call->tensors[i].object));
        bool owns = table == NULL || table->managed_tensor_from_py_object_no_sync != NULL;
        if (owns == owners && (owns ? own_tensor(call, i) : own_look_again(call, i, table)) < 0)
            return -1;
    }
    return 0;
}

int dlpark__call_own_after(dlpark_call *call)
{
    /* Nothing changes what is owned; what can only be looked at comes last. */
    return own_all(call, true) < 0 ? -1 : own_all(call, false);
}

int dlpark__call_settle(dlpark_call *call)
{
    if (dlpark__call_own_after(call) == 0)
        return 0;
    dlpark__call_release_results(call);
    dlpark__call_release_arguments(call, NULL);
    return -1;
}

int dlpark__call_order(void *context, DLDevice device, void *producer, void *consumer)
{
    dlpark_call *call = context;

    (void)consumer;
    if (dlpark__py_stream_of_native(device, producer).kind == DLPARK_STREAM_DEFAULT)
        producer = NULL; /* it has two names */
    if (!call->has_stream) {
        call->has_stream = true;
        call->stream = producer;
        call->stream_device = device;
    }
    return call->stream == producer && dlpark_device_equal(call->stream_device, device) ? 0 : -1;
}

int dlpark_call_stream(const dlpark_call *call, void **stream)
{
    *stream = call->stream;
    return 0;
}

/* ---- Capsules, of which a second signature may want to know ---- */

void dlpark__call_end_managed(DLManagedTensorVersioned *managed, PyObject *object, dlpark__call_carry *carry)
{
    dlpark_tensor tensor = {managed};

    if (managed != NULL && carry != NULL && PyCapsule_CheckExact(object)) {
        carry->capsules[carry->count] = object;
        carry->managed[carry->count++] = managed;
        return;
    }
    dlpark__py_tensor_release(&tensor);
}

DLManagedTensorVersioned *dlpark__call_carried(dlpark__call_carry *carry, PyObject *object)
{
    for (int32_t i = 0; i < carry->count; i++) {
        if (carry->capsules[i] != object)
            continue;
        DLManagedTensorVersioned *managed = carry->managed[i];
        carry->count--;
        carry->capsules[i] = carry->capsules[carry->count];
        carry->managed[i] = carry->managed[carry->count];
        return managed;
    }
    return NULL;
}

/* As dlpark__py_legacy_release(), where it is known whether an exception is pending. */
static inline void own_end_legacy(DLManagedTensor *managed, bool is_pending)
{
    if (DLPARK_UNLIKELY(is_pending || managed->deleter == NULL)) {
        dlpark__py_legacy_release(managed);
        return;
    }
    managed->deleter(managed);
    if (DLPARK_UNLIKELY(PyErr_Occurred() != NULL))
        PyErr_Clear();
}

void dlpark__call_release_arguments(dlpark_call *call, dlpark__call_carry *carry)
{
    uint32_t owned = call->owned, legacy = call->legacy;
    bool is_pending = PyErr_Occurred() != NULL;

    call->owned = 0;
    call->legacy = 0;
    call->lent = 0;
    for (; owned != 0; owned &= owned - 1) {
        const dlpark_call_tensor *tensor = &call->tensors[__builtin_ctz(owned)];
        if ((legacy >> __builtin_ctz(owned) & 1) != 0)
            own_end_legacy(tensor->legacy, is_pending);
        else
            dlpark__call_end_managed(tensor->managed, tensor->object, carry);
    }
    PyMem_Free(call->heap);
    call->heap = NULL;
}

/* ---- Without the GIL ---- */

PyThreadState *dlpark_call_nogil_begin(dlpark_call *call)
{
    if (PyErr_Occurred() != NULL || dlpark__call_own(call) < 0)
        return NULL;
    return PyEval_SaveThread();
}

PyThreadState *dlpark_call_nogil_end(PyThreadState *state)
{
    PyEval_RestoreThread(state);
    return NULL;
}
