/**
 * A tensor from a Python object of any library, by the best way that its type offers.
 *
 *     dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
 *     if (dlpark_py_import(&tensor, object, NULL, NULL) < 0)       // keep it: an owner
 *         return NULL;                                             // with the exception of the array API standard
 *
 *     dlpark_view view;                                            // or look at it while the caller holds the object
 *     if (dlpark_py_view(&view, &tensor, object, NULL) < 0)        // tensor stays empty where nothing had to be owned
 *         return NULL;
 *
 * The ways, in this order: the object is a dlpark.Tensor; its type publishes a C exchange table; it is exactly a
 * numpy.ndarray (by NumPy's own C API); `__dlpack__`; `__cuda_array_interface__`; `__array_struct__`;
 * `__array_interface__`; the buffer protocol. A DLPack capsule itself is taken as well. What a type offers is remembered
 * for the type and the interpreter, a miss too. An exchange table says neither whether elements are conjugated nor on
 * which stream they are ready: complex tensors, and memory of a device with streams that nobody orders, are taken by
 * `__dlpack__` instead; so is a subclass that has a `__dlpack__` of its own.
 *
 * Functions that fail return -1 with a Python exception set. All need the GIL (an attached thread state). Pointers must
 * not be NULL unless a parameter says optional.
 */
#ifndef DLPARK_PY_IMPORT_H
#define DLPARK_PY_IMPORT_H

#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "dlpack.h"
#include "tensor.h"
#include "view.h"

/** X(name, bit, name for people). The ways in, in the order in which they are tried. */
#define DLPARK_PY_PATH_TABLE(X)                                                                                        \
    X(CAPSULE, 0x001, "capsule")                                                                                       \
    X(OWN, 0x002, "own")                                                                                               \
    X(EXCHANGE, 0x004, "exchange")                                                                                     \
    X(NUMPY, 0x008, "numpy")                                                                                           \
    X(DLPACK, 0x010, "dlpack")                                                                                         \
    X(CUDA_ARRAY, 0x020, "cuda_array_interface")                                                                       \
    X(ARRAY_STRUCT, 0x040, "array_struct")                                                                             \
    X(ARRAY_INTERFACE, 0x080, "array_interface")                                                                       \
    X(BUFFER, 0x100, "buffer")

DLPARK_BEGIN_C

/** Bits of dlpark_py_options.paths; one of them is dlpark_py_origin.path. */
enum {
#define DLPARK_PY_PATH_ENUMERATOR(name, bit, text) DLPARK_PY_PATH_##name = (bit),
    DLPARK_PY_PATH_TABLE(DLPARK_PY_PATH_ENUMERATOR)
#undef DLPARK_PY_PATH_ENUMERATOR
};

/** What the standard's `copy` keyword says. */
typedef enum dlpark_py_copy {
    DLPARK_PY_COPY_IF_NEEDED = 0, /**< None */
    DLPARK_PY_COPY_NEVER,         /**< False */
    DLPARK_PY_COPY_ALWAYS         /**< True */
} dlpark_py_copy;

/** What is asked of an import. Zeroed memory asks for nothing; so does NULL in its place. */
typedef struct dlpark_py_options {
    uint32_t paths; /**< DLPARK_PY_PATH_*: only these ways; 0: all */
    dlpark_py_copy copy;
    bool has_device; /**< `device` is asked for */
    DLDevice device;
    bool writable;   /**< the memory will be written: what is read-only, or needs gradients, is refused */
    bool byteswap;   /**< elements of the other byte order are copied in this one, instead of refused */
    bool to_compact; /**< what is not compact row-major is copied, on the host */
    /** The memory is used only on the stream on which the producer works now, as by a kernel that is launched there: the
     * exchange table then needs no order. */
    bool on_producer_stream;
    PyObject
        *stream; /**< borrowed, optional: the consumer's stream, as `__dlpack__` takes it: an integer, an object with
                           `__cuda_stream__`, another library's queue. NULL or None: the default stream */
    /** Makes the consumer's stream wait for the producer's, both as the device's driver takes them; 0, or -1 with or
     * without an exception. Without it, or where it fails, memory of a device with streams is not taken by the exchange
     * table, which does not synchronise. */
    int (*order)(void *context, DLDevice device, void *producer, void *consumer);
    void *order_context; /**< handed to `order` */
} dlpark_py_options;

