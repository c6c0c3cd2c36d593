"""``np.convolve`` and ``np.correlate``: convolutions with one batch, one channel and one spatial axis. Their gradients
are such convolutions with other borders: ``np.correlate(np.pad(x, (8, 7)), g)``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ...array.value import FULL, NEW, getitem
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Make, Rule, apply_rules

_BACKWARDS = (None, None, -1)
_KEYWORDS = frozenset(("padding", "layout"))


def _convolution(graph: Graph, node: Node, found: Bindings, *, sizes_are_fixed: bool) -> Node | None:
    """Return the call, or None. If sizes are free, either array may be longer, and the order is the same at all
    sizes.
    """
    convolved = found["convolved"]
    keywords = convolved.parameters["keywords"]
    if not keywords.keys() <= _KEYWORDS or len(convolved.shape) != 3:
        return None
    layout = keywords.get("layout", "NaC,aIO->NaC").replace("->", ",")
    inputs, kernel, outputs = layout.split(",")
    x, y = (
        _line(graph, operand, _spatial(axes))
        for operand, axes in zip(convolved.operands, (inputs, kernel), strict=True)
    )
    index = _index(node, found, _spatial(outputs))
    if x is None or y is None or x[1] or index is None:
        return None
    (signal, _), (weights, is_reversed) = x, y
    (padding,) = keywords.get("padding", ((0, 0),))
    mode = _mode(tuple(padding), *signal.shape, *weights.shape)
    name, usual = ("np.convolve", "full") if is_reversed else ("np.correlate", "valid")
    if (
        mode is None
        and sizes_are_fixed
        and min(padding) >= 0
        and signal.shape[0] + sum(padding) >= weights.shape[0] > 0
    ):
        signal = graph.add("pad", (signal, graph.literal(0, signal.type)), widths=(tuple(padding),))
        mode = "valid"
    if mode is None:
        return None
    parts = (signal, weights)
    if is_reversed and not sizes_are_fixed:
        parts = (min(parts, key=_order), max(parts, key=_order))
    made = called(graph, name, parts, node, **({} if mode == usual else {"mode": mode}))
    return getitem(graph, made, index)


def _index(node: Node, found: Bindings, spatial: int) -> list[Any] | None:
    """Return what is read of the vector where a convolution is summed or indexed, whose other axes have one element;
    or None.
    """
    if node.opcode == "sum":
        return [FULL] if {*node.parameters["axes"]} == {0, 1, 2} - {spatial} and node.ndim == 1 else None
    index = [*found["index"], *(FULL,) * (3 - len(found["index"]))]
    if NEW in index or any(isinstance(item, tuple) for k, item in enumerate(index) if k != spatial):
        return None
    return [item if k == spatial else NEW for k, item in enumerate(index) if k == spatial or item == FULL]


def _order(node: Node) -> int:
    return node.number


def _spatial(axes: str) -> int:
    """Return the position of the axis that is neither batch nor channel."""
    return next(k for k, letter in enumerate(axes) if letter not in "NCIO")


def _line(graph: Graph, operand: Node, axis: int) -> tuple[Node, bool] | None:
    """Return (the one-dimensional array to which unit axes were added, whether it is reversed), or None."""
    if operand.opcode not in ("expand", "getitem") or len(operand.operands) != 1 or operand.operands[0].ndim != 1:
        return None
    index = operand.parameters["index"]
    others = [item for k, item in enumerate(index) if k != axis]
    if len(index) != 3 or any(item is not NEW for item in others) or not isinstance(index[axis], str | tuple):
        return None
    is_reversed = index[axis] == _BACKWARDS
    return operand.operands[0] if is_reversed else getitem(graph, operand.operands[0], (index[axis],)), is_reversed


def _mode(padding: tuple[int, int], length: int, window: int) -> str | None:
    """Return NumPy's name for the padding, with the longer array first; or None."""
    if not length >= window > 0:
        return None
    modes = {(window - 1, window - 1): "full", (window // 2, window - window // 2 - 1): "same", (0, 0): "valid"}
    return modes.get(padding)


def _rules(make: Make) -> tuple[Rule, ...]:
    convolved = "(convolved := prelude.convolution(x, y))"
    return FloatRule(f"getitem({convolved}, index=index)", make), FloatRule(f"sum({convolved})", make)


_OF_ANY, _OF_FIXED = (_rules(partial(_convolution, sizes_are_fixed=fixed)) for fixed in (False, True))


def convolutions(function: Function, supports: Support) -> None:
    """Raise convolutions and correlations of vectors."""
    apply_rules(function, _OF_FIXED if supports.features.sizes_are_fixed else _OF_ANY, supports)
