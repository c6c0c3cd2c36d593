"""Intervals of integer nodes: the rules by operation. They prove clamps and guards dead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isfinite

from ..hlo.element_types import PRED, S32, ElementType
from .node import Node, literal_value
from .operation import Interval, Parameters


def type_interval(element_type: ElementType) -> Interval | None:
    """Return the range of an integer type: (0, 1) for pred, None for types that are not integers."""
    if element_type.is_unsigned:
        return 0, 2**element_type.bits - 1
    if element_type.is_signed:
        return -(2 ** (element_type.bits - 1)), 2 ** (element_type.bits - 1) - 1
    return None


def fits(interval: Interval, element_type: ElementType) -> bool:
    bounds = type_interval(element_type)
    return bounds is not None and bounds[0] <= interval[0] and interval[1] <= bounds[1]


Rule = Callable[..., "Interval | None"]  # from the intervals of the operands
IntervalRule = Callable[[Sequence[Node], Parameters, ElementType], "Interval | None"]


def of_operands(rule: Rule) -> IntervalRule:
    """Return the interval rule of a row from a ``rule`` on the operands' intervals. The interval is None if the
    operation may wrap around.
    """

    def interval(operands: Sequence[Node], parameters: Parameters, result: ElementType) -> Interval | None:
        return _fitting(rule(*[operand.interval for operand in operands]), result)

    return interval


def of_either(rule: Rule) -> IntervalRule:
    """Return an interval rule as :func:`of_operands` does, where an operand of unknown interval has that of its
    type.
    """

    def interval(operands: Sequence[Node], parameters: Parameters, result: ElementType) -> Interval | None:
        bounds = type_interval(result)
        return _fitting(rule(*[operand.interval or bounds for operand in operands]), result)

    return interval


def _fitting(found: Interval | None, result: ElementType) -> Interval | None:
    return found if found is not None and fits(found, result) else None


def chosen(operands: Sequence[Node], parameters: Parameters, result: ElementType) -> Interval | None:
    """Return the interval of a select; in ``where(i < 0, i + n, i)``, each side counts only where it is chosen."""
    return _fitting(union(*_chosen_intervals(operands)), result)


def converted(operands: Sequence[Node], parameters: Parameters, result: ElementType) -> Interval | None:
    """Return the interval of a conversion: the operand's, or (0, 1) for a truth value."""
    (x,) = operands
    return _fitting((0, 1) if x.element_type is PRED else x.interval, result)


def counted(operands: Sequence[Node], parameters: Parameters, result: ElementType) -> Interval | None:
    """Return the interval of running totals of truth values: at most the size of the axis. None for other operands."""
    (x,) = operands
    is_truth = x.opcode == "convert" and x.operands[0].element_type is PRED
    return _fitting((0, x.shape[parameters["axis"]]), result) if is_truth else None


def narrowed(node: Node, operands: tuple[Node, ...]) -> Interval | None:
    """Return the intersection of a node's interval with the one that follows from other operands."""
    before, rule = node.interval, node.operation.interval
    if not node.operation.is_elementwise or rule is None or node.element_type is None or not node.type.is_integral:
        return before
    after = rule(operands, node.parameters, node.element_type)
    if before is None or after is None:
        return before or after
    return max(before[0], after[0]), min(before[1], after[1])


def _chosen_intervals(nodes: Sequence[Node]) -> list[Interval | None]:
    """Return the intervals of both sides of a select; in ``where(i < 0, i + n, i)``, each where it is chosen."""
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
    """Return the interval of a float truncated to an integer, if minima and maxima bound the float; NaN becomes 0."""
    bounds = _float_bounds(node)
    if bounds is None or not all(map(isfinite, bounds)):
        return None
    result = min(int(bounds[0]), 0), max(int(bounds[1]), 0)
    return result if fits(result, element_type) else None


def exceeded(place: Node, size: int, *, from_end: bool) -> tuple[int | None, int | None]:
    """Return the least place in an axis and its size, each None if a place is known to stay within it; negative places
    may count ``from_end``.
    """
    least = -size if from_end else 0
    low, high = place.interval or (least - 1, size)
    return (least if low < least else None), (size if high >= size else None)


def result_interval(node: Node, index: int) -> Interval | None:
    """Return the interval of one of several results, for LU pivots (counted from 1), the indices of ``top_k`` and what
    a function gives; else None.
    """
    if node.opcode == "call":
        given: Interval | None = node.parameters["function"].flat_results[index].interval
        return given
    function = node.parameters.get("function") if node.opcode == "prelude" else None
    if function == "getrf" and index == 1:
        return 1, max(node.operands[0].shape[-2], 1)
    if function == "top_k" and index == 1:
        return _fitting((0, max(node.operands[0].shape[-1] - 1, 0)), S32)
    return None


