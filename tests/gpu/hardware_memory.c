/*
 * Memory of each kind: allocated, described by the driver, copied there and back, shared by devices.
 */
#include "hardware.h"

#include <stdlib.h>

#include <dlpark/copy.h>

enum { ROWS = 300, COLUMNS = 500 };

static const dlpark_stream default_stream = {DLPARK_STREAM_DEFAULT, NULL};
static const DLDevice kinds[] = {{kDLCUDA, 0}, {kDLCUDAManaged, 0}, {kDLCUDAHost, 0}};

/* The numbers 0, 1, 2 of u32[ROWS, COLUMNS] on the host, and room for as many. */
static verdict host_make(finding *seen, dlpark_tensor *tensor, dlpark_view *view, bool counted)
{
    const int64_t shape[] = {ROWS, COLUMNS};

    EXPECT_OK(dlpark_tensor_alloc(
        tensor, &(dlpark_tensor_desc){.dtype = DLPARK_U32, .ndim = 2, .shape = DLPARK_DIMS(shape)}, view, err));
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
        ((uint32_t *)view->data)[i] = counted ? i : UINT32_MAX;
    return PASSED;
}

static verdict device_make(finding *seen, dlpark_tensor *tensor, dlpark_view *view, DLDevice device)
{
    const int64_t shape[] = {ROWS, COLUMNS};

    EXPECT_OK(dlpark_cuda_alloc(
        &cuda, tensor,
        &(dlpark_tensor_desc){.dtype = DLPARK_U32, .device = device, .ndim = 2, .shape = DLPARK_DIMS(shape)}, NULL,
        view, err));
    return PASSED;
}

static verdict the_driver_knows_what_was_allocated(finding *seen)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_gpu_pointer said;
        dlpark_view view;

        TRY(device_make(seen, &tensor, &view, kinds[i]));
        EXPECT((uintptr_t)view.data % 256 == 0, "%s memory begins at %p", dlpark_device_name(kinds[i]).text, view.data);
        EXPECT_OK(dlpark_cuda_pointer_info(&cuda, view.data, &said, err));
        EXPECT(said.device.device_type == kinds[i].device_type && said.ordinal == 0,
               "the driver says %s of ordinal %d of memory on %s", dlpark_device_name(said.device).text, said.ordinal,
               dlpark_device_name(kinds[i]).text);
        EXPECT(said.base == view.data && said.nbytes >= ROWS * COLUMNS * sizeof(uint32_t),
               "%s memory at %p of %d bytes: the driver says %p and %llu", dlpark_device_name(kinds[i]).text, view.data,
               (int)(ROWS * COLUMNS * sizeof(uint32_t)), said.base, (unsigned long long)said.nbytes);
        dlpark_tensor_release(&tensor);
    }
    return found(seen, PASSED,
                 "device, managed and page-locked memory, told from each other, at multiples of 256 bytes");
}

/* To the device, within it, and back; every second row backwards where `strided`. */
static verdict there_and_back(finding *seen, DLDevice first, DLDevice second, bool strided)
{
    dlpark_tensor host = DLPARK_TENSOR_EMPTY, home = DLPARK_TENSOR_EMPTY, one = DLPARK_TENSOR_EMPTY, two = one;
    dlpark_view here, back, there, beyond, *views[] = {&here, &back, &there, &beyond};

    TRY(host_make(seen, &host, &here, true));
    TRY(host_make(seen, &home, &back, false));
    TRY(device_make(seen, &one, &there, first));
    TRY(device_make(seen, &two, &beyond, second));
    for (size_t i = 0; strided && i < 4; i++) {
        EXPECT_OK(dlpark_view_slice(views[i], 0, DLPARK_NONE, DLPARK_NONE, 2, err));
        EXPECT_OK(dlpark_view_slice(views[i], 1, DLPARK_NONE, DLPARK_NONE, -1, err));
    }
    EXPECT_OK(dlpark_cuda_copy(&cuda, &there, &here, default_stream, err));
    EXPECT_OK(dlpark_cuda_copy(&cuda, &beyond, &there, default_stream, err));
    EXPECT_OK(dlpark_cuda_wait(&cuda, (DLDevice){kDLCUDA, 0}, default_stream, err));
    if (second.device_type == kDLCUDAHost)
        EXPECT_OK(dlpark_copy(&back, &beyond, err)); /* the host reads it where it is */
    else
        EXPECT_OK(dlpark_cuda_copy(&cuda, &back, &beyond, default_stream, err));
    dlpark_tensor_view(&home, &back);
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
        const uint32_t expected = !strided || i / COLUMNS % 2 == 0 ? i : UINT32_MAX;
        EXPECT(((uint32_t *)back.data)[i] == expected, "element %u from %s by %s%s is %u, not %u", i,
               dlpark_device_name(first).text, dlpark_device_name(second).text, strided ? ", strided" : "",
               ((uint32_t *)back.data)[i], expected);
    }
    dlpark_tensor_release(&two);
    dlpark_tensor_release(&one);
    dlpark_tensor_release(&home);
    dlpark_tensor_release(&host);
    return PASSED;
}

