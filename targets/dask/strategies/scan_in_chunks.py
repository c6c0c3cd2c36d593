"""The strategy of loops over the rows of arrays: a task runs the steps of one chunk."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import ceil

from ....transpile.array.node import Node
from ....transpile.array.traversal import body_and_captured
from ..planning.axis_classes import Axis, AxisClasses
from ..planning.chunks import Chunks
from ..planning.nodes import is_argument
from ..planning.scans import Scan, start_of
from ..planning.strategy import ArrayPhase, ArrayStrategy, Cost
from ..writing.main_writer import MainWriter
from ..writing.scan_blocks import ScanBlock, scan_block, scan_trace
from ..writing.tracing import Trace, is_free


class ScanInChunks(ArrayStrategy):
    """The strategy of a scan whose loop-carried values go from task to task. No other array that the loop reads may be
    cut.
    """

    name = "scan_in_chunks"

    def same_chunks(self, node: Node, classes: AxisClasses) -> Iterator[tuple[Axis, Axis]]:
        return pairwise(classes.scans[node].axes) if node in classes.scans else iter(())

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        scan = chunks.classes.scans.get(node)
        if scan is None or not any(chunks.is_planned(part, axis) for part, axis in scan.axes):
            return False
        if not scan.written and not any(chunks.is_cut_along[part][axis] for part, axis in scan.read.items()):
            return False  # the arrays that it reads were to be cut, but are not
        written = {carry.parameter for carry in scan.written}
        body, captured = body_and_captured(node)
        whole = [carry.initial for carry in scan.carried]
        whole += [part for part in (*body, *captured) if part not in scan.read and part not in written]
        others = (
            is_cut
            for part, axis in scan.read.items()
            for k, is_cut in enumerate(chunks.is_cut_along[part])
            if k != axis
        )
        return not any(map(chunks.is_cut, whole)) and not any(others)

    def propagated(self, node: Node, chunks: Chunks) -> Iterator[tuple[Node, tuple[bool, ...]]]:
        """Yield the cut axes: arrays that the loop writes have the same chunks as those that it reads."""
        yield node, chunks.is_cut_along[node]
        scan = chunks.classes.scans[node]
        for carry, axis in scan.written.items():
            cut = tuple(k == axis for k in range(carry.parameter.ndim))
            for target in (carry.parameter, *chunks.classes.items(node, scan.loop.carries.index(carry))):
                yield target, cut

    def trace(self, node: Node, chunks: Chunks) -> Trace:
        return scan_trace(node, Trace(chunks, node.region))

    def needs(self, phase: ArrayPhase) -> list[Node]:
        trace = phase.own_trace
        scan = trace.chunks.classes.scans[phase.node]
        return [*map(start_of, scan.carried), *(source.node for source in trace.sources.values())]

    def cost(self, phase: ArrayPhase, chunks: Chunks) -> Cost:
        """Return the cost: written chunks wait while the next is made, and loop-carried values exist before and after a
        step.

        Consecutive steps run on any thread, and malloc keeps the memory of a chunk for each.
        """
        node, trace = phase.node, phase.own_trace
        scan = chunks.classes.scans[node]
        held = [carry.parameter for carry in scan.loop.carries] * 2
        held += [part for part in body_and_captured(node)[0] if not is_free(part) and not part.results]
        size = sum(map(chunks.block_bytes, held)) + trace.made_bytes()
        part, axis = next((part, axis) for part, axis in scan.axes if chunks.is_cut_along[part][axis])
        sources = tuple(source.node for source in trace.sources.values())
        return Cost(
            "steps",
            tasks=ceil(scan.length / chunks.length(part, axis)),
            task_bytes=size + trace.given_bytes(),
            file_task_bytes=size + trace.given_bytes(),
            sources=tuple(x for x in sources if x.ndim),
            passes=tuple(x for x in sources if is_argument(x) and chunks.is_cut(x)),
            handed_on_bytes=sum(chunks.block_bytes(carry.parameter) for carry in scan.written),
            note=trace.needed_whole(),
            in_turn=bool(scan.carried),
        )

    def write(self, phase: ArrayPhase, main: MainWriter) -> None:
        """Add the block function, the call that runs chunk after chunk, and the items of its results."""
        node, function = phase.node, main.function
        scan = main.chunks.classes.scans[node]
        block = scan_block(node, phase.own_trace, function.computation, main.graph)
        main.block_functions[node] = block.function
        operands = _operands(node, scan, block, main)
        ordered = [*scan.carried, *scan.written]
        types = tuple((carry.parameter.shape, carry.parameter.element_type) for carry in ordered)
        several = len(types) > 1
        shape, element_type = ((), None) if several else types[0]
        with main.at(node.region, node) as graph:
            made = graph.typed(
                "prelude", operands, shape, element_type, results=types if several else (), pinned=True,
                function="loop_in_chunks", arguments=(block.function,), keywords=block.keywords(scan), stands_for=node,
                carry=ordered[0],
            )  # fmt: skip
        for k, carry in enumerate(scan.loop.carries):
            place = ordered.index(carry)
            begins = place + (len(block.rows) + len(block.whole)) * (carry in scan.written)
            for item in main.chunks.classes.items(node, k):
                if not several:
                    main.note(item, made)
                    continue
                with main.at(node.region, item) as graph:
                    part = graph.typed(
                        "item", (made,), item.shape, item.element_type, interval=item.interval,
                        index=place, carry=carry, begins=begins,
                    )  # fmt: skip
                main.note(item, part)


def _operands(node: Node, scan: Scan, block: ScanBlock, main: MainWriter) -> tuple[Node, ...]:
    """Return the operands of the call: initial values, arrays read by rows, whole arrays, and empty arrays like those
    written.
    """
    rows = (source.node for source in block.rows)
    operands = [
        *(main.given(start_of(carry), node.region) for carry in scan.carried),
        *(x if main.is_read(x) else main.given(x, node.region) for x in rows),
        *(main.given(source.node, node.region) for source in block.whole),
    ]
    for p in (carry.parameter for carry in scan.written):
        chunks = main.chunks.block_shape(p)
        with main.at(node.region, node) as graph:
            operands.append(graph.typed("empty", (), p.shape, p.element_type, pinned=True, chunks=chunks))
    return tuple(operands)
