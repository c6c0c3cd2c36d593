"""Calls written in place: of functions that the passes have left next to nothing of, and, for kernels that join them
with what is around, of those that only compute element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial

from ..array.node import Node
from ..array.program import Function, Program, roots, tree_nodes
from ..array.rewriting import rewrite
from ..array.traversal import topological
from ..array.value import getitem
from ..kernels.index_maps import is_view
from .fusion.reading import is_generated

_MOST_WORK = 2  # operations of a function that reads better where it is called


def inline_elementwise(program: Program, fuses: Callable[[Node], bool]) -> None:
    """Write the calls of functions that compute element by element in place, and drop the functions."""
    _inline(program, lambda function: _is_elementwise(function, fuses))


def inlining(program: Program) -> None:
    """Write the calls of functions in place that are one or two operations by now, such as ``random_normal(key)``."""
    _inline(program, _is_small)


def _inline(program: Program, is_simple: Callable[[Function], bool]) -> None:
    simple: set[Function] = set()
    for function in program.functions:
        if simple:
            rewrite(function, ("call",), partial(_in_place, function, simple))
        if function is not program.entry and is_simple(function):
            simple.add(function)
    if not simple:
        return
    used = {function for caller in program.functions for function in _named(caller)} | {program.entry}
    program.functions[:] = [function for function in program.functions if function not in simple or function in used]


def _named(caller: Function) -> Iterator[Function]:
    """The functions that a function calls, or hands to others."""
    for node in topological(roots(caller)):
        parameters = node.parameters
        arguments = (
            parameters.get("function"),
            *parameters.get("arguments", ()),
            *parameters.get("keywords", {}).values(),
        )
        yield from (argument for argument in arguments if isinstance(argument, Function))


def _is_elementwise(function: Function, fuses: Callable[[Node], bool]) -> bool:
    if not isinstance(function.results, Node) or function.effect is not None:
        return False
    return all(
        node.opcode == "parameter" or is_view(node) or is_generated(node) or fuses(node)
        for node in topological(roots(function))
    )


def _is_small(function: Function) -> bool:
    made = _made(function)
    if made is None or function.effect is not None:
        return False
    nodes = topological([*function.parameters, made])
    work = [node for node in nodes if not node.operation.is_light and node.opcode != "scalar"]
    inner = (node for node in nodes if node.stands_alone or (node.results and node is not made))
    return len(work) <= _MOST_WORK and not any(inner)


def _made(function: Function) -> Node | None:
    """Return the node that a call of the function stands for: its result, or the one whose parts are its results."""
    if isinstance(function.results, Node):
        return function.results
    parts = tree_nodes(function.results)
    made = parts[0].operands[0] if parts and parts[0].opcode == "item" else None
    if made is None or len(made.results) != len(parts):
        return None
    is_whole = all(
        part.opcode == "item" and part.operands[0] is made and part.parameters["index"] == k
        for k, part in enumerate(parts)
    )
    return made if is_whole else None


def _in_place(function: Function, simple: set[Function], node: Node) -> Node | None:
    """The result of a call, computed here."""
    called = node.parameters.get("function")
    if called not in simple:
        return None
    graph = function.graph
    result = _made(called)
    assert result is not None
    made: dict[Node, Node] = dict(zip(called.parameters, node.operands, strict=True))
    for inner in topological([result]):
        if inner in made:
            continue
        parts = tuple(made[operand] for operand in inner.operands)
        with graph.coming_as(inner, called.graph) if inner in called.graph.origins else nullcontext():
            if inner.opcode in ("expand", "getitem") and len(parts) == 1:  # a part of what the call is given
                made[inner] = getitem(graph, parts[0], inner.parameters["index"])
                continue
            made[inner] = graph.typed(
                inner.opcode,
                parts,
                inner.shape,
                inner.element_type,
                interval=inner.interval,
                results=inner.results,
                **inner.parameters,
            )
    return made[result]
