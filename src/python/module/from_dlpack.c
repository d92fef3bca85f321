/*
 * The function dlpark.from_dlpack().
 */
#include "devices.h"
#include "module.h"

#include <string.h>

typedef struct from_path {
    const char *name;
    uint32_t path;
} from_path;

static const from_path from_paths[] = {
#define FROM_PATH(name, bit, text) {text, (bit)},
    DLPARK_PY_PATH_TABLE(FROM_PATH)
#undef FROM_PATH
};

/* ---- via ---- */

static int from_refuse_via(PyObject *name)
{
    char known[192] = "";

    for (size_t i = 0; i < sizeof from_paths / sizeof *from_paths; i++) {
        strcat(known, i > 0 ? ", " : "");
        strcat(known, from_paths[i].name);
    }
    PyErr_Format(PyExc_ValueError, "via: expected one of %s, got %R", known, name);
    return -1;
}

static int from_read_name(PyObject *name, uint32_t *paths)
{
    if (!PyUnicode_Check(name)) {
        dlpark_name type = dlpark__py_type_name(name);
        PyErr_Format(PyExc_TypeError, "via must be a name or a sequence of names, not %s", type.text);
        return -1;
    }
    for (size_t i = 0; i < sizeof from_paths / sizeof *from_paths; i++) {
        if (PyUnicode_CompareWithASCIIString(name, from_paths[i].name) == 0) {
            *paths |= from_paths[i].path;
            return 0;
        }
    }
    return from_refuse_via(name);
}

/* A name, or several; *paths stays 0 for None. */
static int from_read_via(PyObject *via, uint32_t *paths)
{
    if (via == NULL || via == Py_None)
        return 0;
    if (PyUnicode_Check(via) || !PySequence_Check(via))
        return from_read_name(via, paths);
    Py_ssize_t count = PySequence_Size(via);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PySequence_GetItem(via, i);
        int status = name != NULL ? from_read_name(name, paths) : -1;
        Py_XDECREF(name);
        if (status < 0)
            return -1;
    }
    if (count == 0)
        PyErr_SetString(PyExc_ValueError, "via names no way");
    return count > 0 ? 0 : -1;
}

/* ---- The function ---- */

enum { FROM_DEVICE, FROM_COPY, FROM_STREAM, FROM_VIA, FROM_BYTESWAP, FROM_KEYWORDS };

static int from_read_options(PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names,
                             dlpark_py_options *options)
{
    static const char *const names[] = {"device", "copy", "stream", "via", "byteswap"};
    PyObject *values[FROM_KEYWORDS] = {NULL};

    if (dlpark__py_keywords("from_dlpack", args, nargs, keyword_names, names, values, FROM_KEYWORDS) < 0)
        return -1;
    options->has_device = values[FROM_DEVICE] != NULL && values[FROM_DEVICE] != Py_None;
    if (options->has_device && dlpark__py_device(values[FROM_DEVICE], "device", &options->device) < 0)
        return -1;
    if (dlpark__py_read_copy(values[FROM_COPY], &options->copy) < 0 ||
        from_read_via(values[FROM_VIA], &options->paths) < 0)
        return -1;
    int byteswap = values[FROM_BYTESWAP] != NULL ? dlpark__py_read_bool(values[FROM_BYTESWAP], "byteswap") : 0;
    options->byteswap = byteswap == 1;
    options->stream = values[FROM_STREAM];
    return byteswap < 0 ? -1 : 0;
}

/* Takes the object and makes a Tensor of it. */
static PyObject *from_import(const module_state *state, PyObject *object, const dlpark_py_options *options)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_py_origin origin;

    if (dlpark_py_import(&tensor, object, options, &origin) < 0)
        return NULL;
    PyObject *made = dlpark__py_tensor_object_new(state->tensor_type, &tensor, &origin);
    if (DLPARK_UNLIKELY(made == NULL))
        dlpark__py_tensor_release(&tensor);
    return made;
}

static __attribute__((noinline)) PyObject *from_keywords(const module_state *state, PyObject *const *args,
                                                         Py_ssize_t nargs, PyObject *keyword_names)
{
    dlpark_py_options options = {.paths = 0};

    if (from_read_options(args, nargs, keyword_names, &options) < 0)
        return NULL;
    return from_import(state, args[0], &options);
}

/* The Tensor itself. */
static inline PyObject *from_own(PyObject *tensor)
{
    DLDevice device = ((tensor_object *)tensor)->tensor.managed->dl_tensor.device;

    if (DLPARK_UNLIKELY(device.device_type != kDLCPU) && dlpark__py_tensor_make_ready(tensor) < 0)
        return NULL;
    return Py_NewRef(tensor);
}

PyObject *dlpark__py_from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    const module_state *state = PyModule_GetState(module);

    if (DLPARK_UNLIKELY(nargs != 1))
        return PyErr_Format(PyExc_TypeError, "from_dlpack() takes 1 positional argument (%zd given)", nargs);
    if (keyword_names != NULL)
        return from_keywords(state, args, nargs, keyword_names);
    if (Py_IS_TYPE(args[0], state->tensor_type)) /* immutable */
        return from_own(args[0]);
    return from_import(state, args[0], NULL);
}
