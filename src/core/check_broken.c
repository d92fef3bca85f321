/*
 * The broken rules, each judged wherever what it needs is known, in the order of the table.
 */
#include "check_parts.h"

static bool broken_is_legible(const dlpark__judged *of, dlpark__faults *faults)
{
    if (of->tensor == NULL) {
        dlpark__faults_add(faults, DLPARK_RULE_TENSOR, -1, 0, 0, "tensor is NULL");
        return false;
    }
    if (of->version.major > DLPARK_ABI_MAJOR) {
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

/* The width is judged for one lane, so that one number is blamed for one thing. */
static bool broken_dtype(const dlpark__judged *of, dlpark__faults *faults)
{
    DLDataType dtype = of->tensor->dtype;
    size_t before = faults->count;

    if (dtype.code > kDLFloat4_e2m1fn) {
        dlpark__faults_add(faults, DLPARK_RULE_DTYPE_CODE, -1, dtype.code, kDLFloat4_e2m1fn,
                           "dtype code %u (bits %u, lanes %u)", dtype.code, dtype.bits, dtype.lanes);
        return true;
    }
    if (dtype.lanes == 0)
        dlpark__faults_add(faults, DLPARK_RULE_DTYPE_LANES, -1, 0, 1, "dtype has 0 lanes (code %u, bits %u)",
                           dtype.code, dtype.bits);
    if (dtype.code == kDLComplex && dtype.lanes > 1)
        dlpark__faults_add(faults, DLPARK_RULE_DTYPE_COMPLEX, -1, dtype.lanes, 1,
                           "complex dtype has %u lanes of %u bits", dtype.lanes, dtype.bits);
    if (dlpark_dtype_check(DLPARK_DTYPE(dtype.code, dtype.bits, 1), NULL) != DLPARK_OK)
        dlpark__faults_add(faults, DLPARK_RULE_DTYPE_BITS, -1, dtype.bits, 0, "dtype code %u has %u bits (lanes %u)",
                           dtype.code, dtype.bits, dtype.lanes);
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

static bool broken_numel(dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;

    of->extent.numel = 1;
    for (int32_t i = 0; i < tensor->ndim; i++)
        if (__builtin_mul_overflow(of->extent.numel, tensor->shape[i], &of->extent.numel)) {
            dlpark__faults_add(faults, DLPARK_RULE_NUMEL, i, tensor->shape[i], INT64_MAX,
                               "the element count leaves 63 bits at shape[%d] = %lld of %s", (int)i,
                               (long long)tensor->shape[i], dlpark__layout_list(tensor->ndim, tensor->shape).text);
            return true;
        }
    return false;
}

/* Both ends are negated or counted from 1 later on, so the last value on either side is out, too. */
static bool broken_reach(dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;
    int64_t low = 0, high = 0, reach;

    for (int32_t i = 0; i < tensor->ndim; i++)
        if (tensor->shape[i] > 1 && (__builtin_mul_overflow(tensor->shape[i] - 1, tensor->strides[i], &reach) ||
                                     __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high) ||
                                     low == INT64_MIN || high == INT64_MAX)) {
            dlpark__faults_add(faults, DLPARK_RULE_REACH, i, tensor->strides[i], INT64_MAX - 1,
                               "the reach in elements leaves 63 bits at shape[%d] = %lld with strides[%d] = %lld",
                               (int)i, (long long)tensor->shape[i], (int)i, (long long)tensor->strides[i]);
            return true;
        }
    of->extent.lowest = low;
    of->extent.highest = high;
    return false;
}

static void broken_layout(dlpark__judged *of, dlpark__faults *faults)
{
    of->extent = (dlpark__span){0, 0, -1};
    of->extent_known = true;
    if (of->empty)
        return;
    of->extent_known = !broken_numel(of, faults);
    if (of->tensor->strides != NULL)
        of->extent_known &= !broken_reach(of, faults);
    else if (of->extent_known)
        of->extent.highest = of->extent.numel - 1;
}

static void broken_data(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;

    if (of->empty || tensor->data != NULL)
        return;
    if (of->extent_known)
        dlpark__faults_add(faults, DLPARK_RULE_DATA, -1, 0, 0,
                           "data is NULL although there are %lld elements (shape %s)", (long long)of->extent.numel,
                           dlpark__layout_list(tensor->ndim, tensor->shape).text);
    else
        dlpark__faults_add(faults, DLPARK_RULE_DATA, -1, 0, 0, "data is NULL although there are elements (shape %s)",
                           dlpark__layout_list(tensor->ndim, tensor->shape).text);
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
        dlpark__faults_add(faults, DLPARK_RULE_ADDRESS, -1, (int64_t)(uintptr_t)tensor->data, 0,
                           "data %p with byte_offset %llu, reaching %lld bytes below and %lld above element 0",
                           tensor->data, (unsigned long long)tensor->byte_offset, (long long)below, (long long)above);
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
