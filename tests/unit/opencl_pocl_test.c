/*
 * On a real implementation of OpenCL, PoCL in the tests: kernels over tensors of ours, and the destructor callbacks of
 * OpenCL itself as the witness that a buffer ended, and once. Skipped aloud where there is none.
 */
#include <stdio.h>

#if !__has_include(<CL/cl.h>)

int main(void)
{
    puts("skipped: there is no CL/cl.h (Debian package opencl-c-headers)");
    return 77;
}

#else

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "test.h"

#include <dlfcn.h>
#include <dlpark/opencl.h>
#include <pthread.h>
#include <threads.h>

static dlpark_opencl opencl;
static void *library;
static cl_device_id device;
static cl_context context, other_context;
static cl_command_queue queue, second_queue, other_queue;
static cl_kernel scale;

/* A function of the loader that the library found, CALL(clFinish)(queue). */
#define CALL(name) ((__typeof__(&name))(uintptr_t)find(#name))

static void *find(const char *name)
{
    void *symbol = dlsym(library, name);

    assert_non_null(symbol);
    return symbol;
}

#define assert_runs(call) assert_int_equal((call), CL_SUCCESS)

/* Element 0 is at a byte offset: a kernel takes it as an argument, as sub-buffers need not be able to begin there. */
static const char scale_source[] =
    "__kernel void scale(__global char *buffer, ulong byte_offset, int stride0, int stride1, float by)\n"
    "{\n"
    "    __global float *elements = (__global float *)(buffer + byte_offset);\n"
    "    elements[(int)get_global_id(0) * stride0 + (int)get_global_id(1) * stride1] *= by;\n"
    "}\n";

static void run_scale(cl_command_queue on, const dlpark_view *view, float by)
{
    dlpark_error err;
    cl_mem mem = dlpark_opencl_borrow(&opencl, view, &err);
    cl_ulong byte_offset = view->byte_offset;
    cl_int stride0 = (cl_int)view->strides[0], stride1 = (cl_int)view->strides[1];
    size_t global[] = {(size_t)view->shape[0], (size_t)view->shape[1]};

    assert_non_null(mem);
    assert_runs(CALL(clSetKernelArg)(scale, 0, sizeof mem, &mem));
    assert_runs(CALL(clSetKernelArg)(scale, 1, sizeof byte_offset, &byte_offset));
    assert_runs(CALL(clSetKernelArg)(scale, 2, sizeof stride0, &stride0));
    assert_runs(CALL(clSetKernelArg)(scale, 3, sizeof stride1, &stride1));
    assert_runs(CALL(clSetKernelArg)(scale, 4, sizeof by, &by));
    assert_runs(CALL(clEnqueueNDRangeKernel)(on, scale, 2, NULL, global, NULL, 0, NULL, NULL));
}

/* ---- The set-up ---- */

static cl_command_queue make_queue(cl_context where)
{
    cl_int code = -1;
    cl_command_queue made = CALL(clCreateCommandQueue)(where, device, 0, &code);

    assert_runs(code);
    return made;
}

