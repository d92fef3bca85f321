/*
 * The extension module dlpark._image: pictures as DLPack capsules. Its arguments are those of python/dlpark/_images.py,
 * which checks what people write; here every argument is given, by position.
 */
#include "kit.h"

#include <dlpark/image.h>

/* Where a picture comes from: a path, or bytes whose buffer is held until codecs_source_clear(). */
typedef struct codecs_source {
    PyObject *filename; /* borrowed; NULL for bytes */
    PyObject *path;     /* the filename as bytes of the file system */
    Py_buffer buffer;
} codecs_source;

static void codecs_source_clear(codecs_source *source)
{
    Py_XDECREF(source->path);
    if (source->buffer.obj != NULL)
        PyBuffer_Release(&source->buffer);
}

/* Either `filename` or `bytes` is None. */
static int codecs_source_init(codecs_source *source, PyObject *filename, PyObject *bytes, dlpark_image_load_desc *desc)
{
    if (filename == Py_None) {
        if (PyObject_GetBuffer(bytes, &source->buffer, PyBUF_SIMPLE) < 0)
            return -1;
        desc->bytes = source->buffer.buf;
        desc->nbytes = (size_t)source->buffer.len;
        return 0;
    }
    if (!PyUnicode_FSConverter(filename, &source->path))
        return -1;
    source->filename = filename;
    desc->path = PyBytes_AsString(source->path);
    return 0;
}

/* ---- Loading ---- */

/* Decodes into a tensor that came as a capsule. */
static PyObject *codecs_load_into(PyObject *capsule, const dlpark_image_load_desc *desc, PyObject *filename)
{
    dlpark_tensor out = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;
    dlpark_status status = dlpark__py_capsule_import(capsule, &out, NULL, &err);

    if (status != DLPARK_OK)
        return dlpark_py_raise(&err);
    dlpark_tensor_view(&out, &view);
    PyThreadState *thread = PyEval_SaveThread();
    status = dlpark_image_load_into(&view, desc, &err);
    PyEval_RestoreThread(thread);
    dlpark_tensor_release(&out);
    if (status != DLPARK_OK)
        return dlpark__py_raise_file(&err, filename);
    Py_RETURN_NONE;
}

static PyObject *codecs_load_new(const dlpark_image_load_desc *desc, PyObject *filename)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_status status;

    PyThreadState *thread = PyEval_SaveThread();
    status = dlpark_image_load(&tensor, desc, NULL, &err);
    PyEval_RestoreThread(thread);
    if (status != DLPARK_OK)
        return dlpark__py_raise_file(&err, filename);
    PyObject *capsule = dlpark_py_capsule_new(&tensor);
    dlpark__py_tensor_release(&tensor);
    return capsule;
}

/* By any name that dlpark knows; -1, without an exception, for other dtypes than those of pictures. */
static int codecs_dtype(const char *name, DLDataType *dtype)
{
    if (dlpark_dtype_from_name(name, dtype, NULL) != DLPARK_OK)
        return -1;
    return dlpark_dtype_equal(*dtype, DLPARK_U8) || dlpark_dtype_equal(*dtype, DLPARK_U16) ||
                   dlpark_dtype_equal(*dtype, DLPARK_F32)
               ? 0
               : -1;
}

PyDoc_STRVAR(codecs_load_doc, "load(filename, bytes, channels, layout, dtype, keep_orientation, tolerant, max_pixels, "
                              "max_scans, max_chunks, out, /)\n--\n\n"
                              "A capsule of the picture; None when it was decoded into the capsule `out`.");

static PyObject *codecs_load(PyObject *module, PyObject *args)
{
    PyObject *filename, *bytes, *out, *result = NULL;
    const char *dtype;
    int channels, layout, keep_orientation, tolerant, max_scans, max_chunks;
    long long max_pixels;
    codecs_source source = {0};

    (void)module;
    if (!PyArg_ParseTuple(args, "OOiizppLiiO:load", &filename, &bytes, &channels, &layout, &dtype, &keep_orientation,
                          &tolerant, &max_pixels, &max_scans, &max_chunks, &out))
        return NULL;
    dlpark_image_load_desc desc = {.channels = channels,
                                   .layout = (dlpark_image_layout)layout,
                                   .keep_orientation = keep_orientation != 0,
                                   .tolerant = tolerant != 0,
                                   .max_pixels = max_pixels,
                                   .max_scans = max_scans,
                                   .max_chunks = max_chunks};
    if (dtype != NULL && codecs_dtype(dtype, &desc.dtype) < 0)
        return PyErr_Format(PyExc_ValueError, "dtype is '%.60s'; pictures come as uint8, uint16 or float32", dtype);
    if (codecs_source_init(&source, filename, bytes, &desc) == 0)
        result =
            out == Py_None ? codecs_load_new(&desc, source.filename) : codecs_load_into(out, &desc, source.filename);
    codecs_source_clear(&source);
    return result;
}

PyDoc_STRVAR(codecs_info_doc, "info(filename, bytes, keep_orientation, max_pixels, max_scans, max_chunks, /)\n--\n\n"
                              "(format, width, height, channels, bits, orientation, progressive, lossless)");

