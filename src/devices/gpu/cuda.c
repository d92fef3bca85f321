/*
 * CUDA's door to what it shares with ROCm.
 */
#include <dlpark/cuda.h>

#include "gpu_parts.h"

/* The driver of a handle that may be empty or NULL. */
static dlpark_status cuda_find(const dlpark_cuda *cuda, dlpark__gpu **driver, dlpark_error *err)
{
    *driver = cuda ? cuda->driver : NULL;
    return dlpark__gpu_check(*driver, "dlpark_cuda_open()", err);
}

dlpark_status dlpark_cuda_open(dlpark_cuda *cuda, const char *path, dlpark_error *err)
{
    dlpark__gpu *driver;

    if (!cuda)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "cuda is NULL");
    if (cuda->driver)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "cuda already holds the driver %.160s", cuda->library);
    DLPARK_TRY(dlpark__gpu_open(&dlpark__cuda_platform, path, &driver, err));
    *cuda = (dlpark_cuda){driver, driver->path, driver->version, driver->device_count};
    return DLPARK_OK;
}

dlpark_status dlpark_cuda_alloc_sized(const dlpark_cuda *cuda, dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                      size_t desc_nbytes, const dlpark_gpu_options *options, size_t options_nbytes,
                                      dlpark_view *view, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(cuda_find(cuda, &driver, err));
    return dlpark__gpu_alloc(driver, tensor, desc, desc_nbytes, options, options_nbytes, view, err);
}

dlpark_status dlpark_cuda_import_sized(const dlpark_cuda *cuda, dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                       size_t desc_nbytes, const dlpark_gpu_options *options, size_t options_nbytes,
                                       dlpark_view *view, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(cuda_find(cuda, &driver, err));
    return dlpark__gpu_import(driver, tensor, desc, desc_nbytes, options, options_nbytes, view, err);
}

dlpark_status dlpark_cuda_order(const dlpark_cuda *cuda, DLDevice device, dlpark_stream producer,
                                dlpark_stream consumer, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(cuda_find(cuda, &driver, err));
    return dlpark__gpu_order(driver, device, producer, consumer, err);
}

dlpark_status dlpark_cuda_wait(const dlpark_cuda *cuda, DLDevice device, dlpark_stream stream, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(cuda_find(cuda, &driver, err));
    return dlpark__gpu_wait(driver, device, stream, err);
}

dlpark_status dlpark_cuda_export(const dlpark_cuda *cuda, DLManagedTensorVersioned **managed, dlpark_tensor *tensor,
                                 dlpark_stream producer, dlpark_stream consumer, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(cuda_find(cuda, &driver, err));
    return dlpark__gpu_export(driver, managed, tensor, producer, consumer, err);
}

dlpark_status dlpark_cuda_note_use(const dlpark_cuda *cuda, const dlpark_tensor *tensor, dlpark_stream stream,
                                   dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(cuda_find(cuda, &driver, err));
    return dlpark__gpu_note_use(driver, tensor, stream, err);
}

dlpark_status dlpark_cuda_release_after(const dlpark_cuda *cuda, dlpark_tensor *tensor, dlpark_stream stream,
                                        dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(cuda_find(cuda, &driver, err));
    return dlpark__gpu_release_after(driver, tensor, stream, err);
}

size_t dlpark_cuda_poll(const dlpark_cuda *cuda, bool wait)
{
    return cuda && cuda->driver ? dlpark__gpu_poll(cuda->driver, wait, false) : 0;
}

dlpark_status dlpark_cuda_pointer_info(const dlpark_cuda *cuda, const void *pointer, dlpark_gpu_pointer *out,
                                       dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(cuda_find(cuda, &driver, err));
    if (!out)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "out is NULL");
    return dlpark__gpu_pointer(driver, pointer, out, err);
}

dlpark_status dlpark_cuda_device_name(const dlpark_cuda *cuda, int32_t id, dlpark_name *name, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(cuda_find(cuda, &driver, err));
    return dlpark__gpu_device_name(driver, id, name, err);
}
