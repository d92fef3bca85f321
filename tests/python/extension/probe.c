/*
 * The extension module kit_probe: the kit's functions, for the Python tests.
 */
#include "probe.h"

static int probe_exec(PyObject *module)
{
    PyMethodDef *const parts[] = {probe_call_functions,   probe_exchange_functions,  probe_export_functions,
                                  probe_import_functions, probe_interface_functions, probe_memory_functions,
                                  probe_stream_functions};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (PyModule_AddFunctions(module, parts[i]) < 0)
            return -1;
    return 0;
}

static PyModuleDef_Slot probe_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)probe_exec},
#if defined(Py_mod_multiple_interpreters)
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef probe_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kit_probe",
    .m_doc = "The kit's functions, for tests.",
    .m_slots = probe_slots,
};

PyMODINIT_FUNC PyInit_kit_probe(void);
PyMODINIT_FUNC PyInit_kit_probe(void)
{
    return PyModuleDef_Init(&probe_definition);
}
