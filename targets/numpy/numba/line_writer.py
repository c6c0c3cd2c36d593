"""The lines of a kernel that reduces: what goes along rows is a number, what goes along columns an array of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ....transpile.array.node import Node
from ....transpile.hlo.element_types import C128, F64, S32, S64, ElementType
from ....transpile.kernels.index_maps import Index, Map
from ....transpile.kernels.kernel import Kernel
from ....transpile.kernels.operations import REDUCTION_OF, RUNNING, is_backwards, start_value
from ....transpile.kernels.phases import Phase, phases
from ....transpile.python.templates import Expression
from .writer import NestWriter

_LONG_LINE = 2**12  # elements: sums of more are done in float64
_WIDE = {"f32": F64, "c64": C128}
_KEYS = {"f32": S32, "f64": S64}  # whole numbers that order as floats do
# What later loops do not compute again.
_COSTLY = frozenset(
    "exponential exponential-minus-one log log-plus-one logistic sine cosine tan tanh sinh cosh asin acos atan asinh "
    "acosh atanh cbrt power atan2 remainder prelude".split()
)


class LineNestWriter(NestWriter):
    """Writes the function of a kernel with reductions.

    Axes before the first reduced axis are loops around everything. Inside of them, each loop over a line goes over all
    remaining axes, in memory order; ``columns`` are those that the reductions keep.
    """

    def prepare(self) -> None:
        super().prepare()
        kernel, reduced = self.kernel, _reduced_axes(self.kernel)
        self.reduced = reduced
        first = min(self.axes.index(axis) for axis in reduced)
        self.outer, self.inner = self.axes[:first], self.axes[first:]
        self.columns = [axis for axis in self.inner if axis not in reduced]
        self.phases = phases(kernel, self._is_kept)
        self.plan.named.update(kernel.reductions)
        self.plan.named.update(self.phases.kept)
        self.once = {node for phase in self.phases.loops for node in phase.before}
        once = {node for node in self.once if self.plan.work.get(node, 0)}
        inside = [node for phase in self.phases.loops for node in phase.inside]
        self.plan.named.update(x for node in inside for x in node.operands if x in once)
        self.plan.named.update(once & set(self.results))
        self.earlier: dict[Node, Expression] = {}  # names in loops that have ended
        self.totals: dict[Node, Expression] = {}  # of columns, up to the last element
        self.of_columns: dict[Node, str] = {}  # arrays that have an element for each column

    def _is_kept(self, node: Node) -> bool:
        return (
            node.opcode in _COSTLY
            or node.opcode in RUNNING
            or (node in self.results and node not in self.kernel.of_lines)
        )

    def name_results(self) -> None:
        for k, node in enumerate(self.results):
            is_own = self._is_own_place(k) if node in self.kernel.of_lines else node not in self.once
            if is_own and node.opcode not in RUNNING and self.is_stored_as_it_is(k) and node not in self.texts:
                self.texts[node] = self.stored(k)

    def _is_own_place(self, number: int) -> bool:
        """Return whether a result of lines is computed where it is stored, not in a scalar variable."""
        node = self.results[number]
        is_stored_once = node not in self.kernel.reductions and not self._is_needed(node)
        return bool(self.columns) or not self.kernel.shapes[number] or is_stored_once

    def _is_needed(self, node: Node) -> bool:
        """Return whether another node of the kernel reads a result."""
        return any(node in other.operands for other in self.plan.nodes)

    def _name(self, node: Node) -> Expression:
        return self.earlier.get(node) or super()._name(node)

    # -- the function

    def write_nest(self) -> None:
        if not self.in_threads:  # which would write into the same
            self._arrays_of_lines()
        around = self.open_outermost()
        if self.in_threads:
            self._arrays_of_lines()
        around += self.open(self.outer[1:])
        for phase in self.phases.loops:
            self._before(phase)
            if phase.inside or phase.reductions or phase.results:
                self._loop(phase)
        self._store_lines()
        self.indent -= around

    @property
    def outermost(self) -> list[int]:
        return self.outer[:1]

    def makes(self, number: int) -> bool:
        node = self.results[number]
        is_filled = self._begins_filled(node) and self.results.index(node) == number  # two results may be one sum
        return super().makes(number) and not is_filled

    def _arrays_of_lines(self) -> None:
        """Allocate arrays for values that are kept for each element, and for values of columns."""
        for node in sorted(self.phases.kept, key=self.positions.__getitem__):
            if node not in self.texts:
                self._array_of(node, self.inner)
        if self.columns:
            for phase in self.phases.loops:
                own = [node for node in phase.before if node in self.plan.named]
                for node in (*own, *phase.reductions):
                    if node not in self.texts and not self._begins_filled(node):
                        self._array_of(node, self.columns)
                for node in _running(phase):
                    name = self._name_of_total(node)
                    self.new_array(name, self._sizes(self.columns), self.renderer.dtype(node.type))
                    self.totals[node] = self.renderer.element(name, _own(self.columns))

    def _array_of(self, node: Node, axes: Sequence[int]) -> None:
        """Allocate an array with an element for each position along some axes."""
        name = self.name_of_array(node, axes)
        self.new_array(name, self._sizes(axes), self.renderer.dtype(node.type))

    def name_of_array(self, node: Node, axes: Sequence[int]) -> str:
        """Name the array of a value, whose text becomes an element of that array; return the name."""
        name = super()._name(node)
        self.texts[node] = self.renderer.element(name, _own(axes))
        if axes == self.columns:
            self.of_columns[node] = name
        return name

    def _sizes(self, axes: Sequence[int]) -> tuple[int | str, ...]:
        return tuple(map(self.length, axes))

    def _begins_filled(self, node: Node) -> bool:
        """Return whether the array of a reduction is allocated with its start value, since there is only one line of
        columns.
        """
        is_given = node in self.results and self.results.index(node) in self.caller_allocated
        is_alone = not self.outer and self.buffers is None and not is_given
        return bool(self.columns) and is_alone and node in self.kernel.reductions

    # -- once for a line

    def _before(self, phase: Phase) -> None:
        nodes = [node for node in phase.before if node in self.plan.named and node.opcode != "parameter"]
        if not nodes:
            return
        count = self.open(self.columns)
        for node in nodes:
            self.statement(node)
        self.indent -= count

    def _store_lines(self) -> None:
        """Store the results of lines that were not computed in their place."""
        waiting = [
            (k, node)
            for k, node in enumerate(self.results)
            if node in self.kernel.of_lines and self.text(node) != self.stored(k)
        ]
        if not waiting:
            return
        count = self.open(self.columns)
        for k, _ in waiting:
            self.store(k)
        self.indent -= count

    # -- loops over a line

    def _loop(self, phase: Phase) -> None:
        made = {node: self._begin(node) for node in phase.reductions}
        interval = self._interval(phase)
        totals = {node: self._begin_total(node) for node in _running(phase)}
        outside = set(self.texts) | self.phases.kept
        self.within = dict.fromkeys(self.reduced, interval) if interval else {}
        count = self._open_line(totals)
        self.within = {}
        for node in phase.inside:
            if node in totals:
                self._run(node, totals[node])
            elif node in self.plan.named and node.opcode not in ("parameter", "read"):
                self.statement(node)
        for node in phase.reductions:
            self._accumulate(node, made[node], () if node.operands[1:] == interval else node.operands[1:])
        for k, node in enumerate(self.results):
            if node in phase.results:
                self.store(k)
        self.indent -= count
        for node in set(self.texts) - outside:
            self.earlier[node] = self.texts.pop(node)
        for node in phase.reductions:
            self._end(node, made[node])

    def _interval(self, phase: Phase) -> tuple[Node, ...]:
        """Return the bounds that all reductions of a loop over a line have in common, if any: the loop is restricted to
        them.
        """
        bounds = {node.operands[1:] for node in phase.reductions}
        return bounds.pop() if len(bounds) == 1 and not phase.results and not _running(phase) else ()

    def _open_line(self, totals: Iterable[Node]) -> int:
        """Open the loops over a line, backwards along the axis of a backwards running total; return their number."""
        backwards = {node.parameters["axis"] for node in totals if is_backwards(node)}
        for axis in self.inner:
            if axis in backwards:
                counter, last = self.counters[axis], self.kernel.loop[axis] - 1
                self.line(self.renderer.statement("for_range", counter, last, -1, -1))
                self.indent += 1
            else:
                self.open([axis])
        return len(self.inner)

    def _accumulator_type(self, node: Node) -> ElementType:
        """Return the type of a line's accumulator: integer keys for extremes, float64 for long sums of float32."""
        if self.columns or node.type.is_integral or REDUCTION_OF.get(node.opcode) in ("max", "min"):
            return node.type
        if node.opcode in ("max", "min"):
            return _KEYS[node.type.name]
        assert self.kernel.lines is not None
        is_long = self.renderer.sizes_are_free or self.kernel.lines.length > _LONG_LINE
        return _WIDE.get(node.type.name, node.type) if is_long else node.type

    def _begin(self, node: Node) -> Expression:
        """Initialize the accumulator of a reduction before a line, and return its text."""
        renderer, kind = self.renderer, self._accumulator_type(node)
        start = renderer.start(node.opcode, kind)
        if node.operands[1:] and kind in _KEYS.values() and node.type.is_floating:
            start = renderer.plain_number(_key(start_value(node.opcode, node.type)))  # of a line, there may be nothing
        if not self.columns:
            apart = kind is not node.type
            own = self.texts[node] = self.texts.get(node) or super()._name(node)
            made = Expression(self.names.fresh(f"{own}_{'key' if kind.is_integral else 'wide'}")) if apart else own
            self.line(renderer.statement("define_value", "", made, renderer.cast(start, kind)))
            return made
        if self._begins_filled(node):
            k = self.results.index(node) if node in self.results else None
            name: str = self.arrays[k] if k is not None else self.name_of_array(node, self.columns)
            shape = self.shape(k) if k is not None else self._sizes(self.columns)
            dtype, is_zero = renderer.dtype(node.type), node.opcode == "sum"
            self.line(renderer.statement("new_filled", name, shape, dtype, renderer.cast(start, kind), is_zero))
        elif whole := self.of_columns.get(node) or self._result_of_columns(node):
            self.line(renderer.statement("fill", whole, renderer.cast(start, kind)))
        else:
            count = self.open(self.columns)
            self.line(renderer.statement("write_result", self.texts[node], renderer.cast(start, kind)))
            self.indent -= count
        return self.texts[node]

    def _result_of_columns(self, node: Node) -> str:
        """Return the array of a result that has exactly one element for each column, or an empty string."""
        k = self.results.index(node) if node in self.results else None
        is_own = k is not None and self.kernel.at[k] == _own(self.columns) and self.is_stored_as_it_is(k)
        return self.arrays[k] if k is not None and is_own and self.texts[node] == self.stored(k) else ""

    def _accumulate(self, node: Node, made: Expression, interval: tuple[Node, ...]) -> None:
        """Accumulate an element, only in the ``interval`` if one is given."""
        x = node.operands[0]

        def line() -> Expression:
            return Expression(self.renderer.statement("fold", node, made, self.text(x), not self.columns))

        if interval:
            (counter,) = (self.counters[axis] for axis in self.reduced)
            self.line(self.renderer.statement("begin_if_between", counter, *map(self.text, interval)))
            self.indent += 1
        self.line(self.fitting.fitted(node, line, 4 * self.indent, alone=False), node)
        self.indent -= bool(interval)

    def _name_of_total(self, node: Node) -> Expression:
        return self._name(node) if node not in self.texts else Expression(self.names.fresh(self.wanted.of(node)))

    def _begin_total(self, node: Node) -> Expression:
        """Initialize a running total before a line, and return its text."""
        kind = self._accumulator_type(node)
        start = self.renderer.cast(self.renderer.start(REDUCTION_OF[node.opcode], kind), kind)
        if not self.columns:
            is_wide = kind is not node.type
            name = (
                Expression(self.names.fresh(f"{self.wanted.of(node)}_wide")) if is_wide else self._name_of_total(node)
            )
            self.line(self.renderer.statement("define_value", "", name, start))
            return name
        count = self.open(self.columns)
        self.line(self.renderer.statement("write_result", self.totals[node], start))
        self.indent -= count
        return self.totals[node]

    def _run(self, node: Node, total: Expression) -> None:
        """Add an element to a running total."""
        (x,) = node.operands

        def line() -> Expression:
            reduction = REDUCTION_OF[node.opcode]
            return Expression(self.renderer.statement("run", node, reduction, total, self.text(x), not self.columns))

        self.line(self.fitting.fitted(node, line, 4 * self.indent, alone=False), node)
        is_wide = self._accumulator_type(node) is not node.type
        if not is_wide and node not in self.texts:
            self.texts[node] = total
            return
        value = self.renderer.statement("sum_of", node, total) if is_wide else total
        if node not in self.texts:
            self.texts[node] = self._name(node)
        self.line(self.renderer.statement("write_result", self.texts[node], value))

    def _end(self, node: Node, made: Expression) -> None:
        if made != self.texts[node]:
            macro = "of_key" if node.opcode in ("max", "min") else "sum_of"
            value = self.renderer.statement(macro, node, made)
            self.line(self.renderer.statement("define_value", "", self.texts[node], value), node)


def _key(infinity: np.ndarray) -> int:
    """Return the integer key of an infinity: keys have the order of the floats."""
    bits = infinity.view(f"i{infinity.itemsize}")
    return int(bits ^ (bits >> 8 * infinity.itemsize - 1 & np.iinfo(bits.dtype).max))


def _running(phase: Phase) -> list[Node]:
    """Return the running totals of a phase, in topological order."""
    return [node for node in phase.inside if node.opcode in RUNNING]


def _own(axes: Iterable[int]) -> Map:
    return tuple(Index(0, 1, axis) for axis in axes)


def _reduced_axes(kernel: Kernel) -> set[int]:
    """Return the axes of a kernel's loop along which it reduces."""
    assert kernel.lines is not None
    found: set[int] = set()
    stride = 1
    for axis, size in reversed(list(enumerate(kernel.loop))):
        for part in kernel.lines.stretches:
            if size > 1 and part.is_reduced and part.stride <= stride < part.stride * part.size:
                found.add(axis)
        stride *= size
    return found
