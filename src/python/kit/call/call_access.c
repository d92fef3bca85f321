/*
 * What a call holds, for the function that it calls.
 */
#include "call_parts.h"

#include <string.h>

/* What typed access to no elements answers: an address that is not NULL, aligned for any type, and never read. */
static _Alignas(64) unsigned char access_nothing[1];

bool dlpark_call_has(const dlpark_call *call, int32_t index)
{
    return (uint32_t)index < DLPARK_SIGNATURE_MAX_ARGUMENTS && (call->given >> index & 1) != 0;
}

/* Whether argument `index` was given and is of this kind. */
static inline bool access_is(const dlpark_call *call, int32_t index, dlpark_signature_kind kind)
{
    return DLPARK_LIKELY(dlpark_call_has(call, index) && call->signature->arguments[index].kind == kind);
}

int64_t dlpark_call_int(const dlpark_call *call, int32_t index, int64_t otherwise)
{
    return access_is(call, index, DLPARK_SIGNATURE_INT) ? call->scalars[index].integer : otherwise;
}

double dlpark_call_float(const dlpark_call *call, int32_t index, double otherwise)
{
    return access_is(call, index, DLPARK_SIGNATURE_FLOAT) ? call->scalars[index].real : otherwise;
}

bool dlpark_call_bool(const dlpark_call *call, int32_t index, bool otherwise)
{
    return access_is(call, index, DLPARK_SIGNATURE_BOOL) ? call->scalars[index].integer != 0 : otherwise;
}

const char *dlpark_call_str(const dlpark_call *call, int32_t index, const char *otherwise)
{
    return access_is(call, index, DLPARK_SIGNATURE_STR) ? call->scalars[index].text : otherwise;
}

PyObject *dlpark_call_object(const dlpark_call *call, int32_t index, PyObject *otherwise)
{
    return access_is(call, index, DLPARK_SIGNATURE_OBJECT) ? call->scalars[index].object : otherwise;
}

int64_t dlpark_call_dim(const dlpark_call *call, const char *name)
{
    const dlpark_spec_names *names = &call->signature->names;

    for (int32_t i = 0; i < names->ndims; i++)
        if (strcmp(names->dims[i], name) == 0)
            return call->bound.dims[i]; /* -1 until it is bound */
    return -1;
}

/* ---- Tensors ---- */

static const dlpark_call_tensor *access_tensor(const dlpark_call *call, int32_t index)
{
    return access_is(call, index, DLPARK_SIGNATURE_TENSOR) ? &call->tensors[call->signature->arguments[index].tensor]
                                                           : NULL;
}

static const dlpark_call_tensor *access_result(const dlpark_call *call, int32_t index)
{
    return (uint32_t)index < DLPARK_SIGNATURE_MAX_RESULTS && (call->made >> index & 1) != 0 ? &call->results[index]
                                                                                            : NULL;
}

static void *access_data(const dlpark_call_tensor *tensor, DLDataType dtype)
{
    if (DLPARK_UNLIKELY(tensor == NULL || !dlpark_dtype_equal(tensor->tensor.dtype, dtype)))
        return NULL;
    return DLPARK_LIKELY(tensor->tensor.data != NULL) ? tensor->tensor.data : access_nothing;
}

const void *dlpark_call_data(const dlpark_call *call, int32_t index, DLDataType dtype)
{
    return access_data(access_tensor(call, index), dtype);
}

void *dlpark_call_data_mut(const dlpark_call *call, int32_t index, DLDataType dtype)
{
    const dlpark_call_tensor *tensor = access_tensor(call, index);

    if (tensor == NULL || (call->signature->arguments[index].spec.flags & DLPARK_SPEC_MUT) == 0)
        return NULL;
    return access_data(tensor, dtype);
}

void *dlpark_call_result_data(const dlpark_call *call, int32_t index, DLDataType dtype)
{
    return access_data(access_result(call, index), dtype);
}

int dlpark_call_view(const dlpark_call *call, int32_t index, dlpark_view *view)
{
    const dlpark_call_tensor *tensor = access_tensor(call, index);

    if (tensor == NULL) {
        PyErr_Format(PyExc_ValueError, "%s() was given no tensor as argument %d", call->signature->name, (int)index);
        return -1;
    }
    dlpark__call_view(tensor, view);
    return 0;
}

int dlpark_call_result_view(const dlpark_call *call, int32_t index, dlpark_view *view)
{
    const dlpark_call_tensor *result = access_result(call, index);

    if (result == NULL) {
        PyErr_Format(PyExc_ValueError, "%s() has not made a result %d", call->signature->name, (int)index);
        return -1;
    }
    dlpark__call_view(result, view);
    return 0;
}
