/*
 * After an import: whether the tensor is what was asked for, and what dlpark can do about it.
 */
#include "import_parts.h"

/* Below this many bytes a copy is over sooner than another thread would get the GIL. */
#define FIT_GIL_NBYTES 65536

int dlpark__py_raise_of(PyObject *object, const dlpark_error *err)
{
    dlpark_name type = dlpark__py_type_name(object);
    dlpark_error named;

    (void)dlpark_error_set(&named, err->status, "%s: %s", type.text, err->message);
    dlpark_py_raise(&named);
    return -1;
}

int dlpark__py_refuse_output(void)
{
    PyErr_SetString(PyExc_ValueError, "the output tensor already holds one: release or export it first, and begin with "
                                      "DLPARK_TENSOR_EMPTY");
    return -1;
}

int dlpark__py_keep_array(PyObject *array, const dlpark_view *view, dlpark_tensor *tensor)
{
    dlpark_status status;
    dlpark_error err;

    if (DLPARK_LIKELY(view->flags == 0)) { /* what is written in place is not zeroed first */
        status = dlpark_tensor_new(tensor,
                                   &(dlpark_tensor_desc){.data = view->data,
                                                         .dtype = view->dtype,
                                                         .ndim = view->ndim,
                                                         .shape = DLPARK_DIMS(view->shape),
                                                         .strides = DLPARK_DIMS(view->strides),
                                                         .owner = array,
                                                         .release = dlpark__py_drop_anywhere},
                                   NULL, &err);
    } else {
        dlpark_tensor_desc desc = {
            .data = view->data,
            .dtype = view->dtype,
            .ndim = view->ndim,
            .shape = DLPARK_DIMS(view->shape),
            .strides = DLPARK_DIMS(view->strides),
            .flags = (view->flags & DLPARK_VIEW_PADDED ? DLPARK_TENSOR_PADDED : 0) |
                     (view->flags & DLPARK_VIEW_READ_ONLY ? DLPARK_TENSOR_READ_ONLY : 0),
            .owner = array,
            .release = dlpark__py_drop_anywhere,
        };
        status = dlpark_tensor_new(tensor, &desc, NULL, &err);
    }
    if (DLPARK_UNLIKELY(status != DLPARK_OK))
        return dlpark__py_raise_of(array, &err);
    Py_INCREF(array);
    return 1;
}

int dlpark__py_check_options(const dlpark_py_options *options)
{
    if (DLPARK_LIKELY((unsigned)options->copy <= DLPARK_PY_COPY_ALWAYS))
        return 0;
    PyErr_Format(PyExc_ValueError, "options: copy is %d, which is none of DLPARK_PY_COPY_*", (int)options->copy);
    return -1;
}

int dlpark__py_check_mask(PyObject *object)
{
    PyObject *mask = PyObject_GetAttrString(object, "mask");
    PyObject *any = mask != NULL ? PyObject_CallMethod(mask, "any", NULL) : NULL;
    int is_masked = any != NULL ? PyObject_IsTrue(any) : -1;

    dlpark__py_drop(any);
    dlpark__py_drop(mask);
    if (is_masked > 0)
        PyErr_SetString(PyExc_BufferError, "a NumPy array with masked elements cannot be exchanged, as DLPack has no "
                                           "masks: x.filled(value) and x.data have none");
    return is_masked == 0 ? 0 : -1;
}

dlpark_status dlpark__py_forget_write(dlpark_tensor *tensor, dlpark_error *err)
{
    DLManagedTensor *legacy = NULL;

    DLPARK_TRY(dlpark_tensor_export_legacy(tensor, 0, &legacy, err));
    dlpark_status status = dlpark_tensor_import_legacy(tensor, &legacy, NULL, err);
    dlpark_managed_release_legacy(&legacy); /* ours still, only if the import failed */
    return status;
}

bool dlpark__py_is_host(DLDevice device)
{
    return dlpark_device_is_host_accessible(device) && device.device_type != kDLCUDAManaged;
}

const char *dlpark__py_host_hint(DLDevice device)
{
    switch ((int)device.device_type) {
    case kDLCUDAManaged:
        return ": the host may read it only when the device is done with it; to('cpu') waits for that, and copies it";
    case kDLCUDA:
    case kDLROCM:
        return ": to('cpu') copies it";
    default:
        return "";
    }
}

