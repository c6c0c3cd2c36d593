"""``x[::2].sum()`` for ``np.where(np.arange(8) % 2 == 0, x, 0).sum()``: a constant mask with even spacing is a
slice.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import FULL, getitem
from ..constants.interpreter import known_value
from ..shapes.ranges import slice_of
from ..to_array.reduction import is_identity

_LONGEST = 2**20  # elements of a mask


def strides(function: Function, supports: Support) -> None:
    """Reduce only the elements along the last axis that a constant mask selects."""
    if supports.features.sizes_are_fixed:
        made = partial(_of_slice, function.graph, live_nodes(function))
        rewrite(function, ("sum", "prod", "max", "min"), made, supports)


def _of_slice(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    (chosen,) = node.operands
    if chosen.opcode != "select" or live.count(chosen) != 1 or chosen.ndim - 1 not in node.parameters["axes"]:
        return None
    mask, x, other = chosen.operands
    if mask.ndim != 1 or x.shape != chosen.shape or mask.shape[0] > _LONGEST:
        return None
    known = known_value(mask)
    row = _row(np.flatnonzero(known)) if known is not None else None
    if row is None or not is_identity(other, node.operation.folds):
        return None
    part = getitem(graph, x, (*(FULL,) * (x.ndim - 1), slice_of(row, x.shape[-1])))
    return graph.add(node.opcode, (part,), interval=node.interval, **node.parameters)


def _row(places: np.ndarray) -> range | None:
    """Return the positions as a range, or None if they are not evenly spaced."""
    steps = set(np.diff(places).tolist())
    return range(places[0], places[-1] + 1, steps.pop()) if len(steps) == 1 else None
