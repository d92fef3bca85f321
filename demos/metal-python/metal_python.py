"""One buffer of Metal, seen by C, NumPy and MLX: what NumPy writes, MLX computes with, and C adds up what MLX has computed.

On Apple's systems MLX takes the buffer itself, on the GPU. Elsewhere there is no Metal: MLX computes on the CPU, and takes a copy.
"""

import gc
import sys

import mlx.core as mx
import numpy as np

import shared_buffer

ROWS, COLUMNS = 3, 4


def expect(what: str, holds: bool) -> None:
    """Prints what was checked, and stops the demo where it does not hold."""
    print(f"  {what}: {'yes' if holds else 'NO'}", flush=True)
    if not holds:
        sys.exit(f"failed: {what}")


def main() -> None:
    device = shared_buffer.open()
    if device:
        print(f"Metal: {device}; MLX {mx.__version__} on {mx.default_device()}")
    else:
        print("NO METAL WAS USED: MLX computes on the CPU here, and a stand-in of this demo's takes the MTLBuffer's place.")

    # C: one buffer, two tensors over it.
    buffer = shared_buffer.Buffer(ROWS, COLUMNS)
    host = buffer.host()
    handle, references = buffer.object()
    print(f"C: a buffer at {handle:#x}, float32[{ROWS}, {COLUMNS}] on metal:0; its data is that object, not an address of bytes")
    print(f"  the same memory for the host is at {host.ctypes.data:#x}: a NumPy array, writeable: {host.flags.writeable}")

    # NumPy writes; MLX computes.
    host[...] = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS) / 4
    print(f"NumPy has written {host.min()} to {host.max()} into it, where C finds them:")
    found, where, _ = shared_buffer.total(buffer)
    expect(f"the tensor on {where} adds up to {host.sum()}", found == host.sum())

    taken = mx.from_dlpack(buffer if device else host)
    result = mx.softmax(taken, axis=1)
    mx.eval(result)
    print(f"MLX {mx.__version__} takes the {'buffer itself' if device else 'tensor of the host, a copy as on every CPU'}, "
          "and computes the softmax of each row:")
    expected = np.exp(host - host.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    expect("it is what NumPy computes, to 6 digits", np.allclose(np.array(result), expected, rtol=1e-6, atol=0))

    # C again, in MLX's memory.
    found, where, address = shared_buffer.total(result)
    print(f"C adds up MLX's result, on {where} at {address:#x}, where MLX wrote it: {found:.6f}")
    expect(f"the rows add up to 1 each, and so to {ROWS}", abs(found - ROWS) < 1e-6)
    if not device:
        expect("that memory is MLX's own", address == np.asarray(memoryview(result)).ctypes.data)

    # The end, in the other order than it began.
    del taken, result
    if references >= 0:
        del buffer
        gc.collect()
        expect("C's tensor on metal is gone, and NumPy's array keeps the buffer", shared_buffer.count_ended() == 0)
        expect("and reads it", host[ROWS - 1, COLUMNS - 1] == (ROWS * COLUMNS - 1) / 4)
        del host
        gc.collect()
        expect("the array is gone, and the buffer has ended once", shared_buffer.count_ended() == 1)
        print("On an Apple machine MLX would compute in the buffer's own memory; that has not been run in this release.")


if __name__ == "__main__":
    main()
