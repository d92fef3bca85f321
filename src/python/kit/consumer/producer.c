/*
 * The producer's methods, __dlpack_device__ and __dlpack__, as a consumer calls them.
 */
#include <string.h>

#include "../kit.h"

/* One call of __dlpack__: up to four keywords, some of which an old producer may not know. */
typedef struct producer_call {
    PyObject *producer;
    bool has_device; /* whether the producer says where it is; those of 2021 and before may not */
    DLDevice device;
    dlpark_py_options options;
    int count;
    PyObject *names[4];  /* borrowed from the kit's state */
    PyObject *values[4]; /* owned */
} producer_call;

/* Takes the value. */
static int producer_add(producer_call *call, PyObject *name, PyObject *value)
{
    if (value == NULL)
        return -1;
    call->names[call->count] = name;
    call->values[call->count] = value;
    call->count++;
    return 0;
}

static void producer_clear(producer_call *call)
{
    for (int i = 0; i < call->count; i++)
        dlpark__py_drop(call->values[i]);
    call->count = 0;
}

/* Whether the producer has to be asked for another device than its own. */
static bool producer_moves(const producer_call *call)
{
    const dlpark_py_options *request = &call->options;

    return request->has_device && !(call->has_device && dlpark_device_equal(request->device, call->device));
}

/* The stream on which the data shall be ready, unless it is to come to the host, or nobody says where it is. */
static int producer_add_stream(dlpark__py_state *state, producer_call *call)
{
    bool failed;

    if (!call->has_device)
        return 0;
    PyObject *stream = dlpark__py_stream_write(call->device, call->options.stream, &failed);
    if (stream == NULL)
        return failed ? -1 : 0;
    return producer_add(call, state->name_stream, stream);
}

/* The keywords of a call: only those that say something. */
static int producer_fill(dlpark__py_state *state, producer_call *call)
{
    const dlpark_py_options *request = &call->options;
    bool moves = producer_moves(call);

    if (producer_add(call, state->name_max_version, Py_NewRef(state->abi_version)) < 0)
        return -1;
    if (moves &&
        producer_add(call, state->name_dl_device,
                     Py_BuildValue("(ii)", (int)request->device.device_type, (int)request->device.device_id)) < 0)
        return -1;
    if (request->copy != DLPARK_PY_COPY_IF_NEEDED &&
        producer_add(call, state->name_copy, PyBool_FromLong(request->copy == DLPARK_PY_COPY_ALWAYS)) < 0)
        return -1;
    return moves ? 0 : producer_add_stream(state, call);
}

static PyObject *producer_call_once(dlpark__py_state *state, const producer_call *call)
{
    PyObject *args[5] = {call->producer, NULL, NULL, NULL, NULL};
    PyObject *names = NULL;

    if (call->count == 1 && call->names[0] == state->name_max_version) {
        names = Py_NewRef(state->only_max_version);
    } else if (call->count > 0) {
        names = PyTuple_New(call->count);
        for (int i = 0; names != NULL && i < call->count; i++)
            PyTuple_SetItem(names, i, Py_NewRef(call->names[i]));
        if (names == NULL)
            return NULL;
    }
    for (int i = 0; i < call->count; i++)
        args[i + 1] = call->values[i];
    PyObject *result = PyObject_VectorcallMethod(state->name_dlpack, args, 1, names);
    dlpark__py_drop(names);
    return result;
}

/*
 * Whether a TypeError complains of a keyword of this call. *at: which of them, -1: keywords as such. The same words come
 * from calls that the producer makes; those have been through a frame of its own, and name another function.
 */
static bool producer_blames(const producer_call *call, const char *text, bool has_frames, int *at)
{
    bool is_ours = strstr(text, "__dlpack__()") != NULL;
    bool is_named = (is_ours || !has_frames) &&
                    (strstr(text, "unexpected keyword") != NULL || strstr(text, "invalid keyword") != NULL);

    for (int i = 0; is_named && i < call->count; i++) {
        char quoted[32];
        const char *name = PyUnicode_AsUTF8AndSize(call->names[i], NULL);
        PyOS_snprintf(quoted, sizeof quoted, "'%s'", name != NULL ? name : "");
        if (strstr(text, quoted) != NULL) {
            *at = i;
            return true;
        }
    }
    *at = -1;
    return is_ours && (strstr(text, "takes no keyword arguments") != NULL ||
                       strstr(text, "incompatible function arguments") != NULL);
}

/* Whether the call can do without a keyword, because dlpark can do itself what it asks. */
static bool producer_may_drop(dlpark__py_state *state, const producer_call *call, PyObject *name)
{
    /* Of a producer that does not say where it is, the import sees whether what came is enough. */
    bool is_host = !call->has_device || dlpark__py_is_host(call->device);

    if (name == state->name_max_version)
        return true;
    if (name == state->name_copy)
        return call->options.copy == DLPARK_PY_COPY_ALWAYS && is_host;
    if (name == state->name_dl_device)
        return !call->has_device || (is_host && dlpark_device_equal(call->options.device, DLPARK_DEVICE_CPU));
    return false;
}

/* Leaves out the keyword at `at`, or all when it is -1. -1 when one of them must not be dropped: with a BufferError. */
static int producer_drop(dlpark__py_state *state, producer_call *call, int at)
{
    int kept = 0;

    for (int i = 0; i < call->count; i++) {
        bool is_dropped = at == -1 || at == i;
        if (is_dropped && !producer_may_drop(state, call, call->names[i])) {
            dlpark_name type = dlpark__py_type_name(call->producer);
            PyErr_Format(PyExc_BufferError, "%s.__dlpack__() does not know the keyword %U, so it cannot promise %U=%R",
                         type.text, call->names[i], call->names[i], call->values[i]);
            return -1;
        }
    }
    for (int i = 0; i < call->count; i++) {
        if (at == -1 || at == i) {
            Py_DECREF(call->values[i]);
            continue;
        }
        call->names[kept] = call->names[i];
        call->values[kept] = call->values[i];
        kept++;
    }
    call->count = kept;
    return 0;
}