static verdict numbers_come_back(finding *seen)
{
    for (int strided = 0; strided < 2; strided++) {
        TRY(there_and_back(seen, kinds[0], kinds[0], strided));
        TRY(there_and_back(seen, kinds[0], kinds[1], strided));
        TRY(there_and_back(seen, kinds[1], kinds[0], strided));
        TRY(there_and_back(seen, kinds[0], kinds[2], strided));
    }
    return found(seen, PASSED, "%d numbers, compact and every second row backwards, by all three kinds of memory",
                 ROWS * COLUMNS);
}

static verdict numbers_come_back_from_another_device(finding *seen)
{
    if (cuda.device_count < 2)
        return found(seen, LEFT_OUT, "the machine has one device");
    for (int strided = 0; strided < 2; strided++) {
        TRY(there_and_back(seen, (DLDevice){kDLCUDA, 0}, (DLDevice){kDLCUDA, 1}, strided));
        TRY(there_and_back(seen, (DLDevice){kDLCUDA, 1}, (DLDevice){kDLCUDA, 0}, strided));
    }
    return found(seen, PASSED, "from cuda:0 by cuda:1 and the other way, compact and strided");
}

/* Managed and page-locked memory: what a kernel writes, the host reads where it is. */
static verdict the_host_reads_what_a_kernel_wrote(finding *seen)
{
    for (size_t i = 1; i < sizeof kinds / sizeof *kinds; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        uint32_t number = 0;
        dlpark_view view;

        EXPECT_OK(dlpark_cuda_alloc(
            &cuda, &tensor,
            &(dlpark_tensor_desc){
                .dtype = DLPARK_U32, .device = kinds[i], .ndim = 1, .shape = DLPARK_DIMS((int64_t[]){1})},
            NULL, &view, err));
        EXPECT_CUDA(driver_launch_slow(NULL, view.data, 41 + (uint32_t)i));
        EXPECT_OK(dlpark_cuda_wait(&cuda, (DLDevice){kDLCUDA, 0}, default_stream, err));
        memcpy(&number, view.data, sizeof number);
        EXPECT(number == 41 + i, "%s: the host reads %u", dlpark_device_name(kinds[i]).text, number);
        dlpark_tensor_release(&tensor);
    }
    return found(seen, PASSED, "after dlpark_cuda_wait(), in managed and in page-locked memory");
}

/* Memory of the driver's own that dlpark takes, and refuses where it is told wrong. */
static verdict memory_of_others_is_taken(finding *seen)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    const int64_t shape[] = {ROWS, COLUMNS}, too_large[] = {1 << 20, 1 << 10};
    dlpark_tensor_desc desc = {.dtype = DLPARK_U32, .ndim = 2, .shape = DLPARK_DIMS(too_large)};
    CUdeviceptr pointer = 0;
    dlpark_error refusal;
    dlpark_view view;

    EXPECT_CUDA(DRIVER(cuMemAlloc_v2)(&pointer, ROWS * COLUMNS * sizeof(uint32_t)));
    desc.data = (void *)(uintptr_t)pointer;
    EXPECT(dlpark_cuda_import(&cuda, &tensor, &desc, NULL, NULL, &refusal) == DLPARK_E_LAYOUT,
           "4 GiB in memory of 600,000 bytes: %s", refusal.message);
    desc.shape = DLPARK_DIMS(shape);
    EXPECT_OK(dlpark_cuda_import(&cuda, &tensor, &desc, NULL, &view, err));
    EXPECT(view.device.device_type == kDLCUDA && view.device.device_id == 0, "taken as on %s",
           dlpark_device_name(view.device).text);
    dlpark_tensor_release(&tensor);
    return found(seen, PASSED, "the device as the driver says it; elements outside of the allocation are refused");
}

const check memory_checks[] = {
    {"what the driver says of memory of each kind", the_driver_knows_what_was_allocated},
    {"copies to the device, within it and back", numbers_come_back},
    {"copies between two devices", numbers_come_back_from_another_device},
    {"the host reads managed and page-locked memory", the_host_reads_what_a_kernel_wrote},
    {"memory of `cuMemAlloc` is taken over", memory_of_others_is_taken},
    {NULL, NULL},
};
