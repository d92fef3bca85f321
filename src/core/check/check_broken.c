/*
 * The broken rules, each judged wherever what it needs is known, in the order of the table.
 */
#include <stdio.h>
#include <string.h>

#include "check_parts.h"

static bool broken_is_legible(const dlpark__judged *of, dlpark__faults *faults)
{
    if (of->tensor == NULL) {
        dlpark__faults_add(faults, DLPARK_RULE_TENSOR, -1, 0, 0, "tensor is NULL");
        return false;
    }
    if (of->foreign || of->version.major > DLPARK_ABI_MAJOR) {
        dlpark__faults_add(faults, DLPARK_RULE_VERSION, -1, of->version.major, DLPARK_ABI_MAJOR, "the version is %u.%u",
                           (unsigned)of->version.major, (unsigned)of->version.minor);
        return false;
    }
    return true;
}

static void broken_flags(const dlpark__judged *of, dlpark__faults *faults)
{
    uint64_t unknown = of->flags & ~DLPARK__FLAGS_KNOWN;

    if (unknown != 0)
        dlpark__faults_add(faults, DLPARK_RULE_FLAGS, -1, (int64_t)of->flags, DLPARK__FLAGS_KNOWN,
                           "flags 0x%llx has bits 0x%llx", (unsigned long long)of->flags, (unsigned long long)unknown);
}

static bool broken_rank(const dlpark__judged *of, dlpark__faults *faults)
{
    int32_t ndim = of->tensor->ndim;

    if (ndim >= 0 && ndim <= DLPARK_MAX_NDIM)
        return false;
    dlpark__faults_add(faults, DLPARK_RULE_RANK, -1, ndim, ndim < 0 ? 0 : DLPARK_MAX_NDIM, "ndim is %d", (int)ndim);
    return true;
}

/* What a known code is called, and the widths that it can have in words: "float" and "16, 32, 64 or 128". */
typedef struct broken_code {
    char name[sizeof(dlpark_name)];
    char widths[64];
} broken_code;

static broken_code broken_describe(uint8_t code)
{
    broken_code out = {"", ""};
    unsigned widths[UINT8_MAX];
    int count = 0, at = 0;

    for (unsigned bits = 1; bits <= UINT8_MAX; bits++)
        if (dlpark_dtype_check(DLPARK_DTYPE(code, bits, 1), NULL) == DLPARK_OK)
            widths[count++] = bits;
    snprintf(out.name, sizeof out.name, "%s", dlpark_dtype_long_name(DLPARK_DTYPE(code, widths[0], 1)).text);
    if (count > 1) /* the name of a code with one width is whole: "bfloat16" */
        out.name[strcspn(out.name, "0123456789")] = '\0';
    for (int i = 0; i < count && code != kDLOpaqueHandle; i++)
        at += snprintf(out.widths + at, sizeof out.widths - (size_t)at, "%s%u",
                       i == 0           ? ""
                       : i == count - 1 ? " or "
                                        : ", ",
                       widths[i]);
    if (code == kDLOpaqueHandle)
        snprintf(out.widths, sizeof out.widths, "a multiple of %u", widths[0]);
    return out;
}

/* The width is judged for one lane, so that one number is blamed for one thing. */
static void broken_width(DLDataType dtype, dlpark__faults *faults)
{
    if (dlpark_dtype_check(DLPARK_DTYPE(dtype.code, dtype.bits, 1), NULL) == DLPARK_OK)
        return;
    broken_code code = broken_describe(dtype.code);
    dlpark__faults_add(faults, DLPARK_RULE_DTYPE_BITS, -1, dtype.bits, 0,
                       "dtype code %u (%s) has %u bit%s, expected %s", dtype.code, code.name, dtype.bits,
                       dtype.bits == 1 ? "" : "s", code.widths);
}

static bool broken_dtype(const dlpark__judged *of, dlpark__faults *faults)
{
    DLDataType dtype = of->tensor->dtype;
    bool known = dtype.code <= kDLFloat4_e2m1fn;
    size_t before = faults->count;

    if (!known)
        dlpark__faults_add(faults, DLPARK_RULE_DTYPE_CODE, -1, dtype.code, kDLFloat4_e2m1fn,
                           "dtype code %u (bits %u, lanes %u)", dtype.code, dtype.bits, dtype.lanes);
    if (dtype.lanes == 0)
        dlpark__faults_add(faults, DLPARK_RULE_DTYPE_LANES, -1, 0, 1, "dtype has 0 lanes (code %u, bits %u)",
                           dtype.code, dtype.bits);
    if (dtype.code == kDLComplex && dtype.lanes > 1)
        dlpark__faults_add(faults, DLPARK_RULE_DTYPE_COMPLEX, -1, dtype.lanes, 1,
                           "complex dtype has %u lanes of %u bit%s", dtype.lanes, dtype.bits,
                           dtype.bits == 1 ? "" : "s");
    if (known)
        broken_width(dtype, faults);
    return faults->count != before;
}

