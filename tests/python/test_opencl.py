"""Buffers of PyOpenCL as tensors and back, on PoCL; the reference counts of OpenCL itself say who keeps what."""

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dlpark
import dlpark.opencl

partner = pytest.mark.partner("pyopencl")
NUMBERS = np.arange(24, dtype=np.float32).reshape(4, 6)

# Element 0 is some bytes behind the buffer's beginning, and strides may have any sign.
SCALE = """
__kernel void scale(__global char *buffer, ulong byte_offset, int stride0, int stride1, float by)
{
    __global float *elements = (__global float *)(buffer + byte_offset);
    elements[(int)get_global_id(0) * stride0 + (int)get_global_id(1) * stride1] *= by;
}
"""


@pytest.fixture(scope="module")
def cl(tmp_path_factory):
    os.environ.setdefault("POCL_CACHE_DIR", str(tmp_path_factory.mktemp("pocl")))
    return pytest.importorskip("pyopencl")


@pytest.fixture(scope="module")
def queue(cl):
    device = cl.get_platforms()[0].get_devices()[0]
    return cl.CommandQueue(cl.Context([device]))


@pytest.fixture
def buffer(cl, queue):
    """The numbers, in a buffer that nobody else has."""
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    made = cl.Buffer(queue.context, flags, hostbuf=NUMBERS)
    yield made
    gc.collect()
    queue.finish()
    assert references(cl, made, 1) == 1


def tensor_of(buffer):
    return dlpark.opencl.from_buffer(buffer, "float32", NUMBERS.shape)


def references(cl, buffer, expected):
    """The count, which PoCL lowers a moment after a command has ended, by a thread of its own: it is given ten seconds."""
    gc.collect()
    for _ in range(1000):
        count = buffer.get_info(cl.mem_info.REFERENCE_COUNT)
        if count == expected:
            break
        time.sleep(0.01)
    return count


# ---- Into dlpark ----


@partner
def test_a_pools_buffer_would_be_used_twice(cl, queue):
    """Its reference keeps the memory, and the pool gives that to the next one all the same."""
    from pyopencl import tools

    pooled = tools.MemoryPool(tools.ImmediateAllocator(queue)).allocate(96)
    with pytest.raises(TypeError, match="buffer is of a memory pool"):
        dlpark.opencl.from_buffer(pooled, "float32", 24)


@partner
def test_a_buffer_is_a_tensor_that_keeps_it(cl, queue, buffer):
    tensor = dlpark.opencl.from_buffer(buffer, np.float32, NUMBERS.shape)
    assert (tensor.device, tensor.shape, tensor.dtype, tensor.readonly) == ("opencl:0", (4, 6), "float32", False)
    assert tensor.__dlpack_device__() == (4, 0)
    assert references(cl, buffer, 2) == 2
    part = tensor[1:, ::-2]
    assert references(cl, buffer, 2) == 2
    del tensor
    assert references(cl, buffer, 2) == 2
    assert np.array_equal(dlpark.opencl.to_host(part, queue), NUMBERS[1:, ::-2])
    del part
    assert references(cl, buffer, 1) == 1


@partner
def test_a_tensor_outlives_the_object_of_pyopencl(cl, queue):
    made = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=NUMBERS)
    tensor = dlpark.opencl.from_buffer(made.int_ptr, "f32", NUMBERS.shape)
    del made
    assert np.array_equal(dlpark.opencl.to_host(tensor, queue), NUMBERS)


@partner
def test_offset_strides_and_scalars(queue, buffer):
    columns = dlpark.opencl.from_buffer(buffer, "float32", [6, 4], strides=(1, 6))
    assert np.array_equal(dlpark.opencl.to_host(columns, queue), NUMBERS.T)
    backwards = dlpark.opencl.from_buffer(buffer, "float32", 3, strides=[-2], offset=4 * 5)
    assert np.array_equal(dlpark.opencl.to_host(backwards, queue), [5, 3, 1])
    scalar = dlpark.opencl.from_buffer(buffer, "float32", (), offset=4 * 23)
    assert dlpark.opencl.to_host(scalar, queue).item() == 23
    empty = dlpark.opencl.from_buffer(buffer, "float32", (0, 3))
    assert empty.size == 0


