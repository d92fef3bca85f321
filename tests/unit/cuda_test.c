#include "gpu_fake.h"

#include <stdlib.h>

#include "failing_alloc.h"
#include "gpu_copy.h"

#include "../../src/devices/gpu/gpu_parts.h"

/* ---- open ---- */

static void a_driver_is_found_once(void **state)
{
    dlpark_cuda again = DLPARK_CUDA_EMPTY;

    (void)state;
    assert_ok(dlpark_cuda_open(&again, FAKECUDA_PATH, e));
    assert_ptr_equal(again.driver, cuda.driver);
    assert_string_equal(again.library, FAKECUDA_PATH);
    assert_int_equal(again.version, 13000);
    assert_int_equal(again.device_count, FAKE_DEVICES);
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds the driver", dlpark_cuda_open(&again, FAKECUDA_PATH, e));
    assert_fails(DLPARK_E_ARGUMENT, "cuda is NULL", dlpark_cuda_open(NULL, NULL, e));
}

static void the_environment_names_a_driver(void **state)
{
    dlpark_cuda found = DLPARK_CUDA_EMPTY;

    (void)state;
    assert_int_equal(setenv("DLPARK_CUDA_LIBRARY", FAKECUDA_PATH, 1), 0);
    assert_ok(dlpark_cuda_open(&found, NULL, e));
    assert_ptr_equal(found.driver, cuda.driver);
    found = (dlpark_cuda)DLPARK_CUDA_EMPTY;
    assert_int_equal(setenv("DLPARK_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1), 0);
    assert_fails(DLPARK_E_NOT_FOUND, "/nowhere/libcuda.so.1", dlpark_cuda_open(&found, NULL, e));
    assert_null(found.driver);
    assert_ok(dlpark_cuda_open(&found, FAKECUDA_PATH, e)); /* the argument goes before it */
    assert_int_equal(setenv("DLPARK_CUDA_LIBRARY", "", 1), 0);
    found = (dlpark_cuda)DLPARK_CUDA_EMPTY;
    assert_true(dlpark_cuda_open(&found, NULL, NULL) == DLPARK_OK || !found.driver); /* whatever this machine has */
    assert_int_equal(unsetenv("DLPARK_CUDA_LIBRARY"), 0);
    (void)!dlpark_cuda_open(&found, NULL, NULL);
}

static void what_is_no_driver_is_told(void **state)
{
    dlpark_cuda none = DLPARK_CUDA_EMPTY;

    (void)state;
    assert_fails(DLPARK_E_NOT_FOUND, "the driver of CUDA cannot be loaded", dlpark_cuda_open(&none, "/nowhere.so", e));
    assert_fails(DLPARK_E_FOREIGN, "has no cuInit(): it is no driver of CUDA", dlpark_cuda_open(&none, "libc.so.6", e));
    assert_null(none.driver);
}

/* The copies of the fake under other names are other drivers: each is asked anew. */
static void a_driver_that_does_not_work_is_told(void **state)
{
    static const struct {
        const char *mode;
        dlpark_status status;
        const char *text;
    } cases[] = {
        {"stub", DLPARK_E_NOT_FOUND, "is the stub of the toolkit, for linking only: there is no driver of CUDA"},
        {"no-device", DLPARK_E_DEVICE, "finds no device of CUDA"},
        {"old", DLPARK_E_FOREIGN, "is for version 10020 of CUDA, 11000 or later is needed"},
    };
    dlpark_cuda none = DLPARK_CUDA_EMPTY;

    gpu_copy copy = gpu_copy_make(FAKECUDA_PATH);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(setenv("FAKECUDA", cases[i].mode, 1), 0);
        assert_fails(cases[i].status, cases[i].text, dlpark_cuda_open(&none, copy.path, e));
        assert_null(none.driver);
    }
    assert_int_equal(unsetenv("FAKECUDA"), 0);
    gpu_copy_end(&copy);
}

static void without_a_driver_every_call_says_so(void **state)
{
    const dlpark_cuda none = DLPARK_CUDA_EMPTY;
    const dlpark_tensor_desc desc = {DESC_OF_SIX};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *managed = NULL;
    dlpark_gpu_pointer found;
    dlpark_name name;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "dlpark_cuda_open()", dlpark_cuda_alloc(&none, &tensor, &desc, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_cuda_import(&none, &tensor, &desc, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_cuda_order(NULL, cuda_0, unsaid, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_cuda_wait(&none, cuda_0, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_cuda_export(&none, &managed, &tensor, unsaid, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_cuda_note_use(&none, &tensor, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_cuda_release_after(&none, &tensor, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_cuda_pointer_info(&none, NULL, &found, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_cuda_device_name(&none, 0, &name, e));
    assert_int_equal(dlpark_cuda_poll(&none, true), 0);
    assert_int_equal(dlpark_cuda_poll(NULL, true), 0);
}

static void opening_without_memory_keeps_nothing(void **state)
{
    dlpark_cuda found = DLPARK_CUDA_EMPTY;
    dlpark_error err;
    dlpark_status status;
    gpu_copy copy = gpu_copy_make(FAKECUDA_PATH);
    long n = 0;

    (void)state;
    do {
        failing_alloc_arm(++n);
        status = dlpark_cuda_open(&found, copy.path, &err);
        if (status != DLPARK_OK) {
            assert_int_equal(status, DLPARK_E_MEMORY);
            assert_null(found.driver);
        }
    } while (status != DLPARK_OK);
    failing_alloc_arm(0);
    gpu_copy_end(&copy);
    assert_int_equal(n, 5); /* four allocations, each of which has failed */
    assert_ptr_not_equal(found.driver, cuda.driver);
}

/* ---- alloc ---- */

static void alloc_makes_memory_of_each_kind(void **state)
{
    static const struct {
        DLDevice asked, made;
        fake_kind kind;
        int32_t ordinal;
    } cases[] = {
        {{(DLDeviceType)0, 0}, {kDLCUDA, 0}, FAKE_MEMORY, 0},
        {{kDLCUDA, 1}, {kDLCUDA, 1}, FAKE_MEMORY, 1},
        {{kDLCUDAManaged, 1}, {kDLCUDAManaged, 0}, FAKE_MANAGED_MEMORY, 1},
        {{kDLCUDAHost, 0}, {kDLCUDAHost, 0}, FAKE_HOST_MEMORY, 0},
    };
    dlpark_gpu_pointer found;
    dlpark_view view;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        const dlpark_tensor_desc desc = {DESC_OF_SIX, .device = cases[i].asked};

        assert_ok(dlpark_cuda_alloc(&cuda, &tensor, &desc, NULL, &view, e));
        assert_int_equal(fake_live(cases[i].kind), 1);
        assert_int_equal(fake_live_all(), 1);
        assert_true(dlpark_device_equal(view.device, cases[i].made));
        assert_true(dlpark_view_is_compact(&view));
        assert_int_equal((uintptr_t)view.data % 256, 0);
        assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
        assert_ok(dlpark_cuda_pointer_info(&cuda, (char *)view.data + 23, &found, e));
        assert_true(dlpark_device_equal(found.device, cases[i].made));
        assert_int_equal(found.ordinal, cases[i].ordinal);
        assert_ptr_equal(found.base, view.data);
        assert_int_equal(found.nbytes, 24);
        assert_int_equal(found.is_pool, 0);
        dlpark_tensor_release(&tensor);
        assert_int_equal(fake_live_all(), 0);
    }
}

/* What a driver is asked of what the host may read must be readable there. */
static void page_locked_memory_is_the_hosts(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .device = {kDLCUDAHost, 0}}, NULL,
                                &view, e));
    float *values = DLPARK_CPU_MUT(float, &view, NULL);
    assert_non_null(values);
    values[5] = 5;
    dlpark_tensor_release(&tensor);
}

static void a_pool_is_used_where_a_stream_is_said(void **state)
{
    CUstream stream = gpu_fake_stream();
    dlpark_gpu_options options = {.stream = dlpark_cuda_stream(stream)};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    const dlpark_tensor_desc desc = {DESC_OF_SIX};
    dlpark_gpu_pointer found;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_cuda_alloc(&cuda, &tensor, &desc, &options, &view, e));
    assert_int_equal(fake_live(FAKE_POOL_MEMORY), 1);
    assert_ok(dlpark_cuda_pointer_info(&cuda, view.data, &found, e));
    assert_int_equal(found.is_pool, 1);
    dlpark_tensor_release(&tensor);
    assert_int_equal(fake_calls("cuMemFreeAsync"), 0); /* by default somebody waits */
    options.release = DLPARK_GPU_RELEASE_ON_STREAM;
    assert_ok(dlpark_cuda_alloc(&cuda, &tensor, &desc, &options, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(fake_calls("cuMemFreeAsync"), 1);
    gpu_fake_close(stream);
}

static void without_elements_no_call_is_made(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_cuda_alloc(
        &cuda, &tensor,
        &(dlpark_tensor_desc){.dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int[]){4, 0}), .device = cuda_0},
        NULL, &view, e));
    assert_null(view.data);
    assert_int_equal(view.device.device_type, kDLCUDA);
    assert_ok(dlpark_cuda_note_use(&cuda, &tensor, unsaid, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(fake_calls(NULL), 0);
}

static void alloc_aligns_and_gives_extra_bytes(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    for (size_t alignment = 1; alignment <= 65536; alignment *= 4) {
        assert_ok(dlpark_cuda_alloc(
            &cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .alignment_bytes = alignment, .extra_nbytes = 40}, NULL,
            &view, e));
        assert_int_equal((uintptr_t)view.data % alignment, 0);
        memset(dlpark_tensor_extra(&tensor), 7, 40);
        dlpark_tensor_release(&tensor);
    }
}

static void alloc_refuses_before_it_asks_the_driver(void **state)
{
    const struct {
        dlpark_tensor_desc desc;
        dlpark_gpu_options options;
        dlpark_status status;
        const char *text;
    } cases[] = {
        {{DESC_OF_SIX, .data = &cuda}, {.reserved = 0}, DLPARK_E_ARGUMENT, "data is given, and alloc makes its own"},
        {{DESC_OF_SIX, .storage = &cuda, .storage_nbytes = 8}, {.reserved = 0}, DLPARK_E_ARGUMENT, "storage is given"},
        {{DESC_OF_SIX, .flags = 2}, {.reserved = 0}, DLPARK_E_FLAGS, "IS_COPIED"},
        {{DESC_OF_SIX, .device = {kDLROCM, 0}}, {.reserved = 0}, DLPARK_E_DEVICE, "rocm:0 is not a device of CUDA"},
        {{DESC_OF_SIX, .device = {(DLDeviceType)0, 1}}, {.reserved = 0}, DLPARK_E_DEVICE, "is not a device of CUDA"},
        {{DESC_OF_SIX, .device = {kDLCUDA, 2}},
         {.reserved = 0},
         DLPARK_E_DEVICE,
         "there is no device 2 of CUDA, they are 0 to 1"},
        {{DESC_OF_SIX, .device = {kDLCUDA, -1}}, {.reserved = 0}, DLPARK_E_DEVICE, "there is no device -1"},
        {{DESC_OF_SIX}, {.reserved = 3}, DLPARK_E_ARGUMENT, "options->reserved is 3"},
        {{DESC_OF_SIX}, {.release = (dlpark_gpu_release)9}, DLPARK_E_ARGUMENT, "9 is no way to release memory"},
        {{DESC_OF_SIX}, {.release = (dlpark_gpu_release)-1}, DLPARK_E_ARGUMENT, "-1 is no way to release memory"},
        {{DESC_OF_SIX}, {.release = DLPARK_GPU_RELEASE_CALLBACK}, DLPARK_E_ARGUMENT, "not by a callback"},
        {{DESC_OF_SIX}, {.release = DLPARK_GPU_RELEASE_ON_STREAM}, DLPARK_E_ARGUMENT, "and none is given"},
        {{DESC_OF_SIX},
         {.release = DLPARK_GPU_RELEASE_ON_STREAM, .stream = {DLPARK_STREAM_PER_THREAD, NULL}},
         DLPARK_E_ARGUMENT,
         "per-thread default stream"},
        {{DESC_OF_SIX}, {.stream = {DLPARK_STREAM_NO_SYNC, NULL}}, DLPARK_E_ARGUMENT, "a stream is needed here"},
        {{DESC_OF_SIX}, {.stream = {(dlpark_stream_kind)7, NULL}}, DLPARK_E_ARGUMENT, "7 is no kind of stream"},
        {{.dtype = DLPARK_F32, .ndim = 65, .shape = DLPARK_DIMS((int64_t *)NULL)},
         {.reserved = 0},
         DLPARK_E_RANK,
         "65"},
        {{.dtype = DLPARK_F32, .ndim = -1}, {.reserved = 0}, DLPARK_E_RANK, "-1"},
        {{.dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int64_t[]){INT64_MAX / 2})},
         {.reserved = 0},
         DLPARK_E_OVERFLOW,
         ""},
        {{.dtype = DLPARK_U8,
          .ndim = 1,
          .shape = DLPARK_DIMS((int64_t[]){INT64_MAX / 4}),
          .alignment_bytes = SIZE_MAX / 2 + 1},
         {.reserved = 0},
         sizeof(void *) == 8 ? DLPARK_E_MEMORY : DLPARK_E_OVERFLOW,
         ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

        assert_fails(cases[i].status, cases[i].text,
                     dlpark_cuda_alloc(&cuda, &tensor, &cases[i].desc, &cases[i].options, NULL, e));
        assert_null(tensor.managed);
    }
    assert_int_equal(fake_live_all(), 0);
}

static void the_driver_has_no_memory(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    assert_fails(DLPARK_E_MEMORY, "bytes on cuda:1: cuMemAlloc_v2",
                 dlpark_cuda_alloc(&cuda, &tensor,
                                   &(dlpark_tensor_desc){.dtype = DLPARK_U8,
                                                         .ndim = 1,
                                                         .shape = DLPARK_DIMS((int64_t[]){(int64_t)(SIZE_MAX / 4)}),
                                                         .device = {kDLCUDA, 1}},
                                   NULL, NULL, e));
    assert_null(tensor.managed);
}

/* A header of a version to come, and one from before a field. */
static void sizes_of_other_versions_are_read(void **state)
{
    struct {
        dlpark_gpu_options options;
        uint64_t later;
    } wide = {{.reserved = 0}, 0};
    const dlpark_tensor_desc desc = {DESC_OF_SIX};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    assert_ok(dlpark_cuda_alloc_sized(&cuda, &tensor, &desc, sizeof desc, &wide.options, sizeof wide, NULL, e));
    dlpark_tensor_release(&tensor);
    wide.later = 1;
    assert_fails(DLPARK_E_ARGUMENT, "the options use a field at byte",
                 dlpark_cuda_alloc_sized(&cuda, &tensor, &desc, sizeof desc, &wide.options, sizeof wide, NULL, e));
    wide.options.release = (dlpark_gpu_release)9; /* beyond what is said to be there */
    assert_ok(
        dlpark_cuda_alloc_sized(&cuda, &tensor, &desc, sizeof desc, &wide.options, sizeof(dlpark_stream), NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "", dlpark_cuda_alloc(&cuda, &tensor, &desc, NULL, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_cuda_alloc(&cuda, &tensor, NULL, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_cuda_alloc(&cuda, NULL, &desc, NULL, NULL, e));
}

/* ---- import ---- */

static void import_takes_memory_of_each_kind(void **state)
{
    static const DLDevice kinds[] = {{kDLCUDA, 1}, {kDLCUDAManaged, 1}, {kDLCUDAHost, 1}};
    dlpark_tensor made = DLPARK_TENSOR_EMPTY, tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view, seen;

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_ok(
            dlpark_cuda_alloc(&cuda, &made, &(dlpark_tensor_desc){DESC_OF_SIX, .device = kinds[i]}, NULL, &view, e));
        gpu_fake_released = 0;
        for (int32_t said = -1; said < 2; said++) { /* nothing, the id of DLPack, and the device's */
            DLDevice device = {said < 0 ? (DLDeviceType)0 : kinds[i].device_type, said < 0 ? 0 : said};
            dlpark_tensor_desc desc = {DESC_OF_SIX, .device = device, .data = view.data, .release = gpu_fake_release};

            if (i == 0 && said == 0) {
                assert_fails(DLPARK_E_DEVICE, "is said to be on cuda:0, and the driver has it on cuda:1",
                             dlpark_cuda_import(&cuda, &tensor, &desc, NULL, &seen, e));
                continue;
            }
            assert_ok(dlpark_cuda_import(&cuda, &tensor, &desc, NULL, &seen, e));
            assert_true(dlpark_device_equal(seen.device, view.device));
            assert_ptr_equal(seen.data, view.data);
            assert_int_equal(tensor.managed->flags, 0);
            dlpark_tensor_release(&tensor);
        }
        assert_int_equal(gpu_fake_released, i == 0 ? 2 : 3);
        dlpark_tensor_release(&made);
    }
}

static void the_driver_frees_what_has_no_release(void **state)
{
    void *memory = gpu_fake_memory(1, 32);
    dlpark_tensor_desc desc = {DESC_OF_SIX, .data_const = memory, .byte_offset = 8};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_cuda_import(&cuda, &tensor, &desc, NULL, &view, e));
    assert_ptr_equal(view.data, (char *)memory + 8);
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_int_equal(view.device.device_id, 1);
    dlpark_tensor_release(&tensor);
    assert_int_equal(fake_live_all(), 0);

    memory = gpu_fake_memory(0, 32);
    desc = (dlpark_tensor_desc){DESC_OF_SIX, .data = (char *)memory + 8};
    assert_fails(DLPARK_E_ARGUMENT, "which begins at", dlpark_cuda_import(&cuda, &tensor, &desc, NULL, NULL, e));
    desc.release = gpu_fake_release;
    assert_ok(dlpark_cuda_import(&cuda, &tensor, &desc, NULL, NULL, e));
    dlpark_tensor_release(&tensor);
    gpu_fake_free(memory);
}

static void a_layout_that_leaves_its_allocation_is_refused(void **state)
{
    void *memory = gpu_fake_memory(0, 24);
    const struct {
        int64_t stride;
        uint64_t offset;
        dlpark_status status;
    } cases[] = {
        {1, 0, DLPARK_OK},   {1, 4, DLPARK_E_LAYOUT},   {2, 0, DLPARK_E_LAYOUT},
        {-1, 20, DLPARK_OK}, {-1, 16, DLPARK_E_LAYOUT}, {0, 20, DLPARK_OK},
    };
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const dlpark_tensor_desc desc = {.dtype = DLPARK_F32,
                                         .ndim = 1,
                                         .shape = DLPARK_DIMS((int64_t[]){6}),
                                         .strides = DLPARK_DIMS(&cases[i].stride),
                                         .data = memory,
                                         .byte_offset = cases[i].offset,
                                         .release = gpu_fake_release};
        assert_int_equal(dlpark_cuda_import(&cuda, &tensor, &desc, NULL, NULL, &err), cases[i].status);
        if (cases[i].status == DLPARK_OK)
            dlpark_tensor_release(&tensor);
        else
            assert_non_null(strstr(err.message, "(24 bytes)"));
        assert_null(tensor.managed);
    }
    gpu_fake_free(memory);
}

static void import_refuses_what_is_not_the_drivers(void **state)
{
    static float here[6];
    void *memory = gpu_fake_memory(0, 24);
    const dlpark_gpu_options callback = {.release = DLPARK_GPU_RELEASE_CALLBACK};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    gpu_fake_released = 0;
    assert_fails(DLPARK_E_DEVICE, "the driver of CUDA does not know of memory at",
                 dlpark_cuda_import(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .data = here}, NULL, NULL, e));
    assert_fails(DLPARK_E_DEVICE, "is said to be on cpu, and the driver has it on cuda:0",
                 dlpark_cuda_import(&cuda, &tensor,
                                    &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory, .device = {kDLCPU, 0}}, NULL,
                                    NULL, e));
    assert_fails(DLPARK_E_DEVICE, "device(type=0, id=1)",
                 dlpark_cuda_import(&cuda, &tensor,
                                    &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory, .device = {(DLDeviceType)0, 1}},
                                    NULL, NULL, e));
    assert_fails(
        DLPARK_E_ARGUMENT, "release is NULL",
        dlpark_cuda_import(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory}, &callback, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "no way",
                 dlpark_cuda_import(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory},
                                    &(dlpark_gpu_options){.release = (dlpark_gpu_release)4}, NULL, e));
    assert_fails(DLPARK_E_DATA, "",
                 dlpark_cuda_import(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, e));
    assert_fails(
        DLPARK_E_ARGUMENT, "allocator is given",
        dlpark_cuda_import(
            &cuda, &tensor,
            &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory,
                                  .allocator = &(dlpark_allocator){(void *(*)(void *, size_t, size_t))1,
                                                                   (void (*)(void *, void *, size_t, size_t))1, NULL}},
            NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_cuda_import(&cuda, &tensor, NULL, NULL, NULL, e));
    assert_int_equal(gpu_fake_released, 0);
    gpu_fake_free(memory);
}

