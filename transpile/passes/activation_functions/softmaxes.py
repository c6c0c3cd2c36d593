"""``softmax``, ``log_softmax`` and ``logsumexp``, from the shift by the maximum that keeps them finite.

The prelude's functions do what the expressions did, in the same order: no bit changes, whatever the input.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import prelude_call
from ...array.support import Support
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import FloatRule, Make, apply_rules

_MANY_ELEMENTS = 1 << 17
_SHIFTED = "subtract(x, max(x, axes=axes, keepdims=kept))"
_EXP = f"(exp := exponential({_SHIFTED}))"
_LOG = f"subtract((shifted := {_SHIFTED}), log((total := sum(exponential(shifted), axes=axes, keepdims=kept))))"

# JAX does not shift where the maximum is infinite; the absolute value is for signed sums, which do not occur here.
_FINITE = "(peak := select(is_finite((largest := max(x, axes=axes, keepdims=kept))), largest, 0))"
_SUM = "(total := sum(exponential(subtract(x, {peak})), axes=axes, keepdims=kept))"
_EXPANDED = "(wide := expand(peak))"


def _call(name: str) -> Make:
    def make(graph: Graph, node: Node, found: Bindings) -> Node | None:
        x: Node = found["x"]
        axes, kept = tuple(found["axes"]), bool(found["kept"])
        is_sum = name == "logsumexp"
        if "wide" in found:
            unit = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
            if kept or found["wide"].shape != unit:
                return None
        elif not kept and axes != tuple(range(len(axes))):
            return None
        keywords = _axis(axes, x.ndim, is_sum) | ({"keepdims": True} if kept and is_sum else {})
        return prelude_call(graph, name, (x,), keywords=keywords)

    return make


def _axis(axes: tuple[int, ...], rank: int, is_sum: bool) -> dict[str, int | tuple[int, ...]]:
    """The keyword for the axes: sums default to all axes, the other functions to the last one."""
    if (is_sum and len(axes) == rank) or (not is_sum and axes == (rank - 1,)):
        return {}
    return {"axis": axes if len(axes) != 1 else -1 if axes == (rank - 1,) else axes[0]}


# The gradient of a softmax, as JAX writes it: each element's sum divides twice.
_TOTAL = f"(total := sum({_EXP}, axes=axes, keepdims=kept))"
_TERMS = "sum(multiply(divide(g, multiply(total, total)), exp), axes=axes, keepdims=kept)"
_SLOPE = f"multiply(subtract(divide(g, {_TOTAL}), {_TERMS}), exp)"


def _slope(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the gradient by the softmax ``w``: ``w * (g - (g * w).sum())``. The divisor is at least 1: where the
    quotients do not overflow, this does only for a ``g`` of more than half the largest float.
    """
    g: Node = found["g"]
    axes, kept = tuple(found["axes"]), bool(found["kept"])
    if g.shape != node.shape or not (kept or axes == tuple(range(len(axes)))):
        return None
    softmax = graph.add("divide", (found["exp"], found["total"]))
    terms = graph.add("multiply", (g, softmax))
    keepdims: dict[str, Any] = {"keepdims": True} if kept else {}
    total = graph.add("sum", (terms,), element_type=node.element_type, axes=axes, **keepdims)
    return graph.add("multiply", (softmax, graph.add("subtract", (g, total))))


def _weighted(graph: Graph, node: Node, found: Bindings) -> Node:
    """Return the softmax times what its sum divided: the gradient of ``log_softmax`` subtracts it."""
    softmax, s = graph.add("divide", (found["exp"], found["total"])), found["s"]
    return softmax if s.is_literal and literal_value(s) == 1 else graph.add("multiply", (softmax, s))


SLOPES = (FloatRule(_SLOPE, _slope),)
_WEIGHTED = FloatRule(f"multiply((ratio := divide(s, {_TOTAL})), {_EXP})", _weighted, once=("ratio", "total", "exp"))
RULES = (
    FloatRule(
        f"divide({_EXP}, (total := sum(exp, axes=axes, keepdims=kept)))", _call("softmax"), once=("exp", "total")
    ),
    FloatRule(_LOG, _call("log_softmax"), once=("shifted", "total")),
    *(
        FloatRule(f"add({logarithm}, {_FINITE})", _call("logsumexp"), once=("largest", "peak", "total"))
        for peak in ("peak", _EXPANDED)
        for total in (_SUM.format(peak=peak),)
        for logarithm in (f"log(abs({total}))", f"log({total})")
    ),
)


def softmaxes(function: Function, supports: Support) -> None:
    """Raise softmaxes to calls, where nothing else reads their parts. A program that consists of only one spells it
    out, unless its arrays are large: the function creates fewer temporaries.
    """
    apply_rules(function, SLOPES, supports)
    if not supports.has_kernels:  # these would divide each element
        apply_rules(function, (_WEIGHTED,), supports)
    root = function.results if function.is_entry else None
    found = [pattern(rule.match).match(root) for rule in RULES] if isinstance(root, Node) else []
    alone = [bindings["x"] for bindings in found if bindings is not None and bindings["x"].opcode == "parameter"]
    are_large = supports.features.operations_are_passes and any(prod(x.shape) >= _MANY_ELEMENTS for x in alone)
    if are_large or not alone:
        apply_rules(function, RULES, supports)
