/*
 * A tensor from an object: which ways it offers, in which order they are tried, and what is said when none serves.
 */
#include "import_parts.h"

#include <string.h>

#define IMPORT_ALL UINT32_MAX

/* The ways that are the object's type itself, or named first. */
#define IMPORT_KINDS                                                                                                   \
    ((uint32_t)(DLPARK_PY_PATH_CAPSULE | DLPARK_PY_PATH_OWN | DLPARK_PY_PATH_NUMPY | DLPARK_PY_PATH_DLPACK))

static const dlpark_py_options import_nothing;

/* One import. */
typedef struct import_job {
    dlpark__py_state *state;
    PyObject *object;
    const dlpark_py_options *options;
    dlpark__py_type entry; /* by value: foreign code may change the cache */
    uint32_t paths;        /* the ways that may be tried */
    const char *reason;    /* why a way that the object offers did not serve, or NULL */
    pending_error failure; /* the exception with which it did not, or none */
    dlpark_py_origin origin;
} import_job;

/* ---- The ways: 1 and the tensor; 0 where the object does not offer it, or it does not serve; -1 ---- */

static int import_own(import_job *job, dlpark_tensor *tensor)
{
    dlpark_error err;

    if (job->entry.route != DLPARK__PY_ROUTE_OWN)
        return 0;
    job->origin.path = DLPARK_PY_PATH_OWN;
    int status = dlpark__py_own_is_ready(job->state, job->object, job->options, &job->origin);
    if (status != 1) {
        job->reason = "it is on another device, or not ready on the stream that was asked for";
        return status;
    }
    if (job->state->shared->tensor_share(job->object, tensor, &err) == DLPARK_OK)
        return 1;
    dlpark_py_raise(&err);
    return -1;
}

static int import_capsule(import_job *job, dlpark_tensor *tensor)
{
    dlpark_error err;

    if (job->entry.route != DLPARK__PY_ROUTE_CAPSULE)
        return 0;
    job->origin.path = DLPARK_PY_PATH_CAPSULE;
    if (dlpark__py_capsule_import(job->object, tensor, &job->origin.is_copied, &err) == DLPARK_OK)
        return 1;
    dlpark_py_raise(&err);
    return -1;
}

static int import_exchange(import_job *job, dlpark_tensor *tensor)
{
    if (job->entry.route != DLPARK__PY_ROUTE_EXCHANGE)
        return 0;
    int status = dlpark__py_exchange_import(job->state, job->object, &job->entry, job->options, tensor, &job->origin,
                                            &job->reason);
    if (DLPARK_UNLIKELY(status == 0))
        job->failure = dlpark__py_error_save();
    return status;
}

/* An array whose elements are of the other byte order, which NumPy's __dlpack__ refuses: the array interfaces may swap. */
static int import_swapped(import_job *job)
{
    if (job->options->byteswap) {
        job->paths &= ~(uint32_t)DLPARK_PY_PATH_DLPACK;
        job->reason = "its elements are of the other byte order, which the ways that were asked for do not swap";
        return 0;
    }
    PyErr_Format(PyExc_BufferError,
                 "a NumPy array of dtype %S has its elements in the other byte order; "
                 "dlpark.from_dlpack(x, byteswap=True) takes a copy in this one",
                 dlpark__py_numpy_dtype(job->object));
    return -1;
}

static int import_numpy(import_job *job, dlpark_tensor *tensor)
{
    dlpark_view view;

    if (job->entry.route != DLPARK__PY_ROUTE_NUMPY)
        return 0;
    if (!dlpark__py_serves_device(DLPARK_DEVICE_CPU, job->options)) {
        job->reason = "it is on another device than was asked for";
        return 0;
    }
    int status = dlpark__py_numpy_view(job->state->numpy, job->object, &view);
    job->origin.path = DLPARK_PY_PATH_NUMPY;
    if (status == 1)
        return dlpark__py_keep_array(job->object, &view, tensor);
    if (status == 0 && dlpark__py_numpy_is_swapped(job->object))
        return import_swapped(job);
    job->reason = "NumPy itself has to say whether its dtype and strides can be exchanged";
    return status;
}

