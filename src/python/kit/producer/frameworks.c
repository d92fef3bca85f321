/*
 * The ways by which a tensor becomes an object of each framework.
 */
#include "frameworks.h"
#include "../numpy_arrays.h"

#include <string.h>

/* ---- The frameworks' functions ---- */

/* Where a framework has its function that takes tensors: a module, attributes of it, and what else it may be called. */
typedef struct framework_place {
    const char *module;
    const char *path;
    const char *older;
} framework_place;

static const framework_place framework_places[DLPARK__PY_NFRAMEWORKS] = {
    [DLPARK_SPEC_AS_NUMPY] = {"numpy", "from_dlpack", NULL},
    [DLPARK_SPEC_AS_TORCH] = {"torch", "from_dlpack", NULL},
    [DLPARK_SPEC_AS_JAX] = {"jax.dlpack", "from_dlpack", NULL},
    [DLPARK_SPEC_AS_CUPY] = {"cupy", "from_dlpack", NULL},
    [DLPARK_SPEC_AS_MLX] = {"mlx.core", "from_dlpack", "array"},
    [DLPARK_SPEC_AS_TENSORFLOW] = {"tensorflow", "experimental.dlpack.from_dlpack", NULL},
};

/* The attribute at a path with dots. */
static PyObject *framework_walk(PyObject *object, const char *path)
{
    PyObject *found = Py_NewRef(object);

    while (found != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");
        PyObject *name = PyUnicode_FromStringAndSize(path, (Py_ssize_t)length);
        PyObject *next = name != NULL ? PyObject_GetAttr(found, name) : NULL;
        Py_XDECREF(name);
        dlpark__py_drop(found);
        found = next;
        path += length + (path[length] == '.');
    }
    return found;
}

static PyObject *framework_find(const framework_place *place)
{
    PyObject *module = PyImport_ImportModule(place->module);
    PyObject *function = module != NULL ? framework_walk(module, place->path) : NULL;

    if (function == NULL && module != NULL && place->older != NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        function = framework_walk(module, place->older);
    }
    dlpark__py_drop(module);
    return function;
}

