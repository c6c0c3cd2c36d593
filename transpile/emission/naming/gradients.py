"""Matches gradients with arguments by the source places where the arguments are read.

Reverse differentiation gives a transposed operation the source place and the scopes of the original. So the gradient of
an argument has the place of a reader of the argument, and the argument's shape.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function, tree_nodes
from ...array.traversal import dependencies, unviewed
from ...hlo.ir import Computation, Instruction
from ...hlo.users import InstructionUsers
from ..module.sections import scope_parts
from .arguments import own_words
from .identifiers import common_words, given_arguments
from .scopes import is_gradient

_SEEN_THROUGH = frozenset(("bitcast", "broadcast", "convert", "copy", "reshape", "transpose"))

# Place: the numbers of the arguments that are read there.
_Readers = dict[Hashable, set[int]]


class ArgumentGradients:
    """The gradients of arguments in the functions of one module."""

    def __init__(self) -> None:
        self._users = InstructionUsers()
        self._known: dict[Computation, _Readers] = {}
        self._words: dict[Computation, list[str]] = {}  # one per argument

    def of(self, function: Function, nodes: Sequence[Node]) -> dict[Node, Node]:
        """Return a dict from each gradient to its parameter; ``nodes`` are the live nodes of the function."""
        gradients = [node for node in nodes if _is_gradient(node, function.graph)]
        if not gradients:
            return {}
        arguments = {number: node for node, all_ in given_arguments(function).items() for number in all_}
        found: dict[Node, Node] = {}  # argument: the last value that may be its gradient
        for node in _leaving(nodes, gradients, function):
            (*_, made) = function.graph.results[node]
            read = self._readers(function.computation).get(_place(made), ())
            given = {arguments[number] for number in read if number in arguments}
            alike = [each for each in given if _is_alike(node, each) and not _multiplies(each, node)]
            if len(alike) == 1:
                found[alike[0]] = node
        return {node: argument for argument, node in found.items()}

    def words(self, function: Function) -> dict[Node, str]:
        """Return the words that gradients are named after, by parameter of a function, for arguments of the program."""
        computation = function.computation
        if computation not in self._words:
            self._words[computation] = own_words(computation.parameters)
        own = self._words[computation]
        given = {node: [own[number] for number in numbers] for node, numbers in given_arguments(function).items()}
        words = common_words(list(given.values())) if function.repeated else [word for (word,) in given.values()]
        return dict(zip(given, words, strict=True))

    def _readers(self, computation: Computation) -> _Readers:
        if computation not in self._known:
            found: _Readers = {}
            for parameter in computation.parameters:
                for reader in self._users.of(computation, parameter, _is_seen_through):
                    if not is_gradient(reader) and (place := _place(reader)) is not None:
                        found.setdefault(place, set()).add(parameter.attributes["parameter_number"])
            self._known[computation] = found
        return self._known[computation]


def _is_alike(gradient: Node, argument: Node) -> bool:
    return gradient.shape == argument.shape and gradient.type == argument.type and not argument.type.is_integral


def _multiplies(argument: Node, gradient: Node) -> bool:
    """Return whether an argument is a factor of a gradient: then it is that of the product's other factor."""
    if gradient.opcode == "add":
        return any(_multiplies(argument, part) for part in gradient.operands)
    return gradient.operation.is_product and argument in map(unviewed, gradient.operands)


def _is_gradient(node: Node, graph: Graph) -> bool:
    made = graph.results.get(node)
    return made is not None and len(made) > 0 and is_gradient(made[-1])


def _leaving(nodes: Sequence[Node], gradients: Sequence[Node], function: Function) -> Iterator[Node]:
    """Yield the gradients that are returned or read by other values than gradients, in their order."""
    read = {operand for node in nodes if not _is_gradient(node, function.graph) for operand in dependencies(node)}
    read.update(tree_nodes(function.results))
    yield from (node for node in gradients if node in read)


def _is_seen_through(user: Instruction) -> bool:
    """Return whether an operation only changes the form of its operand."""
    return user.opcode in _SEEN_THROUGH


def _place(instruction: Instruction) -> Hashable:
    """Return the place of an operation: its frames or its line, and its scopes; None if unknown."""
    metadata = instruction.metadata
    if metadata is None or not (metadata.stack_frame_id or metadata.source_line):
        return None
    line = metadata.source_file, metadata.source_line, metadata.source_column
    return metadata.stack_frame_id or line, scope_parts(metadata.op_name)
