"""Dask moves tensors without a copy between the processes of a real cluster, which talk by the loopback device."""

import pickle

import hostile
import numpy as np
import pytest

import dlpark

pytestmark = pytest.mark.partner("distributed")

MiB = 2**20
MOVED = {"given": 1, "taken": 0, "received": 0}
READ_AHEAD = 64 * 1024  # what Tornado may have read into memory of its own before it is asked for the rest


def assert_arrived(story, nbytes, **passed_on):
    assert {**story, "received": 0} == {"given": 0, "taken": 1, "sent": 0, "received": 0, **passed_on}
    assert nbytes - READ_AHEAD <= story["received"] <= nbytes


@pytest.fixture(scope="module")
def record():
    import dask_record

    dask_record.start()
    yield dask_record
    dask_record.stop()


@pytest.fixture(scope="module")
def client(record):
    """Of two workers, each a process of its own."""
    from distributed import Client, LocalCluster

    places = {"host": "127.0.0.1", "protocol": "tcp://", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **places) as cluster, Client(cluster) as client:
        client.run(record.start)
        yield client


@pytest.fixture
def workers(client, record):
    record.clear()
    client.run(record.clear)
    return list(client.scheduler_info()["workers"])


def numbers(nbytes):
    return dlpark.from_dlpack(np.arange(nbytes // 8, dtype=np.float64))


def made(kind):
    """A tensor of 1 MiB, of each kind that is compact."""
    tensor = numbers(MiB)
    if kind == "read-only":
        array = np.from_dlpack(tensor)
        array.flags.writeable = False
        return dlpark.from_dlpack(array)
    return tensor if kind == "float64" else tensor.view(kind).reshape(2, -1)


# ---- Between processes ----


@pytest.mark.parametrize("kind", ["float64", "bfloat16", "float8_e4m3fn", "uint4", "complex64", "int128", "read-only"])
def test_from_here_to_a_worker_to_another_and_back(client, workers, record, kind):
    tensor = made(kind)
    where, nbytes = record.address(tensor), tensor.nbytes
    expected = (tensor.dtype, tensor.shape, kind == "read-only")

    future = client.scatter(tensor, workers=workers[:1], direct=True, hash=False)
    *first, there, story = client.submit(record.arrived, future, workers=workers[:1], pure=False).result()
    assert (*first,) == expected
    assert record.story(where, nbytes) == {**MOVED, "sent": nbytes}
    assert_arrived(story, nbytes)

    *second, _, story = client.submit(record.arrived, future, workers=workers[1:], pure=False).result()
    assert (*second,) == expected
    assert_arrived(story, nbytes)
    story = client.run(record.story, there, nbytes, workers=workers[:1])[workers[0]]
    assert_arrived(story, nbytes, given=1, sent=nbytes)

    record.clear()
    [back] = client.gather([future], direct=True)
    assert (back.dtype, back.shape, back.readonly) == expected
    assert back.tobytes() == tensor.tobytes()
    assert record.address(back) != where
    assert_arrived(record.story(record.address(back), nbytes), nbytes)


def test_what_is_sent_in_pieces_arrives_as_one(client, workers, record):
    """Dask cuts memory into shards of 64 MiB."""
    tensor = numbers(65 * MiB)
    future = client.scatter(tensor, workers=workers[:1], direct=True, hash=False)
    *_, story = client.submit(record.arrived, future, workers=workers[:1], pure=False).result()
    assert record.story(record.address(tensor), tensor.nbytes) == {**MOVED, "sent": tensor.nbytes}
    assert_arrived(story, tensor.nbytes)


def test_small_messages_are_joined_by_dask(client, workers, record):
    tensor = numbers(1024)
    future = client.scatter(tensor, workers=workers[:1], direct=True, hash=False)
    *_, story = client.submit(record.arrived, future, workers=workers[:1], pure=False).result()
    assert record.story(record.address(tensor), 1024) == {**MOVED, "sent": 0}
    assert story["taken"] == 1


@pytest.mark.parametrize("index", [np.s_[::2], np.s_[::-1], np.s_[:, 1:]])
def test_what_is_not_compact_is_copied_once(client, workers, record, index):
    tensor = numbers(2 * MiB).reshape(512, -1)[index]
    future = client.scatter(tensor, workers=workers[:1], direct=True, hash=False)
    dtype, shape, readonly, _, story = client.submit(record.arrived, future, workers=workers[:1], pure=False).result()
    assert (dtype, shape, readonly) == ("float64", tensor.shape, False)
    assert record.buffers_given() == [tensor.nbytes]
    assert record.story(record.address(tensor), tensor.nbytes)["given"] == 0
    assert_arrived(story, tensor.nbytes)
    assert client.submit(record.content, future, pure=False).result() == tensor.tobytes()


def test_a_part_travels_alone(client, workers, record):
    """Rows of a matrix are compact: their memory is sent and not that of the whole."""
    part = numbers(4 * MiB).reshape(4, -1)[1:3]
    client.scatter(part, workers=workers[:1], direct=True, hash=False)
    assert record.buffers_given() == [2 * MiB]
    assert record.story(record.address(part), part.nbytes) == {**MOVED, "sent": 2 * MiB}


@pytest.mark.parametrize("kind", ["bfloat16", "read-only"])
def test_what_goes_by_the_scheduler_is_whole(client, workers, record, kind):
    """Dask speaks protocol 4 with its scheduler, which has no buffers: what takes that way is copied, and is the same."""
    tensor = made(kind)
    future = client.scatter(tensor, workers=workers[:1], direct=True, hash=False)
    record.clear()
    back = future.result()
    assert (back.dtype, back.shape, back.readonly) == (tensor.dtype, tensor.shape, tensor.readonly)
    assert back.tobytes() == tensor.tobytes()
    assert record.story(record.address(back), back.nbytes)["taken"] == 0


def test_arguments_and_results_of_tasks(client, workers, record):
    tensor = numbers(MiB)
    result = client.submit(record.written, tensor, workers=workers[:1], pure=False).result()
    assert (result[0].item(), result[1].item(), tensor[0].item()) == (-1, 1, 0)
    assert not result.readonly


def test_a_mapped_file(client, workers, record, tmp_path):
    """A tensor of a file goes from the mapping into the socket."""
    dlpark.save(tmp_path / "model.safetensors", {"w": np.arange(MiB // 4, dtype=np.float32).reshape(4, -1)})
    with dlpark.open(tmp_path / "model.safetensors") as file:
        weight = file["w"]
    future = client.scatter(weight, workers=workers[:1], direct=True, hash=False)
    *first, _, story = client.submit(record.arrived, future, workers=workers[:1], pure=False).result()
    assert (*first,) == ("float32", (4, MiB // 16), True)
    assert record.story(record.address(weight), MiB) == {**MOVED, "sent": MiB}
    assert_arrived(story, MiB)


# ---- Without a cluster ----


def test_the_frames_are_the_memory():
    from dask_record import address, place
    from distributed.protocol import deserialize, serialize

    tensor = numbers(MiB)
    header, frames = serialize(tensor)
    assert (header["serializer"], len(frames), len(frames[0]) < 200) == ("pickle", 2, True)
    assert place(frames[1]) == (address(tensor), MiB)
    arrived = bytearray(frames[1])
    back = deserialize(header, [frames[0], arrived])
    assert (address(back), back.readonly) == (place(arrived)[0], False)
    assert back.tobytes() == tensor.tobytes()


def test_memory_of_a_device_is_refused():
    from distributed.protocol import serialize

    tensor = dlpark.from_dlpack(hostile.Foreign(device=(hostile.CUDA, 1)).capsule())
    with pytest.raises(TypeError) as caught:
        serialize(tensor, on_error="raise")
    causes = []
    cause = caught.value
    while cause is not None:
        causes.append(str(cause))
        cause = cause.__cause__ or cause.__context__
    assert any("cannot pickle Tensor(float32[2, 3], cuda:1" in text for text in causes), causes


def test_tokens_say_the_content():
    from dask.tokenize import tokenize

    tensor = numbers(1024)
    same, other = dlpark.from_dlpack(tensor, copy=True), numbers(1024)
    np.from_dlpack(other)[5] = 0
    token = tokenize(tensor, ensure_deterministic=True)
    assert tokenize(same, ensure_deterministic=True) == token
    tokens = [token, *(tokenize(each) for each in (other, tensor[::-1], tensor.view("int64"), tensor.reshape(2, -1)))]
    assert len(set(tokens)) == 5


def test_dask_is_told_the_size():
    from dask.sizeof import Dispatch, sizeof

    tensor, told = numbers(MiB), Dispatch()
    assert sizeof(tensor) < 1000  # should it ever know, docs/python.md is to say so
    told.register(dlpark.Tensor, lambda tensor: tensor.nbytes)
    assert told(tensor) == MiB


def test_pickle_is_the_one_that_is_recorded(record):
    """Or the record of the processes could not say a thing."""
    from distributed.protocol import pickle as dask_pickle

    record.clear()
    buffers = []
    tensor = numbers(1024)
    data = dask_pickle.dumps(tensor, buffer_callback=buffers.append)
    assert [type(buffer) for buffer in buffers] == [pickle.PickleBuffer]
    assert dask_pickle.loads(data, buffers=buffers).tolist() == tensor.tolist()
    assert record.story(record.address(tensor), 1024) == {"given": 1, "taken": 1, "sent": 0, "received": 0}