/* Looks at the pending TypeError. 1: it was about keywords, and the call has been changed. 0: it stays pending. */
static int producer_adapt(dlpark__py_state *state, producer_call *call)
{
    pending_error error = dlpark__py_error_save();
    PyObject *text = error.value != NULL ? PyObject_Str(error.value) : NULL;
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool has_frames = dlpark__py_error_has_frames(&error);
    int at = -1;
    bool is_about_keywords = utf8 != NULL && call->count > 0 && producer_blames(call, utf8, has_frames, &at);

    PyErr_Clear();
    Py_XDECREF(text);
    if (!is_about_keywords) {
        dlpark__py_error_restore(&error);
        return 0;
    }
    dlpark__py_error_discard(&error);
    return producer_drop(state, call, at) < 0 ? -1 : 1;
}

static PyObject *producer_call_dlpack(dlpark__py_state *state, producer_call *call)
{
    for (;;) {
        PyObject *capsule = producer_call_once(state, call);
        if (capsule != NULL || !PyErr_ExceptionMatches(PyExc_TypeError))
            return capsule;
        if (producer_adapt(state, call) <= 0)
            return NULL;
    }
}

/* Whether the pending exception is there because the method is missing: then it is dropped. Another may take its place. */
static bool producer_lacks(PyObject *producer, PyObject *method)
{
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return false;
    pending_error error = dlpark__py_error_save();
    int has = dlpark__py_has(producer, method);
    if (has > 0)
        dlpark__py_error_restore(&error); /* it came from inside the method */
    else
        dlpark__py_error_discard(&error);
    return has == 0;
}

int dlpark__py_producer_device(dlpark__py_state *state, PyObject *object, DLDevice *out)
{
    PyObject *args[1] = {object};
    PyObject *pair = PyObject_VectorcallMethod(state->name_dlpack_device, args, 1, NULL);

    if (pair == NULL)
        return producer_lacks(object, state->name_dlpack_device) ? 0 : -1;
    const char *what = "__dlpack_device__()";
    char named[80];
    if (!PyTuple_CheckExact(pair)) { /* the name of the type is for a complaint, and costs as much as the call */
        PyOS_snprintf(named, sizeof named, "%s.__dlpack_device__()", dlpark__py_type_name(object).text);
        what = named;
    }
    int status = dlpark__py_device_pair(pair, what, out);
    dlpark__py_drop(pair);
    return status == 0 ? 1 : -1;
}

/* Whether a call that succeeded had a keyword. */
static bool producer_has_asked(const producer_call *call, PyObject *name)
{
    for (int i = 0; i < call->count; i++)
        if (call->names[i] == name)
            return true;
    return false;
}

/* Consumes a capsule and drops the reference to it, before any exception is set. `must_be_copied`: a versioned capsule has
 * to say that it is. */
static int producer_take(PyObject *producer, PyObject *capsule, bool must_be_copied, dlpark_tensor *tensor,
                         bool *is_copied)
{
    dlpark_error err;
    bool is_versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
    dlpark_status status = dlpark__py_capsule_import(capsule, tensor, is_copied, &err);

    Py_DECREF(capsule);
    if (status != DLPARK_OK)
        return dlpark__py_raise_of(producer, &err);
    if (!must_be_copied || !is_versioned || *is_copied)
        return 1;
    dlpark__py_tensor_release(tensor);
    dlpark_name type = dlpark__py_type_name(producer);
    PyErr_Format(PyExc_BufferError,
                 "%s.__dlpack__(copy=True) answered without IS_COPIED: nobody knows whether it copied", type.text);
    return -1;
}

/* Takes what __dlpack__ returned. */
static int producer_read(PyObject *producer, PyObject *capsule, bool must_be_copied, dlpark_tensor *tensor,
                         bool *is_copied)
{
    if (PyCapsule_CheckExact(capsule))
        return producer_take(producer, capsule, must_be_copied, tensor, is_copied);
    dlpark_name type = dlpark__py_type_name(producer);
    dlpark_name returned = dlpark__py_type_name(capsule);
    Py_DECREF(capsule);
    PyErr_Format(PyExc_TypeError, "%s.__dlpack__() returned %s, not a capsule", type.text, returned.text);
    return -1;
}

int dlpark__py_producer_import(dlpark__py_state *state, PyObject *object, const DLDevice *device,
                               const dlpark_py_options *options, dlpark_tensor *tensor, bool *is_copied)
{
    producer_call call = {.producer = object, .has_device = device != NULL};

    if (device != NULL)
        call.device = *device;
    if (options != NULL)
        call.options = *options;
    if (call.has_device && producer_moves(&call) && call.options.copy == DLPARK_PY_COPY_NEVER &&
        !dlpark__py_is_host(call.device))
        return dlpark__py_raise_device_copy(call.device, call.options.device);
    PyObject *capsule = producer_fill(state, &call) == 0 ? producer_call_dlpack(state, &call) : NULL;
    bool must_be_copied = call.options.copy == DLPARK_PY_COPY_ALWAYS && producer_has_asked(&call, state->name_copy);
    producer_clear(&call);
    if (capsule == NULL)
        return producer_lacks(object, state->name_dlpack) ? 0 : -1;
    return producer_read(object, capsule, must_be_copied, tensor, is_copied);
}
