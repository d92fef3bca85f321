/* A producer and a consumer by dlpack.h alone: what docs/from-dlpack-h.md starts from. */
#include <dlpark/dlpack.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct table {
    DLManagedTensorVersioned managed;
    int64_t shape[2], strides[2];
    float *values;
} table;

static void table_delete(DLManagedTensorVersioned *self)
{
    table *t = self->manager_ctx;
    free(t->values);
    free(t);
}

static DLManagedTensorVersioned *table_give(float *values, int64_t rows, int64_t columns)
{
    table *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->values = values;
    t->shape[0] = rows, t->shape[1] = columns;
    t->strides[0] = columns, t->strides[1] = 1;
    t->managed.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    t->managed.manager_ctx = t;
    t->managed.deleter = table_delete;
    t->managed.dl_tensor = (DLTensor){.data = values, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1},
                                      .shape = t->shape, .strides = t->strides, .byte_offset = 0};
    return &t->managed;
}

static int table_sum(const DLManagedTensorVersioned *theirs, float *sum)
{
    const DLTensor *t = &theirs->dl_tensor;
    if (theirs->version.major != DLPACK_MAJOR_VERSION || t->device.device_type != kDLCPU || t->ndim != 2 ||
        t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->dtype.lanes != 1)
        return -1;
    const char *first = (const char *)t->data + t->byte_offset;
    *sum = 0;
    for (int64_t i = 0; i < t->shape[0]; i++)
        for (int64_t j = 0; j < t->shape[1]; j++) {
            int64_t at = t->strides ? i * t->strides[0] + j * t->strides[1] : i * t->shape[1] + j;
            *sum += ((const float *)first)[at];
        }
    return 0;
}

int main(void)
{
    float sum, *values = malloc(6 * sizeof *values);
    for (int i = 0; values && i < 6; i++) values[i] = (float)i;
    DLManagedTensorVersioned *given = values ? table_give(values, 2, 3) : NULL;
    if (!given || table_sum(given, &sum))
        return 1;
    printf("%g\n", (double)sum);
    if (given->deleter) given->deleter(given);
}
