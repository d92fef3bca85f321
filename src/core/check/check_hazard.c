/*
 * The hazards: what is legal, and misread by somebody. Each is judged wherever what it needs is known to be right.
 */
#include <stdio.h>

#include "check_parts.h"

/* A few milliseconds at most; the layouts that are met in practice are decided within a few steps. */
#define HAZARD_OVERLAP_STEPS 10000

static bool hazard_is_before(DLPackVersion version, uint32_t minor)
{
    return version.major < DLPARK_ABI_MAJOR || version.minor < minor;
}

/* "version 1.0", or "the legacy struct", which has no version. */
static dlpark_name hazard_version(DLPackVersion version)
{
    dlpark_name out;

    if (version.major == 0)
        snprintf(out.text, sizeof out.text, "the legacy struct");
    else
        snprintf(out.text, sizeof out.text, "version %u.%u", (unsigned)version.major, (unsigned)version.minor);
    return out;
}

/* Whether element 0, and the strides to the others, mean anything. */
static bool hazard_has_elements(const dlpark__judged *of)
{
    return of->shape_known && !of->empty;
}

static void hazard_null_strides(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;

    if (tensor->ndim > 0 && tensor->strides == NULL && !hazard_is_before(of->version, 2))
        dlpark__faults_add(faults, DLPARK_RULE_NULL_STRIDES, -1, 0, 0, "strides is NULL although ndim is %d",
                           (int)tensor->ndim);
}

static void hazard_byte_offset(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;

    if (tensor->byte_offset != 0 && hazard_has_elements(of) && of->device_known &&
        dlpark_device_is_addressable(tensor->device))
        dlpark__faults_add(faults, DLPARK_RULE_BYTE_OFFSET, -1, (int64_t)tensor->byte_offset, 0, "byte_offset is %llu",
                           (unsigned long long)tensor->byte_offset);
}

/* Strides that count, since there is more than one element along them. */
static void hazard_strides(const dlpark__judged *of, dlpark_rule rule, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;

    for (int32_t i = 0; i < tensor->ndim; i++) {
        int64_t stride = tensor->strides[i];
        bool is_found = rule == DLPARK_RULE_ZERO_STRIDE ? stride == 0 : stride < 0;
        if (tensor->shape[i] > 1 && is_found)
            dlpark__faults_add(faults, rule, i, stride, 0, "strides[%d] is %lld with extent %lld", (int)i,
                               (long long)stride, (long long)tensor->shape[i]);
    }
}

/* Strides that do not count, in a tensor that is compact without them. */
static void hazard_unused_strides(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;
    int64_t compact[DLPARK_MAX_NDIM];
    dlpark__span extent;

    (void)dlpark__layout_fill(tensor->ndim, tensor->shape, compact, &extent, NULL); /* known to fit */
    for (int32_t i = 0; i < tensor->ndim; i++)
        if (tensor->strides[i] != compact[i])
            dlpark__faults_add(faults, DLPARK_RULE_UNUSED_STRIDE, i, tensor->strides[i], compact[i],
                               "strides[%d] is %lld with extent 1, and not %lld", (int)i, (long long)tensor->strides[i],
                               (long long)compact[i]);
}

static void hazard_order(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;

    if (dlpark_layout_is_compact(tensor->ndim, tensor->shape, tensor->strides))
        hazard_unused_strides(of, faults);
    else if (!dlpark__layout_is_dense(tensor->ndim, tensor->shape, tensor->strides, true))
        dlpark__faults_add(faults, DLPARK_RULE_NOT_COMPACT, -1, 0, 0, "shape %s has strides %s",
                           dlpark__layout_list(tensor->ndim, tensor->shape).text,
                           dlpark__layout_list(tensor->ndim, tensor->strides).text);
}

/* The size of one number in bytes: half of a complex one. 1 where there is no such size, or any address will do. */
static uint64_t hazard_alignment(DLDataType dtype)
{
    unsigned nbytes = dtype.bits / (dtype.code == kDLComplex ? 16u : 8u);
    bool is_number = dtype.code != kDLOpaqueHandle && nbytes > 0;

    return is_number ? nbytes : 1;
}

static void hazard_misaligned(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;
    uint64_t alignment = hazard_alignment(tensor->dtype);
    uint64_t at = tensor->byte_offset;

    if (dlpark_device_is_addressable(tensor->device))
        at += (uintptr_t)tensor->data;
    if (at % alignment != 0)
        dlpark__faults_add(faults, DLPARK_RULE_ALIGNMENT, -1, (int64_t)at, (int64_t)alignment,
                           "element 0 of %s lies at 0x%llx, which is no multiple of %llu",
                           dlpark_dtype_name(tensor->dtype).text, (unsigned long long)at,
                           (unsigned long long)alignment);
}

