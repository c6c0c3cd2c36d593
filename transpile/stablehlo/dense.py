"""Dense literals: ``dense<[[1, 2], [3, 4]]>``, ``dense<1.0>``, ``dense<"0x0000803F">``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from ..hlo.element_types import PRED, ElementType
from ..hlo.shapes import UNBOUNDED, ArrayShape

_HEX = re.compile(r'\s*"0x([0-9A-Fa-f]*)"\s*', re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf|nan)|true|false", re.ASCII)
_STRUCTURE = re.compile(r"[^\[\],]+")
_COMPLEX = re.compile(r"\(\s*([^(),]+?)\s*,\s*([^(),]+?)\s*\)")
_LONGEST = 4096  # digits; Python converts long ones in quadratic time
_WORDS = {"true": 1, "false": 0}


class DenseError(ValueError):
    """The literal does not have its type; the text says why."""


def dense(text: str, shape: ArrayShape) -> npt.NDArray[Any]:
    """The array that the text between ``dense<`` and ``>`` is. One number is a broadcast view of itself.

    Raises ``DenseError``.
    """
    if UNBOUNDED in shape.dimensions:
        raise DenseError("a literal has numbers as sizes")
    raw = _HEX.fullmatch(text)
    if raw is not None:
        if len(raw[1]) % 2:
            raise DenseError("half of a byte is left over")
        return from_bytes(bytes.fromhex(raw[1]), shape)
    values = _values(text, shape.element_type)
    structure = _STRUCTURE.sub("", _COMPLEX.sub("", text))
    if not structure and len(values) == 1:
        return splat(values[0], shape)
    if len(values) != shape.size or structure.replace(" ", "") != _structure(shape.dimensions):
        raise DenseError(f"{len(values)} numbers, or their brackets, do not make {shape.without_layout()}")
    return values.reshape(shape.dimensions)


def splat(value: Any, shape: ArrayShape) -> npt.NDArray[Any]:
    """An array of one number."""
    return np.broadcast_to(value, shape.dimensions)


def compact(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array whose elements have all the same bits as a broadcast view of one; another one as it is."""
    if array.size < 2 or not any(array.strides):
        return array
    flat = np.ascontiguousarray(array).reshape(-1)
    rows = flat.view(np.uint8).reshape(flat.size, -1)
    is_one = bool((rows[-1] == rows[0]).all() and (rows == rows[0]).all())
    return np.broadcast_to(flat[0], array.shape) if is_one else array


def from_bytes(raw: bytes | memoryview, shape: ArrayShape) -> npt.NDArray[Any]:
    """The array whose elements are these bytes, the lowest of each first; or one element for all; or packed bits.

    Raises ``DenseError``.
    """
    if min(shape.dimensions, default=0) < 0:
        raise DenseError("a literal has numbers as sizes")
    dtype, count = shape.element_type.dtype, shape.size
    if shape.element_type is PRED:
        return _truths(np.frombuffer(raw, np.uint8), shape)
    if len(raw) == count * dtype.itemsize:
        return np.frombuffer(raw, dtype).reshape(shape.dimensions)
    if len(raw) == dtype.itemsize:
        return splat(np.frombuffer(raw, dtype)[0], shape)
    raise DenseError(f"{len(raw)} bytes do not make {shape.without_layout()}")


def _truths(raw: npt.NDArray[np.uint8], shape: ArrayShape) -> npt.NDArray[Any]:
    """Truth values in a byte each, or in a bit each."""
    count = shape.size
    if raw.size == count and raw.max(initial=0) < 2:
        return raw.astype(bool).reshape(shape.dimensions)
    if raw.size == 1 and raw[0] in (0, 1, 255) and not 1 < count < 9:
        return splat(np.bool_(raw[0] != 0), shape)
    if raw.size == (count + 7) // 8:
        return np.unpackbits(raw, bitorder="little")[:count].astype(bool).reshape(shape.dimensions)
    raise DenseError(f"{raw.size} bytes do not make {shape.without_layout()}")


def _structure(dimensions: tuple[int, ...]) -> str:
    """The brackets and commas of an array of these sizes; none where it has no elements."""
    text = ""
    if 0 in dimensions:
        return text
    for size in reversed(dimensions):
        text = f"[{','.join([text] * size)}]"
    return text


def _values(text: str, element_type: ElementType) -> npt.NDArray[Any]:
    if element_type.is_complex:
        parts = [part for pair in _COMPLEX.findall(text) for part in pair]
        return _numbers(parts, element_type.real).view(element_type.dtype)
    return _numbers(text.replace("[", " ").replace("]", " ").replace(",", " ").split(), element_type)


def _numbers(words: list[str], element_type: ElementType) -> npt.NDArray[Any]:
    if any(len(word) > _LONGEST for word in words):
        raise DenseError("a number has too many digits")
    try:
        if element_type.is_floating:
            with np.errstate(all="ignore"):
                return _floats(words, element_type)
        numbers = [_WORDS[word] if word in _WORDS else int(word, 0) for word in words]
        return np.array(numbers, np.uint8).astype(bool) if element_type is PRED else _integers(numbers, element_type)
    except (ValueError, OverflowError):
        wrong = next((word for word in words if not _NUMBER.fullmatch(word)), "a number")
        raise DenseError(f"{wrong[:40]!r} is no {element_type}") from None


def _integers(numbers: list[int], element_type: ElementType) -> npt.NDArray[Any]:
    bits = element_type.bits
    if any(not -(1 << bits - 1) <= number < 1 << bits for number in numbers):
        raise ValueError
    low = -(1 << bits - 1) if element_type.is_signed else 0
    wide = np.array([(number - low) % (1 << bits) + low for number in numbers], np.int64 if low else np.uint64)
    return wide.astype(element_type.dtype)


def _floats(words: list[str], element_type: ElementType) -> npt.NDArray[Any]:
    values = np.array([0.0 if word.startswith("0x") else float(word) for word in words], np.float64)
    values = values.astype(element_type.dtype)
    for place, word in enumerate(words):
        if word.startswith("0x"):
            values[place] = np.frombuffer(_bits(word, element_type), element_type.dtype)[0]
    return values


def _bits(word: str, element_type: ElementType) -> bytes:
    return int(word, 16).to_bytes(element_type.dtype.itemsize, "little")
