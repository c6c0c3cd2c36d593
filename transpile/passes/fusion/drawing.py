"""Random draws in kernels: the random bits of an element, and the number made from them."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, Slot
from ...hlo.element_types import F32, U32
from ...kernels.index_maps import Offset
from ...kernels.operations import Draw

_SPREAD = 1.4142135  # the square root of 2, the factor of the inverse error function of uniform numbers


def drawn(graph: Graph, loop: tuple[int, ...], draw: Draw, key: Node, at: Offset) -> Node:
    """The value of a draw at an element of its array: ``key`` is the parameter with the two key words.

    Source: ``random_normal`` and ``random_uniform`` of the prelude.
    """
    bits = graph.typed("draw", (key,), loop, U32, at=at)
    if draw.limits is None:
        return bits
    limits = (graph.literal(limit, F32) for limit in draw.limits)
    uniform = _called(graph, "uniform_of", (bits, *limits), loop)
    if not draw.is_normal:
        return uniform
    inverse = _called(graph, "erf_inv", (uniform,), loop)
    return graph.typed("multiply", (inverse, graph.literal(_SPREAD, F32)), loop, F32)


def _called(graph: Graph, function: str, operands: tuple[Node, ...], loop: tuple[int, ...]) -> Node:
    slots = tuple(map(Slot, range(len(operands))))
    return graph.typed("prelude", operands, loop, F32, function=function, arguments=slots, keywords={})
