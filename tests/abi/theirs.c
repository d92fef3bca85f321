/* The other library: knows DLPack only from the stand-in for upstream's 1.3 header. Compiled as C and as C++. */
#include <dlpack/dlpack.h>
#include <stdlib.h>

#include "exchange.h"

#define WRONG(condition) ((condition) ? 0 : 1)

static int read_tensor(const DLTensor *tensor)
{
    return WRONG(tensor->data == ABI_DATA) + WRONG(tensor->device.device_type == kDLTrn) +
           WRONG(tensor->device.device_id == ABI_ID) + WRONG(tensor->ndim == 2) +
           WRONG(tensor->dtype.code == kDLFloat6_e3m2fn) + WRONG(tensor->dtype.bits == 6) +
           WRONG(tensor->dtype.lanes == 0x1234) + WRONG(tensor->shape[0] == 3 && tensor->shape[1] == 5) +
           WRONG(tensor->strides[0] == -7 && tensor->strides[1] == INT64_MAX) +
           WRONG(tensor->byte_offset == ABI_OFFSET);
}

int abi_theirs_read_versioned(const DLManagedTensorVersioned *managed)
{
    return WRONG(managed->version.major == 1) + WRONG(managed->version.minor == 3) +
           WRONG(managed->manager_ctx == ABI_CONTEXT) + WRONG(managed->flags == ABI_FLAGS) +
           read_tensor(&managed->dl_tensor);
}

int abi_theirs_read_legacy(const DLManagedTensor *managed)
{
    return WRONG(managed->manager_ctx == ABI_CONTEXT) + read_tensor(&managed->dl_tensor);
}

int abi_theirs_read_values(DLTensor tensor, DLDevice device, DLDataType dtype, DLPackVersion version)
{
    return read_tensor(&tensor) + WRONG(device.device_type == kDLMAIA && device.device_id == -1) +
           WRONG(dtype.code == kDLBool && dtype.bits == 8 && dtype.lanes == 1) +
           WRONG(version.major == 0xfffffffeu && version.minor == 9);
}

static int64_t shape[2] = {11, 13};
static int64_t strides[2] = {17, -19};

static void fill_tensor(DLTensor *tensor)
{
    tensor->data = ABI_DATA;
    tensor->device.device_type = kDLCUDAManaged;
    tensor->device.device_id = ABI_ID;
    tensor->ndim = 2;
    tensor->dtype.code = kDLFloat4_e2m1fn;
    tensor->dtype.bits = 4;
    tensor->dtype.lanes = 0x4321;
    tensor->shape = shape;
    tensor->strides = strides;
    tensor->byte_offset = ABI_OFFSET;
}

static void end_versioned(DLManagedTensorVersioned *self)
{
    ++*(int *)self->manager_ctx;
    free(self);
}

static void end_legacy(DLManagedTensor *self)
{
    ++*(int *)self->manager_ctx;
    free(self);
}

DLManagedTensorVersioned *abi_theirs_make_versioned(int *ended)
{
    DLManagedTensorVersioned *managed = (DLManagedTensorVersioned *)malloc(sizeof *managed);

    if (!managed)
        return NULL;
    managed->version.major = 1;
    managed->version.minor = 3;
    managed->manager_ctx = ended;
    managed->deleter = end_versioned;
    managed->flags = ABI_FLAGS;
    fill_tensor(&managed->dl_tensor);
    return managed;
}

DLManagedTensor *abi_theirs_make_legacy(int *ended)
{
    DLManagedTensor *managed = (DLManagedTensor *)malloc(sizeof *managed);

    if (!managed)
        return NULL;
    managed->manager_ctx = ended;
    managed->deleter = end_legacy;
    fill_tensor(&managed->dl_tensor);
    return managed;
}

static int allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                    void (*set_error)(void *error_ctx, const char *kind, const char *message))
{
    *out = NULL;
    set_error(error_ctx, "MemoryError", prototype->ndim == 2 ? "rank 2" : "another rank");
    return -1;
}

static int from_object(void *py_object, DLManagedTensorVersioned **out)
{
    *out = abi_theirs_make_versioned((int *)py_object);
    return 0;
}

static int to_object(DLManagedTensorVersioned *tensor, void **out_py_object)
{
    *out_py_object = tensor->manager_ctx;
    tensor->deleter(tensor);
    return 0;
}

static int view_object(void *py_object, DLTensor *out)
{
    (void)py_object;
    fill_tensor(out);
    return 0;
}

static int current_stream(DLDeviceType device_type, int32_t device_id, void **out_current_stream)
{
    *out_current_stream = device_type == kDLROCM && device_id == 6 ? ABI_STREAM : NULL;
    return 0;
}

const DLPackExchangeAPI *abi_theirs_table(void)
{
    static DLPackExchangeAPIHeader older = {{0, 9}, NULL};
    static const DLPackExchangeAPI table = {{{1, 3}, &older}, allocate,    from_object,
                                            to_object,        view_object, current_stream};

    return &table;
}
