/* Names of dtypes and devices, both ways. */
#include <dlpark/dlpark.h>
#include <stdio.h>

int main(void)
{
    DLDataType dtype;
    DLDevice device;
    dlpark_error err;

    if (dlpark_dtype_parse("bfloat16", &dtype, &err) || dlpark_device_parse("cuda:1", &device, &err))
        return 1;
    printf("%s, %u bits\n", dlpark_dtype_name(dtype).text, dlpark_dtype_nbits(dtype));
    printf("%s, host %d\n", dlpark_device_name(device).text, dlpark_device_is_host_accessible(device));
    const char *const spellings[] = {"torch.half", "F8_E4M3", "float"};
    for (int i = 0; i < 3; i++)
        if (dlpark_dtype_from_name(spellings[i], &dtype, &err))
            printf("%s\n", err.message);
        else
            printf("%s is %s\n", spellings[i], dlpark_dtype_name(dtype).text);
    if (dlpark_dtype_parse("f33", &dtype, &err))
        printf("%s\n", dlpark_status_text(err.status));
}
