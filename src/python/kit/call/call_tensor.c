/*
 * A tensor argument of a call by whatever way its object offers, in any layout, on any device.
 */
#include "call_parts.h"

/* ---- Room ---- */

/* Once the pool is used up, room for all tensors that may still come, of any rank. */
static DLPARK_COLD int tensor_grow(dlpark_call *call)
{
    const size_t most = (size_t)(DLPARK_SIGNATURE_MAX_TENSORS + DLPARK_SIGNATURE_MAX_RESULTS) * 2 * DLPARK_MAX_NDIM;

    call->heap = PyMem_Malloc(most * sizeof *call->heap);
    if (call->heap == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    call->pool_next = call->heap;
    call->pool_end = call->heap + most;
    return 0;
}

int64_t *dlpark__call_room(dlpark_call *call, int32_t ndim)
{
    if (DLPARK_UNLIKELY(call->pool_end - call->pool_next < 2 * ndim) && tensor_grow(call) < 0)
        return NULL;
    int64_t *room = call->pool_next;
    call->pool_next += 2 * ndim;
    return room;
}

void dlpark__call_keep(dlpark_call_tensor *out, const dlpark_view *view, int64_t *dims)
{
    size_t nbytes = (size_t)view->ndim * sizeof *dims;

    out->tensor = (DLTensor){.data = view->data,
                             .device = view->device,
                             .ndim = view->ndim,
                             .dtype = view->dtype,
                             .shape = memcpy(dims, view->shape, nbytes),
                             .strides = memcpy(dims + view->ndim, view->strides, nbytes),
                             .byte_offset = view->byte_offset};
    out->flags = view->flags;
    out->bit_offset = view->bit_offset;
}

void dlpark__call_view(const dlpark_call_tensor *tensor, dlpark_view *view)
{
    size_t nbytes = (size_t)tensor->tensor.ndim * sizeof *view->shape;

    memset(view, 0, offsetof(dlpark_view, shape));
    view->data = tensor->tensor.data;
    view->byte_offset = tensor->tensor.byte_offset;
    view->device = tensor->tensor.device;
    view->dtype = tensor->tensor.dtype;
    view->ndim = tensor->tensor.ndim;
    view->flags = tensor->flags;
    view->bit_offset = tensor->bit_offset;
    if (nbytes == 0)
        return; /* a scalar has no lists */
    memcpy(view->shape, tensor->tensor.shape, nbytes);
    memcpy(view->strides, tensor->tensor.strides, nbytes);
}

/* ---- Reading ---- */

/* What is done for an argument that is not just lent host memory. */
static DLPARK_COLD dlpark__call_outcome tensor_settle(const dlpark__call_reader *reader,
                                                      const dlpark_signature_argument *argument)
{
    dlpark_call *call = reader->call;
    const dlpark_call_tensor *tensor = &call->tensors[argument->tensor];
    bool is_copy = tensor->managed != NULL && (tensor->managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;

    if (is_copy && (argument->spec.flags & DLPARK_SPEC_MUT) != 0) {
        PyErr_SetString(PyExc_BufferError, "the producer made a copy, and what is written to it would be lost");
        dlpark__call_note_argument(call, argument->name);
        return DLPARK__CALL_RAISED;
    }
    if (!call->has_stream && dlpark_device_has_streams(tensor->tensor.device)) {
        call->has_stream = true;
        call->stream_device = tensor->tensor.device;
    }
    return DLPARK__CALL_FITS;
}

/* How the type of an object is known before it is asked. */
typedef struct tensor_way {
    dlpark__py_route route;
    bool is_heir;
} tensor_way;

/* Whether Python code may have run for an owner: a table's functions are C, but for what they call of a subclass. */
static bool tensor_is_foreign(tensor_way way, DLDataType dtype)
{
    return way.route != DLPARK__PY_ROUTE_EXCHANGE || way.is_heir || dtype.code == kDLComplex;
}

/* The view is that of the object, and fits. Takes `managed`. */
static dlpark__call_outcome tensor_keep(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                        PyObject *object, tensor_way way, DLManagedTensorVersioned *managed)
{
    dlpark_call *call = reader->call;
    dlpark_call_tensor *tensor = &call->tensors[argument->tensor];
    uint32_t bit = UINT32_C(1) << argument->tensor;
    int64_t *dims = dlpark__call_room(call, reader->view->ndim);

    if (DLPARK_UNLIKELY(dims == NULL)) {
        dlpark__py_tensor_release(&(dlpark_tensor){managed});
        return DLPARK__CALL_RAISED;
    }
    dlpark__call_keep(tensor, reader->view, dims);
    tensor->managed = managed;
    tensor->object = object;
    if (DLPARK_LIKELY(managed == NULL))
        call->lent |= way.route == DLPARK__PY_ROUTE_EXCHANGE ? bit : 0;
    else
        call->owned |= bit;
    reader->foreign |= managed != NULL && tensor_is_foreign(way, tensor->tensor.dtype);
    if (DLPARK_UNLIKELY(managed != NULL || tensor->tensor.device.device_type != kDLCPU))
        return tensor_settle(reader, argument);
    return DLPARK__CALL_FITS;
}

/* The object's tensor in reader->view. */
static int tensor_lend(dlpark__call_reader *reader, const dlpark_signature_argument *argument, PyObject *object,
                       const dlpark__py_type *entry, DLManagedTensorVersioned **managed)
{
    dlpark_py_options options = {.writable = (argument->spec.flags & DLPARK_SPEC_MUT) != 0,
                                 .order = dlpark__call_order,
                                 .order_context = reader->call};

    *managed = reader->carry != NULL ? dlpark__call_carried(reader->carry, object) : NULL;
    if (*managed != NULL) {
        dlpark_tensor_view(&(dlpark_tensor){*managed}, reader->view);
        return 0;
    }
    if (DLPARK_LIKELY(reader->call->stream == NULL))
        return dlpark__py_lend(reader->state, object, entry, &options, reader->view, managed);
    /* An earlier argument works on it, and what does not is made ready there. */
    options.stream = PyLong_FromVoidPtr(reader->call->stream);
    int status =
        options.stream != NULL ? dlpark__py_lend(reader->state, object, entry, &options, reader->view, managed) : -1;
    dlpark__py_drop(options.stream);
    return status;
}

dlpark__call_outcome dlpark__call_read_tensor(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                              PyObject *object)
{
    DLPARK_UNINITIALIZED dlpark_view view;
    const dlpark__py_type *entry = dlpark__call_type_of(reader, Py_TYPE(object));
    tensor_way way = {entry->route, entry->is_heir};
    DLManagedTensorVersioned *managed;

    reader->view = &view;
    reader->call->lent &= ~argument->bit; /* a first look may have got so far */
    if (tensor_lend(reader, argument, object, entry, &managed) < 0)
        return dlpark__call_refuse_object(reader, argument, object);
    if (dlpark_spec_match(&argument->spec, &view, &reader->call->bound, NULL) != DLPARK_OK ||
        ((uintptr_t)view.data & dlpark__call_address_mask(view.dtype)) != 0) {
        dlpark__call_outcome outcome = dlpark__call_refit(reader, argument, object, &managed);
        if (outcome != DLPARK__CALL_FITS)
            return outcome;
    }
    return tensor_keep(reader, argument, object, way, managed);
}
