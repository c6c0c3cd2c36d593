"""Fourier transforms take real numbers, and add the zeros at the end, themselves: ``np.fft.fft(x)`` in place of
``np.fft.fft(x.astype(np.complex64))``, and ``np.fft.rfft(x, 31)`` of what ``np.pad(x, (0, 15))`` makes longer.

Not where loops are compiled, whose own transform takes complex numbers and the whole line, nor where arrays may be cut
into chunks.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.support import Support
from ...hlo.element_types import C64, C128, F32, F64
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, apply_rules

_COMPLEX = {F32: C64, F64: C128}


def _of_real(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x = found["x"]
    return _again(graph, node, x) if _COMPLEX.get(x.type) is found["converted"].type else None


def _of_padded(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x, widths, rank = found["x"], found["padded"].parameters["widths"], len(node.parameters["lengths"])
    if literal_value(found["ZERO"]) or 0 in x.shape or any(low for low, _ in widths):
        return None
    before, transformed = widths[:-rank], widths[-rank:]
    if any(high for _, high in before) or min(high for _, high in transformed) < 0:
        return None
    return _again(graph, node, x)


def _of_padded_and_converted(graph: Graph, node: Node, found: Bindings) -> Node | None:
    converted = graph.add("convert", (found["x"],), element_type=node.operands[0].type)
    return _of_padded(graph, node, {**found, "x": converted})


def _again(graph: Graph, node: Node, x: Node) -> Node:
    parameters = dict(node.parameters)
    lengths, own_shape = parameters["lengths"], x.shape[-len(parameters["lengths"]) :]
    parameters["own_length"] = parameters["own_length"] and own_shape == tuple(lengths)
    return graph.add("fft", (x,), **parameters)


RULES = (
    Rule("fft((padded := pad(x, ZERO)))", _of_padded, once=("padded",)),
    Rule(
        "fft((converted := convert((padded := pad(x, ZERO)))))", _of_padded_and_converted, once=("converted", "padded")
    ),
    Rule("fft((converted := convert(x)))", _of_real, once=("converted",)),
)


def transforms(function: Function, supports: Support) -> None:
    """Leave the zeros at the end, and the conversion of real numbers, to the transform."""
    features = supports.features
    if features.sizes_are_fixed and features.arrays_fit_memory and not supports.has_kernels:
        apply_rules(function, RULES, supports)
