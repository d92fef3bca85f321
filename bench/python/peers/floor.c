/*
 * The floor: the least code that a hand-written extension can get by with. What a kit costs is measured against it.
 *
 *   bare(a, b, c)     a METH_FASTCALL function that looks at nothing
 *   table(a, ...)     up to 16 tensors of one type by its exchange table, which is looked up once; dtype, rank, order and
 *                     device checked
 *   kept(a)           an owning tensor by the same table, in an object
 *   array()           four ones in a new array, by NumPy's C API
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlpark/dlpack.h>
#include <stdbool.h>

static PyTypeObject *floor_type;
static const DLPackExchangeAPI *floor_api;

static PyObject *floor_bare(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    (void)args;
    (void)nargs;
    Py_RETURN_NONE;
}

static const DLPackExchangeAPI *floor_find(PyObject *object)
{
    if (Py_TYPE(object) == floor_type)
        return floor_api;
    PyObject *capsule = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__");
    if (capsule == NULL)
        return NULL;
    floor_api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    floor_type = Py_TYPE(object); /* of the tests' own types: they stay */
    Py_DECREF(capsule);
    return floor_api;
}

static bool floor_is_right(const DLTensor *tensor)
{
    return tensor->dtype.code == kDLFloat && tensor->dtype.bits == 32 && tensor->dtype.lanes == 1 &&
           tensor->ndim == 2 && tensor->device.device_type == kDLCPU && tensor->strides != NULL &&
           tensor->strides[1] == 1 && tensor->strides[0] == tensor->shape[1];
}

static PyObject *floor_table(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    DLTensor tensors[16];

    (void)module;
    if (nargs > 16)
        return PyErr_Format(PyExc_TypeError, "table() takes at most 16 arguments (%zd given)", nargs);
    for (Py_ssize_t i = 0; i < nargs; i++) {
        const DLPackExchangeAPI *api = floor_find(args[i]);
        if (api == NULL || api->dltensor_from_py_object_no_sync(args[i], &tensors[i]) != 0)
            return NULL;
        if (!floor_is_right(&tensors[i]))
            return PyErr_Format(PyExc_TypeError, "argument %zd is not a float32 matrix", i);
    }
    Py_RETURN_NONE;
}

/* ---- Keeping one ---- */

typedef struct floor_object {
    PyObject_HEAD DLManagedTensorVersioned *managed;
} floor_object;

static void floor_dealloc(PyObject *self)
{
    DLManagedTensorVersioned *managed = ((floor_object *)self)->managed;

    if (managed != NULL && managed->deleter != NULL)
        managed->deleter(managed);
    PyObject_Free(self);
}

static PyTypeObject floor_object_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "bench_floor.Kept",
    .tp_basicsize = sizeof(floor_object),
    .tp_dealloc = floor_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static PyObject *floor_kept(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    (void)nargs;
    const DLPackExchangeAPI *api = floor_find(args[0]);
    floor_object *self = api != NULL ? PyObject_New(floor_object, &floor_object_type) : NULL;
    if (self == NULL)
        return NULL;
    self->managed = NULL;
    if (api->managed_tensor_from_py_object_no_sync(args[0], &self->managed) != 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- A result ---- */

/* The head of an array object. */
typedef struct floor_ndarray {
    PyObject_HEAD char *data;
} floor_ndarray;

typedef PyObject *(*floor_dtype_from_number)(int number);
typedef PyObject *(*floor_new_from_dtype)(void *type, PyObject *dtype, int ndim, const Py_ssize_t *shape,
                                          const Py_ssize_t *strides, void *data, int flags, PyObject *like);

/* Places in NumPy's table of functions, and the number of float32. */
enum { FLOOR_ARRAY_TYPE = 2, FLOOR_DTYPE_FROM_NUMBER = 45, FLOOR_NEW_FROM_DTYPE = 94, FLOOR_FLOAT32 = 11 };

static void **floor_find_numpy(void)
{
    PyObject *module = PyImport_ImportModule("numpy._core._multiarray_umath");
    PyObject *capsule = module != NULL ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
    void **table = capsule != NULL ? PyCapsule_GetPointer(capsule, NULL) : NULL;

    Py_XDECREF(capsule);
    Py_XDECREF(module); /* it stays imported */
    return table;
}

static PyObject *floor_array(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    static void **table;
    const Py_ssize_t shape[1] = {4};

    (void)module;
    (void)args;
    if (nargs != 0)
        return PyErr_Format(PyExc_TypeError, "array() takes no arguments (%zd given)", nargs);
    if (table == NULL && (table = floor_find_numpy()) == NULL)
        return NULL;
    floor_dtype_from_number dtype = (floor_dtype_from_number)(uintptr_t)table[FLOOR_DTYPE_FROM_NUMBER];
    floor_new_from_dtype new_array = (floor_new_from_dtype)(uintptr_t)table[FLOOR_NEW_FROM_DTYPE];
    PyObject *array = new_array(table[FLOOR_ARRAY_TYPE], dtype(FLOOR_FLOAT32), 1, shape, NULL, NULL, 0, NULL);
    for (int i = 0; array != NULL && i < 4; i++)
        ((float *)(void *)((floor_ndarray *)array)->data)[i] = 1;
    return array;
}

#define FLOOR_METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef floor_functions[] = {
    {"bare", FLOOR_METHOD(floor_bare), METH_FASTCALL, NULL},
    {"table", FLOOR_METHOD(floor_table), METH_FASTCALL, NULL},
    {"kept", FLOOR_METHOD(floor_kept), METH_FASTCALL, NULL},
    {"array", FLOOR_METHOD(floor_array), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef floor_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "bench_floor",
    .m_size = -1,
    .m_methods = floor_functions,
};

PyMODINIT_FUNC PyInit_bench_floor(void);
PyMODINIT_FUNC PyInit_bench_floor(void)
{
    return PyType_Ready(&floor_object_type) == 0 ? PyModule_Create(&floor_module) : NULL;
}