/* By __dlpack__ of an object on a device with streams. Where the memory stays there it is asked for on the consumer's stream,
 * which is read once: an object may answer another time as it likes. */
static int import_dlpack_there(import_job *job, DLDevice device, dlpark_py_options *asked, dlpark_tensor *tensor)
{
    bool moves = asked->has_device && !dlpark_device_equal(asked->device, device);
    dlpark_stream ready;
    bool failed = false;
    PyObject *stream = moves ? NULL : dlpark__py_stream_write(device, asked->stream, &failed);

    if (failed)
        return -1;
    asked->stream = stream;
    int status = dlpark__py_producer_import(job->state, job->object, &device, asked, tensor, &job->origin.is_copied);
    if (status == 1 && stream != NULL && PyLong_Check(stream) && dlpark__py_stream_read(device, stream, &ready) == 0)
        dlpark__py_origin_note(&job->origin, ready);
    dlpark__py_drop(stream);
    return status;
}

static int import_dlpack(import_job *job, dlpark_tensor *tensor)
{
    dlpark_py_options asked = *job->options;
    DLDevice device;
    int has_device = dlpark__py_producer_device(job->state, job->object, &device);

    if (has_device < 0)
        return -1;
    /* Of what came near to being taken by the table dlpark makes the copy itself, as it would have done then. */
    if (job->entry.route == DLPARK__PY_ROUTE_EXCHANGE && job->reason != NULL && has_device &&
        dlpark__py_is_host(device) && asked.copy == DLPARK_PY_COPY_ALWAYS)
        asked.copy = DLPARK_PY_COPY_IF_NEEDED;
    job->origin.path = DLPARK_PY_PATH_DLPACK;
    if (DLPARK_UNLIKELY(has_device && dlpark_device_has_streams(device)))
        return import_dlpack_there(job, device, &asked, tensor);
    return dlpark__py_producer_import(job->state, job->object, has_device ? &device : NULL, &asked, tensor,
                                      &job->origin.is_copied);
}

static int import_cuda_array(import_job *job, dlpark_tensor *tensor)
{
    job->origin.path = DLPARK_PY_PATH_CUDA_ARRAY;
    return dlpark__py_cuda_array_import(job->state, job->object, job->options, tensor, &job->origin);
}

static int import_array_struct(import_job *job, dlpark_tensor *tensor)
{
    job->origin.path = DLPARK_PY_PATH_ARRAY_STRUCT;
    return dlpark__py_array_struct_import(job->state, job->object, job->options, tensor, &job->origin.is_copied);
}

static int import_array_interface(import_job *job, dlpark_tensor *tensor)
{
    job->origin.path = DLPARK_PY_PATH_ARRAY_INTERFACE;
    return dlpark__py_array_interface_import(job->state, job->object, job->options, tensor, &job->origin.is_copied);
}

static int import_buffer(import_job *job, dlpark_tensor *tensor)
{
    job->origin.path = DLPARK_PY_PATH_BUFFER;
    return dlpark__py_buffer_import(job->state, job->object, job->options, tensor, &job->origin.is_copied);
}

typedef struct import_way {
    uint32_t path;
    int (*take)(import_job *job, dlpark_tensor *tensor);
    const char *sought; /* what an object that offers it is or has, for people */
} import_way;

static const import_way import_ways[] = {
    {DLPARK_PY_PATH_CAPSULE, import_capsule, "a DLPack capsule"},
    {DLPARK_PY_PATH_OWN, import_own, "a dlpark.Tensor"},
    {DLPARK_PY_PATH_EXCHANGE, import_exchange, "a C exchange table"},
    {DLPARK_PY_PATH_NUMPY, import_numpy, "a numpy.ndarray"},
    {DLPARK_PY_PATH_DLPACK, import_dlpack, "__dlpack__"},
    {DLPARK_PY_PATH_CUDA_ARRAY, import_cuda_array, "__cuda_array_interface__"},
    {DLPARK_PY_PATH_ARRAY_STRUCT, import_array_struct, "__array_struct__"},
    {DLPARK_PY_PATH_ARRAY_INTERFACE, import_array_interface, "__array_interface__"},
    {DLPARK_PY_PATH_BUFFER, import_buffer, "a buffer"},
};

