"""Files of named arrays in the safetensors format: a JSON header, then the bytes of the arrays in row-major order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..hlo.element_types import ELEMENT_TYPES, from_dtype

SUFFIX = ".safetensors"

# The format's names of element types, by HLO's. Other types have none.
NAMES = {
    "pred": "BOOL",
    "s8": "I8",
    "u8": "U8",
    "s16": "I16",
    "u16": "U16",
    "s32": "I32",
    "u32": "U32",
    "s64": "I64",
    "u64": "U64",
    "f8e4m3fn": "F8_E4M3",
    "f8e5m2": "F8_E5M2",
    "f16": "F16",
    "bf16": "BF16",
    "f32": "F32",
    "f64": "F64",
    "c64": "C64",
}
_ALIGNED = 8  # bytes; alignment of the header's end, and so of the first array


def can_hold(array: np.ndarray) -> bool:
    """Return whether the format has a name for the element type of an array."""
    return from_dtype(array.dtype).name in NAMES


def write(stream: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays under their names, wide types first, so that each array is aligned.

    Raises ``KeyError`` for an array that the format cannot hold (:func:`can_hold`).
    """
    for piece in _pieces(arrays):
        stream.write(piece)


def read(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file, memory-mapped. Raises ``ValueError`` for an invalid file, with the array's name if
    one is at fault.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(min(size, path.stat().st_size)))
    header.pop("__metadata__", None)
    octets = np.memmap(path, np.uint8, "r", 8 + size)
    types = {name: ELEMENT_TYPES[own].dtype for own, name in NAMES.items()}
    found = {}
    for name, entry in header.items():
        try:
            begin, end = entry["data_offsets"]
            found[name] = octets[begin:end].view(types[entry["dtype"]]).reshape(entry["shape"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the array {name} is cut off or of an unknown type: {error}") from error
    return found


def is_written(stream: BinaryIO, arrays: Mapping[str, np.ndarray]) -> bool:
    """Return whether a stream has the bytes that :func:`write` writes for the arrays; reads one array at a time."""
    return all(stream.read(len(piece)) == piece for piece in _pieces(arrays)) and not stream.read(1)


def _pieces(arrays: Mapping[str, np.ndarray]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file: the header, then each array."""
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header: dict[str, object] = {}
    place = 0
    for name, array in ordered:
        ends = [place, place + array.nbytes]
        header[name] = {"dtype": NAMES[from_dtype(array.dtype).name], "shape": [*array.shape], "data_offsets": ends}
        place = ends[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNED)
    yield len(text).to_bytes(8, "little") + text
    for _, array in ordered:
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
