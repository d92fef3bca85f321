"""Memory on devices: made, moved, described, refused."""

import pickle

import dlpark
import numpy as np
import pytest
from conftest import address_of


def test_empty_is_on_the_device(driver):
    tensor = dlpark.empty((2, 3), "float16", device="cuda:1")
    assert (tensor.device, tensor.shape, tensor.strides, tensor.dtype) == ("cuda:1", (2, 3), (3, 1), "float16")
    assert (tensor.readonly, tensor.is_copied, tensor.__dlpack_device__()) == (False, False, (2, 1))
    assert driver.bytes_of(tensor) == b"\xcd" * 12  # what the fake fills fresh memory with
    assert address_of(tensor) % 256 == 0
    del tensor
    assert driver.calls("cuMemFree_v2") == 1


@pytest.mark.parametrize("shape", [(), 3, (0,), (2, 0, 3), (1, 1)])
@pytest.mark.parametrize("device", ["cpu", "cuda:0", "cuda_host", "cuda_managed", (2, 1)])
def test_empty_of_any_shape_and_device(driver, shape, device):
    tensor = dlpark.empty(shape, "int32", device=device)
    assert tensor.shape == (shape if isinstance(shape, tuple) else (shape,)) and not tensor.readonly
    assert tensor.device == ("cuda:1" if isinstance(device, tuple) else device)
    assert tensor.to("cpu", copy=True).nbytes == tensor.nbytes


def test_empty_says_what_is_wrong(driver):
    with pytest.raises(ValueError, match="cuda:7: there is no device 7 of CUDA, they are 0 to 1"):
        dlpark.empty(3, device="cuda:7")
    with pytest.raises(ValueError, match="metal:0: memory is allocated on the cpu, CUDA and ROCm"):
        dlpark.empty(3, device="metal:0")
    with pytest.raises(ValueError, match="-1"):
        dlpark.empty((2, -1), device="cuda:0")
    with pytest.raises(TypeError, match="dtype"):
        dlpark.empty(3, "float31", device="cuda:0")
    with pytest.raises(MemoryError):
        dlpark.empty(1 << 50, device="cuda:0")
    with pytest.raises(TypeError):
        dlpark.empty()


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1", "cuda_managed", "cuda_host"])
@pytest.mark.parametrize("key", [(), (slice(None, None, -1),), (slice(None), slice(None), 1), (slice(0, 0),)])
def test_there_and_back(driver, numbers, device, key):
    source = numbers[key]
    there = dlpark.from_dlpack(source).to(device)
    assert (there.device, there.shape, there.is_copied, there.readonly) == (device, source.shape, True, False)
    back = there.to("cpu")
    np.testing.assert_array_equal(back.numpy(), source)
    assert back.is_copied == (device != "cuda_host") and back.device == "cpu"  # which is the host's too


def test_parts_of_device_memory_come_back_as_parts(driver, numbers):
    there = dlpark.from_dlpack(numbers).to("cuda:0")
    for key in ((0,), (slice(None), 2), (slice(None), slice(None), slice(3, None, -2)), (1, slice(1, 2))):
        np.testing.assert_array_equal(there[key].to("cpu").numpy(), numbers[key])
    np.testing.assert_array_equal(there.permute(2, 0, 1).to("cpu").numpy(), numbers.transpose(2, 0, 1))


def test_between_devices(driver, numbers):
    first = dlpark.from_dlpack(numbers).to("cuda:0")
    second = first[:, ::2].to("cuda:1")
    assert second.device == "cuda:1" and address_of(second) != address_of(first)
    del first
    np.testing.assert_array_equal(second.to("cpu").numpy(), numbers[:, ::2])


def test_the_same_device_is_no_copy_unless_asked(driver, numbers):
    there = dlpark.from_dlpack(numbers).to("cuda:0")
    assert there.to("cuda:0") is there and there.to((2, 0), copy=False) is there
    again = there.to("cuda:0", copy=True)
    assert address_of(again) != address_of(there) and driver.bytes_of(again) == numbers.tobytes()
    with pytest.raises(dlpark.DeviceCopyError, match="cuda:0.*cpu.*copy=False"):
        there.to("cpu", copy=False)


def test_page_locked_memory_is_the_hosts_too(driver, numbers):
    """to() shares it, as from_dlpack() and __dlpack__ do; a copy that is asked for stays in the kind that is asked for."""
    there = dlpark.from_dlpack(numbers).to("cuda_host")
    address = there.numpy().__array_interface__["data"][0]
    for here in (there.to("cpu"), there.to("cpu", copy=False), dlpark.from_dlpack(there, device="cpu", copy=False)):
        assert (here.device, here.is_copied, here.numpy().__array_interface__["data"][0]) == ("cpu", False, address)
    for copied, device in (
        (there.to("cpu", copy=True), "cpu"),
        (dlpark.from_dlpack(there, device="cpu", copy=True), "cpu"),
        (dlpark.from_dlpack(there, device="cuda_host", copy=True), "cuda_host"),
        (dlpark.from_dlpack(there, copy=True), "cuda_host"),
        (there.to("cuda_host", copy=True), "cuda_host"),
    ):
        assert (copied.device, copied.is_copied) == (device, True) and copied.numpy().__array_interface__["data"][0] != address
        np.testing.assert_array_equal(copied.numpy(), numbers)


