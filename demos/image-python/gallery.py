"""Pictures side by side under their titles, for people to look at."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

MARGIN = 24
TITLE_HEIGHT = 56
BACKGROUND = (250, 250, 248)
INK = (40, 40, 44)


def draw_row(pictures: list[tuple[str, np.ndarray]]) -> np.ndarray:
    """Draw titled pictures in one row.

    Parameters
    ----------
    pictures : list of (str, ndarray)
        Title and pixels, uint8 of shape (height, width, 3), all of one height.

    Returns
    -------
    ndarray
        uint8 of shape (height, width, 3).
    """
    height = max(pixels.shape[0] for _, pixels in pictures)
    width = sum(pixels.shape[1] for _, pixels in pictures)
    row = Image.new("RGB", (width + MARGIN * (len(pictures) + 1), height + TITLE_HEIGHT + MARGIN), BACKGROUND)
    draw = ImageDraw.Draw(row)
    font = ImageFont.load_default(26)
    left = MARGIN
    for title, pixels in pictures:
        draw.text((left, TITLE_HEIGHT // 2), title, INK, font=font, anchor="lm")
        row.paste(Image.fromarray(np.ascontiguousarray(pixels)), (left, TITLE_HEIGHT))
        left += pixels.shape[1] + MARGIN
    return np.array(row)
