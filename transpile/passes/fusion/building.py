"""Builds kernels from regions: a ``kernel`` node replaces what a region computes, and a separate function holds the
operations.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import prod
from typing import Any

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Region, literal_value
from ...array.program import Branch, Function
from ...array.traversal import topological
from ...array.value import strong
from ...dataclass import dataclass
from ...hlo.element_types import F32, PRED, S8, S16, S32, U8, U16, ElementType
from ...kernels.gathers import Gather, gather_of, index_type, is_within
from ...kernels.index_maps import ANYWHERE, Index, Map, Offset, Term, Test, bounds, identity, offset
from ...kernels.intervals import Bounds, LineIntervals
from ...kernels.kernel import Kernel, given_type
from ...kernels.lines import Lines, reduced_axes
from ...kernels.operations import draw_of, is_backwards, is_generated, start_value
from .backwards import forwards
from .drawing import drawn
from .reading import read_by
from .regions import FusedRegion, Piece

# The folds for the index and for the value of an extreme, by operation or function.
_EXTREMES = {
    "argmax": ("argmax", "max"),
    "argmin": ("argmin", "min"),
    "first_largest": ("argmax", "max"),
    "first_smallest": ("argmin", "min"),
}
_WIDE = {S8: S32, U8: S32, S16: S32, U16: S32}


def call_kernel(function: Function, region: FusedRegion, kernel: Kernel) -> None:
    """Replace a region's outputs by a call of its kernel, or by the call's results."""
    live = live_nodes(function)
    for output, new in _called(function, region, kernel):
        live.replace(output, new)


def _called(function: Function, region: FusedRegion, kernel: Kernel) -> list[tuple[Node, Node]]:
    """The outputs of a region, each with its replacement."""
    graph = function.graph
    last = region.outputs[-1]
    with graph.inside(region.body):
        with graph.standing_for(last, graph):
            operands = tuple(strong(graph, graph.current_of_shape(node)) for node in region.inputs)
            if len(kernel.outputs) == 1:
                (shape,) = kernel.shapes
                call = graph.typed("kernel", operands, shape, last.element_type, kernel=kernel, **_origin(region, last))
                return [(node, _finished(graph, region, node, call)) for node in region.outputs]
            types = tuple((shape, node.element_type) for node, shape in zip(kernel.outputs, kernel.shapes, strict=True))
            call = graph.typed("kernel", operands, results=types, kernel=kernel)
        made: list[tuple[Node, Node]] = []
        given = dict(zip(kernel.outputs, enumerate(kernel.shapes), strict=True))
        for node in region.outputs:
            index, shape = given[region.equal.get(node, node)]
            with graph.standing_for(node, graph):
                item = graph.typed("item", (call,), shape, node.element_type, index=index, **_origin(region, node))
                made.append((node, _finished(graph, region, node, item)))
    return made


def _origin(region: FusedRegion, node: Node) -> dict[str, Any]:
    """The node that a result of a kernel is named after, as parameters."""
    return {"stands_for": node} | ({"is_part": True} if node in region.unfinished else {})


def _given_at(region: FusedRegion, node: Node) -> Map:
    """Where a kernel writes its part of an output."""
    whole = identity(region.loop)
    if node not in region.unfinished or region.parts > 1:
        return region.at[node] if region.parts == 1 else ()
    if node.ndim == len(region.loop):
        return tuple(Index() if axis in region.axes else index for axis, index in enumerate(whole))
    return tuple(index for axis, index in enumerate(whole) if axis not in region.axes)


def _given(region: FusedRegion, node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape that a kernel gives for an unfinished reduction, and the axes along which it has yet to be reduced."""
    if region.parts > 1:
        return (*node.shape, region.parts), (node.ndim,)
    rest = set(reduced_axes(node)) - set(region.axes)
    if node.ndim == len(region.loop):
        sizes = enumerate(region.loop)
        return tuple(1 if axis in region.axes else size for axis, size in sizes), tuple(sorted(rest))
    kept = [axis for axis in range(len(region.loop)) if axis not in region.axes]
    return tuple(region.loop[axis] for axis in kept), tuple(k for k, axis in enumerate(kept) if axis in rest)


