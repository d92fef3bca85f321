/*
 * The exchange tables that types are given. The functions of a table are told no type, and to_py and the allocator no
 * object either: so there are as many tables as types, each with functions of its own that know its number.
 */
#include "export_parts.h"

#include <stdatomic.h>

static _Atomic(const dlpark_py_exchange *) exchange_functions[DLPARK_PY_EXCHANGE_MAX];

/* Where there is no GIL two threads may share the same owner for the first time, which changes it. */
#if defined(Py_GIL_DISABLED)
#define EXCHANGE_LOCK(self)                                                                                            \
    Py_BEGIN_CRITICAL_SECTION(self);                                                                                   \
    (void)0
#define EXCHANGE_UNLOCK()                                                                                              \
    Py_END_CRITICAL_SECTION();                                                                                         \
    (void)0
#else
#define EXCHANGE_LOCK(self) ((void)0)
#define EXCHANGE_UNLOCK()   ((void)0)
#endif

static const dlpark_py_exchange *exchange_of(int number)
{
    return atomic_load_explicit(&exchange_functions[number], memory_order_acquire);
}

/* ---- The object's owner ---- */

/* Cannot fail without an exception: foreign functions may forget to set one. */
static dlpark_tensor *exchange_held(const dlpark_py_exchange *functions, PyObject *self)
{
    dlpark_tensor *held = functions->tensor(self);

    if (held == NULL) {
        dlpark__py_error_require("tensor", self);
        return NULL;
    }
    if (held->managed == NULL) {
        dlpark_name type = dlpark__py_type_name(self);
        PyErr_Format(PyExc_BufferError, "the %s holds no tensor", type.text);
        return NULL;
    }
    return held;
}

static int exchange_share(dlpark_tensor *held, dlpark_tensor *out)
{
    dlpark_error err;

    if (DLPARK_LIKELY(dlpark_tensor_share(out, held, NULL, &err) == DLPARK_OK))
        return 0;
    dlpark_py_raise(&err);
    return -1;
}

static int exchange_share_held(const dlpark_py_exchange *functions, PyObject *self, dlpark_tensor *out)
{
    dlpark_tensor *held = exchange_held(functions, self);

    return held != NULL ? exchange_share(held, out) : -1;
}

/* An owner of the object's memory. */
static int exchange_own(const dlpark_py_exchange *functions, PyObject *self, dlpark_tensor *out)
{
    int status;

    EXCHANGE_LOCK(self);
    if (functions->tensor != NULL) {
        status = exchange_share_held(functions, self, out);
    } else {
        status = functions->share(self, out);
        if (status != 0 || out->managed == NULL) {
            dlpark__py_tensor_release(out);
            dlpark__py_error_require("share", self);
            status = -1;
        }
    }
    EXCHANGE_UNLOCK();
    return status;
}

/* ---- The methods ---- */

/* `request` is NULL for a plain one. */
static PyObject *exchange_answer_held(const dlpark_py_exchange *functions, PyObject *self,
                                      const dlpark__py_export_request *request, bool is_legacy)
{
    const dlpark__py_export_request usual = {.is_legacy = is_legacy, .self = self, .order = functions->order};
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;
    PyObject *capsule = NULL;

    EXCHANGE_LOCK(self);
    dlpark_tensor *held = exchange_held(functions, self);
    if (held != NULL && held->managed->dl_tensor.device.device_type != kDLCPU)
        (void)exchange_share(held, &made);
    else if (held != NULL)
        capsule = request == NULL ? dlpark__py_export_plain(held, is_legacy) : dlpark__py_export_answer(held, request);
    EXCHANGE_UNLOCK();
    if (made.managed == NULL)
        return capsule;
    /* On a device it has to be made ready, where other code may run. */
    return dlpark__py_export_answer_owned(&made, request != NULL ? request : &usual);
}

static PyObject *exchange_dlpack_asked(const dlpark_py_exchange *functions, PyObject *self, PyObject *const *args,
                                       Py_ssize_t nargs, PyObject *keyword_names)
{
    dlpark__py_export_request request;
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;

    if (dlpark__py_export_request_read(args, nargs, keyword_names, &request) < 0)
        return NULL;
    request.self = self;
    request.order = functions->order;
    if (functions->tensor != NULL)
        return exchange_answer_held(functions, self, &request, false);
    return exchange_own(functions, self, &made) == 0 ? dlpark__py_export_answer_owned(&made, &request) : NULL;
}

