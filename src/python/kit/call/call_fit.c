/*
 * Arguments that do not fit as they are: refused, with what was expected and what came, or converted.
 */
#include "call_parts.h"

#include <stdio.h>
#include <string.h>

/* Below this many bytes a copy is over sooner than another thread would get the GIL. */
#define FIT_GIL_NBYTES 65536

/* ---- Refusal ---- */

/* Whether an object is no tensor of any kind, so that its type says all about it: 1, 0 or -1. */
static int fit_is_no_tensor(PyObject *object)
{
    static const char *const methods[] = {"__dlpack__", "__cuda_array_interface__", "__array_struct__",
                                          "__array_interface__"};

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        PyObject *name = PyUnicode_FromString(methods[i]);
        int has = name != NULL ? dlpark__py_has(object, name) : -1;
        Py_XDECREF(name);
        if (has != 0)
            return has < 0 ? -1 : 0;
    }
    return !PyObject_CheckBuffer(object) && !PyCapsule_CheckExact(object) &&
           dlpark_py_exchange_of(Py_TYPE(object)) == NULL;
}

/* The exception is that of a producer: it passes, with a note. */
static dlpark__call_outcome fit_raised(const dlpark__call_reader *reader, const dlpark_signature_argument *argument)
{
    dlpark__call_note_argument(reader->call, argument->name);
    return DLPARK__CALL_RAISED;
}

/* Refuses an object whose type says all about it. Takes the error. */
static dlpark__call_outcome fit_refuse_type(const dlpark__call_reader *reader,
                                            const dlpark_signature_argument *argument, PyObject *object,
                                            pending_error *error)
{
    char expected[256];
    dlpark_name type = dlpark__py_type_name(object);

    dlpark__py_error_discard(error);
    (void)dlpark_spec_text(&argument->spec, &reader->call->bound, expected, sizeof expected);
    (void)dlpark_error_set(reader->why, DLPARK_E_ARGUMENT, "argument '%s': expected %s, got %s", argument->name,
                           expected, type.text);
    return DLPARK__CALL_REFUSED;
}

/* Whether a producer that would not give memory to be written gives the same to be read: then it does not fit `mut`, as
 * the match says. */
static bool fit_is_read_only(dlpark__call_reader *reader, const dlpark_signature_argument *argument, PyObject *object)
{
    const dlpark_py_options options = {.order = dlpark__call_order, .order_context = reader->call};
    const dlpark__py_type *entry = dlpark__py_type_of(reader->state, Py_TYPE(object));
    DLManagedTensorVersioned *managed = NULL;

    if (entry->route == DLPARK__PY_ROUTE_CAPSULE ||
        dlpark__py_lend(reader->state, object, entry, &options, reader->view, &managed) < 0) {
        PyErr_Clear();
        return false;
    }
    bool is = (reader->view->flags & DLPARK_VIEW_READ_ONLY) != 0 &&
              dlpark_spec_match(&argument->spec, reader->view, &reader->call->bound, reader->why) != DLPARK_OK;
    dlpark__py_tensor_release(&(dlpark_tensor){managed});
    return is;
}

dlpark__call_outcome dlpark__call_refuse_object(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                                PyObject *object)
{
    bool may_be_read_only =
        (argument->spec.flags & DLPARK_SPEC_MUT) != 0 && PyErr_ExceptionMatches(PyExc_BufferError) != 0;
    pending_error error = dlpark__py_error_save();
    int is_no_tensor = fit_is_no_tensor(object);

    if (is_no_tensor < 0) {
        dlpark__py_error_chain(&error);
        return fit_raised(reader, argument);
    }
    if (is_no_tensor > 0)
        return fit_refuse_type(reader, argument, object, &error);
    if (may_be_read_only && fit_is_read_only(reader, argument, object)) {
        dlpark__py_error_discard(&error);
        return DLPARK__CALL_REFUSED;
    }
    dlpark__py_error_restore(&error);
    return fit_raised(reader, argument);
}

/* A match that also wants elements where C can read them, as far as the spec does not say otherwise. */
static dlpark_status fit_match(dlpark__call_reader *reader, const dlpark_spec *spec)
{
    const dlpark_view *view = reader->view;
    uintptr_t mask = dlpark__call_address_mask(view->dtype);

    DLPARK_TRY(dlpark_spec_match(spec, view, &reader->call->bound, reader->why));
    if (spec->alignment_bytes != 0 || ((uintptr_t)view->data & mask) == 0 ||
        !dlpark_device_is_addressable(view->device))
        return DLPARK_OK;
    dlpark_spec aligned = *spec;
    aligned.alignment_bytes = mask + 1;
    return dlpark_spec_match(&aligned, view, &reader->call->bound, reader->why);
}