bool dlpark__py_serves_device(DLDevice device, const dlpark_py_options *options)
{
    return !options->has_device || dlpark_device_equal(device, options->device) ||
           (dlpark__py_is_host(device) && dlpark_device_equal(options->device, DLPARK_DEVICE_CPU));
}

int dlpark__py_copy(const dlpark_view *from, dlpark_tensor *out)
{
    dlpark_error err;
    dlpark_view to;
    dlpark_tensor_desc desc = {.dtype = from->dtype,
                               .ndim = from->ndim,
                               .shape = DLPARK_DIMS(from->shape),
                               .flags = from->flags & DLPARK_VIEW_PADDED ? DLPARK_TENSOR_PADDED : 0};
    dlpark_status status = dlpark_tensor_alloc(out, &desc, &to, &err);

    if (status == DLPARK_OK && dlpark_view_nbytes(from) >= FIT_GIL_NBYTES) {
        PyThreadState *thread = PyEval_SaveThread();
        status = dlpark_copy(&to, from, &err);
        PyEval_RestoreThread(thread);
    } else if (status == DLPARK_OK) {
        status = dlpark_copy(&to, from, &err);
    }
    if (status != DLPARK_OK) {
        dlpark_tensor_release(out);
        dlpark_py_raise(&err);
        return -1;
    }
    return 0;
}

/* Puts a copy in the tensor's place. */
static int fit_replace(dlpark_tensor *tensor, const dlpark_view *view, bool *is_copied)
{
    dlpark_tensor copy = DLPARK_TENSOR_EMPTY;

    if (dlpark__py_copy(view, &copy) < 0)
        return -1;
    dlpark__py_tensor_release(tensor);
    *tensor = copy;
    *is_copied = true;
    return 0;
}

/* ---- The device ---- */

/* Gives the tensor, which lies in memory that the host reads, the device "cpu". */
static dlpark_status fit_as_cpu(dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark_tensor relabelled = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    dlpark_tensor_view(tensor, &view);
    dlpark_tensor_desc desc = {
        .data = view.data,
        .dtype = view.dtype,
        .ndim = view.ndim,
        .shape = DLPARK_DIMS(view.shape),
        .strides = DLPARK_DIMS(view.strides),
        .flags = (view.flags & DLPARK_VIEW_PADDED ? DLPARK_TENSOR_PADDED : 0) |
                 (view.flags & DLPARK_VIEW_READ_ONLY ? DLPARK_TENSOR_READ_ONLY : 0),
        .owner = tensor->managed,
    };
    /* The end of life moves into the new header; should that fail, the tensor is as before. */
    dlpark_tensor moved = *tensor;
    dlpark_tensor_export_deleter(&moved, &desc.release, &desc.owner);
    DLPARK_TRY(dlpark_tensor_new(&relabelled, &desc, NULL, err));
    *tensor = relabelled;
    return view.flags & DLPARK_VIEW_UNKNOWN_WRITE ? dlpark__py_forget_write(tensor, err) : DLPARK_OK;
}

static DLPARK_COLD int fit_refuse_move(DLDevice has, DLDevice wants, const dlpark_error *err)
{
    PyObject *error = err->status == DLPARK_E_MEMORY ? PyExc_MemoryError : PyExc_BufferError;
    dlpark_name has_name = dlpark_device_name(has);
    dlpark_name wants_name = dlpark_device_name(wants);

    if (dlpark_device_equal(has, wants))
        PyErr_Format(error, "a copy on %s was asked for, which the producer did not make: %s", has_name.text,
                     err->message);
    else
        PyErr_Format(error, "the tensor came on %s, and %s was asked for: %s", has_name.text, wants_name.text,
                     err->message);
    return -1;
}

/* A copy elsewhere in the tensor's place. It is ready on the stream on which it came, or on the default one. */
static int fit_move(dlpark_tensor *tensor, DLDevice to, dlpark_py_origin *origin)
{
    dlpark_tensor copy = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_view view;

    dlpark_tensor_view(tensor, &view);
    dlpark_stream ready = dlpark__py_stream_of_native(view.device, origin->has_stream ? origin->stream : NULL);
    if (dlpark__py_move(&view, ready, to, &copy, &err) != DLPARK_OK)
        return fit_refuse_move(view.device, to, &err);
    dlpark__py_tensor_release(tensor);
    *tensor = copy;
    origin->is_copied = true;
    origin->has_stream = false; /* the copy is ready on all */
    return 0;
}

