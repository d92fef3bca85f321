/*
 * Tensors as buffers: which object is given out, where element 0 is in it, and that its last reference ends the tensor
 * once. Deleters are counted.
 */
#include "opencl_made.h"

#include <pthread.h>
#include <stdlib.h>

#include "failing_alloc.h"

static const int64_t shape[] = {3, 6}, strides[] = {8, 1};
static int ended;

static void count_end(void *owner)
{
    (void)owner;
    ended++;
}

/* A tensor of somebody else's on a buffer: what it does in its deleter is not known. */
static void make_foreign(dlpark_tensor *tensor, struct _cl_mem *mem, uint64_t byte_offset, uint64_t flags)
{
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, byte_offset);

    ended = 0;
    desc.data = mem;
    desc.device = DLPARK_DEVICE(kDLOpenCL, 1);
    desc.flags = flags;
    desc.release = count_end;
    assert_ok(dlpark_tensor_new(tensor, &desc, NULL, e));
}

static void make_host(dlpark_tensor *tensor, unsigned char *bytes, const int64_t *with, uint64_t byte_offset,
                      uint64_t flags)
{
    dlpark_tensor_desc desc = opencl_made_desc(shape, with, byte_offset);

    ended = 0;
    desc.data = bytes;
    desc.flags = flags;
    desc.release = count_end;
    assert_ok(dlpark_tensor_new(tensor, &desc, NULL, e));
}

/* ---- Borrowed ---- */

static void a_buffer_is_borrowed(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 64);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
    dlpark_opencl none = DLPARK_OPENCL_EMPTY;
    dlpark_view view;
    dlpark_error err;
    unsigned char bytes[64];

    (void)state;
    make_foreign(&tensor, mem, 40, 0);
    dlpark_tensor_view(&tensor, &view);
    assert_ptr_equal(dlpark_opencl_borrow(&opencl, &view, NULL), mem);
    view.byte_offset = 43;
    assert_null(dlpark_opencl_borrow(&opencl, &view, &err));
    assert_int_equal(err.status, DLPARK_E_LAYOUT);
    assert_string_equal(err.message, "the elements are the bytes 43 to 65, and the buffer has 64");
    assert_null(dlpark_opencl_borrow(&none, &view, &err));
    assert_int_equal(err.status, DLPARK_E_ARGUMENT);
    assert_null(dlpark_opencl_borrow(&opencl, NULL, &err));
    assert_string_equal(err.message, "view is NULL");
    fakeopencl_fail(1, -38);
    assert_null(dlpark_opencl_borrow(&opencl, &view, &err));
    assert_string_equal(err.message, "clGetMemObjectInfo: CL_INVALID_MEM_OBJECT (-38)");
    view.shape[0] = 0;
    view.data = NULL;
    assert_null(dlpark_opencl_borrow(&opencl, &view, &err));
    assert_int_equal(err.status, DLPARK_E_SHAPE);
    assert_string_equal(err.message, "shape [0, 6] has no elements, and OpenCL no buffer of 0 bytes");
    make_host(&host, bytes, strides, 0, 0);
    dlpark_tensor_view(&host, &view);
    assert_null(dlpark_opencl_borrow(&opencl, &view, &err));
    assert_int_equal(err.status, DLPARK_E_DEVICE);
    assert_string_equal(err.message, "the tensor is on cpu, expected opencl");
    dlpark_tensor_release(&host);
    dlpark_tensor_release(&tensor);
    (void)clReleaseMemObject(mem);
}

/* ---- The buffer itself ---- */

static void the_only_tensor_of_a_buffer_is_the_buffer(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 64), *same = mem;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 5);
    uint64_t byte_offset = 0;

    (void)state;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &mem, &byte_offset, &tensor, NULL, e));
    assert_ptr_equal(mem, same);
    assert_int_equal(byte_offset, 5);
    assert_null(tensor.managed);
    assert_int_equal(fakeopencl_references(mem), 1);

    desc.byte_offset = 0;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &mem, NULL, &tensor, context, e));
    assert_ptr_equal(mem, same);

    /* Read-only passes as it is where kernels may only read the buffer already. */
    desc.flags = DLPARK_TENSOR_READ_ONLY;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &mem, &byte_offset, &tensor, NULL, e));
    assert_ptr_not_equal(mem, same);
    (void)clReleaseMemObject(mem);
    mem = same = opencl_made_buffer(CL_READ_ONLY, 64);
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &mem, &byte_offset, &tensor, NULL, e));
    assert_ptr_equal(mem, same);
    (void)clReleaseMemObject(mem);
}

