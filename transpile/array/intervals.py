"""Bounds of integer nodes, from which clamps and guards are proved dead."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, inf, isfinite

from ..hlo.element_types import ElementType
from .node import Node, literal_value
from .operation import Interval


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
        intervals = _chosen_intervals(nodes)
    elif opcode in ("maximum", "minimum", "and"):  # one known side is enough
        intervals = [interval or type_interval(element_type) for interval in intervals]
    result = rule(*intervals)
    return result if result is not None and fits(result, element_type) else None


def _chosen_intervals(nodes: tuple[Node, ...]) -> list[Interval | None]:
    """The intervals of what a select chooses between; of ``where(i < 0, i + n, i)`` each where it is chosen."""
    which, negative, other = nodes
    intervals = [negative.interval, other.interval]
    wraps = (
        which.opcode == "compare"
        and which.parameters["direction"] == "LT"
        and which.operands[0] is other
        and which.operands[1].interval == (0, 0)
        and negative.opcode == "add"
        and other in negative.operands
    )
    if not wraps or other.interval is None:
        return intervals
    left, right = negative.operands
    added = (right if left is other else left).interval
    low, high = other.interval
    if added is None or low >= 0:
        return [other.interval, other.interval] if low >= 0 else intervals
    shifted = (low + added[0], min(high, -1) + added[1])
    return [shifted, (0, high) if high >= 0 else shifted]


def cut_interval(node: Node, element_type: ElementType) -> Interval | None:
    """The interval of a float cut to an integer, where minima and maxima bound it; NaN becomes 0."""
    bounds = _float_bounds(node)
    if bounds is None or not all(map(isfinite, bounds)):
        return None
    result = min(int(bounds[0]), 0), max(int(bounds[1]), 0)
    return result if fits(result, element_type) else None


_MONOTONE: dict[str, Callable[[float], int]] = {"floor": floor, "ceil": ceil, "round-nearest-even": round}


def result_interval(node: Node, index: int) -> Interval | None:
    """The interval of one of several results: the rows that LU exchanges are counted from 1 on."""
    function = node.parameters.get("function") if node.opcode == "prelude" else None
    if function == "getrf" and index == 1:
        return 1, max(node.operands[0].shape[-2], 1)
    if function == "top_k" and index == 1:
        return 0, max(node.operands[0].shape[-1] - 1, 0)
    return None


def changed_interval(array: Node, written: Node) -> Interval | None:
    """The interval of an array into which something was written."""
    return _union(array.interval, written.interval)


def _float_bounds(node: Node) -> tuple[float, float] | None:
    """Bounds of the elements of a float node that are no NaN; None where nothing is known."""
    if node.is_literal:
        value = float(literal_value(node))
        return value, value
    if node.opcode == "convert" and node.operands[0].interval is not None:
        low, high = node.operands[0].interval
        return float(low), float(high)
    if node.opcode in _MONOTONE:
        bounds = _float_bounds(node.operands[0])
        if bounds is None:
            return None
        rounded = [float(_MONOTONE[node.opcode](bound)) if isfinite(bound) else bound for bound in bounds]
        return rounded[0], rounded[1]
    if node.opcode in ("maximum", "minimum", "clamp"):
        given = [_float_bounds(operand) or (-inf, inf) for operand in node.operands]
        if node.opcode == "clamp":
            below, x, above = given
            return min(max(x[0], below[0]), above[0]), min(max(x[1], below[1]), above[1])
        choose = max if node.opcode == "maximum" else min
        return choose(bound[0] for bound in given), choose(bound[1] for bound in given)
    return None


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


def _and(a: Interval | None, b: Interval | None) -> Interval | None:
    """Of numbers of which one is not negative."""
    bounds = [interval[1] for interval in (a, b) if interval and interval[0] >= 0]
    return (0, min(bounds)) if bounds else None


def _remainder(a: Interval | None, b: Interval | None) -> Interval | None:
    if not b or b[0] <= 0:
        return None
    largest = b[1] - 1
    return (0 if a and a[0] >= 0 else -largest, 0 if a and a[1] <= 0 else largest)


def _divide(a: Interval | None, b: Interval | None) -> Interval | None:
    return (a[0] // b[1], a[1] // b[0]) if a and b and a[0] >= 0 and b[0] > 0 else None


def _shift_right(a: Interval | None, b: Interval | None) -> Interval | None:
    return (a[0] >> b[1], a[1] >> b[0]) if a and b and a[0] >= 0 and b[0] >= 0 and b[1] < 64 else None


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
    "and": _and,
    "remainder": _remainder,
    "divide": _divide,
    "shift-right-logical": _shift_right,
}
