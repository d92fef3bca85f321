#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <dlpark/metal.h>

#include "failing_alloc.h"

/* Buffers of Metal, whose runtime is this table. */
typedef struct fake_buffer {
    atomic_int references;
    uint64_t mode, length;
    unsigned char *bytes;
} fake_buffer;

static void fake_retain(void *object)
{
    atomic_fetch_add(&((fake_buffer *)object)->references, 1);
}

static void fake_release(void *object)
{
    fake_buffer *buffer = object;

    assert_true(atomic_fetch_sub(&buffer->references, 1) > 0);
}

static void *fake_contents(void *object)
{
    fake_buffer *buffer = object;

    return buffer->mode == DLPARK_METAL_PRIVATE ? NULL : buffer->bytes;
}

static uint64_t fake_length(void *object)
{
    return ((fake_buffer *)object)->length;
}

static uint64_t fake_storage_mode(void *object)
{
    return ((fake_buffer *)object)->mode;
}

static const dlpark_metal_functions functions = {fake_retain, fake_release, fake_contents, fake_length,
                                                 fake_storage_mode};
static const dlpark_metal metal = {&functions};
static float numbers[32];
static fake_buffer shared = {1, DLPARK_METAL_SHARED, sizeof numbers, (unsigned char *)numbers};

/* Twice three floats from byte 8 on. */
#define SIX .dtype = DLPARK_F32, .byte_offset = 8, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})

static int references(void)
{
    return atomic_load(&shared.references);
}

static void a_buffer_is_a_handle_and_an_offset(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view, same;

    (void)state;
    assert_ok(dlpark_metal_share(&metal, &tensor, &shared, &(dlpark_tensor_desc){SIX}, &view, e));
    assert_int_equal(references(), 2);
    assert_int_equal(view.device.device_type, kDLMetal);
    assert_ptr_equal(view.data, &shared);
    assert_int_equal(view.byte_offset, 8);
    assert_ptr_equal(tensor.managed->dl_tensor.data, &shared);
    assert_int_equal(tensor.managed->dl_tensor.byte_offset, 8);
    assert_ok(dlpark_metal_view(&metal, &same, &shared, &(dlpark_tensor_desc){SIX}, e));
    assert_ptr_equal(same.data, &shared);
    assert_ok(dlpark_view_slice(&view, 0, 1, 2, 1, e)); /* arithmetic on the offset */
    assert_int_equal(view.byte_offset, 20);
    assert_ptr_equal(dlpark_metal_borrow(&metal, &view, NULL), &shared);
    dlpark_tensor_release(&tensor);
    assert_int_equal(references(), 1);
}

static void import_takes_the_reference(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    void *buffer = &shared;

    (void)state;
    fake_retain(&shared);
    assert_fails(DLPARK_E_LAYOUT, "the bytes 120 to 144, and the buffer has 128",
                 dlpark_metal_import(
                     &metal, &tensor, &buffer,
                     &(dlpark_tensor_desc){
                         .dtype = DLPARK_F32, .byte_offset = 120, .ndim = 1, .shape = DLPARK_DIMS((int64_t[]){6})},
                     NULL, e));
    assert_ptr_equal(buffer, &shared);
    assert_int_equal(references(), 2);
    assert_ok(dlpark_metal_import(&metal, &tensor, &buffer, &(dlpark_tensor_desc){SIX}, NULL, e));
    assert_null(buffer);
    assert_int_equal(references(), 2);
    dlpark_tensor_release(&tensor);
    assert_int_equal(references(), 1);
}

/* ---- Two tensors over one owner ---- */

static void host_and_device_see_one_memory(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
        dlpark_view there, here;
        assert_ok(dlpark_metal_share(&metal, &tensor, &shared, &(dlpark_tensor_desc){SIX}, &there, e));
        assert_ok(dlpark_view_slice(&there, 1, DLPARK_NONE, DLPARK_NONE, -1, e));
        assert_ok(dlpark_metal_map(&metal, &host, &tensor, &there, &here, e));
        assert_int_equal(here.device.device_type, kDLCPU);
        assert_ptr_equal(here.data, numbers + 2 + 2);
        assert_int_equal(here.strides[1], -1);
        numbers[4] = 42;
        assert_true(*(float *)here.data == 42);
        dlpark_tensor_release(order ? &tensor : &host);
        assert_int_equal(references(), 2);
        dlpark_tensor_release(order ? &host : &tensor);
        assert_int_equal(references(), 1);
    }
}

