from typing import Any

def load(
    filename: str | bytes | None,
    bytes: Any,
    channels: int,
    layout: int,
    dtype: str | None,
    keep_orientation: bool,
    tolerant: bool,
    max_pixels: int,
    max_scans: int,
    max_chunks: int,
    out: Any,
    /,
) -> Any: ...
def info(
    filename: str | bytes | None,
    bytes: Any,
    keep_orientation: bool,
    max_pixels: int,
    max_scans: int,
    max_chunks: int,
    /,
) -> tuple[int, int, int, int, int, int, bool, bool]: ...
def save(
    filename: str | bytes | None,
    capsule: Any,
    format: int,
    layout: int,
    quality: int,
    lossless: bool,
    compression: int,
    subsampling: int,
    progressive: bool,
    /,
) -> Any: ...
