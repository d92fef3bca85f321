/**
 * A Python function over tensors of any framework: arguments in, results out, by a signature.
 *
 *     DLPARK_CALL(call);
 *     if (dlpark_call_begin(&call, module, &signature, args, nargs, kwnames) < 0)
 *         return NULL;                            // TypeError: matmul() argument 'b': expected f32[k=4,m] c cpu, got f64[5,3]
 *     multiply(DLPARK_CALL_DATA(float, &call, 0), ..., dlpark_call_dim(&call, "n"));
 *     return dlpark_call_end(&call);
 *
 * Arguments are read in place: no heap allocation where their type lends its description. Results are allocated by
 * `begin`, in the framework of the first tensor argument or the one that `as=` names, so that nothing after it can fail.
 * Arguments are counted as in the signature, scalars among them, from 0; results from 0.
 * All functions need the GIL but those that say otherwise; a call belongs to one thread.
 */
#ifndef DLPARK_CALL_H
#define DLPARK_CALL_H

#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "dlpack.h"
#include "dtype.h"
#include "signature.h"
#include "spec.h"
#include "tensor.h"
#include "view.h"

/** Extents and strides of all arguments and results of a call that lie in the call itself; more go to the heap. */
#define DLPARK_CALL_POOL 160

DLPARK_BEGIN_C

/** A tensor of a call, in short. To be read through the functions below. */
typedef struct dlpark_call_tensor {
    DLTensor tensor;                   /**< its lists are in the call: `ndim` extents, then `ndim` strides */
    uint32_t flags;                    /**< DLPARK_VIEW_* */
    uint32_t bit_offset;               /**< of element 0 in its byte */
    DLManagedTensorVersioned *managed; /**< what keeps it, where nothing was lent; of a result, until it is given out */
    DLManagedTensor *legacy;           /**< instead of it, where the bit in `legacy` of the call is set */
    PyObject *object; /**< of an argument: borrowed. Of a result: owned, where it is an object already; else NULL */
} dlpark_call_tensor;

/** A scalar of a call. */
typedef union dlpark_call_scalar {
    int64_t integer;  /**< of `int` and `bool` */
    double real;      /**< of `float` */
    const char *text; /**< of `str`: UTF-8, borrowed from the argument */
    PyObject *object; /**< borrowed */
} dlpark_call_scalar;

/** One call, on the stack. The fields are the library's; lists are filled as far as `given`, `made` and so on say. */
typedef struct dlpark_call {
    const dlpark_signature *signature;
    struct dlpark__py_state *state; /**< what this copy of the kit keeps */
    uint32_t given;                 /**< bit i: argument i was given, and is not None where that stands for absence */
    uint32_t owned;                 /**< bit i: tensors[i].managed is to be ended */
    uint32_t legacy;                /**< of these the ones that came by the legacy ABI */
    uint32_t lent;      /**< bit i: tensors[i] is lent by an object whose memory foreign code may exchange */
    uint32_t made;      /**< bit i: results[i] has been made */
    int64_t *pool_next; /**< free from here to `pool_end` */
    int64_t *pool_end;  /**< behind the last of `pool` */
    int64_t *heap;      /**< where the pool did not suffice; else NULL */
    void *stream;       /**< of the first tensor on a device with streams */
    bool has_stream;    /**< whether `stream` and `stream_device` are set */
    DLDevice stream_device;
    dlpark_spec_bound bound;
    dlpark_call_scalar scalars[DLPARK_SIGNATURE_MAX_ARGUMENTS];
    dlpark_call_tensor tensors[DLPARK_SIGNATURE_MAX_TENSORS];
    dlpark_call_tensor results[DLPARK_SIGNATURE_MAX_RESULTS];
    int64_t pool[DLPARK_CALL_POOL]; /**< extents and strides */
} dlpark_call;

/** Several signatures of one function, tried in order. */
typedef struct dlpark_overloads {
    int32_t count; /**< 1 to 8 */
    const dlpark_signature *signatures[8];
} dlpark_overloads;

/** A call on the stack. Not cleared: dlpark_call_begin() fills it. */
#define DLPARK_CALL(name) DLPARK_UNINITIALIZED dlpark_call name

/** Parses a signature at module initialisation; 0, or -1 with a ValueError whose text shows where. */
DLPARK_API int dlpark_signature_init(dlpark_signature *signature, const char *text);

/**
 * Reads the arguments, binds the names, checks everything, then makes the results.
 *
 * @param call       out. On failure there is nothing to end.
 * @param module     in. The function's first argument.
 * @param signature  in. Kept until the end of the call.
 * @param args       in. As METH_FASTCALL | METH_KEYWORDS gives them.
 * @param nargs      in.
 * @param kwnames    in, optional.
 * @return 0, or -1 with an exception: TypeError for what does not fit, and whatever a producer raised.
 */
