/*
 * A call from its arguments to its result. What happens in every call is here; what seldom happens, and how an argument
 * of another kind is read, is in the files call_x.c.
 */
#include "../numpy_arrays.h"
#include "call_parts.h"

#include <string.h>

/* ---- What most tensors are ---- */

#define CALL_INLINE inline __attribute__((always_inline))

/* The extents of names without a meaning while plain tensors are read. */
#define CALL_UNBOUND ((int64_t)-1)

/* Whether an extent is the one that a name stands for. One that had no meaning gets one, for the caller to undo. */
static CALL_INLINE bool call_name_fits(int64_t *known, int64_t extent)
{
    if (*known == extent)
        return true;
    bool is_first = *known == CALL_UNBOUND;
    if (is_first)
        *known = extent;
    return is_first;
}

/* Whether an extent is the one that a spec wants in dimension `i`. */
static CALL_INLINE bool call_extent_fits(dlpark_call *call, const dlpark_signature_argument *argument, int64_t i,
                                         int64_t extent)
{
    int64_t code = argument->codes[i];

    if (DLPARK_LIKELY(code >= 0))
        return call_name_fits(&call->bound.dims[code], extent);
    return argument->spec.dims[i] == extent || argument->spec.dims[i] == DLPARK_SPEC_DIM_ANY;
}

/* The extents and strides of a compact tensor, if they fit: how many elements there are, if above 0 and below 2^56; else
 * 0. Strides that are NULL are known to be compact. */
static CALL_INLINE int64_t call_keep_dims(dlpark_call *call, const dlpark_signature_argument *argument,
                                          const int64_t *shape, const int64_t *strides)
{
    int64_t ndim = argument->ndim, expected = 1, signs = 0;
    int64_t *extents_out = call->pool_next, *strides_out = extents_out + ndim;

    for (int64_t i = ndim - 1; i >= 0; i--) {
        int64_t extent = shape[i];
        if (strides != NULL && DLPARK_UNLIKELY(strides[i] != expected) && extent != 1)
            return 0;
        if (DLPARK_UNLIKELY(!call_extent_fits(call, argument, i, extent)))
            return 0;
        extents_out[i] = extent;
        strides_out[i] = expected;
        signs |= extent;
        if (DLPARK_UNLIKELY(__builtin_mul_overflow(expected, extent, &expected)))
            return 0;
    }
    return DLPARK_LIKELY((expected | signs) >> 56 == 0) ? expected : 0;
}

/* Names that an attempt gave a meaning, and no argument before, have none again. */
static DLPARK_COLD bool call_unbind(dlpark_call *call, const dlpark_signature_argument *argument)
{
    for (int32_t i = 0; i < call->signature->names.ndims; i++)
        if ((argument->names & ~call->bound.dims_known) >> i & 1)
            call->bound.dims[i] = CALL_UNBOUND;
    return false;
}

/* Two words, as a table's function has written them: one load of both would have to wait for the stores. */
static CALL_INLINE bool call_is_of(const DLTensor *tensor, const dlpark_signature_argument *argument)
{
    return tensor->ndim == argument->ndim && memcmp(&tensor->dtype, &argument->dtype, sizeof tensor->dtype) == 0;
}

/* Whether elements are at an address, and none beyond the address space: 2^56 of at most 16 bytes. */
static CALL_INLINE bool call_is_place(uintptr_t data, int64_t numel)
{
#if UINTPTR_MAX > UINT32_MAX
    (void)numel;
    return data - 1 < (uintptr_t)1 << 60;
#else
    return data != 0 && (uint64_t)numel << 4 <= UINTPTR_MAX - data;
#endif
}

static CALL_INLINE void call_keep_rest(dlpark_call *call, const dlpark_signature_argument *argument,
                                       dlpark_call_tensor *out, uint32_t flags, PyObject *object)
{
    out->flags = flags;
    out->bit_offset = 0;
    out->managed = NULL;
    out->object = object;
    call->bound.dims_known |= argument->names;
}

