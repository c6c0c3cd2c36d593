"""Singular values and eigenvalues by NumPy's names, if no other results of LAPACK are used. The prelude's functions
give NaN where NumPy's raise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import call_parameters, called, rewrite
from ...array.support import Support
from ...array.value import FULL
from ...dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Call:
    """A named call: LAPACK's results that it returns, in its own order, and its keywords from LAPACK's."""

    function: str
    parts: tuple[int, ...]
    keywords: Callable[[dict[str, Any]], dict[str, Any]]


def _sizes(given: dict[str, Any]) -> dict[str, Any]:
    return {} if given.get("mode") == "A" else {"full_matrices": False}


def _triangle(given: dict[str, Any]) -> dict[str, Any]:
    return {} if given.get("uplo", "L") == "L" else {"lower": False}


# By LAPACK's name; calls with one result first.
_CALLS = {
    "gesdd": (_Call("svdvals", (1,), lambda given: {}), _Call("svd", (2, 1, 3), _sizes)),
    "syevd": (_Call("eigvalsh", (1,), _triangle), _Call("eigh", (1, 0), _triangle)),
}


def decompositions(function: Function, supports: Support) -> None:
    """Raise calls of LAPACK's functions."""
    _thin(function, supports)
    graph = function.graph
    asked: dict[Node, set[int]] = {}
    for node in live_nodes(function).of(("item",)):
        if node.operands[0].parameters.get("function") in _CALLS:
            asked.setdefault(node.operands[0], set()).add(node.parameters["index"])

    def rule(node: Node) -> Node | None:
        call = node.operands[0] if node.opcode == "item" else None
        if call is None or call not in asked:
            return None
        keywords = call.parameters["keywords"]
        for named in _CALLS[call.parameters["function"]]:
            has_all = len(named.parts) == 1 or keywords.get("mode") != "N"
            if has_all and asked[call] <= set(named.parts):
                return _result(graph, node, call, named)
        return None

    rewrite(function, ("item",), rule, supports)


def _result(graph: Graph, node: Node, call: Node, named: _Call) -> Node:
    """Return the item of the named call that replaces a result of LAPACK's."""
    keywords = named.keywords(call.parameters["keywords"])
    if len(named.parts) == 1:
        return called(graph, named.function, call.operands, node, **keywords)
    parameters = call_parameters(named.function, call.operands, **keywords)
    made = graph.add("prelude", call.operands, **parameters)
    index = named.parts.index(node.parameters["index"])
    return graph.add("item", (made,), interval=node.interval, index=index)


# -- thin singular value decompositions


def _thin(function: Function, supports: Support) -> None:
    """Drop singular vectors that nothing reads: some of cuSOLVER's functions always compute all of them."""
    live, graph = live_nodes(function), function.graph
    thin: dict[Node, Node] = {}
    for call in live.of(("prelude",)):
        if call.parameters["function"] == "gesdd" and call.parameters["keywords"] == {"mode": "A"}:
            parameters = call_parameters("gesdd", call.operands, mode="S")
            made = graph.add("prelude", call.operands, **parameters)
            shapes = [shape for shape, _ in made.results]
            if all(_reads_only(live, item, shapes[item.parameters["index"]]) for item in live.users(call)):
                thin[call] = made

    def rule(node: Node) -> Node | None:
        item = node if node.opcode == "item" else node.operands[0]
        made = thin.get(item.operands[0]) if item.opcode == "item" else None
        result = graph.add("item", (made,), index=item.parameters["index"]) if made is not None else None
        return result if result is not None and result.shape == node.shape else None

    rewrite(function, ("item", "getitem"), rule, supports)


def _reads_only(live: LiveNodes, item: Node, shape: tuple[int, ...]) -> bool:
    """Return whether users of a result read only its first elements along each axis."""
    readers = live.users(item)
    return item.shape == shape or (
        not live.is_root(item)
        and all(reader.opcode == "getitem" and reader.shape == shape and _is_leading(reader) for reader in readers)
    )


def _is_leading(node: Node) -> bool:
    """Return whether an index takes the first elements along each axis."""
    items = node.parameters["index"]
    return len(node.operands) == 1 and all(
        item == FULL or (isinstance(item, tuple) and item[0] in (None, 0) and item[2] in (None, 1)) for item in items
    )
