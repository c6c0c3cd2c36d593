"""Factorisations of matrices: QR as one call, and no guards where LAPACK's functions give NaN by themselves.

``jnp.linalg.qr`` consists of LAPACK's reflectors, the triangle above them, and the construction of Q: ``np.linalg.qr``.
After a decomposition that may fail JAX selects ``where(info == 0, x, nan)``; the prelude's functions return NaN then.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import called, rewrite
from ...array.support import Support
from ...array.value import FULL
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, apply_rules

# By prelude function: the results that are NaN if the last one, info, is not 0.
_NAN_WHERE_FAILED = {"gesdd": (1, 2, 3), "syevd": (0, 1), "geev": (0, 1, 2, 3), "gees": (0, 1)}


def factorisations(function: Function, supports: Support) -> None:
    """Raise QR factorisations, and drop guards that repeat a function's own."""
    apply_rules(function, RULES, supports)
    graph = function.graph
    # Factorisations whose Q is used; for others, only R is.
    live = live_nodes(function)
    factored = {_reflectors(node) for node in live.of(("prelude",))} - {None}

    def rule(node: Node) -> Node | None:
        part = 0 if _reflectors(node) is not None else 1
        reflectors = _reflectors(node) if part == 0 else _above_diagonal(node)
        if reflectors is None:
            return None
        if reflectors not in factored:
            is_read = any(live.count(user) for user in live.users(reflectors) if user.parameters["index"])
            (matrix,) = reflectors.operands
            return None if is_read or 0 in matrix.shape else called(graph, "np.linalg.qr", (matrix,), node, mode="r")
        return _factor(graph, reflectors.operands[0], part)

    rewrite(function, ("prelude", "triu"), rule, supports)


def _is_call(node: Node, function: str) -> bool:
    return node.opcode == "prelude" and node.parameters["function"] == function


def _packed(node: Node, shape: tuple[int, ...]) -> Node | None:
    """Return the geqrf whose first result, or the part of it that a factor of this shape needs, is the node; or
    None.
    """
    if node.opcode == "getitem" and len(node.operands) == 1:
        *batch, rows, columns = node.parameters["index"]
        sizes = zip(shape[-2:], node.operands[0].shape[-2:], strict=True)
        wanted = [FULL if size == limit else (None, size, None) for size, limit in sizes]
        if any(item != FULL for item in batch) or [_plain(item) for item in (rows, columns)] != wanted:
            return None
        node = node.operands[0]
    if node.opcode != "item" or node.parameters["index"] != 0 or not _is_call(node.operands[0], "geqrf"):
        return None
    return node.operands[0]


def _plain(item: object) -> object:
    return (None, *item[1:]) if isinstance(item, tuple) and item[0] == 0 else item


def _reflectors(node: Node) -> Node | None:
    """Return the geqrf whose reduced Q is the node, or None."""
    if not _is_call(node, "orgqr"):
        return None
    found = _packed(node.operands[0], node.shape)
    if found is None or found.operands[0].ndim < 2 or 0 in found.operands[0].shape:
        return None
    tau, (rows, columns) = node.operands[1], found.operands[0].shape[-2:]
    of_same = tau.opcode == "item" and tau.operands[0] is found and tau.parameters["index"] == 1
    return found if of_same and node.shape[-2:] == (rows, min(rows, columns)) else None


def _above_diagonal(node: Node) -> Node | None:
    """Return the geqrf whose reduced R is the node, or None."""
    if node.opcode != "triu" or node.parameters["diagonal"]:
        return None
    found = _packed(node.operands[0], node.shape)
    if found is None:
        return None
    rows, columns = found.operands[0].shape[-2:]
    return found if node.shape[-2:] == (min(rows, columns), columns) else None


def _factor(graph: Graph, matrix: Node, part: int) -> Node:
    matrix = graph.current(matrix)
    return graph.add("item", (graph.add("qr", (matrix,)),), index=part)


def _guarded(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the result without its guard, if the guard tests the info of the same call, matrix by matrix; or None."""
    which: Node = node.operands[0]
    part, call = found["part"], found["call"]
    axes = call.operands[0].ndim - 2 if call.operands else 0
    while which.opcode == "expand":
        if tuple(which.parameters["index"]) != (FULL,) * axes + (None,) * (node.ndim - axes):
            return None
        (which,) = which.operands
    if which.opcode != "compare" or which.parameters["direction"] != "EQ":
        return None
    info, zero = which.operands
    known = _NAN_WHERE_FAILED.get(call.parameters["function"]) if call.opcode == "prelude" else None
    asks = info.opcode == "item" and info.operands[0] is call and info.parameters["index"] == len(call.results) - 1
    if known is None or not asks or zero.interval != (0, 0) or which.ndim not in (0, axes):
        return None
    count = len(call.results) - 1 if call.parameters["function"] == "geev" else max(known) + 1
    taken: Node = found.get("taken") or part
    is_known = part.parameters["index"] in known and part.parameters["index"] < count
    return taken if is_known and taken.ndim == part.ndim else None


RULES = (
    Rule("select(which, (part := item(call)), nan)", _guarded),
    Rule("select(which, (taken := getitem((part := item(call)))), nan)", _guarded),
)
