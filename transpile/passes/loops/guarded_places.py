"""Updates of one element, or of one row, at a place that may be out of bounds: a statement behind a test, which changes
the array where it is.

``if -9 <= i < 9: x[i] = value`` stands for a call that copies the array, and for the index ``i + 9 if i < 0 else i``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...array.graph import Graph
from ...array.in_place import is_own_array
from ...array.node import Node, Slot, Ufunc
from ...array.program import Function
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ...array.value import FULL, permute
from ..indexing.counted_places import as_python_int
from ..indexing.wrapped_indices import WRAPPED, is_of_axis, wrapped_counter
from ..rewriting.patterns import pattern
from .own_arrays import own_arrays


def guarded_places(function: Function, supports: Support) -> None:
    """Replace calls of ``scatter_at`` with numbers as indices, and indices that count from the end."""
    features = supports.features
    if not (features.arrays_are_mutable and features.elements_are_numbers):
        return
    rewrite(function, ("prelude",), partial(_guarded, function.graph), supports)
    rewrite(function, ("transpose",), partial(_as_it_was, function.graph), supports)
    own_arrays(function, supports)


def _guarded(graph: Graph, node: Node) -> Node | None:
    """Return the update of an array at a place that is given by numbers, or None."""
    if node.parameters["function"] != "scatter_at":
        return None
    array, where, value, *combine = node.parameters["arguments"]
    slots = where if isinstance(where, tuple) else (where,)
    is_plain = array == Slot(0) and value == Slot(1) and not (combine and not isinstance(combine[0], Ufunc))
    if not is_plain or not all(isinstance(slot, Slot) for slot in slots):
        return None
    if any(node.operands[slot.index].ndim for slot in slots):
        return _from_end(graph, node, [slot.index for slot in slots])
    x, new = node.operands[:2]
    if not (node.region.is_in_loop or is_own_array(x)) or x.shape != node.shape:
        return None
    if x.opcode == "transpose":  # also of what is turned back behind another update
        x = permute(graph, x.operands[0], x.parameters["axes"])
    order = x.parameters["axes"] if x.opcode == "transpose" else tuple(range(x.ndim))
    changed = x.operands[0] if x.opcode == "transpose" else x
    axes = {order[k]: slot for k, slot in enumerate(slots)}
    given = [(_counted(graph, node, axes[axis]), size) for axis, size in enumerate(changed.shape) if axis in axes]
    places = [_uncounted(*each) for each in given]
    numbers = iter(range(2, 2 + len(places)))
    index = [Slot(next(numbers)) if axis in axes else FULL for axis in range(max(axes) + 1)]
    ufunc = combine[0] if combine else None
    from_end = tuple(place is not number for place, (number, _) in zip(places, given, strict=True))
    made = graph.add("scatter", (changed, new, *places), index=tuple(index), ufunc=ufunc, from_end=from_end)
    return permute(graph, made, order)


def _counted(graph: Graph, node: Node, slot: Slot) -> Node:
    """Return an index, as a Python int if it is made of counters."""
    index = node.operands[slot.index]
    return as_python_int(graph, index) or index


def _from_end(graph: Graph, node: Node, places: Sequence[int]) -> Node | None:
    """Return the same scatter of elements at indices that count from the end where they are negative, or None."""
    if len(places) < node.ndim:
        return None  # rows are combined in rounds, by places that do not
    operands = list(node.operands)
    for size, place in zip(node.shape, places, strict=False):
        index = node.operands[place]
        inner = index.operands[0] if index.opcode == "expand" else index
        if (uncounted := _uncounted(inner, size)) is not inner:
            operands[place] = uncounted if inner is index else with_operands(graph, index, (uncounted,))
        if operands[place] is node.operands[place] and not _is_positive(operands[place]):
            return None
    if tuple(operands) == node.operands:
        return None
    return with_operands(graph, node, tuple(operands), function="put_at")


def _is_positive(node: Node) -> bool:
    return node.interval is not None and node.interval[0] >= 0


def _uncounted(place: Node, size: int) -> Node:
    """Return the number that may count from the end of an axis: ``i`` for ``i + size if i < 0 else i``."""
    counted = wrapped_counter(place)
    if counted is not None:
        return counted[0] if counted[1] == size else place
    found = None if place.is_python_int else pattern(WRAPPED).match(place)
    return found["i"] if found is not None and is_of_axis(found, size) else place


def _as_it_was(graph: Graph, node: Node) -> Node | None:
    """Return the transpose of a transpose of an updated array as one, or none."""
    (inner,) = node.operands
    is_of_change = inner.opcode == "transpose" and inner.operands[0].opcode == "scatter"
    return permute(graph, inner, node.parameters["axes"]) if is_of_change else None
