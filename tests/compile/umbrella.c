/* The whole core in one include, as C and as C++, beside an upstream dlpack.h in either order. */
#include FIRST

#include SECOND

#include FIRST

#include SECOND

DLPARK_BEGIN_C
int abi_umbrella(DLTensor *raw);
DLPARK_END_C

int abi_umbrella(DLTensor *raw)
{
    dlpark_view view;
    dlpark_error err;
    DLDataType dtype = DLPARK_F8_E4M3FN;
    DLDevice device = DLPARK_DEVICE(kDLTrn, 0);
    const float *values;

    if (dlpark_check(raw, 0, &view, &err) != DLPARK_OK)
        return (int)err.status;
    values = DLPARK_CPU(float, &view, &err);
    return values != NULL && !dlpark_dtype_equal(view.dtype, dtype) && !dlpark_device_equal(view.device, device);
}
