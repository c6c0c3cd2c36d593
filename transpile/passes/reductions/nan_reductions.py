"""Reductions that skip NaN, ``np.nansum`` and others, which JAX writes with a mask of the NaN."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import along, called
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Make, Rule, rule_pass

_SUM = "sum((given := select(isnan(x), 0, x)), axes=axes)"
_COUNT = "sum((ones := convert((whole := convert((there := not_(isnan(x))))))), axes=axes)"


def _reduction(name: str) -> Make:
    def make(graph: Graph, node: Node, found: Bindings) -> Node | None:
        return called(graph, name, (found["x"],), node, **along(node))

    return make


def _extreme(name: str) -> Make:
    """Return the right side of a rule for an extreme, which is NaN if all elements are."""

    def make(graph: Graph, node: Node, found: Bindings) -> Node | None:
        part, none = found["part"], found["none"]
        if part.shape != node.shape or 0 in found["x"].shape or none.shape != node.shape:
            return None
        return called(graph, name, (found["x"],), node, **along(part))

    return make


def _mean(graph: Graph, node: Node, found: Bindings) -> Node | None:
    total = found["total"]
    if not found["whole"].type.is_integral or total.parameters.get("keepdims") != found["count"].parameters.get(
        "keepdims"
    ):
        return None
    return called(graph, "np.nanmean", (found["x"],), node, **along(total))


def _variance(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return ``np.nanvar`` for squared differences from the mean along the same axes, or None."""
    x, mean, total = found["x"], found["mean"], found["total"]
    kept = {**along(total), "keepdims": True}
    is_own = mean.operands == (x,) and mean.parameters["keywords"] in (kept, along(total))
    whole = mean.shape == () or "keepdims" in mean.parameters["keywords"] or total.parameters["axes"][0] == 0
    if not is_own or not whole or total.shape != node.shape or found["n"].type.is_floating:
        return None
    return called(graph, "np.nanvar", (x,), node, **along(total))


def _deviation(graph: Graph, node: Node, found: Bindings) -> Node:
    variance: Node = found["variance"]
    return called(graph, "np.nanstd", variance.operands, node, **variance.parameters["keywords"])


_EXTREME = (
    "select((none := all(isnan(x), axes=axes)), nan, "
    "(part := {name}((given := select(isnan(x), {least}, x)), axes=axes)))"
)

RULES = (
    FloatRule(f"divide((total := {_SUM}), (count := {_COUNT}))", _mean, once=("total", "given", "count")),
    FloatRule(
        "divide(select((none := compare((n := sum(not_(isnan(x)), axes=axes)), 0, direction='LE')), nan, "
        "(total := sum((squares := multiply((d := select(isnan(x), 0, subtract(x, (mean := np.nanmean(x))))), d)), "
        "axes=axes))), convert(select(none, 1, n)))",
        _variance,
        once=("squares", "total"),
    ),
    FloatRule("sqrt((variance := np.nanvar(x)))", _deviation, once=("variance",)),
    *(
        Rule(_EXTREME.format(name=name, least=least), _extreme(f"np.nan{name}"), once=("part", "given"))
        for name, least in (("max", "-inf"), ("min", "inf"))
    ),
)
TOTALS = (
    FloatRule(_SUM, _reduction("np.nansum"), once=("given",)),
    FloatRule("prod((given := select(isnan(x), 1, x)))", _reduction("np.nanprod"), once=("given",)),
)

nan_reductions = rule_pass(
    __name__, "Raise them: means and variances before the sums that they are made of.", RULES, TOTALS
)
