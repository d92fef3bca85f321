/**
 * The DLPack C exchange table of Python types: found on foreign ones, given to yours.
 *
 *     static dlpark_tensor *image_tensor(PyObject *self) { return &((image *)self)->pixels; }
 *     static const dlpark_py_exchange image_exchange = {.tensor = image_tensor};
 *     if (dlpark_py_install_exchange(image_type, &image_exchange) < 0) return -1;   // in the module's exec slot
 *
 * gives the type `__dlpack__`, `__dlpack_device__` and the table, under both names that are in use. One function has to
 * be written, `tensor` or `share`. All functions need the GIL. Pointers must not be NULL unless a parameter or field says
 * optional.
 */
#ifndef DLPARK_PY_EXCHANGE_H
#define DLPARK_PY_EXCHANGE_H

#include <Python.h>

#include "dlpack.h"
#include "stream.h"
#include "tensor.h"
#include "view.h"

/** How many types one extension module may give it to, in one interpreter. */
#define DLPARK_PY_EXCHANGE_MAX 16

DLPARK_BEGIN_C

/** What a type can do. Static: it must outlive the process' use of the table. Fields that are not named are NULL. */
typedef struct dlpark_py_exchange {
    /** The owner that the object holds, borrowed; or, where it holds none, `share` in its place. The kit shares it by
     * dlpark_tensor_share(), so `managed` may change. NULL with an exception. */
    dlpark_tensor *(*tensor)(PyObject *self);
    /** In the place of `tensor`: gives an owner of the object's memory. `out` is empty. 0, or -1 with an exception. One
     * that says IS_COPIED is taken for a copy that this call made. */
    int (*share)(PyObject *self, dlpark_tensor *out);
    /** Optional: makes an object of `type` that takes the tensor; NULL with an exception, and then the tensor is still the
     * caller's. Without it a tensor given to the table becomes a dlpark.Tensor. */
    PyObject *(*wrap)(PyTypeObject *type, dlpark_tensor *tensor);
    /** Optional, beside `share`: describes the object's memory in `out` without allocating; shape and strides point into
     * the object. The struct has no flags, so -1 with BufferError for what must not be written; then consumers ask for an
     * owner. Without it consumers get owners only. */
    int (*borrow)(PyObject *self, DLTensor *out);
    /** Optional: the stream on which the library works now. 0, or -1 with an exception. Without it NULL. */
    int (*current_stream)(DLDevice device, void **out);
    /** Optional: makes the object's data ready on a consumer's stream, the default one or another; 0, or -1 with an
     * exception. Who takes the object by the table comes after `current_stream`, and the data is made ready on that first.
     * Without it the data is taken to be ready on the default stream, and another one is made to wait for that by the
     * driver, as the module dlpark knows it; where it does not, such a request is a BufferError. */
    int (*order)(PyObject *self, DLDevice device, dlpark_stream consumer);
} dlpark_py_exchange;

/**
 * Gives a type the protocol and the table.
 *
 * `__dlpack_c_exchange_api__` is a capsule, as DLPack 1.3 has it, and `__c_dlpack_exchange_api__` an integer, as 1.2 had
 * it. Subtypes inherit all of it. A type that dies makes room for another with the same functions.
 *
 * @param type       in, borrowed. A static type, or a heap type, an immutable one too.
 * @param functions  in. Kept.
 * @return 0, also for a type that has been given the same functions already; -1 with an exception: TypeError (the type
 *         itself has one of the names), ValueError (not exactly one of `tensor` and `share`), RuntimeError (more than
 *         DLPARK_PY_EXCHANGE_MAX), MemoryError. On failure the type is as it was.
 */
DLPARK_API int dlpark_py_install_exchange(PyTypeObject *type, const dlpark_py_exchange *functions);

/**
 * The exchange table that a type publishes, of a major version that this library knows. Remembered for the type.
 *
 * @param type  in, borrowed.
 * @return a table that outlives the process' use of it; NULL without an exception where there is none.
 */
DLPARK_API const DLPackExchangeAPI *dlpark_py_exchange_of(PyTypeObject *type);

DLPARK_END_C

#endif