def _float_bounds(node: Node) -> tuple[float, float] | None:
    """Return bounds of the elements of a float node, except NaN; None if unknown."""
    if node.is_literal:
        value = float(literal_value(node))
        return value, value
    if node.opcode == "convert" and node.operands[0].interval is not None:
        low, high = node.operands[0].interval
        return float(low), float(high)
    rounds = node.operation.rounds
    if rounds is not None:
        bounds = _float_bounds(node.operands[0])
        if bounds is None:
            return None
        rounded = [float(rounds(bound)) if isfinite(bound) else bound for bound in bounds]
        return rounded[0], rounded[1]
    if node.opcode in ("maximum", "minimum", "clamp"):
        given = [_float_bounds(operand) or (-inf, inf) for operand in node.operands]
        if node.opcode == "clamp":
            below, x, above = given
            return min(max(x[0], below[0]), above[0]), min(max(x[1], below[1]), above[1])
        choose = max if node.opcode == "maximum" else min
        return choose(bound[0] for bound in given), choose(bound[1] for bound in given)
    return None


def total(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of a sum."""
    return (a[0] + b[0], a[1] + b[1]) if a and b else None


def difference(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of a difference."""
    return (a[0] - b[1], a[1] - b[0]) if a and b else None


def product(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of a product."""
    if not a or not b:
        return None
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def union(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of a number that is one of two values."""
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None


def larger(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of the maximum of two values."""
    return (max(a[0], b[0]), max(a[1], b[1])) if a and b else None


def smaller(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of the minimum of two values."""
    return (min(a[0], b[0]), min(a[1], b[1])) if a and b else None


def clamped(low: Interval | None, x: Interval | None, high: Interval | None) -> Interval | None:
    """Return the interval of a value clamped to ``low`` and ``high``."""
    if not low or not high:
        return None
    if x is None:
        return min(low[0], high[0]), high[1]
    return smaller(larger(x, low), high)


def both(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of a bitwise and, if at least one operand is not negative."""
    bounds = [interval[1] for interval in (a, b) if interval and interval[0] >= 0]
    return (0, min(bounds)) if bounds else None


def rest(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of a remainder with the sign of the dividend; None unless the divisor is positive."""
    if not b or b[0] <= 0:
        return None
    largest = b[1] - 1
    return (0 if a and a[0] >= 0 else -largest, 0 if a and a[1] <= 0 else largest)


def quotient(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of a quotient; None unless the dividend is nonnegative and the divisor positive."""
    return (a[0] // b[1], a[1] // b[0]) if a and b and a[0] >= 0 and b[0] > 0 else None


def shifted(a: Interval | None, b: Interval | None) -> Interval | None:
    """Return the interval of a right shift of a nonnegative value; None otherwise."""
    return (a[0] >> b[1], a[1] >> b[0]) if a and b and a[0] >= 0 and b[0] >= 0 and b[1] < 64 else None


# -- rules of what Python's integers give alone; None where the operation differs from Python's


def negated(x: Interval) -> Interval:
    return -x[1], -x[0]


def magnitude(x: Interval) -> Interval:
    return 0, max(-x[0], x[1])


def complement(x: Interval) -> Interval:
    return -x[1] - 1, -x[0] - 1


def same(x: Interval) -> Interval:
    return x


def either(mask: Interval, x: Interval, y: Interval) -> Interval | None:
    return union(x, y)


def positive_rest(x: Interval, divisor: Interval) -> Interval | None:
    """Return the interval of the remainder of a nonnegative number; None otherwise."""
    return (0, min(x[1], divisor[1] - 1)) if x[0] >= 0 and divisor[0] > 0 else None


def shifted_left(x: Interval, count: Interval) -> Interval | None:
    return product(x, (2 ** count[0], 2 ** count[1])) if count[0] >= 0 and count[1] < 64 else None


def shifted_with_sign(x: Interval, count: Interval) -> Interval | None:
    ends = [end >> number for end in x for number in count] if count[0] >= 0 and count[1] < 64 else []
    return (min(ends), max(ends)) if ends else None


def bits(x: Interval, y: Interval) -> Interval:
    """Return the interval of any combination of the bits of two numbers."""
    most = 2 ** max(abs(end) for end in (*x, *y)).bit_length()
    return (0 if min(x[0], y[0]) >= 0 else -most), most - 1


def common_bits(x: Interval, y: Interval) -> Interval:
    return both(x, y) or bits(x, y)
