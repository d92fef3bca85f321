/* The names of OpenCL's errors. */
#include "opencl_parts.h"

typedef struct error_name {
    int32_t code;
    const char *name;
} error_name;

static const error_name error_names[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-12, "CL_MAP_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-37, "CL_INVALID_HOST_PTR"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
};

dlpark_status dlpark__opencl_fail(const char *function, int32_t code, dlpark_error *err)
{
    bool is_memory =
        code == OPENCL_MEM_ALLOCATION_FAILURE || code == OPENCL_OUT_OF_RESOURCES || code == OPENCL_OUT_OF_HOST_MEMORY;
    const char *name = "an error";

    for (size_t i = 0; i < sizeof error_names / sizeof error_names[0]; i++)
        if (error_names[i].code == code)
            name = error_names[i].name;
    return dlpark_error_set(err, is_memory ? DLPARK_E_MEMORY : DLPARK_E_FOREIGN, "%s: %s (%d)", function, name,
                            (int)code);
}
