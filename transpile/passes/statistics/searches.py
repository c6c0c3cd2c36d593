"""Where values belong in a sorted array: the loop that ``jnp.searchsorted`` halves the array in, as one call.

The call does as the loop does, so that it gives the same on arrays that are not sorted, for which ``np.searchsorted``
promises nothing.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, Slot, literal_value
from ...array.program import Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import is_inside
from ...hlo.element_types import U32
from ..matching import Bindings, pattern
from ..rules import Rule, apply_rules

_SIDES = {"LE": "left", "LT": "right"}
_MIDDLES = ("add(low, divide(subtract(high, low), 2))", "add(low, shift_right_logical(subtract(high, low), 1))")
_LOW = "select((goes_left := compare(wanted, there)), low, middle)"
_HIGH = "select(goes_left, middle, high)"
_ELEMENTS = ("take(table, place)", "getitem(table, clamp(0, place, LAST))", "getitem(table, place)")
_KEY = 'prelude.total_order_key(select(isnan(x), nan, select(compare(x, 0, direction="EQ"), 0, x)))'


def _key(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the total order key of floats, which XLA's optimiser writes out again."""
    x, bits = found["x"], node.type.bits
    if not x.type.is_floating or int(literal_value(found["MOST"])) != 2 ** (bits - 1) - 1:
        return None
    return graph.add(
        "prelude",
        (x,),
        function="total_order_key",
        arguments=(Slot(0),),
        keywords={},
    )


RULES = (Rule('select(compare((b := view(x)), 0, direction="LT"), xor(b, MOST), b)', _key),)


def searches(function: Function, supports: Support) -> None:
    """Raise keys that order floats, then the loops that search by them."""
    apply_rules(function, RULES, supports)
    graph = function.graph

    def rule(node: Node) -> Node | None:
        if node.opcode != "item" or node.operands[0].opcode != "loop" or node.parameters["index"] != 1:
            return None
        loop: Loop = node.operands[0].parameters["loop"]
        found = _search(loop, supports.features.indices_are_trusted)
        if found is None:
            return None
        table, values, side = found
        return graph.add(
            "prelude",
            (graph.current(table), graph.current(values)),
            interval=(0, table.shape[0]),
            function="search_sorted",
            arguments=(Slot(0), Slot(1)),
            keywords={"side": side} if side != "left" else {},
        )

    rewrite(function, ("item",), rule, supports)


def _search(loop: Loop, is_trusted: bool) -> tuple[Node, Node, str] | None:
    """(array, values, side) of a loop that halves what is left of the array; places are clamped, or trusted."""
    if len(loop.carries) != 2 or loop.stores or loop.effect is not None or loop.counter is None:
        return None
    low, high = loop.carries
    if low.following is None or high.following is None:
        return None
    bound = pattern(_LOW).match(low.following)
    other = pattern(_HIGH).match(high.following)
    if bound is None or other is None or any(bound[name] is not other[name] for name in ("goes_left", "middle")):
        return None
    middle, there, compared = bound["middle"], bound["there"], bound["goes_left"]
    halves = next((found for text in _MIDDLES if (found := pattern(text).match(middle)) is not None), None)
    exact = (
        halves is not None
        and {id(halves["low"]), id(bound["low"])} == {id(low.parameter)}
        and {id(halves["high"]), id(other["high"])} == {id(high.parameter)}
        and low.parameter.type is U32
    )
    wanted = bound["wanted"]
    keys = [pattern(_KEY).match(each) for each in (there, wanted)]
    if all(key is not None for key in keys):
        there, wanted = (key["x"] for key in keys if key is not None)
    elif any(key is not None for key in keys) or not wanted.type.is_integral:
        return None
    element = next((found for text in _ELEMENTS if (found := pattern(text).match(there)) is not None), None)
    side = _SIDES.get(compared.parameters["direction"])
    if not exact or element is None or element["place"] is not middle or side is None:
        return None
    table: Node = element["table"]
    size = table.shape[0] if table.ndim == 1 else 0
    ends = (_all(low.initial), _all(high.initial)) == (0, size)
    outside = not any(is_inside(node.region, loop.region) for node in (table, wanted))
    clamped = is_trusted or there.opcode != "take" or there.parameters["clamped"]
    if "LAST" in element and int(literal_value(element["LAST"])) != size - 1:
        return None
    counted = (loop.start, loop.stop, loop.step) == (0, size.bit_length(), 1)
    return (table, wanted, side) if size and ends and outside and clamped and counted else None


def _all(node: Node) -> int | None:
    """The integer that all elements are, where they are one."""
    return node.interval[0] if node.interval is not None and node.interval[0] == node.interval[1] else None
