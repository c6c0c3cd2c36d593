"""Parts of a function that are alike become calls of one function."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function, Program, roots
from ...array.rewriting import copied
from ...array.traversal import dependencies, topological
from ...dataclass import dataclass
from ...hlo.function_words import own_parts, word_of
from ...hlo.stack_frames import CallChains


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A connected part: its nodes in order, what they need from outside, and which of them are needed outside."""

    nodes: list[Node]
    inputs: list[Node]
    outputs: list[int]
    form: Hashable  # equal for parts that compute the same

    @property
    def values(self) -> int:
        return len(self.inputs) + len(self.outputs)


def outline(
    program: Program,
    rounds: Callable[[Function], Iterable[Sequence[list[Part]]]],
    label: Callable[[Function, list[Part], CallChains, Container[str]], str],
) -> None:
    """Write parts of each function as calls: ``rounds`` gives groups of parts that are alike, which one function stands
    for, as long as it finds some in what the last round has left.
    """
    chains = CallChains(program.module)
    own = own_parts([frame.function_name for frame in chains.frames], program.module.name.removeprefix("jit_"))
    made: list[Function] = []
    for function in program.functions:
        for groups in rounds(function):
            calls: list[tuple[Part, Function]] = []
            for parts in groups:
                called = _function_of(function, parts)
                called.label = label(function, parts, chains, own)
                made.append(called)
                calls += ((part, called) for part in parts)
            _put_calls(function, calls)
        made.append(function)
    program.functions[:] = made


def in_a_circle(function: Function, groups: list[list[Part]]) -> Part | None:
    """A part that needs its own results by way of other parts, if all of them are calls; None where none does."""
    part_of = {node: part for parts in groups for part in parts for node in part.nodes}
    done: set[Node | Part] = set()
    open_parts: set[Part] = set()
    stack: list[tuple[Node | Part, bool]] = [(root, False) for root in roots(function)]
    while stack:
        item, is_left = stack.pop()
        item = part_of.get(item, item) if isinstance(item, Node) else item
        if is_left:
            done.add(item)
            if isinstance(item, Part):
                open_parts.discard(item)
        elif isinstance(item, Part) and item in open_parts:
            return item
        elif item not in done:
            if isinstance(item, Part):
                open_parts.add(item)
            stack.append((item, True))
            stack += ((node, False) for node in (item.inputs if isinstance(item, Part) else dependencies(item)))
    return None


def _function_of(function: Function, parts: list[Part]) -> Function:
    """The function, over the inputs of the first part; what these are in all parts tells apart equal ones."""
    first = parts[0]
    graph = Graph()
    made: dict[Node, Node] = {}
    parameters = {
        column: graph.parameter(column[0].shape, column[0].element_type, graph.root, argument=number)
        for number, column in enumerate(zip(*(part.inputs for part in parts), strict=True))
    }
    for row in zip(*(part.nodes for part in parts), strict=True):
        node = row[0]
        columns = zip(*(each.operands for each in row), strict=True)
        operands = tuple(parameters.get(column) or _carried(graph, made, column[0]) for column in columns)
        with graph.coming_as(node, function.graph):
            made[node] = copied(graph, node, operands, node.interval, node.parameters)
        graph.results.setdefault(made[node], function.graph.results.get(node, []))
    outputs = [made[first.nodes[k]] for k in first.outputs]
    called = Function(function.computation, graph, results=tuple(outputs) if len(outputs) > 1 else outputs[0])
    called.parameters = list(parameters.values())
    called.repeated = tuple(parameters)
    called.originals = function.originals
    return called


def label_of(function: Function, parts: Sequence[Part], chains: CallChains, own: Container[str]) -> str:
    """Return a name for the parts of a function: that of the innermost function of the author's that all of them, or at
    least their results, come from; ``part_of_it`` where other arrays do, too.

    ``own`` are the names of the traced function, which all parts come from.
    """
    graph = function.graph
    results = [part.nodes[k] for part in parts for k in part.outputs]
    every = [node for part in parts for node in part.nodes]
    found = (_common(graph, nodes, chains, own) for nodes in (every, results))
    word, author = next(((word, author) for word, author in found if word), ("", None))
    inside = set(every)
    arrays = (node for node in topological(roots(function)) if node.ndim and not node.operation.is_light)
    beside = (node for node in arrays if node not in inside)
    is_part = word and any(author in _authors(graph, node, chains) for node in beside)
    return f"part_of_{word}" if is_part else word


def _authors(graph: Graph, node: Node, chains: CallChains) -> list[tuple[str, str]]:
    """Return the functions that a node comes from, outermost first: the file and the name of each."""
    frames = [chains.frames[frame - 1] for frame in chains.of(graph.origins[node])] if node in graph.origins else []
    return [(frame.file_name, frame.function_name) for frame in frames]


def _common(
    graph: Graph, nodes: Sequence[Node], chains: CallChains, own: Container[str]
) -> tuple[str, tuple[str, str] | None]:
    """Return the innermost function with a word that all of some nodes come from, and the word; nothing for none."""
    found: tuple[str, tuple[str, str] | None] = "", None
    for level in zip(*(_authors(graph, node, chains) for node in nodes if node in graph.origins), strict=False):
        if len(set(level)) > 1:
            break
        word = word_of(level[0][1], own)
        found = (word, level[0]) if word else found
    return found


def is_leaf(node: Node) -> bool:
    """Tell whether a node stands in a function as it does outside: a literal, ``np.arange(n)`` and the like."""
    is_value = node.element_type is not None or node.is_python_int
    return not node.operands and node.opcode != "parameter" and not node.stands_alone and is_value


def _carried(graph: Graph, made: dict[Node, Node], operand: Node) -> Node:
    if operand not in made:
        made[operand] = copied(graph, operand, (), operand.interval, operand.parameters)
    return made[operand]


def _put_calls(function: Function, calls: Sequence[tuple[Part, Function]]) -> None:
    """Put calls in place of parts. Their numbers follow those of all other nodes, in the order of the parts."""
    graph, live = function.graph, live_nodes(function)
    for part, called in calls:
        outputs = [part.nodes[k] for k in part.outputs]
        made = _call(graph, called, tuple(map(graph.current, part.inputs)), outputs)
        given = [made] if len(outputs) == 1 else [graph.add("item", (made,), index=k) for k in range(len(outputs))]
        for output, new in zip(outputs, given, strict=True):
            if output in live:  # another part's is read
                live.replace(output, new)
    live.flush()
    function.live = None  # calls stand where their first result was, which may be before what they need


def _call(graph: Graph, called: Function, operands: tuple[Node, ...], outputs: Sequence[Node]) -> Node:
    if len(outputs) > 1:
        types = tuple((output.shape, output.element_type) for output in outputs)
        return graph.add("call", operands, results=types, function=called)
    (output,) = outputs
    return graph.add("call", operands, shape=output.shape, element_type=output.element_type, function=called)
