"""The lines of a kernel over elements: a loop for each axis, in the order of memory."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from ....transpile.array.intervals import fits
from ....transpile.array.node import Node, literal_value
from ....transpile.array.program import tree_nodes
from ....transpile.array.traversal import topological
from ....transpile.emission.arrangement.assignments import mentions
from ....transpile.emission.expression import Renderer
from ....transpile.emission.functions.function_writer import FunctionWriter
from ....transpile.emission.kernels.kernel_writer import KernelFitting, KernelWriter
from ....transpile.emission.naming.identifiers import Names
from ....transpile.kernels.index_maps import Index, Map, identity
from ....transpile.kernels.kernel import Kernel
from ....transpile.python.grammar import ATOM, CHOICE, PRIMARY
from ....transpile.python.templates import Expression
from ..kernels import AS_BITS
from .renderer import NumbaRenderer, Row


class Buffers:
    """Arrays that are ``made`` once, before the first iteration of a loop, by ``lines``; ``names`` are those of all
    arrays of the loop that may be written into.
    """

    def __init__(self, renderer: NumbaRenderer) -> None:
        self.renderer = renderer
        self.names: set[str] = set()
        self.made: dict[str, str] = {}

    @property
    def lines(self) -> list[str]:
        return [*self.made.values()]

    def make(self, name: str, shape: Sequence[int | str], dtype: str) -> None:
        """Allocate an array without initializing it."""
        self.names.add(name)
        self.made[name] = self.renderer.statement("new_array", name, tuple(shape), dtype)

    def drop(self, name: str) -> None:
        """Leave out an array that nothing reads any more."""
        self.names.remove(name)
        del self.made[name]

    def copy(self) -> Buffers:
        """Return a copy of the state, to restore later."""
        made = Buffers(self.renderer)
        made.names, made.made = {*self.names}, {**self.made}
        return made


COUNTERS = "ijkmnp"  # no l, which looks like 1
_SHORT = range(8, 64)  # shorter loops are best written out; longer ones are not
_COMPUTED = Index()
Placed = tuple[str, tuple[int, ...], Map]  # an array, its shape, and where a step reads or writes it


class NestWriter(KernelWriter):
    """Writes the function of a kernel, which allocates its results."""

    renderer: NumbaRenderer

    def prepare(self) -> None:
        self.plan.named -= {n for n in self.plan.nodes if n.opcode == "read" and n not in self.results}
        self.axes = [axis for axis, size in enumerate(self.kernel.loop) if size > 1]
        self.counters: dict[int, str] = {}
        self.parameters: list[str] = []
        self.arrays: list[str] = []  # what results are called; one of rank 0 by its number
        self.given: dict[Node, str] = {}  # the texts of parameters
        self.known: Container[str] = self.parameters  # the names of arguments
        self.buffers: Buffers | None = None  # arrays of a loop around the kernel, instead of new ones
        self.within: dict[int, tuple[Node, ...]] = {}  # the bounds between which the loop goes along an axis
        self.no_counters: Container[str] = ()  # letters that are no counters: arrays of a loop around get them

    # -- names

    def name_arguments(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.arrays = [self.names.fresh(wanted) for wanted in outputs]
        self._name_counters()
        self.parameters = [self.names.fresh(wanted) for wanted in inputs]
        self.known = [*self.parameters, *self.given_arrays().values()]
        self.bind(self.parameters, self.arrays)

    def use(self, inputs: Sequence[str], arrays: Sequence[str], buffers: Buffers, known: Container[str]) -> None:
        """Write the lines into another function, with its names. ``known`` are names of its arguments, whose shapes
        LLVM does not know.
        """
        self.buffers, self.known = buffers, known
        self._name_counters()
        self.bind(inputs, arrays)

    def may_replace(self, number: int, name: str, inputs: Sequence[str]) -> bool:
        """Return whether a result may overwrite the array ``name`` that the kernel reads: each step reads only its own
        element, and no step reads it after the result.
        """
        own = [node for node, text in zip(self.function.parameters, inputs, strict=True) if mentions(text, {name})]
        result = self.results[number]
        if not result.ndim or len(own) != 1 or own[0].shape != self.kernel.loop or own[0] in self.kernel.whole:
            return False
        needed, reached = set(topological([result])), set(own)
        for node in self.plan.nodes:
            if any(operand in reached for operand in node.operands):
                if node not in needed:
                    return False
                if node not in self.plan.named:
                    reached.add(node)
        return not self.kernel.by_lines and not self.kernel.has_loop

    def _name_counters(self) -> None:
        letters = [*COUNTERS, *(f"index_{axis}" for axis in self.axes)]
        free = (letter for letter in letters if self.names.free(letter) == letter and letter not in self.no_counters)
        waiting = iter(free)
        self.counters = {axis: self.names.fresh(next(waiting)) for axis in self.axes}

    def bind(self, inputs: Sequence[str], arrays: Sequence[str]) -> None:
        """Bind the names of inputs and results."""
        self.arrays = list(arrays)
        self.given = dict(zip(self.function.parameters, inputs, strict=True))
        self.renderer.counters.clear()
        self.renderer.counters.update(self.counters)
        for node, name in zip(self.function.parameters, inputs, strict=True):
            is_element = node not in self.kernel.whole and node.shape == self.kernel.loop
            if node in self.kernel.whole:
                self.texts[node] = name if isinstance(name, Expression) else Expression(name)
            else:
                element = self.renderer.element(name, identity(node.shape) if is_element else ())
                self.texts[node] = self.renderer.loaded(element, node)
        if not self.kernel.has_loop:
            self.name_results()

    def _name(self, node: Node) -> Expression:
        return Expression(self.names.fresh("row")) if node.opcode == "read" else super()._name(node)

    def name_results(self) -> None:
        """Let the elements of results be computed in their place."""
        for k, node in enumerate(self.results):
            if self.is_stored_as_it_is(k):
                self.texts.setdefault(node, self.stored(k))

    def is_stored_as_it_is(self, number: int) -> bool:
        """Return whether a result is stored as its value, not as bits."""
        return not self.kernel.shapes[number] or self.results[number].type.name not in AS_BITS

    def store(self, number: int) -> None:
        """Store a result, unless it was computed in its place."""
        node, place = self.results[number], self.stored(number)
        text = self.texts.get(node) or self.text(node)
        if text != place:
            value = text if self.is_stored_as_it_is(number) else self.renderer.stored(text, node.type)
            self.line(self.renderer.statement("write_result", place, value), node)

    def stored(self, number: int) -> Expression:
        """Return the element of a result that a step writes."""
        at = self.kernel.at[number] if self.kernel.shapes[number] else ()
        return self.renderer.element(self.arrays[number], at)

    # -- lines

    def line(self, text: str, node: Node | None = None) -> None:
        if text:
            super().line(text, node)

    def texts_of_lines(self) -> list[str]:
        return ["    " * (line.indent - 1) + self._commented(line) for line in self.lines]

    def new_array(self, name: str, shape: Sequence[int | str], dtype: str) -> None:
        """Allocate an array without initializing it."""
        if self.buffers is not None:
            self.buffers.make(name, shape, dtype)
            return
        self.line(self.renderer.statement("new_array", name, tuple(shape), dtype))

    def new_results(self) -> None:
        """Allocate the arrays of the results."""
        for number, (name, node) in enumerate(zip(self.arrays, self.results, strict=True)):
            if self.makes(number):
                self.new_array(name, self.shape(number), self.renderer.stored_dtype(node.type))

    def shape(self, number: int) -> tuple[int | str, ...]:
        """Return the shape of a result; axes of blocks have the sizes of the arguments' axes."""
        sizes = zip(self.kernel.shapes[number], self.kernel.at[number], strict=True)
        return tuple(self.length(index.axis) if index.axis in self.kernel.cut else size for size, index in sizes)

    def length(self, axis: int | None) -> int | str:
        """Return the trip count along an axis; along an axis of blocks, the expression of an argument's size."""
        assert axis is not None
        size = self.kernel.loop[axis]
        if axis not in self.kernel.cut:
            return size
        array, own = told_by(read_at(self.kernel, self.given), axis, size, self.known)
        assert array, "a loop over blocks reads one as long as itself"
        return self.renderer.statement("size_along", array, own)

    def makes(self, number: int) -> bool:
        """Return whether the kernel allocates a result, which is an array."""
        return bool(self.kernel.shapes[number]) and number not in self.caller_allocated

    @property
    def caller_allocated(self) -> list[int]:
        """The numbers of the results that the caller allocates; none in a loop that has buffers."""
        return self.kernel.caller_allocated if self.buffers is None else []

    def given_arrays(self) -> dict[int, str]:
        """Return the names of the arrays that the caller allocates, by the number of the result."""
        return {number: self.arrays[number] for number in self.caller_allocated}

    @property
    def outermost(self) -> list[int]:
        """The axis of the outermost loop, if its iterations are independent."""
        return self.axes[:1]

    @property
    def in_threads(self) -> bool:
        """Whether the outermost loop runs in threads."""
        return self.kernel.parallel != "1" and bool(self.outermost) and self.buffers is None

    def open_outermost(self) -> int:
        """Open the outermost loop, in threads if it runs in threads; return the number of nested statements."""
        if not self.in_threads:
            return self.open(self.outermost)
        (axis,) = self.outermost
        statement, counter, size = self.renderer.statement, self.counters[axis], self.kernel.loop[axis]
        threads = size if self.kernel.parallel == "auto" else int(self.kernel.parallel)
        if threads >= size:
            self.line(statement("for_axis_in_threads", counter, size))
            self.indent += 1
            return 1
        part = self.names.fresh("part")
        self.line(statement("for_part", part, threads))
        self.indent += 1
        self.line(statement("for_axis_of_part", counter, size, part, threads))
        self.indent += 1
        return 2

    def open(self, axes: Iterable[int]) -> int:
        """Open loops over axes, and return their number."""
        count = 0
        for count, axis in enumerate(axes, 1):  # noqa: B007
            low, high = self.within.get(axis, (None, None))
            if low is None or high is None:
                self.line(self.renderer.statement("for_axis", self.counters[axis], self._size(axis)))
            else:
                start = int(literal_value(low)) if low.is_literal else self._count(low) or self.text(low)
                stop = self._count(high) or self.text(high)
                self.line(self.renderer.statement("for_range", self.counters[axis], start, stop, 1))
            self.indent += 1
        return count

    def _count(self, node: Node) -> Expression | None:
        """Return the text of a sum of counters without HLO's type, which LLVM knows not to wrap around; None for any
        other node.
        """
        if node.is_literal:
            return Expression(self.renderer.plain_number(literal_value(node)))
        if node.opcode == "read" and node.operands[0] in self.function.parameters:
            given = self.kernel.inputs[self.function.parameters.index(node.operands[0])]
            is_count = given.is_python_int and given.interval is not None and fits(given.interval, node.type)
            before, _, rest = self.text(node).partition("(")  # the conversion of a counter
            if not is_count or before != self.renderer.cast_name(node.type):
                return None
            counter = rest.removesuffix(")")
            return Expression(counter, ATOM if counter.isidentifier() else CHOICE)
        if node.opcode not in ("add", "subtract") or node.interval is None or node in self.texts:
            return None
        operands = [self._count(operand) for operand in node.operands]
        known = [each for each in operands if each is not None]
        return self.renderer.untyped(node, known) if len(known) == len(operands) else None

    def _size(self, axis: int) -> str:
        """Return the trip count along an axis, or an expression for it if it is unknown or LLVM should not know it."""
        size = self.length(axis)
        if isinstance(size, str) or self.renderer.sizes_are_free or not is_better_told(self.kernel.loop, axis):
            return str(size)
        written = zip(self.arrays, self.kernel.shapes, self.kernel.at, strict=True)
        array, own = told_by((*read_at(self.kernel, self.given), *written), axis, size, self.known)
        return self.renderer.statement("size_along", array, own) if array else str(size)

    def write(self) -> None:
        self.new_results()
        self.write_nest()
        self.line(self.renderer.statement("return_results", self.arrays))

    def write_nest(self) -> None:
        """Write the loops."""
        waiting = outer_indices(self.plan.nodes, self.kernel, self.axes)
        count = self.open_outermost()
        for depth, axis in enumerate(self.axes[1:], 1):
            for node in waiting.get(depth, ()):
                self.statement(node)
                self.plan.named.discard(node)
            count += self.open([axis])
        self.region(self.graph.root)
        for k in range(len(self.results)):
            self.store(k)
        self.indent -= count


