"""``np.convolve`` and ``np.correlate``: convolutions with one batch, one channel and one spatial axis."""

from __future__ import annotations

from functools import partial

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ...array.value import FULL, NEW
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
    if node.ndim != 1 or not keywords.keys() <= _KEYWORDS or len(convolved.shape) != 3:
        return None
    layout = keywords.get("layout", "NaC,aIO->NaC").replace("->", ",")
    inputs, kernel, outputs = layout.split(",")
    x, y = (_line(operand, _spatial(axes)) for operand, axes in zip(convolved.operands, (inputs, kernel), strict=True))
    taken = found["index"]
    if x is None or y is None or x[1] or [k for k, item in enumerate(taken) if item == FULL] != [_spatial(outputs)]:
        return None
    (signal, _), (weights, is_reversed) = x, y
    (padding,) = keywords.get("padding", ((0, 0),))
    mode = _mode(tuple(padding), *signal.shape, *weights.shape)
    name, usual = ("np.convolve", "full") if is_reversed else ("np.correlate", "valid")
    if mode is None:
        return None
    parts = (signal, weights)
    if is_reversed and not sizes_are_fixed:
        parts = (min(parts, key=_order), max(parts, key=_order))
    return called(graph, name, parts, node, **({} if mode == usual else {"mode": mode}))


def _order(node: Node) -> int:
    return node.number


def _spatial(axes: str) -> int:
    """Return the position of the axis that is neither batch nor channel."""
    return next(k for k, letter in enumerate(axes) if letter not in "NCIO")


def _line(operand: Node, axis: int) -> tuple[Node, bool] | None:
    """Return (the one-dimensional array to which unit axes were added, whether it is reversed), or None."""
    if operand.opcode not in ("expand", "getitem") or len(operand.operands) != 1 or operand.operands[0].ndim != 1:
        return None
    index = operand.parameters["index"]
    others = [item for k, item in enumerate(index) if k != axis]
    if len(index) != 3 or any(item is not NEW for item in others) or index[axis] not in (FULL, _BACKWARDS):
        return None
    return operand.operands[0], index[axis] == _BACKWARDS


def _mode(padding: tuple[int, int], length: int, window: int) -> str | None:
    """Return NumPy's name for the padding, with the longer array first; or None."""
    if not length >= window > 0:
        return None
    modes = {(window - 1, window - 1): "full", (window // 2, window - window // 2 - 1): "same", (0, 0): "valid"}
    return modes.get(padding)


def _rule(make: Make) -> Rule:
    return FloatRule("getitem((convolved := prelude.convolution(x, y)), index=index)", make)


_OF_ANY, _OF_FIXED = (_rule(partial(_convolution, sizes_are_fixed=fixed)) for fixed in (False, True))


def convolutions(function: Function, supports: Support) -> None:
    """Raise convolutions and correlations of vectors."""
    apply_rules(function, (_OF_FIXED if supports.features.sizes_are_fixed else _OF_ANY,), supports)
