/* Looking at a raw DLTensor that stays somebody else's. */
#include <dlpark/dlpark.h>
#include <stdio.h>

static dlpark_status print_bytes(const DLTensor *theirs, uint64_t flags, dlpark_error *err)
{
    dlpark_view view;
    DLPARK_TRY(dlpark_check(theirs, flags, &view, err));
    printf("%lld bytes of %s on %s\n", (long long)dlpark_view_nbytes(&view), dlpark_dtype_name(view.dtype).text,
           dlpark_device_name(view.device).text);
    return DLPARK_OK;
}

int main(void)
{
    float values[6] = {0};
    int64_t shape[] = {2, 3};
    DLTensor theirs = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
    dlpark_error err;

    if (print_bytes(&theirs, 0, &err))
        return 1;
    shape[1] = -3;
    if (print_bytes(&theirs, 0, &err))
        printf("%s: %s\n", dlpark_status_name(err.status), err.message);
}
