"""Loops that are functions: all that is in them is compiled together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import dropwhile, zip_longest
from typing import Any

import numpy as np

from ....transpile.array.in_place import is_own_array, is_view
from ....transpile.array.intervals import exceeded
from ....transpile.array.node import Node, Region, Slot
from ....transpile.array.program import Function
from ....transpile.array.traversal import body_and_captured, dependencies, is_inside
from ....transpile.array.value import FULL
from ....transpile.emission.arrangement.assignments import mentions
from ....transpile.emission.expression import Renderer
from ....transpile.emission.functions.function_writer import FunctionWriter
from ....transpile.emission.naming.identifiers import Names
from ....transpile.emission.trees.types import ARRAY, BLOCK, SCALAR
from ....transpile.hlo.element_types import ElementType, from_dtype
from ....transpile.python.templates import Expression
from ..kernels import AS_BITS, fuses
from .renderer import NumbaRenderer
from .rounds import Last, RoundWriter
from .writer import COUNTERS, ElementWriter


class HeadWriter:
    """Writes the heads of compiled functions; ``kinds`` collects the kinds of types in them."""

    def __init__(self, renderer: Renderer, has_blocks: bool, kinds: set[str]) -> None:
        self.renderer = renderer
        self.has_blocks = has_blocks
        self.kinds = kinds

    def head(self, name: str, parameters: Mapping[str, Sequence[int]], results: Sequence[Sequence[int]]) -> str:
        """Return the head of a function: ``parameters`` has the shapes of its arrays by name, ``results`` those of its
        results.
        """
        typed = [(parameter, self._kind(shape)) for parameter, shape in parameters.items()]
        returned = tuple(map(self._kind, results))
        return self.renderer.statement("define", name, typed, [], [], returned[0] if len(returned) == 1 else returned)

    def _kind(self, shape: Sequence[int]) -> str:
        kind = BLOCK if self.has_blocks else ARRAY if shape else SCALAR
        self.kinds.add(kind)
        return kind


# Made where the loop begins: numbers, and new arrays.
_MADE_INSIDE = frozenset("literal integer empty full zeros ones".split())


class LoopRenderer(Renderer):
    """Macros of compiled loops: NumPy's, and those of kernels for scalars, since Numba has no NumPy scalar types."""

    owns_carried_arrays = True
    combines_in_place = False  # what is stored has a type of its own

    def __init__(self, beside: Renderer, elements: NumbaRenderer, loop: Node, uses: Mapping[Node, int]) -> None:
        """``uses`` are those of the nodes in the ``loop``."""
        self.elements = elements
        self.region: Region = loop.parameters["loop"].region
        self.uses = uses
        self.handed_on = _handed_on(loop)
        super().__init__(beside.folder, beside.namespace, beside=beside)

    def render(self, node: Node, operands: Sequence[Expression]) -> Expression:
        is_number = not node.ndim and not node.is_python_int and not any(operand.ndim for operand in node.operands)
        if is_number and node.opcode != "kernel" and (fuses(node) or node.opcode == "scalar"):
            return self.elements.render(node, operands)
        if node.opcode == "matmul":  # BLAS would copy what lies apart, and Numba warns of it
            given = zip(node.operands, operands, strict=True)
            operands = [self._together(text) if _lies_apart(operand) else text for operand, text in given]
        if node.opcode == "reshape" and not is_own_array(node.operands[0]):  # Numba's must be side by side
            operands = [self._together(operands[0])]
        if node.opcode in ("full", "ones") and node.type.name in AS_BITS:
            operands = [self.stored_value(node.operands[0], operands[0])]
            return self.expression("full", node, *operands)
        text = super().render(node, operands)
        is_element = node.opcode == "getitem" and not node.ndim
        return self.elements.loaded(text, node.operands[0]) if is_element else text

    def number_macro(self, node: Node, function: Function) -> str:
        """Return the macro of a choice of Python ints; macros of kernels write all others."""
        return super().number_macro(node, function) if node.is_python_int else ""

    def is_bounded_place(self, node: Node, users: Sequence[Node | None]) -> bool:
        return False

    def dtype(self, element_type: ElementType) -> str:
        return self.elements.stored_dtype(element_type)

    def stored_value(self, node: Node, text: Expression) -> Expression:
        return text if node.ndim or node.element_type is None else self.elements.stored(text, node.type)

    def _together(self, text: Expression) -> Expression:
        return self.elements.expression("together", text)

    def statement(self, name: str, *arguments: Any) -> str:
        return "" if name == "typed_numbers" else super().statement(name, *arguments)

    def store(self, target: str, index: str, text: str, value: Node, items: Sequence[Any], shape: Sequence[int]) -> str:
        """Arrays are copied by a loop: an assignment of Numba's checks shapes, and compiles its strings for that."""
        places = sum(isinstance(item, int | Slot) for item in items)
        is_copied = value.ndim == len(shape) - places > 0 and not _is_repeated(value, items, shape)
        is_other = not mentions(text, {target}) or _is_another_part(value, items)
        is_line_or_matrix = value.ndim <= 2  # others must be contiguous
        if not (is_copied and is_other) or not (is_line_or_matrix or len(items) == places):
            return super().store(target, index, text, value, items, shape)
        part = self.elements.expression("item", target, [index])
        return self.elements.statement("copy_into", self.elements.called_function("copy_into"), part, text)

    def begun(self, node: Node, text: Expression) -> Expression:
        """Return the initial value of a carry: an integer has the type that it has in later iterations."""
        return self._with_type(node, text) if node.is_literal or not text.isidentifier() else text

    def _with_type(self, node: Node, text: Expression) -> Expression:
        """Return an integer literal, or a choice between such, with its type."""
        numbers = node.operands[1:] if node.opcode == "select" and not node.ndim else (node,)
        is_plain = all(each.is_literal and not each.is_python_int and each.type.is_integral for each in numbers)
        has_type = node is numbers[0] and not text.lstrip("-").isdigit()
        return self.elements.cast(text, node.type) if is_plain and not has_type else text

    def held(self, node: Node, text: Expression) -> Expression:
        """Return the text of a value that gets a name: a view of an array that iterations write into is copied."""
        if node.opcode == "select" and not node.ndim:
            return self._with_type(node, text)
        source = node
        while node.ndim and is_view(source):
            source = source.operands[0]
        changes = source is not node and is_inside(source.region, self.region)
        is_copied = node.opcode == "reshape" and _is_turned(node.operands[0])
        is_own = is_copied or (node.opcode == "reshape" and self._ends(node.operands[0]) and node not in self.handed_on)
        return self.expression("copy", node, text) if changes and not is_own else text

    def _ends(self, node: Node) -> bool:
        """Return whether an array is made in the iteration, and read in one place alone. What was changed to it, or
        copied for that, is not read later.
        """
        base = node
        while base.operation.changes or (base.opcode == "reshape" and self.uses[base.operands[0]] == 1):
            base = base.operands[0]
        is_made = is_own_array(base) or _is_turned(base)
        return is_made and base.region is node.region and self.uses[node] == 1

    def own_globals(self) -> dict[str, Any]:
        return {"is_compiled": True}

    def typed_literal(self, value: np.ndarray, element_type: ElementType) -> Expression:
        if element_type.is_unsigned:  # beside a number without a type it would be signed, and beside that a float
            return self.elements.cast(self.elements.plain_number(value), element_type)
        return self.elements.typed_literal(value, element_type)

    def weak_literal(self, value: np.ndarray) -> Expression:
        return self.typed_literal(value, from_dtype(value.dtype))


