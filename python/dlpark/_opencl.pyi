from typing import Any

def share(
    handle: int,
    dtype: str,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    byte_offset: int,
    readonly: bool,
    /,
) -> Any: ...
def borrow(capsule: Any, /) -> tuple[int, int]: ...
def map(capsule: Any, queue: int, access: int, /) -> Any: ...