static int fit_device(dlpark_tensor *tensor, const dlpark_py_options *options, dlpark_py_origin *origin)
{
    DLDevice device = tensor->managed->dl_tensor.device;
    dlpark_error err;

    if (!options->has_device || dlpark_device_equal(device, options->device))
        return 0;
    if (dlpark__py_serves_device(device, options)) {
        if (options->copy == DLPARK_PY_COPY_ALWAYS && !origin->is_copied) /* the copy will be on the CPU */
            return 0;
        if (fit_as_cpu(tensor, &err) == DLPARK_OK)
            return 0;
        dlpark_py_raise(&err);
        return -1;
    }
    if (options->copy == DLPARK_PY_COPY_NEVER)
        return dlpark__py_raise_device_copy(device, options->device);
    return fit_move(tensor, options->device, origin);
}

bool dlpark__py_was_elsewhere(dlpark__py_state *state, PyObject *object, const dlpark_py_options *wanted)
{
    DLDevice device;

    if (!wanted->has_device || wanted->copy == DLPARK_PY_COPY_NEVER ||
        !(PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
          PyErr_ExceptionMatches(PyExc_RuntimeError)))
        return false;
    pending_error refusal = dlpark__py_error_save();
    bool is_elsewhere =
        dlpark__py_producer_device(state, object, &device) == 1 && !dlpark__py_serves_device(device, wanted);
    PyErr_Clear();
    dlpark__py_error_restore(&refusal);
    return is_elsewhere;
}

/* ---- The copy ---- */

/* A copy where the tensor is: what a device reads as well does not leave that kind of memory. */
static int fit_copy_there(dlpark_tensor *tensor, const dlpark_view *view, dlpark_py_origin *origin)
{
    return dlpark_device_equal(view->device, DLPARK_DEVICE_CPU) ? fit_replace(tensor, view, &origin->is_copied)
                                                                : fit_move(tensor, view->device, origin);
}

static int fit_copy(dlpark_tensor *tensor, const dlpark_py_options *options, dlpark_py_origin *origin)
{
    dlpark_view view;

    if (options->copy == DLPARK_PY_COPY_NEVER && origin->is_copied) {
        PyErr_SetString(PyExc_BufferError, "the producer made a copy although copy=False was asked for");
        return -1;
    }
    if (options->copy != DLPARK_PY_COPY_ALWAYS || origin->is_copied)
        return 0;
    dlpark_tensor_view(tensor, &view);
    if (options->has_device && dlpark_device_equal(options->device, DLPARK_DEVICE_CPU))
        return fit_replace(tensor, &view, &origin->is_copied); /* the host reads it: fit_device() has seen to that */
    return fit_copy_there(tensor, &view, origin);
}

/* ---- Layout and writing ---- */

static int fit_layout(dlpark_tensor *tensor, const dlpark_py_options *options, dlpark_py_origin *origin)
{
    dlpark_view view;
    char text[160];

    if (!options->to_compact)
        return 0;
    dlpark_tensor_view(tensor, &view);
    if (dlpark_view_is_compact(&view))
        return 0;
    if (options->copy != DLPARK_PY_COPY_NEVER)
        return fit_copy_there(tensor, &view, origin);
    dlpark_view_describe(&view, text, sizeof text);
    PyErr_Format(PyExc_BufferError, "%s is not compact, and must not be copied", text);
    return -1;
}

int dlpark__py_check_write(const dlpark_view *view)
{
    if ((view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) == 0)
        return 0;
    PyErr_SetString(PyExc_BufferError, view->flags & DLPARK_VIEW_READ_ONLY
                                           ? "the tensor will be written, and is read-only"
                                           : "the tensor will be written, and its producer cannot say that it may be");
    return -1;
}

int dlpark__py_import_fit(dlpark_tensor *tensor, const dlpark_py_options *options, dlpark_py_origin *origin)
{
    dlpark_view view;

    if (fit_device(tensor, options, origin) < 0 || fit_copy(tensor, options, origin) < 0 ||
        fit_layout(tensor, options, origin) < 0)
        return -1;
    if (!options->writable)
        return 0;
    dlpark_tensor_view(tensor, &view);
    return dlpark__py_check_write(&view);
}
