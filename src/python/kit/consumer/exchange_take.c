/*
 * Tensors by the exchange table of their type, and what that cannot say: whether elements are conjugated, whether memory
 * may be written, when it is ready.
 */
#include "import_parts.h"

static const dlpark_py_options take_nothing;

/* ---- The table's functions ---- */

/* Whether __dlpack__ may be asked afterwards. */
static bool take_may_ask(const dlpark_py_options *options)
{
    return options->paths == 0 || (options->paths & DLPARK_PY_PATH_DLPACK) != 0;
}

/* After a function has failed: with an exception, -1. But where a framework says in its own way that it cannot, 0:
 * __dlpack__ says it as the standard has it, or can; the exception is for the case that it is not there. */
static DLPARK_COLD int take_fail(PyObject *object, const char *function, const dlpark_py_options *options)
{
    if (take_may_ask(options) && PyErr_Occurred() != NULL && PyErr_ExceptionMatches(PyExc_RuntimeError))
        return 0;
    dlpark__py_error_require(function, object);
    return -1;
}

/* What the object lends: 1, 0 or -1. */
static inline int take_borrow(const DLPackExchangeAPI *table, PyObject *object, const dlpark_py_options *options,
                              DLTensor *out)
{
    if (DLPARK_UNLIKELY(table->dltensor_from_py_object_no_sync(object, out) != 0))
        return take_fail(object, "dltensor_from_py_object_no_sync", options);
    return 1;
}

/* Of a foreign major version nothing may be done with a tensor but end it. */
static DLPARK_COLD int take_end_foreign(PyObject *object, DLManagedTensorVersioned *managed)
{
    dlpark_error err;

    if (dlpark_abi_check(managed->version, &err) == DLPARK_OK)
        err = (dlpark_error){.status = DLPARK_E_VERSION};
    dlpark_managed_release(&managed);
    return dlpark__py_raise_of(object, &err);
}

/* Whether the object refused to describe what the struct has no flags for, such as memory that must not be written: then
 * an owner has to be asked for, which can say it. */
static bool take_wants_owner(const DLPackExchangeAPI *table)
{
    if (table->managed_tensor_from_py_object_no_sync == NULL || !PyErr_ExceptionMatches(PyExc_BufferError))
        return false;
    PyErr_Clear();
    return true;
}

/* An owner, which is ours to end: 1, 0 or -1. */
static inline int take_own(const DLPackExchangeAPI *table, PyObject *object, const dlpark_py_options *options,
                           DLManagedTensorVersioned **out)
{
    *out = NULL;
    if (DLPARK_UNLIKELY(table->managed_tensor_from_py_object_no_sync(object, out) != 0 || *out == NULL))
        return take_fail(object, "managed_tensor_from_py_object_no_sync", options);
    if (DLPARK_UNLIKELY((*out)->version.major != DLPARK_ABI_MAJOR))
        return take_end_foreign(object, *out);
    return 1;
}

static void take_release(DLManagedTensorVersioned **managed)
{
    dlpark_tensor tensor = {*managed};

    *managed = NULL;
    dlpark__py_tensor_release(&tensor);
}

/* ---- What the table cannot say ---- */

/* 0 where nothing speaks against a writer. `asks_grad` is what is known of the type; an object without the attribute takes
 * no part in differentiation. */
