"""``a ** b`` of integers, which JAX writes out by repeated squaring, and powers of 1.

JAX reads only the lowest six bits of ``b``, so ``b`` is masked to them; 0 stays 0 if another bit is set. Every power of
1 is 1, even for an exponent NaN.
"""

from __future__ import annotations

import numpy as np

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.value import filled
from ...hlo.element_types import PRED, ElementType
from ..rewriting.patterns import Bindings, is_number, pattern
from ..rewriting.rules import Rule, rule_pass

_BITS = 6
_MOST = (1 << _BITS) - 1
_IS_ZERO = "(is_zero := and_(compare(a, 0, direction='EQ'), compare(b, 0, direction='NE')))"


def _by_squaring(shift: str) -> str:
    """The pattern that is written out, given the opcode that shifts bits."""
    base, rest, product = "a", "b", f"(p0 := select({_IS_ZERO}, 0, 1))"
    for k in range(_BITS):
        wanted = f"compare(and_({rest}, 1), 0, direction='NE')"
        product = f"(p{k + 1} := select({wanted}, multiply({product}, {base}), p{k}))"
        base, rest = f"multiply({base}, {base})", f"{shift}({rest}, 1)"
    return product


def _power(graph: Graph, node: Node, found: Bindings) -> Node:
    a, b = found["a"], found["b"]
    if b.interval is not None and b.interval[0] >= 0 and b.interval[1] <= _MOST:
        return graph.add("power", (a, b))
    lowest = graph.add("and", (b, graph.literal(_MOST, b.type)), interval=(0, _MOST))
    power = graph.add("power", (a, lowest))
    return graph.add("select", (found["is_zero"], graph.literal(0, a.type), power))


def _of_number(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return a power of a constant base, whose repeated squares are constants too."""
    rests, products, taken = [], [node], []
    for _ in range(_BITS):
        step = pattern(_STEP).match(products[-1])
        if step is None:
            return None
        rests.append(step["rest"])
        taken.append(step["taken"])
        products.append(step["kept"])
    *_, base = taken
    shifted = [pattern(f"{shift}(rest, 1)").match(high) for high in rests[:-1] for shift in _SHIFTS]
    are_shifted = [each["rest"] for each in shifted if each is not None] == rests[1:]
    if not are_shifted or not is_number(products[-1], 1) or not base.is_literal or not literal_value(base):
        return None
    square = np.asarray(literal_value(base), node.type.dtype)
    for x, product in zip(products[:0:-1], taken[::-1], strict=True):
        if not _is_product(x, square, product):
            return None
        square = np.multiply(square, square, out=np.empty_like(square))
    b = rests[-1]
    if b.interval is None or b.interval[0] < 0 or b.interval[1] > _MOST:
        b = graph.add("and", (b, graph.literal(_MOST, b.type)), interval=(0, _MOST))
    return graph.add("power", (base, b))


def _is_product(x: Node, number: np.ndarray, product: Node) -> bool:
    """Return whether ``product`` is ``x * number``, also in the folded forms for ``number == 0`` and ``x == 1``."""
    if is_number(x, 1) or number == 0:
        return is_number(product, number.item())
    found = pattern("multiply(x, NUMBER)").match(product)
    return found is not None and found["x"] is x and bool(literal_value(found["NUMBER"]) == number)


def _one(graph: Graph, node: Node, found: Bindings) -> Node | None:
    number = found["NUMBER"]
    if literal_value(number) != 1:
        return None
    return filled(graph, number, node.shape) if node.ndim else number


def _is_integral(element_type: ElementType) -> bool:
    return element_type.is_integral and element_type is not PRED and not element_type.is_extension


_SHIFTS = ("prelude.shift_right_logical", "shift_right_logical")
_STEP = "select(compare(and_(rest, 1), 0, direction='NE'), taken, kept)"
RULES = (
    *(Rule(_by_squaring(shift), _power, when=_is_integral) for shift in _SHIFTS),
    Rule(_STEP, _of_number, when=_is_integral),
    Rule("power(NUMBER, b)", _one),
)

powers = rule_pass(__name__, "Raise powers of integers, and of 1.", RULES)