def _is_repeated(node: Node, items: Sequence[Any], shape: Sequence[int]) -> bool:
    """Return whether a part of an array of this ``shape``, at the ``items`` of an index, may have more elements."""
    if None in items:
        return True
    pairs = zip_longest(items, shape, fillvalue=FULL)
    sizes = [size if item == FULL else None for item, size in pairs if not isinstance(item, int | Slot)]
    return any(own == 1 != size for own, size in zip(node.shape, sizes, strict=True))


def _is_another_part(node: Node, items: Sequence[Any]) -> bool:
    """Return whether a node is a row or column of an array other than the one at the ``items`` of an index."""
    if node.opcode != "getitem" or len(node.parameters["index"]) != len(items):
        return False
    trios = zip(node.parameters["index"], items, node.operands[0].shape, strict=False)
    return any(isinstance(a, int) and isinstance(b, int) and (a - b) % size for a, b, size in trios)


def _handed_on(loop: Node) -> set[Node]:
    """Return what the loop and those in it begin with and carry to the next iteration, and what branches give, with
    the arrays that are changed to these.
    """
    body, _ = body_and_captured(loop)
    waiting = [part for node in (loop, *body) if node.opcode in ("loop", "conditional") for part in dependencies(node)]
    found: set[Node] = set()
    while waiting:
        node = waiting.pop()
        found.add(node)
        waiting += node.operands[: int(node.operation.changes)]
    return found


