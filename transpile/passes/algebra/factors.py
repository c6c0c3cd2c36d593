"""Numbers that a value is multiplied by are one where that rounds alike, as XLA has it: ``x * 2 * -0.5 / 4`` is
``x / -4``.

They are found in all factors and numerators that nothing else reads, as derivatives have them: ``g * (0.5 / y) * (x *
2)`` is ``g / y * x``. A power of two moves to another number, best to one of a smaller array.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import prod

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import FULL, NEW, getitem
from ...dataclass import dataclass
from ..rewriting.rules import FloatRule, apply_rules, is_full_float

_DEEPEST = 6  # operations that are looked through
_FACTOR, _DIVISOR, _NUMERATOR, _MINUS = range(4)
_MINUS_ONE = np.array(-1, np.float32)
_PARTS = ("getitem", "expand")
_Path = tuple[int, ...]  # which operands lead to an operation

RULES = (
    FloatRule("multiply(x, (r := divide(1, y)))", "divide(x, y)", once=("r",)),
    # the gradient of a deviation
    FloatRule("multiply(x, (q := divide((r := divide(1, y)), N)))", "divide(x, multiply(y, N))", once=("q", "r")),
)


@dataclass(frozen=True, slots=True)
class _Number:
    """A scalar literal in an operation of some ``size``: a factor, a divisor, a numerator, or -1 for a negation."""

    path: _Path
    kind: int
    value: np.ndarray
    size: int


def factors(function: Function, supports: Support) -> None:
    """Combine the scalar factors of products."""
    graph, live = function.graph, live_nodes(function)
    if live.of(("ones",)):
        rewrite(function, ("multiply", "getitem", "expand"), lambda node: _without_ones(graph, node), supports)
    rewrite(function, ("multiply", "divide", "negate"), lambda node: _gathered(graph, live, node), supports)
    apply_rules(function, RULES, supports)


def _without_ones(graph: Graph, node: Node) -> Node | None:
    """Return ``x``, or its broadcast, in place of ``np.ones(..) * x``; a view of a view is one view."""
    if node.opcode != "multiply":
        is_part = len(node.operands) == len(node.operands[0].operands) == 1 and node.operands[0].opcode in _PARTS
        return getitem(graph, node.operands[0], node.parameters["index"]) if is_part else None
    for ones, other in permutations(node.operands):
        further = node.ndim - other.ndim
        if ones.opcode == "ones" and other.ndim and node.shape == (1,) * further + other.shape:
            return getitem(graph, other, (*(NEW,) * further, *(FULL,) * other.ndim))
        if ones.opcode == "ones" and other.ndim:
            return graph.add("broadcast_to", (other,), shape=node.shape)
    return None


def _gathered(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """Return a product with fewer scalar factors; None if there is only one, or rounding would change."""
    if node.element_type is None or not is_full_float(node.type):
        return None
    made = node
    while (pair := _best_pair(live, made)) is not None:
        gone, kept = pair
        made = _rebuilt(graph, made, {gone.path: None, kept.path: _together(gone, kept)})
    return made if made.shape == node.shape else None


def _best_pair(live: LiveNodes, node: Node) -> tuple[_Number, _Number] | None:
    """Return a literal that may go, and the one that absorbs it: best a divisor that stays an integer. Divisors go
    first, then factors of large arrays.
    """
    pairs = (pair for pair in permutations(_numbers(live, node), 2) if _together(*pair) is not None)
    return min(pairs, key=_preference, default=None)


def _numbers(live: LiveNodes, node: Node, path: _Path = ()) -> Iterator[_Number]:
    """Yield the scalar literals among the factors of a product, through negations and numerators."""
    if len(path) > _DEEPEST or (path and live.count(node) > 1) or all(each.is_literal for each in node.operands):
        return
    if node.opcode not in ("multiply", "divide", "negate"):
        return
    size = prod(node.shape)
    if node.opcode == "negate":
        yield _Number(path, _MINUS, _MINUS_ONE, size)
    for place, operand in enumerate(node.operands):
        if operand.is_literal and not operand.ndim:
            kind = _FACTOR if node.opcode == "multiply" else (_NUMERATOR, _DIVISOR)[place]
            yield _Number(path, kind, literal_value(operand), size)
        elif not (node.opcode == "divide" and place):
            yield from _numbers(live, operand, (*path, place))


def _together(gone: _Number, kept: _Number) -> np.ndarray | None:
    """Return the value of the second literal after it absorbs the first, a power of two; None if that rounds
    differently, does not save a literal, or makes a numerator a fraction.
    """
    if gone.value == 1 or not np.isfinite(gone.value) or abs(np.frexp(gone.value)[0]) != 0.5:
        return None
    is_inverse = (gone.kind == _DIVISOR) != (kept.kind == _DIVISOR)
    value = np.asarray(kept.value / gone.value if is_inverse else kept.value * gone.value)
    if kept.value == 1 and gone.kind in (_NUMERATOR, _MINUS):
        return None
    if gone.kind == _DIVISOR and kept.kind == _NUMERATOR and value % 1 != 0:
        return None
    if _MINUS in (gone.kind, kept.kind) and kept.kind != _NUMERATOR and not (gone.value < 0 and kept.value < 0):
        return None
    return value if _is_normal(value) else None


def _preference(pair: tuple[_Number, _Number]) -> tuple[int, ...]:
    """Return the sort key of a pair; the best pair has the least."""
    gone, kept = pair
    is_count = kept.kind == _DIVISOR and (kept.value / gone.value) % 1 == 0
    order = (_DIVISOR, _MINUS, _FACTOR, _NUMERATOR).index(gone.kind)
    return not is_count, order, kept.size - gone.size, len(kept.path) - len(gone.path)


def _is_normal(number: np.ndarray) -> bool:
    """Return whether a number is finite and not subnormal, so it has full precision."""
    return bool(np.isfinite(number)) and abs(number) >= np.finfo(number.dtype).tiny


def _rebuilt(graph: Graph, node: Node, values: dict[_Path, np.ndarray | None], path: _Path = ()) -> Node:
    """Return a product with other literals; None and 1 are left out."""
    if not any(each[: len(path)] == path for each in values):
        return node
    operands = tuple(_rebuilt(graph, operand, values, (*path, k)) for k, operand in enumerate(node.operands))
    if path not in values:
        return graph.add(node.opcode, operands)
    value = 1 if values[path] is None else values[path]
    number = graph.literal(value, node.type)
    if node.opcode == "divide" and node.operands[0].is_literal:
        return graph.add("divide", (number, operands[1]))
    x = next(operand for operand in operands if not operand.is_literal)
    return x if value == 1 else graph.add("divide" if node.opcode == "divide" else "multiply", (x, number))
