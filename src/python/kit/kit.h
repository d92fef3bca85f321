/*
 * What the sources of the extension kit share. Grouped by the file that defines it.
 *
 * The kit is compiled into every extension that uses it, dlpark._core among them; its copies do not meet. Functions that
 * return -1 or NULL have set a Python exception, unless they return a dlpark_status or say otherwise.
 */
#ifndef DLPARK_PYTHON_KIT_H
#define DLPARK_PYTHON_KIT_H

#include <dlpark/python.h>

#include <stdbool.h>

#include "formats.h"

#if !defined(DLPARK_LIKELY)
#define DLPARK_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define DLPARK_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#endif

/* ---- errors.c ---- */

/* The same as dlpark_py_raise(); what the file system refused is raised as open() does, with errno and `filename`. */
PyObject *dlpark__py_raise_file(const dlpark_error *err, PyObject *filename);

/* Sets DeviceCopyError: the two devices, and that a copy was forbidden. Returns -1. */
int dlpark__py_raise_device_copy(DLDevice from, DLDevice to);

/* The pending exception, put aside while foreign code runs. */
typedef struct pending_error {
    PyObject *type;
    PyObject *value;
    PyObject *traceback;
} pending_error;
pending_error dlpark__py_error_save(void);
void dlpark__py_error_restore(pending_error *saved);
void dlpark__py_error_discard(pending_error *saved);

/* The exception itself, borrowed; NULL where none was pending. */
PyObject *dlpark__py_error_value(pending_error *saved);

/* Makes `earlier`, if it is one, the context of the pending exception, as Python does of what is raised while another is
 * handled. Takes it. */
void dlpark__py_error_chain(pending_error *earlier);

/* Whether the exception has passed through a frame of Python code. */
bool dlpark__py_error_has_frames(const pending_error *saved);

/* Sees to it that an exception is set after a foreign callback failed: RuntimeError naming `what` where it set none. */
void dlpark__py_error_require(const char *what, PyObject *object);

/* End a tensor, drop a reference: foreign code may run, and a pending exception survives it. Accept empty and NULL. */
void dlpark__py_tensor_release(dlpark_tensor *tensor);
void dlpark__py_drop(PyObject *object);

/* Drops a reference from wherever a deleter is called: any thread, with or without the GIL, any exception pending, and
 * after the interpreter has ended; then the object is leaked, since nothing is left that could end it. */
void dlpark__py_drop_anywhere(void *object);

/* ---- keywords.c ---- */

/*
 * Reads the keyword-only arguments of a METH_FASTCALL | METH_KEYWORDS function. values[i] is set to the borrowed value
 * of names[i] when it is given, and left alone otherwise.
 */
int dlpark__py_keywords(const char *function, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names,
                        const char *const *names, PyObject **values, Py_ssize_t count);

/* A tuple of two integers, such as (1, 3). `what` is for the message of the TypeError. */
int dlpark__py_pair(PyObject *object, const char *what, long long *first, long long *second);

/* An integer as people write it: its digits, or how many bits it has where these are many. */
dlpark_name dlpark__py_integer_text(PyObject *integer);

/* The truth of an object: 1, 0; -1 with an exception. A TypeError for a text: "no" would be true. */
int dlpark__py_read_bool(PyObject *object, const char *what);

/* The same, or None or NULL, of the standard's keyword `copy`. */
int dlpark__py_read_copy(PyObject *object, dlpark_py_copy *out);

/* A device as the tuple (type, id) of __dlpack_device__. */
int dlpark__py_device_pair(PyObject *object, const char *what, DLDevice *out);

/* A device as a name ("cpu", "cuda:1") or a tuple. */
int dlpark__py_device(PyObject *object, const char *what, DLDevice *out);

/* Whether an object has an attribute: 1; 0, without an exception; -1 where that cannot be found out. */
int dlpark__py_has(PyObject *object, PyObject *name);

/* The name of an object's type, for messages. */
dlpark_name dlpark__py_type_name(PyObject *object);

/* ---- state.c ---- */

typedef struct dlpark__py_numpy dlpark__py_numpy;

