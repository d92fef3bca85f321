/* Mappings: what is in them, what goes back, in which order, and what each failing call leaves behind. */
#include "opencl_made.h"

#include "failing_alloc.h"

static const int64_t shape[] = {3, 6}, strides[] = {8, 1};

static struct _cl_mem *make_tensor(dlpark_tensor *tensor, uint64_t byte_offset, uint64_t flags)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 64), *same = mem;
    dlpark_tensor_desc desc = opencl_made_desc(shape, strides, byte_offset);

    desc.flags = flags;
    assert_ok(dlpark_opencl_import(&opencl, tensor, &mem, &desc, NULL, e));
    return same;
}

/* ---- What is in them ---- */

static void a_mapping_has_the_elements(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    struct _cl_mem *mem = make_tensor(&tensor, 10, 0);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_READ, &view, e));
    assert_string_equal(fakeopencl_log(), "barrier0 map0");
    assert_int_equal(view.device.device_type, kDLCPU);
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_int_equal(view.strides[0], 8);
    assert_int_equal(view.byte_offset, 0);
    for (int64_t i = 0; i < 18; i++)
        assert_int_equal(((unsigned char *)view.data)[i / 6 * 8 + i % 6], 10 + i / 6 * 8 + i % 6);
    dlpark_tensor_release(&tensor); /* the mapping keeps what it needs */
    assert_int_equal(fakeopencl_references(mem), 1);
    dlpark_tensor_release(&mapped);
    assert_string_equal(fakeopencl_log(), "unmap0 barrier0 flush0");
    assert_int_equal(fakeopencl_live(), live_before);
}

static void what_is_written_goes_back(void **state)
{
    static const uint32_t accesses[] = {DLPARK_OPENCL_WRITE, DLPARK_OPENCL_READ | DLPARK_OPENCL_WRITE};

    (void)state;
    for (int i = 0; i < 2; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
        struct _cl_mem *mem = make_tensor(&tensor, 10, 0);
        dlpark_view view;
        assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, accesses[i], &view, e));
        assert_int_equal(view.flags, 0);
        *(unsigned char *)view.data = 200;
        assert_int_equal(fakeopencl_bytes(mem)[10], 10);
        dlpark_tensor_release(&mapped);
        assert_int_equal(fakeopencl_bytes(mem)[10], 200);
        assert_int_equal(fakeopencl_bytes(mem)[16], 16); /* what lies between the rows is as it was */
        dlpark_tensor_release(&tensor);
    }
}

/* Backwards, every second column: element 0 is not the first byte. */
static void a_part_may_be_mapped(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    struct _cl_mem *mem = make_tensor(&tensor, 10, 0);
    dlpark_view part, view;

    (void)state;
    dlpark_tensor_view(&tensor, &part);
    assert_ok(dlpark_view_slice(&part, 0, DLPARK_NONE, DLPARK_NONE, -1, e));
    assert_ok(dlpark_view_slice(&part, 1, 1, DLPARK_NONE, 2, e));
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, &part, queue, DLPARK_OPENCL_WRITE, &view, e));
    assert_int_equal(view.strides[0], -8);
    assert_int_equal(*(unsigned char *)view.data, 10 + 2 * 8 + 1);
    assert_int_equal(((unsigned char *)view.data)[-2 * 8 + 2 * 2], 10 + 1 + 2 * 2);
    *(unsigned char *)view.data = 99;
    dlpark_tensor_release(&mapped);
    assert_int_equal(fakeopencl_bytes(mem)[27], 99);
    dlpark_tensor_release(&tensor);
}

static void discarding_wants_elements_without_gaps(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    struct _cl_mem *mem = make_tensor(&tensor, 0, 0);
    dlpark_view part, view;

    (void)state;
    assert_fails(DLPARK_E_LAYOUT, "the elements have 18 bytes among the 22 that would be discarded",
                 dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_DISCARD, NULL, e));
    dlpark_tensor_view(&tensor, &part);
    assert_ok(dlpark_view_slice(&part, 0, 1, 2, 1, e));
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, &part, queue, DLPARK_OPENCL_DISCARD, &view, e));
    assert_int_equal(*(unsigned char *)view.data, 0xDD);
    memset(view.data, 7, 6);
    dlpark_tensor_release(&mapped);
    assert_int_equal(fakeopencl_bytes(mem)[7], 7);
    assert_int_equal(fakeopencl_bytes(mem)[8], 7);
    assert_int_equal(fakeopencl_bytes(mem)[14], 14);
    dlpark_tensor_release(&tensor);
}