#define IMPORT_WAYS (sizeof import_ways / sizeof *import_ways)

/* ---- When no way serves ---- */

/* Lists what an object would be or have that offers one of the ways. */
static void import_list(uint32_t paths, char text[224]) /* all of them take 150 bytes */
{
    text[0] = '\0';
    for (size_t i = 0; i < IMPORT_WAYS; i++) {
        if ((paths & import_ways[i].path) == 0)
            continue;
        strcat(text, text[0] != '\0' ? ", " : "");
        strcat(text, import_ways[i].sought);
    }
}

/* The object offers none of the ways that were asked for. */
static int import_raise_lacks(PyObject *object, uint32_t paths)
{
    char sought[224];
    bool is_standard = (paths & DLPARK_PY_PATH_DLPACK) != 0;
    dlpark_name type = dlpark__py_type_name(object);

    /* Next to __dlpack__ it goes without saying that the object itself is no tensor. */
    import_list(is_standard ? paths & ~IMPORT_KINDS : paths, sought);
    if (is_standard)
        PyErr_Format(PyExc_AttributeError, "%s has no __dlpack__%s%s%s", type.text, sought[0] != '\0' ? ", nor " : "",
                     sought, PyUnicode_Check(object) ? "" : "; numpy.asarray(...) may make an array of it");
    else
        PyErr_Format(PyExc_TypeError, "%s does not offer what was asked for: %s", type.text, sought);
    return -1;
}

static DLPARK_COLD int import_raise(import_job *job, uint32_t paths)
{
    if (dlpark__py_error_value(&job->failure) != NULL) {
        dlpark__py_error_restore(&job->failure);
        return -1;
    }
    if (job->reason == NULL)
        return import_raise_lacks(job->object, paths);
    dlpark_name type = dlpark__py_type_name(job->object);
    PyErr_Format(PyExc_BufferError, "%s: %s", type.text, job->reason);
    return -1;
}

/* ---- The import ---- */

/* Where the ways begin: those before it are known not to be offered. */
static const unsigned char import_first[] = {
    [DLPARK__PY_ROUTE_CAPSULE] = 0, [DLPARK__PY_ROUTE_OWN] = 1,  [DLPARK__PY_ROUTE_EXCHANGE] = 2,
    [DLPARK__PY_ROUTE_NUMPY] = 3,   [DLPARK__PY_ROUTE_SLOW] = 4, [DLPARK__PY_ROUTE_HOST] = 4,
};

/* A later way has served, or has failed as well. */
static int import_settle(import_job *job, int status)
{
    if (status < 0)
        dlpark__py_error_chain(&job->failure);
    else
        dlpark__py_error_discard(&job->failure);
    return status < 0 ? -1 : 0;
}

static int import_take(import_job *job, dlpark_tensor *tensor)
{
    uint32_t paths = job->paths;

    if (DLPARK_UNLIKELY(job->entry.is_masked) && dlpark__py_check_mask(job->object) < 0)
        return -1;
    for (size_t i = import_first[job->entry.route]; i < IMPORT_WAYS; i++) {
        if ((job->paths & import_ways[i].path) == 0)
            continue;
        int status = import_ways[i].take(job, tensor);
        if (DLPARK_LIKELY(status != 0))
            return import_settle(job, status);
    }
    return import_raise(job, paths);
}

/* Whether any tensor answers the options. */
static bool import_is_content(const dlpark_py_options *options)
{
    return options->copy == DLPARK_PY_COPY_IF_NEEDED && !options->has_device && !options->to_compact &&
           !options->writable;
}

/* The tensor where it is, when it was wanted elsewhere and its producer would not; to copy it is then the driver's, which
 * comes after the stream on which it is ready: the consumer's is one of another device. The producer's exception stays where
 * that fails as well. */
