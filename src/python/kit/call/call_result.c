/*
 * The results of a call: made when all arguments are known to fit, given out when it ends.
 */
#include "../numpy_arrays.h"
#include "call_parts.h"

#include <string.h>

/* What every array of NumPy's is aligned to, at least. */
#define RESULT_NUMPY_ALIGNMENT 16

/* ---- Where ---- */

/* The object of the first tensor argument, borrowed; or NULL. */
static PyObject *result_like(const dlpark_call *call)
{
    const dlpark_call_tensor *first = dlpark__call_first(call);

    return first != NULL ? first->object : NULL;
}

static bool result_may_be_on(const dlpark_spec *spec, DLDevice device)
{
    bool may = DLPARK_DEVICE_HAS(spec->device_types, device);

    for (int32_t i = 0; !may && i < spec->ndevices; i++)
        may = dlpark_device_equal(spec->devices[i], device);
    return may;
}

/* The device of the first tensor, where the spec allows that; else the first that it names. Whatever memory the host can
 * access gives results in the host's own. */
static DLDevice result_device(const dlpark_call *call, const dlpark_spec *spec)
{
    const dlpark_call_tensor *first = dlpark__call_first(call);
    DLDevice device = first == NULL || dlpark_device_is_host_accessible(first->tensor.device) ? DLPARK_DEVICE_CPU
                                                                                              : first->tensor.device;
    int type = 1;

    if (result_may_be_on(spec, device))
        return device;
    if (spec->ndevices > 0)
        return spec->devices[0];
    while ((spec->device_types >> type & 1) == 0)
        type++;
    return DLPARK_DEVICE(type, 0);
}

/* ---- How ---- */

typedef struct result_plan {
    dlpark_call *call;
    dlpark__py_state *state;
    const dlpark_spec *spec;
    dlpark_call_tensor *out;
    DLDataType dtype;
    DLDevice device;
    int32_t ndim;
    const int64_t *shape;
    dlpark_view *view; /* out */
} result_plan;

/* A rank of 0 may come without a list. */
static void result_copy_shape(int64_t *to, int32_t ndim, const int64_t *from)
{
    for (int32_t i = 0; i < ndim; i++)
        to[i] = from[i];
}

static bool result_is_column_major(const dlpark_spec *spec)
{
    return (spec->flags & (DLPARK_SPEC_C | DLPARK_SPEC_F)) == DLPARK_SPEC_F;
}

/* The type of the first tensor argument, or NULL. */
static const dlpark__py_type *result_type(const result_plan *plan)
{
    PyObject *like = result_like(plan->call);

    return like != NULL ? dlpark__py_type_of(plan->state, Py_TYPE(like)) : NULL;
}

/* NumPy's C API, where it can make the result at once. */
static const dlpark__py_numpy *result_numpy(const result_plan *plan)
{
    const dlpark_spec *spec = plan->spec;
    const dlpark__py_type *type = result_type(plan);
    bool is_numpy =
        spec->framework == DLPARK_SPEC_AS_NUMPY ||
        (spec->framework == DLPARK_SPEC_AS_UNSAID && type != NULL && type->framework == DLPARK_SPEC_AS_NUMPY);

    return is_numpy && !result_is_column_major(spec) && spec->alignment_bytes <= RESULT_NUMPY_ALIGNMENT
               ? dlpark__py_numpy_get(plan->state)
               : NULL;
}

/* A column-major tensor is a row-major one whose dimensions are named the other way round. */
static dlpark_status result_turn(dlpark_tensor *tensor, dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor turned = DLPARK_TENSOR_EMPTY;
    int order[DLPARK_MAX_NDIM];

    for (int32_t i = 0; i < view->ndim; i++)
        order[i] = view->ndim - 1 - i;
    DLPARK_TRY(dlpark_view_permute(view, view->ndim, order, err));
    DLPARK_TRY(dlpark_tensor_share(&turned, tensor, view, err));
    dlpark_tensor_release(tensor);
    *tensor = turned;
    return DLPARK_OK;
}

