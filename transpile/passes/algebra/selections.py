"""Selections by masks, instead of by the index of the first (or the last) mask that holds.

``jnp.select`` takes the first, by the ``argmax`` of all masks after one that never holds; ``jnp.piecewise`` the last,
by the ``argmax`` of the running count of masks that hold.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.support import Support
from ...hlo.element_types import PRED
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import Rule, apply_rules

_CHOICES = (
    "select(compare((number := argmax(held, axis=axis)), AT, direction='LT'), below, above)",
    "select(compare((number := convert(argmax(held, axis=axis))), AT, direction='LT'), below, above)",
)
_HELD_SO_FAR = pattern("cumsum(convert(masks), axis=axis)")


def _masks(held: Node, axis: int) -> list[Node] | None:
    """The masks that are stacked along an axis after one that never holds, or None."""
    if held.element_type is not PRED or held.opcode not in ("stack", "concatenate"):
        return None
    first, *masks = held.operands
    if held.opcode == "concatenate" and len(masks) == first.shape[axis] == 1:
        (held,) = masks
        masks = list(held.operands)
    never_holds = first.opcode == "zeros" or (first.is_literal and not literal_value(first).any())
    return masks if never_holds and held.opcode == "stack" and held.parameters["axis"] == axis else None


def _leaves(node: Node, number: Node, first: int, end: int, steps: list[Node]) -> list[Node] | None:
    """The values selected for each number in ``range(first, end)``, or None; the selections on the way are appended to
    ``steps``. A value may be repeated for adjacent numbers.
    """
    found = next(filter(None, (pattern(choice).match(node) for choice in _CHOICES)), None) if end - first > 1 else None
    if found is None or found["number"] is not number:
        return [node] * (end - first)
    at = int(literal_value(found["AT"]))
    if not first < at < end:
        return None
    steps.append(node)
    below = _leaves(found["below"], number, first, at, steps)
    above = _leaves(found["above"], number, at, end, steps)
    return None if below is None or above is None else below + above


def _rules(live: LiveNodes) -> tuple[Rule, ...]:
    def selection(graph: Graph, node: Node, found: Bindings) -> Node | None:
        number, held, axis = found["number"], found["held"], found["axis"]
        so_far = _HELD_SO_FAR.match(held)
        is_last = so_far is not None and so_far["axis"] == axis and held.type.is_integral and held.type.bits >= 32
        masks = _masks(so_far["masks"] if so_far is not None and is_last else held, axis)
        if masks is None:
            return None
        steps: list[Node] = []
        values = _leaves(node, number, 0, len(masks) + 1, steps)
        is_whole = live.count(number) == len(steps)
        if values is None or not is_whole or any(live.count(step) > 1 for step in steps[1:]):
            return None
        chosen, *values = values
        cases = list(zip(masks, values, strict=True))
        for mask, value in cases if is_last else reversed(cases):
            chosen = graph.add("select", (mask, value, chosen))
        return chosen

    return tuple(Rule(choice, selection) for choice in _CHOICES)


def selections(function: Function, supports: Support) -> None:
    """Raise selections by the index of a mask to selections by the masks."""
    apply_rules(function, _rules(live_nodes(function)), supports)
