"""Regions: operations that are fused into one kernel, so that no array between them is stored.

A region is a set of operations over the elements of one loop nest. Element-wise operations of one shape are fused where
one reads the result of the other. An operation that only one region reads joins it too, even behind slices, transposes
and broadcasts, provided each step reads it at a single place. Reductions are fused with the computation of their
operands, and with what is computed from their results: the loop nest is then one over lines of elements, and all
reductions of a region go along the same axes. Regions are found in the order of their *stages*: every path of data that
leaves a region leads to a later stage, so regions never depend on each other cyclically.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod

from ...array.node import Node, Region
from ...array.program import Function, Loop, roots
from ...array.traversal import dependencies, is_inside, topological
from ...dataclass import dataclass
from ...kernels.index_maps import Index, Map, identity, is_view, pieces
from ...kernels.lines import Lines, is_splittable, reduced_axes
from ...kernels.operations import is_backwards, is_generated
from ...target import Kernels
from .reading import beside, of_lines, read_anywhere, read_by, read_from_around

_MOST_OPERATIONS = 128  # fused because their shapes agree, and as many again that only these read


Piece = tuple[Node, int]  # a concatenation or stack, and the number of an operand


@dataclass(eq=False, slots=True)
class FusedRegion:
    """A future kernel: its operations in order, where each is computed, and which of them others read."""

    loop: tuple[int, ...]
    body: Region
    nodes: list[Node] = field(default_factory=list)
    at: dict[Node, Map] = field(default_factory=dict)
    outputs: list[Node] = field(default_factory=list)
    equal: dict[Node, Node] = field(default_factory=dict)  # outputs equal to another one, found when it is built
    inputs: list[Node] = field(default_factory=list)
    reductions: set[Node] = field(default_factory=set)
    axes: tuple[int, ...] = ()  # of the loop, along which reductions and running totals go
    parts: int = 1  # into which the target splits each line along these axes
    unfinished: set[Node] = field(default_factory=set)  # reductions whose kernel gives partial results
    pieces: dict[Node, Piece] = field(default_factory=dict)  # operations computed for only a part of the elements
    is_loop_body: bool = False  # everything that a loop computes in one iteration


class RegionFinder:
    """Finds the regions of one function."""

    def __init__(self, function: Function, kernels: Kernels, compiled: Sequence[Node] = ()) -> None:
        """``compiled`` are the loops in which every array operation must be part of a kernel."""
        self.function = function
        self.kernels = kernels
        self.compiled = [node.parameters["loop"].region for node in compiled]
        self.around = read_from_around(topological(roots(function)))
        self.nodes = topological(roots(function), self._needed)
        self.order = {node: number for number, node in enumerate(self.nodes)}
        self.on_host = self._on_host()
        apart = self.on_host | self._in_conditions()
        alive = [node for node in self.nodes if node not in apart and self._has_elements(node)]
        self.reductions = {node for node in alive if kernels.reduces(node) and self._has_lines(node)}
        self.running = {node for node in alive if kernels.runs(node) and self._runs_along_whole(node)}
        self.fusible = self.reductions | self.running | {node for node in alive if kernels.fuses(node)}
        # Scalars of the host are computed in a kernel if nothing else reads them.
        self.absorbed = self.fusible | {
            node for node in self.on_host if self._has_elements(node) and kernels.fuses(node)
        }
        self.along = self.reductions | self.running  # which combine the elements of a line
        self.read_outside = self._read_outside()
        self.readers: dict[Node, list[tuple[Node, Map]]] = {}
        for node in self.nodes:
            if node in self.absorbed:
                for source, at in self.read_by(node, identity(node.shape)):
                    self.readers.setdefault(source, []).append((node, at))
        self.region_of: dict[Node, FusedRegion] = {}
        self.regions: list[FusedRegion] = []
        self.siblings: dict[object, list[Node]] = {}  # reductions, by the lines that they reduce and by stage

    def found(self) -> list[FusedRegion]:
        """The regions that save enough arrays, in program order."""
        self._join_regions()
        self._join_rounds()
        self._join_what_one_reads()
        made: dict[FusedRegion, None] = {}
        for node in self.nodes:
            region = self.region_of.get(node)
            if region is not None:
                made.setdefault(region)
        self.regions = list(made)
        for region in self.regions:
            self.close(region)
        return [region for region in self.regions if self._is_worth_it(region)]

    def _has_elements(self, node: Node) -> bool:
        """Whether a node is an array of numbers with few enough elements for the target's loops."""
        if node.element_type is None or node.results or node.is_python_int or "effect" in node.parameters:
            return False
        return 0 < prod(node.shape) < self.kernels.most_elements and all(map(self._is_numbered, node.operands))

    def _is_numbered(self, operand: Node) -> bool:
        """Whether the loops can address every element of an operand, and of the array behind its views."""
        while is_view(operand) and prod(operand.shape) < self.kernels.most_elements:
            operand = operand.operands[0]
        return operand.element_type is not None and prod(operand.shape) < self.kernels.most_elements

    def _has_lines(self, node: Node) -> bool:
        """Whether a reduction has elements to reduce and, where its lines are split, their partial results can be
        combined.
        """
        lines = Lines.of(node)
        return lines is not None and (self.kernels.parts(lines) == 1 or is_splittable(node))

    def _runs_along_whole(self, node: Node) -> bool:
        """Whether a running total has elements along its axis, and its lines are not split."""
        lines = Lines.along(node.shape, reduced_axes(node))
        return lines is not None and self.kernels.parts(lines) == 1

    def _parts(self, loop: tuple[int, ...], axes: tuple[int, ...]) -> int:
        lines = Lines.along(loop, axes)
        assert lines is not None, "a region reduces along lines"
        return self.kernels.parts(lines)

    def _goes_on(self, node: Node, axes: tuple[int, ...]) -> bool:
        """Whether a reduction goes along these axes and others too, so that each line gives a partial result."""
        whole = self._parts(node.operands[0].shape, axes) == 1
        return whole and is_splittable(node) and set(axes) <= set(reduced_axes(node))

    def read_by(self, node: Node, at: Map) -> Iterator[tuple[Node, Map]]:
        return read_by(node, at, node in self.reductions)

    def _needed(self, node: Node) -> Sequence[Node]:
        """The nodes that come before a node: what a body reads from outside comes before the body."""
        around = self.around.get(node.region)
        return (*dependencies(node), *around) if around else dependencies(node)

    def _on_host(self) -> set[Node]:
        """The scalars that Python knows when it calls a kernel, and arithmetic on them."""
        found: set[Node] = set()
        for node in self.nodes:
            known = node.is_python_int or node.is_literal or (node.opcode == "array" and not node.ndim)
            if known or (not node.ndim and node.operands and all(operand in found for operand in node.operands)):
                found.add(node)
        return found

    def _in_conditions(self) -> set[Node]:
        """The nodes written in the condition of a loop, where readers look for them, except reductions in loops that
        are compiled as a whole.
        """
        found: set[Node] = set()
        loops: list[Loop] = [node.parameters["loop"] for node in self.nodes if node.opcode == "loop"]
        stack = [(loop.condition, loop.region) for loop in loops if loop.condition is not None]
        while stack:
            node, body = stack.pop()
            is_compiled = any(is_inside(body, compiled) for compiled in self.compiled)
            if is_compiled and self.kernels.reduces(node) and self._has_elements(node):
                continue
            if node not in found and node.region is body and not node.ndim:
                found.add(node)
                stack += [(operand, body) for operand in node.operands]
        return found

    def _read_outside(self) -> set[Node]:
        """The nodes read, directly or through views, by something other than operations that may be fused."""
        users: dict[Node, list[Node]] = {}
        outside: set[Node] = set(roots(self.function))
        outside |= {array for array in map(read_anywhere, self.fusible) if array is not None}
        for node in self.nodes:
            for needed in dependencies(node):
                users.setdefault(needed, []).append(node)
            outside |= set(dependencies(node)) - set(node.operands)
        for node in reversed(self.nodes):
            for user in users.get(node, []):
                if user not in self.absorbed and (not is_view(user) or user in outside):
                    outside.add(node)
        return outside

    # -- operations of one shape

    def _join_regions(self) -> None:
        stage: dict[Node, int] = {}
        for node in self.nodes:
            begin = max((stage[other] + 1 for other in self.around.get(node.region, ())), default=0)
            if node not in self.fusible:
                stage[node] = max((stage[other] + 1 for other in dependencies(node)), default=begin)
                continue
            for loop, own in self._places(node):
                latest, joined = self._joined_by(node, loop, own, begin, stage)
                if node in self.reductions or own == identity(loop) or _is_of_lines(own, joined):
                    break
            if node in self.reductions:
                joined += self._siblings(node, loop, latest, joined)
            stage[node] = latest
            self._join(node, loop, own, joined)

    def _joined_by(
        self, node: Node, loop: tuple[int, ...], own: Map, begin: int, stage: dict[Node, int]
    ) -> tuple[int, list[FusedRegion]]:
        """The stage of an operation that is computed at ``own`` of a ``loop``, and the regions that it joins."""
        reads = [read for read in self.read_by(node, own) if read[0].region is node.region]
        latest = begin
        for source, at in reads:
            leaves = source in self.fusible and not (self._is_like(source, at, loop) or self._is_shorter(source, loop))
            latest = max(latest, stage[source] + leaves)
        joined: dict[FusedRegion, None] = {}
        for source, at in reads:
            if self._is_like(source, at, loop) and stage[source] == latest:
                joined.setdefault(self.region_of[source])
        axes = {region.axes for region in joined if region.axes}
        if node in self.reductions and not (len(axes) == 1 and self._goes_on(node, *axes)):
            axes.add(reduced_axes(node))
        if node in self.running:
            axes.add(reduced_axes(node))
        together = {node}.union(*(region.at for region in joined))
        ways = {is_backwards(other) for other in together & self.running}
        joins = any(other.operation.joins for region in joined for other in region.at)
        if len(axes) + joins > 1 or len(ways) > 1 or sum(len(region.at) for region in joined) >= _MOST_OPERATIONS:
            return latest + 1, []
        if not self._are_cut_alike(loop, {node: own}, *(region.at for region in joined)):
            return latest + 1, []
        return latest, list(joined)

    def _are_cut_alike(self, loop: tuple[int, ...], *computed: Mapping[Node, Map]) -> bool:
        """Whether, along each axis of the loop, either all arrays are whole or all are chunks (which differ in
        length).
        """
        known = self.function.cut
        is_part: dict[int, bool] = {}
        for node, own in (pair for places in computed if known for pair in places.items()):
            for array, at in ((node, own), *self.read_by(node, own)):
                for index, size, is_cut in zip(at, array.shape, known.get(array, ()), strict=False):
                    axis = index.axis
                    if index != Index(0, 1, axis) or axis is None or axis < 0 or size != loop[axis]:
                        continue
                    if is_part.setdefault(axis, is_cut) is not is_cut:
                        return False
        return True

    def _siblings(self, node: Node, loop: tuple[int, ...], stage: int, joined: list[FusedRegion]) -> list[FusedRegion]:
        """A region of other reductions along the same lines that shares an input with the reduction and the regions
        that it joins; regions of one stage do not depend on each other.
        """
        alike = self.siblings.setdefault((loop, reduced_axes(node), node.region, stage), [])
        others = dict.fromkeys(self.region_of[other] for other in alike)
        alike.append(node)
        if any(region.axes not in ((), reduced_axes(node)) for region in joined):
            return []  # it continues a reduction to further axes
        size = sum(len(region.at) for region in joined)
        origins = self._origins(loop, node.operands).union(*(self._origins(loop, region.at) for region in joined))
        for region in others:
            is_plain = region.axes == reduced_axes(node) and not any(other.operation.joins for other in region.at)
            fits = region not in joined and size + len(region.at) < _MOST_OPERATIONS
            if is_plain and fits and origins & self._origins(loop, region.at):
                return [region]
        return []

    def _origins(self, loop: tuple[int, ...], nodes: Iterable[Node]) -> set[object]:
        """The arrays as large as a loop that the nodes are or read, or the regions that compute these arrays."""
        known = [node for node in nodes if node in self.fusible]
        read = {source for node in known for source, _ in self.read_by(node, identity(node.shape))} | {*nodes}
        return {self.region_of.get(source, source) for source in read if prod(source.shape) == prod(loop)}

    def _places(self, node: Node) -> Iterator[tuple[tuple[int, ...], Map]]:
        """The candidate loop shapes for a node, each with the map from the loop to the node's elements: the shape of a
        reduction's operand; the loop of a region whose lines the operation has one element for (if it joins the region
        that reduces them); or its own shape.
        """
        if node in self.reductions:
            yield node.operands[0].shape, of_lines(node)
            return
        reads = () if node.operation.joins or node in self.running else self.read_by(node, identity(node.shape))
        for source, at in reads:
            region = self.region_of.get(source)
            if region is None or not region.axes or source in region.unfinished or region.body is not node.region:
                continue
            place = region.at[source]
            own = beside(node, source, at, place) if place != identity(region.loop) else None
            if own is not None:
                yield region.loop, own
        yield node.shape, identity(node.shape)

    def _is_like(self, source: Node, at: Map, loop: tuple[int, ...]) -> bool:
        """Whether a source is computed in the same loop, and read at the place where it is computed."""
        region = self.region_of.get(source)
        if region is None or source in region.unfinished:
            return False
        return region.loop == loop and region.at[source] == at

    def _is_shorter(self, source: Node, loop: tuple[int, ...]) -> bool:
        """Whether a source belongs to a region over fewer elements. Such a region comes before the longer ones of its
        stage and so depends on none of them: whatever it reads from the same stage is shorter still.
        """
        region = self.region_of.get(source)
        return region is not None and prod(region.loop) < prod(loop)

    def _join(self, node: Node, loop: tuple[int, ...], own: Map, joined: list[FusedRegion]) -> None:
        region = joined[0] if joined else FusedRegion(loop, node.region)
        for other in joined[1:]:
            region.at |= other.at
            region.reductions |= other.reductions
            region.unfinished |= other.unfinished
            region.axes = region.axes or other.axes
            self.region_of.update(dict.fromkeys(other.at, region))
        region.at[node] = own
        if node in self.reductions:
            region.reductions.add(node)
            region.axes = region.axes or reduced_axes(node)
            if region.axes != reduced_axes(node) or self._parts(loop, region.axes) > 1:
                region.unfinished.add(node)
        if node in self.running:
            region.axes = reduced_axes(node)
        self.region_of[node] = region

    def _join_rounds(self) -> None:
        """Make everything a counted loop computes one region, where each element depends only on itself."""
        for node in self.nodes:
            if node.opcode != "loop":
                continue
            loop: Loop = node.parameters["loop"]
            inside = [other for other in self.nodes if other.region is loop.region and other in self.fusible]
            if loop.stores or loop.counter is None or not inside or not self._is_loop_body(loop, inside[0].shape):
                continue
            whole = FusedRegion(inside[0].shape, loop.region, is_loop_body=True)
            whole.at = {member: identity(whole.loop) for member in inside}
            self.region_of.update(dict.fromkeys(inside, whole))

    def _is_loop_body(self, loop: Loop, shape: tuple[int, ...]) -> bool:
        for node in self.nodes:
            if not is_inside(node.region, loop.region) or node.opcode == "parameter" or node in self.on_host:
                continue
            if node not in self.fusible or node in self.along or node.shape != shape:
                return False
            for source, at in self.read_by(node, identity(shape)):
                if source.region is loop.region and source not in self.on_host and at != identity(shape):
                    return False
        return all(carry.parameter.shape == shape for carry in loop.carries if not carry.parameter.is_python_int)

    # -- operations that only one region reads

    def _join_what_one_reads(self) -> None:
        for node in reversed(self.nodes):
            if node not in self.absorbed or node in self.along or node in self.read_outside:
                continue
            places: dict[tuple[Map, Piece | None], None] = {}
            regions: dict[FusedRegion | None, None] = {}
            for reader, _ in self.readers.get(node, []):
                region = self.region_of.get(reader)
                regions.setdefault(region)
                if region is None:
                    break
                for number, (source, place) in enumerate(self.read_by(reader, region.at[reader])):
                    if source is node:
                        own_piece = (reader, number) if reader.operation.joins else region.pieces.get(reader)
                        places.setdefault((place, own_piece))
            if len(regions) != 1 or len(places) != 1:
                continue
            (region,), ((place, own_piece),) = regions, places
            assert region is not None
            own = self.region_of.get(node)
            full = len(region.at) >= 2 * _MOST_OPERATIONS
            splits = node.operation.joins and region.axes
            again = _is_costly(node) and _elements(region, own_piece) > prod(node.shape)
            if region is own or region.body is not node.region or again or full or splits:
                continue
            if own is not None:
                del own.at[node]
            region.at[node] = place
            if own_piece is not None:
                region.pieces[node] = own_piece
            self.region_of[node] = region

    def _is_worth_it(self, region: FusedRegion) -> bool:
        """Whether a region saves enough for the target, and has no more arguments than a kernel should have."""
        saved = len(region.nodes) - len(region.outputs)
        saved += region.is_loop_body  # carried values are stored once, not in every iteration
        arguments = len(region.inputs) + len(region.outputs)
        if any(is_inside(region.body, compiled) for compiled in self.compiled):
            return arguments <= self.kernels.most_arguments and any(
                part.ndim for node in region.nodes for part in (node, *node.operands)
            )
        is_repeated = region.body.is_in_loop
        return arguments <= self.kernels.most_arguments and self.kernels.pays(region.nodes, saved, is_repeated)

    def close(self, region: FusedRegion) -> None:
        """Set a region's operations in order, its outputs, its inputs, and the number of parts into which its lines are
        split.
        """
        if region.axes:
            region.parts = self._parts(region.loop, region.axes)
        region.nodes = sorted(region.at, key=self.order.__getitem__)
        region.outputs = [node for node in region.nodes if self._is_output(node, region)]
        inputs: dict[Node, None] = {}
        for node in region.nodes:
            for source, _ in self.read_by(node, region.at[node]):
                if source not in region.at and not is_generated(source):
                    inputs.setdefault(source)
        region.inputs = list(inputs)

    def _is_output(self, node: Node, region: FusedRegion) -> bool:
        """Whether others read a node of a region, other than those that recompute it."""
        if self.region_of[node] is not region:
            return False
        readers = (self.region_of.get(reader) for reader, _ in self.readers.get(node, []))
        return node in self.read_outside or any(other is None or node not in other.at for other in readers)


def _is_costly(node: Node) -> bool:
    """Whether an operation takes many times as long as an addition; compilers divide integers by known ones by
    multiplication.
    """
    by_known = node.opcode in ("divide", "remainder") and node.operands[1].is_literal and node.type.is_integral
    return node.operation.is_costly and not by_known


def _elements(region: FusedRegion, of: Piece | None) -> int:
    """The number of elements that a region, or a piece of it, computes."""
    return prod(region.loop if of is None else pieces(of[0])[of[1]].shape)


def _is_of_lines(own: Map, joined: Sequence[FusedRegion]) -> bool:
    """Whether an operation at ``own`` has at most one element for each of the lines along which these regions
    reduce.
    """
    axes = {axis for region in joined for axis in region.axes}
    return bool(axes) and all(index.axis not in axes for index in own)
