#include <pthread.h>

#include "internal.h"
#include "tensor_good.h"

/* A foreign conformant tensor: its own lists, its own deleter. */
static int64_t foreign_shape[] = {2, 3};
static int64_t foreign_strides[] = {3, 1};
static int foreign_ended;

static void foreign_end(DLManagedTensorVersioned *self)
{
    foreign_ended++;
    assert_ptr_equal(self->manager_ctx, values);
}

static DLManagedTensorVersioned foreign_tensor(uint64_t flags)
{
    return (DLManagedTensorVersioned){.version = {1, 0},
                                      .manager_ctx = values,
                                      .deleter = foreign_end,
                                      .flags = flags,
                                      .dl_tensor = {.data = values,
                                                    .device = {kDLCPU, 0},
                                                    .ndim = 2,
                                                    .dtype = {kDLFloat, 32, 1},
                                                    .shape = foreign_shape,
                                                    .strides = foreign_strides}};
}

static dlpark_tensor make_good(dlpark_view *view)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    assert_ok(dlpark_tensor_new(&tensor, &desc, view, e));
    return tensor;
}

static void whole_is_the_same_tensor(void **state)
{
    (void)state;
    dlpark_view before, after;
    dlpark_tensor tensor = make_good(&before), part = DLPARK_TENSOR_EMPTY;

    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    dlpark_tensor_view(&part, &after);
    assert_ptr_equal(after.data, values);
    assert_int_equal(after.ndim, 2);
    assert_memory_equal(after.shape, shape_2x3, sizeof shape_2x3);
    assert_int_equal(after.strides[0], 3);
    assert_int_equal(after.strides[1], 1);
    assert_int_equal(after.flags, 0);
    assert_true(dlpark_dtype_equal(after.dtype, DLPARK_F32));
    assert_ptr_not_equal(part.managed, tensor.managed);
    assert_ptr_not_equal(part.managed->dl_tensor.shape, tensor.managed->dl_tensor.shape);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&part);
    assert_int_equal(ended, 1);
    assert_ptr_equal(ended_owner, values);
}

/* Each of the 24 orders in which four owners, one of them a part of a part, can end. */
static void any_order_of_release_ends_the_owner_once(void **state)
{
    (void)state;
    for (int order = 0; order < 24; order++) {
        dlpark_tensor owners[4] = {make_good(NULL)};
        assert_ok(dlpark_tensor_share(&owners[1], &owners[0], NULL, e));
        assert_ok(dlpark_tensor_share(&owners[2], &owners[1], NULL, e));
        assert_ok(dlpark_tensor_share(&owners[3], &owners[2], NULL, e));
        ended = 0;
        int left = 4, code = order;
        for (; left > 0; left--) {
            int pick = code % left;
            code /= left;
            assert_int_equal(ended, 0);
            dlpark_tensor_release(&owners[pick]);
            owners[pick] = owners[left - 1];
        }
        assert_int_equal(ended, 1);
    }
}

static void part_is_what_the_view_says(void **state)
{
    (void)state;
    dlpark_view view, got;
    dlpark_tensor tensor = make_good(&view), part = DLPARK_TENSOR_EMPTY;

    view.data = values + 1; /* [:, 2:0:-1] of columns 1 and 2 */
    view.data = values + 2;
    view.shape[1] = 2;
    view.strides[1] = -1;
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    dlpark_tensor_release(&tensor);
    DLManagedTensorVersioned *handed = dlpark_tensor_export(&part);
    assert_int_equal(handed->version.major, DLPARK_ABI_MAJOR);
    assert_int_equal(handed->flags, 0);
    assert_ptr_equal(handed->dl_tensor.data, values + 2);
    assert_int_equal(handed->dl_tensor.byte_offset, 0);
    assert_int_equal(handed->dl_tensor.shape[0], 2);
    assert_int_equal(handed->dl_tensor.shape[1], 2);
    assert_int_equal(handed->dl_tensor.strides[0], 3);
    assert_int_equal(handed->dl_tensor.strides[1], -1);
    assert_int_equal(ended, 0);
    handed->deleter(handed);
    assert_int_equal(ended, 1);

    tensor = make_good(&view);
    view.ndim = 0; /* one element */
    view.data = values + 5;
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_int_equal(part.managed->dl_tensor.ndim, 0);
    assert_null(part.managed->dl_tensor.shape);
    dlpark_tensor_view(&part, &got);
    assert_ptr_equal(got.data, values + 5);
    dlpark_tensor_release(&part);
    dlpark_tensor_release(&tensor);
}