bool dlpark__call_keep_raw(dlpark_call *call, const dlpark_signature_argument *argument, const DLTensor *tensor,
                           uint32_t flags, PyObject *object)
{
    uintptr_t data = (uintptr_t)tensor->data;

    if (DLPARK_UNLIKELY(!call_is_of(tensor, argument) || tensor->device.device_type != kDLCPU ||
                        tensor->byte_offset != 0 || tensor->shape == NULL || (data & argument->address_mask) != 0 ||
                        call->pool_next + 2 * argument->ndim > call->pool_end))
        return false;
    int64_t numel = call_keep_dims(call, argument, tensor->shape, tensor->strides);
    if (DLPARK_UNLIKELY(numel == 0 || !call_is_place(data, numel)))
        return call_unbind(call, argument);
    dlpark_call_tensor *out = &call->tensors[argument->tensor];
    out->tensor.data = tensor->data;
    out->tensor.device = DLPARK_DEVICE(kDLCPU, tensor->device.device_id);
    out->tensor.ndim = argument->ndim;
    out->tensor.dtype = argument->dtype;
    out->tensor.shape = call->pool_next;
    out->tensor.strides = call->pool_next + argument->ndim;
    out->tensor.byte_offset = 0;
    call->pool_next += 2 * argument->ndim;
    call_keep_rest(call, argument, out, flags, object);
    return true;
}

static CALL_INLINE bool call_keep_numpy(dlpark_call *call, const dlpark_signature_argument *argument, PyObject *object)
{
    DLTensor tensor;
    uint32_t flags;

    return DLPARK_LIKELY(dlpark__py_numpy_compact(object, &tensor, &flags) && (flags & argument->refused_flags) == 0) &&
           dlpark__call_keep_raw(call, argument, &tensor, flags, object);
}

/* A tensor of ours: it has been checked, and its lists never change and live as long as the object. */
static __attribute__((noinline)) bool call_keep_own(dlpark_call *call, const dlpark_signature_argument *argument,
                                                    const DLManagedTensorVersioned *managed, PyObject *object)
{
    const DLTensor *tensor = &managed->dl_tensor;
    const int64_t *shape = tensor->shape, *strides = tensor->strides;
    uint32_t flags = (uint32_t)managed->flags & DLPARK_VIEW_READ_ONLY;
    uint64_t expected = 1; /* unsigned: beside an extent of 0 it may wrap */

    if (DLPARK_UNLIKELY(!call_is_of(tensor, argument) || tensor->device.device_type != kDLCPU ||
                        ((uintptr_t)tensor->data & argument->address_mask) != 0 ||
                        (flags & argument->refused_flags) != 0))
        return false;
    for (int64_t i = (int64_t)argument->ndim - 1; i >= 0; i--) {
        int64_t extent = shape[i];
        if ((DLPARK_UNLIKELY((uint64_t)strides[i] != expected) && extent != 1) ||
            DLPARK_UNLIKELY(!call_extent_fits(call, argument, i, extent)))
            return call_unbind(call, argument);
        expected *= (uint64_t)extent;
    }
    dlpark_call_tensor *out = &call->tensors[argument->tensor];
    out->tensor = *tensor;
    call_keep_rest(call, argument, out, flags, object);
    return true;
}

/* How the tensors of a type are described, looked up once for arguments of one type in a row. */
typedef struct call_met {
    PyTypeObject *type;
    dlpark__py_route route; /* SLOW as well where the table lends nothing */
    DLPackDLTensorFromPyObjectNoSync lend;
    size_t managed_offset; /* in a Tensor object */
} call_met;

static inline void call_meet(dlpark__call_reader *reader, PyTypeObject *type, call_met *met)
{
    const dlpark__py_type *entry = dlpark__call_type_of(reader, type);

    met->type = type;
    met->route = entry->route;
    if (met->route == DLPARK__PY_ROUTE_EXCHANGE) {
        met->lend = entry->exchange->dltensor_from_py_object_no_sync;
        met->route = met->lend != NULL ? DLPARK__PY_ROUTE_EXCHANGE : DLPARK__PY_ROUTE_SLOW;
    } else if (met->route == DLPARK__PY_ROUTE_OWN) {
        met->managed_offset = reader->state->shared->managed_offset;
    }
}

