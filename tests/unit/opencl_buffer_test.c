/* Buffers as tensors: what is taken and what is refused, who ends the buffer, and what each failing call leaves behind. */
#include "opencl_made.h"

#include "failing_alloc.h"

static const int64_t shape[] = {3, 6}, strides[] = {6, 1}, reversed[] = {-6, 1};

/* ---- What a tensor says ---- */

static void a_view_is_the_handle_and_an_offset(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 24);
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 6);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    assert_ptr_equal(view.data, mem);
    assert_int_equal(view.byte_offset, 6);
    assert_int_equal(view.device.device_type, kDLOpenCL);
    assert_int_equal(view.device.device_id, 1);
    assert_int_equal(view.flags, 0);
    assert_int_equal(view.shape[1], 6);
    assert_int_equal(view.strides[0], 6);
    assert_int_equal(fakeopencl_references(mem), 1);

    desc = opencl_made_desc(shape, reversed, 12);
    assert_ok(dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    desc.byte_offset = 18;
    assert_ok(dlpark_opencl_view(&opencl, &view, mem, &desc, e)); /* the last row of the buffer */
    (void)clReleaseMemObject(mem);
}

static void what_kernels_may_only_read_is_read_only(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_ONLY, 18);
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    dlpark_tensor_release(&tensor);

    mem = opencl_made_buffer(CL_READ_WRITE, 18);
    desc.flags = DLPARK_TENSOR_READ_ONLY;
    assert_ok(dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    (void)clReleaseMemObject(mem);
}