PyObject *dlpark__py_framework_function(dlpark__py_state *state, dlpark_spec_framework framework)
{
    PyObject **place = &state->framework_functions[framework];
    PyObject *function = __atomic_load_n(place, __ATOMIC_ACQUIRE);

    if (function != NULL)
        return function;
    PyObject *found = framework_find(&framework_places[framework]);
    if (found == NULL)
        return NULL;
    if (__atomic_compare_exchange_n(place, &function, found, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return found;
    dlpark__py_drop(found); /* another thread was first */
    return function;
}

/* ---- What a framework is told ---- */

int dlpark__py_framework_relabel(dlpark_tensor *tensor, bool is_immutable)
{
    const DLManagedTensorVersioned *managed = tensor->managed;
    bool is_cpu = dlpark_device_equal(managed->dl_tensor.device, DLPARK_DEVICE_CPU);
    bool relabel = !is_cpu && dlpark__py_is_host(managed->dl_tensor.device);
    bool forget = is_immutable && (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    dlpark_tensor part = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    if (!relabel && !forget)
        return 0;
    if (dlpark_tensor_share(&part, tensor, NULL, &err) != DLPARK_OK) {
        dlpark_py_raise(&err);
        return -1;
    }
    if (relabel)
        part.managed->dl_tensor.device = DLPARK_DEVICE_CPU;
    if (forget)
        part.managed->flags &= ~(uint64_t)DLPACK_FLAG_BITMASK_READ_ONLY;
    dlpark__py_tensor_release(tensor);
    *tensor = part;
    return 0;
}

int dlpark__py_framework_refuse_many(const DLTensor *tensor)
{
    int64_t count = 1;

    for (int32_t i = 0; i < tensor->ndim; i++) {
        if (__builtin_mul_overflow(count, tensor->shape[i], &count)) {
            PyErr_Format(PyExc_BufferError, "the extents up to shape[%d] are more elements than it can count", (int)i);
            return -1;
        }
    }
    return 0;
}

/* ---- By an object with __dlpack__ ---- */

PyObject *dlpark__py_framework_call(dlpark__py_state *state, dlpark_tensor *tensor, dlpark_spec_framework framework)
{
    PyObject *function = dlpark__py_framework_function(state, framework);
    PyObject *handoff = function != NULL ? dlpark__py_handoff_new(state, tensor) : NULL;
    PyObject *result = handoff != NULL ? PyObject_Vectorcall(function, &handoff, 1, NULL) : NULL;

    dlpark__py_drop(handoff);
    dlpark__py_tensor_release(tensor); /* ours still, only if there is no handoff */
    return result;
}

/* Some frameworks narrow the elements that they do not have, without a word. Takes the result. */
static PyObject *framework_require_itemsize(PyObject *result, uint32_t nbits, const char *hint)
{
    PyObject *itemsize = PyObject_GetAttrString(result, "itemsize");
    long nbytes = itemsize != NULL ? PyLong_AsLong(itemsize) : -1;

    dlpark__py_drop(itemsize);
    if (nbytes > 0 && (uint32_t)nbytes * 8 == nbits)
        return result;
    dlpark__py_drop(result);
    if (PyErr_Occurred() == NULL)
        PyErr_Format(PyExc_BufferError, "it made elements of %ld bytes of those of %u%s", nbytes, (unsigned)(nbits / 8),
                     hint);
    return NULL;
}

PyObject *dlpark__py_to_consumer(dlpark__py_state *state, dlpark_tensor *tensor, dlpark_spec_framework framework)
{
    DLDataType dtype = tensor->managed->dl_tensor.dtype;
    uint32_t nbits = dlpark_dtype_nbits(dtype);
    bool is_jax = framework == DLPARK_SPEC_AS_JAX;
    bool may_narrow = framework != DLPARK_SPEC_AS_CUPY && nbits > (dtype.code == kDLComplex ? 64 : 32);

    if (dlpark__py_framework_relabel(tensor, is_jax) < 0) {
        dlpark__py_tensor_release(tensor);
        return NULL;
    }
    PyObject *result = dlpark__py_framework_call(state, tensor, framework);
    if (result == NULL || !may_narrow)
        return result;
    return framework_require_itemsize(result, nbits, is_jax ? "; jax_enable_x64 is off" : "");
}

/* ---- dlpark, memoryview ---- */

PyObject *dlpark__py_to_dlpark(dlpark__py_state *state, dlpark_tensor *tensor)
{
    const dlpark__py_shared *shared = dlpark__py_shared_get(state);
    dlpark_py_origin origin = {.is_copied = (tensor->managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0};
    PyObject *object = shared != NULL ? shared->tensor_new(shared, tensor->managed, &origin) : NULL;

    if (object != NULL)
        tensor->managed = NULL;
    dlpark__py_tensor_release(tensor);
    return object;
}

PyObject *dlpark__py_to_memoryview(dlpark__py_state *state, dlpark_tensor *tensor)
{
    PyObject *object = dlpark__py_to_dlpark(state, tensor);
    PyObject *memory = object != NULL ? PyMemoryView_FromObject(object) : NULL;

    dlpark__py_drop(object);
    return memory;
}

/* ---- NumPy ---- */

/* What an array keeps alive. It has no name, which would be compared each time. */
static void framework_owner_end(PyObject *capsule)
{
    dlpark_tensor tensor = {PyCapsule_GetPointer(capsule, NULL)};

    dlpark__py_tensor_release(&tensor);
}

static PyObject *framework_wrap_numpy(const dlpark__py_numpy *numpy, dlpark_tensor *tensor)
{
    const DLManagedTensorVersioned *managed = tensor->managed;
    DLDevice device = managed->dl_tensor.device;

    if (!dlpark__py_is_host(device))
        return PyErr_Format(PyExc_BufferError, "its arrays lie in host memory%s", dlpark__py_host_hint(device));
    PyObject *owner = PyCapsule_New(tensor->managed, NULL, framework_owner_end);
    if (owner == NULL)
        return NULL;
    tensor->managed = NULL;
    PyObject *array = dlpark__py_numpy_wrap(numpy, &managed->dl_tensor, managed->flags, owner);
    if (array == NULL)
        dlpark__py_drop(owner);
    return array;
}

PyObject *dlpark__py_to_numpy(dlpark__py_state *state, dlpark_tensor *tensor)
{
    const dlpark__py_numpy *numpy = dlpark__py_numpy_get(state);

    if (DLPARK_UNLIKELY(numpy == NULL)) {
        PyObject *module = PyImport_ImportModule("numpy");
        numpy = module != NULL ? dlpark__py_numpy_get(state) : NULL;
        dlpark__py_drop(module);
        if (module != NULL && numpy == NULL && dlpark__py_framework_relabel(tensor, false) == 0)
            return dlpark__py_framework_call(state, tensor, DLPARK_SPEC_AS_NUMPY); /* a NumPy of another ABI */
    }
    PyObject *array = numpy != NULL ? framework_wrap_numpy(numpy, tensor) : NULL;
    dlpark__py_tensor_release(tensor); /* ours still, only if nothing was made */
    return array;
}
