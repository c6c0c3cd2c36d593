"""The arguments that results belong to: those that they are the gradients or the next values of.

Reverse differentiation gives a transposed operation the source place and the scopes of the original. So the gradient of
an argument has the place of a reader of the argument, and the argument's shape. The next value of an argument, such as
parameters after a training step, is computed from it element by element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function, tree_nodes
from ...array.traversal import dependencies, unviewed
from ...hlo.ir import Computation, Instruction, InstructionUsers
from ...walks import reached
from ..module.sections import scope_parts
from .arguments import is_leaf, own_words
from .identifiers import common_words, given_arguments, is_argument
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
                for _, reader in self._users.of(computation, parameter, _is_seen_through):
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


def updates(function: Function) -> dict[Node, Node]:
    """Return, by result, the argument that it is the next value of.

    Such a result is computed from the argument element by element, and from no other arguments except those that
    several results are computed from, such as gradients. In programs without gradients, only leaves of trees count as
    states.
    """
    results = list(dict.fromkeys(tree_nodes(function.results)))
    kept = _states(function)
    candidates: dict[Node, list[Node]] = {}
    of_called: dict[Function, dict[Node, Node]] = {}
    for result in results if kept else ():
        is_called = _producer(result)[0].opcode == "call"
        made_of = _call_argument(result, of_called) if is_called else _made_of(result, results)
        candidates[result] = [node for node in made_of if node in kept]
    readers = Counter(node for nodes in candidates.values() for node in nodes)
    found: dict[Node, Node] = {}
    for result, nodes in candidates.items():
        own = nodes if len(nodes) == 1 else [node for node in nodes if readers[node] == 1]
        if len(own) == 1:
            found[result] = own[0]
    counts = Counter(found.values())
    return {result: argument for result, argument in found.items() if counts[argument] == 1}


def gradients(function: Function, nodes: Sequence[Node]) -> dict[Node, Node]:
    """Return, by gradient, the argument that it is the gradient of.

    A call of a repeated function, or a kernel, gets the gradient together with the one argument that it updates. Other
    nodes also read the argument, which distinguishes it from a mean of gradients. ``nodes`` are the live nodes of the
    function.
    """
    readers: dict[Node, set[Node]] = {}
    for node in nodes:
        for operand in dependencies(node):
            readers.setdefault(operand, set()).add(node)
    by_kernels: dict[Node, list[Node]] = {}
    for result, argument in updates(function).items() if any(node.opcode == "kernel" for node in nodes) else ():
        by_kernels.setdefault(_producer(result)[0], []).append(argument)
    found: dict[Node, Node] = {}
    for call in nodes:
        called = call.parameters["function"] if call.opcode == "call" else None
        if called is not None and called.repeated:
            updated = [call.operands[called.parameters.index(argument)] for argument in updates(called).values()]
        elif call.opcode == "kernel":
            updated = by_kernels.get(call, [])
        else:
            continue
        read = [node for node in updated if is_argument(node) and len(readers[node]) > 1]
        given = [node for node in call.operands if read and node.shape == read[0].shape and node not in updated]
        given = [node for node in given if any(map(is_gradient, function.graph.results.get(node, ())))]
        if len(read) == len(given) == 1 and readers[given[0]] == {call}:
            found[given[0]] = read[0]
    return found


def _states(function: Function) -> set[Node]:
    """Return the parameters that may be states."""
    if function.repeated:
        return {*given_arguments(function)}
    if function.origin is not None:
        return set()  # the function works on blocks
    parameters = function.computation.parameters
    trains = any(map(is_gradient, function.computation.instructions))
    return {
        node
        for node in function.parameters
        if is_argument(node) and (trains or is_leaf(parameters[node.parameters["argument"]]))
    }


def _producer(node: Node) -> tuple[Node, int]:
    """Return the node that computes a value, and the value's index among its results."""
    return (node.operands[0], node.parameters["index"]) if node.opcode == "item" else (node, 0)


def _made_of(result: Node, results: Sequence[Node]) -> list[Node]:
    """Return the parameters of a result's shape that it is computed from element-wise, not through other results."""
    others = set(results) - {result}

    def same(node: Node) -> list[Node]:
        return [each for each in _read_by_element(node) if each.shape == result.shape and each not in others]

    return [node for node in reached([result], same) if node.opcode == "parameter"]


def _read_by_element(node: Node) -> Sequence[Node]:
    """Return the operands that a value is computed from element by element, also through a kernel."""
    producer, index = _producer(node)
    if producer.operation.changes:
        return producer.operands[:1]
    if producer.opcode != "kernel":
        return node.operands if node.operation.is_elementwise else ()
    operations: Function | None = producer.parameters["kernel"].stands_for
    if operations is None:
        return ()
    results = tree_nodes(operations.results)
    inner = _made_of(results[index], results)
    return [producer.operands[operations.parameters.index(parameter)] for parameter in inner]


def _call_argument(result: Node, of_called: dict[Function, dict[Node, Node]]) -> list[Node]:
    """Return the operand of a call whose next value is this result of the call, as a list of at most one.

    ``of_called`` caches the updates of called functions.
    """
    call, index = _producer(result)
    called: Function = call.parameters["function"]
    if called not in of_called:
        of_called[called] = updates(called)
    argument = of_called[called].get(called.flat_results[index])
    return [] if argument is None else [call.operands[called.parameters.index(argument)]]