def _given_shape(region: FusedRegion, node: Node) -> tuple[int, ...]:
    """The shape that a kernel gives for an output."""
    return _given(region, node)[0] if node in region.unfinished else node.shape


def _finished(graph: Graph, region: FusedRegion, node: Node, given: Node) -> Node:
    """The final value of an output: the library reduces the partial results of a reduction."""
    if node not in region.unfinished:
        return given
    _, axes = _given(region, node)
    parameters: dict[str, Any] = {"axes": axes} | ({"keepdims": True} if given.ndim == node.ndim else {})
    if node.opcode == "mean":  # whose partial results are contributions to the mean
        return graph.typed("sum", (given,), node.shape, node.element_type, **parameters, stands_for=node)
    return graph.typed(node.opcode, (given,), node.shape, node.element_type, **parameters)


class KernelBuilder:
    """Copies the operations of a region into a function that computes one element."""

    def __init__(self, function: Function, region: FusedRegion, cuts_lines: bool) -> None:
        """If ``cuts_lines``, reductions of masked values go over only an interval of each line."""
        self.caller = function.graph
        self.cut = function.cut
        self.cuts_lines = cuts_lines
        self.region = region
        self.graph = Graph()
        self.bodies: dict[Piece, Region] = {}
        self.inputs: dict[Node, Node] = {}  # a node of the caller: its parameter
        self.kernel_made = Kernel(Function(function.computation, self.graph, originals=function.originals), region.loop)

    def kernel(self) -> Kernel:
        """The kernel."""
        kernel, region = self.kernel_made, self.region
        reads = [read for node in region.nodes for read in self._reads(node)]
        kernel.lines, kernel.parts = Lines.along(region.loop, region.axes), region.parts
        elsewhere = {source for source, at in reads if kernel.lines or (source.ndim and not self._is_own(source, at))}
        for node in region.inputs:
            self.inputs[node] = self.graph.parameter(node.shape, given_type(node), self.graph.root)
        kernel.whole = {self.inputs[node] for node in region.inputs if node in elsewhere}
        kernel.inputs = list(region.inputs)
        kernel.function.parameters = list(self.inputs.values())
        made: dict[Node, Node] = {}
        for node in region.nodes:
            with self.graph.inside(self._body(region.pieces.get(node))):
                made[node] = self._joined(node, made) if node.operation.joins else self._copy(node, made)
        first: dict[Hashable, Node] = {}
        for node in region.outputs:
            shape, at = _given_shape(region, node), _given_at(region, node)
            before = first.setdefault((made[node], shape, at, node in region.unfinished), node)
            if before is not node:
                region.equal[node] = before
                continue
            kernel.outputs.append(node)
            kernel.shapes.append(shape)
            kernel.at.append(at)
        kernel.function.results = tuple(made[node] for node in kernel.outputs)
        whole = identity(region.loop)
        kernel.of_lines = {made[node] for node in kernel.outputs if region.at[node] != whole}
        kernel.stands_for = self._readable()
        kernel.cut = frozenset(self._cut_axes((*region.at.items(), *reads)))
        return kernel

    def _cut_axes(self, places: Iterable[tuple[Node, Map]]) -> Iterator[int]:
        """The axes of the loop along which an array computed or read at these places is chunked."""
        for node, at in places:
            cut = self.cut.get(node, ()) if at != ANYWHERE else ()
            for index, is_cut in zip(at, cut, strict=False):
                if is_cut and index.axis is not None:
                    yield index.axis

    def _readable(self) -> Function:
        """A function of the region's operations as they were, including views."""
        region, graph, outputs = self.region, Graph(), self.kernel_made.outputs
        made = {node: graph.parameter(node.shape, node.element_type, graph.root) for node in region.inputs}
        parameters = list(made.values())
        for node in topological(outputs, lambda node: () if node in region.inputs else node.operands):
            if node not in made:
                with graph.standing_for(node, self.caller):
                    operands = tuple(made[operand] for operand in node.operands)
                    if is_backwards(node):
                        made[node] = forwards(graph, node, *operands)
                        continue
                    copy = graph.typed(
                        node.opcode, operands, node.shape, node.element_type, interval=node.interval, **node.parameters
                    )
                made[node] = graph.valued(copy, node, self.caller)
        function = self.kernel_made.function
        results = tuple(made[node] for node in outputs)
        return Function(function.computation, graph, parameters, results, originals=function.originals)

    def _body(self, of: Piece | None) -> Region:
        """The body in which a piece is computed, only for the elements of that piece."""
        if of is None:
            return self.graph.root
        if of not in self.bodies:
            self.bodies[of] = self._body(self.region.pieces.get(of[0])).child("branch")
        return self.bodies[of]

    def _joined(self, node: Node, made: dict[Node, Node]) -> Node:
        """One of several operands, selected by the position of the element."""
        graph, reads = self.graph, [*self._reads(node)]
        if len({*reads}) == 1 and reads[0][0] not in made:  # one array, several times
            return graph.valued(self._read(*reads[0]), node, self.caller)
        branches: list[Branch] = []
        for number, (source, at) in enumerate(reads):
            body = self._body((node, number))
            with graph.inside(body):
                branches.append(Branch(body, [made[source] if source in made else self._read(source, at)]))
        with graph.standing_for(node, self.caller):
            joined = graph.typed(
                "conditional",
                shape=self.region.loop,
                element_type=node.element_type,
                pinned=True,
                branches=tuple(branches),
                tests=tuple(self._test(node, number) for number in range(len(branches) - 1)),
                stands_for=node,
            )
        return self.graph.valued(joined, node, self.caller)

    def _test(self, node: Node, number: int) -> tuple[Test, ...]:
        """The test that an element belongs to a piece."""
        at, loop = self.region.at[node], self.region.loop
        return tuple(
            Test(
                offset((at[bound.axis],), (node.shape[bound.axis],), loop),
                at[bound.axis],
                bound,
                node.shape[bound.axis],
            )
            for bound in bounds(node, number)
        )

    def _reads(self, node: Node) -> Iterator[tuple[Node, Map]]:
        return read_by(node, self.region.at[node], node in self.region.reductions)

    def _is_own(self, source: Node, at: Map) -> bool:
        """Whether each element of the loop reads its own element."""
        return source.shape == self.region.loop and at == identity(source.shape)

    def _copy(self, node: Node, made: dict[Node, Node]) -> Node:
        """A copy of a node with copied operands, reading what is not computed here."""
        graph = self.graph
        operands = tuple(
            self.inputs[source] if at == ANYWHERE else made[source] if source in made else self._read(source, at)
            for source, at in self._reads(node)
        )
        with graph.standing_for(node, self.caller):
            gather, draw, loop = gather_of(node), draw_of(node), self.region.loop
            if draw is not None:
                copy = drawn(graph, loop, draw, operands[0], offset(self.region.at[node], node.shape, loop))
            elif gather is not None:
                array = self.inputs[gather.array]
                copy = Gathering(graph, loop).add(node, gather, array, operands[1:], self.region.at[node])
            elif node in self.region.reductions:
                copy = self._reduced(node, operands)
            else:
                copy = graph.typed(
                    node.opcode, operands, loop, node.element_type, interval=node.interval, **node.parameters
                )
        return self.graph.valued(copy, node, self.caller)

    def _reduced(self, node: Node, operands: tuple[Node, ...]) -> Node:
        """A reduction, as folds of the elements of a line."""
        kernel = self.kernel_made
        assert kernel.lines is not None
        (x,), axes = operands, reduced_axes(node)
        cuts = self.cuts_lines and not self.cut and len(axes) == 1
        intervals = LineIntervals(self.graph, kernel.loop, *axes) if cuts else None
        reductions = LineReductions(self.graph, kernel.loop, kernel.lines, kernel.reductions, intervals)
        return reductions.add(node, x, in_parts=node in self.region.unfinished)

    def _read(self, source: Node, at: Map) -> Node:
        """An element of an array that is not computed here."""
        graph, loop = self.graph, self.region.loop
        with graph.standing_for(source, None):
            if is_generated(source):
                return self._generated(source, at)
            given = self.inputs[source]
            if given in self.kernel_made.whole:
                place = offset(at, source.shape, loop)
                given = graph.typed(
                    "read", (given,), loop, given.element_type, interval=source.interval, at=place, indices=at
                )
            if given.element_type is source.element_type:
                return given
            return graph.typed("convert", (given,), loop, source.element_type, interval=source.interval)

    def _generated(self, source: Node, at: Map) -> Node:
        """An element of an array that is a function of its index."""
        graph = self.graph
        if source.is_literal or source.operation.is_filled:
            literal = source.operands[0] if source.operands else source
            return graph.typed("literal", (), (), literal.element_type, interval=literal.interval, **literal.parameters)
        places = tuple(
            offset((index,), (size,), self.region.loop) for index, size in zip(at, source.shape, strict=True)
        )
        diagonal = source.parameters.get("diagonal", 0)
        return graph.typed(
            source.opcode, (), self.region.loop, source.element_type, places=places, indices=at, diagonal=diagonal
        )