def test_a_failed_copy_names_the_device(driver, numbers):
    there = dlpark.from_dlpack(numbers).to("cuda:1")
    driver.fail(1, function="cuMemcpyDtoHAsync_v2")
    with pytest.raises(RuntimeError, match="^cuda:1: "):
        there.to("cpu")


def test_elements_of_every_width(driver):
    for dtype in ("bool", "uint8", "int4", "float4_e2m1fn", "float6_e2m3fn", "bfloat16", "complex128"):
        given = dlpark.empty((4, 6), dtype)
        assert given.to("cuda:0").to("cpu").tobytes() == given.tobytes()


def test_other_devices_are_refused(driver, numbers):
    with pytest.raises(ValueError, match="not from cpu to metal:0"):
        dlpark.from_dlpack(numbers).to("metal:0")
    with pytest.raises(ValueError, match="not from cuda:0 to rocm:0"):
        dlpark.empty(3, device="cuda:0").to("rocm:0")


# ---- DLPack ----


def test_dlpack_to_the_cpu_copies(driver, numbers):
    there = dlpark.from_dlpack(numbers).to("cuda:0")
    here = dlpark.from_dlpack(there.__dlpack__(dl_device=(1, 0), max_version=(1, 3)))
    assert (here.device, here.is_copied) == ("cpu", True)
    np.testing.assert_array_equal(here.numpy(), numbers)
    np.testing.assert_array_equal(np.from_dlpack(there, device="cpu"), numbers)
    with pytest.raises(dlpark.DeviceCopyError):
        there.__dlpack__(dl_device=(1, 0), copy=False)


def test_dlpack_to_another_device_copies(driver, numbers):
    there = dlpark.from_dlpack(numbers).to("cuda:0")
    other = dlpark.from_dlpack(there.__dlpack__(dl_device=(2, 1), max_version=(1, 3)))
    assert (other.device, other.is_copied) == ("cuda:1", True)
    again = dlpark.from_dlpack(there.__dlpack__(copy=True, max_version=(1, 3)))
    assert (again.device, again.is_copied) == ("cuda:0", True) and address_of(again) != address_of(there)
    shared = dlpark.from_dlpack(there.__dlpack__(max_version=(1, 3)))
    assert not shared.is_copied and address_of(shared) == address_of(there)


def test_from_dlpack_moves_what_its_producer_does_not(driver, numbers):
    there = dlpark.from_dlpack(numbers, device="cuda:1")
    assert (there.device, there.is_copied) == ("cuda:1", True) and driver.bytes_of(there) == numbers.tobytes()
    np.testing.assert_array_equal(dlpark.from_dlpack(there, device="cpu").numpy(), numbers)
    with pytest.raises(BufferError):  # NumPy's own
        dlpark.from_dlpack(numbers, device="cuda:0", copy=False)
    managed = dlpark.from_dlpack(numbers, device="cuda_managed")
    np.testing.assert_array_equal(dlpark.from_dlpack(managed, device="cpu").numpy(), numbers)


def test_the_cuda_array_interface_has_the_memory(driver, numbers):
    there = dlpark.from_dlpack(numbers).to("cuda:0")
    interface = there[:, 1].__cuda_array_interface__
    assert (interface["shape"], interface["typestr"], interface["version"]) == ((2, 4), "<f4", 3)
    assert interface["data"] == (address_of(there) + 16, False) and interface["stream"] == 1

    class Only:
        pass

    only = Only()
    only.__cuda_array_interface__, only.held = interface, there
    taken = dlpark.from_dlpack(only)
    assert taken.device == "cuda:0" and address_of(taken) == address_of(there) + 16


# ---- What needs the host ----


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t.tolist(),
        lambda t: t.tobytes(),
        lambda t: t.numpy(),
        lambda t: t.item(0, 0, 0),
        lambda t: float(t[0, 0, 0]),
        lambda t: bool(t[0, 0, 0]),
        lambda t: t.astype("float64"),
        lambda t: t.copy(),
        lambda t: np.asarray(t),
        lambda t: pickle.dumps(t),
    ],
    ids="tolist tobytes numpy item float bool astype copy asarray pickle".split(),
)
@pytest.mark.parametrize("device", ["cuda:0", "cuda_managed"])
def test_the_host_is_told_how_to_come_to_the_elements(driver, numbers, use, device):
    there = dlpark.from_dlpack(numbers).to(device)
    with pytest.raises((TypeError, BufferError), match=rf"{device}.*to\('cpu'\)"):
        use(there)


def test_a_buffer_is_refused(driver):
    with pytest.raises(BufferError, match="cuda:0"):
        memoryview(dlpark.empty(3, device="cuda:0"))


def test_repr_does_not_read_the_device(driver):
    there = dlpark.empty((2, 3), device="cuda:0")
    calls = driver.calls()
    assert repr(there).startswith("Tensor(float32[2, 3], cuda:0, strides=[3, 1])")
    assert driver.calls() == calls


def test_views_are_arithmetic_alone(driver):
    there = dlpark.empty((2, 3, 4), device="cuda:0")
    calls = driver.calls()
    part = there[1].T
    assert address_of(part) == address_of(there) + 48 and driver.calls() == calls
