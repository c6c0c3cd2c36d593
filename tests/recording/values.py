"""Answers as JSON: trees of arrays, of which small ones are numbers to read and large ones compressed bytes."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from typing import Any

import ml_dtypes  # noqa: F401 - NumPy knows its dtypes by name then
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
_READABLE = 8  # elements: more are bytes
_READABLE_TEXT = 1000  # letters
_ALPHABET = b"".join(base64.b85encode(bytes([0, 0, 0, digit]))[-1:] for digit in range(85))
_DIGITS = np.array([max(0, _ALPHABET.find(code)) for code in range(256)])


class NoAnswerError(TypeError):
    """The value cannot be kept: it is no tree of arrays, numbers and texts."""


@np.errstate(all="ignore")
def to_json(value: Any) -> Any:
    """Return a tree of lists, tuples, dicts, arrays, numbers and texts as JSON. Raises :class:`NoAnswerError`."""
    if type(value) is str and len(value) > _READABLE_TEXT:
        return {"lines": value.count("\n"), "text": _packed(value.encode())}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [to_json(part) for part in value]
    if type(value) is tuple:
        return {"tuple": [to_json(part) for part in value]}
    if type(value) is dict:
        return {"dict": [[to_json(key), to_json(part)] for key, part in value.items()]}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind != "O":
        return _of_array(np.asarray(value))
    raise NoAnswerError(f"no tree of arrays: {type(value).__name__}")


@np.errstate(all="ignore")
def from_json(found: Any) -> Any:
    """Return what :func:`to_json` was given; its arrays are new at each call."""
    if isinstance(found, list):
        return [from_json(part) for part in found]
    if not isinstance(found, dict):
        return found
    if "text" in found:
        return _unpacked(found["text"]).decode()
    if "tuple" in found:
        return tuple(from_json(part) for part in found["tuple"])
    if "dict" in found:
        return {from_json(key): from_json(part) for key, part in found["dict"]}
    return _to_array(found)


def _of_array(array: Array) -> dict[str, Any]:
    head = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.size <= _READABLE:
        short = {**head, "values": _wide_numbers(array).tolist()}
        if _to_array(json.loads(json.dumps(short))).tobytes() == array.tobytes():  # signs of NaN are lost in JSON
            return short
    return {**head, **_about(array), "bytes": _packed(_planes(array))}


def _packed(content: bytes) -> str:
    return base64.b85encode(zlib.compress(content, 9)).decode()


def _unpacked(text: str) -> bytes:
    return zlib.decompress(_from_base85(text.encode()))


def _from_base85(text: bytes) -> bytes:
    """Return what ``base64.b85decode`` does, which takes a tenth of a second for a megabyte."""
    digits = _DIGITS[np.frombuffer(text + b"~" * (-len(text) % 5), np.uint8)].reshape(-1, 5)
    words = digits @ 85 ** np.arange(4, -1, -1)
    return words.astype(">u4").tobytes()[: len(words) * 4 - -len(text) % 5]


def _about(array: Array) -> dict[str, Any]:
    """Return where the values lie, for a reader of what changed."""
    if array.dtype.kind in "biu" and array.size:
        return {"between": [int(array.min()), int(array.max())]}
    wide = abs(array if array.dtype.kind == "c" else array.astype(np.float64))
    wide = wide[np.isfinite(wide)]
    return {"mean": float(f"{wide.mean():.6g}")} if wide.size else {}


def _planes(array: Array) -> bytes:
    """Return the first bytes of all elements, then the second ones, ..: bytes of one meaning are more alike."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T.tobytes()


def _to_array(found: dict[str, Any]) -> Array:
    dtype, shape = np.dtype(found["dtype"]), tuple(found["shape"])
    if "values" in found:
        numbers = np.array(found["values"], _wide(dtype))
        return (numbers.view(np.complex128) if dtype.kind == "c" else numbers).astype(dtype).reshape(shape)
    planes = np.frombuffer(_unpacked(found["bytes"]), np.uint8).reshape(dtype.itemsize, -1)
    return np.ascontiguousarray(planes.T).view(dtype).reshape(shape)


def _wide_numbers(array: Array) -> Array:
    """Return the elements as numbers that JSON has; complex ones are two each."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128).reshape(-1).view(np.float64)
    return array.astype(_wide(array.dtype)).reshape(-1)


def _wide(dtype: np.dtype[Any]) -> type:
    return {"b": bool, "i": np.int64, "u": np.uint64}.get(dtype.kind, np.float64)


def map_arrays(function: Callable[[Any], Any], value: Any) -> Any:
    """Return the tree with every leaf replaced that is no list, tuple or dict."""
    if type(value) in (list, tuple):
        return type(value)(map_arrays(function, part) for part in value)
    if type(value) is dict:
        return {key: map_arrays(function, part) for key, part in value.items()}
    return function(value)
