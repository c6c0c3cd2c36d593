"""``np.repeat`` and ``np.tile``: axes that were inserted, broadcast and merged with an adjacent one."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ...array.value import FULL, NEW
from ..reductions.sums import cuts
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, apply_rules


def _with_unit_axes(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return a call for a reshape that also inserts axes of one element: ``np.repeat(x, 2)[:, None]``."""
    plain = graph.add("reshape", (found["wide"],), shape=tuple(size for size in node.shape if size != 1))
    made = None if plain.shape == node.shape or plain.opcode != "reshape" else _repeated(graph, plain, found)
    if made is None:
        return None
    return graph.add("expand", (made,), index=tuple(NEW if size == 1 else FULL for size in node.shape))


def _repeated(graph: Graph, node: Node, found: Bindings) -> Node | None:
    wide, inner = found["wide"], found["inner"]
    x = inner.operands[0] if inner.opcode == "expand" else inner
    own = _own_axes(inner, wide)
    runs = cuts(node.shape, wide.shape)
    if own is None or runs is None or x.ndim != node.ndim or 0 in node.shape:
        return None
    before: list[int] = []  # by axis, how often it is repeated as a whole, and how often each element
    after: list[int] = []
    for axis, (_, run) in enumerate(runs):
        places = [k for k, piece in enumerate(run) if own[piece] == axis]
        if len(places) != 1 or any(own[piece] not in (axis, None) for piece in run) or len(run) > 2:
            return None
        if wide.shape[run[places[0]]] != x.shape[axis]:
            return None
        repeats = [wide.shape[piece] for piece in run if own[piece] is None]
        before += repeats if repeats and places[0] else [1]
        after += repeats if repeats and not places[0] else [1]
    if after == [1] * x.ndim and before != after:
        return called(graph, "np.tile", (x,), node, before[0] if x.ndim == 1 else tuple(before))
    changed = [axis for axis, count in enumerate(after) if count != 1]
    if before != [1] * x.ndim or len(changed) != 1:
        return None
    (axis,) = changed
    return _repeat(graph, node, x, after[axis], axis)


def _own_axes(inner: Node, wide: Node) -> list[int | None] | None:
    """For each axis of a broadcast array, the corresponding axis of the operand that was expanded; None where it was
    inserted.
    """
    index = inner.parameters["index"] if inner.opcode == "expand" else (":",) * inner.ndim
    own: list[int | None] = [None] * (wide.ndim - inner.ndim)
    axis = 0
    for item in index:
        own.append(None if item is NEW else axis)
        axis += item is not NEW
    return own if len(own) == wide.ndim else None


def _repeated_by_position(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x, positions, count = found["x"], found["positions"], int(literal_value(found["NUMBER"]))
    axis = node.parameters["axis"]
    is_whole = positions.opcode == "arange" and positions.shape == (x.shape[axis] * count,)
    counts = positions.parameters.get("start", 0) == 0 and positions.parameters.get("step", 1) == 1
    if not is_whole or not counts or count < 2:
        return None
    return _repeat(graph, node, x, count, axis)


def _repeat(graph: Graph, node: Node, x: Node, count: int, axis: int) -> Node:
    """The call of ``np.repeat`` that replaces a node."""
    keywords = {"axis": -1 if axis == x.ndim - 1 else axis} if x.ndim > 1 else {}
    return called(graph, "np.repeat", (x,), node, count, **keywords)


def tilings(function: Function, supports: Support) -> None:
    """Raise them, where nothing else reads the array before its axes are merged."""
    live = live_nodes(function)

    def made(graph: Graph, node: Node, found: Bindings) -> Node | None:
        if any(user.opcode != "reshape" for user in live.users(found["wide"])):
            return None
        return _repeated(graph, node, found) or _with_unit_axes(graph, node, found)

    apply_rules(function, (Rule("reshape((wide := broadcast_to(inner)))", made),), supports)


_REPEATED = (Rule("take(x, divide(positions, NUMBER))", _repeated_by_position),)


def repeated_positions(function: Function, supports: Support) -> None:
    """Raise takes at ``arange(n) // count`` to ``np.repeat``, as in enlarging images."""
    apply_rules(function, _REPEATED, supports)
