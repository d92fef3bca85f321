/*
 * How a Tensor is given out: by DLPack, by the array interfaces, by NumPy's method.
 */
#include "module.h"
#include "producer/export_parts.h"

/* ---- DLPack ---- */

static dlpark_tensor *protocol_tensor(PyObject *self)
{
    return &((tensor_object *)self)->tensor;
}

const dlpark_py_exchange dlpark__py_tensor_exchange = {.tensor = protocol_tensor};

/* ---- Array interfaces ---- */

PyObject *dlpark__py_tensor_get_array_interface(PyObject *self, void *closure)
{
    (void)closure;
    return dlpark__py_array_interface_dict(&((tensor_object *)self)->tensor, self);
}

PyObject *dlpark__py_tensor_get_cuda_array_interface(PyObject *self, void *closure)
{
    (void)closure;
    return dlpark__py_cuda_array_interface_dict(&((tensor_object *)self)->tensor, &((tensor_object *)self)->origin,
                                                self);
}

/* ---- What help() says ---- */

const char dlpark__py_tensor_array_doc[] = "__array__($self, dtype=None, copy=None)\n--\n\n"
                                           "A NumPy array of the same memory, for numpy.asarray().\n\n"
                                           "Parameters\n"
                                           "----------\n"
                                           "dtype : dtype, optional\n"
                                           "    Convert to it, which copies unless it is the tensor's own.\n"
                                           "copy : bool, optional\n"
                                           "    True always copies, False never does.\n\n"
                                           "Returns\n"
                                           "-------\n"
                                           "numpy.ndarray\n"
                                           "    Not writeable where the tensor is read-only.\n\n"
                                           "Raises\n"
                                           "------\n"
                                           "TypeError\n"
                                           "    NumPy cannot read the memory, or has no such dtype.\n"
                                           "ValueError\n"
                                           "    `dtype` needs a copy, and copy=False.";
