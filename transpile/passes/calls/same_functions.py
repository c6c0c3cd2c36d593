"""Merges functions that compute the same. A tracer makes several of one, for example for a gradient and without it."""

from __future__ import annotations

import re
from collections.abc import Container, Hashable
from functools import partial

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function, Program
from ...array.rewriting import rewrite
from ...array.structure import structure
from .inlining import handed_on

_NUMBER = re.compile(r"_\d+$", re.ASCII)


def same_functions(program: Program) -> None:
    """Call the first of several functions of one name that compute the same, and drop the others."""
    fixed = {program.entry, *handed_on(program.functions)}
    names = {_name(function) for function in program.functions}
    first: dict[Hashable, Function] = {}
    replaced: dict[Function, Function] = {}
    for function in program.functions:  # callees first
        if replaced:
            rewrite(function, ("call",), partial(_called, function.graph, replaced))
        if function in fixed or function.effect is not None or function.block_of or function.repeated:
            continue
        same = first.setdefault(_computes(function, names), function)
        if same is not function:
            replaced[function] = same
    program.functions[:] = [function for function in program.functions if function not in replaced]


def _called(graph: Graph, replaced: dict[Function, Function], call: Node) -> Node | None:
    same = replaced.get(call.parameters["function"])
    return graph.add("call", call.operands, function=same) if same is not None else None


def _name(function: Function) -> str:
    return function.name.split(".")[0]


def _computes(function: Function, names: Container[str]) -> Hashable:
    """Return a key that is equal for functions of one name with the same operations. Loops and branches are never
    equal.

    JAX numbers functions of one name: ``uniform_5`` is ``uniform`` where there is one of this name.
    """
    steps = structure(function, lambda node: (node.shape, node.element_type, node.results))
    name = _NUMBER.sub("", _name(function))
    return name if name in names else _name(function), isinstance(function.results, Node), steps
