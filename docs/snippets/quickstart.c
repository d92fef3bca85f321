#include <dlpark/dlpark.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    dlpark_error err;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    int32_t *values = malloc(6 * sizeof *values);
    for (int i = 0; values && i < 6; i++) values[i] = i + 1;

    /* The tensor takes `values`: its last user, on whatever thread, calls free(values). */
    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data = values, .dtype = DLPARK_I32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3}),
            .owner = values, .release = free}, &view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        free(values);                                             /* new did not take it */
        return 1;
    }
    const int32_t *cpu = DLPARK_CPU(int32_t, &view, &err);        /* NULL with the reason if not int32, compact, on the CPU */
    if (cpu) printf("%lld x %lld, last %d\n", (long long)view.shape[0], (long long)view.shape[1], cpu[5]);

    DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);  /* tensor is empty now */
    handed->deleter(handed);                                           /* what the receiver does */
}
