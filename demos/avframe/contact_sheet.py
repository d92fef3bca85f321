"""A video's frames, decoded in C, as arrays of NumPy; a contact sheet of NumPy's, encoded in C. No pixel is copied between them.

Usage: contact_sheet.py FOLDER, which has clip.mp4 and gets contact-sheet.png.
"""

import os
import sys
from pathlib import Path

import numpy as np

import video

COLUMNS, ROWS, MARGIN = 4, 3, 12
BACKGROUND = (28, 28, 32)


def address_of(array: np.ndarray) -> int:
    """The address of an array's first element."""
    return array.__array_interface__["data"][0]


def expect_same_memory(what: str, address: int, expected: int) -> None:
    """Stops the demo when pixels are not where they were written."""
    if address != expected:
        sys.exit(f"{what} has its own memory: {address:#x}, not {expected:#x}")


def to_rgb(luma: np.ndarray, blue: np.ndarray, red: np.ndarray) -> np.ndarray:
    """Half the size of a 4:2:0 picture of BT.601, where each pixel has its own colour."""
    height, width = (extent // 2 for extent in luma.shape)
    y = luma[: 2 * height, : 2 * width].reshape(height, 2, width, 2).mean(axis=(1, 3), dtype=np.float32)
    y = (y - 16) * (255 / 219)
    u, v = (plane[:height, :width].astype(np.float32) - 128 for plane in (blue, red))
    rgb = np.stack((y + 1.596 * v, y - 0.392 * u - 0.813 * v, y + 2.017 * u), axis=-1)
    return np.clip(np.rint(rgb), 0, 255).astype(np.uint8)


def draw_sheet(tiles: list[np.ndarray]) -> np.ndarray:
    """Tiles side by side, as an array with one row more than the picture: what an encoder may read behind it."""
    height, width = tiles[0].shape[:2]
    sheet = np.empty((ROWS * (height + MARGIN) + MARGIN + 1, COLUMNS * (width + MARGIN) + MARGIN, 3), np.uint8)
    sheet[...] = BACKGROUND
    for index, tile in enumerate(tiles):
        top = MARGIN + index // COLUMNS * (height + MARGIN)
        left = MARGIN + index % COLUMNS * (width + MARGIN)
        sheet[top : top + height, left : left + width] = tile
    return sheet


def main() -> None:
    folder = Path(sys.argv[1])
    clip, picture = folder / "clip.mp4", folder / "contact-sheet.png"

    # C: FFmpeg decodes into frames of its own. File and decoder are closed when this returns; the frames live on.
    decoder, count, frames = video.decode(clip, 8)
    frames = frames[: COLUMNS * ROWS]
    print(f"{clip.name}: {clip.stat().st_size:,} bytes, decoded in C by {decoder.split(' /')[0]}: {count} frames")
    print(f"{len(frames)} of them are in NumPy, and the decoder is closed. The first, in {frames[0][1]}:")
    if frames[0][1] != "yuv420p":
        sys.exit("this demo draws yuv420p only")

    # NumPy: the planes lie where the decoder wrote them, in rows of its own length, and may not be written.
    for name, (plane, address) in zip("YUV", frames[0][2], strict=True):
        expect_same_memory(f"plane {name}", address_of(plane), address)
        print(f"  {name} {plane.shape} {plane.dtype}, rows {plane.strides[0]} bytes apart, at {address_of(plane):#x}, "
              f"writeable: {plane.flags.writeable}")
    planes = [pair for frame in frames for pair in frame[2]]
    copied = sum(plane.nbytes for plane, address in planes if address_of(plane) != address)
    print(f"All {len(planes)} planes have {sum(plane.nbytes for plane, _ in planes):,} bytes; copied on the way: {copied}")
    if copied:
        sys.exit("planes have memory of their own")

    # C again: FFmpeg's PNG encoder reads NumPy's memory.
    sheet = draw_sheet([to_rgb(*(plane for plane, _ in frame[2])) for frame in frames])
    height, width = sheet.shape[0] - 1, sheet.shape[1]
    expect_same_memory("the encoder's frame", video.write_png(picture, sheet, width, height), address_of(sheet))
    print(f"The sheet {sheet.shape}, with a row of padding, was drawn at {address_of(sheet):#x} and encoded from there")

    stored = video.decode(picture)[2][0][2][0][0]
    if not np.array_equal(stored, sheet[:height]):
        sys.exit(f"{picture.name} does not hold what NumPy drew")
    print(f"A picture to look at: {os.path.relpath(picture)}, {width} x {height} pixels, "
          f"from {frames[0][0]:.2f} s to {frames[-1][0]:.2f} s")


if __name__ == "__main__":
    main()