/* ---- A sub-buffer ---- */

static void any_other_tensor_is_a_sub_buffer(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 600), *given = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    uint64_t byte_offset = 77;

    (void)state;
    make_foreign(&tensor, mem, 300, 0);
    assert_fails(DLPARK_E_ALIGNMENT,
                 "element 0 would be at byte 44 of the buffer, as buffers begin at multiples of 128 bytes",
                 dlpark_opencl_export(&opencl, &given, NULL, &tensor, NULL, e));
    assert_null(given);
    assert_ok(dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, NULL, e));
    assert_null(tensor.managed);
    assert_int_equal(byte_offset, 44);
    assert_ptr_equal(fakeopencl_bytes(given) + 44, fakeopencl_bytes(mem) + 300);
    (void)clReleaseMemObject(mem); /* the tensor's own reference would be this one */
    assert_int_equal(ended, 0);
    (void)clReleaseMemObject(given);
    assert_int_equal(ended, 1);

    mem = opencl_made_buffer(CL_READ_WRITE, 600);
    given = NULL;
    make_foreign(&tensor, mem, 256, 0);
    assert_ok(dlpark_opencl_export(&opencl, &given, NULL, &tensor, NULL, e));
    assert_ptr_equal(fakeopencl_bytes(given), fakeopencl_bytes(mem) + 256);
    (void)clReleaseMemObject(given);
    assert_int_equal(ended, 1);
    (void)clReleaseMemObject(mem);
}

/* The sub-buffer begins before the element of the lowest address, which may be the last. */
static void negative_strides_have_an_offset(void **state)
{
    static const int64_t backwards[] = {-8, 1};
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 600), *given = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, backwards, 150); /* the bytes 134 to 156 */
    uint64_t byte_offset = 0;

    (void)state;
    desc.data = mem;
    desc.device = DLPARK_DEVICE(kDLOpenCL, 1);
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, NULL, e));
    assert_ptr_equal(fakeopencl_bytes(given) + byte_offset, fakeopencl_bytes(mem) + 150);
    assert_int_equal(byte_offset, 22);
    (void)clReleaseMemObject(given);
    (void)clReleaseMemObject(mem);
}

static void of_a_sub_buffer_the_parent_is_cut(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 1024), *part = opencl_made_part(mem, 256, 600);
    struct _cl_mem *given = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    uint64_t byte_offset = 0;

    (void)state;
    make_foreign(&tensor, part, 140, 0);
    assert_ok(dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, NULL, e));
    assert_int_equal(byte_offset, 12);
    assert_ptr_equal(fakeopencl_bytes(given) + 12, fakeopencl_bytes(mem) + 256 + 140);
    (void)clReleaseMemObject(given);
    assert_int_equal(ended, 1);
    (void)clReleaseMemObject(part);
    (void)clReleaseMemObject(mem);
}

/* Of a share too, whose other owners would see the buffer go. */
static void a_shared_tensor_is_a_sub_buffer(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 64), *same = mem;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);

    (void)state;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &mem, NULL, &tensor, NULL, e));
    assert_ptr_not_equal(mem, same);
    dlpark_tensor_release(&part);
    assert_int_equal(fakeopencl_references(same), 2); /* the tensor's, and the sub-buffer's */
    (void)clReleaseMemObject(mem);
    assert_int_equal(fakeopencl_live(), live_before);
}