static bool broken_device(const dlpark__judged *of, dlpark__faults *faults)
{
    DLDevice device = of->tensor->device;
    size_t before = faults->count;

    if (dlpark_device_check(DLPARK_DEVICE(device.device_type, 0), NULL) != DLPARK_OK)
        dlpark__faults_add(faults, DLPARK_RULE_DEVICE_TYPE, -1, (int64_t)device.device_type, kDLTrn,
                           "device type %d (id %d)", (int)device.device_type, (int)device.device_id);
    if (device.device_id < 0)
        dlpark__faults_add(faults, DLPARK_RULE_DEVICE_ID, -1, device.device_id, 0, "device id %d (type %d)",
                           (int)device.device_id, (int)device.device_type);
    return faults->count != before;
}

/* Whether all extents may be computed with. */
static bool broken_extents(dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;
    size_t before = faults->count;

    for (int32_t i = 0; i < tensor->ndim; i++) {
        of->empty |= tensor->shape[i] == 0;
        if (tensor->shape[i] < 0)
            dlpark__faults_add(faults, DLPARK_RULE_EXTENT, i, tensor->shape[i], 0, "shape[%d] is %lld", (int)i,
                               (long long)tensor->shape[i]);
    }
    return faults->count != before;
}

/* The layout's own finders say it; this notes it. */
static void broken_note(dlpark__faults *faults, const dlpark__layout_fault *fault)
{
    dlpark__faults_add(faults, fault->rule, fault->dimension, fault->value, fault->limit, "%s", fault->text);
}

static void broken_layout(dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;
    dlpark__layout_fault fault;

    of->extent = (dlpark__span){0, 0, -1};
    of->extent_known = true;
    if (of->empty)
        return;
    if (dlpark__layout_find_numel(tensor->ndim, tensor->shape, &of->extent, &fault)) {
        broken_note(faults, &fault);
        of->extent_known = false;
    }
    if ((tensor->strides != NULL || of->extent_known) &&
        dlpark__layout_find_reach(tensor->ndim, tensor->shape, tensor->strides, &of->extent, &fault)) {
        broken_note(faults, &fault);
        of->extent_known = false;
    }
}

static void broken_data(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;

    if (of->empty || tensor->data != NULL)
        return;
    if (of->extent_known)
        dlpark__faults_add(faults, DLPARK_RULE_DATA, -1, 0, 0,
                           "data is NULL although there %s %lld element%s (shape %s)",
                           of->extent.numel == 1 ? "is" : "are", (long long)of->extent.numel,
                           of->extent.numel == 1 ? "" : "s", dlpark__layout_list(tensor->ndim, tensor->shape).text);
    else
        dlpark__faults_add(faults, DLPARK_RULE_DATA, -1, 0, 0, "data is NULL although there are elements (shape %s)",
                           dlpark__layout_list(tensor->ndim, tensor->shape).text);
}

/* Of a handle only the offset counts. */
static void broken_address(const DLTensor *tensor, int64_t below, int64_t above, dlpark__faults *faults)
{
    int64_t address = (int64_t)(uintptr_t)tensor->data;

    if (dlpark_device_is_addressable(tensor->device))
        dlpark__faults_add(faults, DLPARK_RULE_ADDRESS, -1, address, 0,
                           "data %p with byte_offset %llu, reaching %lld bytes below and %lld above element 0",
                           tensor->data, (unsigned long long)tensor->byte_offset, (long long)below, (long long)above);
    else
        dlpark__faults_add(faults, DLPARK_RULE_ADDRESS, -1, address, 0,
                           "byte_offset %llu of a handle on %s, reaching %lld bytes below and %lld above element 0, "
                           "expected bytes 0 to 2^63-1",
                           (unsigned long long)tensor->byte_offset, dlpark_device_name(tensor->device).text,
                           (long long)below, (long long)above);
}

static void broken_bytes(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;
    int64_t below, above;

    if (of->empty || !of->extent_known || !of->dtype_known)
        return;
    if (!dlpark__check_reach(tensor, of->flags, &of->extent, &below, &above))
        dlpark__faults_add(faults, DLPARK_RULE_NBYTES, -1, of->extent.numel, 0,
                           "%lld elements of %s, reaching from element %lld to %lld", (long long)of->extent.numel,
                           dlpark_dtype_name(tensor->dtype).text, (long long)of->extent.lowest,
                           (long long)of->extent.highest);
    else if (tensor->data != NULL && of->device_known && !dlpark__check_address(tensor, below, above))
        broken_address(tensor, below, above, faults);
}

void dlpark__judge_broken(dlpark__judged *of, bool lists, dlpark__faults *faults)
{
    of->legible = broken_is_legible(of, faults);
    if (!of->legible)
        return;
    broken_flags(of, faults);

    bool readable = !broken_rank(of, faults);
    of->dtype_known = !broken_dtype(of, faults);
    of->device_known = !broken_device(of, faults);
    if (!readable)
        return;
    if (of->tensor->ndim > 0 && of->tensor->shape == NULL) {
        dlpark__faults_add(faults, DLPARK_RULE_SHAPE, -1, 0, 0, "shape is NULL although ndim is %d",
                           (int)of->tensor->ndim);
        return;
    }
    of->shape_known = lists && !broken_extents(of, faults);
    if (!of->shape_known)
        return;
    broken_layout(of, faults);
    broken_data(of, faults);
    broken_bytes(of, faults);
}
