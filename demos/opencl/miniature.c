/*
 * An extension of CPython: load() decodes a picture in C, draw() has OpenCL draw it beside itself as if it were of a model and
 * gives the sheet to NumPy where OpenCL has mapped it, and save() encodes an array in C where it lies.
 */
#include <dlpark/python.h>

#include <stdatomic.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlpark/image.h>
#include <dlpark/opencl.h>

enum { GAP = 12, WHITE = 255 };

/* A row is the softer the further it is from the one in focus, and the colours are stronger: so a lens close to a model sees it.
   Tensors come as a buffer, the byte of their first element and the bytes from row to row. Whole numbers only. */
static const char source[] =
    "__kernel void draw(__global const uchar *from, ulong from_offset, int from_pitch, int height, int width,\n"
    "                   __global uchar *to, ulong to_offset, int to_pitch, int focus, int most, int strength)\n"
    "{\n"
    "    const int x = get_global_id(0), y = get_global_id(1);\n"
    "    const int radius = min(most, max(0, (int)abs(y - focus) - 85) / 10);\n"
    "    const int count = (2 * radius + 1) * (2 * radius + 1);\n"
    "    int3 sum = 0;\n"
    "    for (int i = y - radius; i <= y + radius; i++) {\n"
    "        __global const uchar *row = from + from_offset + clamp(i, 0, height - 1) * from_pitch;\n"
    "        for (int j = x - radius; j <= x + radius; j++)\n"
    "            sum += convert_int3(vload3(clamp(j, 0, width - 1), row));\n"
    "    }\n"
    "    const int3 mean = (sum + count / 2) / count;\n"
    "    const int3 grey = (mean.x + mean.y + mean.z) / 3;\n"
    "    const int3 strong = grey + (((mean - grey) * strength) >> 2);\n"
    "    vstore3(convert_uchar3_sat(strong), x, to + to_offset + y * to_pitch);\n"
    "}\n";

/* What the demo has of OpenCL; zeroed it is empty. */
typedef struct machine {
    dlpark_opencl opencl;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_kernel draw;
} machine;

static atomic_int ended;

static void CL_CALLBACK note_end(cl_mem mem, void *data)
{
    (void)mem;
    (void)data;
    atomic_fetch_add(&ended, 1);
}

/* ---- OpenCL: what any program that uses it writes ---- */

static int raise_cl(const char *what, cl_int code)
{
    PyErr_Format(PyExc_RuntimeError, "%s: OpenCL's error %d", what, (int)code);
    return -1;
}

static int raise_dlpark(const dlpark_error *err)
{
    (void)dlpark_py_raise(err);
    return -1;
}

static int compile_kernel(machine *on)
{
    const char *sources[] = {source};
    cl_int code;
    cl_program program = clCreateProgramWithSource(on->context, 1, sources, NULL, &code);

    if (code == CL_SUCCESS)
        code = clBuildProgram(program, 1, &on->device, "", NULL, NULL);
    if (code == CL_SUCCESS)
        on->draw = clCreateKernel(program, "draw", &code);
    if (program)
        (void)clReleaseProgram(program);
    return code == CL_SUCCESS ? 0 : raise_cl("the kernel", code);
}

/* On failure, too, the machine is to be closed. */
static int machine_open(machine *on)
{
    cl_platform_id platform;
    cl_int code;
    dlpark_error err;

    if (dlpark_opencl_open(&on->opencl, NULL, &err))
        return raise_dlpark(&err);
    code = clGetPlatformIDs(1, &platform, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &on->device, NULL);
    if (code == CL_SUCCESS)
        on->context = clCreateContext(NULL, 1, &on->device, NULL, NULL, &code);
    if (code == CL_SUCCESS)
        on->queue = clCreateCommandQueue(on->context, on->device, 0, &code);
    return code == CL_SUCCESS ? compile_kernel(on) : raise_cl("the device", code);
}

static void machine_close(machine *on)
{
    if (on->draw)
        (void)clReleaseKernel(on->draw);
    if (on->queue)
        (void)clReleaseCommandQueue(on->queue);
    if (on->context)
        (void)clReleaseContext(on->context);
}

/* ---- Tensors to kernels ---- */

/* What the kernel takes of a tensor: its buffer, the byte of its first element, and the bytes from row to row. */
static cl_int set_tensor(machine *on, cl_uint first, cl_mem mem, uint64_t byte_offset, int64_t pitch)
{
    const cl_ulong offset = byte_offset;
    const cl_int row = (cl_int)pitch;
    cl_int code = clSetKernelArg(on->draw, first, sizeof mem, &mem);

    if (code == CL_SUCCESS)
        code = clSetKernelArg(on->draw, first + 1, sizeof offset, &offset);
    return code == CL_SUCCESS ? clSetKernelArg(on->draw, first + 2, sizeof row, &row) : code;
}

