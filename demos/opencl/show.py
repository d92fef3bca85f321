"""A photograph becomes one of a model: an OpenCL kernel reads NumPy's pixels and writes a tensor of dlpark's, which NumPy looks at.

Usage: show.py FOLDER, which gets miniature.png.
"""

import gc
import os
import sys
import time
from pathlib import Path

import numpy as np

import miniature

PHOTO = Path(__file__).parents[1] / "image-python" / "photo.jpg"
FOCUS, GAP = 225, 12


def blur(photo: np.ndarray, radius: int) -> np.ndarray:
    """The rounded mean of the square around each pixel, by sums along both axes; outside is as the edge."""
    size = 2 * radius + 1
    total = np.pad(photo.astype(np.int64), ((radius, radius), (radius, radius), (0, 0)), mode="edge")
    for axis in (0, 1):
        total = np.cumsum(total, axis=axis)
        total = np.concatenate((np.zeros_like(total.take([0], axis)), total), axis=axis)
        length = total.shape[axis]
        total = total.take(range(size, length), axis) - total.take(range(length - size), axis)
    return (total + size * size // 2) // (size * size)


def expected_miniature(photo: np.ndarray) -> np.ndarray:
    """What the kernel has to draw: rows away from the focus blurred, colours stronger."""
    radii = np.clip((np.abs(np.arange(photo.shape[0]) - FOCUS) - 85) // 10, 0, 9)
    mean = np.empty(photo.shape, np.int64)
    for radius in np.unique(radii):
        mean[radii == radius] = blur(photo, int(radius))[radii == radius]
    grey = mean.sum(axis=2, keepdims=True) // 3
    return np.clip(grey + ((mean - grey) * 6 >> 2), 0, 255).astype(np.uint8)


def expect(what: str, holds: bool) -> None:
    """Prints what was checked, and stops the demo where it does not hold."""
    print(f"  {what}: {'yes' if holds else 'NO'}")
    if not holds:
        sys.exit(f"failed: {what}")


def main() -> None:
    picture = Path(sys.argv[1]) / "miniature.png"

    photo = miniature.load(PHOTO)
    height, width, _ = photo.shape
    print(f"{PHOTO.name}: decoded in C, in NumPy: {photo.dtype} {photo.shape}")

    start = time.perf_counter()
    sheet, device, mem, address = miniature.draw(photo, FOCUS)
    print(f"OpenCL's device: {device}. With the kernel compiled or found, that took {time.perf_counter() - start:.2f} s")
    print(f"  the kernel reads the photograph as a cl_mem over NumPy's memory, at {photo.ctypes.data:#x}")
    print(f"  it writes a tensor of dlpark's: u8{list(sheet.shape)} on opencl, whose data is the cl_mem {mem:#x}")
    print(f"  photograph and miniature are columns of it, from byte 0 and from byte {3 * (width + GAP)} on; "
          f"rows are {sheet.strides[0]} bytes apart")

    print(f"The tensor is mapped for the host at {address:#x}, and that is an array of NumPy:")
    expect("NumPy's array is that memory, not a copy", sheet.ctypes.data == address)
    expect("it may not be written, as it is mapped for reading", not sheet.flags.writeable)
    expect("the left columns are the photograph, pixel by pixel", np.array_equal(sheet[:, :width], photo))
    wanted = expected_miniature(photo)
    differing = int(np.count_nonzero(sheet[:, width + GAP :] != wanted))
    expect(f"the right columns are what NumPy computes itself, all {wanted.size:,} samples", differing == 0)

    miniature.save(picture, sheet)
    expect("the picture that C has written holds the sheet", np.array_equal(miniature.load(picture), sheet))
    expect("OpenCL keeps the buffer as long as the array", miniature.count_ended() == 0)
    del sheet
    gc.collect()
    expect("the array is gone, and OpenCL has freed the buffer once", miniature.count_ended() == 1)
    print(f"A picture to look at: {os.path.relpath(picture)}, {2 * width + GAP} x {height} pixels")


if __name__ == "__main__":
    main()
