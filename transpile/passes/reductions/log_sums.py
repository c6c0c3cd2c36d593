"""Cumulative log-sum-exp, ``jax.lax.cumlogsumexp``, as ``np.logaddexp.accumulate``.

NumPy adds elements one after the other, so float64 is used: in float32 those after the first million would change
nothing, where XLA adds sums of similar size.
"""

from __future__ import annotations

from math import inf

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import FULL, getitem
from ...hlo.element_types import F64
from ..activation_functions.softplus import LOGADDEXP
from ..rewriting.patterns import is_number, pattern
from ..rewriting.rules import is_full_float
from .stretches import called_name

_STEPS = (LOGADDEXP.give, LOGADDEXP.match)  # raised, or not supported by the target


def log_sums(function: Function, supports: Support) -> None:
    """Raise cumulative combinations by ``logaddexp`` to the ufunc's ``accumulate``."""
    rewrite(function, ("prelude",), lambda node: _accumulated(function.graph, node), supports)


def _accumulated(graph: Graph, node: Node) -> Node | None:
    if called_name(node) != "cumulative" or node.element_type is None or not is_full_float(node.element_type):
        return None
    x, init = node.operands
    combine, keywords = node.parameters["arguments"][-1], node.parameters["keywords"]
    if not (is_number(init, -inf) and _adds_exponentials(combine)):
        return None
    axis = keywords.get("axis", 0)
    flip = [(None, None, -1) if keywords.get("reverse") and k == axis else FULL for k in range(x.ndim)]
    made = graph.add("cumlogaddexp", (getitem(graph, x, flip),), element_type=F64, axis=axis)
    made = getitem(graph, made, flip)
    return made if node.type is F64 else graph.add("convert", (made,), element_type=node.type)


def _adds_exponentials(combine: object) -> bool:
    """Return whether a function of two numbers is ``logaddexp``."""
    if not isinstance(combine, Function) or not isinstance(combine.results, Node):
        return False
    matches = (pattern(step).match(combine.results) for step in _STEPS)
    return any(found is not None and {found["x"], found["y"]} == {*combine.parameters} for found in matches)