class ElementWriter(NestWriter):
    """Writes the values of a kernel at one element, in a loop that is open already."""

    def values_at(self, counters: Sequence[str], inputs: Sequence[str], wanted: Sequence[str]) -> list[Expression]:
        """Write the lines of the element at these counters, and return the texts of its values, which get the names
        that are ``wanted``.
        """
        self.counters = {axis: counters[axis] for axis in self.axes}
        self.own_names = dict(zip(self.results, wanted, strict=True))
        self.bind(inputs, ())
        self.region(self.graph.root)
        return [self.text(node) for node in self.results]

    def name_results(self) -> None:
        """Give results names of their own."""

    def _name(self, node: Node) -> Expression:
        wanted = self.own_names.get(node)
        return super()._name(node) if wanted is None else Expression(self.names.fresh(wanted))


# -- indices of gathers, computed around the innermost loops


def outer_indices(nodes: Sequence[Node], kernel: Kernel, axes: Sequence[int]) -> dict[int, list[Node]]:
    """Return indices of gathers to compute outside of inner loops, by the number of loops over ``axes`` around them;
    ``nodes`` are those of the kernel in topological order.
    """
    depth: dict[Node, int] = {}
    for node in nodes:
        if node.opcode == "conditional":  # what its branches read is not among its operands
            depth[node] = len(axes)
            continue
        own = (axes.index(axis) + 1 for axis in _axes(node, kernel) if axis in axes)
        depth[node] = max((*own, *(depth.get(operand, len(axes)) for operand in node.operands)), default=0)
    root = kernel.function.graph.root
    gathers = [node for node in nodes if "strides" in node.parameters]
    given = [index for node in gathers for index in node.operands[1:] if depth[index] < depth[node]]
    needed, found = set(topological(given)), dict[int, list[Node]]()
    users: dict[Node, int] = {}
    for node in nodes:
        if node in needed or node in gathers:
            for operand in node.operands:
                users[operand] = users.get(operand, 0) + 1
    for node in nodes:
        is_used = node in given or (users.get(node, 0) > 1 and node.opcode != "read")
        if node in needed and node.operands and node.region is root and is_used:
            found.setdefault(max(depth[node], 1), []).append(node)
    return found