/* What is one in a process, whatever copy of the kit asks: given out by dlpark._core in a capsule. Grows at its end. */
typedef struct dlpark__py_shared {
    uint32_t abi;    /* DLPARK__PY_SHARED_ABI; another one is not used */
    uint32_t nbytes; /* of this struct, as its maker knows it */
    PyTypeObject *tensor_type;
    size_t managed_offset; /* of the DLManagedTensorVersioned * in a Tensor object */
    PyObject *device_copy_error;
    /* Takes on success. */
    PyObject *(*tensor_new)(const struct dlpark__py_shared *shared, DLManagedTensorVersioned *managed,
                            const dlpark_py_origin *origin);
    size_t origin_offset; /* of the dlpark_py_origin in a Tensor object */
    /* An owner of a Tensor's memory: dlpark_tensor_share() by the copy of the library that holds it. Each copy would
     * otherwise wrap what another has made, again and again. */
    dlpark_status (*tensor_share)(PyObject *object, dlpark_tensor *part, dlpark_error *err);
    /* dlpark__tensor_alloc_heap() of that copy, so that it can share what becomes a Tensor without a wrapper. */
    dlpark__tensor_made (*tensor_alloc)(uint64_t kind, const int64_t *shape);
    /* Of devices whose drivers dlpark._core finds at run time. A compact copy on another device, ready for everybody;
     * `producer` is the stream on which the source is ready. */
    dlpark_status (*device_copy)(const dlpark_view *from, dlpark_stream producer, DLDevice to, dlpark_tensor *out,
                                 dlpark_error *err);
    /* Makes a stream wait for another one. */
    dlpark_status (*device_order)(DLDevice device, dlpark_stream producer, dlpark_stream consumer, dlpark_error *err);
    /* The stream on which this thread works; one that is unsaid: it has not said so by dlpark.stream(). */
    dlpark_stream (*device_stream)(DLDevice device);
} dlpark__py_shared;

#define DLPARK__PY_SHARED_ABI     1u
#define DLPARK__PY_SHARED_CAPSULE "dlpark._core._shared"

/* How the tensors of a type are taken first. */
typedef enum dlpark__py_route {
    DLPARK__PY_ROUTE_SLOW = 0, /* by the protocols that call into Python */
    DLPARK__PY_ROUTE_OWN,
    DLPARK__PY_ROUTE_EXCHANGE,
    DLPARK__PY_ROUTE_NUMPY,
    DLPARK__PY_ROUTE_CAPSULE,
    DLPARK__PY_ROUTE_HOST /* by a __dlpack__ in C, which gave host memory the last time: SLOW until then */
} dlpark__py_route;

/* What is remembered of a type. The type is kept alive. */
typedef struct dlpark__py_type {
    PyTypeObject *type;
    const DLPackExchangeAPI *exchange; /* of our major version; its members may be NULL */
    dlpark__py_route route;
    dlpark_spec_framework framework;
    unsigned version;   /* of the type's attributes when it was looked at, where that can be known */
    bool is_masked;     /* numpy.ma.MaskedArray, or derives from it: objects are looked at one by one */
    bool asks_grad;     /* objects may have an attribute requires_grad */
    bool is_heir;       /* the table is that of a class which it derives from: its own code may run behind it */
    bool needs_version; /* __dlpack__ has refused a legacy capsule */
    PyObject *dlpack;   /* of the HOST route: the type's own __dlpack__, borrowed until the version changes */
} dlpark__py_type;

#define DLPARK__PY_TYPES_NBITS 8

/* One more than the last dlpark_spec_framework. */
enum { DLPARK__PY_NFRAMEWORKS = DLPARK_SPEC_AS_MEMORYVIEW + 1 };
/* A type that this copy of the kit gave an exchange table. The type is not kept alive: when it dies, it is forgotten. */
typedef struct dlpark__py_installed {
    PyTypeObject *type; /* NULL: none */
    PyObject *weak;
} dlpark__py_installed;

/* The tuple of a device, as __dlpack_device__ answers it. */
typedef struct dlpark__py_device_tuple {
    DLDevice device;
    PyObject *tuple; /* NULL: none */
} dlpark__py_device_tuple;

#define DLPARK__PY_DEVICES 16

