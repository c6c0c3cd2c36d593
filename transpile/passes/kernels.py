"""Regions become kernels: a ``kernel`` node stands for what a region computes, a function of its own has the
operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...targets.base import Kernels
from ..array.kernel import Kernel, Lines
from ..array.node import Graph, Node
from ..array.program import Function, Program, roots
from ..array.traversal import dependencies, topological
from ..array.value import strong
from .index_maps import Map, identity, offset
from .kernel_loops import kernel_loops
from .line_reductions import LineReductions
from .regions import FusedRegion, RegionFinder, is_generated, read_by
from .rewriting import mapped, rebuilt, stand_in


def fuse(program: Program, kernels: Kernels) -> None:
    """Fuse, in every function of a program, the operations that a target has kernels for."""
    for function in program.functions:
        regions = RegionFinder(function, kernels).found()
        if regions:
            _replace(function, regions)
            kernel_loops(function)


def _replace(function: Function, regions: Iterable[FusedRegion]) -> None:
    graph = function.graph
    region_of = {node: region for region in regions for node in region.nodes}
    made: dict[Node, Node] = {}

    def needs(node: Node) -> Iterable[Node]:
        region = region_of.get(node)
        return dependencies(node) if region is None else region.inputs

    before = graph.region, graph.instruction
    for node in topological(roots(function), needs):
        region = region_of.get(node)
        if node in made:
            continue
        graph.region, graph.number = node.region, node.number
        graph.instruction = graph.origins.get(node)
        if region is None:
            made[node] = rebuilt(function, node, tuple(made[operand] for operand in node.operands), made)
            stand_in(graph, node, made[node])
        else:
            _call(function, region, made)
    (graph.region, graph.instruction), graph.number = before, None
    function.results = mapped(function.results, made)
    function.effect = made[function.effect] if function.effect is not None else None


def _call(function: Function, region: FusedRegion, made: dict[Node, Node]) -> None:
    """The node that calls the kernel of a region; what takes the place of the region's outputs."""
    graph = function.graph
    last = region.outputs[-1]
    graph.region, graph.instruction, graph.number = region.body, graph.origins.get(last), last.number
    kernel = KernelBuilder(function, region).kernel()
    operands = tuple(strong(graph, made[node]) for node in region.inputs)
    if len(region.outputs) == 1:
        call = graph.add("kernel", operands, last.shape, last.element_type, kernel=kernel, stands_for=last)
        made[last] = call
        stand_in(graph, last, call)
        return
    results = tuple((node.shape, node.element_type) for node in region.outputs)
    call = graph.add("kernel", operands, results=results, kernel=kernel)
    for index, node in enumerate(region.outputs):
        graph.instruction, graph.number = graph.origins.get(node), node.number
        made[node] = graph.add("item", (call,), node.shape, node.element_type, index=index, stands_for=node)
        stand_in(graph, node, made[node])


class KernelBuilder:
    """Copies the operations of a region into a function for one element."""

    def __init__(self, function: Function, region: FusedRegion) -> None:
        self.caller = function.graph
        self.region = region
        self.graph = Graph()
        self.inputs: dict[Node, Node] = {}  # a node of the caller: the parameter that stands for it
        self.kernel_made = Kernel(Function(function.computation, self.graph, originals=function.originals), region.loop)

    def kernel(self) -> Kernel:
        """The kernel."""
        kernel, region = self.kernel_made, self.region
        reads = [read for node in region.nodes for read in self._reads(node)]
        kernel.lines = Lines.along(region.loop, region.axes)
        elsewhere = {source for source, at in reads if kernel.lines or (source.ndim and not self._is_own(source, at))}
        for node in region.inputs:
            self.inputs[node] = self.graph.parameter(node.shape, node.element_type, self.graph.root)
        kernel.whole = {self.inputs[node] for node in region.inputs if node in elsewhere}
        kernel.inputs, kernel.outputs = list(region.inputs), list(region.outputs)
        kernel.function.parameters = list(self.inputs.values())
        made: dict[Node, Node] = {}
        for node in region.nodes:
            operands = tuple(
                made[source] if source in made else self._read(source, at) for source, at in self._reads(node)
            )
            made[node] = self._copy(node, operands, region.loop)
        kernel.function.results = tuple(made[node] for node in region.outputs)
        whole = identity(region.loop)
        kernel.of_lines = {made[node] for node in region.outputs if region.at[node] != whole}
        return kernel

    def _reads(self, node: Node) -> Iterator[tuple[Node, Map]]:
        return read_by(node, self.region.at[node], node in self.region.reductions)

    def _is_own(self, source: Node, at: Map) -> bool:
        """Each element of the loop reads its own."""
        return source.shape == self.region.loop and at == identity(source.shape)

    def _copy(self, node: Node, operands: tuple[Node, ...], shape: tuple[int, ...]) -> Node:
        graph = self.graph
        graph.number, graph.instruction = node.number, self.caller.origins.get(node)
        if node in self.region.reductions:
            made = self._reduced(node, operands)
        else:
            made = graph.add(node.opcode, operands, shape, node.element_type, interval=node.interval, **node.parameters)
        if node in self.caller.results:
            graph.results.setdefault(made, self.caller.results[node])
        return made

    def _reduced(self, node: Node, operands: tuple[Node, ...]) -> Node:
        """A reduction, by what the threads of a line do together."""
        kernel = self.kernel_made
        assert kernel.lines is not None
        (x,) = operands
        return LineReductions(self.graph, kernel.loop, kernel.lines, kernel.reductions).add(node, x)

    def _read(self, source: Node, at: Map) -> Node:
        """An element of what is not computed here."""
        graph, loop = self.graph, self.region.loop
        graph.number, graph.instruction = source.number, None
        if is_generated(source):
            return self._generated(source, at)
        parameter = self.inputs[source]
        if parameter not in self.kernel_made.whole:
            return parameter
        place = offset(at, source.shape, loop)
        return graph.add("read", (parameter,), loop, source.element_type, interval=source.interval, at=place)

    def _generated(self, source: Node, at: Map) -> Node:
        """An element of an array that follows from its index."""
        graph = self.graph
        if source.opcode in ("literal", "full", "zeros", "ones"):
            literal = source.operands[0] if source.operands else source
            return graph.add("literal", (), (), literal.element_type, interval=literal.interval, **literal.parameters)
        places = tuple(
            offset((index,), (size,), self.region.loop) for index, size in zip(at, source.shape, strict=True)
        )
        diagonal = source.parameters.get("diagonal", 0)
        return graph.add(source.opcode, (), self.region.loop, source.element_type, places=places, diagonal=diagonal)
