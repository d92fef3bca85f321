#include <dlpark/dlpark.h>
#include <stdio.h>

int main(void)
{
    float values[6] = {0};
    int64_t shape[] = {2, -3};
    DLTensor theirs = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
    dlpark_error err;
    dlpark_view view;

    if (dlpark_check(&theirs, 0, &view, &err))
        printf("%s: %s\n", dlpark_status_name(err.status), err.message);
}