static int result_on_host(const result_plan *plan)
{
    bool is_column_major = result_is_column_major(plan->spec);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    int64_t shape[DLPARK_MAX_NDIM];
    dlpark_error err;

    for (int32_t i = 0; i < plan->ndim; i++)
        shape[i] = plan->shape[is_column_major ? plan->ndim - 1 - i : i];
    dlpark_tensor_desc desc = {.dtype = plan->dtype,
                               .ndim = plan->ndim,
                               .shape = DLPARK_DIMS(shape),
                               .alignment_bytes = (size_t)plan->spec->alignment_bytes};
    if (dlpark_tensor_alloc(&tensor, &desc, plan->view, &err) != DLPARK_OK ||
        (is_column_major && result_turn(&tensor, plan->view, &err) != DLPARK_OK)) {
        dlpark_tensor_release(&tensor);
        dlpark_py_raise(&err);
        return -1;
    }
    plan->out->managed = dlpark_tensor_export(&tensor);
    return 0;
}

/* ---- On a device, by the allocator of the first tensor's type ---- */

typedef struct result_complaint {
    char kind[48];
    char message[400];
} result_complaint;

/* Comes from the allocator, which may work without Python. */
static void result_complain(void *context, const char *kind, const char *message)
{
    result_complaint *complaint = context;

    PyOS_snprintf(complaint->kind, sizeof complaint->kind, "%s", kind != NULL ? kind : "");
    PyOS_snprintf(complaint->message, sizeof complaint->message, "%s", message != NULL ? message : "");
}

/* `kind` is the name of an exception of Python's own; another one is a RuntimeError. */
static void result_raise_complaint(const result_complaint *complaint)
{
    PyObject *builtins = PyEval_GetBuiltins();                                                   /* borrowed */
    PyObject *class = builtins != NULL ? PyDict_GetItemString(builtins, complaint->kind) : NULL; /* borrowed */

    if (class == NULL || !PyExceptionClass_Check(class))
        class = PyExc_RuntimeError;
    PyErr_Format(class, "%s", *complaint->message != '\0' ? complaint->message : "the allocator failed");
}

static int result_refuse_device(const result_plan *plan, const char *why)
{
    dlpark_name device = dlpark_device_name(plan->device);
    dlpark_name type = {"no tensor"};
    PyObject *like = result_like(plan->call);

    if (like != NULL)
        type = dlpark__py_type_name(like);
    PyErr_Format(PyExc_BufferError, "cannot make a result on %s: the first tensor argument is %s, %s", device.text,
                 type.text, why);
    return -1;
}

/* Whether the allocator gave what it was asked for. */
static bool result_is_as_asked(const result_plan *plan)
{
    const dlpark_view *view = plan->view;
    bool is = view->ndim == plan->ndim && dlpark_dtype_equal(view->dtype, plan->dtype) &&
              dlpark_device_equal(view->device, plan->device) && dlpark_view_is_compact(view);

    for (int32_t i = 0; is && i < plan->ndim; i++)
        is = view->shape[i] == plan->shape[i];
    return is;
}

static int result_import(const result_plan *plan, DLManagedTensorVersioned *made)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    if (made == NULL || dlpark_tensor_import(&tensor, &made, plan->view, &err) != DLPARK_OK) {
        dlpark__py_tensor_release(&(dlpark_tensor){made});
        return result_refuse_device(plan, "whose allocator gave no tensor");
    }
    if (!result_is_as_asked(plan)) {
        dlpark__py_tensor_release(&tensor);
        return result_refuse_device(plan, "whose allocator gave another tensor than it was asked for");
    }
    plan->out->managed = dlpark_tensor_export(&tensor);
    return 0;
}

