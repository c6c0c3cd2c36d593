"""``image_filter``: convolutions of single-channel images with one kernel of several rows."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, rule_pass

_KEYWORDS = frozenset(("padding", "kernel_dilation", "layout"))
_FEWEST = 4  # rows of a kernel from which on matrix products are faster than sums


def _filter(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x, kernel = node.operands
    keywords = dict(node.parameters["keywords"])
    if not keywords.keys() <= _KEYWORDS or node.ndim < 4:
        return None
    spatial = "HWDEFG"[: node.ndim - 2]
    first = keywords.pop("layout", "")
    if first and first not in (f"NC{spatial},{order}{spatial}->NC{spatial}" for order in ("OI", "IO")):
        return None
    channel, window = (1, kernel.shape[2:]) if first else (-1, kernel.shape[:-2])
    steps = keywords.get("kernel_dilation", (1,))
    reach = (window[0] - 1) * steps[0] + 1
    height = node.shape[2 if first else 1]
    if not x.shape[channel] == node.shape[channel] == 1 or window[0] < _FEWEST or height < reach or 0 in node.shape:
        return None
    if first:
        keywords["channels_first"] = True
    return called(graph, "image_filter", (x, kernel), node, **keywords)


RULES = (FloatRule("prelude.convolution(x, y)", _filter),)

filters = rule_pass(__name__, "Raise them.", RULES)