def _is_turned(node: Node) -> bool:
    """Return whether an array is a view with axes in another order: its elements get side by side in a new array."""
    if node.opcode != "transpose":
        return False
    longer = [axis for axis in node.parameters["axes"] if node.operands[0].shape[axis] > 1]
    return longer != sorted(longer)


def _lies_apart(node: Node) -> bool:
    """Return whether an array is a view whose elements, or rows, are not contiguous."""
    while node.ndim and is_view(node):
        if node.opcode == "getitem":
            rest = dropwhile(lambda item: isinstance(item, int | Slot), node.parameters["index"])
            first = next(rest, FULL)
            is_stretch = first == FULL or (isinstance(first, tuple) and first[2] in (None, 1))
            if not is_stretch or any(item != FULL for item in rest):
                return True
        node = node.operands[0]
    return False


def _is_number_of(node: Node) -> bool:
    """Return whether a node is a scalar at a known position of a parameter."""
    return node.opcode == "getitem" and not node.ndim and [x.opcode for x in node.operands] == ["parameter"]


class LoopWriter:
    """Writes the functions of loops; ``texts`` are the finished ones."""

    def __init__(
        self, renderer: Renderer, elements: NumbaRenderer, heads: HeadWriter, annotate: str, reserved: Set[str]
    ) -> None:
        """``reserved`` are what functions may call: nothing in them has such a name."""
        self.renderer = renderer
        self.elements = elements
        self.heads = heads
        self.annotate = annotate
        self.reserved = reserved
        self.texts: list[str] = []
        self.shapes: dict[str, dict[str, Sequence[int]]] = {}  # of the parameters of functions
        self.module_names: Names | None = None
        self.rounds: RoundWriter | None = None  # of the loop that is being written

    def compile(self, writer: FunctionWriter, node: Node) -> None:
        """Write the function of a loop, and its call in place of the loop."""
        assert self.module_names is not None
        self._name_what_it_reads(writer, node)
        given = sorted(writer.reads.of(node), key=writer.positions.__getitem__)
        arguments = [(writer.texts[read], read) for read in given]
        taken = set(writer.names.taken)
        writer.names.taken |= self.reserved
        parameters: list[str] = []
        for text, read in arguments:
            is_free = text.isidentifier() and text not in parameters and text not in self.reserved
            parameters.append(str(text) if is_free else writer.names.fresh(writer.wanted.of_argument(read)))
        writer.texts.update((read, Expression(name)) for read, name in zip(given, parameters, strict=True))
        results = [part for _, part in sorted(writer.items.get(node, {}).items())]
        lines = self._lines(writer, node, parameters)
        names = [writer.texts[part] for part in results]
        lines.append(self.elements.statement("return_results", names))
        is_whole = node.parameters["loop"].runs_once
        wanted = "compiled_main" if is_whole else f"{names[-1]}_loop"
        writer.names.taken.update(text for text, _ in arguments)
        own = self.module_names.fresh(writer.names.free(wanted))
        self.shapes[own] = {parameter: read.shape for read, parameter in zip(given, parameters, strict=True)}
        body, _ = body_and_captured(node)
        types = {part.type for part in body if part.element_type is not None}
        has_floats = any(kind.is_floating or kind.is_complex for kind in types)
        head = self.heads.head(own, self.shapes[own], [part.shape for part in results])
        self.texts.append(self.renderer.statement("kernel_function", head, has_floats, False, [], lines))
        writer.names.taken = taken | {*names, own}
        writer.texts.update((read, text) for text, read in arguments)
        given_arrays = self._copied(parameters, arguments)
        call = self.renderer.expression("call_of_loop", own, given_arrays, results)
        if results == [writer.plan.only_result]:
            writer.texts[results[0]] = call
            return
        writer.assign(names, call, node)
        writer.bind_results(results if len(results) > 1 else [], results)

    def _copied(
        self, parameters: Sequence[str], arguments: Sequence[tuple[Expression, Node]]
    ) -> list[tuple[Expression, Node]]:
        """Return the arguments of a call, with copies of the arrays that the loop updates."""
        assert self.rounds is not None
        copied, pairs = self.rounds.copied, zip(parameters, arguments, strict=True)
        return [
            (self.renderer.expression("copy", node, text) if name in copied else text, node)
            for name, (text, node) in pairs
        ]

    def kernel(self, writer: FunctionWriter, node: Node) -> None:
        """Write the lines of a kernel among those of the loop around it."""
        assert self.rounds is not None
        self.rounds.kernel(node)

    def numbers(self, writer: FunctionWriter, node: Node) -> bool:
        """Write the elements of a small array as scalars among the lines of the loop around it."""
        rounds = writer.control_flow
        return isinstance(rounds, RoundWriter) and rounds.numbers(node)

    def overwrite(self, writer: FunctionWriter, name: str, source: str, node: Node) -> bool:
        """Copy an array that gets another name, if the next iteration overwrites it; return whether it does."""
        rounds = writer.control_flow
        return isinstance(rounds, RoundWriter) and rounds.overwrite(name, source, node)

    def change(self, node: Node, name: str) -> bool:
        """Let the kernel before a change write into the array ``name`` directly; return whether that is possible."""
        return self.rounds is not None and self.rounds.change(node, name)

    def scatter(self, node: Node, name: str, begin: int) -> None:
        """Write the lines of a scatter among those of the loop around it, whose number was ``begin`` before its
        statement.
        """
        assert self.rounds is not None
        ScatterWriter(self.rounds).write(node, name, begin)

    def _lines(self, writer: FunctionWriter, node: Node, parameters: Sequence[str]) -> list[str]:
        """Return the lines of a loop as the body of a function."""
        outside = writer.lines, writer.indent, writer.renderer, writer.control_flow
        inside = LoopRenderer(self.renderer, self.elements, node, writer.plan.uses)
        self.rounds = RoundWriter(writer, node, self.elements, self.annotate)
        self.rounds.known.update(parameters)
        writer.lines, writer.indent, writer.renderer, writer.control_flow = [], 1, inside, self.rounds
        writer.allocation.shares = False
        self.rounds.lines_of_loop(node)
        made = writer.lines
        writer.lines, writer.indent, writer.renderer, writer.control_flow = outside
        writer.allocation.shares = True
        statement = self.elements.statement
        lines = ["    " * (line.indent - 1) + statement("commented", line.text, line.comment) for line in made]
        return [*self.rounds.buffers.lines, *lines]

    def _name_what_it_reads(self, writer: FunctionWriter, node: Node) -> None:
        """Compute what the loop reads before the loop."""
        _, captured = body_and_captured(node)
        for read in (*node.operands, *captured):
            (source,) = read.operands if read.opcode == "copy" else (read,)
            is_made_inside = source.opcode in _MADE_INSIDE or _is_number_of(source)
            if not is_made_inside and source not in writer.plan.named and source not in writer.texts:
                writer.fitting.cut(source, node)
                writer.statement(source)


