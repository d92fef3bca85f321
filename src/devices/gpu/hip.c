/*
 * ROCm's door to what it shares with CUDA.
 */
#include <dlpark/hip.h>

#include "gpu_parts.h"

/* The driver of a handle that may be empty or NULL. */
static dlpark_status hip_find(const dlpark_hip *hip, dlpark__gpu **driver, dlpark_error *err)
{
    *driver = hip ? hip->driver : NULL;
    return dlpark__gpu_check(*driver, "dlpark_hip_open()", err);
}

dlpark_status dlpark_hip_open(dlpark_hip *hip, const char *path, dlpark_error *err)
{
    dlpark__gpu *driver;

    if (!hip)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "hip is NULL");
    if (hip->driver)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "hip already holds the driver %.160s", hip->library);
    DLPARK_TRY(dlpark__gpu_open(&dlpark__hip_platform, path, &driver, err));
    *hip = (dlpark_hip){driver, driver->path, driver->version, driver->device_count};
    return DLPARK_OK;
}

dlpark_status dlpark_hip_alloc_sized(const dlpark_hip *hip, dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                     size_t desc_nbytes, const dlpark_gpu_options *options, size_t options_nbytes,
                                     dlpark_view *view, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(hip_find(hip, &driver, err));
    return dlpark__gpu_alloc(driver, tensor, desc, desc_nbytes, options, options_nbytes, view, err);
}

dlpark_status dlpark_hip_import_sized(const dlpark_hip *hip, dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                      size_t desc_nbytes, const dlpark_gpu_options *options, size_t options_nbytes,
                                      dlpark_view *view, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(hip_find(hip, &driver, err));
    return dlpark__gpu_import(driver, tensor, desc, desc_nbytes, options, options_nbytes, view, err);
}

dlpark_status dlpark_hip_order(const dlpark_hip *hip, DLDevice device, dlpark_stream producer, dlpark_stream consumer,
                               dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(hip_find(hip, &driver, err));
    return dlpark__gpu_order(driver, device, producer, consumer, err);
}

dlpark_status dlpark_hip_wait(const dlpark_hip *hip, DLDevice device, dlpark_stream stream, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(hip_find(hip, &driver, err));
    return dlpark__gpu_wait(driver, device, stream, err);
}

dlpark_status dlpark_hip_export(const dlpark_hip *hip, DLManagedTensorVersioned **managed, dlpark_tensor *tensor,
                                dlpark_stream producer, dlpark_stream consumer, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(hip_find(hip, &driver, err));
    return dlpark__gpu_export(driver, managed, tensor, producer, consumer, err);
}

dlpark_status dlpark_hip_note_use(const dlpark_hip *hip, const dlpark_tensor *tensor, dlpark_stream stream,
                                  dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(hip_find(hip, &driver, err));
    return dlpark__gpu_note_use(driver, tensor, stream, err);
}

dlpark_status dlpark_hip_release_after(const dlpark_hip *hip, dlpark_tensor *tensor, dlpark_stream stream,
                                       dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(hip_find(hip, &driver, err));
    return dlpark__gpu_release_after(driver, tensor, stream, err);
}

size_t dlpark_hip_poll(const dlpark_hip *hip, bool wait)
{
    return hip && hip->driver ? dlpark__gpu_poll(hip->driver, wait, false) : 0;
}

dlpark_status dlpark_hip_pointer_info(const dlpark_hip *hip, const void *pointer, dlpark_gpu_pointer *out,
                                      dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(hip_find(hip, &driver, err));
    if (!out)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "out is NULL");
    return dlpark__gpu_pointer(driver, pointer, out, err);
}

dlpark_status dlpark_hip_device_name(const dlpark_hip *hip, int32_t id, dlpark_name *name, dlpark_error *err)
{
    dlpark__gpu *driver;

    DLPARK_TRY(hip_find(hip, &driver, err));
    return dlpark__gpu_device_name(driver, id, name, err);
}