@partner
def test_what_kernels_may_only_read_is_read_only(cl, queue):
    made = cl.Buffer(queue.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=NUMBERS)
    tensor = dlpark.opencl.from_buffer(made, "float32", NUMBERS.shape)
    assert tensor.readonly
    with pytest.raises(BufferError, match="read-only"):
        dlpark.opencl.map(tensor, queue, writable=True)
    assert np.array_equal(dlpark.opencl.to_host(tensor, queue), NUMBERS)


@partner
def test_read_only_by_request(buffer):
    assert dlpark.opencl.from_buffer(buffer, "float32", 3, readonly=True).readonly


@partner
@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        (("float32", (4, 7)), {}, BufferError, "the buffer has 96"),
        (("float32", (4, 6)), {"offset": 4}, BufferError, "the buffer has 96"),
        (("float32", 3), {"strides": (-1,)}, BufferError, "8 bytes below"),
        (("float32", (2, 3)), {"strides": (1,)}, ValueError, "strides has 1 entries, and shape 2"),
        (("float32", (1,) * 65), {}, ValueError, "shape has 65 entries, expected at most 64"),
        (("float32", -1), {}, (BufferError, ValueError), "-1"),
        (("float32", 3), {"offset": -4}, ValueError, "offset is -4"),
        (("float32", 3), {"offset": 1 << 64}, ValueError, "offset is 18446744073709551616"),
        (("float32", 3), {"offset": (1 << 64) - 4}, BufferError, "18446744073709551612"),
        (("float32", 3.5), {}, TypeError, "float"),
        (("float33", 3), {}, TypeError, "float33"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(cl, buffer, arguments, keywords, error, text):
    with pytest.raises(error, match=text):
        dlpark.opencl.from_buffer(buffer, *arguments, **keywords)
    assert references(cl, buffer, 1) == 1


@partner
def test_what_is_no_buffer_is_refused(queue):
    with pytest.raises(TypeError, match="buffer is a ndarray, expected an object of PyOpenCL or a handle"):
        dlpark.opencl.from_buffer(NUMBERS, "float32", 3)
    with pytest.raises(ValueError, match="mem is NULL"):
        dlpark.opencl.from_buffer(0, "float32", 3)
    with pytest.raises(TypeError, match="buffer is a bool"):
        dlpark.opencl.from_buffer(True, "float32", 3)


@partner
def test_a_shape_may_be_an_array(buffer):
    assert dlpark.opencl.from_buffer(buffer, "float32", np.array([4, 6])).shape == (4, 6)
    assert dlpark.opencl.from_buffer(buffer, "float32", np.int64(3)).shape == (3,)


# ---- Out of dlpark ----


@partner
def test_a_tensor_is_a_buffer_and_an_offset(cl, queue, buffer):
    tensor = tensor_of(buffer)
    view = tensor[1:3, 5::-2]
    taken, byte_offset = dlpark.opencl.to_buffer(view)
    assert (taken.int_ptr, byte_offset) == (buffer.int_ptr, 4 * 11)
    assert references(cl, buffer, 3) == 3
    kernel = cl.Program(queue.context, SCALE).build().scale
    kernel(queue, view.shape, None, taken, np.uint64(byte_offset), np.int32(view.strides[0]), np.int32(view.strides[1]),
           np.float32(10))
    expected = NUMBERS.copy()
    expected[1:3, 5::-2] *= 10
    assert np.array_equal(dlpark.opencl.to_host(tensor, queue), expected)
    del tensor, view
    assert references(cl, taken, 2) == 2  # its own, beside that of the fixture


@partner
def test_a_buffer_outlives_its_tensor(cl, queue):
    made = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=NUMBERS)
    tensor = dlpark.opencl.from_buffer(made, "float32", NUMBERS.shape)
    taken, _ = dlpark.opencl.to_buffer(tensor)
    del made, tensor
    assert references(cl, taken, 1) == 1
    found = np.empty_like(NUMBERS)
    cl.enqueue_copy(queue, found, taken)
    assert np.array_equal(found, NUMBERS)