/* What this copy of the kit keeps for an interpreter. */
typedef struct dlpark__py_state {
    int64_t interpreter;
    PyObject *name_dlpack; /* "__dlpack__", and so on: interned */
    PyObject *name_dlpack_device;
    PyObject *name_stream;
    PyObject *name_max_version;
    PyObject *name_dl_device;
    PyObject *name_copy;
    PyObject *name_requires_grad;
    PyObject *name_exchange; /* "__dlpack_c_exchange_api__" */
    PyObject *name_exchange_old;
    PyObject *name_cuda_stream;
    PyObject *abi_version;                                 /* (1, 3) */
    PyObject *only_max_version;                            /* ("max_version",): the keywords of the usual call */
    const dlpark__py_numpy *numpy;                         /* NULL until it is found */
    const dlpark__py_shared *shared;                       /* NULL until it is used */
    PyObject *shared_module;                               /* in which it lies */
    PyObject *framework_functions[DLPARK__PY_NFRAMEWORKS]; /* that take an object with __dlpack__; found when used */
    const DLPackExchangeAPI *torch_exchange;               /* of torch.Tensor */
    uint32_t torch_devices; /* DLPARK_DEVICE_BIT() of each type of which PyTorch has taken a tensor */
    PyTypeObject *handoff_type;
#if defined(Py_GIL_DISABLED)
    PyMutex mutex; /* of `types` */
#endif
    bool starved;                 /* memory failed while a type was looked at */
    unsigned nlooks;              /* how often one was, which may have run foreign code */
    dlpark__py_type unremembered; /* what was found last that is not in the cache; borrows the type */
    dlpark__py_installed installed[DLPARK_PY_EXCHANGE_MAX];
    dlpark__py_device_tuple devices[DLPARK__PY_DEVICES];
    dlpark__py_type types[1 << DLPARK__PY_TYPES_NBITS]; /* a direct-mapped cache, by the type's address */
} dlpark__py_state;

/* The state of the running interpreter; made at the first call. NULL with an exception only then. A few loads. */
dlpark__py_state *dlpark__py_state_get(void);

/* What is one in the process; imports dlpark._core. NULL with an exception. */
const dlpark__py_shared *dlpark__py_shared_get(dlpark__py_state *state);

/* The same if dlpark._core has been imported; else NULL, without an exception. */
const dlpark__py_shared *dlpark__py_shared_peek(dlpark__py_state *state);

/* A module that has been imported, as a new reference; NULL, without an exception, for any other. */
PyObject *dlpark__py_imported(dlpark__py_state *state, const char *name);

/* Drops the pending exception, if there is one; that memory failed is not taken for an answer about a type. */
void dlpark__py_error_forget(dlpark__py_state *state);

/* ---- py_device.c: what dlpark._core does for every copy of the kit, once it has been imported ---- */

/* DLPARK_E_UNSUPPORTED where it has not. Otherwise as dlpark__py_shared has them. */
dlpark_status dlpark__py_move(const dlpark_view *from, dlpark_stream producer, DLDevice to, dlpark_tensor *out,
                              dlpark_error *err);
dlpark_status dlpark__py_order_streams(DLDevice device, dlpark_stream producer, dlpark_stream consumer,
                                       dlpark_error *err);

/* The thread's current stream; a stream by what its driver takes for it. */
dlpark_stream dlpark__py_current_stream(DLDevice device);
dlpark_stream dlpark__py_stream_of_native(DLDevice device, void *native);

/* ---- type_cache.c ---- */

/* What is known of a type, looked at if need be. Cannot fail and sets no exception: what goes wrong is a miss. The entry
 * is valid until the next call of this function, or foreign code runs: read what you need of it before. */
const dlpark__py_type *dlpark__py_type_of(dlpark__py_state *state, PyTypeObject *type);

/* Notes where a type's __dlpack__ has its memory: a SLOW route becomes HOST, and the other way round. */
void dlpark__py_type_note_host(dlpark__py_state *state, PyTypeObject *type, bool is_host);

/* Notes that a type's __dlpack__ has to be told that a versioned capsule is understood. */
void dlpark__py_type_note_version(dlpark__py_state *state, PyTypeObject *type);

/* ---- py_export.c ---- */

/* dlpark_py_export() of a framework that is one. */
PyObject *dlpark__py_export(dlpark__py_state *state, dlpark_tensor *tensor, dlpark_spec_framework framework,
                            PyObject *like);

/* ---- py_import.c ---- */

/*
 * Describes an object's tensor in a view, without an owner where the type lends it; the hot path of calls.
 *
 * `entry` is what dlpark__py_type_of() says of the object's type; it need not be valid afterwards. *managed is set to what
 * must be ended by the caller, or NULL. The view is checked, and carries the flags that the way can know. options->writable
 * takes a way that knows them, and refuses what needs gradients; whether the memory may be written is for the caller to
 * see, by the view's flags.
 */
int dlpark__py_lend(dlpark__py_state *state, PyObject *object, const dlpark__py_type *entry,
                    const dlpark_py_options *options, dlpark_view *view, DLManagedTensorVersioned **managed);

/* ---- import_fit.c ---- */

/* Whether the host may read the memory now, without waiting for a device. */
bool dlpark__py_is_host(DLDevice device);

/* The end of a refusal: how the host comes to what is there. "" where it does not. */
const char *dlpark__py_host_hint(DLDevice device);