static int take_check_grad(dlpark__py_state *state, PyObject *object, bool asks_grad)
{
    PyObject *value = asks_grad ? PyObject_GetAttr(object, state->name_requires_grad) : NULL;

    if (value == NULL) {
        if (asks_grad && !PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    bool needs = value == Py_True;
    dlpark__py_drop(value);
    if (!needs)
        return 0;
    dlpark_name type = dlpark__py_type_name(object);
    PyErr_Format(PyExc_BufferError, "%s requires gradients, which would not see that it is written: detach it first",
                 type.text);
    return -1;
}

/* The stream on which the consumer works. */
static int take_consumer_stream(DLDevice device, const dlpark_py_options *options, dlpark_stream *out)
{
    if (dlpark__py_stream_read(device, options->stream, out) < 0)
        return -1;
    if (out->kind == DLPARK_STREAM_UNSAID)
        *out = dlpark__py_current_stream(device);
    if (out->kind == DLPARK_STREAM_UNSAID)
        out->kind = DLPARK_STREAM_DEFAULT;
    return 0;
}

/* The caller's function; 1, or 0 where it has failed. */
static int take_call_order(const dlpark_py_options *options, DLDevice device, void *producer, void *consumer)
{
    if (options->order(options->order_context, device, producer, consumer) == 0)
        return 1;
    if (PyErr_Occurred() != NULL && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1; /* such as KeyboardInterrupt */
    PyErr_Clear();
    return 0;
}

int dlpark__py_order(DLDevice device, void *producer, const dlpark_py_options *options, dlpark_stream *consumer)
{
    *consumer = (dlpark_stream){DLPARK_STREAM_UNSAID, NULL};
    if (options->on_producer_stream)
        return 1;
    if (take_consumer_stream(device, options, consumer) < 0)
        return -1;
    if (consumer->kind == DLPARK_STREAM_NO_SYNC) {
        consumer->kind = DLPARK_STREAM_UNSAID;
        return 1;
    }
    if (options->order != NULL)
        return take_call_order(options, device, producer, dlpark_stream_native(device, *consumer));
    return dlpark__py_order_streams(device, dlpark__py_stream_of_native(device, producer), *consumer, NULL) ==
           DLPARK_OK;
}

/* Sees to it that memory of a device with streams is ready when the consumer comes to it. 1; 0: __dlpack__ must be asked;
 * -1. */
static DLPARK_COLD int take_order(const DLPackExchangeAPI *table, PyObject *object, DLDevice device,
                                  const dlpark_py_options *options, dlpark_py_origin *origin)
{
    void *producer = NULL;

    if (table->current_work_stream == NULL)
        return options->on_producer_stream;
    if (table->current_work_stream(device.device_type, device.device_id, &producer) != 0)
        return take_fail(object, "current_work_stream", options);
    dlpark_stream consumer;
    int status = dlpark__py_order(device, producer, options, &consumer);
    if (status == 1) {
        origin->has_stream = true;
        origin->stream = producer;
    }
    return status;
}

/* Whether a tensor may be taken by the table, now that it is known what it is: as take_order(), with the reason. */
static inline int take_judge(const DLPackExchangeAPI *table, PyObject *object, const DLTensor *tensor,
                             const dlpark_py_options *options, dlpark_py_origin *origin, const char **reason)
{
    DLDevice device = tensor->device;

    if (DLPARK_UNLIKELY(tensor->dtype.code == kDLComplex)) {
        *reason = "its dtype is complex, and the exchange table does not say whether the elements are conjugated";
        return 0;
    }
    if (DLPARK_LIKELY(device.device_type == kDLCPU && !options->has_device))
        return 1;
    if (!dlpark__py_serves_device(device, options)) {
        *reason = "it is on another device than was asked for";
        return 0;
    }
    if (!dlpark_device_has_streams(device))
        return 1;
    if (options->copy == DLPARK_PY_COPY_ALWAYS) {
        *reason = "a copy was asked for, and it is on a device";
        return 0;
    }
    *reason = "its device has streams, and nobody orders the consumer's after the producer's";
    return take_order(table, object, device, options, origin);
}

/* ---- Owned ---- */

/* Ends what was refused, and says why. */
static DLPARK_COLD int take_refuse_owned(PyObject *object, DLManagedTensorVersioned *managed, dlpark_tensor *tensor)
{
    dlpark_error err;

    if (dlpark_tensor_import(tensor, &managed, NULL, &err) == DLPARK_OK)
        return 1; /* there is memory after all */
    take_release(&managed);
    return dlpark__py_raise_of(object, &err);
}

/* Makes a tensor of what a table gave. Takes it, on failure too. */
static inline int take_import(PyObject *object, DLManagedTensorVersioned *managed, dlpark_tensor *tensor)
{
    if (DLPARK_LIKELY(dlpark_tensor_import(tensor, &managed, NULL, NULL) == DLPARK_OK))
        return 1;
    return take_refuse_owned(object, managed, tensor);
}

int dlpark__py_exchange_import(dlpark__py_state *state, PyObject *object, const dlpark__py_type *entry,
                               const dlpark_py_options *options, dlpark_tensor *tensor, dlpark_py_origin *origin,
                               const char **reason)
{
    const DLPackExchangeAPI *table = entry->exchange;
    DLManagedTensorVersioned *managed;

    if (options->writable && take_check_grad(state, object, entry->asks_grad) < 0)
        return -1;
    if (DLPARK_UNLIKELY(table->managed_tensor_from_py_object_no_sync == NULL)) {
        *reason = "its exchange table lends tensors, and gives no owners";
        return 0;
    }
    *reason = "its exchange table refused it";
    int status = take_own(table, object, options, &managed);
    if (DLPARK_UNLIKELY(status != 1))
        return status;
    status = take_judge(table, object, &managed->dl_tensor, options, origin, reason);
    if (DLPARK_UNLIKELY(status != 1)) {
        take_release(&managed);
        return status;
    }
    origin->path = DLPARK_PY_PATH_EXCHANGE;
    origin->is_copied = (managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
    return take_import(object, managed, tensor);
}

/* ---- Lent ---- */

/* Where flags have to be known: of memory that will be written, of packed elements. */
static int take_lend_owned(const DLPackExchangeAPI *table, PyObject *object, const dlpark_py_options *options,
                           dlpark_view *view, DLManagedTensorVersioned **managed)
{
    DLManagedTensorVersioned *owned = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_py_origin origin = {0};
    const char *reason;

    if (table->managed_tensor_from_py_object_no_sync == NULL)
        return 0;
    int status = take_own(table, object, options, &owned);
    if (status != 1)
        return status;
    status = take_judge(table, object, &owned->dl_tensor, options, &origin, &reason);
    if (status != 1) {
        take_release(&owned);
        return status;
    }
    if (take_import(object, owned, &tensor) < 0)
        return -1;
    dlpark_tensor_view(&tensor, view);
    *managed = dlpark_tensor_export(&tensor);
    return 1;
}

/* The refusal of what a table has lent. */
static DLPARK_COLD int take_refuse(PyObject *object, const DLTensor *tensor)
{
    dlpark_error err;

    if (dlpark_check(tensor, 0, NULL, &err) == DLPARK_OK)
        return 0;
    return dlpark__py_raise_of(object, &err);
}

/* What is not plain numbers on the CPU. */
static DLPARK_COLD int take_lend_unusual(const DLPackExchangeAPI *table, PyObject *object, DLTensor *tensor,
                                         const dlpark_py_options *options, dlpark_view *view,
                                         DLManagedTensorVersioned **managed)
{
    dlpark_py_origin origin = {0};
    const char *reason;

    if (dlpark_dtype_is_packed(tensor->dtype))
        return take_lend_owned(table, object, options, view, managed);
    DLDevice device = tensor->device;
    int status = take_judge(table, object, tensor, options, &origin, &reason);
    if (status != 1)
        return status;
    /* What was lent holds until other code runs, and the order may have been that. */
    if (dlpark_device_has_streams(device))
        status = take_borrow(table, object, options, tensor);
    if (status != 1)
        return status;
    if (!dlpark_device_equal(device, tensor->device))
        return 0;
    return dlpark_check(tensor, 0, view, NULL) == DLPARK_OK ? 1 : take_refuse(object, tensor);
}

int dlpark__py_exchange_lend(dlpark__py_state *state, PyObject *object, const dlpark__py_type *entry,
                             const dlpark_py_options *options, dlpark_view *view, DLManagedTensorVersioned **managed)
{
    const DLPackExchangeAPI *table = entry->exchange;
    DLTensor tensor = {.dtype = {0, 0, 0}};

    if (options == NULL)
        options = &take_nothing;
    if (options->writable)
        return take_check_grad(state, object, entry->asks_grad) < 0
                   ? -1
                   : take_lend_owned(table, object, options, view, managed);
    if (DLPARK_UNLIKELY(table->dltensor_from_py_object_no_sync == NULL))
        return take_lend_owned(table, object, options, view, managed);
    int status = take_borrow(table, object, options, &tensor);
    if (DLPARK_UNLIKELY(status < 0 && take_wants_owner(table)))
        return take_lend_owned(table, object, options, view, managed);
    if (DLPARK_UNLIKELY(status != 1))
        return status;
    if (DLPARK_UNLIKELY(tensor.dtype.code == kDLComplex || tensor.dtype.bits < 8 ||
                        tensor.device.device_type != kDLCPU))
        return take_lend_unusual(table, object, &tensor, options, view, managed);
    return DLPARK_LIKELY(dlpark_check(&tensor, 0, view, NULL) == DLPARK_OK) ? 1 : take_refuse(object, &tensor);
}

int dlpark__py_exchange_device(PyObject *object, const dlpark__py_type *entry, const dlpark_py_options *options,
                               DLDevice *out, DLManagedTensorVersioned **managed)
{
    const DLPackExchangeAPI *table = entry->exchange;
    DLTensor tensor = {.dtype = {0, 0, 0}};
    if (table->dltensor_from_py_object_no_sync != NULL) {
        int status = take_borrow(table, object, options, &tensor);
        *out = tensor.device;
        if (status >= 0 || !take_wants_owner(table))
            return status;
    }
    int status = take_own(table, object, options, managed);
    if (status == 1)
        *out = (*managed)->dl_tensor.device;
    return status;
}
