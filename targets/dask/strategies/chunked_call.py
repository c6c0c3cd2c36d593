"""The strategy of prelude functions on lazy arrays, for operations along axes with several chunks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

from ....transpile.array.node import Node, PreludeName
from ..chunked_calls import implementations_of
from ..planning.axis_classes import Axis, AxisClasses
from ..planning.chunked_implementation import ChunkedImplementation, OperandAxes
from ..planning.chunks import Chunks
from ..planning.nodes import is_argument, name_of, shape_of
from ..planning.strategy import ArrayPhase, ArrayStrategy, Cost, Lengths, OperandAxis
from ..writing.main_writer import Call, MainWriter


class ChunkedCall(ArrayStrategy):
    """``main`` calls the first implementation of an operation that can divide all axes that are cut."""

    name = "chunked_call"

    def same_chunks(self, node: Node, classes: AxisClasses) -> Iterator[tuple[Axis, Axis]]:
        for (k, axis), place in _divided(node).items():
            if place is not None and shape_of(node.operands[k])[axis] == shape_of(node)[place]:
                yield (node.operands[k], axis), (node, place)
        for implementation in implementations_of(node):
            yield from implementation.same_chunks(node)

    def divides(self, node: Node) -> Collection[OperandAxis]:
        return _divided(node).keys()

    def propose(
        self, node: Node, classes: AxisClasses, sizes: Lengths, lengths: Lengths, needs: Lengths, target: int
    ) -> Lengths:
        found = (one.propose(node, classes, sizes, lengths, needs, target) for one in implementations_of(node))
        return {key: length for proposed in found for key, length in proposed.items()}

    def implied(self, node: Node, classes: AxisClasses, lengths: Lengths) -> Iterator[tuple[Axis, int]]:
        """Yield the lengths of result axes that differ in size: half a spectrum is cut like the whole."""
        for (k, axis), place in _divided(node).items():
            of = classes.find(node.operands[k], axis)
            if place is not None and of in lengths:
                yield classes.find(node, place), lengths[of]

    def stored(self, node: Node, chunks: Chunks) -> Collection[Node]:
        chosen = _chosen(node, chunks)
        return node.operands[: chosen.reads] if chosen.takes_files else ()

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        return bool(implementations_of(node)) and _implementation(node, chunks) is not None

    def propagated(self, node: Node, chunks: Chunks) -> Iterator[tuple[Node, tuple[bool, ...]]]:
        found, chosen = list(chunks.followed(node)), _implementation(node, chunks)
        if chosen is not None and chosen.is_sized:
            found = [is_cut or chunks.is_planned(node, axis) for axis, is_cut in enumerate(found)]
        divided = _divided(node)
        for given in chunks.unmet(node):
            place = divided[given]
            if place is not None:
                found[place] = True
        yield node, tuple(found)

    def cost(self, phase: ArrayPhase, chunks: Chunks) -> Cost:
        node, chosen = phase.node, _chosen(phase.node, chunks)
        others = node.operands * (chosen.holds - 1) if node.results else (node,) * chosen.holds
        others += node.operands * chosen.holds_of_operands
        size = sum(map(chunks.block_bytes, others)) + chosen.element_bytes * prod(chunks.block_shape(node))
        size = max(size, chosen.least_bytes(node, chunks.block_shape(node)))
        return Cost(
            name_of(node),
            tasks=chunks.count(node) * _tasks_each(node, chosen, chunks) * chosen.tasks,
            task_bytes=size + chunks.given_bytes(node.operands),
            file_task_bytes=size + chunks.given_bytes(node.operands, by_rows=chosen.by_rows),
            sources=node.operands,
            passes=node.operands,
            handed_on_bytes=0 if node.results else chunks.block_bytes(node),
        )

    def write(self, phase: ArrayPhase, main: MainWriter) -> None:
        node, chunks = phase.node, main.chunks
        chosen = _chosen(node, chunks)
        arguments, keywords = chosen.arguments(node)
        if chosen.is_sized:
            keywords = {**keywords, "chunks": chunks.block_shape(node)}
        if chosen.for_pieces and node in main.in_pieces:
            keywords = {**keywords, "task": PreludeName(chosen.for_pieces)}
        main.call(node, Call(chosen.function, arguments, keywords, chosen.reads, chosen.takes_files))


def _divided(node: Node) -> OperandAxes:
    """Return the axes of operands that any implementation of a node divides."""
    found = reversed(implementations_of(node))
    return {axis: place for implementation in found for axis, place in implementation.divides(node).items()}


def _implementation(node: Node, chunks: Chunks) -> ChunkedImplementation | None:
    """Return the first implementation that divides all axes that are cut although needed whole; None if there is none,
    or no such axis.
    """
    unmet = chunks.unmet(node)
    found = (one for one in implementations_of(node) if unmet <= one.divides(node).keys())
    return next(found, None) if unmet else None


def _chosen(node: Node, chunks: Chunks) -> ChunkedImplementation:
    chosen = _implementation(node, chunks)
    assert chosen is not None
    return chosen


def _tasks_each(node: Node, chosen: ChunkedImplementation, chunks: Chunks) -> int:
    """Return the number of tasks for each chunk of the result: one for each chunk of the operand ``each`` along axes
    that the result lacks.
    """
    if chosen.each is None:
        return 1
    each = node.operands[chosen.each]
    if not chosen.each and chosen.reads and is_argument(each):
        return 1
    find = chunks.classes.find
    alike = {find(node, axis) for axis in range(len(shape_of(node)))}
    alike |= {
        find(each, axis) for (k, axis), place in chosen.divides(node).items() if k == chosen.each and place is not None
    }
    return chunks.count(each, alike)
