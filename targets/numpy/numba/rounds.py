"""The lines of a loop that is compiled as a whole: its arrays are made before the first round, and none in any other.

What a round computes of elements elsewhere in an array goes into a second one, and is copied from there: arrays that
changed places would be slower, as LLVM could not tell them apart. A part of an array that changes is copied as well,
where it gets a name: so nothing changes that is still to be read.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ....transpile.array.in_place import is_own_array
from ....transpile.array.node import Node, Region, Slot
from ....transpile.array.program import Branch, Carry, Loop, Store, tree_nodes
from ....transpile.array.scalars import is_matrix, is_row
from ....transpile.array.traversal import is_inside, topological
from ....transpile.array.value import FULL
from ....transpile.dataclass import dataclass
from ....transpile.emission.arrangement.assignments import mentions
from ....transpile.emission.functions.control_flow import ControlFlowWriter
from ....transpile.emission.functions.function_writer import FunctionWriter
from ....transpile.kernels.index_maps import identity
from ....transpile.kernels.kernel import Kernel
from ....transpile.kernels.operations import takes_long_alone
from ....transpile.python.templates import Expression
from .line_writer import LineNestWriter
from .placed_changes import cut, written_in_place
from .renderer import NumbaRenderer, Row
from .writer import Buffers, NestWriter, readable_lines


@dataclass(slots=True)
class Last:
    """A kernel that was written last: its lines, and the state of the writer before it."""

    kernel: Node
    start: int
    taken: set[str]
    buffers: Buffers
    end: int = 0
    bound: set[str] = field(default_factory=set)  # the names that it has taken
    inputs: list[Expression] = field(default_factory=list)
    arrays: dict[Node, str] = field(default_factory=dict)  # of results that have an array of their own


class RoundWriter(ControlFlowWriter):
    """Writes the iterations of a loop, and of the loops in it."""

    def __init__(self, writer: FunctionWriter, loop: Node, elements: NumbaRenderer, annotate: str) -> None:
        super().__init__(writer)
        self.function_writer = writer
        self.whole = loop
        self.region: Region = loop.parameters["loop"].region
        self.readable = writer.renderer
        self.elements = elements
        self.annotate = annotate
        self.buffers = Buffers(elements)
        self.known: set[str] = set()  # the names of arguments, and of copies of these
        self.copied: set[str] = set()  # the names of arguments that the loop changes: its caller copies them
        self.stores: dict[Node, list[Store]] = {}  # by what is stored
        self.last: Last | None = None
        self.recent: list[Last] = []  # the kernels whose lines follow each other, and the last one
        named = writer.plan.user_names
        self.names_of_author = frozenset(named.values())  # names, of which counters of elements take none
        self.names_of_arrays = frozenset(name for node, name in named.items() if node.ndim)  # made before all loops

    def lines_of_loop(self, node: Node) -> None:
        loop: Loop = node.parameters["loop"]
        for store in loop.stores:
            self.stores.setdefault(store.value, []).append(store)
        super().lines_of_loop(node)

    # -- what loops carry

    def beginning(self, node: Node, carry: Carry) -> Expression:
        text = super().beginning(node, carry)
        if not carry.parameter.ndim or carry.following is carry.parameter:
            return text
        own = self.writer.texts[carry.parameter]
        self.buffers.names.add(own)
        start = self.start(node, carry.initial)
        is_new = start.opcode == "copy" or (is_own_array(start) and start not in self.writer.texts)
        is_of_round = is_inside(start.region, self.region)  # the next round writes into the same array
        is_free = text == own if is_of_round else carry.following is None
        is_free = is_free or (is_own_array(start) and node.region is self.region and self._is_once(start))
        source = start.operands[0] if start.opcode == "copy" else start
        is_argument = node is self.whole and own in self.known and self.writer.texts.get(source) == own
        if is_argument and (start.opcode == "copy" or not (is_new or is_free)):
            self.copied.add(own)
            return own
        if text in self.known:
            self.known.add(own)
        return text if is_new or is_free else self._copy(start, text)

    def give_results(self, moves: Sequence[Carry]) -> None:
        """No next round follows: nothing is copied."""
        ControlFlowWriter.move(self, moves)

    def _is_once(self, node: Node) -> bool:
        """Return whether a node is computed once and read in one place."""
        is_once = self.whole.parameters["loop"].runs_once and node.region is self.region
        return is_once and self.function_writer.plan.uses[node] == 1

    def _copy(self, node: Node, text: Expression) -> Expression:
        return self.writer.renderer.expression("copy", node, text)

    def move(self, moves: Sequence[Carry]) -> None:
        self._overwrite(
            [(self.writer.texts[carry.parameter], carry.following) for carry in moves if carry.following is not None]
        )

    def _branch(self, node: Node, branch: Branch, targets: list[str]) -> None:
        """What a loop in a branch carries has no array where the branch is not taken."""
        before = set(self.buffers.names)
        super()._branch(node, branch, targets)
        self.buffers.names.intersection_update(before | self.buffers.made.keys())

    def common_results(self, node: Node, targets: Sequence[str], known: Container[int]) -> dict[int, Node]:
        """Numbers only: an array that has the name of its target would be overwritten by the other branches."""
        found = super().common_results(node, targets, known)
        return {k: result for k, result in found.items() if not result.ndim}

    def result_of_branch(self, pairs: Sequence[tuple[str, Node]]) -> None:
        self._overwrite(pairs)

    def _overwrite(self, pairs: Sequence[tuple[str, Node]]) -> None:
        """Assign the values of nodes to names in parallel: elements are copied into existing arrays."""
        waiting = [(name, self.writer.array_text(node), node) for name, node in pairs]
        waiting = [each for each in waiting if each[0] != each[1]]
        ready: list[tuple[str, Expression, Node]] = []
        while chosen := [each for each in waiting if each[2].ndim and not _is_read(each[0], waiting)]:
            ready += chosen[:1]
            waiting.remove(chosen[0])
        for name, text, node in ready:
            self._have(name, node)
            self._copy_into(name, self._copy(node, text) if mentions(text, {name}) else text)
        self.give([(name, self._copy(node, text) if node.ndim else text) for name, text, node in waiting])

    def overwrite(self, name: str, source: str, node: Node) -> bool:
        """Copy an array that iterations write into to the array of another name; return whether it is such an array."""
        if source not in self.buffers.names:
            return False
        self._have(name, node)
        self._copy_into(name, source)
        return True

    def _have(self, name: str, node: Node) -> None:
        """Allocate the array of a name if it does not exist; scalars need none."""
        if node.ndim and name not in self.buffers.names:
            self.buffers.make(name, node.shape, self.elements.stored_dtype(node.type))

    def _copy_into(self, name: str, text: str) -> None:
        function = self.elements.called_function("copy_into")
        self.writer.line(self.elements.statement("copy_into", function, name, text))

    def numbers(self, node: Node) -> bool:
        """Write a row of scalars, or a matrix of such rows, element by element; return whether the node is one. A row
        with a name is read.
        """
        row = node.operands[0] if is_matrix(node) and node.operands[0] not in self.function_writer.texts else node
        if not is_row(row):
            return False
        writer = self.function_writer
        values = [writer.value_text(operand) for operand in row.operands]
        name = writer.texts.get(node)
        written = Expression(writer.names.fresh(f"next_{name}" if name else writer.wanted.of(node)))
        self._have(written, node)
        for place, value in zip(np.ndindex(node.shape), values, strict=True):
            writer.line(self.elements.statement("element", written, place, value), node)
        if name is not None:
            self._have(name, node)
            self._copy_into(name, written)
        writer.texts[node] = name or written
        return True

    # -- kernels

    def kernel(self, node: Node, row: Row | None = None, placed: tuple[Kernel, list[Node]] | None = None) -> None:
        """Write the lines of a kernel below its readable lines. A kernel that is ``placed`` writes its result into a
        ``row``.
        """
        writer = self.function_writer
        kernel, within = cut(*placed) if placed is not None else (node.parameters["kernel"], {})
        if self.last is not None and self.last.end != len(writer.lines):
            self.recent.clear()
        inputs = [self._input(operand) for operand in node.operands]
        self.last = Last(node, len(writer.lines), set(writer.names.taken), self.buffers.copy(), inputs=inputs)
        self.recent.append(self.last)
        parts = writer.items.get(node, {}) if node.results else {0: node}
        kind = LineNestWriter if kernel.by_lines else NestWriter
        nest = kind(kernel, self.elements, writer.names, self.annotate, writer.constants, writer.source_names)
        nest.within, nest.no_counters = within, self.names_of_author
        places: list[tuple[Expression, Expression]] = [(row, row)] if row is not None else []
        unnamed = [part for part in parts.values() if part not in writer.texts]
        places = places or [self._place(nest, k, parts[k], inputs) for k in range(len(kernel.outputs))]
        self.last.arrays.update(
            (part, writer.texts[part]) for part in unnamed if writer.texts[part] in self.buffers.made
        )
        for text in readable_lines(kernel, writer, self.readable, inputs, [name for name, _ in places]):
            writer.line(self.elements.statement("note", text))
        nest.use(inputs, [written for _, written in places], self.buffers, self.known)
        nest.indent = writer.indent
        nest.write_nest()
        writer.lines += nest.lines
        writer.names.taken.difference_update(nest.counters.values())
        for name, written in places:
            if name != written and written in self.buffers.names:
                self._copy_into(name, written)
        self.give([(name, written) for name, written in places if written not in self.buffers.names])
        self.last.end = len(writer.lines)
        self.last.bound = writer.names.taken - self.last.taken

    def change(self, change: Node, name: str) -> bool:
        """Let the kernel before a change write into the array ``name`` directly; return whether that is possible."""
        last, writer = self.last, self.function_writer
        if change.opcode != "setitem" or last is None or last.kernel is not change.operands[1]:
            return False
        kernel = last.kernel
        texts = {operand: self._input(operand) for operand in kernel.operands}
        is_alone = writer.plan.uses[kernel] == 1 and last.end == len(writer.lines)
        placed = written_in_place(kernel, change, {**writer.texts, **texts}, name) if is_alone else None
        if placed is None:
            return False
        del writer.lines[last.start :]
        self.buffers, writer.names.taken = last.buffers, last.taken
        places = ["", "", *map(self.writer.text, change.operands[2:])]
        index = self.readable.index_of(change.parameters["index"], places, change.shape)
        row = Row.of(f"{name}[{index}]", name, self._items(change.parameters["index"], places))
        self.kernel(kernel, row, placed)
        return True

    def taken_back(self, node: Node, name: str, begin: int) -> list[Last]:
        """Remove the kernels that were written just before line ``begin`` and whose results only a scatter into the
        array ``name`` reads, element by element; return them in order.
        """
        found: list[Last] = []
        while self.recent and self.recent[-1].end == begin and self._is_of_scatter(self.recent[-1], node, name):
            found.insert(0, self.recent.pop())
            begin = found[0].start
        for last in found:
            self.function_writer.names.taken -= last.bound
            for part, array in last.arrays.items():
                self.buffers.drop(array)
                del self.writer.texts[part]
        if found:
            del self.function_writer.lines[begin : found[-1].end]
            self.last = None
        return found

    def _is_of_scatter(self, last: Last, node: Node, name: str) -> bool:
        kernel: Kernel = last.kernel.parameters["kernel"]
        _, *given = node.operands
        value, *indices = given
        batch = np.broadcast_shapes(*(index.shape for index in indices))
        shapes = {batch if part in indices else value.shape for part in last.arrays}
        is_own = len(last.arrays) == len(kernel.outputs) and all(
            given.count(part) == 1 and self.function_writer.plan.uses[part] == 1 for part in last.arrays
        )
        is_plain = not kernel.by_lines and not kernel.has_loop and kernel.at == [identity(kernel.loop)] * len(kernel.at)
        is_fast = not any(map(takes_long_alone, topological(tree_nodes(kernel.function.results))))
        return is_own and is_plain and is_fast and shapes == {kernel.loop} and not _mentions(last.inputs, name)

    def _input(self, operand: Node) -> Expression:
        text = self.writer.text(operand)
        if operand in self.writer.texts or operand.opcode != "getitem" or not operand.ndim:
            return text
        array, *indices = operand.operands
        items = self._items(operand.parameters["index"], ["", *map(self.writer.text, indices)])
        return Row.of(text, self.writer.text(array), items)

    @staticmethod
    def _items(index: Sequence[Any], texts: Sequence[str]) -> list[str | None]:
        known = [texts[item.index] if isinstance(item, Slot) else item for item in index]
        return [str(item) if isinstance(item, int | str) and item != FULL else None for item in known]

    def _place(self, nest: NestWriter, number: int, part: Node, inputs: Sequence[str]) -> tuple[Expression, Expression]:
        """Return the name of a kernel's result, and the array that the kernel writes it into."""
        writer = self.function_writer
        name = writer.texts.get(part)
        row = self._row(part) if name is None else None
        if row is not None:
            writer.written_rows.add(part)
            writer.texts[part] = row
            return row, row
        if name is not None and (nest.may_replace(number, name, inputs) or not _mentions(inputs, name)):
            self._have(name, part)
            return name, name
        written = Expression(writer.names.fresh(f"next_{name}" if name else writer.wanted.of(part)))
        self._have(written, part)
        writer.texts[part] = name or written
        return name or written, written

    def _row(self, part: Node) -> Row | None:
        """Return the row of a stacked output that a result is stored in; None if the result is used elsewhere, too."""
        stores = self.stores.get(part, [])
        if not part.ndim or len(stores) != 1 or self.function_writer.plan.uses[part] != 1:
            return None
        (store,) = stores
        if any(item != FULL and not isinstance(item, int | Slot) for item in store.index):
            return None
        if any(not index.is_python_int for index in store.indices):
            return None
        texts = ["", "", *map(self.writer.text, store.indices)]
        array = self.writer.texts[store.carry.parameter]
        index = self.writer.renderer.index_of(store.index, texts, store.carry.parameter.shape)
        return Row.of(f"{array}[{index}]", array, self._items(store.index, texts))


def _mentions(texts: Iterable[str], name: str) -> bool:
    return any(mentions(text, {name}) for text in texts)


def _is_read(name: str, pairs: Iterable[tuple[str, Expression, Node]]) -> bool:
    """Return whether another pair's value is computed from the array ``name``."""
    return _mentions((text for other, text, _ in pairs if other != name), name)
