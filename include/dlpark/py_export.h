/**
 * A tensor to Python: as an object of a framework, as a capsule, as the answer of a `__dlpack__` method.
 *
 *     return dlpark_py_export(&tensor, DLPARK_SPEC_AS_NUMPY, NULL);       // a numpy.ndarray of the same memory
 *     return dlpark_py_export(&tensor, DLPARK_SPEC_AS_UNSAID, argument);  // whatever `argument` is of
 *
 * Functions that fail return NULL or -1 with a Python exception set. All need the GIL. Pointers must not be NULL unless
 * a parameter says optional.
 */
#ifndef DLPARK_PY_EXPORT_H
#define DLPARK_PY_EXPORT_H

#include <Python.h>

#include <stdbool.h>

#include "spec.h"
#include "status.h"
#include "tensor.h"

DLPARK_BEGIN_C

/**
 * An object of a framework on the tensor's memory, without a copy; but MLX copies on the CPU, and JAX copies what does not
 * begin at a multiple of 64 bytes. A framework is imported when it is first used.
 *
 * Nothing is synchronised, as by the exchange tables: on a device the work on the memory has been ordered before
 * whatever will use the object. Page-locked memory is given out as the CPU's. READ_ONLY, also where it is unknown,
 * makes arrays of NumPy and memoryviews that are not writable; arrays of JAX, MLX and TensorFlow cannot be written at
 * all; PyTorch has no read-only tensors, and loses it.
 *
 * @param tensor     in, out. Not empty. Taken, on failure too: the frameworks' own functions consume even then.
 * @param framework  in. DLPARK_SPEC_AS_UNSAID: that of `like`, or if it is of none that is known, whatever the exchange
 *                   table of its type makes; without either a dlpark.Tensor.
 * @param like       in, borrowed, optional.
 * @return a new reference; NULL with an exception: ModuleNotFoundError naming the framework; BufferError naming it, the
 *         dtype and the device, with what the framework raised as its cause (it has no such dtype or layout, or cannot
 *         reach the memory); MemoryError; what is no Exception, such as KeyboardInterrupt, as it came.
 * Ownership: the object keeps the memory. When the function of a table refuses the tensor, it has ended it or leaked
 *            it; PyTorch's, which leaks, is only given what it takes.
 */
DLPARK_API PyObject *dlpark_py_export(dlpark_tensor *tensor, dlpark_spec_framework framework, PyObject *like);

/** The framework that an object is of; DLPARK_SPEC_AS_UNSAID for none that is known. Cannot fail, sets no exception. */
DLPARK_API dlpark_spec_framework dlpark_py_framework_of(PyObject *object);

/** A capsule of the versioned ABI, a new reference; NULL with an exception. Takes the tensor on success; on failure the
 * caller still owns it. */
DLPARK_API PyObject *dlpark_py_capsule_new(dlpark_tensor *tensor);

/** The same of the legacy ABI; BufferError for what that cannot say. */
DLPARK_API PyObject *dlpark_py_capsule_new_legacy(dlpark_tensor *tensor);

/**
 * Answers `__dlpack__` for any owner: reads the four keywords, checks the request, and makes the capsule.
 *
 * @param tensor         in, borrowed; made shared if it was not (dlpark_tensor_share()).
 * @param args           in. As METH_FASTCALL | METH_KEYWORDS gives them, without self.
 * @param nargs          in.
 * @param keyword_names  in, optional.
 * @return a capsule; NULL with the exception that the array API standard asks for.
 * Threads: several may ask for the same owner at once, also where there is no GIL.
 */
DLPARK_API PyObject *dlpark_py_answer_dlpack(dlpark_tensor *tensor, PyObject *const *args, Py_ssize_t nargs,
                                             PyObject *keyword_names);

/** Answers `__dlpack_device__` of a tensor that stays the caller's: a new reference to a tuple (type, id), shared between calls where it is the usual one. */
DLPARK_API PyObject *dlpark_py_answer_dlpack_device(const dlpark_tensor *tensor);

/** Sets the exception that stands for err->status, with its message. Returns NULL. */
DLPARK_API PyObject *dlpark_py_raise(const dlpark_error *err);

DLPARK_END_C

#endif
