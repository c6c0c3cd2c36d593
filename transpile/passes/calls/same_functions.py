"""Merges functions that compute the same. A tracer makes several of one, for example for a gradient and without it."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...array.graph import Graph, frozen
from ...array.node import Node
from ...array.program import Function, Program, roots
from ...array.rewriting import rewrite
from ...array.traversal import topological
from .inline_one import handed_on


def same_functions(program: Program) -> None:
    """Call the first of several functions of one name that compute the same, and drop the others."""
    fixed = {program.entry, *handed_on(program.functions)}
    first: dict[Any, Function] = {}
    replaced: dict[Function, Function] = {}
    for function in program.functions:  # callees first
        if replaced:
            rewrite(function, ("call",), partial(_called, function.graph, replaced))
        if function in fixed or function.effect is not None or function.block_of or function.repeated:
            continue
        same = first.setdefault(_computes(function), function)
        if same is not function:
            replaced[function] = same
    program.functions[:] = [function for function in program.functions if function not in replaced]


def _called(graph: Graph, replaced: dict[Function, Function], call: Node) -> Node | None:
    same = replaced.get(call.parameters["function"])
    return graph.add("call", call.operands, function=same) if same is not None else None


def _computes(function: Function) -> Any:
    """Return a key that is equal for functions of one name with the same operations. Loops and branches are never
    equal.
    """
    places: dict[Node, int] = {node: k for k, node in enumerate(function.parameters)}
    rows: list[Any] = [(node.shape, node.element_type) for node in function.parameters]
    for node in topological(roots(function)):
        if node not in places:
            places[node] = len(places)
            operands = tuple(places[operand] for operand in node.operands)
            rows.append((node.opcode, operands, node.shape, node.element_type, node.results, frozen(node.parameters)))
    single = isinstance(function.results, Node)
    return function.name.split(".")[0], single, tuple(places[node] for node in function.flat_results), tuple(rows)