static PyObject *exchange_dlpack(int number, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keyword_names)
{
    const dlpark_py_exchange *functions = exchange_of(number);
    bool is_legacy;

    if (functions->tensor != NULL && dlpark__py_export_is_plain(args, nargs, keyword_names, &is_legacy))
        return exchange_answer_held(functions, self, NULL, is_legacy);
    return exchange_dlpack_asked(functions, self, args, nargs, keyword_names);
}

static int exchange_ask_device(const dlpark_py_exchange *functions, PyObject *self, DLDevice *out)
{
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;

    if (functions->tensor != NULL) {
        const dlpark_tensor *held = exchange_held(functions, self);
        if (held == NULL)
            return -1;
        *out = held->managed->dl_tensor.device;
        return 0;
    }
    if (exchange_own(functions, self, &made) < 0)
        return -1;
    *out = made.managed->dl_tensor.device;
    dlpark__py_tensor_release(&made);
    return 0;
}

static PyObject *exchange_device(int number, PyObject *self)
{
    DLDevice device;

    return exchange_ask_device(exchange_of(number), self, &device) == 0 ? dlpark__py_device_tuple_of(device) : NULL;
}

/* ---- The functions of a table ---- */

/* Whether the type of an object publishes the table: asked late in the interpreter's life, when what was remembered of
 * types has gone. */
static bool exchange_is_published(int number, PyObject *object)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__");
    bool is_capsule = capsule != NULL && PyCapsule_IsValid(capsule, "dlpack_exchange_api");
    bool is_published =
        is_capsule && PyCapsule_GetPointer(capsule, "dlpack_exchange_api") == dlpark__py_exchange_table(number);

    PyErr_Clear();
    dlpark__py_drop(capsule);
    return is_published;
}

static DLPARK_COLD int exchange_refuse(PyTypeObject *type, PyObject *object)
{
    dlpark_name given = object != NULL ? dlpark__py_type_name(object) : (dlpark_name){"NULL"};
    PyObject *expected = type != NULL ? PyType_GetName(type) : PyUnicode_FromString("a type that is no more");

    if (expected != NULL)
        PyErr_Format(PyExc_TypeError, "the exchange table of %U was given a %s", expected, given.text);
    Py_XDECREF(expected);
    return -1;
}

/* Whether an object is of the type that the table was given to, so that the functions may look into it. */
static int exchange_check(int number, PyObject *object)
{
    const dlpark__py_state *state = dlpark__py_state_get();
    PyTypeObject *type = state != NULL ? state->installed[number].type : NULL;

    if (DLPARK_UNLIKELY(state == NULL))
        PyErr_Clear();
    if (DLPARK_UNLIKELY(object == NULL))
        return exchange_refuse(type, object);
    if (DLPARK_LIKELY(Py_TYPE(object) == type))
        return 0;
    if (type != NULL ? PyType_IsSubtype(Py_TYPE(object), type) : exchange_is_published(number, object))
        return 0;
    return exchange_refuse(type, object);
}

static int exchange_stream(int number, DLDevice device, void **out)
{
    const dlpark_py_exchange *functions = exchange_of(number);

    *out = NULL;
    if (functions->current_stream == NULL || functions->current_stream(device, out) == 0)
        return 0;
    *out = NULL;
    if (PyErr_Occurred() == NULL)
        PyErr_SetString(PyExc_RuntimeError, "current_stream failed without saying why");
    return -1;
}

/* Who takes an object by the table comes after the stream that exchange_stream() tells, and after no other. */
static DLPARK_COLD int exchange_make_ready(int number, PyObject *self, DLDevice device)
{
    const dlpark_py_exchange *functions = exchange_of(number);
    void *native;

    if (functions->order == NULL || !dlpark_device_has_streams(device))
        return 0;
    if (exchange_stream(number, device, &native) < 0)
        return -1;
    if (functions->order(self, device, dlpark__py_stream_of_native(device, native)) == 0)
        return 0;
    dlpark__py_error_require("order", self);
    return -1;
}