static int import_where_it_is(import_job *job, dlpark_tensor *tensor)
{
    const dlpark_py_options *wanted = job->options;
    dlpark_py_options options = {.paths = wanted->paths, .byteswap = wanted->byteswap};

    if (!dlpark__py_was_elsewhere(job->state, job->object, wanted))
        return -1;
    pending_error refusal = dlpark__py_error_save();
    job->options = &options;
    job->paths = options.paths != 0 ? options.paths : IMPORT_ALL;
    job->reason = NULL;
    int status = import_take(job, tensor);
    job->options = wanted;
    if (status < 0) {
        PyErr_Clear();
        dlpark__py_error_restore(&refusal);
        return -1;
    }
    dlpark__py_error_discard(&refusal);
    return 0;
}

static int import_run(import_job *job, dlpark_tensor *tensor)
{
    if (import_take(job, tensor) < 0 && import_where_it_is(job, tensor) < 0)
        return -1;
    if (DLPARK_LIKELY(import_is_content(job->options)))
        return 0;
    if (dlpark__py_import_fit(tensor, job->options, &job->origin) < 0) {
        dlpark__py_tensor_release(tensor);
        return -1;
    }
    return 0;
}

static __attribute__((noinline)) int import_array(const dlpark__py_state *state, PyObject *object,
                                                  dlpark_tensor *tensor, dlpark_py_origin *origin)
{
    dlpark_view view DLPARK_UNINITIALIZED;
    int status = dlpark__py_numpy_view(state->numpy, object, &view);

    origin->path = DLPARK_PY_PATH_NUMPY;
    return DLPARK_LIKELY(status == 1) ? dlpark__py_keep_array(object, &view, tensor) : status;
}

/* Without wishes, by the way that most types offer first: 1; 0 where the ways have to be gone one by one; -1. */
static inline int import_usual(dlpark__py_state *state, PyObject *object, const dlpark__py_type *entry,
                               dlpark_tensor *tensor, dlpark_py_origin *origin)
{
    const char *reason;

    if (DLPARK_LIKELY(entry->route == DLPARK__PY_ROUTE_EXCHANGE)) {
        int status = dlpark__py_exchange_import(state, object, entry, &import_nothing, tensor, origin, &reason);
        if (DLPARK_UNLIKELY(status == 0))
            PyErr_Clear(); /* it is asked again, and heard */
        return status;
    }
    return entry->route == DLPARK__PY_ROUTE_NUMPY ? import_array(state, object, tensor, origin) : 0;
}

static __attribute__((noinline)) int import_any(dlpark__py_state *state, PyObject *object,
                                                const dlpark_py_options *options, dlpark_tensor *tensor,
                                                dlpark_py_origin *origin)
{
    import_job job = {.state = state,
                      .object = object,
                      .options = options,
                      .entry = *dlpark__py_type_of(state, Py_TYPE(object)),
                      .paths = options->paths != 0 ? options->paths : IMPORT_ALL};

    if (import_run(&job, tensor) < 0)
        return -1;
    *origin = job.origin;
    return 0;
}

int dlpark_py_import(dlpark_tensor *tensor, PyObject *object, const dlpark_py_options *options,
                     dlpark_py_origin *origin)
{
    dlpark__py_state *state = dlpark__py_state_get();
    dlpark_py_origin from = {.path = 0};
    int status = 0;

    if (DLPARK_UNLIKELY(state == NULL || (options != NULL && dlpark__py_check_options(options) < 0)))
        return -1;
    if (DLPARK_UNLIKELY(tensor->managed != NULL))
        return dlpark__py_refuse_output();
    if (options == NULL)
        status = import_usual(state, object, dlpark__py_type_of(state, Py_TYPE(object)), tensor, &from);
    if (status == 0) {
        from = (dlpark_py_origin){.path = 0};
        status = import_any(state, object, options != NULL ? options : &import_nothing, tensor, &from);
    }
    if (DLPARK_UNLIKELY(status < 0))
        return -1;
    if (origin != NULL)
        *origin = from;
    return 0;
}

/* ---- Lending ---- */

/* Whether what was lent answers the options by itself. */
static bool import_is_plain(const dlpark_py_options *options)
{
    return options->paths == 0 && options->copy == DLPARK_PY_COPY_IF_NEEDED && !options->has_device;
}

