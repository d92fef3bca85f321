/* The writing half of dlpark._files. */
#include "kit.h"

#include <dlpark/file_write.h>
#if defined(FILES_HAVE_ZLIB)
#include <dlpark/zlib.h>
#endif

#include "files_module.h"

/* What is written: the tensors are held until it is. */
typedef struct files_job {
    size_t count, nmetadata, nvalues;
    dlpark_tensor *tensors;
    dlpark_view *views;
    dlpark_file_part *parts;
    dlpark_file_pair *pairs;
    dlpark_file_value *values;
    dlpark_file_text **texts; /* of each value that has some; else NULL */
} files_job;

static void files_job_end(files_job *job)
{
    for (size_t i = 0; job->tensors != NULL && i < job->count; i++)
        dlpark__py_tensor_release(&job->tensors[i]);
    PyMem_Free(job->tensors);
    PyMem_Free(job->views);
    PyMem_Free(job->parts);
    PyMem_Free(job->pairs);
    for (size_t i = 0; job->texts != NULL && i < job->nvalues; i++)
        PyMem_Free(job->texts[i]);
    PyMem_Free(job->texts);
    PyMem_Free(job->values);
}

static int files_read_text(PyObject *object, dlpark_file_text *text)
{
    Py_ssize_t nbytes;

    text->text = PyUnicode_AsUTF8AndSize(object, &nbytes);
    text->nbytes = (size_t)nbytes;
    return text->text != NULL ? 0 : -1;
}

/* (name, capsule) pairs, in tuples. */
static int files_job_read_tensors(files_job *job, PyObject *items)
{
    for (size_t i = 0; i < job->count; i++) {
        PyObject *item = PyList_GetItem(items, (Py_ssize_t)i);
        dlpark_file_text name;
        dlpark_error err;
        if (item == NULL || files_read_text(PyTuple_GetItem(item, 0), &name) < 0)
            return -1;
        PyObject *capsule = PyTuple_GetItem(item, 1);
        if (dlpark__py_capsule_import(capsule, &job->tensors[i], NULL, &err) != DLPARK_OK) {
            (void)dlpark_py_raise(&err);
            return -1;
        }
        dlpark_tensor_view(&job->tensors[i], &job->views[i]);
        job->parts[i] = (dlpark_file_part){.name = name.text, .name_nbytes = name.nbytes, .view = &job->views[i]};
        if (name.nbytes == 0)
            job->parts[i].name = ""; /* whose length is asked for */
    }
    return 0;
}

static int files_job_read_metadata(files_job *job, PyObject *items)
{
    for (size_t i = 0; i < job->nmetadata; i++) {
        PyObject *item = PyList_GetItem(items, (Py_ssize_t)i);
        if (item == NULL || files_read_text(PyTuple_GetItem(item, 0), &job->pairs[i].key) < 0 ||
            files_read_text(PyTuple_GetItem(item, 1), &job->pairs[i].value) < 0)
            return -1;
    }
    return 0;
}

/* A list of texts, or the bytes of numbers of whole bytes. */
static int files_job_read_items(dlpark_file_value *value, dlpark_file_text **texts, PyObject *items)
{
    char *bytes;
    Py_ssize_t nbytes;

    if (!PyList_Check(items)) {
        if (PyBytes_AsStringAndSize(items, &bytes, &nbytes) < 0)
            return -1;
        value->data = bytes;
        value->count = (size_t)nbytes / (value->dtype.bits / 8);
        return 0;
    }
    value->count = (size_t)PyList_Size(items);
    value->data = *texts = PyMem_Calloc(value->count + 1, sizeof **texts);
    if (*texts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < value->count; i++)
        if (files_read_text(PyList_GetItem(items, (Py_ssize_t)i), &(*texts)[i]) < 0)
            return -1;
    return 0;
}

