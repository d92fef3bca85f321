/* The stream of __dlpack__(stream=...), read and written. */
#include <dlpark/dlpark.h>
#include <dlpark/stream.h>
#include <stdio.h>

static dlpark_status answer(DLDevice device, int64_t number, dlpark_error *err)
{
    dlpark_stream stream;

    DLPARK_TRY(dlpark_stream_decode(device, number, &stream, err));
    if (stream.kind == DLPARK_STREAM_NO_SYNC)
        printf("nothing to wait for\n");
    else
        printf("make it ready on %p\n", dlpark_stream_native(device, stream));
    return DLPARK_OK;
}

int main(void)
{
    const DLDevice cuda = DLPARK_DEVICE(kDLCUDA, 0);
    dlpark_stream per_thread = {.kind = DLPARK_STREAM_PER_THREAD};
    dlpark_error err;
    int64_t number;

    if (answer(cuda, -1, &err) || answer(cuda, 1, &err))
        return 1;
    if (answer(cuda, 0, &err))
        printf("%s\n", err.message);
    if (dlpark_stream_encode(cuda, per_thread, &number, &err))
        return 1;
    printf("stream=%d\n", (int)number);
}