/* The fake refuses to cut what kernels may write from what they may only read. */
static void read_only_travels(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_ONLY, 64), *given = NULL, *part = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);
    unsigned char bytes[64];
    dlpark_view view;

    (void)state;
    make_foreign(&tensor, mem, 0, DLPARK_TENSOR_READ_ONLY);
    assert_ok(dlpark_opencl_export(&opencl, &given, NULL, &tensor, NULL, e));
    assert_ok(dlpark_opencl_view(&opencl, &view, given, &desc, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    (void)clReleaseMemObject(given);
    (void)clReleaseMemObject(mem);

    make_host(&tensor, bytes, strides, 0, DLPARK_TENSOR_READ_ONLY);
    assert_ok(dlpark_opencl_export(&opencl, &part, NULL, &tensor, context, e));
    assert_ok(dlpark_opencl_view(&opencl, &view, part, &desc, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    (void)clReleaseMemObject(part);
    assert_int_equal(ended, 1);
}

static void end_legacy(DLManagedTensor *legacy)
{
    (void)legacy;
    ended++;
}

/* Nobody said that it may be written. */
static void legacy_tensors_are_read_only(void **state)
{
    unsigned char bytes[18];
    int64_t their_shape[] = {3, 6};
    DLManagedTensor legacy = {.dl_tensor = {bytes, {kDLCPU, 0}, 2, DLPARK_U8, their_shape, NULL, 0},
                              .deleter = end_legacy};
    DLManagedTensor *theirs = &legacy;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, NULL, 0);
    struct _cl_mem *given = NULL;
    dlpark_view view;

    (void)state;
    ended = 0;
    assert_ok(dlpark_tensor_import_legacy(&tensor, &theirs, NULL, e));
    assert_ok(dlpark_opencl_export(&opencl, &given, NULL, &tensor, context, e));
    assert_ok(dlpark_opencl_view(&opencl, &view, given, &desc, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    (void)clReleaseMemObject(given);
    assert_int_equal(ended, 1);
}

/* ---- Memory of the host ---- */

static void memory_of_the_host_is_used_as_it_is(void **state)
{
    static const int64_t backwards[] = {-8, 1};
    unsigned char bytes[64];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct _cl_mem *given = NULL;
    uint64_t byte_offset = 77;

    (void)state;
    make_host(&tensor, bytes, strides, 3, 0);
    assert_ok(dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, context, e));
    assert_null(tensor.managed);
    assert_int_equal(byte_offset, 0);
    assert_ptr_equal(fakeopencl_bytes(given), bytes + 3);
    assert_int_equal(ended, 0);
    (void)clReleaseMemObject(given);
    assert_int_equal(ended, 1);

    given = NULL;
    make_host(&tensor, bytes, backwards, 16, 0);
    assert_fails(DLPARK_E_ALIGNMENT, "element 0 would be at byte 16 of the buffer",
                 dlpark_opencl_export(&opencl, &given, NULL, &tensor, context, e));
    assert_ok(dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, context, e));
    assert_int_equal(byte_offset, 16);
    assert_ptr_equal(fakeopencl_bytes(given), bytes);
    (void)clReleaseMemObject(given);
    assert_int_equal(ended, 1);
}

static void *release_there(void *mem)
{
    (void)clReleaseMemObject(mem);
    return NULL;
}

static void another_thread_may_end_it(void **state)
{
    unsigned char bytes[64];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct _cl_mem *given = NULL;
    pthread_t thread;

    (void)state;
    make_host(&tensor, bytes, strides, 0, 0);
    assert_ok(dlpark_opencl_export(&opencl, &given, NULL, &tensor, context, e));
    assert_int_equal(pthread_create(&thread, NULL, release_there, given), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ended, 1);
}

/* ---- Failures ---- */

static void what_cannot_be_given_out_is_refused(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 64), *given = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, empty = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);
    unsigned char bytes[64];
    uint64_t byte_offset;

    (void)state;
    make_host(&tensor, bytes, strides, 0, 0);
    assert_fails(DLPARK_E_ARGUMENT, "context is NULL, and the tensor on cpu has none",
                 dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already", dlpark_opencl_export(&opencl, &mem, &byte_offset, &tensor, context, e));
    assert_fails(DLPARK_E_ARGUMENT, "mem is NULL", dlpark_opencl_export(&opencl, NULL, NULL, &tensor, context, e));
    assert_fails(DLPARK_E_ARGUMENT, "opencl is NULL", dlpark_opencl_export(NULL, &given, NULL, &tensor, context, e));
    assert_fails(DLPARK_E_ARGUMENT, "is empty", dlpark_opencl_export(&opencl, &given, NULL, &empty, context, e));
    assert_fails(DLPARK_E_ARGUMENT, "is empty", dlpark_opencl_export(&opencl, &given, NULL, NULL, context, e));
    dlpark_tensor_release(&tensor);

    make_foreign(&tensor, mem, 43, 0);
    assert_fails(DLPARK_E_LAYOUT, "bytes 43 to 65, and the buffer has 64",
                 dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, NULL, e));
    dlpark_tensor_release(&tensor);
    make_foreign(&tensor, mem, 0, 0);
    assert_fails(DLPARK_E_DEVICE, "and asked for in",
                 dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, other_context, e));
    dlpark_tensor_release(&tensor);

    desc.data = bytes;
    desc.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_DEVICE, "the tensor is on cuda:0",
                 dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, context, e));
    dlpark_tensor_release(&tensor);
    desc = opencl_made_desc((const int64_t[]){3, 0}, NULL, 0);
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_SHAPE, "shape [3, 0] has no elements",
                 dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, context, e));
    dlpark_tensor_release(&tensor);
    (void)clReleaseMemObject(mem);
}