static void *released_owner;

static void release_extra(void *owner)
{
    released_owner = owner;
}

static void import_without_elements_still_releases(void **state)
{
    void *memory = gpu_fake_memory(0, 24);
    dlpark_tensor_desc desc = {.dtype = DLPARK_F32,
                               .ndim = 1,
                               .shape = DLPARK_DIMS((int[]){0}),
                               .device = {kDLCUDA, 1},
                               .extra_nbytes = 8,
                               .release = release_extra};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_cuda_import(&cuda, &tensor, &desc, NULL, &view, e));
    assert_int_equal(view.device.device_id, 1);
    void *extra = dlpark_tensor_extra(&tensor);
    dlpark_tensor_release(&tensor);
    assert_ptr_equal(released_owner, extra); /* the extra bytes are the owner where none is named */

    desc.release = NULL;
    assert_ok(dlpark_cuda_import(&cuda, &tensor, &desc, NULL, &view, e));
    dlpark_tensor_release(&tensor);
    desc.data = memory;
    desc.device = cuda_0;
    assert_ok(dlpark_cuda_import(&cuda, &tensor, &desc, NULL, &view, e));
    assert_null(view.data);
    dlpark_tensor_release(&tensor);
    assert_int_equal(fake_live_all(), 0);
}

/* ---- Addresses and names ---- */

