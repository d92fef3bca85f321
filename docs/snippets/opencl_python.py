import numpy as np
import pyopencl as cl

import dlpark.opencl

SCALE = """
__kernel void scale(__global char *buffer, ulong byte_offset, int stride, float by)
{
    __global float *elements = (__global float *)(buffer + byte_offset);
    elements[(int)get_global_id(0) * stride] *= by;
}
"""

numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)

t = dlpark.opencl.from_buffer(buffer, "float32", numbers.shape)   # a reference to the buffer, no copy
column = t[:, 1]                                                  # arithmetic on the offset
taken, byte_offset = dlpark.opencl.to_buffer(column)              # what a kernel takes
kernel = cl.Program(context, SCALE).build().scale
kernel(queue, column.shape, None, taken, np.uint64(byte_offset), np.int32(column.strides[0]), np.float32(10))

print(repr(column))
print(dlpark.opencl.map(t, queue))                                # memory of the host, until it ends
