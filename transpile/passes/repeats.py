"""What a program does alike to several arrays becomes one function: the update of each parameter of a model.

An optimiser is written once and traced for every array of a tree, and outside of calls nothing tells the copies apart
but what they compute. Here they are the connected parts of element-wise work on arrays of one shape each; as such work
asks for no shape, parts of different shapes are one function. It gets a name where that saves the reader more than
the calls cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import inf

from ..array.node import Graph, Node
from ..array.program import Function, Program, roots
from ..array.rewriting import rewrite
from ..array.traversal import topological
from ..hlo.opcodes import ELEMENTWISE
from ..hlo.stack_frames import CallChains
from .users import Use, uses_of

_LEAST_COPIES = 3
_LEAST_WORK = 6  # operations of a part worth a name
_MOST_VALUES = 12  # inputs and outputs
_ALIKE = ELEMENTWISE | {"square", "isnan"}

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Part:
    """A connected part: its nodes in order, what they need from outside, and which of them are needed outside."""

    nodes: list[Node]
    inputs: list[Node]
    outputs: list[int]
    form: Hashable  # equal for parts that compute the same

    @property
    def values(self) -> int:
        return len(self.inputs) + len(self.outputs)


def repeats(program: Program, refuses: Callable[[Node], str | None]) -> None:
    """Write parts that are alike as calls of one function. What the target refuses to call stays."""
    made: list[Function] = []
    chains = CallChains(program.module)
    for function in program.functions:
        for parts in _groups(function):
            called = _function(function, parts)
            called.label = _label(function.graph, parts, chains)
            if _replaced(function, called, parts, refuses):
                made.append(called)
        made.append(function)
    program.functions[:] = made


def _groups(function: Function) -> list[list[_Part]]:
    """Parts that are alike and worth a function."""
    uses = uses_of(function)
    found: dict[Hashable, list[_Part]] = {}
    for nodes in _connected(function):
        part = _part(nodes, uses)
        if part is not None:
            found.setdefault(part.form, []).append(part)
    return [_in_order(parts) for parts in found.values() if _is_worth_it(parts)]


def _is_worth_it(parts: list[_Part]) -> bool:
    work, values = len(parts[0].nodes), parts[0].values
    if len(parts) < _LEAST_COPIES or work < _LEAST_WORK or values > _MOST_VALUES:
        return False
    return 2 * (len(parts) - 1) * work > len(parts) * values


def _in_order(parts: list[_Part]) -> list[_Part]:
    """With the inputs as a person would list them: arguments of the program in its order, other arrays, scalars."""

    def place(number: int) -> tuple[bool, float]:
        given = [part.inputs[number] for part in parts]
        are_arguments = all(node.opcode == "parameter" and "argument" in node.parameters for node in given)
        return given[0].ndim == 0, given[0].parameters["argument"] if are_arguments else inf

    order = sorted(range(len(parts[0].inputs)), key=place)
    return [replace(part, inputs=[part.inputs[number] for number in order]) for part in parts]


def _connected(function: Function) -> list[list[Node]]:
    """The connected parts of element-wise work on arrays, each in the order of the program."""
    root = function.graph.root
    members = {
        node
        for node in topological(roots(function))
        if node.region is root and node.opcode in _ALIKE and node.ndim and node.type.is_floating
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


def _part(nodes: list[Node], uses: dict[Node, list[Use]]) -> _Part | None:
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
    outputs = [k for k, node in enumerate(nodes) if any(use.node not in place for use in uses[node])]
    if _needs_itself(nodes, list(inputs)):
        return None
    return _Part(nodes, list(inputs), outputs, (tuple(form), tuple(outputs)))


def _needs_itself(nodes: Sequence[Node], inputs: Sequence[Node]) -> bool:
    """Something between two nodes of a part is not of it: no call can stand for all of them."""
    inside = set(nodes)
    return any(node in inside for node in topological(inputs))


def _function(function: Function, parts: list[_Part]) -> Function:
    """The function, over the inputs of the first part."""
    first = parts[0]
    graph = Graph()
    graph.refuses = function.graph.refuses
    made: dict[Node, Node] = {}
    for number, node in enumerate(first.inputs):
        made[node] = graph.parameter(node.shape, node.element_type, graph.root, argument=number)
    for node in first.nodes:
        operands = tuple(_carried(graph, made, operand) for operand in node.operands)
        graph.instruction = function.graph.origins.get(node)
        made[node] = graph.add(node.opcode, operands, node.shape, node.element_type, **node.parameters)
        graph.results.setdefault(made[node], function.graph.results.get(node, []))
    graph.instruction = None
    outputs = [made[first.nodes[k]] for k in first.outputs]
    called = Function(function.computation, graph, results=tuple(outputs) if len(outputs) > 1 else outputs[0])
    called.parameters = [made[node] for node in first.inputs]
    called.repeated = tuple(tuple(part.inputs[k] for part in parts) for k in range(len(first.inputs)))
    called.originals = function.originals
    return called


def _label(graph: Graph, parts: Sequence[_Part], chains: CallChains) -> str:
    """What the function may be called: after the innermost function of the author's that all parts come from."""
    origins = [graph.origins[node] for part in parts for node in part.nodes if node in graph.origins]
    frames = [chains.of(origin) for origin in origins]
    common: list[str] = []
    for level in zip(*frames, strict=False):
        functions = {(chains.frames[frame - 1].file_name, chains.frames[frame - 1].function_name) for frame in level}
        if len(functions) > 1:
            break
        common += [name.rsplit(".", 1)[-1] for _, name in functions]
    named = [name for name in common if _IDENTIFIER.fullmatch(name)]
    return f"part_of_{named[-1]}" if named else ""


def _carried(graph: Graph, made: dict[Node, Node], operand: Node) -> Node:
    if operand not in made:
        made[operand] = graph.literal(operand.parameters["constant"].array, operand.type)
    return made[operand]


def _replaced(function: Function, called: Function, parts: list[_Part], refuses: Callable[[Node], str | None]) -> bool:
    """Put calls in place of the parts, unless the target refuses one."""
    graph = function.graph
    for part in parts:
        operands = tuple(graph.current(node) for node in part.inputs)
        types = tuple((part.nodes[k].shape, part.nodes[k].element_type) for k in part.outputs)
        if len(types) == 1:
            ((shape, element_type),) = types
            call = graph.add("call", operands, shape, element_type, function=called)
            results = {graph.current(part.nodes[part.outputs[0]]): call}
        else:
            call = graph.add("call", operands, results=types, function=called)
            results = {
                graph.current(part.nodes[k]): graph.add("item", (call,), *types[index], index=index)
                for index, k in enumerate(part.outputs)
            }
        if refuses(call) is not None:
            return False
        rewrite(function, lambda node, _, results=results: results.get(node))  # type: ignore[misc]
    return True