class Foreign:
    """Somebody else's tensor on OpenCL."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **keywords):
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@partner
def test_anybodys_tensor_is_taken(queue, buffer):
    tensor = tensor_of(buffer)
    assert dlpark.opencl.to_buffer(Foreign(tensor))[0].int_ptr == buffer.int_ptr
    assert np.array_equal(dlpark.opencl.to_host(Foreign(tensor), queue), NUMBERS)


@partner
def test_tensors_elsewhere_are_refused(queue, buffer):
    host = dlpark.from_dlpack(NUMBERS)
    with pytest.raises(BufferError, match="the tensor is on cpu"):
        dlpark.opencl.to_buffer(host)
    with pytest.raises(BufferError, match="cpu"):
        dlpark.opencl.map(host, queue)
    with pytest.raises(BufferError, match="has no elements"):
        dlpark.opencl.to_buffer(dlpark.opencl.from_buffer(buffer, "float32", 0))
    with pytest.raises(TypeError, match="queue is a str"):
        dlpark.opencl.map(dlpark.opencl.from_buffer(buffer, "float32", 3), "queue")


# ---- On the host ----


@partner
def test_a_mapping_is_the_elements_and_keeps_the_buffer(cl, queue, buffer):
    tensor = tensor_of(buffer)
    mapped = dlpark.opencl.map(tensor[:, 1:], queue)
    assert (mapped.device, mapped.readonly, mapped.strides) == ("cpu", True, (6, 1))
    array = np.asarray(mapped)
    del mapped, tensor
    gc.collect()
    assert references(cl, buffer, 3) == 3  # the fixture, the tensor that is mapped, and the mapping of PoCL
    assert np.array_equal(array, NUMBERS[:, 1:])


@partner
def test_what_is_written_into_a_mapping_is_in_the_buffer(cl, queue, buffer):
    tensor = tensor_of(buffer)
    mapped = dlpark.opencl.map(tensor[::2], queue, writable=True)
    np.asarray(mapped)[...] = -1
    del mapped
    gc.collect()
    found = np.empty_like(NUMBERS)
    cl.enqueue_copy(queue, found, buffer)
    assert np.array_equal(found[::2], np.full((2, 6), -1))
    assert np.array_equal(found[1::2], NUMBERS[1::2])


@partner
def test_a_copy_lets_go_of_the_buffer(cl, queue, buffer):
    tensor = tensor_of(buffer)
    copy = dlpark.opencl.to_host(tensor.T, queue)
    assert references(cl, buffer, 2) == 2
    assert (copy.device, copy.readonly, copy.shape) == ("cpu", False, (6, 4))
    np.asarray(copy)[...] = 0
    assert np.array_equal(dlpark.opencl.to_host(tensor, queue), NUMBERS)


@partner
def test_threads_map_buffers_of_their_own_at_once(cl, queue):
    """One buffer for each: PoCL 3.1 crashes where several threads map the same one, by PyOpenCL alone too."""
    wrong = []

    def work(number):
        own = cl.CommandQueue(queue.context)
        expected = NUMBERS + number
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        made = cl.Buffer(queue.context, flags, hostbuf=expected)
        tensor = tensor_of(made)
        for _ in range(50):
            if not np.array_equal(dlpark.opencl.map(tensor, own), expected):
                wrong.append(number)
        del tensor
        own.finish()
        if (count := references(cl, made, 1)) != 1:
            wrong.append(f"{count} references")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- Without OpenCL ----


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True)


def test_without_a_loader_it_says_so():
    code = "import dlpark.opencl as o\ntry: o.from_buffer(8, 'float32', 3)\nexcept RuntimeError as error: print(error)"
    done = run(code, DLPARK_OPENCL_LIBRARY="/nowhere/libOpenCL.so")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("there is no OpenCL to use: ") and "/nowhere/libOpenCL.so" in done.stdout


def test_the_module_imports_no_partner():
    done = run("import sys, dlpark.opencl\nprint([n for n in ('pyopencl', 'dlpark._opencl', 'numpy') if n in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr
