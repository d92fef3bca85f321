/* A type of an extension that every library which speaks DLPack takes, by its methods and by its exchange table. */
#include <dlpark/python.h>

typedef struct image {
    PyObject_HEAD
    dlpark_tensor pixels;
} image;

static dlpark_tensor *image_tensor(PyObject *self)
{
    return &((image *)self)->pixels;
}

/* What comes back from a library by the table is an image as well. */
static PyObject *image_wrap(PyTypeObject *type, dlpark_tensor *tensor)
{
    image *self = (image *)PyType_GenericAlloc(type, 0);
    if (self) self->pixels.managed = dlpark_tensor_export(tensor);
    return (PyObject *)self;
}

static const dlpark_py_exchange image_exchange = {.tensor = image_tensor, .wrap = image_wrap};

/* In the module's exec slot, after the type has been made. */
int image_install(PyTypeObject *image_type)
{
    return dlpark_py_install_exchange(image_type, &image_exchange);
}
