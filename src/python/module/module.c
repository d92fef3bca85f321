/*
 * The extension module dlpark._core.
 */
#include <stddef.h>

#include "devices.h"
#include "dtype_object.h"
#include "module.h"

PyDoc_STRVAR(module_device_copy_doc,
             "A copy was forbidden by copy=False, and another device needs one.\n\n"
             "The array API standard asks for BufferError in one place and ValueError in another; this is both.");

static int module_make_exception(module_state *state)
{
    PyObject *bases = PyTuple_Pack(2, PyExc_BufferError, PyExc_ValueError);

    if (bases == NULL)
        return -1;
    state->device_copy_error = PyErr_NewExceptionWithDoc("dlpark.DeviceCopyError", module_device_copy_doc, bases, NULL);
    Py_DECREF(bases);
    return state->device_copy_error != NULL ? 0 : -1;
}

/* The Tensors that other modules make. */
static PyObject *module_tensor_new(const dlpark__py_shared *shared, DLManagedTensorVersioned *managed,
                                   const dlpark_py_origin *origin)
{
    dlpark_tensor tensor = {managed};

    return dlpark__py_tensor_object_new(shared->tensor_type, &tensor, origin);
}

/* An owner of the memory of a Tensor. The first one changes what the Tensor holds. */
static dlpark_status module_tensor_share(PyObject *object, dlpark_tensor *part, dlpark_error *err)
{
    dlpark_status status;

#if defined(Py_GIL_DISABLED)
    Py_BEGIN_CRITICAL_SECTION(object);
#endif
    status = dlpark_tensor_share(part, &((tensor_object *)object)->tensor, NULL, err);
#if defined(Py_GIL_DISABLED)
    Py_END_CRITICAL_SECTION();
#endif
    return status;
}

/* Makes what is one in the process. */
static int module_make(PyObject *module, module_state *state)
{
    if (module_make_exception(state) < 0)
        return -1;
    state->tensor_type = dlpark__py_tensor_type_new(module);
    if (state->tensor_type == NULL || dlpark_py_install_exchange(state->tensor_type, &dlpark__py_tensor_exchange) < 0)
        return -1;
    state->shared = (dlpark__py_shared){.abi = DLPARK__PY_SHARED_ABI,
                                        .nbytes = sizeof state->shared,
                                        .tensor_type = state->tensor_type,
                                        .managed_offset = offsetof(tensor_object, tensor),
                                        .device_copy_error = state->device_copy_error,
                                        .tensor_new = module_tensor_new,
                                        .origin_offset = offsetof(tensor_object, origin),
                                        .tensor_share = module_tensor_share,
                                        .tensor_alloc = dlpark__tensor_alloc_heap,
                                        .device_copy = dlpark__py_device_copy,
                                        .device_order = dlpark__py_device_order,
                                        .device_stream = dlpark__py_device_stream};
    return 0;
}

/* Gives out what is one in the process. The capsule points into a module, which all who have used it keep. */
static int module_add(PyObject *module, const module_state *state, const dlpark__py_shared *shared)
{
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)shared, DLPARK__PY_SHARED_CAPSULE, NULL);
    int status = capsule != NULL ? PyModule_AddObjectRef(module, "_shared", capsule) : -1;

    Py_XDECREF(capsule);
    if (status < 0 || PyModule_AddType(module, state->tensor_type) < 0 ||
        PyModule_AddObjectRef(module, "DeviceCopyError", state->device_copy_error) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", dlpark_version());
}

/* The release of an exported tensor enters Python by PyGILState_Ensure(), which knows the main interpreter only: it would
 * wait there for ever. Python itself looks at the slot from 3.12 on, and not for every subinterpreter. */
static int module_check_interpreter(const dlpark__py_state *kit)
{
    if (kit->interpreter == 0)
        return 0;
    PyErr_SetString(PyExc_ImportError, "dlpark cannot be imported in a subinterpreter: memory is given back on any "
                                       "thread, by way of the main interpreter");
    return -1;
}

/* When the module is executed again in an interpreter, as after somebody took it out of sys.modules, it gives out what
 * the first one made: there is one Tensor. The first one lives on for that. */
static int module_exec(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    dlpark__py_state *kit = dlpark__py_state_get();

    if (kit == NULL || module_check_interpreter(kit) < 0)
        return -1;
    if (kit->shared != NULL) {
        state->tensor_type = (PyTypeObject *)Py_NewRef((PyObject *)kit->shared->tensor_type);
        state->device_copy_error = Py_NewRef(kit->shared->device_copy_error);
        return module_add(module, state, kit->shared);
    }
    if (module_make(module, state) < 0 || module_add(module, state, &state->shared) < 0)
        return -1;
    kit->shared_module = Py_NewRef(module);
    kit->shared = &state->shared;
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *state = PyModule_GetState(module);

    Py_VISIT(state->tensor_type);
    Py_VISIT(state->device_copy_error);
    return 0;
}