static int result_on_device(const result_plan *plan)
{
    const dlpark__py_type *type = result_type(plan);
    const DLPackExchangeAPI *table = type != NULL ? type->exchange : NULL;
    result_complaint complaint = {.kind = "MemoryError"};
    DLManagedTensorVersioned *made = NULL;
    int64_t shape[DLPARK_MAX_NDIM];

    if (table == NULL || table->managed_tensor_allocator == NULL)
        return result_refuse_device(plan, "which offers no allocator");
    if (result_is_column_major(plan->spec))
        return result_refuse_device(plan, "whose allocator makes row-major tensors only");
    result_copy_shape(shape, plan->ndim, plan->shape);
    DLTensor prototype = {.device = plan->device, .ndim = plan->ndim, .dtype = plan->dtype, .shape = shape};
    if (table->managed_tensor_allocator(&prototype, &made, &complaint, result_complain) == 0)
        return result_import(plan, made);
    if (PyErr_Occurred() == NULL)
        result_raise_complaint(&complaint);
    return -1;
}

/* ---- Making ---- */

static int result_fill(const result_plan *plan)
{
    if (plan->device.device_type != kDLCPU)
        return result_on_device(plan);
    const dlpark__py_numpy *numpy = result_numpy(plan);
    if (numpy == NULL)
        return result_on_host(plan);
    plan->out->object = dlpark__py_numpy_new(numpy, plan->dtype, plan->ndim, plan->shape, plan->view);
    return plan->out->object != NULL ? 0 : -1;
}

static void result_release(dlpark_call_tensor *result)
{
    dlpark_tensor tensor = {result->managed};
    PyObject *object = result->object;

    result->managed = NULL;
    result->object = NULL;
    dlpark__py_tensor_release(&tensor);
    dlpark__py_drop(object);
}

static int result_make(dlpark_call *call, int32_t index, int32_t ndim, const int64_t *shape)
{
    DLPARK_UNINITIALIZED dlpark_view view;
    dlpark_error err;
    const dlpark_spec *spec = &call->signature->results[index];
    dlpark_call_tensor *out = &call->results[index];
    result_plan plan = {.call = call,
                        .state = call->state,
                        .spec = spec,
                        .out = out,
                        .device = result_device(call, spec),
                        .ndim = ndim,
                        .shape = shape,
                        .view = &view};

    if (dlpark_spec_dtype(spec, &call->bound, &plan.dtype, &err) != DLPARK_OK) {
        dlpark_py_raise(&err);
        return -1;
    }
    int64_t *dims = dlpark__call_room(call, ndim);
    if (dims == NULL)
        return -1;
    out->managed = NULL;
    out->object = NULL;
    if (result_fill(&plan) < 0) {
        call->pool_next = dims; /* the caller may try another shape, and that often */
        dlpark__call_note("in result %d of %s()", (int)index, call->signature->name);
        return -1;
    }
    dlpark__call_keep(out, &view, dims);
    call->made |= UINT32_C(1) << index;
    return 0;
}

/* Whether an extent is left to the function, or how many there are. */
static bool result_is_open(const dlpark_spec *spec)
{
    bool is_open = spec->ndims_extra != 0;

    for (int32_t i = 0; !is_open && i < spec->ndims; i++)
        is_open = spec->dims[i] == DLPARK_SPEC_DIM_UNKNOWN;
    return is_open;
}

static __attribute__((noinline)) int result_make_any(dlpark_call *call, int32_t index)
{
    const dlpark_spec *spec = &call->signature->results[index];
    int64_t shape[DLPARK_SPEC_MAX_DIMS];
    dlpark_error err;

    if (result_is_open(spec))
        return 0;
    if (dlpark_spec_shape(spec, &call->bound, shape, &err) == DLPARK_OK)
        return result_make(call, index, spec->ndims, shape);
    dlpark_py_raise(&err);
    return -1;
}

int dlpark__call_make_results(dlpark_call *call)
{
    const dlpark_signature *signature = call->signature;

    for (int32_t i = 0; i < signature->nresults; i++) {
        if (DLPARK_LIKELY((signature->plain_results >> i & 1) != 0 && dlpark__call_make_plain(call, i)))
            continue;
        if (result_make_any(call, i) == 0)
            continue;
        dlpark__call_release_results(call);
        return -1;
    }
    return 0;
}

