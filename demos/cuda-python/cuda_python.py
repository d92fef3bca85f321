"""Numbers in memory of a GPU that C owns: a kernel of CuPy or PyTorch changes them in place, and C reads them again.

Usage: cuda_python.py FAKE_DRIVER. Without a GPU the C half runs on that driver, and a consumer of the demo's own stands in.
"""

import importlib
import os
import sys

import numpy as np

import device_buffer

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)


def expect(what: str, holds: bool) -> None:
    """Prints what was checked, and stops the demo where it does not hold."""
    print(f"  {what}: {'yes' if holds else 'NO'}", flush=True)
    if not holds:
        sys.exit(f"failed: {what}")


def name_stream(stream: int | None) -> str:
    """A stream of `__dlpack__(stream=...)` in words."""
    names = {None: "None, the default stream", -1: "-1, no order", 1: "1, the default stream", 2: "2, the thread's own"}
    return names.get(stream, f"{stream:#x}, its own" if stream else str(stream))


# ---- On a GPU --------------------------------------------------------------------------------------------------------


def change_in_cupy(cupy, buffer) -> int:
    """Times ten, by a kernel in a stream of CuPy's; which stream that was."""
    stream = cupy.cuda.Stream(non_blocking=True)
    times_ten = cupy.ElementwiseKernel("", "float32 x", "x = x * 10", "times_ten")
    with stream:
        array = cupy.from_dlpack(buffer)
        expect("CuPy's array is C's memory", array.data.ptr == buffer.address)
        times_ten(array)
    return stream.ptr


def change_in_torch(torch, buffer) -> int:
    """Times ten, in a stream of PyTorch's; which stream that was."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        tensor = torch.from_dlpack(buffer)
        expect("PyTorch's tensor is C's memory", tensor.data_ptr() == buffer.address)
        tensor.mul_(10)
    return stream.cuda_stream


def run_on_gpu() -> None:
    """Every framework that is installed and sees the GPU."""
    used = 0
    for name, change, sees in (
        ("cupy", change_in_cupy, lambda module: module.cuda.runtime.getDeviceCount() > 0),
        ("torch", change_in_torch, lambda module: module.cuda.is_available()),
    ):
        try:
            module = importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed")
            continue
        if not sees(module):
            print(f"{name} {module.__version__} sees no GPU")
            continue
        buffer = device_buffer.Buffer(2, 3)
        print(f"{name} {module.__version__} takes the buffer at {buffer.address:#x}:")
        stream = change(module, buffer)
        print(f"  it asked by __dlpack__(stream={name_stream(buffer.asked)})")
        expect(f"C reads 10 times the numbers, after stream {stream:#x}", np.array_equal(buffer.read(stream), NUMBERS * 10))
        used += 1
    if not used:
        sys.exit("failed: neither CuPy nor PyTorch was there to take part")


# ---- Without one -----------------------------------------------------------------------------------------------------


def show_streams(driver, buffer, own: int) -> None:
    """What each stream costs that a consumer may name."""
    from fake_consumer import CALLS, Consumer

    print("A consumer names its stream, which then waits for C's, the default stream:")
    for stream, expected in ((-1, 0), (1, 0), (2, 6), (own, 6)):
        before = driver.counts()
        consumer = Consumer(driver, buffer, stream)
        after = driver.counts()
        calls = after[""] - before[""]
        words = [said for name, said in CALLS.items() if after[name] > before[name]]
        print(f"  stream={name_stream(stream)}: {calls} calls of the driver{': ' if words else ''}{', '.join(words)}")
        consumer.close()
        if calls != expected or buffer.asked != stream:
            sys.exit(f"failed: {expected} calls were expected")


def run_on_fake(path: str) -> None:
    """The same with a consumer of this demo's own."""
    from fake_consumer import Consumer, FakeDriver

    driver = FakeDriver(path)
    own = driver.new_stream()
    buffer = device_buffer.Buffer(2, 3)
    print(f"C: has allocated float32[2, 3] at {buffer.address:#x} of cuda:0, and filled it: {buffer.read(None).tolist()}")
    show_streams(driver, buffer, own)

    consumer = Consumer(driver, buffer, own)
    print(f"The consumer works in its stream {own:#x}, where a kernel multiplies by 10:")
    expect("the consumer's tensor is C's memory, not a copy", consumer.address == buffer.address)

    def times_ten(numbers):
        numbers *= 10

    consumer.launch(times_ten)
    expect("C, ordered after no stream, reads what was there before", np.array_equal(buffer.read(-1), NUMBERS))
    expect("C, ordered after the consumer's stream, reads 10 times that", np.array_equal(buffer.read(own), NUMBERS * 10))
    print(f"C: {buffer.read(own).tolist()}")

    del buffer
    expect("C's object is gone, and the memory stays for the consumer", driver.live_buffers() == 1)
    consumer.close()
    expect("the consumer is done, and the memory is freed", driver.live_buffers() == 0)
    print("With a GPU here, CuPy and PyTorch would be the consumers; that has not been run in this release.")


def main() -> None:
    try:
        library, version, name = device_buffer.open()
    except (BufferError, OSError, RuntimeError, ValueError) as error:  # no driver, or one without a GPU
        reason = error
    else:
        reason = None
    if reason:
        print(f"NO CUDA HARDWARE WAS USED. The driver below is the fake one of this project's tests: {reason}", flush=True)
        os.environ["DLPARK_CUDA_LIBRARY"] = sys.argv[1]
        library, version, name = device_buffer.open()
        print(f"Fake driver: CUDA {version // 1000}.{version % 1000 // 10}, cuda:0 is '{name}'")
        run_on_fake(library)
        return
    if name.startswith("Fake GPU"):
        print(f"NO CUDA HARDWARE WAS USED. DLPARK_CUDA_LIBRARY names the fake driver of this project's tests: {name}")
        run_on_fake(library)
    else:
        print(f"{name}, CUDA {version // 1000}.{version % 1000 // 10} by {library}")
        run_on_gpu()


if __name__ == "__main__":
    main()