static cl_int set_numbers(machine *on, cl_uint first, const cl_int *numbers, cl_uint count)
{
    cl_int code = CL_SUCCESS;

    for (cl_uint i = 0; code == CL_SUCCESS && i < count; i++)
        code = clSetKernelArg(on->draw, first + i, sizeof numbers[i], &numbers[i]);
    return code;
}

/* Draws the photograph into a view of the sheet: as it is, or as a miniature in focus at that row. */
static int draw_into(machine *on, cl_mem photo, uint64_t photo_offset, const dlpark_view *to, int focus, bool as_it_is)
{
    const cl_int size[] = {(cl_int)to->shape[0], (cl_int)to->shape[1]};
    const cl_int look[] = {focus, as_it_is ? 0 : 9, as_it_is ? 4 : 6};
    const size_t pixels[] = {(size_t)to->shape[1], (size_t)to->shape[0]};
    dlpark_error err;
    cl_mem mem = dlpark_opencl_borrow(&on->opencl, to, &err);

    if (!mem)
        return raise_dlpark(&err);
    cl_int code = set_tensor(on, 0, photo, photo_offset, 3 * to->shape[1]);
    if (code == CL_SUCCESS)
        code = set_numbers(on, 3, size, 2);
    if (code == CL_SUCCESS)
        code = set_tensor(on, 5, mem, to->byte_offset, to->strides[0]);
    if (code == CL_SUCCESS)
        code = set_numbers(on, 8, look, 3);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(on->queue, on->draw, 2, NULL, pixels, NULL, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : raise_cl("the kernel's launch", code);
}

/* ---- The sheet ---- */

/* Photograph and miniature are columns of one tensor of ours: they begin at other bytes of the same buffer. */
static int fill_sheet(machine *on, cl_mem photo, uint64_t photo_offset, const dlpark_view *sheet, int focus)
{
    const int64_t width = (sheet->shape[1] - GAP) / 2, nbytes = dlpark_view_numel(sheet);
    const cl_uchar white = WHITE;
    dlpark_view left = *sheet, right = *sheet;
    dlpark_error err;
    cl_mem mem = dlpark_opencl_borrow(&on->opencl, sheet, &err);

    if (!mem || dlpark_view_slice(&left, 1, 0, width, 1, &err) ||
        dlpark_view_slice(&right, 1, width + GAP, sheet->shape[1], 1, &err))
        return raise_dlpark(&err);
    cl_int code = clEnqueueFillBuffer(on->queue, mem, &white, 1, 0, (size_t)nbytes, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clSetMemObjectDestructorCallback(mem, note_end, NULL);
    if (code != CL_SUCCESS)
        return raise_cl("the sheet", code);
    if (draw_into(on, photo, photo_offset, &left, focus, true) < 0)
        return -1;
    return draw_into(on, photo, photo_offset, &right, focus, false);
}

/* The sheet of a photograph, drawn and mapped. The photograph's memory is the kernel's to read while `photo` is there. */
static int make_sheet(machine *on, dlpark_tensor *mapped, dlpark_tensor *sheet, cl_mem photo, uint64_t photo_offset,
                      const int64_t *shape, int focus)
{
    dlpark_view view;
    dlpark_error err;

    if (dlpark_opencl_alloc(&on->opencl, sheet, on->context,
                            &(dlpark_tensor_desc){.dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS(shape)}, &view,
                            &err))
        return raise_dlpark(&err);
    if (fill_sheet(on, photo, photo_offset, &view, focus) < 0)
        return -1;
    if (dlpark_opencl_map(&on->opencl, mapped, sheet, NULL, on->queue, DLPARK_OPENCL_READ, NULL, &err))
        return raise_dlpark(&err);
    return 0;
}

/* The sheet as an array, and what Python is told of it: the device, the sheet's cl_mem, where that is mapped. */
static PyObject *describe(const machine *on, const dlpark_tensor *sheet, dlpark_tensor *mapped)
{
    dlpark_view there, here;
    dlpark_name device;
    dlpark_error err;

    dlpark_tensor_view(sheet, &there);
    dlpark_tensor_view(mapped, &here);
    if (dlpark_opencl_device_name(&on->opencl, 0, &device, &err))
        return dlpark_py_raise(&err);
    PyObject *array = dlpark_py_export(mapped, DLPARK_SPEC_AS_NUMPY, NULL);
    return array ? Py_BuildValue("(NsNN)", array, device.text, PyLong_FromVoidPtr(there.data),
                                 PyLong_FromVoidPtr(here.data))
                 : NULL;
}

/* An array's memory as a buffer of OpenCL; the array stays where it is, and is kept until the buffer ends. */
static cl_mem lend_array(machine *on, PyObject *array, uint64_t *byte_offset, int64_t *shape)
{
    dlpark_tensor photo = DLPARK_TENSOR_EMPTY;
    cl_mem mem = NULL;
    dlpark_view view;
    dlpark_error err;

    if (dlpark_py_import(&photo, array, &(dlpark_py_options){.to_compact = true}, NULL) < 0)
        return NULL;
    dlpark_tensor_view(&photo, &view);
    if (!dlpark_dtype_equal(view.dtype, DLPARK_U8) || view.ndim != 3 || view.shape[2] != 3)
        PyErr_SetString(PyExc_ValueError, "the photograph is to be uint8 [height, width, 3]");
    else if (dlpark_opencl_export(&on->opencl, &mem, byte_offset, &photo, on->context, &err))
        (void)dlpark_py_raise(&err);
    else
        memcpy(shape, view.shape, 3 * sizeof *shape);
    dlpark_tensor_release(&photo);
    return mem;
}

/* ---- The module ---- */

static PyObject *load(PyObject *module, PyObject *arg)
{
    dlpark_tensor picture = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    PyObject *path;

    (void)module;
    if (!PyUnicode_FSConverter(arg, &path))
        return NULL;
    dlpark_status status = dlpark_image_load(
        &picture, &(dlpark_image_load_desc){.path = PyBytes_AS_STRING(path), .channels = 3}, NULL, &err);
    Py_DECREF(path);
    return status ? dlpark_py_raise(&err) : dlpark_py_export(&picture, DLPARK_SPEC_AS_NUMPY, NULL);
}

static PyObject *draw(PyObject *module, PyObject *args)
{
    dlpark_tensor sheet = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    machine on = {.opencl = DLPARK_OPENCL_EMPTY};
    PyObject *array, *result = NULL;
    uint64_t byte_offset = 0;
    cl_mem photo = NULL;
    int64_t shape[3];
    int focus;

    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &array, &focus))
        return NULL;
    if (machine_open(&on) == 0)
        photo = lend_array(&on, array, &byte_offset, shape);
    if (photo) {
        shape[1] = 2 * shape[1] + GAP;
        if (make_sheet(&on, &mapped, &sheet, photo, byte_offset, shape, focus) == 0)
            result = describe(&on, &sheet, &mapped);
        (void)clReleaseMemObject(photo);
    }
    dlpark_tensor_release(&mapped);
    dlpark_tensor_release(&sheet);
    machine_close(&on); /* the array keeps what it needs of all this */
    return result;
}

