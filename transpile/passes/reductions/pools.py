"""Pools of few elements as combinations of strided slices: ``np.maximum(x[:, ::2], x[:, 1::2])`` for ``x.reshape(16,
56, 2, 64).max(axis=2)``.

NumPy reduces many short lines several times slower than it combines arrays, up to 30 times along the last axis.
"""

from __future__ import annotations

from functools import reduce
from math import prod

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.support import Support
from ...array.value import FULL, getitem
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, apply_rules
from .sums import cuts

_COMBINE = {"max": "maximum", "min": "minimum"}
_MOST_SLICES = 4  # along an axis
_FEWEST_ELEMENTS = 1 << 12  # elements from which on several calls pay


def _of_slices(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the combination of slices along each axis whose short pieces are reduced, or None."""
    x, pieces = found["x"], found["pieces"]
    result = x
    for axis, run in cuts(x.shape, pieces.shape) or ():
        sizes = [pieces.shape[piece] for piece in run]
        gone = [piece in found["axes"] for piece in run]
        if gone == [False]:
            continue
        if gone != [False, True] or sizes[0] == 1 or sizes[1] > _MOST_SLICES:
            return None
        slices = [_slice(graph, result, axis, first, sizes[1]) for first in range(sizes[1])]
        result = reduce(lambda one, other: graph.add(_COMBINE[node.opcode], (one, other)), slices)
    return result if prod(x.shape) >= _FEWEST_ELEMENTS and result.shape == node.shape else None


def _slice(graph: Graph, x: Node, axis: int, first: int, step: int) -> Node:
    return getitem(graph, x, [(first or None, None, step) if k == axis else FULL for k in range(x.ndim)])


RULES = tuple(Rule(f"{name}((pieces := reshape(x)), axes=axes)", _of_slices, once=("pieces",)) for name in _COMBINE)


def pools(function: Function, supports: Support) -> None:
    """Lower reductions of short pieces of axes to combinations of strided slices."""
    if supports.features.slices_are_fast and supports.features.sizes_are_fixed:
        apply_rules(function, RULES, supports)
