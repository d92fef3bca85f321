/*
 * The extension module dlpark._files: tensor files as handles, their tensors as DLPack capsules. Its arguments are those of
 * python/dlpark/_tensor_files.py, which checks what people write; here every argument is given, by position.
 */
#include "kit.h"

#include <dlpark/file.h>
#if defined(FILES_HAVE_ZLIB)
#include <dlpark/zlib.h>
#endif

#include "files_module.h"

#define FILES_HANDLE "dlpark._files.handle"

/* An open file. `busy` are calls that read it without the GIL: who closes it meanwhile leaves that to the last of them. */
typedef struct files_handle {
    dlpark_file *file; /* NULL: closed */
    PyObject *filename;
    int busy;
    bool is_closed;
} files_handle;

/* ---- The handle ---- */

static void files_handle_end(files_handle *handle)
{
    dlpark_file *file = handle->file;

    handle->file = NULL;
    if (file != NULL) {
        PyThreadState *thread = PyEval_SaveThread(); /* unmapping gigabytes takes a while */
        dlpark_file_release(&file);
        PyEval_RestoreThread(thread);
    }
}

static void files_handle_free(PyObject *capsule)
{
    files_handle *handle = PyCapsule_GetPointer(capsule, FILES_HANDLE);

    dlpark_file_release(&handle->file);
    Py_XDECREF(handle->filename);
    PyMem_Free(handle);
}

static files_handle *files_handle_of(PyObject *capsule)
{
    files_handle *handle = PyCapsule_GetPointer(capsule, FILES_HANDLE);

    if (handle != NULL && handle->is_closed) {
        PyErr_Format(PyExc_ValueError, "the file %R is closed", handle->filename);
        return NULL;
    }
    return handle;
}

/* Ends the lent buffer of a file in memory, on whatever thread its last tensor ends. */
static void files_buffer_release(void *owner)
{
    PyGILState_STATE gil;
    Py_buffer *buffer = owner;

    if (!Py_IsInitialized())
        return; /* the memory went with the interpreter */
    gil = PyGILState_Ensure();
    PyBuffer_Release(buffer);
    PyMem_Free(buffer);
    PyGILState_Release(gil);
}

/* ---- Opening ---- */

static dlpark_status files_open_path(files_handle *handle, const char *path, const dlpark_file_options *options,
                                     dlpark_error *err)
{
    PyThreadState *thread = PyEval_SaveThread();
    dlpark_status status = dlpark_file_open(&handle->file, path, options, err);

    PyEval_RestoreThread(thread);
    return status;
}

static dlpark_status files_open_descriptor(files_handle *handle, int descriptor, const char *name,
                                           const dlpark_file_options *options, dlpark_error *err)
{
    PyThreadState *thread = PyEval_SaveThread();
    dlpark_status status = dlpark_file_open_descriptor(&handle->file, descriptor, name, options, err);

    PyEval_RestoreThread(thread);
    return status;
}

/* Bytes of Python's, held until the last tensor of theirs is gone. -1 with an exception that is set, else a status. */
static int files_open_bytes(files_handle *handle, PyObject *bytes, const dlpark_file_options *options,
                            dlpark_error *err)
{
    Py_buffer *buffer = PyMem_Calloc(1, sizeof *buffer);

    if (buffer == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyObject_GetBuffer(bytes, buffer, PyBUF_SIMPLE) < 0) {
        PyMem_Free(buffer);
        return -1;
    }
    PyThreadState *thread = PyEval_SaveThread();
    dlpark_status status = dlpark_file_open_memory(&handle->file, buffer->buf, (size_t)buffer->len, buffer,
                                                   files_buffer_release, options, err);
    PyEval_RestoreThread(thread);
    if (status != DLPARK_OK) {
        PyBuffer_Release(buffer);
        PyMem_Free(buffer);
    }
    return (int)status;
}

/* A path, a descriptor or bytes. */
static int files_open_any(files_handle *handle, PyObject *source, const dlpark_file_options *options, dlpark_error *err)
{
    if (PyLong_Check(source)) {
        int descriptor = PyObject_AsFileDescriptor(source);
        return descriptor < 0 ? -1 : (int)files_open_descriptor(handle, descriptor, NULL, options, err);
    }
    if (PyUnicode_Check(source)) {
        PyObject *path = NULL;
        if (!PyUnicode_FSConverter(source, &path))
            return -1;
        int status = (int)files_open_path(handle, PyBytes_AsString(path), options, err);
        Py_DECREF(path);
        return status;
    }
    return files_open_bytes(handle, source, options, err);
}