static void without_elements_nothing_is_mapped(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc((const int64_t[]){0, 6}, NULL, 0);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_opencl_alloc(&opencl, &tensor, context, &desc, NULL, e));
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_DISCARD, &view, e));
    assert_int_equal(view.device.device_type, kDLCPU);
    assert_null(view.data);
    assert_int_equal(view.shape[1], 6);
    dlpark_tensor_release(&mapped);
    assert_string_equal(fakeopencl_log(), "");
    dlpark_tensor_release(&tensor);
}

/* A mapped tensor is one like any other, and the last of its shares unmaps. */
static void the_last_share_unmaps(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY, share = DLPARK_TENSOR_EMPTY;

    (void)state;
    (void)make_tensor(&tensor, 0, DLPARK_TENSOR_CLAIM_COPIED);
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_READ, NULL, e));
    assert_int_equal(tensor.managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED, 0);
    assert_ok(dlpark_tensor_share(&share, &mapped, NULL, e));
    (void)fakeopencl_log();
    dlpark_tensor_release(&mapped);
    assert_string_equal(fakeopencl_log(), "");
    DLManagedTensorVersioned *handed = dlpark_tensor_export(&share);
    handed->deleter(handed);
    assert_string_equal(fakeopencl_log(), "unmap0 barrier0 flush0");
    dlpark_tensor_release(&tensor);
}

static void padded_elements_stay_padded(void **state)
{
    struct _cl_mem *mem = opencl_made_buffer(CL_READ_WRITE, 18);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = opencl_made_desc(shape, NULL, 0);
    dlpark_view view;

    (void)state;
    desc.dtype = (DLDataType){kDLUInt, 4, 1};
    desc.flags = DLPARK_TENSOR_PADDED;
    assert_ok(dlpark_opencl_import(&opencl, &tensor, &mem, &desc, NULL, e));
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_DISCARD, &view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_PADDED);
    dlpark_tensor_release(&mapped);
    dlpark_tensor_release(&tensor);
}

/* ---- Refusals ---- */

static void what_may_not_be_written_is_not_mapped_for_it(void **state)
{
    static const uint32_t writing[] = {DLPARK_OPENCL_WRITE, DLPARK_OPENCL_READ | DLPARK_OPENCL_WRITE,
                                       DLPARK_OPENCL_DISCARD};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    dlpark_view part;

    (void)state;
    (void)make_tensor(&tensor, 0, DLPARK_TENSOR_READ_ONLY);
    for (int i = 0; i < 3; i++)
        assert_fails(DLPARK_E_READ_ONLY, "",
                     dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, writing[i], NULL, e));
    dlpark_tensor_view(&tensor, &part);
    part.flags = 0; /* a view that says less than its tensor */
    assert_fails(DLPARK_E_READ_ONLY, "",
                 dlpark_opencl_map(&opencl, &mapped, &tensor, &part, queue, DLPARK_OPENCL_WRITE, NULL, e));
    assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_READ, NULL, e));
    dlpark_tensor_release(&mapped);
    dlpark_tensor_release(&tensor);
}