def _axes(node: Node, kernel: Kernel) -> Iterator[int | None]:
    """Yield the axes of the loop whose counter a node reads itself."""
    if node.opcode == "parameter" and node not in kernel.whole and node.shape == kernel.loop:
        yield from range(len(kernel.loop))
    yield from (index.axis for index in node.parameters.get("indices", ()) if index is not None)
    yield from (each.index.axis for test in node.parameters.get("tests", ()) for each in test)


# -- sizes of loops, by the shapes of arguments


def is_better_told(loop: Sequence[int], axis: int) -> bool:
    """Return whether the trip count along an axis should be hidden from LLVM, which would unroll the loop."""
    return loop[axis] in _SHORT and axis == max(each for each, steps in enumerate(loop) if steps > 1)


def told_by(arrays: Iterable[Placed], axis: int, size: int, known: Container[str]) -> tuple[str, int]:
    """Return an array whose size along an axis is the trip count of a loop's axis, with that axis; "" if there is none.

    ``arrays`` are those that a step reads or writes, ``known`` the names of arguments; the size of an axis of a block
    may be -1.
    """
    for array, shape, at in arrays:
        name = array.array if isinstance(array, Row) else array
        for own, index in enumerate(at):
            if name in known and index == Index(0, 1, axis) and shape[own] in (size, -1):
                return name, _axis_of(array, own)
    return "", 0


