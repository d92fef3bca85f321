#include <stdio.h>
#include <string.h>

#include "internal.h"

/* Indexed by DLDeviceType; 5 and 6 are unused. */
static const char *const device_names[] = {
    [kDLCPU] = "cpu",
    [kDLCUDA] = "cuda",
    [kDLCUDAHost] = "cuda_host",
    [kDLOpenCL] = "opencl",
    [kDLVulkan] = "vulkan",
    [kDLMetal] = "metal",
    [kDLVPI] = "vpi",
    [kDLROCM] = "rocm",
    [kDLROCMHost] = "rocm_host",
    [kDLExtDev] = "ext_dev",
    [kDLCUDAManaged] = "cuda_managed",
    [kDLOneAPI] = "one_api",
    [kDLWebGPU] = "webgpu",
    [kDLHexagon] = "hexagon",
    [kDLMAIA] = "maia",
    [kDLTrn] = "trn",
};

#define DEVICE_TYPES (sizeof device_names / sizeof device_names[0])

static const char *device_word(DLDevice device)
{
    return (uint32_t)device.device_type < DEVICE_TYPES ? device_names[device.device_type] : NULL;
}

static bool device_is_known(DLDevice device)
{
    return device.device_id >= 0 && device_word(device) != NULL;
}

dlpark_status dlpark_device_check(DLDevice device, dlpark_error *err)
{
    if (DLPARK_LIKELY(device_is_known(device)))
        return DLPARK_OK;
    if (device_word(device) == NULL)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "device type %d (id %d) is unknown to DLPack %d.%d",
                                (int)device.device_type, (int)device.device_id, DLPARK_ABI_MAJOR, DLPARK_ABI_MINOR);
    return dlpark_error_set(err, DLPARK_E_DEVICE, "device id %d of %s is negative", (int)device.device_id,
                            device_word(device));
}

dlpark_name dlpark_device_name(DLDevice device)
{
    dlpark_name out;

    if (!device_is_known(device))
        snprintf(out.text, sizeof out.text, "device(type=%d, id=%d)", (int)device.device_type, (int)device.device_id);
    else if (device.device_id == 0 && dlpark_device_is_host_accessible(device))
        snprintf(out.text, sizeof out.text, "%s", device_word(device));
    else
        snprintf(out.text, sizeof out.text, "%s:%d", device_word(device), (int)device.device_id);
    return out;
}

/* Reads what follows a name, nothing or ":id" with an id of 0 to INT32_MAX; false when the id is no such number. */
static bool device_read_id(const char *text, int32_t *out)
{
    size_t length = strlen(text);
    int64_t id = 0;

    if (length != 0 && (dlpark__read_decimal(text + 1, length - 1, INT32_MAX, &id) != length - 1 || length == 1))
        return false;
    *out = (int32_t)id;
    return id >= 0;
}

dlpark_status dlpark_device_parse(const char *name, DLDevice *out, dlpark_error *err)
{
    size_t length = strcspn(name, ":");
    int32_t id;

    for (size_t type = 0; type < DEVICE_TYPES; type++) {
        const char *word = device_names[type];
        if (word == NULL || strlen(word) != length || memcmp(word, name, length) != 0)
            continue;
        if (!device_read_id(name + length, &id))
            break;
        *out = DLPARK_DEVICE((DLDeviceType)type, id);
        return DLPARK_OK;
    }
    return dlpark_error_set(err, DLPARK_E_DEVICE,
                            "\"%s\" is not a device; expected a name such as cpu, cuda:0 or metal",
                            dlpark__quote(name, strlen(name)).text);
}