/* (key, code, bits, is_array, items), in tuples; of texts code and bits are 0. */
static int files_job_read_values(files_job *job, PyObject *items)
{
    for (size_t i = 0; i < job->nvalues; i++) {
        PyObject *item = PyList_GetItem(items, (Py_ssize_t)i);
        dlpark_file_value *value = &job->values[i];
        if (item == NULL || files_read_text(PyTuple_GetItem(item, 0), &value->key) < 0)
            return -1;
        value->dtype.code = (uint8_t)PyLong_AsLong(PyTuple_GetItem(item, 1));
        value->dtype.bits = (uint8_t)PyLong_AsLong(PyTuple_GetItem(item, 2));
        value->dtype.lanes = value->dtype.bits != 0;
        value->is_array = PyTuple_GetItem(item, 3) == Py_True;
        if (files_job_read_items(value, &job->texts[i], PyTuple_GetItem(item, 4)) < 0)
            return -1;
    }
    return 0;
}

static int files_job_begin(files_job *job, PyObject *tensors, PyObject *metadata, PyObject *values)
{
    *job = (files_job){.count = (size_t)PyList_Size(tensors),
                       .nmetadata = (size_t)PyList_Size(metadata),
                       .nvalues = (size_t)PyList_Size(values)};
    job->tensors = PyMem_Calloc(job->count + 1, sizeof *job->tensors);
    job->views = PyMem_Calloc(job->count + 1, sizeof *job->views);
    job->parts = PyMem_Calloc(job->count + 1, sizeof *job->parts);
    job->pairs = PyMem_Calloc(job->nmetadata + 1, sizeof *job->pairs);
    job->values = PyMem_Calloc(job->nvalues + 1, sizeof *job->values);
    job->texts = PyMem_Calloc(job->nvalues + 1, sizeof *job->texts);
    if (job->tensors == NULL || job->views == NULL || job->parts == NULL || job->pairs == NULL || job->values == NULL ||
        job->texts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (files_job_read_tensors(job, tensors) < 0 || files_job_read_metadata(job, metadata) < 0)
        return -1;
    return files_job_read_values(job, values);
}

/* How members are packed; `level` below 0: they are stored. */
static int files_read_level(PyObject *object, dlpark_file_write_options *options)
{
    long level = PyLong_AsLong(object);

    if (level < 0)
        return 0;
#if defined(FILES_HAVE_ZLIB)
    options->deflate = dlpark_zlib_deflate((int)level);
    return 0;
#else
    (void)options;
    PyErr_SetString(PyExc_ValueError, "compress: dlpark was built without zlib");
    return -1;
#endif
}

const char dlpark__py_files_save_doc[] = "save(path, [(name, capsule)], [(key, value)], format, alignment, sync, "
                                         "[(key, code, bits, is_array, items)], level)";

PyObject *dlpark__py_files_save(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    dlpark_file_write_options options = {.format = DLPARK_FILE_ANY};
    PyObject *path = NULL;
    dlpark_status status = DLPARK_OK;
    dlpark_error err;
    files_job job;

    (void)module;
    (void)nargs;
    if (!PyUnicode_FSConverter(args[0], &path))
        return NULL;
    int begun = files_job_begin(&job, args[1], args[2], args[6]);
    if (begun == 0)
        begun = files_read_level(args[7], &options);
    options.metadata = job.pairs;
    options.nmetadata = job.nmetadata;
    options.values = job.values;
    options.nvalues = job.nvalues;
    options.format = (dlpark_file_format)PyLong_AsLong(args[3]);
    options.alignment_bytes = PyLong_AsSize_t(args[4]);
    options.sync = args[5] == Py_True;
    if (begun == 0) {
        PyThreadState *thread = PyEval_SaveThread();
        status = dlpark_file_save(PyBytes_AsString(path), job.parts, job.count, &options, &err);
        PyEval_RestoreThread(thread);
    }
    files_job_end(&job);
    Py_DECREF(path);
    if (begun < 0)
        return NULL;
    return status == DLPARK_OK ? Py_NewRef(Py_None) : dlpark__py_raise_file(&err, args[0]);
}