static void elements_outside_of_the_buffer_are_refused(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 23);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 6);
    dlpark_view view;

    (void)state;
    assert_fails(DLPARK_E_LAYOUT, "the elements are the bytes 6 to 24, and the buffer has 23",
                 dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    assert_fails(DLPARK_E_LAYOUT, "bytes 6 to 24", dlpark_opencl_share(&opencl, &tensor, mem, &desc, &view, e));
    assert_fails(DLPARK_E_LAYOUT, "bytes 6 to 24", dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    assert_null(tensor.managed);
    desc = opencl_made_desc(shape, reversed, 11);
    assert_fails(DLPARK_E_OVERFLOW, "", dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    desc = opencl_made_desc(shape, NULL, 0);
    desc.dtype = (DLDataType){kDLUInt, 4, 1}; /* 18 of them are 9 bytes */
    assert_ok(dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    desc.byte_offset = 15;
    assert_fails(DLPARK_E_LAYOUT, "bytes 15 to 24", dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    assert_int_equal(fakeopencl_references(mem), 1);
    (void)clReleaseMemObject(mem);
}

static void a_sub_buffer_is_a_buffer_of_its_own_size(void **state)
{
    struct _cl_mem *whole = opencl_made_buffer(CL_READ_WRITE, 1024), *mem = opencl_made_part(whole, 128, 20);
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 2);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    (void)clReleaseMemObject(whole);
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    whole = opencl_made_buffer(CL_READ_WRITE, 1024);
    mem = opencl_made_part(whole, 128, 20);
    desc.byte_offset = 3;
    assert_fails(DLPARK_E_LAYOUT, "the buffer has 20", dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    (void)clReleaseMemObject(mem);
    (void)clReleaseMemObject(whole);
}

static void what_is_no_buffer_is_refused(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_WRITE_ONLY, 18);
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);
    dlpark_view view;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "flags 0x2: kernels may only write it",
                 dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    fakeopencl.mem_type = 0x10F1; /* an image */
    assert_fails(DLPARK_E_ARGUMENT, "of type 0x10F1, and no buffer (0x10F0)",
                 dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    assert_fails(DLPARK_E_ARGUMENT, "mem is NULL", dlpark_opencl_view(&opencl, &view, NULL, &desc, e));
    assert_fails(DLPARK_E_ARGUMENT, "view is NULL", dlpark_opencl_view(&opencl, NULL, mem, &desc, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_opencl_view(&opencl, &view, mem, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "opencl is NULL", dlpark_opencl_view(NULL, &view, mem, &desc, e));
    (void)clReleaseMemObject(mem);
}

static void the_device_is_one_of_the_context(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 18);
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);
    dlpark_view view;

    (void)state;
    desc.device = DLPARK_DEVICE(kDLOpenCL, 1);
    assert_ok(dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    desc.device = DLPARK_DEVICE(kDLOpenCL, 0); /* its second device is one that nobody lists */
    assert_ok(dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    assert_int_equal(view.device.device_id, 0);
    desc.device = DLPARK_DEVICE(kDLOpenCL, 3);
    assert_fails(DLPARK_E_DEVICE, "device is opencl:3, which is none of the 2 of the buffer's context",
                 dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    desc.device = DLPARK_DEVICE_CPU;
    assert_fails(DLPARK_E_DEVICE, "device is cpu, expected opencl", dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    desc.device = DLPARK_DEVICE(0, 1);
    assert_fails(DLPARK_E_DEVICE, "expected opencl", dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    desc.device = DLPARK_DEVICE(0, 0);
    fakeopencl.context_devices = 65;
    assert_fails(DLPARK_E_DEVICE, "the context has 65 devices, at most 64 are known",
                 dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    (void)clReleaseMemObject(mem);
}

static void end_nothing(void *owner)
{
    (void)owner;
}

static void fields_without_a_use_are_refused(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 18);
    static const dlpark_allocator allocator = {0};
    static int64_t some[] = {6, 1};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_tensor_desc plain = opencl_made_desc(shape, NULL, 0), desc;

    (void)state;
#define REFUSED(name, set)                                                                                             \
    desc = plain;                                                                                                      \
    set;                                                                                                               \
    assert_fails(DLPARK_E_ARGUMENT, "desc->" name " is given", dlpark_opencl_view(&opencl, &view, mem, &desc, e));     \
    assert_fails(DLPARK_E_ARGUMENT, "desc->" name " is given",                                                         \
                 dlpark_opencl_alloc(&opencl, &tensor, context, &desc, NULL, e))
    REFUSED("data", desc.data = some);
    REFUSED("data_const", desc.data_const = some);
    REFUSED("owner", desc.owner = some);
    REFUSED("release", desc.release = end_nothing);
    REFUSED("extra_nbytes", desc.extra_nbytes = 8);
    REFUSED("storage", desc.storage = some);
    REFUSED("storage", desc.storage_nbytes = 8);
    REFUSED("allocator", desc.allocator = &allocator);
    REFUSED("alignment_bytes", desc.alignment_bytes = 8);
#define REFUSED_BY_ALLOC(name, set)                                                                                    \
    desc = plain;                                                                                                      \
    set;                                                                                                               \
    assert_fails(DLPARK_E_ARGUMENT, "desc->" name " is given",                                                         \
                 dlpark_opencl_alloc(&opencl, &tensor, context, &desc, NULL, e))
    REFUSED_BY_ALLOC("byte_offset", desc.byte_offset = 8);
    REFUSED_BY_ALLOC("strides", desc.strides = DLPARK_DIMS(strides));
    REFUSED_BY_ALLOC("strides", desc.strides_borrowed = some);
    REFUSED_BY_ALLOC("flags", desc.flags = DLPARK_TENSOR_READ_ONLY);
    desc = plain;
    desc.flags = 0x100;
    assert_fails(DLPARK_E_FLAGS, "flags 0x100", dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    (void)clReleaseMemObject(mem);
}

/* A caller whose header is older or newer. */
static void descriptions_of_other_sizes_are_read(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 18);
    struct {
        dlpark_tensor_desc desc;
        uint64_t later;
    } newer = {opencl_made_desc(shape, strides, 0), 0};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_opencl_view_sized(&opencl, &view, mem, &newer.desc, sizeof newer, e));
    assert_ok(dlpark_opencl_view_sized(&opencl, &view, mem, &newer.desc, offsetof(dlpark_tensor_desc, storage), e));
    newer.later = 1;
    assert_fails(DLPARK_E_ARGUMENT, "uses a field at byte",
                 dlpark_opencl_import_sized(&opencl, &tensor, &mem, &newer.desc, sizeof newer, &view, e));
    assert_fails(DLPARK_E_ARGUMENT, "uses a field at byte",
                 dlpark_opencl_alloc_sized(&opencl, &tensor, context, &newer.desc, sizeof newer, &view, e));
    (void)clReleaseMemObject(mem);
}

/* ---- Who ends the buffer ---- */

static void import_takes_one_reference(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 18), *same = mem;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, &view, e));
    assert_null(mem);
    assert_int_equal(fakeopencl_references(same), 1);
    assert_ok(dlpark_view_slice(&view, 0, 1, 2, 1, e));
    assert_int_equal(view.byte_offset, 6);
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(fakeopencl_references(same), 1);
    dlpark_tensor_release(&part);
    assert_int_equal(fakeopencl_live(), live_before);
}

static void share_adds_one_reference(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 18);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);

    (void)state;
    assert_ok(dlpark_opencl_share(&opencl, &tensor, mem, &desc, NULL, e));
    assert_int_equal(fakeopencl_references(mem), 2);
    (void)clReleaseMemObject(mem);
    assert_int_equal(fakeopencl_references(mem), 1);
    DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);
    assert_ptr_equal(handed->dl_tensor.data, mem);
    handed->deleter(handed);
}

static void alloc_owns_memory_of_its_own(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, NULL, 0);
    dlpark_view view;

    (void)state;
    desc.dtype = DLPARK_F32;
    assert_ok(dlpark_opencl_alloc(&opencl, &tensor, context, &desc, &view, e));
    assert_int_equal(fakeopencl_live(), live_before + 1);
    assert_ptr_equal(view.data, tensor.managed->dl_tensor.data);
    assert_int_equal(fakeopencl_references(view.data), 1);
    assert_int_equal(view.strides[0], 6);
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    memset(fakeopencl_bytes(view.data), 1, 72);
    dlpark_tensor_release(&tensor);
    assert_ok(dlpark_opencl_alloc(&opencl, &tensor, context, &desc, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "release", dlpark_opencl_alloc(&opencl, &tensor, context, &desc, NULL, e));
    dlpark_tensor_release(&tensor);

    desc.shape = DLPARK_DIMS((const int64_t[]){INT64_C(1) << 30, INT64_C(1) << 30});
    assert_fails(DLPARK_E_MEMORY, "", dlpark_opencl_alloc(&opencl, &tensor, context, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "context is NULL", dlpark_opencl_alloc(&opencl, &tensor, NULL, &desc, NULL, e));
    desc.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_fails(DLPARK_E_DEVICE, "device is cuda:0", dlpark_opencl_alloc(&opencl, &tensor, context, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_opencl_alloc(&opencl, NULL, context, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "opencl is NULL", dlpark_opencl_alloc(NULL, &tensor, context, &desc, NULL, e));
    assert_null(tensor.managed);
}

/* There is no buffer of 0 bytes; one that was given is kept all the same. */
static void without_elements_there_is_no_buffer(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 4), *same = mem;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc((const int64_t[]){0, 6}, NULL, 0);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_opencl_alloc(&opencl, &tensor, context, &desc, &view, e));
    assert_null(view.data);
    assert_int_equal(view.device.device_type, kDLOpenCL);
    dlpark_tensor_release(&tensor);
    desc.byte_offset = 400;
    assert_ok(dlpark_opencl_view(&opencl, &view, mem, &desc, e));
    assert_null(view.data);
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, &view, e));
    assert_null(view.data);
    assert_int_equal(fakeopencl_references(same), 1);
    dlpark_tensor_release(&tensor);
}

