"""Replaces copies in a function by calls of one function."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function, Program, roots
from ...array.rewriting import copied
from ...array.traversal import dependencies, topological
from ...hlo.function_words import own_parts, word_of
from ...hlo.stack_frames import CallChains
from .copies import Outline, columns

Alike = Outline[Node]


def outline(
    program: Program,
    rounds: Callable[[Function], Iterable[Sequence[Alike]]],
    label: Callable[[Function, Alike, CallChains, Container[str]], str],
) -> None:
    """Write copies in each function as calls: ``rounds`` yields outlines, as long as it finds any in what the previous
    ones have left.
    """
    chains = CallChains(program.module)
    own = own_parts([frame.function_name for frame in chains.frames], program.module.name.removeprefix("jit_"))
    made: list[Function] = []
    for function in program.functions:
        for found in rounds(function):
            called = [_function_of(function, each) for each in found]
            for new, each in zip(called, found, strict=True):
                new.label = label(function, each, chains, own)
            made += called
            _put_calls(function, found, called)
        made.append(function)
    program.functions[:] = made


def cyclic_outline(function: Function, found: Sequence[Alike]) -> Alike | None:
    """An outline with a copy that would depend on its own results through other copies, if all were calls; None if
    there is none.
    """
    copy_of = {node: (each, copy) for each in found for row in each.rows for copy, node in enumerate(row)}
    done: set[Node | tuple[Alike, int]] = set()
    open_copies: set[tuple[Alike, int]] = set()
    stack: list[tuple[Node | tuple[Alike, int], bool]] = [(root, False) for root in roots(function)]
    while stack:
        item, is_left = stack.pop()
        item = copy_of.get(item, item) if isinstance(item, Node) else item
        if is_left:
            done.add(item)
            if isinstance(item, tuple):
                open_copies.discard(item)
        elif isinstance(item, tuple) and item in open_copies:
            return item[0]
        elif item not in done:
            stack.append((item, True))
            if isinstance(item, tuple):
                open_copies.add(item)
                stack += ((column[item[1]], False) for column in item[0].inputs)
            else:
                stack += ((node, False) for node in dependencies(item))
    return None


def _function_of(function: Function, found: Alike) -> Function:
    """The function over the inputs of the first copy; its ``repeated`` inputs, in all copies, distinguish equal
    functions.
    """
    graph = Graph()
    made: dict[Node, Node] = {}
    parameters = {
        column: graph.parameter(column[0].shape, column[0].element_type, graph.root, argument=number)
        for number, column in enumerate(found.inputs)
    }
    for row in found.rows:
        node = row[0]
        operands = tuple(parameters.get(column) or _carried(graph, made, column[0]) for column in columns(row))
        with graph.coming_as(node, function.graph):
            copy = copied(graph, node, operands, node.interval, node.parameters)
        made[node] = graph.valued(copy, node, function.graph)
    outputs = [made[row[0]] for row in found.outputs]
    called = Function(function.computation, graph, results=tuple(outputs) if len(outputs) > 1 else outputs[0])
    called.parameters = list(parameters.values())
    called.repeated = tuple(parameters)
    called.originals = function.originals
    return called


def label_of(function: Function, found: Alike, chains: CallChains, own: Container[str]) -> str:
    """A name for the copies in a function: that of the author's innermost function that all of them, or at least their
    results, come from; ``part_of_it`` if other arrays come from it too.

    ``own`` are the names of the traced function, which all copies come from.
    """
    graph = function.graph
    every, results = ([node for row in rows for node in row] for rows in (found.rows, found.outputs))
    named = (_common(graph, nodes, chains, own) for nodes in (every, results))
    word, author = next(((word, author) for word, author in named if word), ("", None))
    inside = set(every)
    arrays = (node for node in topological(roots(function)) if node.ndim and not node.operation.is_light)
    beside = (node for node in arrays if node not in inside)
    is_part = word and any(author in _authors(graph, node, chains) for node in beside)
    return f"part_of_{word}" if is_part else word


def _authors(graph: Graph, node: Node, chains: CallChains) -> list[tuple[str, str]]:
    """The functions that a node comes from, outermost first: the file and the name of each."""
    frames = [chains.frames[frame - 1] for frame in chains.of(graph.origins[node])] if node in graph.origins else []
    return [(frame.file_name, frame.function_name) for frame in frames]


def _common(
    graph: Graph, nodes: Sequence[Node], chains: CallChains, own: Container[str]
) -> tuple[str, tuple[str, str] | None]:
    """The innermost function with a usable name that all of the nodes come from, and the name; empty if there is
    none.
    """
    found: tuple[str, tuple[str, str] | None] = "", None
    for level in zip(*(_authors(graph, node, chains) for node in nodes if node in graph.origins), strict=False):
        if len(set(level)) > 1:
            break
        word = word_of(level[0][1], own)
        found = (word, level[0]) if word else found
    return found


def is_leaf(node: Node) -> bool:
    """Whether a node is the same inside a function as outside: a literal, ``np.arange(n)`` and the like."""
    is_value = node.element_type is not None or node.is_python_int
    return not node.operands and node.opcode != "parameter" and not node.stands_alone and is_value


def _carried(graph: Graph, made: dict[Node, Node], operand: Node) -> Node:
    if operand not in made:
        made[operand] = copied(graph, operand, (), operand.interval, operand.parameters)
    return made[operand]


def _put_calls(function: Function, found: Sequence[Alike], called: Sequence[Function]) -> None:
    """Replace copies by calls. The calls are numbered after all other nodes, in the order of the copies."""
    graph, live = function.graph, live_nodes(function)
    for each, new in zip(found, called, strict=True):
        for copy in range(each.count):
            outputs = [row[copy] for row in each.outputs]
            operands = tuple(graph.current_of_shape(column[copy]) for column in each.inputs)
            for output, result in zip(outputs, _call(graph, new, operands, outputs), strict=True):
                if output in live:  # only another copy's output is read
                    live.replace(output, result)
    live.flush()
    function.live = None  # calls stand where their first result was, which may be before their operands


def _call(graph: Graph, called: Function, operands: tuple[Node, ...], outputs: Sequence[Node]) -> list[Node]:
    """A call, or its results if it has several."""
    types = tuple((output.shape, output.element_type) for output in outputs)
    if len(types) > 1:
        made = graph.add("call", operands, results=types, function=called)
        return [graph.add("item", (made,), index=k) for k in range(len(outputs))]
    ((shape, element_type),) = types
    return [graph.add("call", operands, shape=shape, element_type=element_type, function=called)]


def readers_in(live: LiveNodes) -> Callable[[Node], list[Node | None]]:
    """A function that gives the readers of a node, with None for the caller of the function. Readers of multiple
    results are those of the individual items.
    """

    def readers(node: Node) -> list[Node | None]:
        users: list[Node | None] = [] if node.results else [*live.users(node)]
        return [*users, None] if live.is_root(node) and not node.results else users

    return readers