# -- gathers: indices made to lie inside the array


@dataclass(slots=True)
class Gathering:
    """Writes gathers into the function of a kernel over the elements of ``loop``."""

    graph: Graph
    loop: tuple[int, ...]

    def add(self, node: Node, gather: Gather, array: Node, indices: Sequence[Node], at: Map) -> Node:
        """The value of ``node`` at ``at``: an element of the parameter ``array`` at the computed indices."""
        shape = gather.array.shape
        where: list[Index | None] = list(gather.array_at(at))
        tests: list[Node] = []
        places: list[Node] = []
        for (axis, given), index in zip(gather.indices.items(), indices, strict=True):
            if index.opcode == "arange" and is_within(given, 0, shape[axis]):
                (where[axis],) = index.parameters["indices"]
                continue
            where[axis] = None
            place = self._place(gather, given, index, shape[axis])
            places.append(place)
            if gather.fill is not None and not is_within(given, -shape[axis], shape[axis]):
                tests += self._tests(given, place, shape[axis])
        known = tuple(Index() if index is None else index for index in where)
        if not places:
            return self._node("read", (array,), node.type, at=offset(known, shape, self.loop), indices=known)
        parameters: dict[str, Any] = {
            "at": offset(known, shape, self.loop),
            "indices": tuple(where),
            "strides": tuple(prod(shape[axis + 1 :]) for axis, index in enumerate(where) if index is None),
        }
        if not tests:
            return self._node("gather", (array, *places), node.type, **parameters)
        inside, *others = tests
        for test in others:
            inside = self._node("and", (inside, test), PRED)
        fill = self.graph.literal(gather.fill, node.type)
        return self._node("guarded_gather", (array, inside, fill, *places), node.type, **parameters)

    def _node(self, opcode: str, operands: tuple[Node, ...], element_type: ElementType, **parameters: Any) -> Node:
        return self.graph.typed(opcode, operands, self.loop, element_type, **parameters)

    def _place(self, gather: Gather, given: Node, index: Node, size: int) -> Node:
        """An index counted from the start of its axis, clipped to it if nothing tests its bounds."""
        kind = index_type(given)
        if is_within(given, 0, size):
            return index if index.type is kind else self._node("convert", (index,), kind)
        is_clipped = _is_clipped(index, size)  # that is done once it counts from the start, which takes less
        number = index.operands[1] if is_clipped else index
        place = number if number.type is kind else self._node("convert", (number,), kind)
        first = self.graph.literal(0, kind)
        if not gather.is_clamped and given.type.is_signed and (given.interval is None or given.interval[0] < 0):
            is_before = self._node("compare", (place, first), PRED, direction="LT")
            place = self._node("select", (is_before, self._sum(place, size), place), kind)
        if gather.is_clamped or is_clipped:
            return self._node("clamp", (first, place, self.graph.literal(size - 1, kind)), kind)
        return place

    def _sum(self, place: Node, size: int) -> Node:
        return self._node("add", (place, self.graph.literal(size, place.type)), place.type)

    def _tests(self, given: Node, place: Node, size: int) -> list[Node]:
        """The tests that an index is within its axis."""
        tests = [self._node("compare", (place, self.graph.literal(size, place.type)), PRED, direction="LT")]
        if given.type.is_signed:
            tests.insert(0, self._node("compare", (place, self.graph.literal(0, place.type)), PRED, direction="GE"))
        return tests