static void no_elements_are_inside_anything(void **state)
{
    (void)state;
    dlpark_view view;
    dlpark_tensor tensor = make_good(&view), part = DLPARK_TENSOR_EMPTY;
    dlpark_tensor none = DLPARK_TENSOR_EMPTY;

    dlpark_view whole = view;
    view.shape[0] = 0;
    view.data = NULL;
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_null(part.managed->dl_tensor.data);
    dlpark_tensor_release(&part);
    view.device = DLPARK_DEVICE(kDLCUDA, 3);
    assert_fails(DLPARK_E_ARGUMENT, "cuda:3", dlpark_tensor_share(&part, &tensor, &view, e));
    dlpark_tensor_release(&tensor);

    dlpark_tensor_desc desc = good();
    desc.shape = DLPARK_DIMS((int[]){0, 3});
    assert_ok(dlpark_tensor_new(&none, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "the view has elements, and the tensor none",
                 dlpark_tensor_share(&part, &none, &whole, e));
    assert_null(part.managed);
    dlpark_tensor_release(&none);
}

static void sharing_ends_is_copied(void **state)
{
    (void)state;
    dlpark_tensor part = DLPARK_TENSOR_EMPTY, tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = {.dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int[]){4})};

    assert_ok(dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    assert_int_equal(tensor.managed->flags, 0);
    assert_int_equal(part.managed->flags, 0);
    dlpark_tensor_release(&tensor);
    memset(part.managed->dl_tensor.data, 1, 16); /* still there */
    dlpark_tensor_release(&part);
}

static void foreign_tensor_is_boxed_and_not_written(void **state)
{
    (void)state;
    DLManagedTensorVersioned theirs = foreign_tensor(DLPACK_FLAG_BITMASK_IS_COPIED);
    DLManagedTensorVersioned before = theirs, *given = &theirs;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY, other = DLPARK_TENSOR_EMPTY;

    foreign_ended = 0;
    assert_ok(dlpark_tensor_import(&tensor, &given, NULL, e));
    assert_ptr_equal(tensor.managed, &theirs);
    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    assert_memory_equal(&theirs, &before, sizeof theirs);
    assert_ptr_not_equal(tensor.managed, &theirs);
    assert_int_equal(tensor.managed->flags, 0);
    assert_ptr_equal(tensor.managed->dl_tensor.shape, foreign_shape);
    assert_ok(dlpark_tensor_share(&other, &tensor, NULL, e)); /* boxed once */
    dlpark_tensor_release(&tensor);
    dlpark_tensor_release(&part);
    assert_int_equal(foreign_ended, 0);
    dlpark_tensor_release(&other);
    assert_int_equal(foreign_ended, 1);
}