static CALL_INLINE bool call_read_plain(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                        PyObject *object, call_met *met)
{
    dlpark_call *call = reader->call;

    if (DLPARK_UNLIKELY(Py_TYPE(object) != met->type))
        call_meet(reader, Py_TYPE(object), met);
    if (DLPARK_LIKELY(met->route == DLPARK__PY_ROUTE_EXCHANGE)) {
        DLTensor lent = {.data = NULL};
        if (DLPARK_UNLIKELY(argument->refused_flags != 0))
            return false; /* only an owner has flags */
        if (DLPARK_UNLIKELY(met->lend(object, &lent) != 0)) {
            PyErr_Clear(); /* it will be asked once more, and heard */
            return false;
        }
        call->lent |= argument->bit; /* or whatever comes of a closer look */
        return dlpark__call_keep_raw(call, argument, &lent, DLPARK_VIEW_UNKNOWN_WRITE, object);
    }
    if (met->route == DLPARK__PY_ROUTE_NUMPY)
        return call_keep_numpy(call, argument, object);
    if (met->route == DLPARK__PY_ROUTE_OWN)
        return call_keep_own(call, argument,
                             *(DLManagedTensorVersioned **)(void *)((char *)object + met->managed_offset), object);
    return met->route == DLPARK__PY_ROUTE_HOST && dlpark__call_keep_host(reader, argument, object);
}

/* ---- Reading ---- */

static dlpark__call_outcome call_read_scalar(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                             PyObject *object)
{
    dlpark_call *call = reader->call;
    int32_t index = (int32_t)(argument - call->signature->arguments);

    return dlpark__call_read_scalar(call, index, object, &reader->foreign, reader->why);
}

/* What `same(a)` of a later spec asks: plain tensors do not tell on their way. */
static void call_tell_dtypes(dlpark_call *call)
{
    const dlpark_signature *signature = call->signature;

    for (int32_t i = 0; i < signature->narguments; i++) {
        const dlpark_signature_argument *argument = &signature->arguments[i];
        if ((call->given >> i & 1) == 0 || argument->kind != DLPARK_SIGNATURE_TENSOR)
            continue;
        call->bound.dtypes[argument->tensor] = call->tensors[argument->tensor].tensor.dtype;
        call->bound.dtypes_known |= argument->bit;
    }
}

/* What is not plain; with `none` None stands for nothing. */
static __attribute__((noinline)) dlpark__call_outcome
call_read_other(dlpark__call_reader *reader, const dlpark_signature_argument *argument, uint32_t bit, PyObject *object)
{
    dlpark_call *call = reader->call;
    dlpark__call_outcome outcome;

    if (DLPARK_UNLIKELY(PyErr_Occurred() != NULL))
        return DLPARK__CALL_RAISED;
    if (object == Py_None && (argument->spec.flags & DLPARK_SPEC_NONE) != 0)
        return DLPARK__CALL_FITS;
    if (argument->kind != DLPARK_SIGNATURE_TENSOR) {
        outcome = call_read_scalar(reader, argument, object);
    } else {
        call_tell_dtypes(call);
        outcome = dlpark__call_read_tensor(reader, argument, object);
    }
    call->given |= bit;
    return outcome;
}

/* The first `count` arguments; NULL for those that were not given. */
static CALL_INLINE dlpark__call_outcome call_read_values(dlpark__call_reader *reader, PyObject *const *values,
                                                         Py_ssize_t count)
{
    dlpark_call *call = reader->call;
    const dlpark_signature_argument *argument = call->signature->arguments;
    call_met met = {NULL, DLPARK__PY_ROUTE_SLOW, NULL, 0};
    uint32_t given = 0;

    for (uint32_t bit = 1; count > 0; count--, bit <<= 1, argument++) {
        PyObject *object = *values++;
        if (DLPARK_UNLIKELY(object == NULL))
            continue;
        if (DLPARK_LIKELY(argument->is_plain && call_read_plain(reader, argument, object, &met))) {
            given |= bit;
            continue;
        }
        call->given = given;
        dlpark__call_outcome outcome = call_read_other(reader, argument, bit, object);
        if (outcome != DLPARK__CALL_FITS)
            return outcome;
        given = call->given;
    }
    call->given = given;
    return DLPARK__CALL_FITS;
}

/* Keywords, or another number of arguments than can be. Out of line, as it needs room. */
static __attribute__((noinline)) dlpark__call_outcome
call_read_bound(dlpark__call_reader *reader, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    const dlpark_signature *signature = reader->call->signature;
    DLPARK_UNINITIALIZED PyObject *values[DLPARK_SIGNATURE_MAX_ARGUMENTS];
    dlpark__call_outcome outcome = dlpark__call_bind(signature, args, nargs, kwnames, values, reader->why);

    return outcome == DLPARK__CALL_FITS ? call_read_values(reader, values, signature->narguments) : outcome;
}