def _is_clipped(index: Node, size: int) -> bool:
    """Return whether an index is clipped to what is an index of an axis, from its start or from its end."""
    if index.opcode != "clamp" or not all(index.operands[k].is_literal for k in (0, 2)):
        return False
    low, high = (int(literal_value(index.operands[k])) for k in (0, 2))
    return (low, high) == (-size, size - 1)


# -- reductions as folds of a line


@dataclass(slots=True)
class LineReductions:
    """Writes reductions into the function of a kernel; ``made`` are the folds of lines. Those along one axis go over
    the ``intervals`` of it that masks select, if given.
    """

    graph: Graph
    loop: tuple[int, ...]
    lines: Lines
    made: set[Node]
    intervals: LineIntervals | None = None

    def add(self, node: Node, x: Node, in_parts: bool) -> Node:
        """The value of the caller's reduction ``node``, of the elements ``x``; narrow types are widened.

        For a mean ``in_parts``, this is what these elements contribute to it.
        """
        wide = F32 if x.type.is_floating and x.type.bits < 32 else _WIDE.get(x.type, x.type)
        if node.opcode in ("sum", "prod") and node.type.bits > wide.bits:
            wide = node.type
        x = self._converted(x, wide)
        if node.opcode in _EXTREMES or node.opcode == "prelude":
            made = self._place(node, x)
        elif node.opcode in ("mean", "var", "std"):
            made = self._mean(node, x) if in_parts else self._of_sums(node, x)
        else:
            made = self._reduced(node.opcode, x)
        return self._converted(made, node.type)

    def _converted(self, x: Node, element_type: ElementType) -> Node:
        return x if x.type is element_type else self._node("convert", (x,), element_type)

    def _node(self, opcode: str, operands: tuple[Node, ...], element_type: ElementType, **parameters: object) -> Node:
        return self.graph.typed(opcode, operands, self.loop, element_type, **parameters)  # type: ignore[arg-type]

    def _reduced(self, opcode: str, x: Node) -> Node:
        bounds: Bounds = ()
        if self.intervals is not None:
            x, bounds = self.intervals.reduced(x, start_value(opcode, x.type))
        made = self._node(opcode, (x, *bounds), x.type)
        self.made.add(made)
        return made

    def _mean(self, node: Node, x: Node) -> Node:
        count = prod(self.loop[axis] for axis in reduced_axes(node))
        return self._node("mean", (self._reduced("sum", x),), x.type, count=count)

    def _of_sums(self, node: Node, x: Node) -> Node:
        mean = self._mean(node, x)
        if node.opcode == "mean":
            return mean
        difference = self._node("subtract", (x, mean), x.type)
        total = self._reduced("sum", self._node("multiply", (difference, difference), x.type))
        count = max(self.lines.length - node.parameters.get("ddof", 0), 0)
        return self._node(node.opcode, (total,), x.type, count=count)

    def _place(self, node: Node, x: Node) -> Node:
        """The first index of an extreme, or of a NaN if there is one."""
        opcode, extreme = _EXTREMES[node.parameters.get("function", node.opcode)]
        found = self._node("compare", (x, self._reduced(extreme, x)), PRED, direction="EQ")
        if x.type.is_floating:
            missing = self._node("isnan", (x,), PRED)
            found = self._node("or", (missing, found), PRED)
        (part,) = (part for part in self.lines.stretches if part.is_reduced)
        along = Offset(0, (Term(part.stride, None if part is self.lines.stretches[0] else part.size, 1),))
        indices = (Index(0, 1, *reduced_axes(node)),)
        places = self._node("arange", (), S32, places=(along,), indices=indices)
        behind = self.graph.literal(self.lines.length, S32)
        return self._reduced(opcode, self._node("select", (found, places, behind), S32))
