"""Inlines calls of functions that passes have reduced to next to nothing and, for kernels, of functions with only
fusible operations; finds the functions that a program uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf

from ...array.graph import Graph
from ...array.intervals import narrowed
from ...array.live import live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function, Program, given_functions, roots, tree_nodes
from ...array.rewriting import copied, rewrite
from ...array.traversal import topological
from ...array.value import getitem
from ...kernels.index_maps import is_view
from ...kernels.operations import is_generated

MOST_COPIED = 64  # operations of a function that is inlined at several calls; limits the growth of nested functions


def made_by(function: Function) -> Node | None:
    """Return the node that a call of the function stands for: its result, or the node whose items are its results; else
    None.
    """
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


def inlined(function: Function, simple: set[Function], node: Node) -> Node | None:
    """Return the result of a call, inlined; None if its function is not among the ``simple`` ones."""
    called = node.parameters.get("function")
    if called not in simple:
        return None
    result = made_by(called)
    assert result is not None
    return inlined_result(function, called, node.operands, result)


def inlined_result(function: Function, called: Function, arguments: Sequence[Node], result: Node) -> Node:
    """Copy a ``result`` of another function into a function, for these arguments, and return it."""
    graph, of = function.graph, called.graph
    made: dict[Node, Node] = dict(zip(called.parameters, arguments, strict=True))
    for inner in topological([result]):
        if inner not in made:
            made[inner] = _copied(graph, inner, tuple(made[operand] for operand in inner.operands), of)
    return made[result]


def copy_of(graph: Graph, node: Node, known: Mapping[Node, Node], of: Graph) -> Node:
    """Return the copy of a node of one function in another, where ``known`` maps nodes to existing copies."""
    if node in known:
        return known[node]
    made = _copied(graph, node, tuple(copy_of(graph, operand, known, of) for operand in node.operands), of)
    return made if node.is_literal else graph.valued(made, node, of)


def _copied(graph: Graph, node: Node, operands: tuple[Node, ...], of: Graph) -> Node:
    """Return the operation of one function on operands of another."""
    if node.is_literal:
        return graph.literal(literal_value(node), node.type)
    with graph.coming_as(node, of):
        if node.opcode in ("expand", "getitem") and len(operands) == 1:  # simplify parts of arguments
            return getitem(graph, operands[0], node.parameters["index"])
        return copied(graph, node, operands, narrowed(node, operands), node.parameters)


def operations_between(known: Container[Node], node: Node, may_move: Callable[[Node], bool]) -> float:
    """Return the number of element-wise operations from known nodes to a node; infinite if there are others that may
    not move.
    """
    if node in known or node.is_literal:
        return 0
    if node.stands_alone or not node.operands or not may_move(node):
        return inf
    return node.operation.is_elementwise + sum(operations_between(known, each, may_move) for each in node.operands)


def calls_of(function: Function, called: Function) -> list[Node]:
    """Return the calls of one function in another."""
    return [node for node in live_nodes(function).of(("call",)) if node.parameters["function"] is called]


def handed_on(functions: Iterable[Function]) -> set[Function]:
    """Return the functions that nodes other than calls take, such as reducers."""
    return {given for function in functions for node in topological(roots(function)) for given in given_functions(node)}


def named_functions(caller: Function) -> Iterator[Function]:
    """Yield the functions that a function calls or passes on."""
    nodes = topological(roots(caller))
    yield from (node.parameters["function"] for node in nodes if node.opcode == "call")
    yield from (given for node in nodes for given in given_functions(node))


def of_any_shape(program: Program) -> set[Function]:
    """Return the functions whose scalars may be arrays: those that are passed on, such as reducers, those that stand
    for parts of several shapes, and the functions that these call.
    """
    found = handed_on(program.functions)
    found |= {each for each in program.functions if any(node.ndim for nodes in each.repeated for node in nodes)}
    return _with_named(program, found)


def used_functions(program: Program) -> set[Function]:
    """Return the entry of a program and the functions that it uses, directly or not."""
    return _with_named(program, {program.entry})


def _with_named(program: Program, found: set[Function]) -> set[Function]:
    """Return functions and all functions that they call or pass on. In a program, callers come after callees."""
    for function in reversed(program.functions):
        if function in found:
            found.update(named_functions(function))
    return found


def lines_around_convolutions(nodes: Collection[Node]) -> int:
    """Return how many more lines a convolution between reshapes takes than one for each operation; 0 without a
    convolution.
    """
    reshapes = sum(node.opcode == "reshape" for node in nodes)
    return reshapes + 3 if reshapes and any(node.parameters.get("function") == "convolution" for node in nodes) else 0


InPlace = Callable[[Function, set[Function], Node], Node | None]
_MOST_WORK = 2  # operations of a function that reads better inlined


def inline_joinable(program: Program, joins: Callable[[Node], bool]) -> None:
    """Inline functions in which every operation may be fused, and drop them. A long function with several calls
    stays.
    """
    calls = Counter(called for function in program.functions for called in named_functions(function))
    _inline(
        program, lambda function: _is_joinable(function, joins, MOST_COPIED if calls[function] > 1 else inf), _named
    )


def inlining(program: Program) -> None:
    """Inline functions of one or two operations, such as ``random_normal(key)``, and drop unused functions."""
    _inline(program, _is_small)


def _inline(program: Program, is_simple: Callable[[Function], bool], placed: InPlace = inlined) -> None:
    simple: set[Function] = set()
    for function in program.functions:
        if simple:
            rewrite(function, ("call",), partial(placed, function, simple))
        if function is not program.entry and is_simple(function):
            simple.add(function)
    used = used_functions(program)
    program.functions[:] = [function for function in program.functions if function in used]


def _named(function: Function, simple: set[Function], node: Node) -> Node | None:
    """Return the result of a call, inlined and named after the function."""
    made = inlined(function, simple, node)
    if made is not None:
        function.graph.called.setdefault(made, node.parameters["function"].name)
    return made


def _is_joinable(function: Function, joins: Callable[[Node], bool], most: float) -> bool:
    if not isinstance(function.results, Node) or function.effect is not None:
        return False
    nodes = topological(roots(function))
    return len(nodes) <= most and all(
        node.opcode == "parameter" or is_view(node) or is_generated(node) or joins(node) for node in nodes
    )


def _is_small(function: Function) -> bool:
    made = made_by(function)
    if made is None or function.effect is not None:
        return False
    nodes = topological([*function.parameters, made])
    work = [node for node in nodes if not node.operation.is_light and node.opcode != "scalar"]
    inner = (node for node in nodes if node.stands_alone or (node.results and node is not made))
    return len(work) + lines_around_convolutions(nodes) <= _MOST_WORK and not any(inner)
