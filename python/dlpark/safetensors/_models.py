"""Models of PyTorch, whose tensors may share memory: which of their names a file has, and which stand for another."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Any

_Span = tuple[str, int, int, str]  # storage, first byte, end, name


def dropped_names(state: dict[str, Any], preferred: Collection[str] = ()) -> dict[str, list[str]]:
    """Of tensors that share memory, the name that a file keeps, and the others.

    Parameters
    ----------
    state : dict of torch.Tensor
        What `state_dict` gives.
    preferred : collection of str
        Names that are kept rather than others: those that a file has.

    Returns
    -------
    dict of list of str
        By the kept name the others, sorted.

    Raises
    ------
    RuntimeError
        Of tensors that share memory none is all of it: saving it would save more, or less.
    """
    dropped = {}
    for names in _sharing(state):
        whole = sorted(name for name in names if _is_whole(state[name]))
        if not whole:
            raise RuntimeError(
                f"None of the tensors {sorted(names)} is all of the memory that they are in: a file would have more than "
                "the model needs, or less. Clone them before"
            )
        kept = next((name for name in whole if name in preferred), whole[0])
        if len(names) > 1:
            dropped[kept] = sorted(names - {kept})
    return dropped


def _sharing(state: dict[str, Any]) -> Iterator[set[str]]:
    """The names in sets: those whose bytes overlap are in one."""
    spans = sorted(_spans(state))
    for _, of_one in itertools.groupby(spans, lambda span: span[0]):
        names: set[str] = set()
        reached = -1
        for _, begin, end, name in of_one:
            if names and begin >= reached:
                yield names
                names = set()
            names.add(name)
            reached = max(reached, end)
        yield names


def _spans(state: dict[str, Any]) -> Iterator[_Span]:
    for name, tensor in state.items():
        if tensor.device.type == "meta" or tensor.untyped_storage().nbytes() == 0:
            continue
        begin = tensor.data_ptr()
        reach = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride())) + 1 if tensor.numel() else 0
        yield f"{tensor.device} {tensor.untyped_storage().data_ptr()}", begin, begin + reach * tensor.element_size(), name


def _is_whole(tensor: Any) -> bool:
    storage = tensor.untyped_storage()
    return bool(tensor.data_ptr() == storage.data_ptr() and tensor.numel() * tensor.element_size() == storage.nbytes())


def without_dropped(missing: Collection[str], unexpected: list[str], dropped: dict[str, list[str]]) -> set[str]:
    """What a model lacks when the names that stand for another are not in its file. One that is there is unexpected."""
    lacking = set(missing)
    for name in itertools.chain.from_iterable(dropped.values()):
        if name in lacking:
            lacking.remove(name)
        else:
            unexpected.append(name)
    return lacking


def explain(model: Any, missing: Collection[str], unexpected: Collection[str]) -> str:
    """Why a file is not the model's."""
    lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
    for kind, names in (("Missing", missing), ("Unexpected", unexpected)):
        if names:
            listed = ", ".join(f'"{name}"' for name in sorted(names))
            lines.append(f"    {kind} key(s) in state_dict: {listed}")
    return "\n".join(lines)
