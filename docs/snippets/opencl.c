#include <dlpark/dlpark.h>
#include <dlpark/opencl.h>
#include <stdio.h>

/* Takes a buffer, 2 x 3 floats of it from byte 64 on, and reads it on the host. */
dlpark_status read_buffer(const dlpark_opencl *opencl, struct _cl_mem **mem, struct _cl_command_queue *queue,
                          dlpark_error *err);

dlpark_status read_buffer(const dlpark_opencl *opencl, struct _cl_mem **mem, struct _cl_command_queue *queue,
                          dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    DLPARK_TRY(dlpark_opencl_import(opencl, &tensor, mem, /* *mem is NULL now */
                                    &(dlpark_tensor_desc){.dtype = DLPARK_F32, .byte_offset = 64, .ndim = 2,
                                                          .shape = DLPARK_DIMS((int64_t[]){2, 3})}, NULL, err));
    dlpark_status status = dlpark_opencl_map(opencl, &host, &tensor, NULL, queue, DLPARK_OPENCL_READ, &view, err);
    const float *values = status ? NULL : DLPARK_CPU(float, &view, err);
    if (values)
        printf("the last is %g\n", (double)values[5]);
    dlpark_tensor_release(&host);   /* unmaps */
    dlpark_tensor_release(&tensor); /* drops the reference */
    return status;
}

int main(void)
{
    dlpark_opencl opencl = DLPARK_OPENCL_EMPTY;
    dlpark_error err;

    if (dlpark_opencl_open(&opencl, "/nowhere/libOpenCL.so.1", &err)) /* NULL: wherever the system has it */
        printf("%s\n", dlpark_status_name(err.status));
}
