/*
 * What two translation units that know DLPack from different headers say to each other. Structs cross by pointer and
 * by value; each side fills them by field name, and the other reads them by field name.
 */
#ifndef ABI_EXCHANGE_H
#define ABI_EXCHANGE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Defined by the unit compiled against the upstream stand-in. Each returns the number of fields that were wrong. */
int abi_theirs_read_versioned(const DLManagedTensorVersioned *managed);
int abi_theirs_read_legacy(const DLManagedTensor *managed);
int abi_theirs_read_values(DLTensor tensor, DLDevice device, DLDataType dtype, DLPackVersion version);
DLManagedTensorVersioned *abi_theirs_make_versioned(int *ended);
DLManagedTensor *abi_theirs_make_legacy(int *ended);
const DLPackExchangeAPI *abi_theirs_table(void);

#ifdef __cplusplus
}
#endif

/* What both sides write and expect; no two fields share a value. */
#define ABI_DATA    ((void *)(uintptr_t)0x1122334455667780u)
#define ABI_CONTEXT ((void *)(uintptr_t)0x0badcafe0badcaf8u)
#define ABI_OFFSET  UINT64_C(0x0102030405060708)
#define ABI_FLAGS   UINT64_C(0x8000000000000005)
#define ABI_ID      0x01234567
#define ABI_STREAM  ((void *)(uintptr_t)0x7777)

#endif
