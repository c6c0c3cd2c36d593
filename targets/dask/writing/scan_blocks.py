"""The block function of a loop over arrays in chunks: it runs the steps of one chunk."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice
from typing import Any

from ....transpile.array.graph import Graph
from ....transpile.array.node import Node, Slot
from ....transpile.array.program import Function, Loop, Store
from ....transpile.array.traversal import body_and_captured, topological
from ....transpile.dataclass import dataclass
from ....transpile.hlo.ir import Computation
from ..planning.scans import Scan, is_number
from .copying import Copier
from .tracing import Index, IndexSymbol, Source, Trace, key_of


@dataclass(frozen=True, slots=True)
class ScanBlock:
    """A block function that runs the steps of a chunk.

    Its arguments are the numbers of the steps if it is ``numbered``, the loop-carried values, the chunks of ``rows``,
    which are cut along ``axes``, and the arrays that it needs ``whole``.
    """

    function: Function
    numbered: bool
    rows: tuple[Source, ...]
    axes: tuple[int, ...]
    whole: tuple[Source, ...]

    def keywords(self, scan: Scan) -> dict[str, Any]:
        """Return the keywords of the call that applies the block function.

        The operands of the call are initial values, rows, whole arrays, and arrays like those that the loop writes.
        """
        slots = map(Slot, count())
        groups = (("carries", scan.carried), ("rows", self.rows), ("whole", self.whole), ("out", scan.written))
        found: dict[str, Any] = {name: tuple(islice(slots, len(group))) for name, group in groups if group}
        axes = (*self.axes, *scan.written.values())
        options = {"axes": axes, "reverse": scan.loop.step < 0, "numbered": self.numbered}
        return found | {name: value for name, value in options.items() if (any(axes) if name == "axes" else value)}


def scan_trace(node: Node, trace: Trace) -> Trace:
    """Add the arrays that a loop reads from outside to a trace, and return it."""
    for part in body_and_captured(node)[1]:
        trace.follow(part, _index_in_steps(node, trace, part), is_root=False)
    return trace


def _index_in_steps(node: Node, trace: Trace, part: Node) -> Index:
    """Return the index of an array that a loop reads from outside."""
    own = trace.chunks.classes.scans[node].read.get(part)
    return tuple(
        trace.cut_symbol(part, axis, 0) if is_cut and axis == own else IndexSymbol()
        for axis, is_cut in enumerate(trace.chunks.is_cut_along[part])
    )


class ScanCopier(Copier):
    """Copies a loop with a counter that begins with 0 in each chunk; ``numbers`` are the original counters of the
    steps.
    """

    def __init__(self, trace: Trace, function: Function, origin: Graph, scan: Scan) -> None:
        super().__init__(trace, function, origin)
        self.scan = scan
        self.numbers = self.graph.parameter((), None, self.graph.root, python_int=True)
        self.counter = self.numbers  # until the loop is copied

    def number(self, loop: Loop, counter: Node) -> Node:
        if loop is not self.scan.loop:
            return counter
        self.counter = counter
        bounds, element_type = counter.interval, counter.element_type
        with self.graph.coming_from(None):
            return self.graph.typed("step", (self.numbers, counter), (), element_type, python_int=True, interval=bounds)

    def node(
        self, node: Node, operands: tuple[Node, ...], outer: dict[Node, Node], key: tuple[object, ...] = ()
    ) -> Node:
        if node in self.scan.readers and self.trace.chunks.is_cut(node.operands[0]):
            pairs = zip(node.operands, operands, strict=True)
            operands = tuple(self.counter if is_number(given, self.scan.loop) else made for given, made in pairs)
        return super().node(node, operands, outer, key)

    def index(self, store: Store, made: dict[Node, Node]) -> tuple[Node, ...]:
        return (self.counter,) if store.carry in self.scan.written else super().index(store, made)


def scan_block(node: Node, trace: Trace, computation: Computation, origin: Graph) -> ScanBlock:
    """Return the block function of a loop. Its results are those of ``scan.carried``, then those of
    ``scan.written``.
    """
    scan = trace.chunks.classes.scans[node]
    block = Function(computation, Graph(), block_of=(node,), loop=scan.loop, origin=origin, note=trace.needed_whole())
    graph, copier = block.graph, ScanCopier(trace, block, origin, scan)
    copier.copy()
    outer = {part: copier.made[part, key_of(_index_in_steps(node, trace, part))] for part in body_and_captured(node)[1]}
    given = list(zip(trace.sources.values(), block.parameters, strict=True))
    rows = [(source, p) for source, p in given if any(symbol.is_cut for symbol in source.index)]
    whole = [(source, p) for source, p in given if not any(symbol.is_cut for symbol in source.index)]
    with graph.coming_as(node, origin):
        made, started = _loop(copier, node, outer)
    ordered = [*scan.carried, *scan.written]
    results = [
        graph.typed("item", (made,), c.parameter.shape, c.parameter.element_type, index=scan.loop.carries.index(c))
        for c in ordered
    ]
    block.results = results[0] if len(results) == 1 else tuple(results)
    numbered = copier.numbers in topological(results)
    block.parameters = [
        *([copier.numbers] if numbered else []),
        *(started[carry.parameter] for carry in scan.carried),
        *(p for _, p in (*rows, *whole)),
    ]
    block.sources = (
        *([copier.numbers] if numbered else []),
        *(carry.parameter for carry in scan.carried),
        *(source.node for source, _ in (*rows, *whole)),
    )
    axes = tuple(next(axis for axis, symbol in enumerate(source.index) if symbol.is_cut) for source, _ in rows)
    return ScanBlock(block, numbered, tuple(s for s, _ in rows), axes, tuple(s for s, _ in whole))


def _loop(copier: ScanCopier, node: Node, outer: dict[Node, Node]) -> tuple[Node, dict[Node, Node]]:
    """Return the loop over the steps of a chunk, and the parameter for the initial value of each loop-carried value."""
    graph, scan, chunks = copier.graph, copier.scan, copier.trace.chunks
    counted = next((part for part in scan.read if chunks.is_cut(part)), None)
    first, axis = (outer[counted], scan.read[counted]) if counted is not None else (copier.numbers, 0)
    length = graph.typed("length", (first,), python_int=True, interval=(0, scan.length), axis=axis)
    started: dict[Node, Node] = {}
    initials = []
    for carry in scan.loop.carries:
        p = carry.parameter
        if carry in scan.written:
            array = graph.typed("empty", (length,), p.shape, p.element_type, pinned=True, rows=scan.written[carry])
            initials.append(array)
            continue
        begin = graph.parameter(p.shape, p.element_type, graph.root, interval=p.interval)
        started[p] = begin
        own = carry.initial.operation.allocates and carry.initial.operation.stands_alone
        initials.append(graph.typed("copy", (begin,), p.shape, p.element_type, pinned=True) if own else begin)
    loop = replace(copier.loop(scan.loop, tuple(initials), outer), count=length)
    return graph.typed("loop", tuple(initials), results=node.results, pinned=True, loop=loop), started
