#include "ggml_made.h"

#include <pthread.h>
#include <stdlib.h>

#include <dlpark/ggml.h>

#include "failing_alloc.h"
#include "passage.h"

/* A buffer that the host cannot read, which no machine without a device has: linked with --wrap. */
static bool buffers_are_foreign;
bool __real_ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer);
bool __wrap_ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer);
bool __wrap_ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer)
{
    return !buffers_are_foreign && __real_ggml_backend_buffer_is_host(buffer);
}

static void report_in(DLDataType dtype, const char *layout, dlpark_status status)
{
    passage_report("ggml", PASSAGE_IN, dtype, layout, status);
}

static void assert_layout(const dlpark_view *view, int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    assert_int_equal(view->ndim, ndim);
    for (int32_t i = 0; i < ndim; i++) {
        assert_int_equal(view->shape[i], shape[i]);
        assert_int_equal(view->strides[i], strides[i]);
    }
}

/* ---- Views ---- */

static void every_type_and_layout(void **state)
{
    (void)state;
    for (int i = 0; i < MADE_TYPES; i++) {
        made_type made = made_type_at(i);
        struct ggml_context *context = made_context(false);
        struct ggml_tensor *whole = ggml_new_tensor_3d(context, made.type, 4, 3, 2);
        struct ggml_tensor *turned = ggml_transpose(context, whole);
        struct ggml_tensor *moved = ggml_permute(context, whole, 0, 2, 1, 3);
        struct ggml_tensor *part = ggml_view_2d(context, whole, 2, 3, whole->nb[1], 1 * ggml_type_size(made.type));
        dlpark_view view;

        assert_ok(dlpark_ggml_view(&view, whole, e));
        assert_true(dlpark_dtype_equal(view.dtype, made.dtype));
        assert_ptr_equal(view.data, whole->data);
        assert_int_equal(view.flags, 0);
        assert_layout(&view, 3, (int64_t[]){2, 3, 4}, (int64_t[]){12, 4, 1});
        report_in(made.dtype, "compact", DLPARK_OK);
        assert_ok(dlpark_ggml_view(&view, turned, e));
        assert_layout(&view, 3, (int64_t[]){2, 4, 3}, (int64_t[]){12, 1, 4});
        report_in(made.dtype, "transposed", DLPARK_OK);
        assert_ok(dlpark_ggml_view(&view, moved, e));
        assert_layout(&view, 3, (int64_t[]){3, 2, 4}, (int64_t[]){4, 12, 1});
        report_in(made.dtype, "outer dimensions permuted", DLPARK_OK);
        assert_ok(dlpark_ggml_view(&view, part, e));
        assert_ptr_equal(view.data, (char *)whole->data + ggml_type_size(made.type));
        assert_layout(&view, 2, (int64_t[]){3, 2}, (int64_t[]){4, 1});
        report_in(made.dtype, "padded rows", DLPARK_OK);
        assert_ok(dlpark_ggml_view(&view, ggml_view_2d(context, whole, 4, 3, 2 * whole->nb[0], 0), e));
        assert_layout(&view, 2, (int64_t[]){3, 4}, (int64_t[]){2, 1});
        report_in(made.dtype, "windows that overlap", DLPARK_OK);
        assert_ok(dlpark_ggml_view(&view, ggml_new_tensor_2d(context, made.type, 3, 0), e));
        assert_layout(&view, 2, (int64_t[]){0, 3}, (int64_t[]){3, 1});
        assert_null(view.data);
        report_in(made.dtype, "empty", DLPARK_OK);
        ggml_free(context);
    }
}

