/**
 * Devices: names both ways, and what the host may do with their memory.
 *
 *     DLDevice device;
 *     DLPARK_TRY(dlpark_device_parse("cuda:1", &device, err));
 *     printf("%s\n", dlpark_device_name(device).text);          // cuda:1
 *
 * Pointers must not be NULL unless a parameter says optional.
 */
#ifndef DLPARK_DEVICE_H
#define DLPARK_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "dlpack.h"
#include "status.h"

/** A device constant from its two parts. */
#define DLPARK_DEVICE(type, id)                                                                                        \
    (DLPARK_LITERAL(DLDevice){DLPARK_CAST(DLDeviceType, (type)), DLPARK_CAST(int32_t, (id))})

/** Memory of the host. */
#define DLPARK_DEVICE_CPU DLPARK_DEVICE(kDLCPU, 0)

DLPARK_BEGIN_C

/** Whether type and id are both equal. */
DLPARK_INLINE bool dlpark_device_equal(DLDevice a, DLDevice b);

/** Whether it is the plain CPU, or {0, 0}, which a description takes for it. */
DLPARK_INLINE bool dlpark__device_is_usual(DLDevice device);

/**
 * Whether the host may read the memory through its pointer: CPU, page-locked CUDA and ROCm memory, CUDA managed memory.
 * For managed memory the caller must first have waited for the device's work.
 */
DLPARK_INLINE bool dlpark_device_is_host_accessible(DLDevice device);

/**
 * Whether `data` is an address, to which bytes can be added. On OpenCL, Vulkan, Metal and WebGPU it is a handle; there the
 * position of element 0 stays in `byte_offset`.
 */
DLPARK_INLINE bool dlpark_device_is_addressable(DLDevice device);

/**
 * "cpu", "cuda:1", "cuda_host", "rocm:0": the id is left out where it is 0 and the device is host memory.
 * A type that DLPack 1.3 does not define comes as "device(type=20, id=0)".
 * Threads: any.
 */
DLPARK_API dlpark_name dlpark_device_name(DLDevice device);

/**
 * The device of a name, with an optional ":id" (0 when absent).
 *
 * @param name  in. Must not be NULL.
 * @param out   out. Not written on failure.
 * @param err   out, optional. Names what was not understood.
 * @return DLPARK_OK; DLPARK_E_DEVICE.
 * Threads: any; independent of the locale.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_device_parse(const char *name, DLDevice *out, dlpark_error *err);

/**
 * Whether DLPack 1.3 defines the device type, and the id is not negative.
 *
 * @return DLPARK_OK; DLPARK_E_DEVICE.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_device_check(DLDevice device, dlpark_error *err);

DLPARK_INLINE bool dlpark_device_equal(DLDevice a, DLDevice b)
{
    return a.device_type == b.device_type && a.device_id == b.device_id;
}

DLPARK_INLINE bool dlpark__device_is_usual(DLDevice device)
{
    return DLPARK_CAST(uint32_t, device.device_type) <= 1 && device.device_id == 0;
}

/** One bit for each device type: a test of membership is a shift, without a branch. */
#define DLPARK_DEVICE_BIT(type) (UINT32_C(1) << DLPARK_CAST(unsigned, (type)))
#define DLPARK_DEVICE_HAS(set, device)                                                                                 \
    (((set) >> (DLPARK_CAST(uint32_t, (device).device_type) & 31u) &                                                   \
      DLPARK_CAST(uint32_t, DLPARK_CAST(uint32_t, (device).device_type) < 32u)) != 0)

DLPARK_INLINE bool dlpark_device_is_host_accessible(DLDevice device)
{
    return DLPARK_DEVICE_HAS(DLPARK_DEVICE_BIT(kDLCPU) | DLPARK_DEVICE_BIT(kDLCUDAHost) |
                                 DLPARK_DEVICE_BIT(kDLROCMHost) | DLPARK_DEVICE_BIT(kDLCUDAManaged),
                             device);
}

DLPARK_INLINE bool dlpark_device_is_addressable(DLDevice device)
{
    return !DLPARK_DEVICE_HAS(DLPARK_DEVICE_BIT(kDLOpenCL) | DLPARK_DEVICE_BIT(kDLVulkan) |
                                  DLPARK_DEVICE_BIT(kDLMetal) | DLPARK_DEVICE_BIT(kDLWebGPU),
                              device);
}

DLPARK_END_C

#endif
