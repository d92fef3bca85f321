/*
 * A tensor from an object with NumPy's __array_struct__, a capsule with a C struct.
 */
#include "../numpy_arrays.h"
#include "interface_parts.h"

/* The struct, as NumPy's documentation of the interface has it. */
typedef struct struct_array {
    int two; /* 2; of another value nothing else is known */
    int nd;
    char typekind;
    int itemsize;
    int flags;
    Py_intptr_t *shape;
    Py_intptr_t *strides; /* in bytes */
    void *data;
    PyObject *descr;
} struct_array;

#define STRUCT_NOTSWAPPED 0x200
#define STRUCT_WRITEABLE  0x400

static int struct_read(dlpark__py_strided *strided, PyObject *capsule)
{
    if (!PyCapsule_CheckExact(capsule)) {
        dlpark_name type = dlpark__py_type_name(capsule);
        return dlpark__py_interface_raise(strided, PyExc_TypeError, "it must be a capsule, not %s", type.text);
    }
    const char *name = PyCapsule_GetName(capsule);
    if (name != NULL)
        return dlpark__py_interface_raise(strided, PyExc_TypeError, "the capsule must have no name, and is called '%s'",
                                          name);
    const struct_array *array = PyCapsule_GetPointer(capsule, NULL);
    if (array == NULL)
        return -1;
    if (array->two != 2)
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "the struct begins with %d instead of 2",
                                          array->two);
    if (array->nd < 0 || array->nd > DLPARK_MAX_NDIM)
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "it has %d dimensions, and a tensor 0 to %d",
                                          array->nd, DLPARK_MAX_NDIM);
    if (array->nd > 0 && array->shape == NULL)
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "it has %d dimensions, and no shape", array->nd);
    strided->data = array->data;
    strided->is_read_only = (array->flags & STRUCT_WRITEABLE) == 0;
    strided->is_swapped = (array->flags & STRUCT_NOTSWAPPED) == 0 && array->itemsize > 1;
    strided->has_strides = array->strides != NULL;
    strided->ndim = array->nd;
    for (int i = 0; i < array->nd; i++) {
        strided->shape[i] = array->shape[i];
        if (array->strides != NULL)
            strided->strides[i] = array->strides[i];
    }
    /* Last, as the object's dtype may have to be asked, which may be foreign code. */
    return dlpark__py_interface_read_kind(strided, array->typekind, array->itemsize);
}

int dlpark__py_array_struct_import(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                                   dlpark_tensor *tensor, bool *is_copied)
{
    dlpark__py_strided strided = {.object = object, .attribute = ".__array_struct__", .device = DLPARK_DEVICE_CPU};
    PyObject *capsule;
    PyObject *owner = NULL;
    int found = dlpark__py_interface_attribute(object, "__array_struct__", &capsule);

    if (found <= 0)
        return found;
    /* The capsule is kept too: it may be what owns the memory. */
    if (struct_read(&strided, capsule) == 0)
        owner = PyTuple_Pack(2, object, capsule);
    strided.is_read_only |= dlpark__py_numpy_is_scalar(state, object);
    dlpark__py_drop(capsule);
    return owner != NULL ? dlpark__py_strided_take(&strided, owner, options, tensor, is_copied) : -1;
}
