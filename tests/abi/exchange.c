/* Our side: knows DLPack only from <dlpark/dlpack.h>, and exchanges every struct with theirs.c in both directions. */
#include <dlpark/dlpack.h>
#include <stdio.h>
#include <string.h>

#include "exchange.h"

static int failures;

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                           \
        }                                                                                                              \
    } while (0)

static int64_t shape[2] = {3, 5};
static int64_t strides[2] = {-7, INT64_MAX};

static DLTensor our_tensor(void)
{
    DLTensor tensor = {.data = ABI_DATA,
                       .device = {.device_type = kDLTrn, .device_id = ABI_ID},
                       .ndim = 2,
                       .dtype = {.code = kDLFloat6_e3m2fn, .bits = 6, .lanes = 0x1234},
                       .shape = shape,
                       .strides = strides,
                       .byte_offset = ABI_OFFSET};
    return tensor;
}

static void give(void)
{
    DLManagedTensorVersioned versioned = {
        .version = {.major = 1, .minor = 3}, .manager_ctx = ABI_CONTEXT, .flags = ABI_FLAGS, .dl_tensor = our_tensor()};
    DLManagedTensor legacy = {.dl_tensor = our_tensor(), .manager_ctx = ABI_CONTEXT};
    DLDevice device = {.device_type = kDLMAIA, .device_id = -1};
    DLDataType dtype = {.code = kDLBool, .bits = 8, .lanes = 1};
    DLPackVersion version = {.major = 0xfffffffeu, .minor = 9};

    EXPECT(abi_theirs_read_versioned(&versioned) == 0);
    EXPECT(abi_theirs_read_legacy(&legacy) == 0);
    EXPECT(abi_theirs_read_values(our_tensor(), device, dtype, version) == 0);
    versioned.version.minor = 4; /* their reader notices */
    EXPECT(abi_theirs_read_versioned(&versioned) == 1);
}

static void expect_their_tensor(const DLTensor *tensor)
{
    EXPECT(tensor->data == ABI_DATA);
    EXPECT(tensor->device.device_type == kDLCUDAManaged);
    EXPECT(tensor->device.device_id == ABI_ID);
    EXPECT(tensor->ndim == 2);
    EXPECT(tensor->dtype.code == kDLFloat4_e2m1fn);
    EXPECT(tensor->dtype.bits == 4);
    EXPECT(tensor->dtype.lanes == 0x4321);
    EXPECT(tensor->shape[0] == 11 && tensor->shape[1] == 13);
    EXPECT(tensor->strides[0] == 17 && tensor->strides[1] == -19);
    EXPECT(tensor->byte_offset == ABI_OFFSET);
}

static void take(void)
{
    int ended = 0;
    DLManagedTensorVersioned *versioned = abi_theirs_make_versioned(&ended);
    DLManagedTensor *legacy = abi_theirs_make_legacy(&ended);

    EXPECT(versioned && legacy);
    if (!versioned || !legacy)
        return;
    EXPECT(versioned->version.major == 1 && versioned->version.minor == 3);
    EXPECT(versioned->manager_ctx == &ended && legacy->manager_ctx == &ended);
    EXPECT(versioned->flags == ABI_FLAGS);
    expect_their_tensor(&versioned->dl_tensor);
    expect_their_tensor(&legacy->dl_tensor);
    versioned->deleter(versioned);
    EXPECT(ended == 1);
    legacy->deleter(legacy);
    EXPECT(ended == 2);
}

static void note_error(void *error_ctx, const char *kind, const char *message)
{
    snprintf((char *)error_ctx, 64, "%s: %s", kind, message);
}

static void call_table(void)
{
    const DLPackExchangeAPI *table = abi_theirs_table();
    DLTensor prototype = our_tensor(), view;
    DLManagedTensorVersioned *managed = NULL;
    char message[64] = "";
    int ended = 0;
    void *object = NULL, *stream = NULL;

    EXPECT(table->header.version.major == 1 && table->header.version.minor == 3);
    EXPECT(table->header.prev_api && table->header.prev_api->version.minor == 9);
    EXPECT(table->header.prev_api && table->header.prev_api->prev_api == NULL);
    EXPECT(table->managed_tensor_allocator(&prototype, &managed, message, note_error) == -1 && managed == NULL);
    EXPECT(strcmp(message, "MemoryError: rank 2") == 0);
    EXPECT(table->managed_tensor_from_py_object_no_sync(&ended, &managed) == 0 && managed != NULL);
    if (managed)
        EXPECT(table->managed_tensor_to_py_object_no_sync(managed, &object) == 0 && object == &ended && ended == 1);
    EXPECT(table->dltensor_from_py_object_no_sync(NULL, &view) == 0);
    expect_their_tensor(&view);
    EXPECT(table->current_work_stream(kDLROCM, 6, &stream) == 0 && stream == ABI_STREAM);
}

int main(void)
{
    give();
    take();
    call_table();
    return failures ? 1 : 0;
}
