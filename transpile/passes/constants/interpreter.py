"""The values of nodes with constant operands, by HLO's rules, if every library and processor computes the same.

Sums and products of floats whose result depends on the order are left to run time, except for a few equal floats: the
last bits differ between processors, but the text of a module must not. The same holds for transcendental functions
(:mod:`.rounded`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ....templates import of_prelude
from ....templates.prelude import conversion, floats
from ....templates.prelude.ranges import linspace
from ...array.node import Constant, Node, Slot, Ufunc, literal_value
from ...array.value import FULL
from ...hlo.element_types import ElementType
from ...kernels.scalars import OF_INTEGERS
from .folding import fold
from .rounded import is_rounded, rounded_value

Array = np.ndarray[Any, np.dtype[Any]]
LARGEST = 4096  # elements of a value
_MOST_EQUAL = 64  # equal floats in a sum
_MOST_STEPS = 256  # operations that known_value evaluates

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **OF_INTEGERS,
    "sign": floats.sign,
    "round_half_away": floats.round_half_away,
    "to_int": conversion.to_int,
    "linspace": linspace,
}
_LIBRARY: dict[str, Callable[..., Any]] = {
    name: getattr(np, name) for name in ("nextafter", "nan_to_num", "trunc", "copysign", "signbit", "diag")
}
_FOLDS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
}


def value_of(node: Node, operands: Sequence[Array]) -> Array | None:
    """Return the value of a node for the values of its operands, or None if it is left to run time."""
    element_type = node.element_type
    if node.opcode == "integer":
        return np.asarray(node.parameters["value"])
    if (
        element_type is None
        or element_type.dtype.kind not in ("biufc" if node.opcode in ("literal", "array", "convert") else "biuf")
        or node.is_python_int
        or "effect" in node.parameters
        or prod(node.shape) > LARGEST
    ):
        return None
    if is_rounded(node):
        return rounded_value(node, operands)
    rule = _RULES.get(node.opcode)
    if rule is None and not node.operation.is_elementwise:
        return None
    with np.errstate(all="ignore"):
        if rule is None:
            found = fold(node.opcode, list(operands), element_type, node.parameters)
        else:
            found = rule(node, *operands)
    if found is None or found.dtype != element_type.dtype or found.shape != node.shape:
        return None
    return np.asarray(found)


def known_value(node: Node) -> Array | None:
    """Return the value of a node that depends only on a few constants, or None."""
    values: dict[Node, Array] = {}
    waiting = [node]
    while waiting:
        one = waiting[-1]
        missing = [operand for operand in one.operands if operand not in values]
        if missing:
            waiting.append(missing[0])
            continue
        is_kept = one.stands_alone and not one.operation.changes
        value = None if is_kept else value_of(one, [values[operand] for operand in one.operands])
        if value is None or len(values) == _MOST_STEPS:
            return None
        values[waiting.pop()] = value
    return values[node]


def _called(node: Node, *operands: Array) -> Array | None:
    """Return the value of a prelude function that is exact, or None."""
    if node.parameters["function"] == "scatter_at":
        return _scattered(node, *operands)
    function = _FUNCTIONS.get(node.parameters["function"])
    if function is None or node.parameters["keywords"]:
        return None
    arguments = [_argument(item, operands) for item in node.parameters["arguments"]]
    return np.asarray(function(*arguments))


def _of_library(node: Node, *operands: Array) -> Array | None:
    """Return the value of a library function that is exact, or None."""
    function = _LIBRARY.get(node.parameters["function"])
    if node.parameters["function"] == "bincount":
        return np.bincount(*operands, **node.parameters["keywords"])
    if function is None or node.parameters["keywords"]:
        return None
    return np.asarray(function(*(_argument(item, operands) for item in node.parameters["arguments"])))


def _argument(item: Any, operands: Sequence[Array]) -> Any:
    if isinstance(item, Slot):
        return operands[item.index]
    if isinstance(item, ElementType):
        return item.dtype
    if isinstance(item, Ufunc):
        return getattr(np, item.opcode, None)
    return item.array if isinstance(item, Constant) else item


def _index(node: Node, *operands: Array) -> tuple[Any, ...]:
    """Return the index of an operation as NumPy takes it, with the values of its operands."""

    def taken(item: Any) -> Any:
        if item == FULL:
            return slice(None)
        if isinstance(item, Slot):
            return operands[item.index]
        if isinstance(item, tuple) and isinstance(item[0], Slot):
            start, size = int(operands[item[0].index]), item[1]
            return slice(start, start + size)
        return slice(*item) if isinstance(item, tuple) else item

    return tuple(map(taken, node.parameters["index"]))


def _part(node: Node, *operands: Array) -> Array:
    part: Array = operands[0][_index(node, *operands)]
    return part


def _changed(node: Node, *operands: Array) -> Array:
    changed = operands[0].copy()
    changed[_index(node, *operands)] = operands[1]
    return changed


def _updated(node: Node, *operands: Array) -> Array | None:
    """Return sums and the like at positions; None for floats."""
    ufunc = getattr(np, node.parameters["ufunc"].opcode, None)
    if not isinstance(ufunc, np.ufunc) or node.type.is_floating:
        return None
    changed = operands[0].copy()
    ufunc.at(changed, _index(node, *operands), operands[1])
    return changed


def _taken(node: Node, x: Array, index: Array) -> Array:
    return np.take(x, index, node.parameters["axis"], mode="clip" if node.parameters["clamped"] else "raise")


def _running(accumulate: Callable[..., Array]) -> Callable[[Node, Array], Array | None]:
    """Return the rule of a cumulative ufunc; None for floats."""
    return lambda node, x: accumulate(x, node.parameters["axis"], x.dtype) if x.dtype.kind in "iu" else None


def _scattered(node: Node, *operands: Array) -> Array | None:
    arguments = [_argument(item, operands) for item in node.parameters["arguments"]]
    if any(item is None or isinstance(item, tuple) for item in arguments) or node.type.is_floating:
        return None
    return np.asarray(of_prelude("indexing.scatter_at")(*arguments))


def _mask(make: Callable[..., Array]) -> Callable[[Node], Array]:
    return lambda node: make(*node.shape, node.parameters["diagonal"], dtype=node.type.dtype)


def adds_up_exactly(x: Array) -> bool:
    """Return whether floats have the same sum in any order: they are multiples of a power of two that is no less than
    the last bit of their sum. False for -0.0.
    """
    if x.dtype not in (np.float32, np.float64) or not np.isfinite(x).all() or (np.signbit(x) & (x == 0)).any():
        return False
    fractions, exponents = np.frexp(np.abs(x[x != 0]).astype(np.float64))
    digits = (fractions * 2.0**53).astype(np.int64)
    last_bits = np.ldexp((digits & -digits).astype(np.float64), exponents - 53)
    return bool(np.abs(x).sum(dtype=np.float64) < last_bits.min(initial=1) * 2.0 ** np.finfo(x.dtype).nmant)


def _folded(node: Node, x: Array) -> Array | None:
    """Return the value of a reduction whose order does not matter, or None."""
    if x.dtype.kind == "f" and node.opcode == "prod":
        return None
    if x.dtype.kind == "f" and node.opcode == "sum" and not adds_up_exactly(x):
        return _sum_of_equal(node, x)
    axes, keepdims = tuple(node.parameters["axes"]), node.parameters.get("keepdims", False)
    return np.asarray(_FOLDS[node.opcode](x, axis=axes, keepdims=keepdims)).astype(node.type.dtype)


def _sum_of_equal(node: Node, x: Array) -> Array | None:
    """Return the sum of a few equal floats, one of them times their number; or None."""
    count = x.size // max(1, prod(node.shape))
    is_few = x.dtype in (np.float32, np.float64) and 0 < count <= _MOST_EQUAL
    if not is_few or not x.flat[0] or (x != x.flat[0]).any():
        return None
    return np.full(node.shape, x.flat[0] * x.dtype.type(count))


def _floored(opcode: str, function: Callable[..., Array]) -> Callable[..., Array | None]:
    """Return the rule of a division whose integers are rounded down, as in Python, not towards 0 as in HLO."""

    def rule(node: Node, x: Array, y: Array) -> Array | None:
        if not node.type.is_integral:
            return fold(opcode, [x, y], node.type, node.parameters)
        return None if np.any((y == 0) | (y == -1)) else function(x, y)

    return rule


_RULES: dict[str, Callable[..., Array | None]] = {
    "divide": _floored("divide", np.floor_divide),
    "remainder": _floored("remainder", np.mod),
    "literal": literal_value,
    "array": literal_value,
    "arange": lambda node: np.arange(node.parameters["stop"], dtype=node.type.dtype),
    "range": lambda node: np.arange(
        *(node.parameters[name] for name in ("start", "stop", "step")), dtype=node.type.dtype
    ),
    "zeros": lambda node, fill: np.full(node.shape, fill),
    "ones": lambda node, fill: np.full(node.shape, fill),
    "full": lambda node, fill: np.full(node.shape, fill),
    "eye": _mask(np.eye),
    "tri": _mask(np.tri),
    "scalar": lambda node, x: x.astype(node.type.dtype),
    "view": lambda node, x: fold("view", [x], node.type, {}),
    "transpose": lambda node, x: x.transpose(node.parameters["axes"]),
    "reshape": lambda node, x: x.reshape(node.shape),
    "broadcast_to": lambda node, x: np.broadcast_to(x, node.shape),
    "expand": _part,
    "getitem": _part,
    "advanced_index": _part,
    "take": _taken,
    "setitem": _changed,
    "update_at": _updated,
    "cumsum": _running(np.cumsum),
    "cumprod": _running(np.cumprod),
    "tril": lambda node, x: np.tril(x, node.parameters["diagonal"]),
    "triu": lambda node, x: np.triu(x, node.parameters["diagonal"]),
    "concatenate": lambda node, *parts: np.concatenate(parts, axis=node.parameters["axis"]),
    "stack": lambda node, *parts: np.stack(parts, axis=node.parameters["axis"]),
    "pad": lambda node, x, fill: np.pad(x, node.parameters["widths"], constant_values=fill),
    "roll": lambda node, x: np.roll(x, node.parameters["shift"], node.parameters["axis"]),
    "prelude": _called,
    "library": _of_library,
    "matmul": lambda node, x, y: None if x.size and y.size else np.zeros(node.shape, node.type.dtype),
    **dict.fromkeys(_FOLDS, _folded),
}
