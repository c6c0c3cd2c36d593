"""NumPy arrays as HLO literals, in full, so that reading them gives the same bits back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .element_types import ElementType, Kind, from_dtype
from .literal_values import has_nan_payloads, mantissa_bits
from .literals import Literal

_LOG10_2 = math.log10(2)


def literal_text(literal: Literal) -> str:
    """``{{1, 2}, {3, 4}}``, ``(5, {1, 0.5})`` for a tuple, ``(1, -2)`` for a complex number."""
    if literal is None:
        return "token"
    if isinstance(literal, tuple):
        return f"({', '.join(map(literal_text, literal))})"
    texts = _element_texts(literal.reshape(-1), from_dtype(literal.dtype), is_scalar=literal.ndim == 0)
    return texts[0] if literal.ndim == 0 else _in_braces(texts, literal.shape)


def shaped_literal_text(literal: Literal) -> str:
    """A literal behind its shape, ``s32[2]{0} {1, 2}``; a tuple's elements each have their own.

    The shape has a layout: without one, the first brace of the literal would be taken for it.
    """
    if literal is None:
        return "token[] token"
    if isinstance(literal, tuple):
        return f"({', '.join(map(shaped_literal_text, literal))})"
    layout = f"{{{','.join(map(str, reversed(range(literal.ndim))))}}}" if literal.ndim else ""
    shape = f"{from_dtype(literal.dtype)}[{','.join(map(str, literal.shape))}]{layout}"
    return f"{shape} {literal_text(literal)}"


def _in_braces(texts: list[str], dimensions: tuple[int, ...]) -> str:
    for level in range(len(dimensions) - 1, -1, -1):
        size = dimensions[level]
        rows = math.prod(dimensions[:level])
        texts = [f"{{{', '.join(texts[row * size : (row + 1) * size])}}}" for row in range(rows)]
    return texts[0] if texts else "{}"


def _element_texts(values: npt.NDArray[Any], element_type: ElementType, is_scalar: bool) -> list[str]:
    if element_type.is_complex:
        parts = _float_texts(values.view(element_type.real.dtype), element_type.real)
        return [f"({real}, {imaginary})" for real, imaginary in zip(parts[::2], parts[1::2], strict=True)]
    if element_type.is_floating:
        return _float_texts(values, element_type)
    if element_type.kind is Kind.PRED:
        return [("true" if value else "false") if is_scalar else str(int(value)) for value in values.tolist()]
    wide = np.uint64 if element_type.is_unsigned else np.int64
    return list(map(str, values.astype(wide).tolist()))


def _float_texts(values: npt.NDArray[Any], element_type: ElementType) -> list[str]:
    """Few digits: those the type always keeps, more only where these would be read as another number."""
    with np.errstate(invalid="ignore"):  # of ml_dtypes, for NaN
        numbers = values.astype(np.float64)
    if element_type.bits == 64:
        texts = [repr(number).removesuffix(".0") for number in numbers.tolist()]
    else:
        kept = max(1, math.floor(mantissa_bits(element_type) * _LOG10_2))
        enough = math.ceil(1 + (mantissa_bits(element_type) + 1) * _LOG10_2)
        texts = [f"{number:.{kept}g}" for number in numbers.tolist()]
        for digits in (enough, 17):  # 17: ml_dtypes rounds near the smallest f8e8m0fnu in its own way
            for index in np.flatnonzero(_differ(texts, values, element_type)):
                texts[index] = f"{numbers[index]:.{digits}g}"
    for index in np.flatnonzero((numbers == 0) & np.signbit(numbers)):
        texts[index] = "-0.0"  # XLA reads -0 as an integer, without its sign
    for index in np.flatnonzero(np.isnan(numbers)):
        bits = int(values[index : index + 1].view(f"u{values.itemsize}")[0])
        texts[index] = _nan_text(bits, "-" if np.signbit(numbers[index]) else "", element_type)
    return texts


def _differ(texts: list[str], values: npt.NDArray[Any], element_type: ElementType) -> npt.NDArray[Any]:
    """Return which texts stand for other numbers than the values; NaNs are alike."""
    with np.errstate(over="ignore", invalid="ignore"):
        read_back = np.array(texts, dtype=np.float64).astype(element_type.dtype)
        differ: npt.NDArray[np.bool_] = (read_back != values) & ~(np.isnan(read_back) & np.isnan(values))
    return differ


def _nan_text(bits: int, sign: str, element_type: ElementType) -> str:
    """``nan``, ``-nan``, or ``nan(0x7)`` where the mantissa is not that of the usual NaN."""
    if not has_nan_payloads(element_type):
        return f"{sign}nan"
    payload = bits & (1 << mantissa_bits(element_type)) - 1
    return f"{sign}nan" if payload == 1 << mantissa_bits(element_type) - 1 else f"{sign}nan(0x{payload:x})"
