"""Bounds of integer nodes, from which clamps and guards are proved dead."""

from __future__ import annotations

from collections.abc import Callable

from ...array.node import Interval, Node
from ...hlo.element_types import ElementType


def type_interval(element_type: ElementType) -> Interval | None:
    """The range of an integer type; (0, 1) for pred; None for any other."""
    if element_type.is_unsigned:
        return 0, 2**element_type.bits - 1
    if element_type.is_signed:
        return -(2 ** (element_type.bits - 1)), 2 ** (element_type.bits - 1) - 1
    return None


def fits(interval: Interval, element_type: ElementType) -> bool:
    bounds = type_interval(element_type)
    return bounds is not None and bounds[0] <= interval[0] and interval[1] <= bounds[1]


def elementwise_interval(opcode: str, nodes: tuple[Node, ...], element_type: ElementType) -> Interval | None:
    """The interval of ``opcode(*nodes)``, None where unknown or where the operation may wrap around."""
    if not element_type.is_integral:
        return None
    rule = _RULES.get(opcode)
    if rule is None:
        return None
    intervals = [node.interval for node in nodes]
    if opcode == "select":
        intervals = intervals[1:]
    result = rule(*intervals)
    return result if result is not None and fits(result, element_type) else None


def _add(a: Interval | None, b: Interval | None) -> Interval | None:
    return (a[0] + b[0], a[1] + b[1]) if a and b else None


def _subtract(a: Interval | None, b: Interval | None) -> Interval | None:
    return (a[0] - b[1], a[1] - b[0]) if a and b else None


def _multiply(a: Interval | None, b: Interval | None) -> Interval | None:
    if not a or not b:
        return None
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _union(a: Interval | None, b: Interval | None) -> Interval | None:
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None


def _maximum(a: Interval | None, b: Interval | None) -> Interval | None:
    return (max(a[0], b[0]), max(a[1], b[1])) if a and b else None


def _minimum(a: Interval | None, b: Interval | None) -> Interval | None:
    return (min(a[0], b[0]), min(a[1], b[1])) if a and b else None


def _clamp(low: Interval | None, x: Interval | None, high: Interval | None) -> Interval | None:
    if not low or not high:
        return None
    if x is None:
        return min(low[0], high[0]), high[1]
    return _minimum(_maximum(x, low), high)


def _same(a: Interval | None) -> Interval | None:
    return a


_RULES: dict[str, Callable[..., Interval | None]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "select": _union,
    "maximum": _maximum,
    "minimum": _minimum,
    "clamp": _clamp,
    "convert": _same,
}