/** How a tensor came. */
typedef struct dlpark_py_origin {
    uint32_t path;   /**< DLPARK_PY_PATH_* */
    bool is_copied;  /**< the memory was made for this import */
    bool has_stream; /**< `stream` is known */
    void *stream; /**< borrowed: where the data is ready. The producer's current stream when the tensor was taken by the
                        exchange table, the one that an interface names, or the one that `__dlpack__` was asked for */
} dlpark_py_origin;

/**
 * Takes a tensor from an object, to keep.
 *
 * @param tensor   out. Must be empty; stays so on failure.
 * @param object   in, borrowed. A capsule is consumed.
 * @param options  in, optional.
 * @param origin   out, optional. Not written on failure.
 * @return 0, or -1 with an exception: AttributeError (the object offers none of the ways, `__dlpack__` among them),
 *         TypeError (none of those that `paths` names without `__dlpack__`), BufferError (it cannot be exchanged as asked),
 *         DeviceCopyError (BufferError and ValueError: copy never, and another device), ValueError (also an output that is
 *         not empty, or a `copy` that is none, and the object has not been asked then), MemoryError, and whatever the
 *         producer raised.
 * Ownership: the tensor keeps the memory alive, on its own; the object may die.
 */
DLPARK_API int dlpark_py_import(dlpark_tensor *tensor, PyObject *object, const dlpark_py_options *options,
                                dlpark_py_origin *origin);

/**
 * Describes the tensor of an object for as long as the caller holds the object and runs no foreign code; nothing is
 * allocated where the object's type lends its description.
 *
 * @param view     out. Unspecified on failure.
 * @param owner    out. Must be empty. Gets what must be released after use where nothing is lent; release it in any case.
 * @param object   in, borrowed.
 * @param options  in, optional.
 * @return as dlpark_py_import().
 */
DLPARK_API int dlpark_py_view(dlpark_view *view, dlpark_tensor *owner, PyObject *object,
                              const dlpark_py_options *options);

/** An import in two steps: where is it, and then, on the consumer's stream of that device, the tensor. */
typedef struct dlpark_py_request {
    PyObject *object;        /**< owned */
    DLDevice device;         /**< what the producer says; meaningful if `has_device` */
    bool has_device;         /**< whether the producer said one */
    uint32_t paths;          /**< the ways that are allowed */
    uint32_t path;           /**< the one that is tried first */
    dlpark_tensor tensor;    /**< held already, where the way has no other means to tell the device */
    dlpark_py_origin origin; /**< of that tensor */
} dlpark_py_request;

/**
 * The first step: asks for the device.
 *
 * @param request  out. To be ended by dlpark_py_request_import() or dlpark_py_request_clear(); on failure nothing to end.
 * @param object   in. A capsule is consumed.
 * @param paths    in. DLPARK_PY_PATH_*, 0: all.
 * @return 0, or -1 with an exception, as dlpark_py_import().
 */
DLPARK_API int dlpark_py_request_init(dlpark_py_request *request, PyObject *object, uint32_t paths);

/** The second step; ends the request, on failure too. Otherwise as dlpark_py_import(); `options->paths` is not looked at. */
DLPARK_API int dlpark_py_request_import(dlpark_py_request *request, dlpark_tensor *tensor,
                                        const dlpark_py_options *options, dlpark_py_origin *origin);

/** Ends a request that is not followed up. Accepts one that has ended. */
DLPARK_API void dlpark_py_request_clear(dlpark_py_request *request);

DLPARK_END_C

#endif