static void rank_is_what_ggml_says_or_asked_for(void **state)
{
    struct ggml_context *context = made_context(false);
    struct ggml_tensor *column = ggml_new_tensor_2d(context, GGML_TYPE_F32, 1, 3);
    struct ggml_tensor *row = ggml_new_tensor_2d(context, GGML_TYPE_F32, 3, 1);
    struct ggml_tensor *scalar = ggml_new_tensor_1d(context, GGML_TYPE_F32, 1);
    struct ggml_tensor *none = ggml_new_tensor_2d(context, GGML_TYPE_F32, 3, 0);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_ggml_view(&view, column, e));
    assert_layout(&view, 2, (int64_t[]){3, 1}, (int64_t[]){1, 1});
    assert_ok(dlpark_ggml_view(&view, row, e));
    assert_layout(&view, 1, (int64_t[]){3}, (int64_t[]){1});
    assert_ok(dlpark_ggml_view_as(&view, row, DLPARK_GGML_NDIM(2), e));
    assert_layout(&view, 2, (int64_t[]){1, 3}, (int64_t[]){3, 1});
    assert_ok(dlpark_ggml_view_as(&view, row, DLPARK_GGML_NDIM(4), e));
    assert_layout(&view, 4, (int64_t[]){1, 1, 1, 3}, (int64_t[]){3, 3, 3, 1});
    assert_ok(dlpark_ggml_view(&view, scalar, e));
    assert_layout(&view, 1, (int64_t[]){1}, (int64_t[]){1});
    assert_ok(dlpark_ggml_view_as(&view, scalar, DLPARK_GGML_NDIM(0), e));
    assert_int_equal(view.ndim, 0);
    assert_ptr_equal(view.data, scalar->data);
    assert_int_equal(ggml_n_dims(none), 1); /* a shape of [3] would have elements */
    assert_ok(dlpark_ggml_view(&view, none, e));
    assert_layout(&view, 2, (int64_t[]){0, 3}, (int64_t[]){3, 1});
    assert_null(view.data);
    report_in(DLPARK_F32, "rank 0", DLPARK_OK);
    report_in(DLPARK_F32, "rank 1 to 4", DLPARK_OK);
    assert_fails(DLPARK_E_RANK, "rank 1 was asked for, but ne[1] of the ggml tensor \"\" is 3",
                 dlpark_ggml_view_as(&view, column, DLPARK_GGML_NDIM(1), e));
    assert_fails(DLPARK_E_RANK, "ne[0]", dlpark_ggml_view_as(&view, row, DLPARK_GGML_NDIM(0), e));
    assert_fails(DLPARK_E_ARGUMENT, "0x600", dlpark_ggml_view_as(&view, row, DLPARK_GGML_NDIM(5), e));
    assert_fails(DLPARK_E_ARGUMENT, "0x2", dlpark_ggml_view_as(&view, row, 2, e));
    assert_fails(DLPARK_E_ARGUMENT, "0x800", dlpark_ggml_view_as(&view, row, DLPARK_GGML_NDIM(7), e));
    ggml_free(context);
}

static void quantised_are_refused_or_bytes(void **state)
{
    dlpark_view view;

    (void)state;
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        if (ggml_blck_size((enum ggml_type)type) < 2)
            continue;
        struct ggml_context *context = made_context(false);
        struct ggml_tensor *tensor = ggml_new_tensor_2d(context, (enum ggml_type)type, 512, 2);
        int64_t nbytes = (int64_t)ggml_row_size((enum ggml_type)type, 512);

        ggml_set_name(tensor, "blk.0.weight");
        assert_fails(DLPARK_E_DTYPE, "\"blk.0.weight\"", dlpark_ggml_view(&view, tensor, e));
        assert_ok(dlpark_ggml_view_as(&view, tensor, DLPARK_GGML_BLOCKS, e));
        assert_true(dlpark_dtype_equal(view.dtype, DLPARK_U8));
        assert_layout(&view, 2, (int64_t[]){2, nbytes}, (int64_t[]){nbytes, 1});
        ggml_free(context);
    }
    struct ggml_context *context = made_context(false);
    struct ggml_tensor *tensor = ggml_new_tensor_1d(context, GGML_TYPE_Q4_0, 64);
    assert_fails(DLPARK_E_DTYPE, "q4_0: 32 elements share 18 bytes", dlpark_ggml_view(&view, tensor, e));
    tensor->nb[0] = 20;
    assert_fails(DLPARK_E_STRIDES, "nb[0] of the ggml tensor \"\" is 20, but a block of q4_0 has 18 bytes",
                 dlpark_ggml_view_as(&view, tensor, DLPARK_GGML_BLOCKS, e));
    tensor->ne[0] = 33;
    assert_fails(DLPARK_E_SHAPE, "is 33, not whole blocks of 32",
                 dlpark_ggml_view_as(&view, tensor, DLPARK_GGML_BLOCKS, e));
    tensor->ne[0] = -32;
    assert_fails(DLPARK_E_SHAPE, "is -32", dlpark_ggml_view_as(&view, tensor, DLPARK_GGML_BLOCKS, e));
    tensor->type = GGML_TYPE_Q8_0;
    tensor->nb[0] = 34;
    tensor->ne[0] = INT64_MAX / 32 * 32;
    assert_fails(DLPARK_E_OVERFLOW, "34 bytes for 32 of them",
                 dlpark_ggml_view_as(&view, tensor, DLPARK_GGML_BLOCKS, e));
    struct ggml_tensor *plain = ggml_new_tensor_1d(context, GGML_TYPE_I16, 5);
    assert_ok(dlpark_ggml_view_as(&view, plain, DLPARK_GGML_BLOCKS, e));
    assert_true(dlpark_dtype_equal(view.dtype, DLPARK_I16)); /* plain ones come as they are */
    ggml_free(context);
    report_in(DLPARK_U8, "blocks of a quantised type, as bytes", DLPARK_OK);
}

