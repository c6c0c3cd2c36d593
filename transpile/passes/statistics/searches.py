"""``jnp.searchsorted``: its bisection loop as one call, or the calls of a function that does one step of it.

The call bisects as the loop does, so it gives the same on arrays that are not sorted, for which ``np.searchsorted``
guarantees nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from ...array.graph import Graph
from ...array.node import Node, Slot, literal_value
from ...array.program import Function, Loop
from ...array.rewriting import prelude_call, rewrite
from ...array.support import Support
from ...array.traversal import is_inside
from ...hlo.element_types import U32
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import Rule, apply_rules

_SIDES = {"LE": "left", "LT": "right"}
_MIDDLES = ("add(low, divide(subtract(high, low), 2))", "add(low, shift_right_logical(subtract(high, low), 1))")
_LOW = "select((goes_left := compare(wanted, there)), low, middle)"
_HIGH = "select(goes_left, middle, high)"
_ELEMENTS = ("take(table, place)", "getitem(table, clamp(0, place, LAST))", "getitem(table, place)")
_OF_ROWS = (
    "advanced_index(table, expand(arange()), clamp(0, place, LAST))",
    "advanced_index(table, expand(arange()), place)",
)
_KEY = 'prelude.total_order_key(select(isnan(x), nan, select(compare(x, 0, direction="EQ"), 0, x)))'


def _key(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the total order key of floats, which XLA's optimiser writes out; or None."""
    x, bits = found["x"], node.type.bits
    if not x.type.is_floating or int(literal_value(found["MOST"])) != 2 ** (bits - 1) - 1:
        return None
    return prelude_call(graph, "total_order_key", (x,))


RULES = (Rule('select(compare((b := view(x)), 0, direction="LT"), xor(b, MOST), b)', _key),)


def searches(function: Function, supports: Support) -> None:
    """Raise total order keys of floats, then the loops that search by them."""
    apply_rules(function, RULES, supports)
    graph = function.graph

    def rule(node: Node) -> Node | None:
        if node.opcode != "item" or node.parameters["index"] != 1:
            return None
        whole, is_trusted = node.operands[0], supports.features.indices_are_trusted
        if whole.opcode == "loop":
            found = _search(whole.parameters["loop"], is_trusted)
        else:
            found = _unrolled(whole, is_trusted) if whole.opcode == "call" else None
        if found is None:
            return None
        name = "search_sorted" if found.table.ndim == 1 else "search_rows"
        operands = (graph.current(found.table), graph.current(found.wanted))
        side = {"side": found.side} if found.side != "left" else {}
        places = prelude_call(graph, name, operands, keywords=side, interval=(0, found.length))
        is_repeated = places.shape != node.shape  # the bounds have the shape of the result from the first step on
        return graph.add("broadcast_to", (places,), shape=node.shape) if is_repeated else places

    rewrite(function, ("item",), rule, supports)


class _Step(NamedTuple):
    """A bisection step: the table, the wanted value, and the bounds ``low`` and ``high`` of the part where it
    belongs.
    """

    table: Node
    wanted: Node
    side: str
    low: Node
    high: Node

    @property
    def length(self) -> int:
        """The size of the part at the beginning: of a table, or of each row of several."""
        size: int = self.table.shape[-1]
        return size


def _search(loop: Loop, is_trusted: bool) -> _Step | None:
    """Return the step of a loop that bisects a whole array, or None."""
    if len(loop.carries) != 2 or loop.stores or loop.effect is not None or not loop.is_fixed:
        return None
    low, high = loop.carries
    if low.following is None or high.following is None:
        return None
    step = _step(low.following, high.following, is_trusted)
    if step is None or {id(step.low), id(step.high)} != {id(low.parameter), id(high.parameter)}:
        return None
    counted = (loop.start, loop.stop, loop.step) == (0, step.length.bit_length(), 1)
    outside = not any(is_inside(node.region, loop.region) for node in (step.table, step.wanted))
    is_whole = step.low is low.parameter and _is_whole(low.initial, high.initial, step.length)
    return step if counted and outside and is_whole else None