static PyObject *codecs_info(PyObject *module, PyObject *args)
{
    PyObject *filename, *bytes;
    int keep_orientation, max_scans, max_chunks;
    long long max_pixels;
    codecs_source source = {0};
    dlpark_image_info info;
    dlpark_error err;
    dlpark_status status;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOpLii:info", &filename, &bytes, &keep_orientation, &max_pixels, &max_scans,
                          &max_chunks))
        return NULL;
    dlpark_image_load_desc desc = {.keep_orientation = keep_orientation != 0,
                                   .max_pixels = max_pixels,
                                   .max_scans = max_scans,
                                   .max_chunks = max_chunks};
    if (codecs_source_init(&source, filename, bytes, &desc) < 0) {
        codecs_source_clear(&source);
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    status = dlpark_image_read_info(&info, &desc, &err);
    PyEval_RestoreThread(thread);
    codecs_source_clear(&source);
    if (status != DLPARK_OK)
        return dlpark__py_raise_file(&err, source.filename);
    return Py_BuildValue("(iiiiiiNN)", (int)info.format, (int)info.width, (int)info.height, (int)info.channels,
                         (int)info.bits, (int)info.orientation, PyBool_FromLong(info.progressive),
                         PyBool_FromLong(info.lossless));
}

/* ---- Saving ---- */

/* The arguments that save() and encode() share. */
typedef struct codecs_picture {
    PyObject *filename; /* None: to bytes */
    PyObject *capsule;
    dlpark_image_save_desc desc;
} codecs_picture;

static int codecs_read_picture(PyObject *args, codecs_picture *picture)
{
    int format, layout, quality, lossless, compression, subsampling, progressive;

    if (!PyArg_ParseTuple(args, "OOiiipiip:save", &picture->filename, &picture->capsule, &format, &layout, &quality,
                          &lossless, &compression, &subsampling, &progressive))
        return -1;
    picture->desc = (dlpark_image_save_desc){.format = (dlpark_image_format)format,
                                             .layout = (dlpark_image_layout)layout,
                                             .quality = quality,
                                             .lossless = lossless != 0,
                                             .compression = compression,
                                             .subsampling = subsampling,
                                             .progressive = progressive != 0};
    return 0;
}

static PyObject *codecs_save_file(const dlpark_view *view, codecs_picture *picture)
{
    PyObject *path = NULL;
    dlpark_error err;
    dlpark_status status;

    if (!PyUnicode_FSConverter(picture->filename, &path))
        return NULL;
    picture->desc.path = PyBytes_AsString(path);
    PyThreadState *thread = PyEval_SaveThread();
    status = dlpark_image_save(view, &picture->desc, &err);
    PyEval_RestoreThread(thread);
    Py_DECREF(path);
    if (status != DLPARK_OK)
        return dlpark__py_raise_file(&err, picture->filename);
    Py_RETURN_NONE;
}

static PyObject *codecs_save_bytes(const dlpark_view *view, const codecs_picture *picture)
{
    dlpark_tensor encoded = DLPARK_TENSOR_EMPTY;
    dlpark_view bytes;
    dlpark_error err;
    dlpark_status status;

    PyThreadState *thread = PyEval_SaveThread();
    status = dlpark_image_encode(&encoded, view, &picture->desc, &bytes, &err);
    PyEval_RestoreThread(thread);
    if (status != DLPARK_OK)
        return dlpark_py_raise(&err);
    PyObject *result = PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)dlpark_view_nbytes(&bytes));
    dlpark__py_tensor_release(&encoded);
    return result;
}

PyDoc_STRVAR(codecs_save_doc, "save(filename, capsule, format, layout, quality, lossless, compression, subsampling, "
                              "progressive, /)\n--\n\n"
                              "Writes the picture in the capsule; with filename=None returns the file as bytes.");

static PyObject *codecs_save(PyObject *module, PyObject *args)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    codecs_picture picture;
    dlpark_view view;
    dlpark_error err;

    (void)module;
    if (codecs_read_picture(args, &picture) < 0)
        return NULL;
    if (dlpark__py_capsule_import(picture.capsule, &tensor, NULL, &err))
        return dlpark_py_raise(&err);
    dlpark_tensor_view(&tensor, &view);
    PyObject *result =
        picture.filename == Py_None ? codecs_save_bytes(&view, &picture) : codecs_save_file(&view, &picture);
    dlpark__py_tensor_release(&tensor);
    return result;
}

/* ---- The module ---- */

static PyMethodDef codecs_functions[] = {
    {"load", codecs_load, METH_VARARGS, codecs_load_doc},
    {"info", codecs_info, METH_VARARGS, codecs_info_doc},
    {"save", codecs_save, METH_VARARGS, codecs_save_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot codecs_slots[] = {
#if defined(Py_mod_multiple_interpreters)
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef codecs_definition = {
    PyModuleDef_HEAD_INIT, .m_name = "dlpark._image",     .m_doc = "The image codecs of dlpark.",
    .m_size = 0,           .m_methods = codecs_functions, .m_slots = codecs_slots,
};

PyMODINIT_FUNC PyInit__image(void);
PyMODINIT_FUNC PyInit__image(void)
{
    return PyModuleDef_Init(&codecs_definition);
}