static int import_lend_own(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                           dlpark_view *view)
{
    const dlpark_tensor *tensor = dlpark__py_own_tensor(state, object);
    dlpark_py_origin origin;

    if (DLPARK_UNLIKELY(tensor->managed->dl_tensor.device.device_type != kDLCPU)) {
        int status = dlpark__py_own_is_ready(state, object, options != NULL ? options : &import_nothing, &origin);
        if (status != 1)
            return status;
    }
    dlpark_tensor_view(tensor, view);
    return 1;
}

/* By whatever way there is, owned. */
static DLPARK_COLD int import_lend_owned(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                                         dlpark_view *view, DLManagedTensorVersioned **managed)
{
    dlpark_py_options asked = options != NULL ? *options : import_nothing;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    import_job job = {.state = state,
                      .object = object,
                      .options = &asked,
                      .entry = *dlpark__py_type_of(state, Py_TYPE(object)),
                      .paths = asked.paths != 0 ? asked.paths : IMPORT_ALL};

    if (import_take(&job, &tensor) < 0)
        return -1;
    asked.writable = false; /* the view's flags tell the caller */
    if (!import_is_content(&asked) && dlpark__py_import_fit(&tensor, &asked, &job.origin) < 0) {
        dlpark__py_tensor_release(&tensor);
        return -1;
    }
    dlpark_tensor_view(&tensor, view);
    *managed = dlpark_tensor_export(&tensor);
    if (job.origin.path == DLPARK_PY_PATH_DLPACK && view->device.device_type == kDLCPU)
        dlpark__py_type_note_host(state, Py_TYPE(object), true);
    return 0;
}

/* Ends what was lent owned, where its layout does not serve after all. */
static void import_unlend(DLManagedTensorVersioned **managed)
{
    dlpark_tensor tensor = {*managed};

    *managed = NULL;
    dlpark__py_tensor_release(&tensor);
}

int dlpark__py_lend(dlpark__py_state *state, PyObject *object, const dlpark__py_type *entry,
                    const dlpark_py_options *options, dlpark_view *view, DLManagedTensorVersioned **managed)
{
    dlpark__py_route route = entry->route;
    int status = 0;

    *managed = NULL;
    if (DLPARK_UNLIKELY(options != NULL && !import_is_plain(options)))
        return import_lend_owned(state, object, options, view, managed);
    if (DLPARK_LIKELY(route == DLPARK__PY_ROUTE_EXCHANGE))
        status = dlpark__py_exchange_lend(state, object, entry, options, view, managed);
    else if (route == DLPARK__PY_ROUTE_NUMPY)
        status = dlpark__py_numpy_view(state->numpy, object, view);
    else if (route == DLPARK__PY_ROUTE_OWN)
        status = import_lend_own(state, object, options, view);
    if (DLPARK_UNLIKELY(status != 1)) {
        if (status < 0)
            return -1;
        PyErr_Clear(); /* it is asked again, and heard */
        return import_lend_owned(state, object, options, view, managed);
    }
    if (DLPARK_LIKELY(options == NULL || !options->to_compact || dlpark_view_is_compact(view)))
        return 0;
    import_unlend(managed);
    return import_lend_owned(state, object, options, view, managed);
}

int dlpark_py_view(dlpark_view *view, dlpark_tensor *owner, PyObject *object, const dlpark_py_options *options)
{
    dlpark__py_state *state = dlpark__py_state_get();
    dlpark_tensor held = DLPARK_TENSOR_EMPTY;

    if (state == NULL || (options != NULL && dlpark__py_check_options(options) < 0))
        return -1;
    if (owner->managed != NULL)
        return dlpark__py_refuse_output();
    const dlpark__py_type *entry = dlpark__py_type_of(state, Py_TYPE(object));
    if (dlpark__py_lend(state, object, entry, options, view, &held.managed) < 0)
        return -1;
    if (options != NULL && options->writable && dlpark__py_check_write(view) < 0) {
        dlpark__py_tensor_release(&held);
        return -1;
    }
    owner->managed = held.managed;
    return 0;
}
