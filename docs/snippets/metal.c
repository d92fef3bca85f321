#include <dlpark/metal.h>

/* 2 x 3 floats of an id<MTLBuffer>: a tensor for who computes on the device, and one of the same bytes for the host. */
dlpark_status both_sides(const dlpark_metal *metal, void *buffer, dlpark_tensor *device, dlpark_tensor *host,
                         dlpark_error *err);

dlpark_status both_sides(const dlpark_metal *metal, void *buffer, dlpark_tensor *device, dlpark_tensor *host,
                         dlpark_error *err)
{
    DLPARK_TRY(dlpark_metal_share(metal, device, buffer, &(dlpark_tensor_desc){
        .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})}, NULL, err));
    dlpark_status status = dlpark_metal_map(metal, host, device, NULL, NULL, err);
    if (status != DLPARK_OK)
        dlpark_tensor_release(device);
    return status; /* the buffer lives until both have ended, in any order */
}
