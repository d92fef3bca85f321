/*
 * Tensors on devices: made there, and moved.
 */
#include "arguments.h"
#include "devices.h"
#include "dtype_object.h"
#include "tensor_methods.h"

/* ---- empty ---- */

const char dlpark__py_empty_doc[] =
    "empty(shape, dtype='float32', *, device='cpu')\n--\n\n"
    "A tensor in new memory, whose elements are whatever was there.\n\n"
    "Parameters\n"
    "----------\n"
    "shape : int or tuple of int\n"
    "dtype : str or dtype, optional\n"
    "    Its name, or a dtype of NumPy's, PyTorch's or ml_dtypes'.\n"
    "device : str or tuple of int, optional\n"
    "    'cpu', 'cuda:0', 'cuda_host' (page-locked), 'cuda_managed', 'rocm:0', 'rocm_host'. The driver is found when\n"
    "    it is needed: the library that DLPARK_CUDA_LIBRARY or DLPARK_HIP_LIBRARY names, else the system's.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Compact in row-major order, and writable.\n\n"
    "Raises\n"
    "------\n"
    "RuntimeError\n"
    "    There is no driver for the device, or it failed.\n"
    "ValueError\n"
    "    The shape is none, or there is no such device.\n"
    "TypeError\n"
    "    The dtype is none.\n"
    "MemoryError\n"
    "    There is no memory for it.\n\n"
    "Notes\n"
    "-----\n"
    "The end of a tensor on a device waits for the work that the device has been given so far, unless a use of it was\n"
    "noted in C (`dlpark_cuda_note_use()`).\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.empty((2, 3), 'bfloat16').nbytes\n"
    "12";

enum { EMPTY_SHAPE, EMPTY_DTYPE, EMPTY_DEVICE, EMPTY_ARGUMENTS };

static int empty_read(PyObject **values, integer_list *shape, dlpark_tensor_desc *desc, DLDevice *device)
{
    desc->dtype = DLPARK_F32;
    *device = DLPARK_DEVICE_CPU;
    if (dlpark__py_integers("shape", &values[EMPTY_SHAPE], 1, shape) < 0 ||
        (values[EMPTY_DTYPE] != NULL && dlpark__py_dtype(values[EMPTY_DTYPE], "dtype", &desc->dtype) < 0) ||
        (values[EMPTY_DEVICE] != NULL && values[EMPTY_DEVICE] != Py_None &&
         dlpark__py_device(values[EMPTY_DEVICE], "device", device) < 0))
        return -1;
    desc->ndim = shape->count;
    desc->shape = DLPARK_DIMS(shape->values);
    return 0;
}

PyObject *dlpark__py_empty(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"shape", "dtype", "device"};
    static const dlpark__py_signature signature = {
        .function = "empty", .names = names, .count = EMPTY_ARGUMENTS, .npositional = 2, .nrequired = 1};
    const module_state *state = PyModule_GetState(module);
    PyObject *values[EMPTY_ARGUMENTS] = {NULL};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = {.ndim = 0};
    integer_list shape;
    DLDevice device;
    dlpark_error err;

    if (dlpark__py_bind(&signature, args, nargs, keyword_names, values) < 0 ||
        empty_read(values, &shape, &desc, &device) < 0)
        return NULL;
    dlpark_status status = dlpark__py_device_alloc(device, &desc, &tensor, NULL, &err);
    if (status != DLPARK_OK)
        return dlpark__py_raise_device(device, &err);
    tensor.managed->flags &= ~(uint64_t)DLPACK_FLAG_BITMASK_IS_COPIED; /* nothing was copied */
    PyObject *made = dlpark__py_tensor_object_new(state->tensor_type, &tensor, &(dlpark_py_origin){.path = 0});
    if (made == NULL)
        dlpark__py_tensor_release(&tensor);
    return made;
}

/* ---- to ---- */

const char dlpark__py_tensor_to_doc[] =
    "to($self, device, /, *, copy=None)\n--\n\n"
    "The tensor on a device: itself where it is there already.\n\n"
    "Parameters\n"
    "----------\n"
    "device : str or tuple of int\n"
    "    'cpu', 'cuda:0', 'cuda_host', 'cuda_managed', 'rocm:0', 'rocm_host'.\n"
    "copy : bool, optional\n"
    "    True always copies, False never does.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory where that serves: page-locked memory is the host's too. A copy is compact in row-major\n"
    "    order, writable, and ready when the call returns. It was made in the order of the stream that "
    "dlpark.stream()\n"
    "    has made current, else of the default one.\n\n"
    "Raises\n"
    "------\n"
    "DeviceCopyError\n"
    "    The device is another one, and copy=False. A BufferError and a ValueError.\n"
    "RuntimeError\n"
    "    There is no driver for the device, or it failed.\n"
    "ValueError\n"
    "    There is no such device, or none that dlpark moves memory to.\n"
    "MemoryError\n"
    "    There is no memory for the copy.\n\n"
    "Examples\n"
    "--------\n"
    ">>> t = dlpark.from_dlpack(np.zeros(2))\n"
    ">>> t.to('cpu') is t, t.to('cpu', copy=True) is t\n"
    "(True, False)";

/* Page-locked memory as what it also is. */
static PyObject *to_the_host(PyObject *self, const dlpark_view *view)
{
    PyObject *part = dlpark__py_tensor_part(self, view);

    if (part != NULL) /* its header is new, and nobody else's */
        ((tensor_object *)part)->tensor.managed->dl_tensor.device = DLPARK_DEVICE_CPU;
    return part;
}

PyObject *dlpark__py_tensor_to(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"device", "copy"};
    static const dlpark__py_signature signature = {
        .function = "to", .names = names, .count = 2, .npositional = 1, .nrequired = 1};
    const dlpark_py_origin *origin = &((tensor_object *)self)->origin;
    PyObject *values[2] = {NULL};
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;
    dlpark_py_copy copy = DLPARK_PY_COPY_IF_NEEDED;
    dlpark_view view;
    DLDevice device;
    dlpark_error err;

    if (dlpark__py_bind(&signature, args, nargs, keyword_names, values) < 0 ||
        dlpark__py_device(values[0], "device", &device) < 0 || dlpark__py_read_copy(values[1], &copy) < 0)
        return NULL;
    dlpark__py_tensor_describe(self, &view);
    if (copy != DLPARK_PY_COPY_ALWAYS && dlpark_device_equal(device, view.device))
        return Py_NewRef(self);
    if (copy != DLPARK_PY_COPY_ALWAYS && dlpark__py_is_host(view.device) &&
        dlpark_device_equal(device, DLPARK_DEVICE_CPU))
        return to_the_host(self, &view);
    if (copy == DLPARK_PY_COPY_NEVER) {
        (void)dlpark__py_raise_device_copy(view.device, device);
        return NULL;
    }
    dlpark_stream producer = dlpark__py_stream_of_native(view.device, origin->has_stream ? origin->stream : NULL);
    if (dlpark__py_device_copy(&view, producer, device, &made, &err) != DLPARK_OK)
        return dlpark__py_raise_device(dlpark__py_device_has_driver(device) ? device : view.device, &err);
    return dlpark__py_tensor_placed(self, &made);
}
