"""``np.concatenate([x[k:], x[:k]])`` is ``np.roll(x, -k)``; two rolls in a row are one along several axes; of a rolled
axis sliced with a step, only the selected elements are rolled, if any need to be.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.support import Support
from ...array.value import FULL, NEW, getitem
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, apply_rules


def _roll(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return a rolled array, or part of one, whose two ends along an axis are joined the other way round."""
    x, tail, head, axis = found["x"], found["tail"], found["head"], node.parameters["axis"]
    order = found.get("order")
    if order is not None and order != found["other"]:
        return None
    if order is not None:
        axis = order[axis]
    moved = [k for k, (one, other) in enumerate(zip(tail, head, strict=False)) if one != other]
    if len(moved) != 1 or len(tail) != len(head):
        return None
    (k,) = moved
    before = [item for item in tail[:k] if not isinstance(item, int)]
    if len(before) != axis or not all(isinstance(index[k], tuple) for index in (tail, head)):
        return None
    size = x.shape[sum(item is not NEW for item in tail[:k])]
    late, early = (range(size)[slice(*index[k])] for index in (tail, head))
    if {late.step, early.step} != {1} or (early.start, early.stop, late.stop) != (0, late.start, size):
        return None
    whole = getitem(graph, x, (*tail[:k], FULL, *tail[k + 1 :]))
    if order is not None:
        whole = graph.add("transpose", (whole,), axes=order)
    if whole.shape != node.shape:
        return None
    are_halves = len(early) > 1 and abs(len(late) - len(early)) <= 1  # for even and odd sizes alike
    shift = len(late) if len(late) < len(early) or are_halves else -len(early)
    return graph.add("roll", (whole,), shift=shift, axis=node.parameters["axis"])


def _along_several(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """One call rolls an array in one pass, whatever the number of axes."""
    shifts = (
        {found["axis"]: found["shift"]}
        if isinstance(found["axis"], int)
        else dict(zip(found["axis"], found["shift"], strict=True))
    )
    axis, shift = node.parameters["axis"], node.parameters["shift"]
    if not isinstance(axis, int) or axis in shifts:
        return None
    axes = tuple(sorted([*shifts, axis]))
    shifts[axis] = shift
    x = found["x"]
    along = tuple(shifts[each] for each in axes)
    return graph.add("roll", (x,), shift=along, axis=axes)


def _every_other(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """``np.roll(x, -3)[::2]`` is ``np.roll(x[1::2], -1)``, and ``np.roll(x, -1)[::2]`` is ``x[1::2]``."""
    x, axis, index = found["x"], found["axis"], found["index"]
    if not isinstance(axis, int) or NEW in index[: axis + 1] or len(index) <= axis or index[axis] == FULL:
        return None
    size = x.shape[axis]
    taken = range(size)[slice(*index[axis])] if isinstance(index[axis], tuple) else range(0)
    if taken.step < 2 or size % taken.step or len(taken) * taken.step != size:
        return None
    turns, first = divmod(taken.start - found["shift"], taken.step)
    part = getitem(graph, x, [*index[:axis], (first or None, None, taken.step), *index[axis + 1 :]])
    turns %= len(taken)
    kept = axis - sum(isinstance(item, int) for item in index[:axis])
    shift = -turns if 2 * turns <= len(taken) else len(taken) - turns
    return graph.add("roll", (part,), shift=shift, axis=kept) if turns else part


_EVERY_OTHER = Rule("getitem((rolled := roll(x, shift=shift, axis=axis)), index=index)", _every_other, once=("rolled",))
RULES = (
    Rule("concatenate(getitem(x, index=tail), getitem(x, index=head))", _roll),
    Rule(
        "concatenate(transpose(getitem(x, index=tail), axes=order), transpose(getitem(x, index=head), axes=other))",
        _roll,
    ),
    Rule("roll(roll(x, shift=shift, axis=axis))", _along_several),
)


def rolls(function: Function, supports: Support) -> None:
    """Raise arrays whose two parts were swapped; strided slices of rolled arrays depend on the size."""
    apply_rules(function, (_EVERY_OTHER, *RULES) if supports.features.sizes_are_fixed else RULES, supports)
