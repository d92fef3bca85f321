/*
 * The extension module dlpark._core.
 */
#include "module.h"

static int module_intern(PyObject **out, const char *text)
{
    *out = PyUnicode_InternFromString(text);
    return *out != NULL ? 0 : -1;
}

static int module_add_names(module_state *state)
{
    if (module_intern(&state->name_dlpack, "__dlpack__") < 0 ||
        module_intern(&state->name_dlpack_device, "__dlpack_device__") < 0 ||
        module_intern(&state->name_stream, "stream") < 0 ||
        module_intern(&state->name_max_version, "max_version") < 0 ||
        module_intern(&state->name_dl_device, "dl_device") < 0 || module_intern(&state->name_copy, "copy") < 0)
        return -1;
    DLPackVersion abi = dlpark_abi_version();
    state->abi_version = Py_BuildValue("(II)", (unsigned)abi.major, (unsigned)abi.minor);
    state->only_max_version = PyTuple_Pack(1, state->name_max_version);
    return state->abi_version != NULL && state->only_max_version != NULL ? 0 : -1;
}

PyDoc_STRVAR(module_device_copy_doc,
             "copy=False was asked for, and another device, which needs a copy.\n\n"
             "The array API standard asks for BufferError in one place and ValueError in another; this is both.");

static int module_add_exceptions(PyObject *module, module_state *state)
{
    PyObject *bases = PyTuple_Pack(2, PyExc_BufferError, PyExc_ValueError);

    if (bases == NULL)
        return -1;
    state->device_copy_error = PyErr_NewExceptionWithDoc("dlpark.DeviceCopyError", module_device_copy_doc, bases, NULL);
    Py_DECREF(bases);
    if (state->device_copy_error == NULL)
        return -1;
    return PyModule_AddObjectRef(module, "DeviceCopyError", state->device_copy_error);
}

static int module_exec(PyObject *module)
{
    module_state *state = PyModule_GetState(module);

    if (module_add_names(state) < 0 || module_add_exceptions(module, state) < 0)
        return -1;
    state->tensor_type = dlpark__py_tensor_type_new(module);
    if (state->tensor_type == NULL || PyModule_AddType(module, state->tensor_type) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", dlpark_version());
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
    Py_CLEAR(state->name_dlpack);
    Py_CLEAR(state->name_dlpack_device);
    Py_CLEAR(state->name_stream);
    Py_CLEAR(state->name_max_version);
    Py_CLEAR(state->name_dl_device);
    Py_CLEAR(state->name_copy);
    Py_CLEAR(state->abi_version);
    Py_CLEAR(state->only_max_version);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

PyDoc_STRVAR(module_from_dlpack_doc,
             "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
             "Take a tensor from any library that speaks DLPack.\n\n"
             "Parameters\n"
             "----------\n"
             "x : object with __dlpack__ and __dlpack_device__, or a DLPack capsule\n"
             "    A capsule is consumed: it can be taken once. One that is refused for what it holds is not.\n"
             "    An old producer without __dlpack_device__ is taken too; its tensor says where it is.\n"
             "device : str or tuple of int, optional\n"
             "    Where the tensor shall be: a name such as 'cpu' or a pair of DLPack's numbers. As it is by default.\n"
             "    Page-locked memory (cuda_host) counts as 'cpu'; managed memory (cuda_managed) does not, since the\n"
             "    device may still be at work on it.\n"
             "copy : bool, optional\n"
             "    True always copies, False never does; by default memory is shared unless it cannot be.\n\n"
             "Returns\n"
             "-------\n"
             "Tensor\n"
             "    Shares the memory of `x`, and keeps it alive, unless it was copied.\n\n"
             "Raises\n"
             "------\n"
             "AttributeError\n"
             "    `x` does not offer the protocol.\n"
             "TypeError\n"
             "    `x` answers with something else than a device or a capsule; or an argument is of another kind.\n"
             "ValueError\n"
             "    The capsule has been consumed already, or is no DLPack capsule; or `device` is no device.\n"
             "BufferError\n"
             "    The data cannot be exchanged as asked. DeviceCopyError, which is also a ValueError, when copy=False\n"
             "    forbids what another device needs.\n"
             "MemoryError\n"
             "    There is no memory for the copy.\n\n"
             "Examples\n"
             "--------\n"
             ">>> dlpark.from_dlpack(numpy.zeros((2, 3)))\n"
             "Tensor(float64[2, 3], cpu, strides=[3, 1])");

static PyMethodDef module_functions[] = {
    {"from_dlpack", (PyCFunction)(void (*)(void))dlpark__py_from_dlpack, METH_FASTCALL | METH_KEYWORDS,
     module_from_dlpack_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)module_exec},
#if defined(Py_mod_multiple_interpreters)
    /* The release of an exported tensor enters Python by PyGILState_Ensure(), which knows the main interpreter only. */
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