/* All that this build can read. */
static dlpark_file_options files_options(PyObject *format)
{
    dlpark_file_options options = {.format = (dlpark_file_format)PyLong_AsLong(format)};

#if defined(FILES_HAVE_ZLIB)
    options.inflate = dlpark_zlib_inflate();
#endif
    return options;
}

PyDoc_STRVAR(files_open_doc, "open(source, format, float4, private, access, threads, follow_links) -> handle");

static PyObject *files_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    dlpark_file_options options = files_options(args[1]);
    dlpark_error err;

    (void)module;
    (void)nargs;
    options.float4 = (dlpark_file_float4)PyLong_AsLong(args[2]);
    options.is_private = args[3] == Py_True;
    options.access = (dlpark_file_access)PyLong_AsLong(args[4]);
    options.threads = (int)PyLong_AsLong(args[5]);
    options.follow_links = args[6] == Py_True;
    files_handle *handle = PyMem_Calloc(1, sizeof *handle);
    PyObject *capsule = handle != NULL ? PyCapsule_New(handle, FILES_HANDLE, files_handle_free) : PyErr_NoMemory();
    if (capsule == NULL) {
        PyMem_Free(handle);
        return NULL;
    }
    handle->filename = Py_NewRef(PyUnicode_Check(args[0]) ? args[0] : Py_None);
    int status = files_open_any(handle, args[0], &options, &err);
    if (status == DLPARK_OK)
        return capsule;
    if (status > 0)
        (void)dlpark__py_raise_file(&err, PyUnicode_Check(args[0]) ? args[0] : NULL);
    Py_DECREF(capsule);
    return NULL;
}

PyDoc_STRVAR(files_close_doc, "close(handle)");

static PyObject *files_close(PyObject *module, PyObject *capsule)
{
    files_handle *handle = PyCapsule_GetPointer(capsule, FILES_HANDLE);

    (void)module;
    if (handle == NULL)
        return NULL;
    handle->is_closed = true;
    if (handle->busy == 0)
        files_handle_end(handle);
    Py_RETURN_NONE;
}

/* ---- Asking ---- */

static PyObject *files_text(const char *text, size_t nbytes)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)nbytes, "strict");
}

PyDoc_STRVAR(files_names_doc, "names(handle) -> list of str, in the order of the bytes");