static void flags_go_to_the_host(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
    dlpark_view here;

    (void)state;
    assert_ok(dlpark_metal_share(&metal, &tensor, &shared, &(dlpark_tensor_desc){SIX, .flags = DLPARK_TENSOR_READ_ONLY},
                                 NULL, e));
    assert_ok(dlpark_metal_map(&metal, &host, &tensor, NULL, &here, e));
    assert_int_equal(here.flags, DLPARK_VIEW_READ_ONLY);
    assert_ptr_equal(here.data, numbers + 2);
    dlpark_tensor_release(&tensor);
    dlpark_tensor_release(&host);
    assert_int_equal(references(), 1);
}

static void memory_that_the_host_does_not_see_is_refused(void **state)
{
    static const struct {
        uint64_t mode;
        const char *says;
    } modes[] = {{DLPARK_METAL_MANAGED, "is managed"}, {DLPARK_METAL_PRIVATE, "is private"}, {7, "not known"}};
    fake_buffer buffer = {1, 0, sizeof numbers, (unsigned char *)numbers};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
        buffer.mode = modes[i].mode;
        assert_ok(dlpark_metal_share(&metal, &tensor, &buffer, &(dlpark_tensor_desc){SIX}, NULL, e));
        assert_fails(DLPARK_E_DEVICE, modes[i].says, dlpark_metal_map(&metal, &host, &tensor, NULL, NULL, e));
        dlpark_tensor_release(&tensor);
        assert_int_equal(buffer.references, 1);
    }
    buffer.mode = DLPARK_METAL_MEMORYLESS;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    assert_fails(DLPARK_E_LAYOUT, "memoryless",
                 dlpark_metal_share(&metal, &tensor, &buffer, &(dlpark_tensor_desc){SIX}, NULL, e));
    buffer.mode = DLPARK_METAL_SHARED;
    buffer.bytes = NULL;
    dlpark_tensor host = DLPARK_TENSOR_EMPTY;
    assert_ok(dlpark_metal_share(&metal, &tensor, &buffer, &(dlpark_tensor_desc){SIX}, NULL, e));
    assert_fails(DLPARK_E_DEVICE, "128 bytes", dlpark_metal_map(&metal, &host, &tensor, NULL, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(buffer.references, 1);
}

/* ---- Out again ---- */

static void export_gives_a_reference(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    void *buffer = NULL;
    uint64_t offset = 0;

    (void)state;
    assert_ok(dlpark_metal_share(&metal, &tensor, &shared, &(dlpark_tensor_desc){SIX}, NULL, e));
    assert_ok(dlpark_metal_export(&metal, &buffer, &offset, &tensor, e));
    assert_null(tensor.managed);
    assert_ptr_equal(buffer, &shared);
    assert_int_equal(offset, 8);
    assert_int_equal(references(), 2);
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty", dlpark_metal_export(&metal, &buffer, &offset, &tensor, e));
    assert_ok(dlpark_metal_share(&metal, &tensor, &shared, &(dlpark_tensor_desc){SIX}, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already is a buffer", dlpark_metal_export(&metal, &buffer, &offset, &tensor, e));
    fake_release(buffer);
    buffer = NULL;
    assert_fails(DLPARK_E_ARGUMENT, "buffer is NULL", dlpark_metal_export(&metal, NULL, &offset, &tensor, e));
    assert_fails(DLPARK_E_ARGUMENT, "byte_offset is NULL", dlpark_metal_export(&metal, &buffer, NULL, &tensor, e));
    shared.length = 16;
    assert_fails(DLPARK_E_LAYOUT, "has 16", dlpark_metal_export(&metal, &buffer, &offset, &tensor, e));
    shared.length = sizeof numbers;
    assert_non_null(tensor.managed);
    dlpark_tensor_release(&tensor);
    assert_int_equal(references(), 1);
}

static void tensors_of_other_devices_are_refused(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    void *buffer = NULL;
    uint64_t offset;

    (void)state;
    assert_ok(dlpark_tensor_new(
        &tensor,
        &(dlpark_tensor_desc){.data = numbers, .dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int64_t[]){4})},
        &view, e));
    assert_null(dlpark_metal_borrow(&metal, &view, NULL));
    assert_fails(DLPARK_E_DEVICE, "on cpu, expected metal", dlpark_metal_export(&metal, &buffer, &offset, &tensor, e));
    assert_fails(DLPARK_E_DEVICE, "on cpu", dlpark_metal_map(&metal, &host, &tensor, NULL, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty", dlpark_metal_map(&metal, &host, &tensor, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty", dlpark_metal_map(&metal, &host, NULL, NULL, NULL, e));
    assert_ok(dlpark_metal_share(
        &metal, &tensor, &shared,
        &(dlpark_tensor_desc){.dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int64_t[]){0})}, &view, e));
    assert_fails(DLPARK_E_SHAPE, "no elements", dlpark_metal_export(&metal, &buffer, &offset, &tensor, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(references(), 1);
}

/* ---- What is refused ---- */

static void descriptions_that_do_not_fit_are_refused(void **state)
{
    static int any;
    static const dlpark_allocator allocator;
    const struct {
        const char *says;
        dlpark_tensor_desc desc;
    } rows[] = {
        {"desc->data ", {SIX, .data = &any}},
        {"desc->data ", {SIX, .data_const = &any}},
        {"desc->owner", {SIX, .owner = &any}},
        {"desc->release", {SIX, .release = free}},
        {"desc->extra_nbytes", {SIX, .extra_nbytes = 1}},
        {"desc->storage", {SIX, .storage = &any}},
        {"desc->storage", {SIX, .storage_nbytes = 1}},
        {"desc->allocator", {SIX, .allocator = &allocator}},
        {"desc->alignment_bytes", {SIX, .alignment_bytes = 64}},
    };
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    void *none = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_fails(DLPARK_E_ARGUMENT, rows[i].says,
                     dlpark_metal_share(&metal, &tensor, &shared, &rows[i].desc, NULL, e));
    const dlpark_tensor_desc six = {SIX};
    dlpark_tensor_desc elsewhere = six, wrong = six;
    elsewhere.device = (DLDevice){kDLCUDA, 0};
    wrong.ndim = -1;
    assert_fails(DLPARK_E_DEVICE, "cuda:0, expected metal", dlpark_metal_view(&metal, &view, &shared, &elsewhere, e));
    assert_fails(DLPARK_E_RANK, "-1", dlpark_metal_share(&metal, &tensor, &shared, &wrong, NULL, e));
    assert_fails(DLPARK_E_RANK, "-1", dlpark_metal_view(&metal, &view, &shared, &wrong, e));
    assert_fails(DLPARK_E_ARGUMENT, "buffer is NULL", dlpark_metal_share(&metal, &tensor, NULL, &six, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "buffer is NULL", dlpark_metal_import(&metal, &tensor, &none, &six, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "buffer is NULL", dlpark_metal_import(&metal, &tensor, NULL, &six, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "view is NULL", dlpark_metal_view(&metal, NULL, &shared, &six, e));
    assert_null(dlpark_metal_borrow(&metal, NULL, NULL));
    assert_fails(DLPARK_E_ARGUMENT, "output tensor is NULL", dlpark_metal_share(&metal, NULL, &shared, &six, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_metal_view_sized(&metal, &view, &shared, NULL, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "metal is NULL", dlpark_metal_view(NULL, &view, &shared, &six, e));
    assert_fails(DLPARK_E_ARGUMENT, "dlpark_metal_open()",
                 dlpark_metal_map(&(dlpark_metal)DLPARK_METAL_EMPTY, &tensor, &tensor, NULL, NULL, e));
    assert_ok(dlpark_metal_share(&metal, &tensor, &shared, &six, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds", dlpark_metal_share(&metal, &tensor, &shared, &six, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds", dlpark_metal_map(&metal, &tensor, &tensor, NULL, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(references(), 1);
}

static void without_memory_nothing_is_left(void **state)
{
    const dlpark_tensor_desc six = {SIX};
    long live = failing_alloc_live();

    (void)state;
    for (long nth = 1; nth <= 4; nth++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
        failing_alloc_arm_from(nth);
        dlpark_status status = dlpark_metal_share(&metal, &tensor, &shared, &six, NULL, NULL);
        if (status == DLPARK_OK)
            status = dlpark_metal_map(&metal, &host, &tensor, NULL, NULL, NULL);
        failing_alloc_arm(0);
        assert_int_equal(status, nth < 4 ? DLPARK_E_MEMORY : DLPARK_OK);
        dlpark_tensor_release(&tensor);
        dlpark_tensor_release(&host);
        assert_int_equal(references(), 1);
        assert_int_equal(failing_alloc_live(), live);
    }
}

static void *map_and_release(void *argument)
{
    dlpark_tensor *tensor = argument, host = DLPARK_TENSOR_EMPTY;
    bool fine = true;

    for (int i = 0; i < 1000 && fine; i++) {
        fine = dlpark_metal_map(&metal, &host, tensor, NULL, NULL, NULL) == DLPARK_OK;
        dlpark_tensor_release(&host);
    }
    dlpark_tensor_release(tensor);
    return fine ? tensor : NULL;
}

static void owners_on_many_threads(void **state)
{
    enum { THREADS = 4 };
    dlpark_tensor owners[THREADS] = {DLPARK_TENSOR_EMPTY};
    pthread_t threads[THREADS];
    void *fine;

    (void)state;
    assert_ok(dlpark_metal_share(&metal, &owners[0], &shared, &(dlpark_tensor_desc){SIX}, NULL, e));
    for (int i = 1; i < THREADS; i++)
        assert_ok(dlpark_tensor_share(&owners[i], &owners[0], NULL, e));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, map_and_release, &owners[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &fine), 0);
        assert_non_null(fine);
    }
    assert_int_equal(references(), 1);
}

/* ---- The runtime of Objective-C ---- */

/* A library with the runtime's functions, over the buffers above. */
static void the_runtime_is_found_at_run_time(void **state)
{
    dlpark_metal found = DLPARK_METAL_EMPTY, again = DLPARK_METAL_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
    dlpark_view here;

    (void)state;
    assert_fails(DLPARK_E_NOT_FOUND, "cannot be loaded", dlpark_metal_open(&found, "/nowhere/libobjc.A.dylib", e));
    assert_fails(DLPARK_E_FOREIGN, "has no objc_retain()", dlpark_metal_open(&found, FAKEOBJC_BROKEN_PATH, e));
    assert_fails(DLPARK_E_ARGUMENT, "metal is NULL", dlpark_metal_open(NULL, NULL, e));
    assert_null(found.functions);
    assert_int_equal(setenv("DLPARK_METAL_LIBRARY", FAKEOBJC_PATH, 1), 0);
    assert_ok(dlpark_metal_open(&found, NULL, e));
    assert_int_equal(setenv("DLPARK_METAL_LIBRARY", "", 1), 0);
#if !defined(__APPLE__)
    assert_fails(DLPARK_E_NOT_FOUND, "libobjc.A.dylib", dlpark_metal_open(&again, NULL, e));
#endif
    assert_ok(dlpark_metal_open(&again, FAKEOBJC_PATH, e));
    assert_ptr_equal(again.functions, found.functions);
    assert_fails(DLPARK_E_NOT_EMPTY, "already has", dlpark_metal_open(&again, FAKEOBJC_PATH, e));
    again.functions = NULL;
    assert_fails(DLPARK_E_FOREIGN, "another runtime", dlpark_metal_open(&again, FAKEOBJC_BROKEN_PATH, e));
    assert_ok(dlpark_metal_share(&found, &tensor, &shared, &(dlpark_tensor_desc){SIX}, NULL, e));
    assert_ok(dlpark_metal_map(&found, &host, &tensor, NULL, &here, e));
    assert_ptr_equal(here.data, numbers + 2);
    dlpark_tensor_release(&tensor);
    assert_int_equal(references(), 2);
    dlpark_tensor_release(&host);
    assert_int_equal(references(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_is_a_handle_and_an_offset),
        cmocka_unit_test(import_takes_the_reference),
        cmocka_unit_test(host_and_device_see_one_memory),
        cmocka_unit_test(flags_go_to_the_host),
        cmocka_unit_test(memory_that_the_host_does_not_see_is_refused),
        cmocka_unit_test(export_gives_a_reference),
        cmocka_unit_test(tensors_of_other_devices_are_refused),
        cmocka_unit_test(descriptions_that_do_not_fit_are_refused),
        cmocka_unit_test(without_memory_nothing_is_left),
        cmocka_unit_test(owners_on_many_threads),
        cmocka_unit_test(the_runtime_is_found_at_run_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