def _unrolled(last: Node, is_trusted: bool) -> _Step | None:
    """Return the step of consecutive calls of a bisection function, ``last`` being the last one; or None."""
    function: Function = last.parameters["function"]
    if len(function.flat_results) != 2 or function.effect is not None:
        return None
    step = _step(*function.flat_results, is_trusted)
    places = {node: place for place, node in enumerate(function.parameters)}
    if step is None or not all(node in places for node in (step.table, step.wanted, step.low, step.high)):
        return None
    call, count, begin = last, 1, (places[step.low], places[step.high])
    while (before := _call_before(call, begin)) is not None:
        call, count = before, count + 1
    table, wanted, low, high = (call.operands[places[node]] for node in (step.table, step.wanted, step.low, step.high))
    is_whole = table.ndim == 1 and count == table.shape[0].bit_length() and _is_whole(low, high, step.length)
    return _Step(table, wanted, step.side, low, high) if is_whole else None


def _call_before(call: Node, begin: tuple[int, int]) -> Node | None:
    """Return the call whose results are two operands of a call (at positions ``begin``), with the same other operands;
    or None.
    """
    items = [call.operands[place] for place in begin]
    before = items[0].operands[0] if items[0].opcode == "item" else call
    if [item.opcode for item in items] != ["item", "item"] or items[1].operands[0] is not before:
        return None
    if before.opcode != "call" or before.parameters["function"] is not call.parameters["function"]:
        return None
    pairs = enumerate(zip(call.operands, before.operands, strict=True))
    is_same = all(own is given for place, (own, given) in pairs if place not in begin)
    return before if is_same and [item.parameters["index"] for item in items] == [0, 1] else None


def _is_whole(low: Node, high: Node, length: int) -> bool:
    """Return whether a search begins with all of an array that is not empty."""
    return length > 0 and (_all(low), _all(high)) == (0, length)


def _step(next_low: Node, next_high: Node, is_trusted: bool) -> _Step | None:
    """Return the bisection step that computes the next bounds, or None. Positions must be clamped, or indices
    trusted.
    """
    bound, other = pattern(_LOW).match(next_low), pattern(_HIGH).match(next_high)
    if bound is None or other is None or any(bound[name] is not other[name] for name in ("goes_left", "middle")):
        return None
    low, high, middle, there, wanted = bound["low"], other["high"], bound["middle"], bound["there"], bound["wanted"]
    halves = next((found for text in _MIDDLES if (found := pattern(text).match(middle)) is not None), None)
    is_half = halves is not None and halves["low"] is low and halves["high"] is high and low.type is U32
    keys = [pattern(_KEY).match(each) for each in (there, wanted)]
    if all(key is not None for key in keys):
        there, wanted = (key["x"] for key in keys if key is not None)
    elif any(key is not None for key in keys) or not wanted.type.is_integral:
        return None
    of_rows = _are_rows(there, wanted)
    elements = _OF_ROWS if of_rows else _ELEMENTS
    element = next((found for text in elements if (found := pattern(text).match(there)) is not None), None)
    side = _SIDES.get(bound["goes_left"].parameters["direction"])
    if not is_half or element is None or element["place"] is not middle or side is None:
        return None
    table: Node = element["table"]
    if table.ndim != 1 + of_rows or ("LAST" in element and int(literal_value(element["LAST"])) != table.shape[-1] - 1):
        return None
    is_clamped = is_trusted or there.opcode != "take" or there.parameters["clamped"]
    return _Step(table, wanted, side, low, high) if is_clamped else None


def _are_rows(there: Node, wanted: Node) -> bool:
    """Return whether elements are one of each row of a table, for each of a row of wanted values."""
    if there.opcode != "advanced_index" or len(there.operands) != 3 or wanted.ndim not in (1, 2):
        return False
    table, rows, _ = there.operands
    is_each = rows.opcode == "expand" and rows.shape == (table.shape[0], 1)
    is_in_order = is_each and rows.operands[0].opcode == "arange"
    return is_in_order and table.ndim == 2 and there.parameters["index"] == (Slot(1), Slot(2))


def _all(node: Node) -> int | None:
    """Return the integer that all elements are, or None."""
    return node.interval[0] if node.interval is not None and node.interval[0] == node.interval[1] else None
