"""Calls of functions that only compute element by element, written in place: kernels join them with what is around."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..array.node import Node
from ..array.program import Function, Program, roots
from ..array.traversal import topological
from .index_maps import is_view
from .regions import is_generated
from .rewriting import rewrite


def inline_elementwise(program: Program, fuses: Callable[[Node], bool]) -> None:
    """Write the calls of such functions in place, and drop the functions."""
    simple: set[Function] = set()
    for function in program.functions:
        if simple:
            rewrite(function, lambda node, operands, function=function: _in_place(function, node, operands, simple))  # type: ignore[misc]
        if function is not program.entry and _is_elementwise(function, fuses):
            simple.add(function)
    used = {function for caller in program.functions for function in _named(caller)} | {program.entry}
    program.functions[:] = [function for function in program.functions if function not in simple or function in used]


def _named(caller: Function) -> Iterator[Function]:
    """The functions that a function calls, or hands to others."""
    for node in topological(roots(caller)):
        arguments = (node.parameters.get("function"), *node.parameters.get("arguments", ()))
        yield from (argument for argument in arguments if isinstance(argument, Function))


def _is_elementwise(function: Function, fuses: Callable[[Node], bool]) -> bool:
    if not isinstance(function.results, Node) or function.effect is not None:
        return False
    return all(
        node.opcode == "parameter" or is_view(node) or is_generated(node) or fuses(node)
        for node in topological(roots(function))
    )


def _in_place(function: Function, node: Node, operands: tuple[Node, ...], simple: set[Function]) -> Node | None:
    """The result of a call, computed here."""
    called = node.parameters.get("function")
    if node.opcode != "call" or called not in simple:
        return None
    graph, origin = function.graph, function.graph.instruction
    made: dict[Node, Node] = dict(zip(called.parameters, operands, strict=True))
    for inner in topological([called.results]):
        if inner in made:
            continue
        graph.instruction = called.graph.origins.get(inner, origin)
        parts = tuple(made[operand] for operand in inner.operands)
        made[inner] = graph.add(
            inner.opcode,
            parts,
            inner.shape,
            inner.element_type,
            python_int=inner.is_python_int,
            interval=inner.interval,
            **inner.parameters,
        )
    graph.instruction = origin
    return made[called.results]