static void read_only_is_inherited(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    dlpark_view view, got;

    desc.flags = DLPARK_TENSOR_READ_ONLY;
    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    view.flags = DLPARK_VIEW_UNKNOWN_WRITE; /* as a view of the raw tensor would have it */
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    dlpark_tensor_view(&part, &got);
    assert_int_equal(got.flags, DLPARK_VIEW_READ_ONLY);
    dlpark_tensor_release(&part);
    dlpark_tensor_release(&tensor);

    tensor = make_good(&view);
    view.flags |= DLPARK_VIEW_READ_ONLY; /* a part may promise less than the whole */
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_int_equal(part.managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_int_equal(tensor.managed->flags, 0);
    dlpark_tensor_release(&part);
    dlpark_tensor_release(&tensor);
}

static void legacy_end_nothing(DLManagedTensor *self)
{
    (void)self;
    ended++;
}

static void unknown_write_is_inherited_until_it_is_allowed(void **state)
{
    (void)state;
    DLManagedTensor theirs = {.dl_tensor = foreign_tensor(0).dl_tensor, .deleter = legacy_end_nothing},
                    *given = &theirs;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_view view, got;

    assert_ok(dlpark_tensor_import_legacy(&tensor, &given, &view, e));
    for (int i = 0; i < 4; i++) { /* the whole, as a view and as such */
        assert_ok(dlpark_tensor_share(&part, &tensor, i == 0 ? &view : NULL, e));
        assert_int_equal(part.managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY); /* what others are told */
        dlpark_tensor_view(&part, &got);
        assert_int_equal(got.flags, DLPARK_VIEW_UNKNOWN_WRITE);
        dlpark_tensor_release(&part);
    }

    assert_ok(dlpark_view_allow_write(&view, e));
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_int_equal(part.managed->flags, 0);
    dlpark_tensor_view(&part, &got);
    assert_int_equal(got.flags, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&part);
    assert_int_equal(ended, 1);
}

static void view_must_lie_inside(void **state)
{
    (void)state;
    dlpark_view view;
    dlpark_tensor tensor = make_good(&view), part = DLPARK_TENSOR_EMPTY;
    dlpark_view good_view = view;

    view.data = values + 1;
    assert_fails(DLPARK_E_ARGUMENT, "leaves the tensor's memory", dlpark_tensor_share(&part, &tensor, &view, e));
    view = good_view;
    view.strides[1] = -1; /* before element 0 */
    assert_fails(DLPARK_E_ARGUMENT, "leaves the tensor's memory (bytes 0x",
                 dlpark_tensor_share(&part, &tensor, &view, e));
    view = good_view;
    view.device = DLPARK_DEVICE(kDLCUDAHost, 0);
    assert_fails(DLPARK_E_ARGUMENT, "the view is on cuda_host, and the tensor on cpu",
                 dlpark_tensor_share(&part, &tensor, &view, e));
    view.device = DLPARK_DEVICE(kDLCPU, 1);
    assert_fails(DLPARK_E_ARGUMENT, "the view is on cpu:1, and the tensor on cpu",
                 dlpark_tensor_share(&part, &tensor, &view, e));
    view = good_view;
    view.dtype = DLPARK_I4;
    view.bit_offset = 4;
    assert_fails(DLPARK_E_LAYOUT, "bit 4", dlpark_tensor_share(&part, &tensor, &view, e));
    assert_null(part.managed);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

/* A view is a struct that anybody can fill: what is in it is a claim. */
static void view_is_checked_as_a_tensor(void **state)
{
    (void)state;
    dlpark_view good_view, view;
    dlpark_tensor tensor = make_good(&good_view), part = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *before = tensor.managed;
    static const struct {
        size_t at;
        int64_t value;
        int nbytes;
        dlpark_status status;
        const char *text;
    } cases[] = {
        {offsetof(dlpark_view, ndim), 65, 4, DLPARK_E_RANK, "ndim is 65"},
        {offsetof(dlpark_view, ndim), -1, 4, DLPARK_E_RANK, "ndim is -1"},
        {offsetof(dlpark_view, ndim), INT32_MAX, 4, DLPARK_E_RANK, "ndim is 2147483647"},
        {offsetof(dlpark_view, shape), -2, 8, DLPARK_E_SHAPE, "shape[0] is -2"},
        {offsetof(dlpark_view, shape), INT64_MAX, 8, DLPARK_E_OVERFLOW, "element count"},
        {offsetof(dlpark_view, strides), INT64_MAX, 8, DLPARK_E_OVERFLOW, "strides[0]"},
        {offsetof(dlpark_view, strides), INT64_MIN, 8, DLPARK_E_OVERFLOW, "strides[0]"},
        {offsetof(dlpark_view, byte_offset), -1, 8, DLPARK_E_OVERFLOW, "byte_offset"},
        {offsetof(dlpark_view, dtype) + offsetof(DLDataType, lanes), 0, 2, DLPARK_E_DTYPE, "0 lanes"},
        {offsetof(dlpark_view, device), 5, 4, DLPARK_E_DEVICE, "device type 5"},
        {offsetof(dlpark_view, data), 0, sizeof(void *), DLPARK_E_DATA, "data is NULL"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        view = good_view;
        int16_t two = (int16_t)cases[i].value;
        int32_t four = (int32_t)cases[i].value;
        const void *from = cases[i].nbytes == 2   ? (const void *)&two
                           : cases[i].nbytes == 4 ? (const void *)&four
                                                  : &cases[i].value;
        memcpy((unsigned char *)&view + cases[i].at, from, (size_t)cases[i].nbytes);
        assert_fails(cases[i].status, cases[i].text, dlpark_tensor_share(&part, &tensor, &view, e));
    }
    assert_null(part.managed);
    assert_ptr_equal(tensor.managed, before);
    view = good_view; /* flags that nobody knows are not taken over */
    view.flags = UINT32_MAX & ~(DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE);
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_int_equal(part.managed->flags, 0);
    dlpark_tensor_release(&part);
    view = good_view; /* no elements, and garbage in the rest */
    view.shape[1] = 0;
    view.data = (void *)(uintptr_t)8;
    view.byte_offset = UINT64_MAX;
    view.strides[0] = view.strides[1] = INT64_MIN;
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_null(part.managed->dl_tensor.data);
    assert_int_equal(part.managed->dl_tensor.byte_offset, 0);
    assert_int_equal(part.managed->dl_tensor.strides[0], 1);
    assert_int_equal(part.managed->dl_tensor.strides[1], 1);
    dlpark_tensor_release(&part);
    dlpark_tensor_release(&tensor);
}

/* An offset that somebody left beside an address is added to it, as for any tensor. */
static void offset_of_a_view_is_folded(void **state)
{
    (void)state;
    dlpark_view view;
    dlpark_tensor tensor = make_good(&view), part = DLPARK_TENSOR_EMPTY;

    view.byte_offset = 12;
    view.shape[0] = 1;
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_ptr_equal(part.managed->dl_tensor.data, values + 3);
    assert_int_equal(part.managed->dl_tensor.byte_offset, 0);
    dlpark_tensor_release(&part);
    dlpark_tensor_release(&tensor);
}

static void handles_are_compared_by_offset(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    dlpark_view view, whole;

    desc.device = DLPARK_DEVICE(kDLOpenCL, 0);
    desc.byte_offset = 8;
    assert_ok(dlpark_tensor_new(&tensor, &desc, &whole, e));
    view = whole;
    view.byte_offset = 20; /* the second row */
    view.shape[0] = 1;
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_int_equal(part.managed->dl_tensor.byte_offset, 20);
    assert_ptr_equal(part.managed->dl_tensor.data, values);
    dlpark_tensor_release(&part);
    view.byte_offset = 4;
    assert_fails(DLPARK_E_ARGUMENT, "0x4 to 0x10", dlpark_tensor_share(&part, &tensor, &view, e));
    view.byte_offset = 24;
    assert_fails(DLPARK_E_ARGUMENT, "0x18 to 0x24", dlpark_tensor_share(&part, &tensor, &view, e));
    view = whole;
    view.data = values + 1; /* another handle */
    char text[120];
    snprintf(text, sizeof text, "the view is of handle %p on opencl:0, and the tensor of %p", view.data, whole.data);
    assert_fails(DLPARK_E_ARGUMENT, text, dlpark_tensor_share(&part, &tensor, &view, e));
    dlpark_tensor_release(&tensor);
}

static void arguments_are_looked_at(void **state)
{
    (void)state;
    dlpark_tensor tensor = make_good(NULL), part = DLPARK_TENSOR_EMPTY, empty = DLPARK_TENSOR_EMPTY;

    assert_fails(DLPARK_E_ARGUMENT, "part is NULL", dlpark_tensor_share(NULL, &tensor, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_tensor_share(&part, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "empty", dlpark_tensor_share(&part, &empty, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "release or export", dlpark_tensor_share(&tensor, &tensor, NULL, e));
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&tensor);
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    DLManagedTensorVersioned theirs = foreign_tensor(DLPACK_FLAG_BITMASK_IS_COPIED), *given = &theirs;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;

    foreign_ended = 0;
    assert_ok(dlpark_tensor_import(&tensor, &given, NULL, e));
    long live = failing_alloc_live();
    for (long nth = 1; nth <= 2; nth++) {
        dlpark_error err;
        failing_alloc_arm(nth);
        assert_int_equal(dlpark_tensor_share(&part, &tensor, NULL, &err), DLPARK_E_MEMORY);
        assert_int_equal(failing_alloc_count(), nth);
        assert_non_null(strstr(err.message, "rank 2"));
        assert_null(part.managed);
        assert_ptr_equal(tensor.managed, &theirs);
        assert_int_equal(theirs.flags, DLPACK_FLAG_BITMASK_IS_COPIED);
        assert_int_equal(failing_alloc_live(), live);
    }
    failing_alloc_arm(3);
    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    assert_int_equal(failing_alloc_count(), 2);
    failing_alloc_arm(0);
    dlpark_tensor_release(&part);
    assert_int_equal(foreign_ended, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(foreign_ended, 1);
    assert_int_equal(failing_alloc_live(), live);
}

/* The part's own, and the box of a tensor that is shared for the first time. */
static void each_allocation_of_a_viewed_part_may_fail(void **state)
{
    (void)state;
    DLManagedTensorVersioned theirs = foreign_tensor(0), *given = &theirs;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    foreign_ended = 0;
    assert_ok(dlpark_tensor_import(&tensor, &given, &view, e));
    assert_ok(dlpark_view_index(&view, 0, 1, e));
    long live = failing_alloc_live();
    for (long nth = 1; nth <= 2; nth++) {
        dlpark_error err;
        failing_alloc_arm(nth);
        assert_int_equal(dlpark_tensor_share(&part, &tensor, &view, &err), DLPARK_E_MEMORY);
        assert_int_equal(failing_alloc_count(), nth);
        assert_non_null(strstr(err.message, "rank 1"));
        assert_null(part.managed);
        assert_ptr_equal(tensor.managed, &theirs);
        assert_int_equal(failing_alloc_live(), live);
    }
    failing_alloc_arm(3);
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_int_equal(failing_alloc_count(), 2);
    failing_alloc_arm(0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(foreign_ended, 0);
    dlpark_tensor_release(&part);
    assert_int_equal(foreign_ended, 1);
}

static void storage_lives_until_the_last_owner(void **state)
{
    (void)state;
    static _Alignas(16) unsigned char storage[DLPARK_TENSOR_STORAGE_NBYTES(2)];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY, again = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.storage = storage;
    desc.storage_nbytes = sizeof storage;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    assert_ok(dlpark_tensor_share(&again, &tensor, NULL, e));
    dlpark_tensor_release(&tensor);
    dlpark_tensor_release(&again);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&part);
    assert_int_equal(ended, 1);
}

static void part_goes_out_under_the_legacy_abi(void **state)
{
    (void)state;
    dlpark_tensor tensor = make_good(NULL), part = DLPARK_TENSOR_EMPTY;
    DLManagedTensor *legacy = NULL;

    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    assert_ok(dlpark_tensor_export_legacy(&part, 0, &legacy, e));
    assert_null(dlpark_tensor_extra(&tensor));
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 0);
    legacy->deleter(legacy);
    assert_int_equal(ended, 1);
}

/* The first share of a foreign tensor boxes it, the second finds it boxed: both say the same. */
static void wholes_of_ours_and_of_others_are_alike(void **state)
{
    (void)state;
    static int64_t odd_strides[] = {INT64_MIN, INT64_MAX};

    for (int empty = 0; empty < 2; empty++) {
        DLManagedTensorVersioned theirs =
            foreign_tensor(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED | DLPACK_FLAG_BITMASK_READ_ONLY);
        int64_t shape[] = {2, empty ? 0 : 3};
        DLManagedTensorVersioned *given = &theirs;
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, parts[2] = {DLPARK_TENSOR_EMPTY};
        theirs.dl_tensor.dtype = DLPARK_I4;
        theirs.dl_tensor.shape = shape;
        theirs.dl_tensor.data = empty ? NULL : values;
        theirs.dl_tensor.strides = empty ? odd_strides : foreign_strides;
        assert_ok(dlpark_tensor_import(&tensor, &given, NULL, e));
        for (int i = 0; i < 2; i++) {
            assert_ok(dlpark_tensor_share(&parts[i], &tensor, NULL, e));
            const DLManagedTensorVersioned *made = parts[i].managed;
            assert_int_equal(made->flags, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED | DLPACK_FLAG_BITMASK_READ_ONLY);
            assert_ptr_equal(made->dl_tensor.data, theirs.dl_tensor.data);
            assert_memory_equal(made->dl_tensor.shape, shape, sizeof shape);
            assert_int_equal(made->dl_tensor.strides[0], empty ? 1 : 3); /* not what nobody may multiply by */
            assert_int_equal(made->dl_tensor.strides[1], 1);
        }
        dlpark_tensor_release(&tensor);
        dlpark_tensor_release(&parts[0]);
        dlpark_tensor_release(&parts[1]);
    }
}

/* ---- Threads ---- */

enum { NTHREADS = 4, NROUNDS = 500 };

/* Shares its own owner many times over, reads, and ends all of them. */
static void *share_and_end(void *argument)
{
    dlpark_tensor *mine = argument;

    for (int i = 0; i < NROUNDS; i++) {
        dlpark_tensor part = DLPARK_TENSOR_EMPTY, again = DLPARK_TENSOR_EMPTY;
        if (dlpark_tensor_share(&part, mine, NULL, NULL) || dlpark_tensor_share(&again, &part, NULL, NULL))
            return NULL;
        dlpark_tensor_release(&part);
        if (((const float *)again.managed->dl_tensor.data)[5] != 5.0f)
            return NULL;
        dlpark_tensor_release(&again);
    }
    dlpark_tensor_release(mine);
    return argument;
}

static void end_on_any_thread(void *owner)
{
    memset(owner, 0, 6 * sizeof(float)); /* a race with a reader would be seen here */
    ended++;
}

static void owners_live_on_different_threads(void **state)
{
    (void)state;
    dlpark_tensor owners[NTHREADS] = {DLPARK_TENSOR_EMPTY};
    pthread_t threads[NTHREADS];
    dlpark_tensor_desc desc = good();

    for (int i = 0; i < 6; i++)
        values[i] = (float)i;
    desc.release = end_on_any_thread;
    assert_ok(dlpark_tensor_new(&owners[0], &desc, NULL, e));
    for (int i = 1; i < NTHREADS; i++)
        assert_ok(dlpark_tensor_share(&owners[i], &owners[0], NULL, e));
    for (int i = 0; i < NTHREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, share_and_end, &owners[i]), 0);
    for (int i = 0; i < NTHREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &owners[i]);
    }
    assert_int_equal(ended, 1);
}

/* The owner behind every share, for who knows by which function it ends. */
static void the_owner_is_found_from_every_share(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY,
                  shares[3] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
    DLManagedTensorVersioned foreign = foreign_tensor(0);
    dlpark_tensor_desc desc = good();
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    assert_ptr_equal(dlpark__tensor_owner(tensor.managed, count_end), values);
    for (int i = 0; i < 3; i++) { /* a part of its own, the one that is used again, and one of a view */
        assert_ok(dlpark_tensor_share(&shares[i], &tensor, i < 2 ? NULL : &view, e));
        assert_ptr_equal(dlpark__tensor_owner(shares[i].managed, count_end), values);
        assert_null(dlpark__tensor_owner(shares[i].managed, free));
    }
    assert_null(dlpark__tensor_owner(NULL, free));
    assert_null(dlpark__tensor_owner(&foreign, free));
    for (int i = 0; i < 3; i++)
        dlpark_tensor_release(&shares[i]);
    assert_null(dlpark__tensor_owner(tensor.managed, free));
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whole_is_the_same_tensor),
        TEST(any_order_of_release_ends_the_owner_once),
        TEST(part_is_what_the_view_says),
        TEST(no_elements_are_inside_anything),
        TEST(sharing_ends_is_copied),
        TEST(foreign_tensor_is_boxed_and_not_written),
        TEST(read_only_is_inherited),
        TEST(unknown_write_is_inherited_until_it_is_allowed),
        TEST(view_must_lie_inside),
        TEST(view_is_checked_as_a_tensor),
        TEST(offset_of_a_view_is_folded),
        TEST(handles_are_compared_by_offset),
        TEST(arguments_are_looked_at),
        TEST(each_allocation_may_fail),
        TEST(each_allocation_of_a_viewed_part_may_fail),
        TEST(storage_lives_until_the_last_owner),
        TEST(part_goes_out_under_the_legacy_abi),
        TEST(wholes_of_ours_and_of_others_are_alike),
        TEST(owners_live_on_different_threads),
        TEST(the_owner_is_found_from_every_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
