"""One photograph, decoded in C, changed in NumPy (and PyTorch), written in C. Its pixels are never copied.

Usage: image_python.py FOLDER. PyTorch takes part where it is installed, and has to with FRAMEWORK=torch.
"""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np

import dlpark
from gallery import draw_row


def address_of(array: np.ndarray) -> int:
    """The address of an array's first element."""
    return array.__array_interface__["data"][0]


def expect_same_memory(what: str, address: int, expected: int) -> None:
    """Prints an address, and stops the demo when it is not where the pixels were decoded."""
    print(f"  {what:<44} {address:#x}")
    if address != expected:
        sys.exit(f"{what} has its own memory: {address:#x}, not {expected:#x}")


def darken_in_torch(photo: dlpark.Tensor, expected: int) -> dlpark.Tensor:
    """Darkens the photograph in PyTorch, in place, and brings it back as a tensor of dlpark."""
    import torch

    tensor = torch.from_dlpack(photo)
    expect_same_memory(f"PyTorch {torch.__version__.split('+')[0]}, as CHW: {tuple(tensor.permute(2, 0, 1).shape)}",
                       tensor.permute(2, 0, 1).data_ptr(), expected)
    tensor.sub_(tensor // 4)
    return dlpark.from_dlpack(tensor)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).with_name("photo.jpg")

    # C: libjpeg-turbo decodes straight into the tensor's memory.
    photo = dlpark.load_image(source)
    print(f"{source.name}: {source.stat().st_size:,} bytes of JPEG, decoded in C")
    print(f"  {photo!r}, {photo.nbytes:,} bytes")

    # NumPy: the same memory, looked at and changed in place.
    pixels = np.from_dlpack(photo)
    address = address_of(np.asarray(photo))  # by the buffer protocol, another way than DLPack
    print("The pixels stay where they are:")
    print(f"  {'the tensor':<44} {address:#x}")
    expect_same_memory(f"NumPy {np.__version__}: {pixels.shape} {pixels.dtype}", address_of(pixels), address)
    original = pixels.copy()  # only to show it beside the result
    pixels[...] = original[..., ::-1]
    has_torch = os.environ.get("FRAMEWORK") == "torch" or importlib.util.find_spec("torch") is not None
    returned = darken_in_torch(photo, address) if has_torch else dlpark.from_dlpack(pixels)
    expect_same_memory("back as a tensor of dlpark", address_of(np.asarray(returned)), address)
    print(f"  bytes of pixels copied on the way: {photo.nbytes if returned.is_copied else 0}")

    # C again: what NumPy has written goes to three files.
    sizes = []
    for name in ("swapped.jpg", "swapped.png", "swapped.webp"):
        dlpark.save_image(folder / name, returned)
        sizes.append(f"{name} {(folder / name).stat().st_size:,}")
    print(f"Written in C, bytes: {', '.join(sizes)}")

    stored = np.from_dlpack(dlpark.load_image(folder / "swapped.png"))
    if not np.array_equal(stored, pixels):
        sys.exit("swapped.png does not hold what NumPy wrote")

    difference = np.abs(pixels.astype(np.int16) - original).astype(np.uint8)
    changed = "Red and blue swapped in NumPy" + (", darkened in PyTorch" if has_torch else ", in place")
    row = draw_row([("Original, decoded in C", original), (changed, pixels), ("Difference", difference)])
    dlpark.save_image(folder / "photo-row.png", row)
    print(f"A picture to look at: {os.path.relpath(folder / 'photo-row.png')}, {row.shape[1]} x {row.shape[0]} pixels")


if __name__ == "__main__":
    main()
