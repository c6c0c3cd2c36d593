"""The strategy of convolutions and windowed reductions along axes with several chunks: tasks read what their windows
cover.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod

from ....templates.prelude.tiles import WINDOW_BYTES
from ....transpile.array.node import Node, PreludeName
from ..planning.axis_classes import Axis, AxisClasses
from ..planning.chunks import Chunks
from ..planning.nodes import name_of
from ..planning.product_axes import contracted, is_convolution
from ..planning.strategy import ArrayPhase, ArrayStrategy, Cost, Lengths, OperandAxis
from ..planning.window_axes import Windows, layout_of, moving_axes, summed_letters, windows_of
from ..writing.main_writer import Call, MainWriter

COPIES = 5  # of its operand and result that a convolution holds


class WindowsInChunks(ArrayStrategy):
    """``main`` calls a function whose tasks each compute a piece of the result, a few rows at a time."""

    name = "windows"

    def same_chunks(self, node: Node, classes: AxisClasses) -> Iterator[tuple[Axis, Axis]]:
        for windows in windows_of(node):
            like, place = windows.like(node)
            if like.shape[place] == node.operands[0].shape[windows.axis] != 1:
                yield (node.operands[0], windows.axis), (like, place)

    def divides(self, node: Node) -> set[OperandAxis]:
        return moving_axes(node)

    def implied(self, node: Node, classes: AxisClasses, lengths: Lengths) -> Iterator[tuple[Axis, int]]:
        """Yield the chunk lengths of the windows, which follow from those of the first operand."""
        for windows in windows_of(node):
            key, of = classes.find(*windows.like(node)), classes.find(node.operands[0], windows.axis)
            if of in lengths:
                yield key, windows.length(lengths[of])

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        return bool(_cut_windows(node, chunks))

    def propagated(self, node: Node, chunks: Chunks) -> Iterator[tuple[Node, tuple[bool, ...]]]:
        found = list(chunks.followed(node))
        for one in _cut_windows(node, chunks):
            found[one.result] = found[one.result] or (chunks.is_planned(node, one.result) and not one.is_summed)
        yield node, tuple(found)

    def cost(self, phase: ArrayPhase, chunks: Chunks) -> Cost:
        """Return the cost: a task holds a block of the result and of the operands, a few rows at a time."""
        node = phase.node
        given = tuple(filter(chunks.is_cut, node.operands))
        size = chunks.block_bytes(node) + _row_bytes(node, chunks)
        return Cost(
            name_of(node),
            tasks=chunks.count(node) * _parts(node, chunks),
            task_bytes=size + chunks.given_bytes(given),
            file_task_bytes=size + chunks.given_bytes(given, by_rows=True),
            sources=node.operands,
            passes=node.operands,
            handed_on_bytes=chunks.block_bytes(node),
        )

    def write(self, phase: ArrayPhase, main: MainWriter) -> None:
        node, chunks = phase.node, main.chunks
        function, arguments, keywords = (node.parameters[key] for key in ("function", "arguments", "keywords"))
        sized = {"chunks": chunks.block_shape(node)}
        if function == "select_and_scatter":
            call = Call("select_and_scatter_in_chunks", arguments, {**keywords, **sized}, 2, take_files=True)
        else:
            letters = summed_letters(node, chunks.is_cut_along[node.operands[1]]) if len(node.operands) > 1 else ""
            known = {
                "layout": layout_of(node),
                "shape": node.shape,
                **sized,
                **({"summed": letters} if letters else {}),
            }
            reads = 2 if is_convolution(node) else 1
            call = Call(
                "in_windows", (PreludeName(function), *arguments), {**keywords, **known}, reads, take_files=True
            )
        main.call(node, call)


def _cut_windows(node: Node, chunks: Chunks) -> list[Windows]:
    """Return the windows along cut axes that tasks can read on their own."""
    found = windows_of(node)
    unmet = chunks.unmet(node) if found else set()
    return [one for one in found if (0, one.axis) in unmet or (one.is_summed and (1, one.kernel) in unmet)]


def _parts(node: Node, chunks: Chunks) -> int:
    """Return the number of chunks of a kernel whose parts of a convolution are added."""
    if len(node.operands) < 2:
        return 1
    kernel = node.operands[1]
    letters = summed_letters(node, chunks.is_cut_along[kernel])
    axes = zip(layout_of(node).partition(",")[2], range(kernel.ndim), strict=False)
    return prod(ceil(kernel.shape[axis] / chunks.length(kernel, axis)) for letter, axis in axes if letter in letters)


def _row_bytes(node: Node, chunks: Chunks) -> int:
    """Return the bytes that a task holds for the windows of the rows that it computes at a time, as many as the prelude
    takes.
    """
    x, windows = node.operands[0], windows_of(node)
    summed = {left for left, _ in contracted(node)}
    axis_map = enumerate(chunks.classes.axis_maps[node][0])
    box = [chunks.length(x, k) if place is not None or k in summed else x.shape[k] for k, place in axis_map]
    for one in windows:
        taps = chunks.length(node.operands[1], one.kernel) if one.is_summed and one.kernel is not None else one.size
        box[one.axis] = min(x.shape[one.axis], one.reach(chunks.length(node, one.result), taps))
    rows = min(windows, key=lambda one: one.result)
    row_bytes = max(1, prod(box) // box[rows.axis] * x.type.dtype.itemsize * rows.stride)
    count = min(chunks.length(node, rows.result), max(8 * rows.size, WINDOW_BYTES // row_bytes))
    height = min(box[rows.axis], rows.reach(count, rows.size)) if rows.is_summed else count * rows.stride
    return COPIES * height * row_bytes // rows.stride
