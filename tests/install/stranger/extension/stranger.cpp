// An extension whose one function describes a tensor; with the kit alone, since no package dlpark is there to import.
#include <dlpark/python.h>

#if !defined(STRANGER)
#define STRANGER stranger
#endif
#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)
#define JOIN_OF(a, b) a##b
#define JOIN(a, b)    JOIN_OF(a, b)

static PyObject *describe(PyObject *, PyObject *object)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    if (dlpark_py_import(&tensor, object, nullptr, nullptr) < 0)
        return nullptr;
    dlpark_tensor_view(&tensor, &view);
    PyObject *text = PyUnicode_FromFormat("dlpark %s: %d x %d", dlpark_version(), static_cast<int>(view.shape[0]),
                                          static_cast<int>(view.shape[1]));
    dlpark_tensor_release(&tensor);
    return text;
}

static PyMethodDef methods[] = {{"describe", describe, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, TEXT(STRANGER), nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC JOIN(PyInit_, STRANGER)()
{
    return PyModule_Create(&definition);
}
