"""Repeats: what a program does alike to several arrays becomes one function, such as the update of each parameter of a
model.

An optimiser is written once and traced for every array of a tree, and outside of calls nothing tells the copies apart
but what they compute. Here they are the connected parts of element-wise work on arrays of one shape each; as such work
asks for no shape, parts of different shapes are one function. It gets a name where that saves the reader more than
the calls cost.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Sequence
from dataclasses import dataclass, replace
from math import inf

from ..array.graph import Graph
from ..array.live import LiveNodes, live_nodes
from ..array.node import Node
from ..array.operations import CALLED_BY_NAME
from ..array.program import Function, Program, roots
from ..array.traversal import dependencies, topological
from ..hlo.function_words import own_parts, word_of
from ..hlo.stack_frames import CallChains

_LEAST_COPIES = 3
_LEAST_WORK = 6  # operations of a part worth a name
_MOST_VALUES = 12  # inputs and outputs


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """A connected part: its nodes in order, what they need from outside, and which of them are needed outside."""

    nodes: list[Node]
    inputs: list[Node]
    outputs: list[int]
    form: Hashable  # equal for parts that compute the same

    @property
    def values(self) -> int:
        return len(self.inputs) + len(self.outputs)


def repeats(program: Program) -> None:
    """Write parts that are alike as calls of one function."""
    made: list[Function] = []
    chains = CallChains(program.module)
    names = [frame.function_name for frame in chains.frames]
    own = own_parts(names, program.module.name.removeprefix("jit_"))
    for function in program.functions:
        calls: list[_Call] = []
        for parts in _groups(function):
            called = _function(function, parts)
            called.label = _label(function.graph, parts, chains, own)
            made.append(called)
            calls += [_Call(part, called) for part in parts]
        _put(function, calls)
        made.append(function)
    program.functions[:] = made


def _groups(function: Function) -> list[list[_Part]]:
    """Parts that are alike and worth a function; all of them can be calls at once."""
    live, order = live_nodes(function), topological(roots(function))
    found: dict[Hashable, list[_Part]] = {}
    for nodes in _connected(function, order):
        part = _part(nodes, live) if len(nodes) >= _LEAST_WORK else None
        if part is not None:
            found.setdefault(part.form, []).append(part)
    place = {node: k for k, node in enumerate(order)}
    worth = filter(_is_worth_it, found.values())
    groups = [[part for part in parts if not _needs_itself(part, place)] for parts in worth]
    groups = [parts for parts in groups if _is_worth_it(parts)]
    while groups and (entangled := _in_a_circle(function, groups)) is not None:
        groups = [parts for parts in groups if entangled not in parts]
    return [_in_order(parts) for parts in groups]


def _is_worth_it(parts: list[_Part]) -> bool:
    if len(parts) < _LEAST_COPIES:
        return False
    work, values = len(parts[0].nodes), parts[0].values
    if work < _LEAST_WORK or values > _MOST_VALUES:
        return False
    return 2 * (len(parts) - 1) * work > len(parts) * values


def _in_order(parts: list[_Part]) -> list[_Part]:
    """Return the parts with the inputs as a person would list them: arguments of the program in its order, other
    arrays, scalars.
    """

    def place(number: int) -> tuple[bool, float]:
        given = [part.inputs[number] for part in parts]
        are_arguments = all(node.opcode == "parameter" and "argument" in node.parameters for node in given)
        return given[0].ndim == 0, given[0].parameters["argument"] if are_arguments else inf

    order = sorted(range(len(parts[0].inputs)), key=place)
    return [replace(part, inputs=[part.inputs[number] for number in order]) for part in parts]


def _connected(function: Function, order: list[Node]) -> list[list[Node]]:
    """The connected parts of element-wise work on arrays, each in the order of the program."""
    root = function.graph.root
    members = {
        node
        for node in order
        if node.region is root
        and node.operation.is_elementwise
        and node.opcode not in CALLED_BY_NAME
        and node.ndim
        and node.type.is_floating
    }
    parent: dict[Node, Node] = {node: node for node in members}

    def leader(node: Node) -> Node:
        while parent[node] is not node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for node in members:
        for operand in node.operands:
            if operand in members:
                parent[leader(operand)] = leader(node)
    together: dict[Node, list[Node]] = {}
    for node in sorted(members, key=lambda node: node.number):
        together.setdefault(leader(node), []).append(node)
    return list(together.values())


def _part(nodes: list[Node], live: LiveNodes) -> _Part | None:
    """A part by what it computes; None where shapes matter, or order is not clear."""
    shape = nodes[0].shape
    place = {node: k for k, node in enumerate(nodes)}
    inputs: dict[Node, int] = {}
    form: list[Hashable] = []
    for node in nodes:
        references: list[Hashable] = []
        for operand in node.operands:
            if operand in place:
                references.append(("part", place[operand]))
            elif operand.is_literal:
                references.append(("literal", operand.element_type, operand.parameters["constant"]))
            elif operand.is_python_int or operand.element_type is None or operand.shape not in ((), shape):
                return None
            else:
                number = inputs.setdefault(operand, len(inputs))
                references.append(("input", number, operand.element_type, bool(operand.shape)))
        if node.shape != shape or any(place.get(operand, -1) >= place[node] for operand in node.operands):
            return None
        form.append((node.opcode, node.element_type, tuple(sorted(node.parameters.items())), tuple(references)))
    outputs = [
        k for k, node in enumerate(nodes) if live.is_root(node) or any(user not in place for user in live.users(node))
    ]
    return _Part(nodes, list(inputs), outputs, (tuple(form), tuple(outputs)))


def _needs_itself(part: _Part, place: dict[Node, int]) -> bool:
    """Something between two nodes of a part is not of it: no call can stand for all of them.

    ``place`` numbers the nodes of the function, operands first: what comes before all of a part needs none of it.
    """
    inside = set(part.nodes)
    first = min(place[node] for node in part.nodes)
    waiting, seen = list(part.inputs), set(part.inputs)
    while waiting:
        needed = [node for node in dependencies(waiting.pop()) if node not in seen and place[node] >= first]
        if not inside.isdisjoint(needed):
            return True
        seen.update(needed)
        waiting += needed
    return False


def _in_a_circle(function: Function, groups: list[list[_Part]]) -> _Part | None:
    """A part that needs its own results by way of other parts, if all of them are calls; None where none does."""
    part_of = {node: part for parts in groups for part in parts for node in part.nodes}
    done: set[Node | _Part] = set()
    open_parts: set[_Part] = set()
    stack: list[tuple[Node | _Part, bool]] = [(root, False) for root in roots(function)]
    while stack:
        item, is_left = stack.pop()
        item = part_of.get(item, item) if isinstance(item, Node) else item
        if is_left:
            done.add(item)
            if isinstance(item, _Part):
                open_parts.discard(item)
        elif isinstance(item, _Part) and item in open_parts:
            return item
        elif item not in done:
            if isinstance(item, _Part):
                open_parts.add(item)
            stack.append((item, True))
            stack += ((node, False) for node in (item.inputs if isinstance(item, _Part) else dependencies(item)))
    return None


def _function(function: Function, parts: list[_Part]) -> Function:
    """The function, over the inputs of the first part."""
    first = parts[0]
    graph = Graph()
    made: dict[Node, Node] = {}
    for number, node in enumerate(first.inputs):
        made[node] = graph.parameter(node.shape, node.element_type, graph.root, argument=number)
    for node in first.nodes:
        operands = tuple(_carried(graph, made, operand) for operand in node.operands)
        with graph.coming_from(function.graph.origins.get(node)):
            made[node] = graph.typed(node.opcode, operands, node.shape, node.element_type, **node.parameters)
        graph.results.setdefault(made[node], function.graph.results.get(node, []))
    outputs = [made[first.nodes[k]] for k in first.outputs]
    called = Function(function.computation, graph, results=tuple(outputs) if len(outputs) > 1 else outputs[0])
    called.parameters = [made[node] for node in first.inputs]
    called.repeated = tuple(tuple(part.inputs[k] for part in parts) for k in range(len(first.inputs)))
    called.originals = function.originals
    return called


def _label(graph: Graph, parts: Sequence[_Part], chains: CallChains, own: Container[str]) -> str:
    """What the function may be called: after the innermost function of the author's that all parts come from.

    ``own`` are the names of the traced function, which all parts come from.
    """
    origins = [graph.origins[node] for part in parts for node in part.nodes if node in graph.origins]
    frames = [chains.of(origin) for origin in origins]
    label = ""
    for level in zip(*frames, strict=False):
        functions = {(chains.frames[frame - 1].file_name, chains.frames[frame - 1].function_name) for frame in level}
        if len(functions) > 1:
            break
        label = next((word_of(name, own) for _, name in functions), "") or label
    return f"part_of_{label}" if label else ""


def _carried(graph: Graph, made: dict[Node, Node], operand: Node) -> Node:
    if operand not in made:
        made[operand] = graph.literal(operand.parameters["constant"].array, operand.type)
    return made[operand]


@dataclass(frozen=True, slots=True)
class _Call:
    """A part, and the function that is called in its place."""

    part: _Part
    function: Function

    @property
    def nodes(self) -> list[Node]:
        return self.part.nodes

    @property
    def inputs(self) -> list[Node]:
        return self.part.inputs

    @property
    def outputs(self) -> list[Node]:
        """The nodes that are needed outside."""
        return [self.part.nodes[k] for k in self.part.outputs]

    def node(self, graph: Graph, operands: Sequence[Node]) -> Node:
        """The call on these operands."""
        types = tuple((output.shape, output.element_type) for output in self.outputs)
        if len(types) == 1:
            ((shape, element_type),) = types
            return graph.add("call", tuple(operands), shape=shape, element_type=element_type, function=self.function)
        return graph.add("call", tuple(operands), results=types, function=self.function)


def _put(function: Function, calls: Sequence[_Call]) -> None:
    """Put calls in place of parts. Their numbers follow those of all other nodes, in the order of the parts."""
    graph, live = function.graph, live_nodes(function)
    for call in calls:
        called = call.node(graph, [graph.current(node) for node in call.inputs])
        given = [called]
        if len(call.outputs) > 1:
            given = [graph.add("item", (called,), index=index) for index in range(len(call.outputs))]
        for output, new in zip(call.outputs, given, strict=True):
            live.replace(output, new)
    live.flush()
    function.live = None  # calls stand where their first result was, which may be before what they need