static PyObject *files_names(PyObject *module, PyObject *capsule)
{
    files_handle *handle = files_handle_of(capsule);
    dlpark_file_entry entry;

    (void)module;
    if (handle == NULL)
        return NULL;
    int64_t count = dlpark_file_count(handle->file);
    PyObject *names = PyList_New((Py_ssize_t)count);
    for (int64_t i = 0; names != NULL && i < count; i++) {
        bool is_there = dlpark_file_entry_get(handle->file, i, &entry, NULL) == DLPARK_OK;
        PyObject *name = is_there ? files_text(entry.name, entry.name_nbytes) : NULL;
        if (name == NULL || PyList_SetItem(names, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(names);
    }
    return names;
}

PyDoc_STRVAR(files_find_doc, "find(handle, name) -> int, -1 where there is none");

static PyObject *files_find(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    files_handle *handle = files_handle_of(args[0]);
    Py_ssize_t nbytes;

    (void)module;
    (void)nargs;
    if (handle == NULL)
        return NULL;
    const char *name = PyUnicode_AsUTF8AndSize(args[1], &nbytes);
    if (name == NULL &&
        PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) { /* half of a pair: no file has such a name */
        PyErr_Clear();
        return PyLong_FromLong(-1);
    }
    return name != NULL ? PyLong_FromLongLong(dlpark_file_find(handle->file, name, (size_t)nbytes)) : NULL;
}

static PyObject *files_shape(const dlpark_file_entry *entry)
{
    int32_t shown = entry->ndim < DLPARK_MAX_NDIM ? entry->ndim : DLPARK_MAX_NDIM;
    PyObject *shape = PyTuple_New(shown);

    for (int32_t i = 0; shape != NULL && i < shown; i++) {
        PyObject *extent = PyLong_FromLongLong(entry->shape[i]);
        if (extent == NULL || PyTuple_SetItem(shape, i, extent) < 0)
            Py_CLEAR(shape);
    }
    return shape;
}

PyDoc_STRVAR(files_entry_doc,
             "entry(handle, index) -> (name, dtype, type, shape, offset, nbytes, alignment, flags, shard)");

static PyObject *files_entry(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    files_handle *handle = files_handle_of(args[0]);
    dlpark_file_entry entry;
    dlpark_error err;

    (void)module;
    (void)nargs;
    if (handle == NULL)
        return NULL;
    if (dlpark_file_entry_get(handle->file, PyLong_AsLongLong(args[1]), &entry, &err) != DLPARK_OK)
        return dlpark_py_raise(&err);
    const char *shard = dlpark_file_shard_name(handle->file, entry.index); /* "z" of NULL is None */
    PyObject *name = files_text(entry.name, entry.name_nbytes);
    PyObject *shape = name != NULL ? files_shape(&entry) : NULL;
    if (shape == NULL) {
        Py_XDECREF(name);
        return NULL;
    }
    return Py_BuildValue("NssNKKnIz", name, dlpark_dtype_long_name(entry.dtype).text, entry.type, shape,
                         (unsigned long long)entry.offset, (unsigned long long)entry.nbytes,
                         (Py_ssize_t)entry.alignment_bytes, (unsigned)entry.flags, shard);
}

PyDoc_STRVAR(files_about_doc, "about(handle) -> (format, nbytes, count)");

static PyObject *files_about(PyObject *module, PyObject *capsule)
{
    files_handle *handle = files_handle_of(capsule);

    (void)module;
    if (handle == NULL)
        return NULL;
    return Py_BuildValue("sKL", dlpark_file_format_name(dlpark_file_format_of(handle->file)),
                         (unsigned long long)dlpark_file_nbytes(handle->file),
                         (long long)dlpark_file_count(handle->file));
}

PyDoc_STRVAR(files_metadata_doc, "metadata(handle) -> dict of str");

static PyObject *files_metadata(PyObject *module, PyObject *capsule)
{
    files_handle *handle = files_handle_of(capsule);
    PyObject *metadata = handle != NULL ? PyDict_New() : NULL;
    dlpark_file_text key_text, value_text;

    (void)module;
    for (int64_t i = 0; metadata != NULL && i < dlpark_file_metadata_count(handle->file); i++) {
        bool is_there = dlpark_file_metadata_get(handle->file, i, &key_text, &value_text, NULL) == DLPARK_OK;
        PyObject *key = is_there ? files_text(key_text.text, key_text.nbytes) : NULL;
        PyObject *value = key != NULL ? files_text(value_text.text, value_text.nbytes) : NULL;
        if (value == NULL || PyDict_SetItem(metadata, key, value) < 0)
            Py_CLEAR(metadata);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return metadata;
}

/* ---- Tensors ---- */

PyDoc_STRVAR(files_take_doc, "take(handle, index, copy) -> capsule; mapped, or read into memory");

/* Mapped, unless that cannot be. */
static dlpark_status files_take_tensor(dlpark_file *file, int64_t index, bool copy, dlpark_tensor *tensor,
                                       dlpark_error *err)
{
    dlpark_file_entry entry;

    DLPARK_TRY(dlpark_file_entry_get(file, index, &entry, err));
    if (copy || (entry.flags & (DLPARK_FILE_SWAPPED | DLPARK_FILE_COMPRESSED)) != 0)
        return dlpark_file_load(file, index, tensor, err);
    return dlpark_file_share(file, index, tensor, err);
}

static PyObject *files_take(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    files_handle *handle = files_handle_of(args[0]);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_status status;

    (void)module;
    (void)nargs;
    if (handle == NULL)
        return NULL;
    int64_t index = PyLong_AsLongLong(args[1]);
    bool copy = args[2] == Py_True;
    handle->busy++;
    PyThreadState *thread = PyEval_SaveThread();
    status = files_take_tensor(handle->file, index, copy, &tensor, &err);
    PyEval_RestoreThread(thread);
    handle->busy--;
    if (handle->is_closed && handle->busy == 0)
        files_handle_end(handle);
    if (status != DLPARK_OK)
        return dlpark__py_raise_file(&err, handle->filename != Py_None ? handle->filename : NULL);
    PyObject *capsule = dlpark_py_capsule_new(&tensor);
    dlpark__py_tensor_release(&tensor);
    return capsule;
}

/* The GIL is not held: the file may be closed meanwhile. */
static dlpark_status files_prefetch_all(files_handle *handle, const int64_t *indexes, size_t count, dlpark_error *err)
{
    handle->busy++;
    PyThreadState *thread = PyEval_SaveThread();
    dlpark_status status = dlpark_file_prefetch(handle->file, indexes, count, err);
    PyEval_RestoreThread(thread);
    handle->busy--;
    if (handle->is_closed && handle->busy == 0)
        files_handle_end(handle);
    return status;
}

PyDoc_STRVAR(files_prefetch_doc, "prefetch(handle, [index] or None)");

static PyObject *files_prefetch(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    files_handle *handle = files_handle_of(args[0]);
    dlpark_error err;

    (void)module;
    (void)nargs;
    if (handle == NULL)
        return NULL;
    Py_ssize_t count = args[1] != Py_None ? PyList_Size(args[1]) : 0;
    int64_t *indexes = args[1] != Py_None ? PyMem_Calloc((size_t)count + 1, sizeof *indexes) : NULL;
    if (args[1] != Py_None && indexes == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++)
        indexes[i] = PyLong_AsLongLong(PyList_GetItem(args[1], i));
    dlpark_status status = files_prefetch_all(handle, indexes, (size_t)count, &err);
    PyMem_Free(indexes);
    if (status != DLPARK_OK)
        return dlpark__py_raise_file(&err, handle->filename != Py_None ? handle->filename : NULL);
    Py_RETURN_NONE;
}

/* ---- Checking ---- */

PyDoc_STRVAR(files_check_doc, "check(path, format) -> list of (rule, offset, tensor, message)");

/* As many faults as are listed; the rest is only counted. */
#define FILES_FAULTS 1000

static PyObject *files_check_list(const dlpark_file_fault *faults, size_t count)
{
    size_t listed = count < FILES_FAULTS ? count : FILES_FAULTS;
    PyObject *list = PyList_New((Py_ssize_t)listed);

    for (size_t i = 0; list != NULL && i < listed; i++) {
        PyObject *fault = Py_BuildValue("sKss", faults[i].rule, (unsigned long long)faults[i].offset, faults[i].tensor,
                                        faults[i].message);
        if (fault == NULL || PyList_SetItem(list, (Py_ssize_t)i, fault) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *files_check(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    dlpark_file_options options = files_options(args[1]);
    dlpark_error err;
    size_t count = 0;
    PyObject *path = NULL;

    (void)module;
    (void)nargs;
    if (!PyUnicode_FSConverter(args[0], &path))
        return NULL;
    dlpark_file_fault *faults = PyMem_Calloc(FILES_FAULTS, sizeof *faults);
    PyObject *list = NULL;
    if (faults == NULL) {
        PyErr_NoMemory();
    } else {
        PyThreadState *thread = PyEval_SaveThread();
        dlpark_status status = dlpark_file_check(PyBytes_AsString(path), &options, faults, FILES_FAULTS, &count, &err);
        PyEval_RestoreThread(thread);
        list = status == DLPARK_OK ? files_check_list(faults, count) : dlpark__py_raise_file(&err, args[0]);
    }
    PyMem_Free(faults);
    Py_DECREF(path);
    return list;
}

static PyMethodDef files_functions[] = {
    {"open", (PyCFunction)(void (*)(void))files_open, METH_FASTCALL, files_open_doc},
    {"close", files_close, METH_O, files_close_doc},
    {"names", files_names, METH_O, files_names_doc},
    {"find", (PyCFunction)(void (*)(void))files_find, METH_FASTCALL, files_find_doc},
    {"entry", (PyCFunction)(void (*)(void))files_entry, METH_FASTCALL, files_entry_doc},
    {"about", files_about, METH_O, files_about_doc},
    {"metadata", files_metadata, METH_O, files_metadata_doc},
    {"take", (PyCFunction)(void (*)(void))files_take, METH_FASTCALL, files_take_doc},
    {"prefetch", (PyCFunction)(void (*)(void))files_prefetch, METH_FASTCALL, files_prefetch_doc},
    {"save", (PyCFunction)(void (*)(void))dlpark__py_files_save, METH_FASTCALL, dlpark__py_files_save_doc},
    {"check", (PyCFunction)(void (*)(void))files_check, METH_FASTCALL, files_check_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot files_slots[] = {
#if defined(Py_mod_multiple_interpreters)
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_USED}, /* a handle's `busy` is counted under it */
#endif
    {0, NULL},
};

static struct PyModuleDef files_definition = {
    PyModuleDef_HEAD_INIT, .m_name = "dlpark._files",    .m_doc = "The tensor files of dlpark.",
    .m_size = 0,           .m_methods = files_functions, .m_slots = files_slots,
};

PyMODINIT_FUNC PyInit__files(void);
PyMODINIT_FUNC PyInit__files(void)
{
    return PyModuleDef_Init(&files_definition);
}