static int set_up(void **state)
{
    const char *sources[] = {scale_source};
    cl_platform_id platform;
    cl_int code = -1;

    (void)state;
    library = dlopen(opencl.library, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_runs(CALL(clGetPlatformIDs)(1, &platform, NULL));
    assert_runs(CALL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = CALL(clCreateContext)(NULL, 1, &device, NULL, NULL, &code);
    assert_runs(code);
    other_context = CALL(clCreateContext)(NULL, 1, &device, NULL, NULL, &code);
    assert_runs(code);
    queue = make_queue(context);
    second_queue = make_queue(context);
    other_queue = make_queue(other_context);
    cl_program program = CALL(clCreateProgramWithSource)(context, 1, sources, NULL, &code);
    assert_runs(code);
    assert_runs(CALL(clBuildProgram)(program, 1, &device, "", NULL, NULL));
    scale = CALL(clCreateKernel)(program, "scale", &code);
    assert_runs(code);
    return CALL(clReleaseProgram)(program);
}

static int tear_down(void **state)
{
    (void)state;
    (void)CALL(clReleaseKernel)(scale);
    (void)CALL(clReleaseCommandQueue)(queue);
    (void)CALL(clReleaseCommandQueue)(second_queue);
    (void)CALL(clReleaseCommandQueue)(other_queue);
    (void)CALL(clReleaseContext)(other_context);
    (void)CALL(clReleaseContext)(context);
    return dlclose(library);
}

static void CL_CALLBACK count_end(cl_mem mem, void *count)
{
    (void)mem;
    (void)__atomic_fetch_add((int *)count, 1, __ATOMIC_RELAXED);
}

/* 0, 1, 2 ... as floats; *ended counts how often OpenCL ends it. */
static cl_mem make_buffer(size_t count, int *ended)
{
    cl_int code = -1;
    float values[256];

    for (size_t i = 0; i < count; i++)
        values[i] = (float)i;
    cl_mem mem = CALL(clCreateBuffer)(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof values[0],
                                      values, &code);
    assert_runs(code);
    *ended = 0;
    assert_runs(CALL(clSetMemObjectDestructorCallback)(mem, count_end, ended));
    return mem;
}

static int read_ended(int *ended)
{
    return __atomic_load_n(ended, __ATOMIC_ACQUIRE);
}

/* OpenCL's own threads hold a buffer for a moment longer than a queue says that it is done. */
static void assert_ended(int *ended)
{
    struct timespec pause = {0, 1000 * 1000};

    for (int i = 0; i < 10000 && read_ended(ended) == 0; i++)
        (void)thrd_sleep(&pause, NULL);
    assert_int_equal(read_ended(ended), 1);
}

/* f32[3, 5] with a pitch of 6, from element 6 + 1 on. */
static const int64_t shape[] = {3, 5}, strides[] = {6, 1};
static const dlpark_tensor_desc *make_desc(void)
{
    static dlpark_tensor_desc desc;

    desc = (dlpark_tensor_desc){.dtype = DLPARK_F32,
                                .ndim = 2,
                                .shape = DLPARK_DIMS(shape),
                                .strides = DLPARK_DIMS(strides),
                                .byte_offset = 7 * sizeof(float)};
    return &desc;
}

/* ---- Tensors ---- */

static void a_kernel_works_on_a_strided_part(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    dlpark_view view, seen;
    int ended;
    cl_mem mem = make_buffer(25, &ended);

    (void)state;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, make_desc(), &view, e));
    assert_null(mem);
    assert_int_equal(view.device.device_id, 0);
    assert_ok(dlpark_view_slice(&view, 0, DLPARK_NONE, DLPARK_NONE, 2,
                                e)); /* rows 0 and 2, the last first, columns 1 and 3 */
    assert_ok(dlpark_view_flip(&view, 0, e));
    assert_ok(dlpark_view_slice(&view, 1, 1, DLPARK_NONE, 2, e));
    run_scale(queue, &view, 100);
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_READ, &seen, e));
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 5; j++) {
            float was = (float)(7 + i * 6 + j);
            assert_true(((const float *)seen.data)[i * 6 + j] == (i % 2 == 0 && j % 2 == 1 ? 100 * was : was));
        }
    dlpark_tensor_release(&tensor);
    assert_int_equal(read_ended(&ended), 0);
    dlpark_tensor_release(&mapped);
    assert_runs(CALL(clFinish)(queue));
    assert_ended(&ended);
}

static void *end_there(void *managed)
{
    DLManagedTensorVersioned *handed = managed;

    handed->deleter(handed);
    return NULL;
}

