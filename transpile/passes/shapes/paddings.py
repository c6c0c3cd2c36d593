"""``np.pad`` with a mode: arrays concatenated with parts of themselves on both sides."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ...array.value import FULL
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, rule_pass

Widths = tuple[tuple[int, int], ...]


class Run(NamedTuple):
    """Positions along an axis with a constant step, which may be negative, or one position repeated."""

    start: int
    step: int
    length: int

    def cut(self, part: slice) -> Run:
        """The positions that a slice selects from these."""
        taken = range(self.length)[part]
        return run(self.start + self.step * taken.start, self.step * taken.step, len(taken))


def run(start: int, step: int, length: int) -> Run:
    """A normalised run, so that equal positions compare equal: fewer than two have step 0."""
    return Run(start, step if length > 1 else 0, length)


def _padded(graph: Graph, node: Node, found: Bindings) -> Node | None:
    low, x, high = node.operands
    axis = node.parameters["axis"]
    size = x.shape[axis]
    taken = [_places(part, x, axis) for part in (low, high)]
    if taken[0] is None or taken[1] is None:
        return None
    before, after = taken[0].length, taken[1].length
    if min(before, after) < 1 or max(before, after) >= size:
        return None
    for mode, wanted in _modes(size, before, after).items():
        if taken == wanted:
            widths = tuple((before, after) if k == axis else (0, 0) for k in range(x.ndim))
            return _call(graph, x, node, widths, mode)
    return None


def _modes(size: int, before: int, after: int) -> dict[str, list[Run]]:
    """For each mode, the elements of an axis that come before and after it."""
    return {
        "edge": [run(0, 0, before), run(size - 1, 0, after)],
        "wrap": [run(size - before, 1, before), run(0, 1, after)],
        "reflect": [run(before, -1, before), run(size - 2, -1, after)],
        "symmetric": [run(before - 1, -1, before), run(size - 1, -1, after)],
    }


def _places(part: Node, x: Node, axis: int) -> Run | None:
    """The elements along an axis of ``x`` that a part of it consists of, in order."""
    if part is x:
        return run(0, 1, x.shape[axis])
    if part.opcode == "broadcast_to":
        return _of_one(part, x, axis)
    if part.opcode != "getitem" or len(part.operands) != 1:
        return None
    (inner,) = part.operands
    within, item = _places(inner, x, axis), _only_item(part, axis)
    return within.cut(slice(*item)) if within is not None and isinstance(item, tuple) else None


def _of_one(part: Node, x: Node, axis: int) -> Run | None:
    """One element, repeated along the axis."""
    (inner,) = part.operands
    others = [sizes[:axis] + sizes[axis + 1 :] for sizes in (part.shape, x.shape)]
    if inner.opcode != "getitem" or inner.operands != (x,) or others[0] != others[1]:
        return None
    item = _only_item(inner, axis)
    places = run(item % x.shape[axis], 0, 1) if isinstance(item, int) and axis == 0 else None
    if isinstance(item, tuple):
        places = run(0, 1, x.shape[axis]).cut(slice(*item))
    return run(places.start, 0, part.shape[axis]) if places is not None and places.length == 1 else None


def _only_item(node: Node, axis: int) -> Any:
    """The index item for one axis, if the index selects all of the others."""
    index, ndim = node.parameters["index"], node.operands[0].ndim
    whole = (*index, *(FULL,) * (ndim - len(index)))
    if len(whole) != ndim or any(item != FULL for k, item in enumerate(whole) if k != axis):
        return None
    return whole[axis]


def _call(graph: Graph, x: Node, node: Node, widths: Widths, mode: str) -> Node:
    """The call; widths that are the same on all sides are written as one number."""
    given: Any = widths[0] if len(set(widths)) == 1 else widths
    if len(set(widths)) == 1 and widths[0][0] == widths[0][1]:
        given = widths[0][0]
    return called(graph, "np.pad", (x,), node, given, mode=mode)


def _all_widths(node: Node) -> Widths:
    given = node.parameters["arguments"][1]
    pair: Any = (given, given) if isinstance(given, int) else given
    widths: Widths = pair if isinstance(pair[0], tuple) else (pair,) * node.ndim
    return widths


def _together(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Pads of several axes become one: NumPy, too, pads one axis after the other."""
    inner = found["inner"]
    mode = node.parameters["keywords"].get("mode")
    if mode is None or inner.parameters["keywords"].get("mode") != mode:
        return None
    both = list(zip(_all_widths(inner), _all_widths(node), strict=True))
    if any(any(first) and any(second) for first, second in both):
        return None
    widths = tuple(first if any(first) else second for first, second in both)
    return _call(graph, inner.operands[0], node, widths, mode)


RULES = (Rule("concatenate(low, x, high)", _padded),)
TOGETHER = (Rule("np.pad((inner := np.pad(x)))", _together, once=("inner",)),)

paddings = rule_pass(__name__, "Raise arrays with borders made of their own elements.", RULES, TOGETHER)
