/*
 * The object by which a tensor is handed to a consumer that wants one with __dlpack__.
 */
#include "frameworks.h"

typedef struct handoff_object {
    PyObject_HEAD dlpark_tensor tensor; /* shared with whatever is made of it */
} handoff_object;

static void handoff_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    dlpark__py_tensor_release(&((handoff_object *)self)->tensor);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

enum { HANDOFF_KEYWORDS = 4 };

/* A consumer's stream asks for nothing more than what whoever exports the tensor has seen to. */
static PyObject *handoff_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    Py_ssize_t given = keyword_names != NULL ? PyTuple_Size(keyword_names) : 0;
    PyObject *values[HANDOFF_KEYWORDS];

    if (nargs == 0 && given <= HANDOFF_KEYWORDS) {
        for (Py_ssize_t i = 0; i < given; i++) {
            PyObject *name = PyTuple_GetItem(keyword_names, i); /* borrowed */
            values[i] = PyUnicode_CompareWithASCIIString(name, "stream") == 0 ? Py_None : args[i];
        }
        args = values;
    }
    return dlpark_py_answer_dlpack(&((handoff_object *)self)->tensor, args, nargs, keyword_names);
}

static PyObject *handoff_dlpack_device(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return dlpark_py_answer_dlpack_device(&((handoff_object *)self)->tensor);
}

static PyMethodDef handoff_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))handoff_dlpack, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"__dlpack_device__", handoff_dlpack_device, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject *handoff_type_new(void)
{
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)(uintptr_t)handoff_dealloc},
        {Py_tp_methods, handoff_methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "dlpark.Handoff",
        .basicsize = (int)sizeof(handoff_object),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };

    return (PyTypeObject *)PyType_FromSpec(&spec);
}

PyObject *dlpark__py_handoff_new(dlpark__py_state *state, dlpark_tensor *tensor)
{
    PyTypeObject *type = __atomic_load_n(&state->handoff_type, __ATOMIC_ACQUIRE);

    if (type == NULL) {
        PyTypeObject *made = handoff_type_new();
        if (made == NULL)
            return NULL;
        if (__atomic_compare_exchange_n(&state->handoff_type, &type, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            type = made;
        else
            Py_DECREF((PyObject *)made); /* another thread was first */
    }
    handoff_object *self = (handoff_object *)PyType_GenericAlloc(type, 0);
    if (self == NULL)
        return NULL;
    self->tensor.managed = tensor->managed;
    tensor->managed = NULL;
    return (PyObject *)self;
}