DLPARK_API int dlpark_call_begin(dlpark_call *call, PyObject *module, const dlpark_signature *signature,
                                 PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/** The same for the first of several signatures that fits: its index, or -1 with a TypeError that lists why none did. */
DLPARK_API int dlpark_call_begin_overloads(dlpark_call *call, PyObject *module, const dlpark_overloads *overloads,
                                           PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/**
 * Releases the arguments. Returns the result, a tuple of several, None without results; NULL, with everything released,
 * when a Python exception is set.
 */
DLPARK_API PyObject *dlpark_call_end(dlpark_call *call);

/** Whether argument `index` was given, and is not None where `none` stands in its spec. */
DLPARK_API bool dlpark_call_has(const dlpark_call *call, int32_t index);

/**
 * Scalars: the value of an argument. A text and an object are borrowed from the call's arguments, and valid until the
 * call ends.
 *
 * @param call       in.
 * @param index      in. Which argument, from 0, tensors among them.
 * @param otherwise  in. What is returned where it was not given.
 */
DLPARK_API int64_t dlpark_call_int(const dlpark_call *call, int32_t index, int64_t otherwise);
DLPARK_API double dlpark_call_float(const dlpark_call *call, int32_t index, double otherwise);
DLPARK_API bool dlpark_call_bool(const dlpark_call *call, int32_t index, bool otherwise);
DLPARK_API const char *dlpark_call_str(const dlpark_call *call, int32_t index, const char *otherwise);
DLPARK_API PyObject *dlpark_call_object(const dlpark_call *call, int32_t index, PyObject *otherwise);

/** The extent of a named dimension; -1 when no argument that was given has it. */
DLPARK_API int64_t dlpark_call_dim(const dlpark_call *call, const char *name);

/**
 * The whole view of an argument, of a result.
 *
 * @param call   in.
 * @param index  in. Which argument or result, from 0.
 * @param view   out. Valid until the call ends.
 * @return 0; -1 with an exception when it was not given, or has not been made.
 */
DLPARK_API int dlpark_call_view(const dlpark_call *call, int32_t index, dlpark_view *view);
DLPARK_API int dlpark_call_result_view(const dlpark_call *call, int32_t index, dlpark_view *view);

/**
 * Makes a result whose spec left an extent open (`?`). The call owns it until dlpark_call_end() gives it out.
 *
 * @param call   in, out.
 * @param index  in. Which result, from 0.
 * @param ndim   in. Its rank.
 * @param shape  in, borrowed. `ndim` extents, which fit the spec.
 * @return 0, or -1 with an exception.
 */
DLPARK_API int dlpark_call_result_alloc(dlpark_call *call, int32_t index, int32_t ndim, const int64_t *shape);

/**
 * The stream to work on: the one that the framework of the first device tensor works on now. NULL for the host, and
 * where nobody says; -1 with an exception. The stream stays its framework's: borrowed until the call ends.
 */
DLPARK_API int dlpark_call_stream(const dlpark_call *call, void **stream);

/** Element 0 of an argument by element type; called through the macros. NULL when it was not given, is of another dtype,
 * or, for writing, has no `mut`. Without elements a pointer that must not be read; valid until the call ends. Need no GIL. As for dlpark_call_view(). */
DLPARK_API const void *dlpark_call_data(const dlpark_call *call, int32_t index, DLDataType dtype);
DLPARK_API void *dlpark_call_data_mut(const dlpark_call *call, int32_t index, DLDataType dtype);
DLPARK_API void *dlpark_call_result_data(const dlpark_call *call, int32_t index, DLDataType dtype);

/** The two ends of DLPARK_CALL_NOGIL. */
DLPARK_API PyThreadState *dlpark_call_nogil_begin(dlpark_call *call);
DLPARK_API PyThreadState *dlpark_call_nogil_end(PyThreadState *state);

/**
 * Runs the block that follows without the GIL. What was only lent is owned first, since other threads may now change the
 * objects; where that fails the block does not run, and dlpark_call_end() returns NULL with the exception. The block must
 * not be left by `return`, `break` or `goto`.
 */
#define DLPARK_CALL_NOGIL(call)                                                                                        \
    for (PyThreadState *dlpark__state = dlpark_call_nogil_begin(&(call)); dlpark__state != DLPARK_NULL;                \
         dlpark__state = dlpark_call_nogil_end(dlpark__state))

DLPARK_END_C

/** Element 0 of an argument, of one with `mut`, of a result, as `const T *` and `T *`: see above. T as in DLPARK_CPU. */
#if defined(__cplusplus)
namespace dlpark
{
template <typename T> const T *call_data(const dlpark_call *call, int32_t index)
{
    return static_cast<const T *>(dlpark_call_data(call, index, dtype_of<T>()));
}
template <typename T> T *call_data_mut(const dlpark_call *call, int32_t index)
{
    return static_cast<T *>(dlpark_call_data_mut(call, index, dtype_of<T>()));
}
template <typename T> T *call_result(const dlpark_call *call, int32_t index)
{
    return static_cast<T *>(dlpark_call_result_data(call, index, dtype_of<T>()));
}
} // namespace dlpark
#define DLPARK_CALL_DATA(T, call, index)     (dlpark::call_data<T>((call), (index)))
#define DLPARK_CALL_DATA_MUT(T, call, index) (dlpark::call_data_mut<T>((call), (index)))
#define DLPARK_CALL_RESULT(T, call, index)   (dlpark::call_result<T>((call), (index)))
#else
#define DLPARK_CALL_DATA(T, call, index)     ((const T *)dlpark_call_data((call), (index), DLPARK_DTYPE_OF(T)))
#define DLPARK_CALL_DATA_MUT(T, call, index) ((T *)dlpark_call_data_mut((call), (index), DLPARK_DTYPE_OF(T)))
#define DLPARK_CALL_RESULT(T, call, index)   ((T *)dlpark_call_result_data((call), (index), DLPARK_DTYPE_OF(T)))
#endif

#endif