static int exchange_from_py(int number, void *object, DLManagedTensorVersioned **out)
{
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;

    *out = NULL;
    if (exchange_check(number, object) < 0 || exchange_own(exchange_of(number), object, &made) < 0)
        return -1;
    DLDevice device = made.managed->dl_tensor.device;
    if (DLPARK_UNLIKELY(device.device_type != kDLCPU) && exchange_make_ready(number, object, device) < 0) {
        dlpark__py_tensor_release(&made);
        return -1;
    }
    *out = dlpark_tensor_export(&made);
    return 0;
}

/* What the struct has no flags for is refused; a consumer that must read it asks for an owner. */
static int exchange_describe(PyObject *self, const dlpark_tensor *held, DLTensor *out)
{
    const DLManagedTensorVersioned *managed = held->managed;
    bool is_padded = (managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;

    if ((managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 || is_padded) {
        dlpark_name type = dlpark__py_type_name(self);
        PyErr_Format(PyExc_BufferError,
                     "the %s is %s, which a DLTensor cannot say; ask for an owner, which can, by "
                     "managed_tensor_from_py_object_no_sync",
                     type.text, is_padded ? "padded" : "read-only");
        return -1;
    }
    *out = managed->dl_tensor;
    return 0;
}

static int exchange_borrow_unheld(const dlpark_py_exchange *functions, PyObject *self, DLTensor *out)
{
    if (functions->borrow(self, out) != 0) {
        dlpark__py_error_require("borrow", self);
        return -1;
    }
    if (out->ndim > 0 && (out->shape == NULL || out->strides == NULL)) {
        dlpark_name type = dlpark__py_type_name(self);
        PyErr_Format(PyExc_RuntimeError, "the description of a %s has rank %d and no %s", type.text, (int)out->ndim,
                     out->shape == NULL ? "shape" : "strides");
        return -1;
    }
    return 0;
}

static int exchange_describe_held(const dlpark_py_exchange *functions, PyObject *self, DLTensor *out)
{
    const dlpark_tensor *held = exchange_held(functions, self);

    return held != NULL ? exchange_describe(self, held, out) : -1;
}

static int exchange_borrow(int number, void *object, DLTensor *out)
{
    const dlpark_py_exchange *functions = exchange_of(number);

    if (exchange_check(number, object) < 0)
        return -1;
    int status = functions->tensor != NULL ? exchange_describe_held(functions, object, out)
                                           : exchange_borrow_unheld(functions, object, out);
    if (status < 0 || DLPARK_LIKELY(out->device.device_type == kDLCPU))
        return status;
    if (exchange_make_ready(number, object, out->device) < 0)
        return -1;
    /* What is lent holds until other code runs, and the order may have been that. */
    return functions->tensor != NULL ? exchange_describe_held(functions, object, out)
                                     : exchange_borrow_unheld(functions, object, out);
}

/* ---- The tables ---- */

#define EXCHANGE_NUMBERS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

#define EXCHANGE_FUNCTIONS(n)                                                                                          \
    static PyObject *exchange_dlpack_##n(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)     \
    {                                                                                                                  \
        return exchange_dlpack(n, self, args, nargs, names);                                                           \
    }                                                                                                                  \
    static PyObject *exchange_device_##n(PyObject *self, PyObject *ignored)                                            \
    {                                                                                                                  \
        (void)ignored;                                                                                                 \
        return exchange_device(n, self);                                                                               \
    }                                                                                                                  \
    static int exchange_from_py_##n(void *object, DLManagedTensorVersioned **out)                                      \
    {                                                                                                                  \
        return exchange_from_py(n, object, out);                                                                       \
    }                                                                                                                  \
    static int exchange_to_py_##n(DLManagedTensorVersioned *managed, void **out)                                       \
    {                                                                                                                  \
        return dlpark__py_exchange_make(exchange_of(n), n, managed, out);                                              \
    }                                                                                                                  \
    static int exchange_borrow_##n(void *object, DLTensor *out)                                                        \
    {                                                                                                                  \
        return exchange_borrow(n, object, out);                                                                        \
    }                                                                                                                  \
    static int exchange_stream_##n(DLDeviceType type, int32_t id, void **out)                                          \
    {                                                                                                                  \
        return exchange_stream(n, DLPARK_DEVICE(type, id), out);                                                       \
    }

EXCHANGE_NUMBERS(EXCHANGE_FUNCTIONS)

PyDoc_STRVAR(exchange_dlpack_doc,
             "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
             "A DLPack capsule of the tensor, for a consumer such as numpy.from_dlpack().\n\n"
             "Parameters\n"
             "----------\n"
             "stream : int or object, optional\n"
             "    The stream of the tensor's device on which the consumer will work: an integer as the array API\n"
             "    standard numbers it, or an object with __cuda_stream__. The default stream by default; -1 for no\n"
             "    ordering. On the host None and -1 only.\n"
             "max_version : tuple of int, optional\n"
             "    The newest DLPack version that the consumer knows. A legacy capsule for None and (0, n).\n"
             "dl_device : tuple of int, optional\n"
             "    The device that the consumer wants: the tensor's own, or the CPU for page-locked memory.\n"
             "copy : bool, optional\n"
             "    True always copies, into host memory; otherwise the memory is shared.\n\n"
             "Returns\n"
             "-------\n"
             "capsule\n"
             "    Called 'dltensor_versioned', or 'dltensor' when it is a legacy one.\n\n"
             "Raises\n"
             "------\n"
             "BufferError\n"
             "    The tensor cannot be given out as asked: a legacy capsule of a read-only tensor, another device,\n"
             "    another stream. DeviceCopyError when copy=False forbids what another device needs.\n"
             "TypeError, ValueError\n"
             "    An argument is of another kind, or means nothing on the tensor's device.");
PyDoc_STRVAR(exchange_device_doc, "__dlpack_device__($self, /)\n--\n\n"
                                  "The device as DLPack has it: (type, id).");

typedef struct exchange_entry {
    DLPackExchangeAPI table;
    PyMethodDef methods[2];
} exchange_entry;

/* A function of METH_FASTCALL has another type than the field; the detour tells the compiler that this is meant. */
#define EXCHANGE_ENTRY(n)                                                                                              \
    {.table = {.header = {.version = {DLPARK_ABI_MAJOR, DLPARK_ABI_MINOR}},                                            \
               .managed_tensor_allocator = dlpark__py_exchange_allocate,                                               \
               .managed_tensor_from_py_object_no_sync = exchange_from_py_##n,                                          \
               .managed_tensor_to_py_object_no_sync = exchange_to_py_##n,                                              \
               .dltensor_from_py_object_no_sync = exchange_borrow_##n,                                                 \
               .current_work_stream = exchange_stream_##n},                                                            \
     .methods = {{"__dlpack__", (PyCFunction)(void (*)(void))exchange_dlpack_##n, METH_FASTCALL | METH_KEYWORDS,       \
                  exchange_dlpack_doc},                                                                                \
                 {"__dlpack_device__", exchange_device_##n, METH_NOARGS, exchange_device_doc}}},

static exchange_entry exchange_entries[DLPARK_PY_EXCHANGE_MAX] = {EXCHANGE_NUMBERS(EXCHANGE_ENTRY)};

#define EXCHANGE_ONE(n) +1
_Static_assert(0 EXCHANGE_NUMBERS(EXCHANGE_ONE) == DLPARK_PY_EXCHANGE_MAX, "each table has its functions");

const DLPackExchangeAPI *dlpark__py_exchange_table(int number)
{
    return &exchange_entries[number].table;
}

PyMethodDef *dlpark__py_exchange_methods(int number)
{
    return exchange_entries[number].methods;
}

const dlpark_py_exchange *dlpark__py_exchange_functions(const void *table, int *number)
{
    for (int i = 0; i < DLPARK_PY_EXCHANGE_MAX; i++) {
        if (table == &exchange_entries[i].table) {
            *number = i;
            return exchange_of(i);
        }
    }
    return NULL;
}

/* Once a table leads to some functions, it does so for as long as the process lives, in every interpreter. */
int dlpark__py_exchange_claim(dlpark__py_state *state, const dlpark_py_exchange *functions)
{
    for (int i = 0; i < DLPARK_PY_EXCHANGE_MAX; i++) {
        const dlpark_py_exchange *expected = NULL;
        if (state->installed[i].type != NULL)
            continue;
        if (!atomic_compare_exchange_strong(&exchange_functions[i], &expected, functions) && expected != functions)
            continue;
        if (functions->tensor == NULL && functions->borrow == NULL)
            exchange_entries[i].table.dltensor_from_py_object_no_sync = NULL;
        return i;
    }
    return -1;
}