static void a_share_keeps_the_buffer(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, other = DLPARK_TENSOR_EMPTY;
    int ended;
    cl_mem mem = make_buffer(25, &ended);
    pthread_t thread;

    (void)state;
    assert_ok(dlpark_opencl_share(&opencl, &tensor, mem, make_desc(), NULL, e));
    assert_ok(dlpark_tensor_share(&other, &tensor, NULL, e));
    assert_runs(CALL(clReleaseMemObject)(mem));
    dlpark_tensor_release(&tensor);
    assert_int_equal(read_ended(&ended), 0);
    assert_int_equal(pthread_create(&thread, NULL, end_there, dlpark_tensor_export(&other)), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ended(&ended);
}

static void memory_of_our_own_is_filled_and_read(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = {.dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS(shape)};
    dlpark_view view, seen;

    (void)state;
    assert_ok(dlpark_opencl_alloc(&opencl, &tensor, context, &desc, &view, e));
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_DISCARD, &seen, e));
    float *values = DLPARK_CPU_MUT(float, &seen, NULL);
    for (int i = 0; i < 15; i++)
        values[i] = (float)i;
    dlpark_tensor_release(&mapped);
    run_scale(queue, &view, 2);
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_READ, &seen, e));
    for (int i = 0; i < 15; i++)
        assert_true(DLPARK_CPU(float, &seen, NULL)[i] == 2 * (float)i);
    dlpark_tensor_release(&mapped);
    dlpark_tensor_release(&tensor);
}

/* A kernel must not be able to write what says READ_ONLY; and OpenCL knows what it is that it has. */
static void what_the_buffer_says_is_believed(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    cl_int code = -1;
    cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc image = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    cl_mem mem = CALL(clCreateBuffer)(context, CL_MEM_READ_ONLY, 100, NULL, &code);

    (void)state;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, make_desc(), NULL, e));
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    dlpark_tensor_release(&tensor);
    mem = CALL(clCreateBuffer)(context, CL_MEM_READ_WRITE, 95, NULL, &code);
    assert_fails(DLPARK_E_LAYOUT, "the elements are the bytes 28 to 96, and the buffer has 95",
                 dlpark_opencl_import(&opencl, &tensor, &mem, make_desc(), NULL, e));
    (void)CALL(clReleaseMemObject)(mem);
    mem = CALL(clCreateImage)(context, CL_MEM_READ_WRITE, &format, &image, NULL, &code);
    if (code == CL_SUCCESS) { /* not every device has images */
        assert_fails(DLPARK_E_ARGUMENT, "of type 0x10F1, and no buffer",
                     dlpark_opencl_import(&opencl, &tensor, &mem, make_desc(), NULL, e));
        (void)CALL(clReleaseMemObject)(mem);
    }
}

/* ---- Buffers ---- */

static void a_tensor_comes_back_as_a_buffer(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    int ended, ended_part = 0;
    cl_mem mem = make_buffer(256, &ended), same = mem;
    uint64_t byte_offset = 0;
    dlpark_view view;
    size_t origin = 0;

    (void)state;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, make_desc(), NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &mem, &byte_offset, &tensor, NULL, e));
    assert_ptr_equal(mem, same);
    assert_int_equal(byte_offset, 28);

    /* Twice: of a part, and of a part of what came of that. */
    dlpark_tensor_desc desc = {.dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((const int64_t[]){256})};
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, &view, e));
    assert_ok(dlpark_view_slice(&view, 0, 50, 200, 1, e));
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_ok(dlpark_opencl_export(&opencl, &mem, &byte_offset, &part, context, e));
    assert_runs(CALL(clGetMemObjectInfo)(mem, CL_MEM_OFFSET, sizeof origin, &origin, NULL));
    assert_int_equal(origin + byte_offset, 200);
    assert_runs(CALL(clSetMemObjectDestructorCallback)(mem, count_end, &ended_part));
    dlpark_tensor_release(&tensor);
    desc.shape = DLPARK_DIMS((const int64_t[]){100});
    desc.byte_offset = byte_offset + 40;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &mem, &byte_offset, &part, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_runs(CALL(clGetMemObjectInfo)(mem, CL_MEM_OFFSET, sizeof origin, &origin, NULL));
    assert_int_equal(origin + byte_offset, 240);
    float value = 0;
    assert_runs(CALL(clEnqueueReadBuffer)(queue, mem, CL_TRUE, byte_offset, sizeof value, &value, 0, NULL, NULL));
    assert_true(value == 60);
    assert_int_equal(read_ended(&ended_part), 0);
    assert_int_equal(read_ended(&ended), 0);
    assert_runs(CALL(clReleaseMemObject)(mem));
    assert_ended(&ended_part);
    assert_ended(&ended);
}