/* ---- Failures ---- */

typedef dlpark_status way(dlpark_tensor *tensor, struct _cl_mem **mem, dlpark_error *err);

static dlpark_status by_import(dlpark_tensor *tensor, struct _cl_mem **mem, dlpark_error *err)
{
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);

    return dlpark_opencl_import(&opencl, tensor, mem, &desc, NULL, err);
}

static dlpark_status by_share(dlpark_tensor *tensor, struct _cl_mem **mem, dlpark_error *err)
{
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);

    return dlpark_opencl_share(&opencl, tensor, *mem, &desc, NULL, err);
}

static dlpark_status by_alloc(dlpark_tensor *tensor, struct _cl_mem **mem, dlpark_error *err)
{
    dlpark_tensor_desc desc = opencl_made_desc(shape, NULL, 0);

    (void)mem;
    return dlpark_opencl_alloc(&opencl, tensor, context, &desc, NULL, err);
}

static dlpark_status by_view(dlpark_tensor *tensor, struct _cl_mem **mem, dlpark_error *err)
{
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);
    dlpark_view view;

    (void)tensor;
    return dlpark_opencl_view(&opencl, &view, *mem, &desc, err);
}

static way *const ways[] = {by_import, by_share, by_alloc, by_view};

/* One that is made to fail leaves everything as it was. `nth` 0: the allocation fails; else that call of OpenCL. */
static void check_failed(way *make, long nth)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 18), *same = mem;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    long blocks = failing_alloc_live(), objects = fakeopencl_live();
    dlpark_error err;

    failing_alloc_arm(nth == 0);
    fakeopencl_fail(nth, -5);
    dlpark_status status = make(&tensor, &mem, &err);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    if (nth > 0) {
        assert_non_null(strstr(err.message, fakeopencl_failed()));
        assert_non_null(strstr(err.message, "CL_OUT_OF_RESOURCES (-5)"));
    }
    assert_null(tensor.managed);
    assert_ptr_equal(mem, same);
    assert_int_equal(fakeopencl_references(mem), 1);
    assert_int_equal(failing_alloc_live(), blocks);
    assert_int_equal(fakeopencl_live(), objects);
    fakeopencl_fail(0, 0);
    (void)clReleaseMemObject(mem);
}