/* A compact copy in host memory; releases the GIL when it is large. */
int dlpark__py_copy(const dlpark_view *from, dlpark_tensor *out);

/* Makes it unknown whether the tensor may be written, as of a tensor that comes by the legacy ABI. */
dlpark_status dlpark__py_forget_write(dlpark_tensor *tensor, dlpark_error *err);

/* Sets the exception of `err`, whose message begins with the name of the object's type. Returns -1. */
int dlpark__py_raise_of(PyObject *object, const dlpark_error *err);

/* ---- producer.c ---- */

/* __dlpack_device__ of an object: 1 and the device; 0 where it has none; -1. */
int dlpark__py_producer_device(dlpark__py_state *state, PyObject *object, DLDevice *out);

/* __dlpack__ of an object: 1 and the tensor; 0, without an exception, where it has none; -1. `device` is what
 * __dlpack_device__ said, or NULL. */
int dlpark__py_producer_import(dlpark__py_state *state, PyObject *object, const DLDevice *device,
                               const dlpark_py_options *options, dlpark_tensor *tensor, bool *is_copied);

/* ---- interface_*.c, buffer_import.c: 1 and the tensor; 0, without an exception, where the object has none; -1 ---- */

/* They give the memory of the object itself, and say that it was not copied; only elements of the other byte order are
 * copied, where the options ask for them. Whether the device, `writable`, `to_compact` and a copy are as asked is for the
 * caller to see to. Of `origin`, is_copied is written, and the stream where the object names one. */
int dlpark__py_cuda_array_import(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                                 dlpark_tensor *tensor, dlpark_py_origin *origin);
int dlpark__py_array_struct_import(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                                   dlpark_tensor *tensor, bool *is_copied);
int dlpark__py_array_interface_import(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                                      dlpark_tensor *tensor, bool *is_copied);
int dlpark__py_buffer_import(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                             dlpark_tensor *tensor, bool *is_copied);

/* The device that dlpark__py_cuda_array_import() would say, without a look at the interface beyond that there is one: 1;
 * 0, without an exception, where there is none; -1. */
int dlpark__py_cuda_array_device(dlpark__py_state *state, PyObject *object, DLDevice *out);

/* ---- py_stream.c ---- */

/* Reads what a consumer passed as `stream`: NULL and None, an integer, an object with __cuda_stream__. ValueError where it
 * means nothing on the device. 1 where the object is another library's queue (SYCL's on one_api), which only its own
 * devices understand; then `out` is a handle of the object itself, borrowed. */
int dlpark__py_stream_read(DLDevice device, PyObject *object, dlpark_stream *out);

/* What to pass as `stream` to a producer on `device` for a consumer that works on `wanted` (NULL, None: its default
 * stream, by its number on CUDA and ROCm). A new reference; NULL without an exception where the keyword is to be left out:
 * on the host whatever is wanted, elsewhere where there is nothing to say. *failed on an exception. */
PyObject *dlpark__py_stream_write(DLDevice device, PyObject *wanted, bool *failed);

/* Notes the stream on which data is ready, where it has a handle. */
void dlpark__py_origin_note(dlpark_py_origin *origin, dlpark_stream ready);

/* ---- capsule.c ---- */

/* What an untaken capsule holds: one of the two, or neither. A look is faster where it is known which to expect. */
typedef struct dlpark__py_capsule_held {
    DLManagedTensorVersioned *versioned;
    DLManagedTensor *legacy;
} dlpark__py_capsule_held;
dlpark__py_capsule_held dlpark__py_capsule_look(PyObject *capsule, bool is_versioned);

/* Takes what a look has found, and a check found good; no Python code may have run in between. False, without an exception,
 * where the capsule cannot be renamed. */
bool dlpark__py_capsule_take(PyObject *capsule, dlpark__py_capsule_held held);

/* Ends a legacy tensor as dlpark__py_tensor_release() does. */
void dlpark__py_legacy_release(DLManagedTensor *managed);

/*
 * Consumes a capsule of either ABI, told by its name; of several threads that try, one succeeds.
 *
 * A capsule of another name, or whose tensor is refused, is left alone: its producer's destructor ends it. Only when
 * memory fails has it been consumed, and the deleter called, once. Sets no exception, so that the caller can drop the
 * capsule first.
 *
 * @param is_copied  out, optional. Whether the producer said that it made a copy for this exchange.
 */
dlpark_status dlpark__py_capsule_import(PyObject *capsule, dlpark_tensor *tensor, bool *is_copied, dlpark_error *err);

#endif
