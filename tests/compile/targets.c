/*
 * The layout on one target, against numbers written down for it. The headers come from the compiler alone
 * (-ffreestanding), so a target needs no C library here.
 */
#include <dlpark/dlpack.h>

_Static_assert(sizeof(void *) == EXPECT_POINTER, "not the target that these numbers are for");
_Static_assert(sizeof(DLTensor) == EXPECT_TENSOR, "DLTensor");
_Static_assert(offsetof(DLTensor, byte_offset) == EXPECT_TENSOR - 8, "DLTensor.byte_offset");
_Static_assert(sizeof(DLManagedTensor) == EXPECT_LEGACY, "DLManagedTensor");
_Static_assert(sizeof(DLManagedTensorVersioned) == EXPECT_VERSIONED, "DLManagedTensorVersioned");
_Static_assert(sizeof(DLPackExchangeAPI) == EXPECT_TABLE, "DLPackExchangeAPI");
_Static_assert(sizeof(DLDeviceType) == 4 && sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4, "scalars");
