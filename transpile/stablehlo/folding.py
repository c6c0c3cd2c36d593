"""Arithmetic on constants that gives the same numbers everywhere: rounded once, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf
from typing import Any

import numpy as np

from ..hlo.shapes import ArrayShape
from .program import Operation
from .rows import ROWS, AttributeValueError

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "or": np.bitwise_or,
    "subtract": np.subtract,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}


def folded(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    """The array of ``shape`` that an operation gives for constants; None where that is not worked out here."""
    rule = _RULES.get(operation.name.partition(".")[2])
    try:
        with np.errstate(all="ignore"):
            value = rule(operation, operands, shape) if rule is not None else None
    except (AttributeValueError, ValueError, TypeError, IndexError):
        return None  # the program is wrong, which is said where it is translated
    if value is None or value.shape != shape.dimensions or value.dtype != shape.element_type.dtype:
        return None
    return value


def _real(operands: Sequence[Any]) -> bool:
    return all(operand.dtype.kind not in "cO" for operand in operands)


def _exact(operands: Sequence[Any]) -> bool:
    return all(operand.dtype.kind in "iub" for operand in operands)


def _elementwise(operands: Sequence[Any], shape: ArrayShape, compute: Callable[..., Any]) -> Any:
    """Compute once where all operands are one number each."""
    if shape.rank and all(operand.size and not any(operand.strides) for operand in operands):
        number = compute(*(operand[(0,) * operand.ndim] for operand in operands))
        return np.broadcast_to(np.asarray(number), shape.dimensions)
    return np.asarray(compute(*operands))


def _binary(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    name = operation.name.partition(".")[2]
    if name in ("and", "or") and not _exact(operands):
        return None
    is_bool = shape.element_type.name == "pred"
    if not _real(operands) or (is_bool and name not in ("and", "or", "add", "multiply", "maximum", "minimum")):
        return None
    return _arithmetic(operands, shape, _BINARY[name])


def _arithmetic(operands: Sequence[Any], shape: ArrayShape, compute: Callable[[Any, Any], Any]) -> Any:
    """Compute with numbers of two arrays. NaN that neither operand is has no sign: processors differ in that."""

    def computed(left: Any, right: Any) -> Any:
        value = compute(left, right)
        is_new = np.isnan(value) & ~np.isnan(left) & ~np.isnan(right)
        return np.where(is_new, value.dtype.type(np.nan), value) if is_new.any() else value

    return _elementwise(operands, shape, computed if shape.element_type.is_floating else compute)


def _divide(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    if _exact(operands):
        return _of_integers(operands, shape, lambda left, right: (left - np.fmod(left, right)) // right)
    return _arithmetic(operands, shape, np.divide) if shape.element_type.is_floating else None


def _remainder(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    if _exact(operands):
        return _of_integers(operands, shape, np.fmod)
    return _arithmetic(operands, shape, np.fmod) if shape.element_type.is_floating else None


def _of_integers(operands: Sequence[Any], shape: ArrayShape, compute: Callable[[Any, Any], Any]) -> Any:
    """A part of the division of integers, which is cut towards zero."""
    return _elementwise(operands, shape, compute) if np.all(operands[1]) else None


def _compare(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    read = ROWS[operation.name].read(operation.attributes)
    if not _real(operands) or (read.get("type") == "TOTALORDER" and not _exact(operands)):
        return None
    direction = read["direction"]
    return _elementwise(operands, shape, _COMPARISONS[direction])


def _select(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    predicate, yes, no = operands
    return np.where(predicate, yes, no) if predicate.shape == yes.shape else None


def _convert(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    (operand,) = operands
    if operand.dtype.kind == "c" or shape.element_type.is_complex:
        return None
    if operand.dtype.kind not in "iub" and not shape.element_type.is_floating:
        bits, is_signed = shape.element_type.bits, shape.element_type.is_signed
        low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if is_signed else (-1, 2.0**bits)
        number = operand.astype(np.float64)
        if shape.element_type.name == "pred" or not ((low < number) & (number < high)).all():
            return None
    return _elementwise(operands, shape, lambda x: np.asarray(x).astype(shape.element_type.dtype))


_UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "cosine": np.cos,
    "erf": np.vectorize(erf),
    "exponential": np.exp,
    "log": np.log,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "negate": np.negative,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sign": np.sign,
    "sine": np.sin,
    "tan": np.tan,
    "tanh": np.tanh,
}


_OUTSIDE: dict[str, Callable[[Any], Any]] = {  # where there is no number, or an infinite one
    "log": lambda x: x <= 0,
    "rsqrt": lambda x: x <= 0,
    "sign": np.isnan,
}


def _unary(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    """Compute floats in double precision, as far as they are defined, and integers where the result is exact."""
    (operand,) = operands
    name = operation.name.partition(".")[2]
    compute = _UNARY[name]
    if not operand.size or not _real(operands) or shape.element_type.is_complex:
        return None
    if operand.dtype.kind in "iub":
        is_exact = compute in (np.negative, np.abs, np.sign) and operand.dtype.kind == "i"
        return _elementwise(operands, shape, compute) if is_exact else None

    def in_double(x: Any) -> Any:
        return np.asarray(compute(np.asarray(x).astype(np.float64))).astype(shape.element_type.dtype)

    is_outside = _OUTSIDE.get(name)
    if is_outside is not None and is_outside(operand.astype(np.float64)).any():
        return None
    return _elementwise(operands, shape, in_double)


def _not(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    return _elementwise(operands, shape, np.invert) if _exact(operands) else None


def _broadcast(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    (operand,) = operands
    if operand.size == 1 or not any(operand.strides):
        return np.broadcast_to(operand[(0,) * operand.ndim], shape.dimensions) if operand.size else None
    return None


def _reshape(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    (operand,) = operands
    if operand.size > 1 and not any(operand.strides):
        return np.broadcast_to(operand[(0,) * operand.ndim], shape.dimensions)
    return operand.reshape(shape.dimensions)


def _slice(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    if not _real(operands):
        return None
    rows = ROWS[operation.name].read(operation.attributes)["slice"]
    return operands[0][tuple(slice(row.start, row.limit, row.stride) for row in rows)]


def _concatenate(operation: Operation, operands: Sequence[Any], shape: ArrayShape) -> Any:
    if not _real(operands):
        return None
    (dimension,) = ROWS[operation.name].read(operation.attributes)["dimensions"]
    return np.concatenate(operands, dimension)


_RULES: dict[str, Callable[[Operation, Sequence[Any], ArrayShape], Any]] = {
    **dict.fromkeys(_BINARY, _binary),
    "divide": _divide,
    "remainder": _remainder,
    "compare": _compare,
    "select": _select,
    "convert": _convert,
    **dict.fromkeys(_UNARY, _unary),
    "not": _not,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "slice": _slice,
    "concatenate": _concatenate,
}

FOLDED = frozenset(_RULES)