static void addresses_of_nobody_are_the_hosts(void **state)
{
    static char here;
    dlpark_gpu_pointer found;
    dlpark_name name;

    (void)state;
    assert_ok(dlpark_cuda_pointer_info(&cuda, &here, &found, e));
    assert_int_equal(found.device.device_type, kDLCPU);
    assert_int_equal(found.ordinal, -1);
    assert_null(found.base);
    assert_int_equal(found.nbytes, 0);
    assert_ok(dlpark_cuda_pointer_info(&cuda, NULL, &found, e));
    assert_int_equal(found.ordinal, -1);
    assert_fails(DLPARK_E_ARGUMENT, "out is NULL", dlpark_cuda_pointer_info(&cuda, &here, NULL, e));
    assert_ok(dlpark_cuda_device_name(&cuda, 1, &name, e));
    assert_true(name.text[0] != '\0');
    assert_fails(DLPARK_E_DEVICE, "no device 2", dlpark_cuda_device_name(&cuda, 2, &name, e));
    assert_fails(DLPARK_E_ARGUMENT, "name is NULL", dlpark_cuda_device_name(&cuda, 0, NULL, e));
}

static void a_driver_may_want_a_context_for_an_address(void **state)
{
    void *memory = gpu_fake_memory(0, 24);
    dlpark_gpu_pointer found;

    (void)state;
    fake_fail("cuPointerGetAttributes", 1, CUDA_ERROR_INVALID_CONTEXT);
    assert_ok(dlpark_cuda_pointer_info(&cuda, memory, &found, e));
    assert_ptr_equal(found.base, memory);
    fake_fail_from("cuPointerGetAttributes", 1, CUDA_ERROR_INVALID_CONTEXT);
    assert_fails(DLPARK_E_FOREIGN, "cuPointerGetAttributes: CUDA_ERROR_INVALID_CONTEXT (201)",
                 dlpark_cuda_pointer_info(&cuda, memory, &found, e));
    fake_fail_from(NULL, 1, CUDA_ERROR_INVALID_CONTEXT);
    assert_fails(DLPARK_E_FOREIGN, "cuCtxPushCurrent_v2: ", dlpark_cuda_pointer_info(&cuda, memory, &found, e));
    fake_fail("cuPointerGetAttributes", 1, CUDA_ERROR_INVALID_VALUE);
    assert_ok(dlpark_cuda_pointer_info(&cuda, memory, &found, e));
    assert_int_equal(found.ordinal, -1);
    fake_reset();
    gpu_fake_free(memory);
}

