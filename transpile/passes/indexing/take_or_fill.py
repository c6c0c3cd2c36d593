"""JAX's ``mode="fill"``: gathers by indices that may be negative, with NaN for indices out of range.

``jnp.take`` and ``jnp.take_along_axis`` wrap the index, clamp it, take, and select by whether it had to be clamped.
"""

from __future__ import annotations

import numpy as np

from ...array.graph import Graph
from ...array.node import Node, Slot, literal_value
from ...array.rewriting import prelude_call
from ...hlo.literal_values import nan_sign
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import Rule, rule_pass
from .wrapped_indices import WRAPPED, is_of_axis

_INSIDE = f"and_(compare({WRAPPED}, 0, direction='GE'), compare(wrapped, LAST, direction='LE'))"
_CLAMPED = pattern("clamp(0, wrapped, LAST)")


def _take(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return ``take_or_fill`` for whole slices along one axis; the test is expanded to their shape."""
    taken, index, test = found["taken"], found["i"], node.operands[0]
    x, axis = taken.operands[0], taken.parameters["axis"]
    wide = index.shape + (1,) * (x.ndim - axis - 1)
    if taken.operands[1] is not found["wrapped"] or test.shape != wide or not is_of_axis(found, x.shape[axis]):
        return None
    keywords = {"axis": axis} if x.ndim > 1 else {}
    return _call(graph, node, found, "take_or_fill", (x, index), (Slot(0), Slot(1)), keywords)


def _single(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return ``get_or_fill`` for single elements; one index is tested, the others are iotas."""
    taken, wrapped = found["taken"], found["wrapped"]
    x, *indices = taken.operands
    if len(indices) != x.ndim or taken.parameters["index"] != tuple(Slot(k + 1) for k in range(x.ndim)):
        return None
    tested = []
    for axis, index in enumerate(indices):
        clamped = _CLAMPED.match(index)
        if index is wrapped:  # an index that is trusted
            tested.append(axis)
        elif clamped is not None and clamped["wrapped"] is wrapped:
            if clamped["LAST"] is not found["LAST"] or not is_of_axis(found, x.shape[axis]):
                return None
            tested.append(axis)
        elif not _counts_up(index, x.shape[axis]):
            return None
    if len(tested) != 1:
        return None
    given = tuple(found["i"] if axis in tested else index for axis, index in enumerate(indices))
    where = tuple(Slot(k + 1) for k in range(x.ndim))
    return _call(graph, node, found, "get_or_fill", (x, *given), (Slot(0), where), {})


def _counts_up(index: Node, size: int) -> bool:
    interval = index.interval
    return (
        (index.operation.is_generated or index.operation.is_view)
        and interval is not None
        and interval[0] >= 0
        and interval[1] < size
    )


def _call(
    graph: Graph,
    node: Node,
    found: Bindings,
    function: str,
    operands: tuple[Node, ...],
    arguments: tuple[object, ...],
    keywords: dict[str, object],
) -> Node | None:
    """Return the call, with the fill value if it is not NaN; or None."""
    filling = literal_value(found["FILL"])
    if node.type.is_complex or filling.ndim:
        return None
    if not node.type.is_floating:
        keywords = {**keywords, "fill": int(filling)}
    elif not np.isnan(filling) or nan_sign(filling):
        return None
    return prelude_call(graph, function, operands, arguments, keywords)


def _raised(graph: Graph, node: Node, found: Bindings) -> Node | None:
    taken = found["taken"]
    if taken.opcode == "take":
        return _take(graph, node, found)
    return _single(graph, node, found) if taken.opcode == "advanced_index" else None


RULES = tuple(
    Rule(f"select({test}, taken, FILL)", _raised, once=("taken",)) for test in (_INSIDE, f"expand({_INSIDE})")
)

take_or_fill = rule_pass(__name__, "Raise them to ``take_or_fill`` and ``get_or_fill``.", RULES)