/* ---- Conversion ---- */

/* What a dtype is to a conversion, which goes upwards here, or stays: bool, integers, floats, complex numbers. */
static int fit_kind(DLDataType dtype)
{
    return dtype.code == kDLBool                           ? 0
           : dtype.code == kDLInt || dtype.code == kDLUInt ? 1
           : dtype.code == kDLComplex                      ? 3
                                                           : 2;
}

/* The dtype that an argument is converted to: the first that the spec names to which no kind of information is lost.
 * False where there is none. */
static bool fit_dtype(const dlpark__call_reader *reader, const dlpark_spec *spec, DLDataType *out)
{
    DLDataType from = reader->view->dtype;
    DLDataType same = from; /* gcc does not see that it is set */
    int32_t count = spec->ndtypes;

    if (count == 0 && dlpark_spec_dtype(spec, &reader->call->bound, &same, NULL) != DLPARK_OK)
        return false;
    for (int32_t i = 0; i < (count > 0 ? count : 1); i++) {
        DLDataType dtype = count > 0 ? spec->dtypes[i] : same;
        if (dtype.lanes == from.lanes && dtype.code != kDLBool && fit_kind(dtype) >= fit_kind(from)) {
            *out = dtype;
            return true;
        }
    }
    return false;
}

/* Memory for a copy as the spec wants it, and the view to fill: row-major, or column-major where nothing else will do. */
static int fit_alloc(const dlpark__call_reader *reader, const dlpark_spec *spec, DLDataType dtype, dlpark_tensor *copy,
                     dlpark_view *to)
{
    const dlpark_view *from = reader->view;
    bool is_column_major = (spec->flags & (DLPARK_SPEC_C | DLPARK_SPEC_F)) == DLPARK_SPEC_F;
    int64_t shape[DLPARK_MAX_NDIM];
    int order[DLPARK_MAX_NDIM];
    dlpark_error err;

    for (int32_t i = 0; i < from->ndim; i++) {
        order[i] = is_column_major ? from->ndim - 1 - i : i;
        shape[i] = from->shape[order[i]];
    }
    dlpark_tensor_desc desc = {.dtype = dtype,
                               .ndim = from->ndim,
                               .shape = DLPARK_DIMS(shape),
                               .alignment_bytes = (size_t)spec->alignment_bytes};
    if (dlpark_tensor_alloc(copy, &desc, to, &err) == DLPARK_OK &&
        dlpark_view_permute(to, from->ndim, order, &err) == DLPARK_OK)
        return 0;
    dlpark_tensor_release(copy);
    dlpark_py_raise(&err);
    return -1;
}

/* Floats are rounded; an integer that the dtype does not hold is an error, not another number. */
static dlpark_status fit_cast(const dlpark_view *to, const dlpark_view *from, dlpark_error *err)
{
    bool to_integer = to->dtype.code == kDLInt || to->dtype.code == kDLUInt;
    const dlpark_cast_options options = {.overflow = to_integer ? DLPARK_OVERFLOW_REFUSE : DLPARK_OVERFLOW_DEFAULT};

    return dlpark_cast(to, from, &options, err);
}

/* Copies without the GIL: what other threads could change meanwhile is owned first, the source among it. */
static int fit_copy_alone(dlpark__call_reader *reader, const dlpark_signature_argument *argument, PyObject *object,
                          DLManagedTensorVersioned **managed, const dlpark_view *to)
{
    dlpark_call *call = reader->call;
    dlpark_call_tensor *source = &call->tensors[argument->tensor];
    uint32_t bit = UINT32_C(1) << argument->tensor;
    int64_t dims[2 * DLPARK_MAX_NDIM];
    dlpark_error err;

    if (*managed == NULL && dlpark__py_type_of(reader->state, Py_TYPE(object))->route == DLPARK__PY_ROUTE_EXCHANGE) {
        dlpark__call_keep(source, reader->view, dims);
        source->object = object;
        call->lent |= bit;
    }
    if (dlpark__call_own(call) < 0) {
        call->lent &= ~bit;
        return -1;
    }
    if ((call->owned & bit) != 0) {
        *managed = source->managed;
        call->owned &= ~bit;
    }
    PyThreadState *thread = PyEval_SaveThread();
    dlpark_status status = fit_cast(to, reader->view, &err);
    PyEval_RestoreThread(thread);
    if (status == DLPARK_OK)
        return 0;
    dlpark_py_raise(&err);
    return -1;
}