/* What copies between devices call. */
static void bytes_are_copied_each_way(void **state)
{
    const unsigned char bytes[12] = "abcdefghijk";
    unsigned char back[12] = {0};
    dlpark_tensor tensors[2] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
    const dlpark__gpu_platform *platform = &dlpark__cuda_platform;
    void *stream = dlpark_stream_native(cuda_0, unsaid);
    dlpark_view views[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_ok(dlpark_cuda_alloc(&cuda, &tensors[i], &(dlpark_tensor_desc){DESC_OF_SIX, .device = {kDLCUDA, i}},
                                    NULL, &views[i], e));
    char *first = views[0].data;
    dlpark__gpu_rows in = {.to = first, .from = bytes, .to_pitch = 6, .from_pitch = 6, .nbytes = 6, .count = 2};
    dlpark__gpu_rows across = {
        .to = first + 12, .from = first, .to_pitch = 4, .from_pitch = 6, .nbytes = 2, .count = 2};
    dlpark__gpu_rows out = {.to = back, .from = first + 12, .to_pitch = 2, .from_pitch = 4, .nbytes = 2, .count = 2};
    gpu_fake_push(0);
    assert_int_equal(platform->copy_rows(cuda.driver, DLPARK__GPU_TO_DEVICE, &in, stream).code, 0);
    assert_int_equal(platform->copy_rows(cuda.driver, DLPARK__GPU_ON_DEVICE, &across, stream).code, 0);
    assert_int_equal(platform->copy_rows(cuda.driver, DLPARK__GPU_TO_HOST, &out, stream).code, 0);
    assert_memory_equal(back, "abgh", 4);
    assert_int_equal(platform->copy(cuda.driver, DLPARK__GPU_TO_DEVICE, first, bytes, 12, stream).code, 0);
    assert_int_equal(platform->copy(cuda.driver, DLPARK__GPU_ON_DEVICE, first + 12, first, 12, stream).code, 0);
    assert_int_equal(platform->copy(cuda.driver, DLPARK__GPU_TO_HOST, back, first + 12, 12, stream).code, 0);
    assert_memory_equal(back, bytes, 12);
    assert_int_equal(platform->copy_peer(cuda.driver, views[1].data, 1, first, 0, 12, stream).code, 0);
    assert_int_equal(cuStreamSynchronize(stream), CUDA_SUCCESS);
    gpu_fake_pop();
    for (int i = 0; i < 2; i++)
        dlpark_tensor_release(&tensors[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_driver_is_found_once),
        GPU_TEST(the_environment_names_a_driver),
        GPU_TEST(what_is_no_driver_is_told),
        GPU_TEST(a_driver_that_does_not_work_is_told),
        GPU_TEST(opening_without_memory_keeps_nothing),
        GPU_TEST(without_a_driver_every_call_says_so),
        GPU_TEST(alloc_makes_memory_of_each_kind),
        GPU_TEST(page_locked_memory_is_the_hosts),
        GPU_TEST(a_pool_is_used_where_a_stream_is_said),
        GPU_TEST(without_elements_no_call_is_made),
        GPU_TEST(alloc_aligns_and_gives_extra_bytes),
        GPU_TEST(alloc_refuses_before_it_asks_the_driver),
        GPU_TEST(the_driver_has_no_memory),
        GPU_TEST(sizes_of_other_versions_are_read),
        GPU_TEST(import_takes_memory_of_each_kind),
        GPU_TEST(the_driver_frees_what_has_no_release),
        GPU_TEST(a_layout_that_leaves_its_allocation_is_refused),
        GPU_TEST(import_refuses_what_is_not_the_drivers),
        GPU_TEST(import_without_elements_still_releases),
        GPU_TEST(addresses_of_nobody_are_the_hosts),
        GPU_TEST(a_driver_may_want_a_context_for_an_address),
        GPU_TEST(bytes_are_copied_each_way),
    };

    return cmocka_run_group_tests_name("cuda", tests, gpu_fake_open, NULL);
}
