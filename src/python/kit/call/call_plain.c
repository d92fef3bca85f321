/*
 * Results as nearly all are: row-major in host memory, of a dtype that is plain numbers. What is not, and every failure,
 * goes the way of call_result.c, which finds the words.
 */
#include "../numpy_arrays.h"
#include "call_parts.h"

const dlpark_call_tensor *dlpark__call_first(const dlpark_call *call)
{
    const dlpark_signature *signature = call->signature;

    for (int32_t i = 0; i < signature->narguments; i++)
        if (signature->arguments[i].kind == DLPARK_SIGNATURE_TENSOR && (call->given >> i & 1) != 0)
            return &call->tensors[signature->arguments[i].tensor];
    return NULL;
}

/* The extents, where there are elements. */
static inline bool plain_shape(const dlpark_call *call, const dlpark_spec *spec, int64_t *shape)
{
    bool has_elements = true;

    for (int32_t i = 0; i < spec->ndims; i++) {
        shape[i] = spec->dims[i] >= 0 ? spec->dims[i] : call->bound.dims[~spec->dims[i]];
        has_elements &= shape[i] != 0;
    }
    return has_elements;
}

static inline DLDataType plain_dtype(const dlpark_call *call, const dlpark_spec *spec)
{
    return spec->same >= 0 ? call->tensors[spec->same].tensor.dtype : spec->dtypes[0];
}

/* Where nothing is said it is that of the first tensor argument, and the library's own without one. */
static inline dlpark_spec_framework plain_framework(const dlpark_call *call, const dlpark_spec *spec,
                                                    const dlpark_call_tensor *first)
{
    if (spec->framework != DLPARK_SPEC_AS_UNSAID)
        return spec->framework;
    return first != NULL ? dlpark__py_type_of(call->state, Py_TYPE(first->object))->framework : DLPARK_SPEC_AS_DLPARK;
}

/* Strides in the call; extents are those of the array. */
static bool plain_make_array(dlpark_call *call, const dlpark_spec *spec, DLDataType dtype, dlpark_call_tensor *out)
{
    const dlpark__py_numpy *numpy = dlpark__py_numpy_get(call->state);
    int64_t *shape = call->pool_next, *strides = shape + spec->ndims, expected = 1;

    out->object = numpy != NULL ? dlpark__py_numpy_new_plain(numpy, dtype, spec->ndims, shape, &out->tensor) : NULL;
    if (DLPARK_UNLIKELY(out->object == NULL))
        return false;
    for (int32_t i = spec->ndims - 1; i >= 0; i--) {
        strides[i] = expected;
        expected *= shape[i]; /* as many elements as there is memory for */
    }
    out->tensor.strides = strides;
    out->managed = NULL;
    call->pool_next = strides + spec->ndims;
    return true;
}

/* Extents and strides are in the block, which nobody has before the result is given. */
static bool plain_make_tensor(const dlpark_call *call, dlpark_spec_framework framework, DLDataType dtype, int32_t ndim,
                              dlpark_call_tensor *out)
{
    uint64_t kind = dlpark__tensor_kind(dtype, ndim);
    bool is_own = framework == DLPARK_SPEC_AS_DLPARK && call->state->shared != NULL;
    DLManagedTensorVersioned *made = is_own ? call->state->shared->tensor_alloc(kind, call->pool_next).managed
                                            : dlpark__tensor_alloc_heap(kind, call->pool_next).managed;

    if (DLPARK_UNLIKELY(made == NULL))
        return false;
    out->tensor = made->dl_tensor;
    out->managed = made;
    out->object = NULL;
    return true;
}

bool dlpark__call_make_plain(dlpark_call *call, int32_t index)
{
    const dlpark_spec *spec = &call->signature->results[index];
    const dlpark_call_tensor *first = dlpark__call_first(call);
    dlpark_call_tensor *out = &call->results[index];
    DLDataType dtype = plain_dtype(call, spec);

    if (DLPARK_UNLIKELY((first != NULL && first->tensor.device.device_type != kDLCPU) ||
                        !dlpark__dtype_is_usual(dtype) || call->pool_end - call->pool_next < 2 * spec->ndims ||
                        !plain_shape(call, spec, call->pool_next)))
        return false;
    dlpark_spec_framework framework = plain_framework(call, spec, first);
    bool is_made = framework == DLPARK_SPEC_AS_NUMPY ? plain_make_array(call, spec, dtype, out)
                                                     : plain_make_tensor(call, framework, dtype, spec->ndims, out);
    if (DLPARK_UNLIKELY(!is_made))
        return false;
    out->flags = 0;
    out->bit_offset = 0;
    call->made |= UINT32_C(1) << index;
    return true;
}