/* Whether a shape is one that the spec describes; ValueError where it is not. */
static int result_check_shape(dlpark_call *call, const dlpark_spec *spec, int32_t ndim, const int64_t *shape)
{
    DLPARK_UNINITIALIZED dlpark_view view;
    dlpark_spec shaped = *spec;
    dlpark_error err;
    int64_t numel;

    if (dlpark_layout_numel(ndim, shape, &numel, &err) != DLPARK_OK) {
        PyErr_Format(PyExc_ValueError, "%s", err.message);
        return -1;
    }
    memset(&view, 0, offsetof(dlpark_view, shape));
    view.ndim = ndim;
    view.device = result_device(call, spec);
    result_copy_shape(view.shape, ndim, shape);
    shaped.flags = DLPARK_SPEC_RESULT; /* layout and alignment come with the memory */
    shaped.alignment_bytes = 0;
    if (dlpark_spec_dtype(spec, &call->bound, &view.dtype, &err) == DLPARK_OK &&
        dlpark_spec_match(&shaped, &view, &call->bound, &err) == DLPARK_OK)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s", err.message);
    return -1;
}

int dlpark_call_result_alloc(dlpark_call *call, int32_t index, int32_t ndim, const int64_t *shape)
{
    const dlpark_signature *signature = call->signature;

    if (index < 0 || index >= signature->nresults || (call->made >> index & 1) != 0) {
        PyErr_Format(PyExc_ValueError, "%s() has %s result %d", signature->name,
                     index < 0 || index >= signature->nresults ? "no" : "made its", (int)index);
        return -1;
    }
    if (result_check_shape(call, &signature->results[index], ndim, shape) < 0) {
        dlpark__call_note("in result %d of %s()", (int)index, signature->name);
        return -1;
    }
    return result_make(call, index, ndim, shape);
}

/* ---- Giving ---- */

void dlpark__call_release_results(dlpark_call *call)
{
    uint32_t made = call->made;

    call->made = 0;
    for (int32_t i = 0; i < DLPARK_SIGNATURE_MAX_RESULTS; i++)
        if ((made >> i & 1) != 0)
            result_release(&call->results[i]);
}

/* Result `index` as an object of its framework; it has been given then, or ended. */
static PyObject *result_give(dlpark_call *call, int32_t index)
{
    dlpark_call_tensor *result = &call->results[index];
    dlpark_tensor tensor = {result->managed};

    if ((call->made >> index & 1) == 0)
        return PyErr_Format(PyExc_SystemError, "%s() did not make its result %d: dlpark_call_result_alloc() does",
                            call->signature->name, (int)index);
    call->made &= ~(UINT32_C(1) << index);
    if (result->object != NULL)
        return result->object;
    dlpark_spec_framework framework = call->signature->results[index].framework;
    PyObject *like = framework == DLPARK_SPEC_AS_UNSAID ? result_like(call) : NULL;
    PyObject *object = dlpark__py_export(call->state, &tensor, framework, like);
    if (object == NULL)
        dlpark__call_note("in result %d of %s()", (int)index, call->signature->name);
    return object;
}

static PyObject *result_give_tuple(dlpark_call *call)
{
    int32_t count = call->signature->nresults;
    PyObject *tuple = PyTuple_New(count);

    for (int32_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *object = result_give(call, i);
        if (object == NULL) {
            dlpark__py_drop(tuple);
            return NULL;
        }
        PyTuple_SetItem(tuple, i, object);
    }
    return tuple;
}

PyObject *dlpark__call_give_results(dlpark_call *call)
{
    PyObject *given = NULL;

    if (DLPARK_LIKELY(PyErr_Occurred() == NULL))
        given = call->signature->nresults == 1 ? result_give(call, 0) : result_give_tuple(call);
    if (DLPARK_UNLIKELY(given == NULL))
        dlpark__call_release_results(call);
    return given;
}