static void each_call_and_each_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 18), *same = mem;
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        fakeopencl_fail(0, 0);
        failing_alloc_arm(0);
        assert_ok(ways[i](&tensor, &mem, e));
        long calls = fakeopencl_calls(), allocations = failing_alloc_count();
        assert_true(calls >= 3);
        assert_int_equal(allocations, ways[i] == by_view ? 0 : 1);
        dlpark_tensor_release(&tensor);
        if (ways[i] != by_import)
            (void)clReleaseMemObject(same);
        for (long nth = allocations > 0 ? 0 : 1; nth <= calls; nth++)
            check_failed(ways[i], nth);
    }
}

static void outputs_and_arguments_are_looked_at(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 18), *none = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "mem is NULL", dlpark_opencl_import(&opencl, &tensor, NULL, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "mem is NULL", dlpark_opencl_import(&opencl, &tensor, &none, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_opencl_import(&opencl, NULL, &mem, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "mem is NULL", dlpark_opencl_share(&opencl, &tensor, NULL, &desc, NULL, e));
    assert_ok(dlpark_opencl_share(&opencl, &tensor, mem, &desc, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "release", dlpark_opencl_share(&opencl, &tensor, mem, &desc, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "release", dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    (void)clReleaseMemObject(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPENCL_TEST(a_view_is_the_handle_and_an_offset),
        OPENCL_TEST(what_kernels_may_only_read_is_read_only),
        OPENCL_TEST(elements_outside_of_the_buffer_are_refused),
        OPENCL_TEST(a_sub_buffer_is_a_buffer_of_its_own_size),
        OPENCL_TEST(what_is_no_buffer_is_refused),
        OPENCL_TEST(the_device_is_one_of_the_context),
        OPENCL_TEST(fields_without_a_use_are_refused),
        OPENCL_TEST(descriptions_of_other_sizes_are_read),
        OPENCL_TEST(import_takes_one_reference),
        OPENCL_TEST(share_adds_one_reference),
        OPENCL_TEST(alloc_owns_memory_of_its_own),
        OPENCL_TEST(without_elements_there_is_no_buffer),
        OPENCL_TEST(each_call_and_each_allocation_may_fail),
        OPENCL_TEST(outputs_and_arguments_are_looked_at),
    };

    return cmocka_run_group_tests(tests, opencl_made_open, opencl_made_close);
}
