"""Small tensor files for the tests, written here byte by byte: what the library would write cannot vouch for itself."""

import json
import struct


def safetensors(tensors, metadata=None, *, pad=8, tail=b"", header=None):
    """The bytes of a file with tensors of {name: (dtype, shape, data)}, one behind the other."""
    described, at = {} if metadata is None else {"__metadata__": metadata}, 0
    for name, (dtype, shape, data) in tensors.items():
        described[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(described, separators=(",", ":")).encode() if header is None else header
    text += b" " * (-len(text) % pad)
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()) + tail
