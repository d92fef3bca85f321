"""What becomes of a tensor's memory in one process of a Dask cluster: test_dask.py starts the record in each.

The memory that pickle gave out of band and was given, and the memory that sockets were sent from and received into: what
lies between has no place to copy it in, where all of it is the tensor's own.
"""

import pickle
import types

import hostile
import numpy as np
from distributed.protocol import pickle as dask_pickle
from tornado.iostream import IOStream

given, taken, sent, received = [], [], [], []  # pairs of an address and a number of bytes


def address(tensor):
    return hostile.read(tensor.__dlpack__(max_version=(1, 0))).dl_tensor.data


def place(buffer):
    """Of what the buffer protocol gives: NumPy says it of empty and read-only memory as well."""
    array = np.frombuffer(memoryview(buffer).cast("B"), np.uint8)
    return array.ctypes.data, array.nbytes


def dumps(value, *, buffer_callback=None, **options):
    def call(buffer):
        given.append(place(buffer))
        return buffer_callback(buffer)

    return pickle.dumps(value, buffer_callback=buffer_callback and call, **options)


def loads(data, *, buffers=()):
    taken.extend(place(buffer) for buffer in buffers)
    return pickle.loads(data, buffers=buffers)


class Stream:
    """The two calls by which Tornado hands memory to the kernel."""

    write, read = IOStream.write_to_fd, IOStream.read_from_fd

    def write_to_fd(self, data):
        where, _ = place(data)
        count = Stream.write(self, data)
        sent.append((where, count))
        return count

    def read_from_fd(self, buf):
        where, _ = place(buf)
        count = Stream.read(self, buf)
        received.append((where, count or 0))
        return count


def start():
    dask_pickle.pickle = types.SimpleNamespace(dumps=dumps, loads=loads, Pickler=pickle.Pickler)
    IOStream.write_to_fd, IOStream.read_from_fd = Stream.write_to_fd, Stream.read_from_fd


def stop():
    dask_pickle.pickle = pickle
    IOStream.write_to_fd, IOStream.read_from_fd = Stream.write, Stream.read


def clear():
    for record in (given, taken, sent, received):
        record.clear()


def buffers_given():
    return [nbytes for _, nbytes in given]


def story(where, nbytes):
    """How often pickle gave and got this very memory, and how many bytes of it went out and came in by sockets."""
    return {
        "given": given.count((where, nbytes)),
        "taken": taken.count((where, nbytes)),
        "sent": covered(where, nbytes, sent),
        "received": covered(where, nbytes, received),
    }


def covered(where, nbytes, pieces):
    """How many of these bytes the pieces have; each counts once, as memory that was freed is used again."""
    count, end = 0, where
    for first, length in sorted(pieces):
        first, last = max(first, end), min(first + length, where + nbytes)
        count += max(0, last - first)
        end = max(end, last)
    return count


# ---- What workers do ----


def arrived(tensor):
    """What a worker says of a tensor that it was sent."""
    return tensor.dtype, tensor.shape, tensor.readonly, address(tensor), story(address(tensor), tensor.nbytes)


def content(tensor):
    return tensor.tobytes()


def written(tensor):
    np.from_dlpack(tensor)[0] = -1
    return tensor