static PyObject *save(PyObject *module, PyObject *args)
{
    dlpark_tensor picture = DLPARK_TENSOR_EMPTY;
    dlpark_status status = DLPARK_OK;
    PyObject *path, *array;
    dlpark_view view;
    dlpark_error err;

    (void)module;
    if (!PyArg_ParseTuple(args, "O&O", PyUnicode_FSConverter, &path, &array))
        return NULL;
    int imported = dlpark_py_view(&view, &picture, array, NULL);
    if (imported == 0)
        status = dlpark_image_save(&view, &(dlpark_image_save_desc){.path = PyBytes_AS_STRING(path)}, &err);
    dlpark_tensor_release(&picture);
    Py_DECREF(path);
    if (imported < 0)
        return NULL;
    return status ? dlpark_py_raise(&err) : Py_NewRef(Py_None);
}

static PyObject *count_ended(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(atomic_load(&ended));
}

static PyMethodDef methods[] = {
    {"load", load, METH_O, "load(path)\n--\n\nThe picture as an array uint8 [height, width, 3], decoded in C."},
    {"draw", draw, METH_VARARGS,
     "draw(photo, focus)\n--\n\nThe photograph and its miniature side by side as an array, the name of the device that "
     "drew "
     "them, the cl_mem that they are in, and the address at which that is mapped. `focus` is the row that stays "
     "sharp."},
    {"save", save, METH_VARARGS, "save(path, picture)\n--\n\nEncodes a picture in C where it lies."},
    {"count_ended", count_ended, METH_NOARGS, "count_ended()\n--\n\nHow many sheets OpenCL has freed."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "miniature",
                                        .m_doc = "A photograph as if it were of a model, by OpenCL.",
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_miniature(void)
{
    return PyModule_Create(&definition);
}