/* Which tensor is to be given out: one of the host's, of a sub-buffer's, or a read-only one of ours. */
static void make_case(int which, dlpark_tensor *tensor, struct _cl_mem **part, unsigned char *bytes)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 64);
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, 0);

    desc.flags = DLPARK_TENSOR_READ_ONLY;
    *part = which == 1 ? opencl_made_part(mem, 0, 64) : NULL;
    if (which == 0)
        make_host(tensor, bytes, strides, 0, 0);
    else if (which == 1)
        make_foreign(tensor, *part, 0, 0);
    else
        assert_ok(dlpark_opencl_share(&opencl, tensor, mem, &desc, NULL, e));
    (void)clReleaseMemObject(mem);
}

static void each_call_may_fail(void **state)
{
    unsigned char bytes[64];

    (void)state;
    for (int which = 0; which < 3; which++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        struct _cl_mem *part, *given = NULL;
        uint64_t byte_offset;
        make_case(which, &tensor, &part, bytes);
        long objects = fakeopencl_live();
        for (long nth = 1;; nth++) {
            DLManagedTensorVersioned *before = tensor.managed;
            dlpark_error err;
            fakeopencl_fail(nth, -4);
            dlpark_status status = dlpark_opencl_export(&opencl, &given, &byte_offset, &tensor, context, &err);
            if (fakeopencl_failed() == NULL) {
                assert_int_equal(status, DLPARK_OK);
                assert_true(nth > (which == 0 ? 2 : 10));
                break;
            }
            /* Whether the buffer says READ_ONLY already need not be known: a sub-buffer does then. */
            if (status == DLPARK_OK) {
                assert_int_equal(which, 2);
                (void)clReleaseMemObject(given);
                given = NULL;
                make_case(which, &tensor, &part, bytes);
                continue;
            }
            assert_int_equal(status, DLPARK_E_MEMORY);
            assert_non_null(strstr(err.message, fakeopencl_failed()));
            assert_ptr_equal(tensor.managed, before);
            assert_null(given);
            assert_int_equal(fakeopencl_live(), objects);
        }
        fakeopencl_fail(0, 0);
        (void)clReleaseMemObject(given);
        assert_int_equal(ended, 1);
        if (part != NULL)
            (void)clReleaseMemObject(part);
        assert_int_equal(fakeopencl_live(), live_before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPENCL_TEST(a_buffer_is_borrowed),
        OPENCL_TEST(the_only_tensor_of_a_buffer_is_the_buffer),
        OPENCL_TEST(any_other_tensor_is_a_sub_buffer),
        OPENCL_TEST(negative_strides_have_an_offset),
        OPENCL_TEST(of_a_sub_buffer_the_parent_is_cut),
        OPENCL_TEST(a_shared_tensor_is_a_sub_buffer),
        OPENCL_TEST(read_only_travels),
        OPENCL_TEST(legacy_tensors_are_read_only),
        OPENCL_TEST(memory_of_the_host_is_used_as_it_is),
        OPENCL_TEST(another_thread_may_end_it),
        OPENCL_TEST(what_cannot_be_given_out_is_refused),
        OPENCL_TEST(each_call_may_fail),
    };

    return cmocka_run_group_tests(tests, opencl_made_open, opencl_made_close);
}