static CALL_INLINE void call_init(dlpark_call *call, dlpark__py_state *state, const dlpark_signature *signature)
{
    call->signature = signature;
    call->state = state;
    call->given = 0;
    call->owned = 0;
    call->legacy = 0;
    call->lent = 0;
    call->made = 0;
    call->pool_next = call->pool;
    call->pool_end = call->pool + DLPARK_CALL_POOL;
    call->heap = NULL;
    call->stream = NULL;
    call->has_stream = false;
    dlpark_spec_bound_init(&call->bound);
    for (int32_t i = 0; i < signature->names.ndims; i++) {
        __asm__("" : "+r"(i)); /* few names are over sooner than a block is filled */
        call->bound.dims[i] = CALL_UNBOUND;
    }
}

static DLPARK_COLD dlpark__call_outcome call_refuse_signature(void)
{
    PyErr_SetString(PyExc_SystemError,
                    "a call without a signature: dlpark_signature_init() has failed, or was not called");
    return DLPARK__CALL_RAISED;
}

static CALL_INLINE dlpark__call_outcome call_read(dlpark__call_reader *reader, PyObject *const *args, Py_ssize_t nargs,
                                                  PyObject *kwnames)
{
    dlpark_call *call = reader->call;
    const dlpark_signature *signature = call->signature;
    dlpark__call_outcome outcome;

    if (DLPARK_UNLIKELY(*signature->name == '\0'))
        return call_refuse_signature();
    if (DLPARK_LIKELY(kwnames == NULL && nargs >= signature->nrequired && nargs <= signature->narguments))
        outcome = call_read_values(reader, args, nargs);
    else
        outcome = call_read_bound(reader, args, nargs, kwnames);
    if (DLPARK_UNLIKELY(outcome != DLPARK__CALL_FITS))
        return outcome;
    if (signature->nresults != 0) {
        call_tell_dtypes(call);
        if (dlpark__call_make_results(call) < 0)
            return DLPARK__CALL_RAISED;
    }
    if (DLPARK_UNLIKELY(reader->foreign) && dlpark__call_settle(call) < 0)
        return DLPARK__CALL_RAISED;
    return DLPARK__CALL_FITS;
}

dlpark__call_outcome dlpark__call_read(dlpark_call *call, dlpark__py_state *state, const dlpark_signature *signature,
                                       PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                                       dlpark__call_carry *carry, dlpark_error *why)
{
    dlpark__call_reader reader = {.call = call, .state = state, .carry = carry, .why = why};

    call_init(call, state, signature);
    dlpark__call_outcome outcome = call_read(&reader, args, nargs, kwnames);
    if (outcome != DLPARK__CALL_FITS)
        dlpark__call_release_arguments(call, carry);
    return outcome;
}

/* ---- The two ends ---- */

static DLPARK_COLD int call_fail(dlpark_call *call, dlpark__call_outcome outcome, const dlpark_error *why)
{
    dlpark__call_release_arguments(call, NULL);
    if (outcome == DLPARK__CALL_REFUSED)
        PyErr_Format(PyExc_TypeError, "%s() %s", call->signature->name, why->message);
    return -1;
}

int dlpark_call_begin(dlpark_call *call, PyObject *module, const dlpark_signature *signature, PyObject *const *args,
                      Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_UNINITIALIZED dlpark_error why;
    dlpark__call_reader reader = {.call = call, .state = dlpark__py_state_get(), .why = &why};

    (void)module;
    if (DLPARK_UNLIKELY(reader.state == NULL))
        return -1;
    call_init(call, reader.state, signature);
    dlpark__call_outcome outcome = call_read(&reader, args, nargs, kwnames);
    return DLPARK_LIKELY(outcome == DLPARK__CALL_FITS) ? 0 : call_fail(call, outcome, &why);
}

PyObject *dlpark_call_end(dlpark_call *call)
{
    if (DLPARK_UNLIKELY((call->owned | (call->heap != NULL)) != 0))
        dlpark__call_release_arguments(call, NULL);
    if (call->signature->nresults != 0)
        return dlpark__call_give_results(call);
    return PyErr_Occurred() == NULL ? Py_NewRef(Py_None) : NULL;
}