static void hostile_tensors_are_refused(void **state)
{
    struct ggml_context *context = made_context(true);
    struct ggml_tensor *tensor = ggml_new_tensor_2d(context, GGML_TYPE_F32, 3, 2);
    float elements[6];
    dlpark_view view;

    (void)state;
    ggml_set_name(tensor, "hidden");
    assert_fails(DLPARK_E_ARGUMENT, "NULL", dlpark_ggml_view(&view, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "a name that a context lacks",
                 dlpark_ggml_view(&view, ggml_get_tensor(context, "nobody"), e));
    assert_fails(DLPARK_E_DATA, "\"hidden\" has no memory yet", dlpark_ggml_view(&view, tensor, e));
    report_in(DLPARK_F32, "not allocated", DLPARK_E_DATA);
    tensor->data = (char *)elements + 1;
    assert_ok(dlpark_ggml_view(&view, tensor, e)); /* whoever reads floats there is told by DLPARK_CPU() */
    report_in(DLPARK_F32, "misaligned", DLPARK_OK);
    tensor->data = elements;
    tensor->type = (enum ggml_type)999;
    assert_fails(DLPARK_E_DTYPE, "of type 999", dlpark_ggml_view(&view, tensor, e));
    tensor->type = (enum ggml_type) - 1;
    assert_fails(DLPARK_E_DTYPE, "of type -1", dlpark_ggml_view(&view, tensor, e));
    tensor->type = (enum ggml_type)4; /* once q4_2 */
    assert_fails(DLPARK_E_DTYPE, "of type 4", dlpark_ggml_view_as(&view, tensor, DLPARK_GGML_BLOCKS, e));
    tensor->type = GGML_TYPE_F32;
    tensor->nb[1] = 13;
    assert_fails(DLPARK_E_STRIDES, "nb[1] of the ggml tensor \"hidden\" is 13 bytes, no multiple of the element's 4",
                 dlpark_ggml_view(&view, tensor, e));
    tensor->ne[1] = 1; /* no step is taken */
    assert_ok(dlpark_ggml_view_as(&view, tensor, DLPARK_GGML_NDIM(2), e));
    tensor->ne[1] = 2;
    tensor->nb[1] = (size_t)-12;
    assert_fails(DLPARK_E_OVERFLOW, "", dlpark_ggml_view(&view, tensor, e));
    tensor->nb[1] = 12;
    tensor->ne[1] = -2;
    assert_fails(DLPARK_E_SHAPE, "shape[0] is -2", dlpark_ggml_view(&view, tensor, e));
    tensor->ne[1] = INT64_MAX;
    assert_fails(DLPARK_E_OVERFLOW, "", dlpark_ggml_view(&view, tensor, e));
    tensor->ne[1] = 2;
    tensor->type = GGML_TYPE_I8;
    tensor->nb[0] = SIZE_MAX;
    if (sizeof(size_t) == 8) {
        assert_fails(DLPARK_E_OVERFLOW, "nb[0] of the ggml tensor \"hidden\" is 18446744073709551615 bytes",
                     dlpark_ggml_view(&view, tensor, e));
    }
    ggml_free(context);
}

static void buffers_say_where_and_whether_to_write(void **state)
{
    static _Alignas(32) float elements[8];
    struct ggml_context *context = made_context(true);
    ggml_backend_buffer_t buffer = ggml_backend_cpu_buffer_from_ptr(elements, sizeof elements);
    struct ggml_tensor *tensor = ggml_new_tensor_1d(context, GGML_TYPE_F32, 8);
    dlpark_view view;

    (void)state;
    ggml_backend_tensor_alloc(buffer, tensor, elements);
    struct ggml_tensor *part = ggml_view_1d(context, tensor, 4, 8);
    assert_ok(dlpark_ggml_view(&view, tensor, e));
    assert_int_equal(view.flags, 0);
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    assert_ok(dlpark_ggml_view(&view, tensor, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_ok(dlpark_ggml_view(&view, part, e)); /* its buffer is that of what it views */
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_ptr_equal(view.data, elements + 2);
    report_in(DLPARK_F32, "weights (read-only)", DLPARK_OK);
    buffers_are_foreign = true;
    assert_fails(DLPARK_E_DEVICE, "in a buffer of CPU_Mapped", dlpark_ggml_view(&view, tensor, e));
    assert_fails(DLPARK_E_DEVICE, "ggml_backend_tensor_get()", dlpark_ggml_view(&view, part, e));
    buffers_are_foreign = false;
    report_in(DLPARK_F32, "in a device's buffer", DLPARK_E_DEVICE);
    ggml_backend_buffer_free(buffer);
    ggml_free(context);
}

/* ---- Import and share ---- */

static void assert_untouched(const dlpark_ggml_owner *owner, const dlpark_ggml_owner *before)
{
    assert_memory_equal(owner, before, sizeof *owner);
}

static void import_takes_what_keeps_the_memory(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    made_pair made = made_pair_new();
    void *data = made.first->data;

    (void)state;
    made_released = 0;
    made.owner.release = made_end;
    made.owner.owner = made_memory;
    assert_ok(dlpark_ggml_import(&tensor, made.first, &made.owner, 0, &view, e));
    assert_null(made.owner.buffer);
    assert_null(made.owner.context);
    assert_null(made.owner.release);
    assert_null(made.owner.owner);
    assert_ptr_equal(view.data, data);
    assert_layout(&view, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1});
    assert_int_equal(tensor.managed->flags, 0);
    assert_int_equal(made_released, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(made_released, 1);
    /* A context with its memory, of which nothing else is told. */
    struct ggml_context *context = made_context(false);
    struct ggml_tensor *result = ggml_new_tensor_4d(context, GGML_TYPE_F16, 2, 1, 1, 1);
    dlpark_ggml_owner owner = {.context = context};
    assert_ok(dlpark_ggml_import(&tensor, result, &owner, DLPARK_GGML_NDIM(2), &view, e));
    assert_layout(&view, 2, (int64_t[]){1, 2}, (int64_t[]){2, 1});
    DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);
    handed->deleter(handed);
}

static void import_of_weights_says_read_only(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    made_pair made = made_pair_new();

    (void)state;
    ggml_backend_buffer_set_usage(made.owner.buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    assert_ok(dlpark_ggml_import(&tensor, made.first, &made.owner, 0, &view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    dlpark_tensor_release(&tensor);
}

static void import_wants_the_owner_of_this_memory(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    made_pair made = made_pair_new(), other = made_pair_new();
    dlpark_ggml_owner owner = {.buffer = other.owner.buffer, .context = made.owner.context}, before = owner;
    dlpark_view view;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "not in the one that is given",
                 dlpark_ggml_import(&tensor, made.first, &owner, 0, NULL, e));
    assert_untouched(&owner, &before);
    owner = (dlpark_ggml_owner){.context = made.owner.context};
    assert_fails(DLPARK_E_ARGUMENT, "given (", dlpark_ggml_import(&tensor, made.first, &owner, 0, NULL, e));
    owner = (dlpark_ggml_owner){.buffer = NULL};
    assert_fails(DLPARK_E_ARGUMENT, "given (", dlpark_ggml_import(&tensor, made.first, &owner, 0, NULL, e));
    struct ggml_context *pool = made_context(false);
    struct ggml_tensor *loose = ggml_new_tensor_1d(pool, GGML_TYPE_F32, 4);
    owner = (dlpark_ggml_owner){.context = made.owner.context, .buffer = made.owner.buffer};
    assert_fails(DLPARK_E_ARGUMENT, "is in no buffer", dlpark_ggml_import(&tensor, loose, &owner, 0, NULL, e));
    owner = (dlpark_ggml_owner){.buffer = made.owner.buffer};
    assert_fails(DLPARK_E_ARGUMENT, "is in no buffer", dlpark_ggml_import(&tensor, loose, &owner, 0, NULL, e));
    assert_null(tensor.managed);
    /* With a release of the caller's, its word is taken; and nothing needs keeping where there is nothing. */
    made_released = 0;
    owner = (dlpark_ggml_owner){.release = made_end, .owner = made_memory};
    assert_ok(dlpark_ggml_import(&tensor, loose, &owner, 0, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already", dlpark_ggml_import(&tensor, loose, &made.owner, 0, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(made_released, 1);
    owner = (dlpark_ggml_owner){.buffer = NULL};
    assert_ok(dlpark_ggml_import(&tensor, ggml_new_tensor_1d(pool, GGML_TYPE_F32, 0), &owner, 0, &view, e));
    assert_null(view.data);
    dlpark_tensor_release(&tensor);
    ggml_free(pool);
    made_pair_end(&other);
    made_pair_end(&made);
}

static void shares_keep_the_owner_in_any_order(void **state)
{
    (void)state;
    for (int order = 0; order < 6; order++) {
        static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        dlpark_tensor tensors[3] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
        dlpark_view view;
        made_pair made = made_pair_new();
        int32_t *data = made.second->data;

        made_released = 0;
        made.owner.release = made_end;
        made.owner.owner = made_memory;
        assert_ok(dlpark_ggml_import(&tensors[0], made.first, &made.owner, 0, NULL, e));
        assert_ok(dlpark_ggml_share(&tensors[1], &tensors[0], made.second, 0, &view, e));
        assert_ptr_equal(view.data, data);
        assert_ok(dlpark_ggml_share(&tensors[2], &tensors[1], made.first, DLPARK_GGML_NDIM(3), &view, e));
        assert_int_equal(view.ndim, 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(made_released, 0);
            data[4] = i; /* still there, says the sanitizer */
            dlpark_tensor_release(&tensors[orders[order][i]]);
        }
        assert_int_equal(made_released, 1);
    }
}

static void share_refuses_and_leaves_all(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    made_pair made = made_pair_new();
    struct ggml_tensor *first = made.first, *second = made.second;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "", dlpark_ggml_share(&part, &tensor, second, 0, NULL, e));
    assert_ok(dlpark_ggml_import(&tensor, first, &made.owner, 0, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "NULL", dlpark_ggml_share(&part, &tensor, NULL, 0, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already", dlpark_ggml_share(&tensor, &tensor, second, 0, NULL, e));
    assert_null(part.managed);
    dlpark_tensor_release(&tensor);
}

static void share_of_what_is_read_only_is_read_only(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, kept = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    made_pair made = made_pair_new();
    struct ggml_tensor *second = made.second;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_ggml_import(&tensor, made.first, &made.owner, 0, &view, e));
    assert_int_equal(view.flags & DLPARK_VIEW_READ_ONLY, 0);
    view.flags |= DLPARK_VIEW_READ_ONLY;
    assert_ok(dlpark_tensor_share(&kept, &tensor, &view, e));
    assert_ok(dlpark_ggml_share(&part, &kept, second, 0, &view, e));
    assert_int_equal(view.flags & DLPARK_VIEW_READ_ONLY, DLPARK_VIEW_READ_ONLY);
    dlpark_tensor_release(&kept);
    dlpark_tensor_release(&part);
    dlpark_tensor_release(&tensor);
}

static void no_memory_leaves_all_as_it_was(void **state)
{
    (void)state;
    for (int sharing = 0; sharing < 2; sharing++) {
        long nth = 0, live = failing_alloc_live();
        dlpark_status status = DLPARK_E_MEMORY;
        while (status == DLPARK_E_MEMORY) {
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
            made_pair made = made_pair_new();
            dlpark_ggml_owner before = made.owner;

            if (sharing)
                assert_ok(dlpark_ggml_import(&tensor, made.first, &made.owner, 0, NULL, e));
            failing_alloc_arm_from(++nth);
            status = sharing ? dlpark_ggml_share(&part, &tensor, made.second, 0, NULL, NULL)
                             : dlpark_ggml_import(&tensor, made.first, &made.owner, 0, NULL, NULL);
            failing_alloc_arm(0);
            assert_int_equal(part.managed != NULL, sharing && status == DLPARK_OK);
            if (status != DLPARK_OK && !sharing) {
                assert_null(tensor.managed);
                assert_untouched(&made.owner, &before);
                made_pair_end(&made);
            }
            dlpark_tensor_release(&part);
            dlpark_tensor_release(&tensor);
            assert_int_equal(failing_alloc_live(), live);
        }
        assert_int_equal(status, DLPARK_OK);
        assert_int_equal(nth, sharing ? 3 : 2); /* a share and a header; a header; and then none fails */
    }
}

static void *end_elsewhere(void *tensor)
{
    dlpark_tensor_release(tensor);
    return NULL;
}

static void parts_end_on_other_threads(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        dlpark_tensor tensors[2] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
        pthread_t threads[2];
        made_pair made = made_pair_new();

        made_released = 0;
        made.owner.release = made_end;
        made.owner.owner = made_memory;
        assert_ok(dlpark_ggml_import(&tensors[0], made.first, &made.owner, 0, NULL, e));
        assert_ok(dlpark_ggml_share(&tensors[1], &tensors[0], made.second, 0, NULL, e));
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, end_elsewhere, &tensors[i]), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(made_released, 1);
    }
}

static void many_round_trips_need_no_more_memory(void **state)
{
    size_t before = 0;
    long live = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
        if (i == 1000) {
            before = made_bytes_in_use();
            live = failing_alloc_live();
        }
        struct ggml_context *context =
            ggml_init((struct ggml_init_params){.mem_size = 2 * ggml_tensor_overhead() + 256});
        struct ggml_tensor *result = ggml_new_tensor_2d(context, GGML_TYPE_F32, 4, 4);
        dlpark_ggml_owner owner = {.context = context};
        assert_int_equal(dlpark_ggml_import(&tensor, result, &owner, 0, NULL, NULL), DLPARK_OK);
        assert_int_equal(dlpark_ggml_share(&part, &tensor, result, 0, NULL, NULL), DLPARK_OK);
        dlpark_tensor_release(&tensor);
        dlpark_tensor_release(&part);
    }
    assert_int_equal(failing_alloc_live(), live);
    assert_in_range(made_bytes_in_use(), 0, before + 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_layout),
        cmocka_unit_test(rank_is_what_ggml_says_or_asked_for),
        cmocka_unit_test(quantised_are_refused_or_bytes),
        cmocka_unit_test(hostile_tensors_are_refused),
        cmocka_unit_test(buffers_say_where_and_whether_to_write),
        cmocka_unit_test(import_takes_what_keeps_the_memory),
        cmocka_unit_test(import_of_weights_says_read_only),
        cmocka_unit_test(import_wants_the_owner_of_this_memory),
        cmocka_unit_test(shares_keep_the_owner_in_any_order),
        cmocka_unit_test(share_refuses_and_leaves_all),
        cmocka_unit_test(share_of_what_is_read_only_is_read_only),
        cmocka_unit_test(no_memory_leaves_all_as_it_was),
        cmocka_unit_test(parts_end_on_other_threads),
        cmocka_unit_test(many_round_trips_need_no_more_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