static void arguments_are_looked_at(void **state)
{
    static const uint32_t wrong[] = {0, DLPARK_OPENCL_READ | DLPARK_OPENCL_DISCARD, 8, UINT32_MAX};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
    struct _cl_mem *mem = make_tensor(&tensor, 0, 0);
    dlpark_tensor_desc desc = opencl_made_desc(shape, NULL, 0);
    uint32_t read = DLPARK_OPENCL_READ;
    dlpark_view part;

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_fails(DLPARK_E_ARGUMENT, "expected READ (0x1)",
                     dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, wrong[i], NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "opencl is NULL",
                 dlpark_opencl_map(NULL, &mapped, &tensor, NULL, queue, read, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "mapped is NULL",
                 dlpark_opencl_map(&opencl, NULL, &tensor, NULL, queue, read, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "queue is NULL",
                 dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, NULL, read, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "is empty", dlpark_opencl_map(&opencl, &mapped, NULL, NULL, queue, read, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "is empty", dlpark_opencl_map(&opencl, &mapped, &host, NULL, queue, read, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "release",
                 dlpark_opencl_map(&opencl, &tensor, &tensor, NULL, queue, read, NULL, e));
    assert_fails(DLPARK_E_FOREIGN, "clEnqueueMapBuffer: CL_INVALID_CONTEXT (-34)",
                 dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, other_queue, read, NULL, e));
    dlpark_tensor_view(&tensor, &part);
    part.byte_offset = 1;
    assert_fails(DLPARK_E_ARGUMENT, "leaves the tensor's memory",
                 dlpark_opencl_map(&opencl, &mapped, &tensor, &part, queue, read, NULL, e));
    assert_ok(dlpark_tensor_alloc(&host, &desc, NULL, e));
    assert_fails(DLPARK_E_DEVICE, "the tensor is on cpu",
                 dlpark_opencl_map(&opencl, &mapped, &host, NULL, queue, read, NULL, e));
    dlpark_tensor_release(&host);

    /* Somebody else's, that claims more than the buffer has. */
    desc.data = mem;
    desc.byte_offset = 60;
    desc.device = DLPARK_DEVICE(kDLOpenCL, 1);
    assert_ok(dlpark_tensor_new(&host, &desc, NULL, e));
    assert_fails(DLPARK_E_LAYOUT, "the elements are the bytes 60 to 78, and the buffer has 64",
                 dlpark_opencl_map(&opencl, &mapped, &host, NULL, queue, read, NULL, e));
    dlpark_tensor_release(&host);
    dlpark_tensor_release(&tensor);
    assert_null(mapped.managed);
}

static void each_call_and_each_allocation_may_fail(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    struct _cl_mem *mem = make_tensor(&tensor, 0, 0);

    (void)state;
    for (int i = 0; i < 2; i++) { /* a tensor that is shared again and again keeps a part in spare */
        assert_ok(dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_READ, NULL, e));
        dlpark_tensor_release(&mapped);
    }
    for (int memory = 0; memory < 2; memory++) {
        for (long nth = 1;; nth++) {
            long blocks = failing_alloc_live(), objects = fakeopencl_live();
            failing_alloc_arm(memory ? nth : 0);
            fakeopencl_fail(memory ? 0 : nth, -5);
            dlpark_status status =
                dlpark_opencl_map(&opencl, &mapped, &tensor, NULL, queue, DLPARK_OPENCL_READ, NULL, NULL);
            long count = failing_alloc_count();
            failing_alloc_arm(0);
            if (memory ? count < nth : fakeopencl_failed() == NULL) {
                assert_int_equal(status, DLPARK_OK);
                assert_true(nth > (memory ? 1 : 6));
                break;
            }
            assert_int_equal(status, DLPARK_E_MEMORY);
            assert_null(mapped.managed);
            assert_int_equal(failing_alloc_live(), blocks);
            assert_int_equal(fakeopencl_live(), objects);
            assert_int_equal(fakeopencl_references(mem), 1);
        }
        dlpark_tensor_release(&mapped);
    }
    dlpark_tensor_release(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPENCL_TEST(a_mapping_has_the_elements),
        OPENCL_TEST(what_is_written_goes_back),
        OPENCL_TEST(a_part_may_be_mapped),
        OPENCL_TEST(discarding_wants_elements_without_gaps),
        OPENCL_TEST(without_elements_nothing_is_mapped),
        OPENCL_TEST(the_last_share_unmaps),
        OPENCL_TEST(padded_elements_stay_padded),
        OPENCL_TEST(what_may_not_be_written_is_not_mapped_for_it),
        OPENCL_TEST(arguments_are_looked_at),
        OPENCL_TEST(each_call_and_each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, opencl_made_open, opencl_made_close);
}