static int module_clear(PyObject *module)
{
    module_state *state = PyModule_GetState(module);

    Py_CLEAR(state->tensor_type);
    Py_CLEAR(state->device_copy_error);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

PyDoc_STRVAR(module_from_dlpack_doc,
             "from_dlpack(x, /, *, device=None, copy=None, stream=None, via=None, byteswap=False)\n--\n\n"
             "Take a tensor from any library, by the best way that it offers.\n\n"
             "Parameters\n"
             "----------\n"
             "x : object with __dlpack__, an array interface or a buffer, or a DLPack capsule\n"
             "    A capsule is consumed: it can be taken once. One that is refused for what it holds is not.\n"
             "    An old producer without __dlpack_device__ is taken too; its tensor says where it is. A Tensor\n"
             "    is returned as it is, since it is immutable, unless a keyword asks for more.\n"
             "device : str or tuple of int, optional\n"
             "    Where the tensor shall be: a name such as 'cpu' or a pair of DLPack's numbers. As it is by default.\n"
             "    Page-locked memory (cuda_host) counts as 'cpu'; managed memory (cuda_managed) does not, since the\n"
             "    device may still be at work on it.\n"
             "copy : bool, optional\n"
             "    True always copies, False never does; by default memory is shared unless it cannot be.\n"
             "stream : int or object, optional\n"
             "    Of a device with streams: the one on which the data shall be ready, as __dlpack__ takes it.\n"
             "    The default stream by default.\n"
             "via : str or sequence of str, optional\n"
             "    Only these ways: 'capsule', 'own', 'exchange', 'numpy', 'dlpack', 'cuda_array_interface',\n"
             "    'array_struct', 'array_interface', 'buffer'. All by default, tried in this order.\n"
             "byteswap : bool\n"
             "    Copy elements of the other byte order in this one, instead of refusing them.\n\n"
             "Returns\n"
             "-------\n"
             "Tensor\n"
             "    Shares the memory of `x`, and keeps it alive, unless it was copied.\n\n"
             "Raises\n"
             "------\n"
             "AttributeError\n"
             "    `x` does not offer its data.\n"
             "TypeError\n"
             "    `x` answers with something else than a device or a capsule, or does not offer what `via` names;\n"
             "    or an argument is of another kind.\n"
             "ValueError\n"
             "    The capsule has been consumed already, or is no DLPack capsule; or `device` is no device, `stream`\n"
             "    means nothing on it, or `via` is no way.\n"
             "BufferError\n"
             "    The data cannot be exchanged as asked. DeviceCopyError, which is also a ValueError, when copy=False\n"
             "    forbids what another device needs.\n"
             "MemoryError\n"
             "    There is no memory for the copy.\n\n"
             "Examples\n"
             "--------\n"
             ">>> dlpark.from_dlpack(np.zeros((2, 3)))\n"
             "Tensor(float64[2, 3], cpu, strides=[3, 1])\n"
             "[[0. 0. 0.]\n"
             " [0. 0. 0.]]");

static PyMethodDef module_functions[] = {
    {"from_dlpack", (PyCFunction)(void (*)(void))dlpark__py_from_dlpack, METH_FASTCALL | METH_KEYWORDS,
     module_from_dlpack_doc},
    {"empty", DLPARK__PY_METHOD(dlpark__py_empty), METH_FASTCALL | METH_KEYWORDS, dlpark__py_empty_doc},
    {"_stream_number", DLPARK__PY_METHOD(dlpark__py_stream_number), METH_FASTCALL, dlpark__py_stream_number_doc},
    {"_stream_set", DLPARK__PY_METHOD(dlpark__py_stream_set), METH_FASTCALL, dlpark__py_stream_set_doc},
    {"_check_rules", dlpark__py_check_rules, METH_NOARGS, dlpark__py_check_rules_doc},
    {"_from_buffer", DLPARK__PY_METHOD(dlpark__py_from_buffer), METH_FASTCALL, dlpark__py_from_buffer_doc},
    {"_check_capsule", DLPARK__PY_METHOD(dlpark__py_check_capsule), METH_FASTCALL, dlpark__py_check_capsule_doc},
    {"_dtype_limits", dlpark__py_dtype_limits, METH_O, dlpark__py_dtype_limits_doc},
    {"_dtype_parts", dlpark__py_dtype_parts, METH_O, dlpark__py_dtype_parts_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)module_exec},
#if defined(Py_mod_multiple_interpreters)
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,          .m_name = "dlpark._core",      .m_doc = "The C side of dlpark.",
    .m_size = sizeof(module_state), .m_methods = module_functions, .m_slots = module_slots,
    .m_traverse = module_traverse,  .m_clear = module_clear,       .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_definition);
}
