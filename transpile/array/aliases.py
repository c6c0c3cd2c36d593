"""Alias analysis: which results of a program may share memory with its arguments, its constants or each other.

A node may have the memory of other nodes: a view has its operand's, a loop-carried value that of its initial value.
Followed to the end, these edges lead to the sources of memory: arguments, constants, and operations that allocate an
array.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from .in_place import is_view
from .node import DeviceGroups, ForeignName, Node
from .program import Branch, Carry, Function, Loop, Program, tree_nodes
from .scalars import is_scalar_expression
from .support import Features

_COMBINING = frozenset(("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "collective_broadcast"))

Memory = Any  # a node, or a pair: a call, and memory within the called function


class Aliases:
    """The sources of memory that each result of a program's functions may have.

    For immutable arrays, only results that are the same object alias.
    """

    def __init__(self, program: Program, features: Features) -> None:
        self._features = features
        self._results: dict[Function, dict[Node, frozenset[Memory]]] = {}
        for function in program.functions:
            results = tree_nodes(function.results)
            self._results[function] = {node: frozenset(self._memory(node)) for node in results}

    def shared(self, function: Function) -> list[bool]:
        """Return for each result, in order, whether it may alias an argument, a constant or an earlier result, or may
        have memory that cannot be written.
        """
        found: list[bool] = []
        taken: dict[Memory, list[Node]] = {}  # the earlier results that may have this memory
        for node in tree_nodes(function.results):
            memory = self._results[function][node]
            others = (other for each in memory for other in taken.get(each, ()))
            is_shared = any(map(self._is_of_others, memory)) or not all(_are_apart(node, other) for other in others)
            found.append(is_shared)
            for each in memory if not is_shared else ():
                taken.setdefault(each, []).append(node)
        return found

    def memory(self, function: Function, result: Node) -> frozenset[Memory]:
        """Return the sources of memory that a result of a function may have."""
        return self._results[function][result]

    def is_given(self, node: Node, others: Set[Memory]) -> bool:
        """Return whether a node may have memory of an argument, of a constant or of ``others``, or memory that cannot
        be written.
        """
        return any(each in others or self._is_of_others(each) for each in self._memory(node))

    def handed_on(self, node: Node) -> set[Node]:
        """Return the nodes that a node may alias, including itself."""
        return self._followed(node)[0]

    def _memory(self, node: Node) -> list[Memory]:
        """Return the sources of memory that a node may have."""
        return self._followed(node)[1]

    def _followed(self, node: Node) -> tuple[set[Node], list[Memory]]:
        """Return the nodes that a node may alias, including itself, and the sources of memory that it may have."""
        carries: dict[Node, Carry | None] = {}
        waiting, seen = [node], {node}
        memory: list[Memory] = []
        while waiting:
            sources, own = self._sources(waiting.pop(), carries)
            memory += own
            waiting += (source for source in sources if source not in seen)
            seen.update(sources)
        return seen, memory

    def _sources(self, node: Node, carries: dict[Node, Carry | None]) -> tuple[list[Node], list[Memory]]:
        """Return the nodes whose memory a node may have, and the memory that originates in the node itself. Records the
        carries of loops that it meets in ``carries``, by their parameters: None for one whose array is the loop's own.
        """
        if node in carries:
            carry = carries[node]
            return [each for each in (carry.initial, carry.following) if each is not None] if carry else [], []
        if node.opcode == "item":
            return self._of_item(node, carries)
        if node.opcode == "call":
            return self._of_call(node, 0)
        if self._is_number(node):
            return [], []
        is_mutable = self._features.arrays_are_mutable
        if is_mutable and is_view(node) and not node.operation.is_read_only:
            return [node.operands[0]], []
        return (_returnable_operands(node) if is_mutable else []), [node]

    def _of_item(self, node: Node, carries: dict[Node, Carry | None]) -> tuple[list[Node], list[Memory]]:
        (whole,), index = node.operands, node.parameters["index"]
        if whole.opcode == "loop":
            loop: Loop = whole.parameters["loop"]
            carry = loop.carries[index]
            if loop.is_compiled and not loop.runs_once:  # copies the initial values of what it changes
                carries |= {c.parameter: c if c.following is c.parameter else None for c in loop.carries}
                return [carry.parameter if carry.following is None else carry.following], [node]
            carries.update((carry.parameter, carry) for carry in loop.carries)
            always_runs = loop.runs_once or (loop.is_fixed and loop.trip_count > 0)
            sources = [carry.following] if always_runs else [carry.initial, carry.following]
            return [each for each in sources if each is not None] or [carry.initial], []
        if whole.opcode == "conditional":
            branches: tuple[Branch, ...] = whole.parameters["branches"]
            return [branch.results[index] for branch in branches], []
        if whole.opcode == "call":
            return self._of_call(whole, index)
        if whole.opcode == "parameter" or whole.operation.has_effect or _is_foreign(whole):
            return [], [node if _is_combined(whole) else whole]
        return _returnable_operands(whole), [node]

    def _of_call(self, call: Node, index: int) -> tuple[list[Node], list[Memory]]:
        """Return the operands that a result of the called function may alias, and the memory that it may have from
        within the function.
        """
        function: Function = call.parameters["function"]
        given = dict(zip(function.parameters, call.operands, strict=False))
        memory = self._results[function][function.flat_results[index]]
        return [given[each] for each in memory if each in given], [(call, each) for each in memory if each not in given]

    def _is_number(self, node: Node) -> bool:
        if node.opcode == "scalar" or is_scalar_expression(node):
            return True
        return self._features.elements_are_numbers and node.ndim == 0 and node.operation.is_light and is_view(node)

    def _is_of_others(self, memory: Memory) -> bool:
        """Return whether memory belongs to an argument, a constant or a function of the user's, or cannot be
        written.
        """
        while isinstance(memory, tuple):
            memory = memory[1]
        if not self._features.arrays_are_mutable:
            return bool(memory.opcode == "parameter")
        is_given = memory.opcode in ("parameter", "array") or _is_foreign(memory) or memory.operation.is_read_only
        return is_given or bool(memory.operation.has_effect and not _is_combined(memory))


def _are_apart(first: Node, second: Node) -> bool:
    """Return whether two nodes are disjoint parts of one array: its real and its imaginary part, or slices of which one
    ends along some axis before the other begins.
    """
    if {first.opcode, second.opcode} == {"real", "imag"}:
        return first.operands == second.operands
    whole = first.operands[0] if first.opcode == "getitem" else None
    if whole is None or second.opcode != "getitem" or second.operands[0] is not whole:
        return False
    indices = ([item for item in node.parameters["index"] if item is not None] for node in (first, second))
    for one, other, size in zip(*indices, whole.shape, strict=False):
        left, right = _places(one, size), _places(other, size)
        if left and right and (left[-1] < right[0] or right[-1] < left[0]):
            return True
    return False


def _places(item: Any, size: int) -> range:
    """Return the positions along an axis that an index item selects, in ascending order; an empty range if they are
    unknown.
    """
    if isinstance(item, int):
        return range(item, item + 1)
    places = range(*slice(*item).indices(size)) if isinstance(item, tuple) and len(item) == 3 else range(0)
    return places if places.step > 0 else places[::-1]


def _returnable_operands(node: Node) -> list[Node]:
    """Return the operands that an operation may return instead of a new array."""
    if node.opcode == "select" and node.ndim == 0:
        return [*node.operands[1:]]  # x if mask else y
    return [*node.operands] if node.operation.passes_on else []


def _is_combined(node: Node) -> bool:
    """Return whether a collective allocates its result because it combines arrays of several devices; other collectives
    may return the array that a device has sent.
    """
    if node.opcode != "collective" and not (node.opcode == "item" and node.operands[0].opcode == "collective"):
        return False
    given = (node if node.opcode == "collective" else node.operands[0]).parameters
    groups = given["keywords"].get("groups")
    is_alone = isinstance(groups, DeviceGroups) and min(map(len, groups.lists), default=1) < 2
    return given["method"] in _COMBINING and not is_alone


def _is_foreign(node: Node) -> bool:
    """Return whether the value comes from a function of the user's."""
    return isinstance(node.parameters.get("function"), ForeignName) or node.operation.asks_host