static int fit_copied(dlpark__call_reader *reader, const dlpark_signature_argument *argument, PyObject *object,
                      DLManagedTensorVersioned **managed, const dlpark_view *to)
{
    dlpark_error err;

    if (dlpark_view_nbytes(reader->view) >= FIT_GIL_NBYTES)
        return fit_copy_alone(reader, argument, object, managed, to);
    if (fit_cast(to, reader->view, &err) == DLPARK_OK)
        return 0;
    dlpark_py_raise(&err);
    return -1;
}

/* Takes *managed; on success it is the copy's. */
static dlpark__call_outcome fit_convert(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                        DLDataType dtype, PyObject *object, DLManagedTensorVersioned **managed)
{
    DLPARK_UNINITIALIZED dlpark_view to;
    dlpark_tensor copy = DLPARK_TENSOR_EMPTY;
    dlpark_tensor source = {NULL};
    int status = fit_alloc(reader, &argument->spec, dtype, &copy, &to);

    if (status == 0)
        status = fit_copied(reader, argument, object, managed, &to);
    source.managed = *managed;
    *managed = NULL;
    dlpark__py_tensor_release(&source);
    if (status < 0) {
        dlpark__py_tensor_release(&copy);
        return fit_raised(reader, argument);
    }
    dlpark_view_copy(reader->view, &to);
    *managed = dlpark_tensor_export(&copy);
    return DLPARK__CALL_FITS;
}

/* Whether what did not match for that reason can be converted, and then to which dtype. What another dtype alone would
 * not mend is left as it is: the refusal names what came. */
static bool fit_is_convertible(const dlpark__call_reader *reader, const dlpark_spec *spec, dlpark_status status,
                               DLDataType *dtype)
{
    DLPARK_UNINITIALIZED dlpark_view probe;
    dlpark_spec relaxed;

    *dtype = reader->view->dtype;
    if ((spec->flags & DLPARK_SPEC_CONVERT) == 0 || !dlpark__py_is_host(reader->view->device))
        return false;
    if (status != DLPARK_E_DTYPE)
        return status == DLPARK_E_LAYOUT || status == DLPARK_E_ALIGNMENT;
    if (!fit_dtype(reader, spec, dtype))
        return false;
    relaxed = *spec;
    relaxed.flags &= ~(DLPARK_SPEC_C | DLPARK_SPEC_F | DLPARK_SPEC_INNER);
    relaxed.alignment_bytes = 0;
    dlpark_view_copy(&probe, reader->view);
    probe.dtype = *dtype;
    return dlpark_spec_match(&relaxed, &probe, &reader->call->bound, NULL) == DLPARK_OK;
}

/* Says behind what was expected and what came why `convert` has not helped, where it is not that another dtype or layout
 * would not mend it. */
static void fit_explain(const dlpark__call_reader *reader, const dlpark_spec *spec, dlpark_status status)
{
    DLDataType from = reader->view->dtype, dtype;
    const char *reason = NULL;

    if ((spec->flags & DLPARK_SPEC_CONVERT) == 0 || reader->why == NULL)
        return;
    if (status == DLPARK_E_DTYPE && !fit_dtype(reader, spec, &dtype))
        reason =
            "convert goes to the same kind of number or a higher one, from bool over integers and floats to complex";
    else if ((status == DLPARK_E_DTYPE || status == DLPARK_E_LAYOUT || status == DLPARK_E_ALIGNMENT) &&
             !dlpark__py_is_host(reader->view->device))
        reason = "convert reads memory of the host alone";
    if (reason == NULL)
        return;
    size_t length = strlen(reader->why->message);
    snprintf(reader->why->message + length, sizeof reader->why->message - length, "; %s is not converted: %s",
             dlpark_dtype_name(from).text, reason);
}

dlpark__call_outcome dlpark__call_refit(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                        PyObject *object, DLManagedTensorVersioned **managed)
{
    dlpark_status status = fit_match(reader, &argument->spec);
    DLDataType dtype;

    if (status == DLPARK_OK)
        return DLPARK__CALL_FITS;
    if (fit_is_convertible(reader, &argument->spec, status, &dtype)) {
        dlpark__call_outcome outcome = fit_convert(reader, argument, dtype, object, managed);
        if (outcome != DLPARK__CALL_FITS)
            return outcome;
        status = fit_match(reader, &argument->spec);
        if (status == DLPARK_OK)
            return DLPARK__CALL_FITS;
    }
    fit_explain(reader, &argument->spec, status);
    dlpark__call_end_managed(*managed, object, reader->carry);
    *managed = NULL;
    return DLPARK__CALL_REFUSED;
}
