"""``jnp.linalg.cholesky``: LAPACK's factor, NaN if it reports a failure, with the other triangle cleared."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, rule_pass

_MASKED = 'select(compare((info := item(factored)), 0, direction="EQ"), (factor := item(factored)), nan)'


def _cholesky(graph: Graph, node: Node, found: Bindings) -> Node | None:
    factored: Node = found["factored"]
    parts = [found[name].parameters["index"] for name in ("factor", "info")]
    if factored.opcode != "prelude" or factored.parameters["function"] != "potrf" or parts != [0, 1]:
        return None
    (a,) = factored.operands
    if factored.parameters["keywords"].get("uplo") != "L" or node.parameters["diagonal"] or a.ndim != 2:
        return None
    return called(graph, "cholesky", (a,), node)


def _is_cut(graph: Graph, node: Node, found: Bindings) -> Node | None:
    is_lower = found["factor"].parameters["keywords"].get("lower", True)
    return None if node.parameters["diagonal"] or is_lower != (node.opcode == "tril") else found["factor"]


RULES = (
    Rule(f"tril({_MASKED})", _cholesky),
    *(Rule(f"{triangle}((factor := prelude.cholesky(a)))", _is_cut) for triangle in ("tril", "triu")),
)

cholesky = rule_pass(__name__, "Raise masked factors to calls that mask by themselves.", RULES)
