"""Older and dynamic operations as those that HLO has: what they take as arrays are constants here.

A rule is a function of an operation and the constants that its operands are (None for one that is no constant). It
changes the operation, or leaves it as it is where that cannot be done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..hlo.shapes import ArrayShape
from .attributes import integers
from .program import Operation

Rule = Callable[[Operation, Sequence[Any]], None]


def _is_static(operation: Operation) -> bool:
    shape = operation.results[0].type
    return isinstance(shape, ArrayShape) and not shape.dynamic and all(size >= 0 for size in shape.dimensions)


def _become(operation: Operation, name: str, count: int, attributes: Mapping[str, Any]) -> None:
    """Change the operation to another one, of its first operands, with more attributes."""
    operation.name = f"stablehlo.{name}"
    operation.operands = operation.operands[:count]
    operation.attributes = {**operation.attributes, **attributes}


def _of_known_size(name: str, count: int) -> Rule:
    """An operation whose result has sizes, so that the last operand, which says them, says nothing new."""

    def rule(operation: Operation, constants: Sequence[Any]) -> None:
        if _is_static(operation):
            _become(operation, name, count, {})

    return rule


def _of_constants(name: str, count: int, *keys: str) -> Rule:
    """An operation whose operands behind the first ``count`` are attributes, if they are constants."""

    def rule(operation: Operation, constants: Sequence[Any]) -> None:
        found = constants[count:]
        if _is_static(operation) and all(isinstance(each, np.ndarray) for each in found):
            _become(operation, name, count, dict(zip(keys, found, strict=True)))

    return rule


def _broadcast(operation: Operation, constants: Sequence[Any]) -> None:
    given, shape = operation.operands[0].type, operation.results[0].type
    if isinstance(given, ArrayShape) and isinstance(shape, ArrayShape):
        dimensions = tuple(range(shape.rank - given.rank, shape.rank))
        _become(operation, "broadcast_in_dim", 1, {"broadcast_dimensions": dimensions})


def _dot(operation: Operation, constants: Sequence[Any]) -> None:
    left = operation.operands[0].type
    if isinstance(left, ArrayShape) and left.rank:
        _become(operation, "dot_general", 2, {"contracting_dims": ((left.rank - 1,), (0,))})


def _slice(operation: Operation, constants: Sequence[Any]) -> None:
    found = [integers(each) for each in constants[1:]]
    if all(each is not None for each in found):
        keys = ("start_indices", "limit_indices", "strides")
        _become(operation, "slice", 1, dict(zip(keys, found, strict=True)))


def _constant_like(operation: Operation, constants: Sequence[Any]) -> None:
    value, shape = operation.attributes.get("value"), operation.results[0].type
    if isinstance(value, int | float) and isinstance(shape, ArrayShape) and _is_static(operation):
        number = np.array(value, shape.element_type.dtype)
        _become(operation, "constant", 0, {"value": np.broadcast_to(number, shape.dimensions)})


STATIC_FORMS: dict[str, Rule] = {
    "stablehlo.broadcast": _broadcast,
    "stablehlo.dot": _dot,
    "stablehlo.dynamic_broadcast_in_dim": _of_known_size("broadcast_in_dim", 1),
    "stablehlo.dynamic_conv": _of_constants("convolution", 2, "padding"),
    "stablehlo.dynamic_gather": _of_constants("gather", 2, "slice_sizes"),
    "stablehlo.dynamic_iota": _of_known_size("iota", 0),
    "stablehlo.dynamic_pad": _of_constants("pad", 2, "edge_padding_low", "edge_padding_high", "interior_padding"),
    "stablehlo.dynamic_reshape": _of_known_size("reshape", 1),
    "stablehlo.real_dynamic_slice": _slice,
    "chlo.constant_like": _constant_like,
}
