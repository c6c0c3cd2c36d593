"""``np.cross``: JAX computes each component of the product of three-dimensional vectors by itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ...array.value import FULL, NEW, getitem, permute, taken_positions
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import FloatRule, rule_pass

_NUMBER = pattern("subtract(multiply(a, b), multiply(c, d))")
_Pair = tuple[Node, Node]
_Components = tuple[Node, Node, Node]


def _product(graph: Graph, node: Node, _: Bindings) -> Node | None:
    numbers = [_NUMBER.match(part) for part in node.operands]
    if None in numbers:
        return None
    plus, minus = ([(number[a], number[b]) for number in numbers if number] for a, b in ("ab", "cd"))
    components = _components(plus, minus)
    if components is None or not any(map(_parts, components)):
        return None
    x, y = (_vector(graph, each) for each in components)
    if x is None or y is None:
        return None
    axis, crossed = node.parameters["axis"], called(graph, "np.cross", (x, y), node)
    return permute(graph, crossed, (*range(axis), node.ndim - 1, *range(axis, node.ndim - 1)))


def _components(plus: Sequence[_Pair], minus: Sequence[_Pair]) -> tuple[_Components, _Components] | None:
    """Return x and y where the products are those of ``x[1] * y[2] - x[2] * y[1]`` and so on, whatever their order."""
    for (x1, y2), (x2, y1) in product(_orders(plus[0]), _orders(minus[0])):
        y0, x0 = _other(plus[1], x2), _other(minus[1], y2)
        if x0 and y0 and (x0, y1) in _orders(plus[2]) and (x1, y0) in _orders(minus[2]):
            return (x0, x1, x2), (y0, y1, y2)
    return None


def _orders(pair: _Pair) -> tuple[_Pair, _Pair]:
    return pair, pair[::-1]


def _other(pair: _Pair, one: Node) -> Node | None:
    return next((second for first, second in _orders(pair) if first is one), None)


def _vector(graph: Graph, components: _Components) -> Node | None:
    """Return the array of three components, along its last axis."""
    if (parts := _parts(components)) is not None:
        x, index = parts
        return getitem(graph, x, index)
    if len({each.shape for each in components}) > 1:
        return None
    return graph.add("stack", components, axis=components[0].ndim)


def _parts(components: _Components) -> tuple[Node, tuple[object, ...]] | None:
    """Return an array and its index, if the components are neighbours along its last axis."""
    if not all(each.opcode == "getitem" and each.operands == components[0].operands[:1] for each in components):
        return None
    x, places = components[0].operands[0], []
    for each in components:
        index = each.parameters["index"]
        last = max((k for k, item in enumerate(index) if item is not NEW), default=0)
        before, item, after = index[:last], index[last], index[last + 1 :]
        others = [other for other in before if other is not NEW]
        if item == FULL or len(others) != x.ndim - 1 or set(others) - {FULL}:
            return None
        at = (item,) if isinstance(item, int) else range(x.shape[-1])[slice(*item)]
        places.append((*at, *before, *(() if isinstance(item, int) else (NEW,)), *after))
    first, *around = places[0]
    if places != [(first + k, *around) for k in range(3)]:
        return None
    return x, (*around, taken_positions(range(first, first + 3), x.shape[-1]))


RULES = (FloatRule("stack(a, b, c)", _product),)

crosses = rule_pass(__name__, "Raise them.", RULES)
