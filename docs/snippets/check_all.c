/* Everything that is wrong with a tensor, and everything legal that somebody misreads. */
#include <dlpark/dlpark.h>
#include <stdio.h>

int main(void)
{
    float values[6] = {0};
    int64_t shape[] = {2, 3};
    DLTensor theirs = {.data = values, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1},
                       .shape = shape, .strides = NULL, .byte_offset = 0};

    theirs.device.device_id = -1;
    dlpark_fault faults[8];
    size_t count = dlpark_check_all(&theirs, 0, faults, 8);
    for (size_t i = 0; i < count && i < 8; i++)
        printf("%s %s: %s\n", dlpark_severity_name(faults[i].severity), dlpark_rule_name(faults[i].rule),
               faults[i].message);

    /* The same description by the legacy struct, which may leave its strides out. */
    printf("%zu\n", dlpark_check_all_version(&theirs, 0, (DLPackVersion){0, 0}, NULL, 0));
}