static void count_free(void *memory)
{
    (void)__atomic_fetch_add((int *)memory, 1, __ATOMIC_RELEASE);
}

/* Commands that are under way keep a buffer, and with it the memory of the host. */
static void memory_of_the_host_is_worked_on_in_place(void **state)
{
    _Alignas(128) float values[64];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, again = DLPARK_TENSOR_EMPTY;
    cl_mem mem = NULL;
    uint64_t byte_offset = 0;
    int freed = 0;
    dlpark_view view;

    (void)state;
    for (int i = 0; i < 64; i++)
        values[i] = (float)i;
    dlpark_tensor_desc desc = *make_desc();
    desc.data = values;
    desc.owner = &freed;
    desc.release = count_free;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &mem, &byte_offset, &tensor, context, e));
    assert_int_equal(byte_offset, 0);
    desc = *make_desc();
    desc.byte_offset = 0;
    assert_ok(dlpark_opencl_import(&opencl, &again, &mem, &desc, &view, e));
    run_scale(queue, &view, 10);
    assert_ok(dlpark_opencl_map(&opencl, &tensor, &again, NULL, queue, DLPARK_OPENCL_READ, &view, e));
    assert_ptr_equal(view.data, values + 7); /* one memory, as on every CPU */
    assert_true(values[7] == 70 && values[12] == 12 && values[13] == 130);
    dlpark_tensor_release(&tensor);
    assert_int_equal(freed, 0);
    dlpark_tensor_release(&again);
    assert_runs(CALL(clFinish)(queue));
    assert_ended(&freed);
}

/* ---- Order ---- */

static void *open_later(void *gate)
{
    struct timespec pause = {0, 30 * 1000 * 1000};

    (void)thrd_sleep(&pause, NULL);
    (void)CALL(clSetUserEventStatus)(gate, CL_COMPLETE);
    return NULL;
}

/* The producer's kernel waits behind a gate that opens later; what the consumer reads is what it has written. */
static void a_consumer_comes_after_its_producer(void **state)
{
    cl_command_queue consumers[] = {second_queue, other_queue, NULL};

    (void)state;
    for (int i = 0; i < 3; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        int ended;
        cl_int code = -1;
        float value = 0;
        cl_mem mem = make_buffer(25, &ended);
        cl_event gate = CALL(clCreateUserEvent)(context, &code);
        pthread_t thread;

        assert_runs(code);
        assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, make_desc(), &view, e));
        assert_runs(CALL(clEnqueueBarrierWithWaitList)(queue, 1, &gate, NULL));
        run_scale(queue, &view, 1000);
        assert_int_equal(pthread_create(&thread, NULL, open_later, gate), 0);
        assert_ok(dlpark_opencl_order(&opencl, queue, consumers[i], e));
        /* A queue of another context cannot read the buffer: there the host has waited, as without a queue. */
        assert_runs(CALL(clEnqueueReadBuffer)(second_queue, view.data, CL_TRUE, view.byte_offset, sizeof value, &value,
                                              0, NULL, NULL));
        assert_true(value == 7000);
        assert_int_equal(pthread_join(thread, NULL), 0);
        dlpark_tensor_release(&tensor);
        assert_runs(CALL(clFinish)(queue));
        (void)CALL(clReleaseEvent)(gate);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_works_on_a_strided_part),
        cmocka_unit_test(a_share_keeps_the_buffer),
        cmocka_unit_test(memory_of_our_own_is_filled_and_read),
        cmocka_unit_test(what_the_buffer_says_is_believed),
        cmocka_unit_test(a_tensor_comes_back_as_a_buffer),
        cmocka_unit_test(memory_of_the_host_is_worked_on_in_place),
        cmocka_unit_test(a_consumer_comes_after_its_producer),
    };
    dlpark_error err;
    dlpark_name name;

    if (dlpark_opencl_open(&opencl, NULL, &err) != DLPARK_OK) {
        printf("skipped: %s\n", err.message);
        return 77;
    }
    if (dlpark_opencl_device_name(&opencl, 0, &name, &err) == DLPARK_OK)
        printf("on %s\n", name.text);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

#endif
