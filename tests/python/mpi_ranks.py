"""What every process of an MPI job does for test_mpi.py: `mpiexec -n 4 python -m mpi4py mpi_ranks.py NAME`.

An exception on one of them ends all. The first one says at the end with how many it was done.
"""

import gc
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hostile
import numpy as np
from mpi4py import MPI
from mpi4py.util import pkl5

import dlpark

NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]
BYTES_TO_MPI = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "int128", "float128"]
PACKED = {"int4": 2, "uint4": 2, "float4_e2m1fn": 2, "uint2": 4, "uint1": 8}


def address(tensor):
    return hostile.read(tensor.__dlpack__(max_version=(1, 0))).dl_tensor.data


def refusal(call, *args):
    try:
        call(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def zeros(shape, dtype):
    """A tensor and the array that its memory is of, where one sees what others write there."""
    array = np.zeros(shape, dtype)
    return dlpark.from_dlpack(array), array


def numbers(comm):
    """Sent and received where they lie, with MPI's own type for each."""
    for dtype in [*NUMBERS, "?"]:
        expected = np.arange(6).reshape(2, 3).astype(dtype)
        tensor, array = zeros((2, 3), dtype)
        where = array.ctypes.data
        assert (MPI.buffer(tensor).address, MPI.buffer(tensor).nbytes) == (where, tensor.nbytes), dtype
        if comm.rank == 0:
            array[...] = expected
            comm.Send(tensor, 1)
        elif comm.rank == 1:
            status = MPI.Status()
            comm.Recv(tensor, 0, status=status)
            assert status.Get_count(MPI.BYTE) == tensor.nbytes, dtype
        if comm.rank < 2:
            assert (array == expected).all() and address(tensor) == where, dtype
    for dtype in NUMBERS:
        tensor, array = zeros(5, dtype)
        array[...] = np.arange(5) + comm.rank
        total, sums = zeros(5, dtype)
        comm.Allreduce(tensor, total)
        assert sums.tolist() == [i * comm.size + sum(range(comm.size)) for i in range(5)], (dtype, sums)


def collectives(comm):
    """Bcast, Scatter, Gather, Allgather, Alltoall and reductions, in place and into a part of a tensor."""
    me, count = comm.rank, comm.size
    tensor, array = zeros((count, 3), "f4")
    array[...] = 100 if me == 2 else 0
    comm.Bcast(tensor, 2)
    assert (array == 100).all()
    row, values = zeros(3, "f4")
    array[...] = np.arange(count)[:, None]
    comm.Scatter(tensor if me == 0 else None, row, 0)
    assert (values == me).all()
    array[...] = 0
    comm.Gather(row, tensor if me == 1 else None, 1)
    assert (array == (np.arange(count)[:, None] if me == 1 else 0)).all()
    comm.Allgather(row, tensor)
    assert (array == np.arange(count)[:, None]).all()
    array[...] = me
    turned, other = zeros((count, 3), "f4")
    comm.Alltoall(tensor, turned)
    assert (other == np.arange(count)[:, None]).all()
    comm.Allreduce(MPI.IN_PLACE, tensor, MPI.MAX)
    assert (array == count - 1).all()
    values[...] = me
    array[...] = -1
    comm.Allreduce(row, tensor[1])
    assert array[:, 0].tolist() == [-1, sum(range(count)), -1, -1]


def without_a_format(comm):
    """What the buffer protocol has no format for is asked for by DLPack, and travels as bytes."""
    for dtype in BYTES_TO_MPI:
        raw = np.arange(64, dtype=np.uint8) if comm.rank == 0 else np.zeros(64, np.uint8)
        tensor = dlpark.from_dlpack(raw).view(dtype)
        assert (MPI.buffer(tensor).address, MPI.buffer(tensor).nbytes) == (raw.ctypes.data, 64), dtype
        if comm.rank == 0:
            comm.Send(tensor, 1)
        elif comm.rank == 1:
            comm.Recv(tensor, 0)
            assert raw.tolist() == list(range(64)), dtype
            raw.flags.writeable = False
            fixed = dlpark.from_dlpack(raw).view(dtype)
            assert refusal(comm.Irecv, fixed, 0) == "BufferError: dlpack: buffer is not writable", dtype


def reduced_as_bytes(comm):
    """A reduction of what mpi4py takes for bytes adds the bytes, without a word."""
    ones = dlpark.from_dlpack(np.full(3, 0x3F80, np.uint16)).view("bfloat16")
    total, codes = zeros(3, "u2")
    comm.Allreduce(ones, total.view("bfloat16"))
    assert ones.tolist() == [1, 1, 1]
    assert codes.tolist() == [(4 * 0x3F % 256 << 8) + 4 * 0x80 % 256] * 3
    total, sums = zeros(3, "f4")
    comm.Allreduce(ones.astype("float32"), total)
    assert sums.tolist() == [4, 4, 4]


def half(comm):
    """Open MPI of Debian 12 has no type for float16, which mpi4py then cannot name: it goes as bytes."""
    tensor, array = zeros(8, "f2")
    if comm.rank == 0:
        array[...] = np.arange(8)
        assert refusal(comm.Send, tensor, 1) == "Exception: MPI_ERR_TYPE: invalid datatype"
        comm.Send([tensor, MPI.BYTE], 1)
    elif comm.rank == 1:
        comm.Recv(tensor.view("uint16"), 0)
        assert array.tolist() == list(range(8))


def packed(comm):
    """mpi4py takes a packed element of fewer than 8 bits for a byte, and would go past the end: send the bytes."""
    for dtype, in_a_byte in PACKED.items():
        raw = np.arange(16, dtype=np.uint8) if comm.rank == 0 else np.zeros(16, np.uint8)
        tensor = dlpark.from_dlpack(raw).view(dtype)
        assert (tensor.nbytes, MPI.buffer(tensor).nbytes) == (16, 16 * in_a_byte), dtype
        if comm.rank == 0:
            comm.Send(tensor.view("uint8"), 1)
        elif comm.rank == 1:
            comm.Recv(tensor.view("uint8"), 0)
            assert raw.tolist() == list(range(16)), dtype


def read_only(comm):
    """Sent, from the mapping of a file as well; never received into."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.safetensors"
        dlpark.save(path, {"w": np.arange(6, dtype=np.float32).reshape(2, 3)})
        with dlpark.open(path) as file:
            weight = file["w"]
    assert weight.readonly and MPI.buffer(weight).address == address(weight)
    legacy = dlpark.from_dlpack(hostile.Foreign(legacy=True).capsule())  # nobody says that it may be written
    array = np.zeros((2, 3), np.float32)
    array.flags.writeable = False
    for tensor in (weight, legacy, dlpark.from_dlpack(array)):
        before, other = tensor.tolist(), dlpark.from_dlpack(np.ones((2, 3), np.float32))
        for call, *args in (
            (comm.Irecv, tensor, 0),
            (MPI.COMM_SELF.Allreduce, other, tensor),
            (MPI.COMM_SELF.Allgather, other, tensor),
        ):
            assert refusal(call, *args) == "BufferError: dlpack: buffer is not writable"
        assert tensor.tolist() == before
    if comm.rank == 0:
        comm.Send(weight, 1)
    elif comm.rank == 1:
        into, filled = zeros((2, 3), "f4")
        comm.Recv(into, 0)
        assert filled.tolist() == weight.tolist()


def strided(comm):
    """Refused unless it is all of its memory; a datatype of MPI's says the strides of a part without a copy."""
    tensor, array = zeros((4, 6), "f8")
    if comm.rank == 0:
        array[...] = np.arange(24).reshape(4, 6)
    for part in (tensor[::2], tensor[:, 1:], tensor[:, 2]):
        assert refusal(comm.Send, part, 1) == "BufferError: dlpack: buffer is not contiguous"
    for part in (tensor[::-1], tensor[:, ::-1]):
        assert refusal(comm.Send, part, 1) == "BufferError: dlpack: strides item is negative"
    column = MPI.DOUBLE.Create_vector(4, 1, 6).Commit()
    last, turned = tensor[:, 2].copy(), tensor.transpose(0, 1)
    if comm.rank == 0:
        comm.Send([tensor, 1, column], 1)
        comm.Send(last, 1)
        comm.Send(turned, 1)
    elif comm.rank == 1:
        comm.Recv([tensor, 1, column], 0)
        assert array.tolist() == [[6 * i, 0, 0, 0, 0, 0] for i in range(4)]
        comm.Recv(last, 0)
        assert last.tolist() == [2, 8, 14, 20]
        into, filled = zeros((6, 4), "f8")
        comm.Recv(into, 0)  # elements come in the order of the sender's memory, whatever its shape
        assert filled.ravel().tolist() == list(range(24))
    column.Free()


def odd_shapes(comm):
    for shape in [(), (0,), (2, 0, 3), (1,) * 64]:
        tensor, array = zeros(shape, "i4")
        array[...] = comm.rank == 0
        if comm.rank == 0:
            comm.Send(tensor, 1)
        elif comm.rank == 1:
            comm.Recv(tensor, 0)
            assert (array == 1).all() and tensor.shape == shape


def pending(comm):
    """A request keeps the memory until it is done."""
    if comm.rank == 0:
        foreign = hostile.Foreign()
        tensor = dlpark.from_dlpack(foreign.capsule())
        request = comm.Issend(tensor, 1)
        del tensor
        gc.collect()
        assert foreign.calls == []
    comm.Barrier()
    if comm.rank == 1:
        foreign = hostile.Foreign()
        request = comm.Irecv(dlpark.from_dlpack(foreign.capsule()), 0)
    if comm.rank < 2:
        assert foreign.calls == []
        request.Wait()
        del request
        gc.collect()
        assert len(foreign.calls) == 1


def window(comm):
    """Others write into a tensor that is a window, and read from it."""
    tensor, array = zeros(4, "i8")
    array[...] = comm.rank
    memory = MPI.Win.Create(tensor, 8, comm=comm)
    mine, values = zeros(2, "i8")
    memory.Fence()
    memory.Get(mine, (comm.rank + 1) % comm.size)
    memory.Fence()
    assert values.tolist() == [(comm.rank + 1) % comm.size] * 2
    values[...] = 10 + comm.rank
    memory.Put(mine, (comm.rank + 1) % comm.size, 1)
    memory.Fence()
    assert array.tolist() == [comm.rank, *[10 + (comm.rank - 1) % comm.size] * 2, comm.rank]
    memory.Free()


def pickled(comm):
    """The lower-case calls pickle. Those of pkl5 send what is large from where it is, and receive it into a buffer of mpi4py's,
    which the tensor is then of."""
    array = np.arange(100_000.0)
    fixed = array.copy()
    fixed.flags.writeable = False
    halves = dlpark.from_dlpack(array).view("bfloat16")
    given = [dlpark.from_dlpack(array), dlpark.from_dlpack(fixed), halves, dlpark.from_dlpack(array[::-2])]
    assert min(tensor.nbytes for tensor in given) > pkl5.pickle.THRESHOLD
    out_of_band = [[MPI.buffer(buffer).address for buffer in pkl5.pickle.dumps_oob(tensor)[1]] for tensor in given]
    assert out_of_band[:3] == [[address(tensor)] for tensor in given[:3]]
    assert len(out_of_band[3]) == 1 and out_of_band[3] != [address(given[3])]  # copied: it was not compact
    received, allocate = [], pkl5._new_buffer
    pkl5._new_buffer = lambda nbytes: received.append(allocate(nbytes)) or received[-1]
    for wrapped in (comm, pkl5.Intracomm(comm)):
        for tensor in given:
            if comm.rank == 0:
                wrapped.send(tensor, 1)
            elif comm.rank == 1:
                received.clear()
                back = wrapped.recv(source=0)
                assert (back.shape, back.dtype, back.readonly) == (tensor.shape, tensor.dtype, tensor.readonly)
                assert back.tobytes() == tensor.tobytes()
                assert wrapped is comm or address(back) in [buffer.address for buffer in received]


def memory_of_a_device(comm):
    """Its address is what an MPI that knows devices is given; without the elements being looked at."""
    foreign = hostile.Foreign(device=(hostile.CUDA, 0))
    tensor = dlpark.from_dlpack(foreign.capsule())
    buffer = MPI.buffer(tensor)
    assert (buffer.address, buffer.nbytes) == (address(tensor), 24)
    assert refusal(buffer.tobytes) == "BufferError: buffer is not CPU-accessible"
    assert "the host cannot read it" in refusal(comm.send, tensor, comm.rank)


if __name__ == "__main__":
    NAME = sys.argv[1]
    WORLD = MPI.COMM_WORLD
    globals()[NAME](WORLD)
    WORLD.Barrier()
    if WORLD.rank == 0:
        print(f"{NAME} by {WORLD.size} processes of {MPI.get_vendor()[0]}")