# -- the lines of scatters


class ScatterWriter:
    """Writes loops over the axes of the indices, the test whether an index is inside, and loops over window axes."""

    def __init__(self, rounds: RoundWriter) -> None:
        self.rounds = rounds
        self.writer, self.kept = rounds.function_writer, rounds.names_of_author
        self.statement, self.expression = rounds.elements.statement, rounds.elements.expression
        self.values: dict[Node, Expression] = {}  # operands that the loop computes element by element

    def write(self, node: Node, name: str, begin: int) -> None:
        """Write the lines that apply a scatter to the array ``name``, and compute in the same loop what kernels before
        line ``begin`` computed for it alone.
        """
        x, value, *indices = node.operands
        computed = self.rounds.taken_back(node, name, begin)
        known = {part for last in computed for part in last.arrays}
        given, *places = [Expression("") if each in known else self._named(each) for each in node.operands[1:]]
        letters = (letter for letter in COUNTERS if letter not in {*self.writer.names.taken, *self.kept})
        batch = np.broadcast_shapes(*(index.shape for index in indices))
        window = x.shape[len(indices) :]
        counters = [next(letters, f"index_{k}") if size > 1 else "0" for k, size in enumerate((*batch, *window))]
        outside, own = self.writer.indent, set(counters) - self.writer.names.taken
        self.writer.names.taken |= own
        self._open(counters[: len(batch)], batch)
        of_value = [last for last in computed if [*last.arrays] == [value]]
        self._compute([last for last in computed if last not in of_value], counters[: len(batch)])
        at = [self._element(text, index, counters[: len(batch)]) for text, index in zip(places, indices, strict=True)]
        if tests := list(self._tests(at, node)):
            self._begin(self.statement("begin_if", tests))
        self._open(counters[len(batch) :], window)
        self._compute(of_value, counters)
        target = self.expression("item", name, [*at, *counters[len(batch) :]])
        combiner = node.parameters["ufunc"].opcode if node.parameters["ufunc"] is not None else None
        self.writer.line(self.statement("combine", node, combiner, target, self._element(given, value, counters)))
        self.writer.indent = outside
        self.writer.names.taken -= own

    def _compute(self, kernels: Sequence[Last], counters: Sequence[str]) -> None:
        """Write the lines of kernels at the element that the counters say."""
        rounds, writer = self.rounds, self.writer
        for last in kernels:
            kernel = last.kernel.parameters["kernel"]
            element = ElementWriter(
                kernel, rounds.elements, writer.names, rounds.annotate, writer.constants, writer.source_names
            )
            element.known, element.indent = rounds.known, writer.indent
            parts = writer.items.get(last.kernel, {}) if last.kernel.results else {0: last.kernel}
            order = [parts[number] for number in range(len(kernel.outputs))]
            own = _along(kernel.loop, counters)
            values = element.values_at(own, last.inputs, [last.arrays[part] for part in order])
            writer.lines += element.lines
            self.values.update(zip(order, values, strict=True))

    def _named(self, node: Node) -> Expression:
        """Return the text of an operand that is read several times, or while the array changes: its name."""
        writer = self.writer
        text = writer.value_text(node)
        if node in writer.texts or node.is_literal or node.is_python_int or text.isidentifier():
            return text
        name = Expression(writer.names.fresh(writer.wanted.of(node)))
        writer.line(writer.definition(node, name, text), node)
        return name

    def _open(self, counters: Sequence[str], shape: Sequence[int]) -> None:
        for counter, size in zip(counters, shape, strict=True):
            if size > 1:
                self._begin(self.statement("for_axis", counter, size))

    def _begin(self, text: str) -> None:
        self.writer.line(text)
        self.writer.indent += 1

    def _element(self, text: Expression, node: Node, counters: Sequence[str]) -> Expression:
        """Return an element of an array that is broadcast to the axes of these counters."""
        if node in self.values:
            return self.values[node]
        return self.expression("item", text, _along(node.shape, counters))

    @staticmethod
    def _tests(texts: Sequence[str], node: Node) -> Iterator[tuple[str, int | None, int]]:
        """Yield the indices that may be out of range: text, the least index if some may be below, size of the axis."""
        x, _, *indices = node.operands
        for text, index, size, from_end in zip(texts, indices, x.shape, node.parameters["from_end"], strict=False):
            least, limit = exceeded(index, size, from_end=from_end)
            if (least, limit) != (None, None):
                yield text, least, size


def _along(shape: Sequence[int], counters: Sequence[str]) -> list[str]:
    """Return the counters of the axes of an array that is broadcast to those of all counters."""
    own = counters[len(counters) - len(shape) :]
    return ["0" if size == 1 else counter for counter, size in zip(own, shape, strict=True)]