def read_at(kernel: Kernel, given: Mapping[Node, str]) -> Iterator[Placed]:
    """Yield the arrays that a kernel reads; ``given`` has the texts of its parameters, except for values that an inner
    loop carries.
    """
    for node in topological(tree_nodes(kernel.function.results)):
        if node.opcode in ("read", "gather", "guarded_gather"):
            array = node.operands[0]
            yield given[array], array.shape, tuple(index or _COMPUTED for index in node.parameters["indices"])
        elif node in given and node not in kernel.whole and node.shape == kernel.loop:
            yield given[node], node.shape, identity(node.shape)


def _axis_of(array: str, axis: int) -> int:
    """Return the axis of an array that is an axis of a row of it."""
    if not isinstance(array, Row):
        return axis
    whole = [k for k, item in enumerate(array.items) if item is None]
    return whole[axis] if axis < len(whole) else len(array.items) + axis - len(whole)


def readable_lines(
    kernel: Kernel, caller: FunctionWriter, renderer: Renderer, inputs: Sequence[str], outputs: Sequence[str]
) -> list[str]:
    """Return the lines that the readable style, by its macros, writes for the operations of a kernel, with these names
    of what goes in and comes out; nothing where they are not known.
    """
    function = kernel.stands_for
    if function is None:
        return []
    used = dict(renderer.used_prelude)
    writer = FunctionWriter(
        function, renderer, Names(set()), "none", caller.constants, caller.source_names, with_chains=False
    )
    writer.fitting = KernelFitting(writer)
    for node, name in zip(function.parameters, inputs, strict=True):
        is_name = name.isidentifier()
        writer.texts[node] = Expression(writer.names.kept(name) if is_name else name, ATOM if is_name else PRIMARY)
    for node, name in zip(function.results, outputs, strict=True):
        writer.plan.named.add(node)
        if name.isidentifier() and name not in inputs:
            writer.plan.user_names[node] = name
        else:
            writer.texts[node] = Expression(name, PRIMARY)  # a row, or what takes the place of what it is made of
    writer.allocation.expect(function.results)
    writer.region(function.graph.root)
    renderer.used_prelude.clear()  # nothing calls what only the comment names
    renderer.used_prelude.update(used)
    return ["    " * (line.indent - 1) + line.text for line in writer.lines]
