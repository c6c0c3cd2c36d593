"""``np.linalg.slogdet`` and ``np.linalg.det``: JAX multiplies the diagonal of LAPACK's LU factorisation, and counts row
exchanges.
"""

from __future__ import annotations

from functools import partial

from ...array.graph import Graph
from ...array.node import Node, Slot
from ...array.rewriting import called
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, is_full_float, rule_pass
from . import small_determinants

_DIAGONAL = (
    "(diagonal := diagonal(select((valid := compare((info := item(factored)), 0, direction='GE')), "
    "(lu := item(factored)), nan)))"
)
_SINGULAR = f"(singular := any(compare({_DIAGONAL}, 0, direction='EQ')))"
_EXCHANGES = (
    "(exchanges := sum(compare(subtract((pivots := item(factored)), 1), (places := arange()), direction='NE')))"
)
_CHANGES = "(changes := sum(compare(diagonal, 0, direction='LT')))"
_PARITY = f"remainder(add({_EXCHANGES}, {_CHANGES}), 2)"


def _is_factorisation(found: Bindings) -> bool:
    """Return whether a match is the factorisation of a square real matrix, with each part bound to the right result."""
    factored: Node = found["factored"]
    if factored.opcode != "prelude" or factored.parameters["function"] != "getrf":
        return False
    (a,) = factored.operands
    parts = {name: found[name].parameters["index"] for name in ("lu", "pivots", "info") if name in found}
    return (
        a.ndim == 2
        and a.shape[0] == a.shape[1] > 0
        and is_full_float(a.type)
        and all(index == ("lu", "pivots", "info").index(name) for name, index in parts.items())
    )


def _part(graph: Graph, node: Node, found: Bindings, index: int) -> Node | None:
    if not _is_factorisation(found):
        return None
    matrix: Node = found["factored"].operands[0]
    made = graph.add("library", (matrix,), function="linalg.slogdet", arguments=(Slot(0),), keywords={})
    return graph.add("item", (made,), index=index)


def _determinant(graph: Graph, node: Node, found: Bindings) -> Node | None:
    both: Node = found["both"]
    parts = (found["sign"].parameters["index"], found["size"].parameters["index"])
    if both.parameters.get("function") != "linalg.slogdet" or parts != (0, 1):
        return None
    return called(graph, "np.linalg.det", both.operands, node)


RULES = (
    FloatRule(f"select({_SINGULAR}, 0, convert(add(multiply({_PARITY}, -2), 1)))", partial(_part, index=0)),
    FloatRule(f"select({_SINGULAR}, -inf, sum(log(abs(diagonal))))", partial(_part, index=1)),
    FloatRule("multiply((sign := item(both)), exponential((size := item(both))))", _determinant),
    *small_determinants.RULES,
)

determinants = rule_pass(__name__, "Raise them.", RULES)