static void hazard_overlap(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;
    dlpark__overlap overlap =
        dlpark__overlap_layout(tensor->ndim, tensor->shape, tensor->strides, HAZARD_OVERLAP_STEPS);

    if (overlap != DLPARK__OVERLAP_NO)
        dlpark__faults_add(
            faults, overlap == DLPARK__OVERLAP_YES ? DLPARK_RULE_SELF_OVERLAP : DLPARK_RULE_MAYBE_OVERLAP, -1, 0, 0,
            "shape %s with strides %s, and not READ_ONLY", dlpark__layout_list(tensor->ndim, tensor->shape).text,
            dlpark__layout_list(tensor->ndim, tensor->strides).text);
}

static void hazard_layout(const dlpark__judged *of, dlpark__faults *faults)
{
    const DLTensor *tensor = of->tensor;
    bool strided = hazard_has_elements(of) && tensor->ndim > 0 && tensor->strides != NULL;

    if (strided) {
        hazard_strides(of, DLPARK_RULE_NEGATIVE_STRIDE, faults);
        hazard_strides(of, DLPARK_RULE_ZERO_STRIDE, faults);
    }
    if (strided && of->extent_known)
        hazard_order(of, faults);
    if (hazard_has_elements(of) && of->dtype_known && of->device_known && tensor->data != NULL)
        hazard_misaligned(of, faults);
    if (strided && of->extent_known && (of->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0)
        hazard_overlap(of, faults);
    if (of->shape_known && of->empty && tensor->data != NULL)
        dlpark__faults_add(faults, DLPARK_RULE_EMPTY_DATA, -1, (int64_t)(uintptr_t)tensor->data, 0,
                           "data is %p although there are no elements", tensor->data);
}

static void hazard_flags(const dlpark__judged *of, dlpark__faults *faults)
{
    uint64_t padded = of->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    uint64_t later = of->version.major == 0             ? of->flags & DLPARK__FLAGS_KNOWN
                     : hazard_is_before(of->version, 1) ? padded
                                                        : 0;

    if (of->flags & DLPACK_FLAG_BITMASK_READ_ONLY)
        dlpark__faults_add(faults, DLPARK_RULE_READ_ONLY, -1, (int64_t)of->flags, 0, "flags 0x%llx says READ_ONLY",
                           (unsigned long long)of->flags);
    if (padded != 0 && of->dtype_known && !dlpark_dtype_is_packed(of->tensor->dtype))
        dlpark__faults_add(faults, DLPARK_RULE_PADDED, -1, (int64_t)of->flags, 0, "flags 0x%llx says PADDED of %s",
                           (unsigned long long)of->flags, dlpark_dtype_name(of->tensor->dtype).text);
    if (later != 0)
        dlpark__faults_add(faults, DLPARK_RULE_FLAGS_VERSION, -1, (int64_t)of->flags, 0,
                           "flags 0x%llx has bits 0x%llx under %s", (unsigned long long)of->flags,
                           (unsigned long long)later, hazard_version(of->version).text);
}

static void hazard_codes(const dlpark__judged *of, dlpark__faults *faults)
{
    DLDataType dtype = of->tensor->dtype;
    DLDevice device = of->tensor->device;
    bool is_late = (device.device_type == kDLMAIA && of->version.major == 0) ||
                   (device.device_type == kDLTrn && hazard_is_before(of->version, 2));

    if (of->dtype_known && dtype.code >= kDLFloat8_e3m4 && hazard_is_before(of->version, 1))
        dlpark__faults_add(faults, DLPARK_RULE_DTYPE_VERSION, -1, dtype.code, kDLBool, "dtype %s came under %s",
                           dlpark_dtype_name(dtype).text, hazard_version(of->version).text);
    if (is_late)
        dlpark__faults_add(faults, DLPARK_RULE_DEVICE_VERSION, -1, (int64_t)device.device_type,
                           device.device_type == kDLMAIA ? kDLHexagon : kDLMAIA, "device %s came under %s",
                           dlpark_device_name(device).text, hazard_version(of->version).text);
    if (of->device_known && device.device_id != 0 && dlpark_device_is_host_accessible(device))
        dlpark__faults_add(faults, DLPARK_RULE_HOST_DEVICE_ID, -1, device.device_id, 0, "device is %s",
                           dlpark_device_name(device).text);
    if (of->dtype_known && dtype.lanes > INT16_MAX)
        dlpark__faults_add(faults, DLPARK_RULE_SCALABLE_LANES, -1, dtype.lanes, INT16_MAX, "dtype has %u lanes",
                           dtype.lanes);
    if (of->dtype_known && dtype.lanes > 1 && dlpark_dtype_is_packed(dtype))
        dlpark__faults_add(faults, DLPARK_RULE_PACKED_LANES, -1, dtype.lanes, 0, "an element of %s has %u bits",
                           dlpark_dtype_name(dtype).text, dlpark_dtype_nbits(dtype));
}

void dlpark__judge_hazards(const dlpark__judged *of, dlpark__faults *faults)
{
    if (!of->legible)
        return;
    hazard_null_strides(of, faults);
    hazard_byte_offset(of, faults);
    hazard_layout(of, faults);
    hazard_flags(of, faults);
    hazard_codes(of, faults);
}
