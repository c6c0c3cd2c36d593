"""Legalizes operations that cannot be computed block by block, where they are cut.

Triangles and diagonals become comparisons of row and column numbers, random numbers are drawn by their counts, gaps
between elements become an axis that is merged, an element of each row is taken along its axis, slices of sums of
arguments become sums of slices, and reads at several computed positions become reads along one axis each. Each block is
then computed like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from math import prod

from ....transpile.array.graph import Graph
from ....transpile.array.node import Node, Slot
from ....transpile.array.program import Function
from ....transpile.array.rewriting import called, rewrite
from ....transpile.array.value import FULL, NEW, getitem
from ....transpile.hlo.element_types import PRED, S32, S64, U32, U64, ElementType
from ..computed_places import is_read_along_several, is_slice_written, read_one_by_one, written_as_slice
from .chunks import Chunks
from .nodes import is_argument, name_of

Operands = tuple[Node, ...]
Rewrite = Callable[[Graph, Node, Operands], Node]


def legalized(function: Function, chunks: Chunks) -> bool:
    """Rewrite the nodes that are to be cut and need legalization; return whether there were any."""
    found = {node: how for node in chunks.classes.nodes if (how := _rewrite_of(node, chunks)) is not None}
    if not found:
        return False

    def rule(node: Node) -> Node | None:
        return found[node](function.graph, node, node.operands) if node in found else None

    rewrite(function, {node.opcode for node in found}, rule)
    return True


def _rewrite_of(node: Node, chunks: Chunks) -> Rewrite | None:
    """Return the rewrite of a node that is to be cut, or None: of a matrix along its rows or columns, of random numbers
    along any axis.
    """
    if node.opcode == "item" and name_of(node.operands[0]) == "philox_bits":
        bits = chunks.classes.items(node.operands[0], 1)
        return (_philox_state, _philox_bits)[node.parameters["index"]] if _any_planned(bits, chunks) else None
    name = name_of(node)
    if name == "advanced_index":
        is_planned = _any_planned(node.operands[:1], chunks)
        return _along_axis if is_planned and _axis_of_choices(node) is not None else None
    if name == "pad":
        return _with_gaps if _is_cut_along_gaps(node, chunks) else None
    if name == "getitem":
        is_apart = is_read_along_several(node, chunks)
        return read_one_by_one if is_apart else _of_slices if _is_slice_of_sum(node, chunks) else None
    if name == "setitem":
        return written_as_slice if is_slice_written(node, chunks) else None
    if name in RANDOM:
        return RANDOM[name] if _any_planned([node], chunks) else None
    is_cut = any(True in chunks.is_cut_along[operand][-2:] for operand in node.operands)
    return (
        MATRICES.get(name) if is_cut or any(chunks.is_planned(node, axis) for axis in range(node.ndim)[-2:]) else None
    )


def _any_planned(nodes: Iterable[Node], chunks: Chunks) -> bool:
    return any(chunks.is_planned(node, axis) for node in nodes for axis in range(node.ndim))


# -- numbers of rows and columns


def _positions(graph: Graph, node: Node, axis: int, element_type: ElementType) -> Node:
    """Return the positions along an axis. Each axis has its own array, since two axes may be cut differently."""
    size = node.shape[axis]
    return graph.typed("arange", (), (size,), element_type, interval=(0, size - 1), stop=size, axis=axis)


def _mask(graph: Graph, node: Node, direction: str, diagonal: int) -> Node:
    """Return the mask of ``row + diagonal <direction> column``, along the last two axes."""
    rows_at, columns_at = node.ndim - 2, node.ndim - 1
    element_type = S32 if sum(node.shape[rows_at:]) + abs(diagonal) < 1 << 31 else S64
    rows, columns = (_positions(graph, node, axis, element_type) for axis in (rows_at, columns_at))
    shift = graph.literal(abs(diagonal), element_type)
    if diagonal > 0:
        rows = graph.add("add", (rows, shift))
    elif diagonal < 0:
        columns = graph.add("add", (columns, shift))
    rows = getitem(graph, rows, (FULL, NEW))
    return graph.typed("compare", (rows, columns), node.shape[rows_at:], PRED, direction=direction)


def _element_numbers(graph: Graph, node: Node) -> Node:
    """Return the row-major numbers of all elements."""
    parts = []
    for axis in range(node.ndim):
        numbers, step = _positions(graph, node, axis, U64), prod(node.shape[axis + 1 :])
        if step != 1:
            numbers = graph.add("multiply", (numbers, graph.literal(step, U64)))
        parts.append(getitem(graph, numbers, (FULL, *[NEW] * (node.ndim - 1 - axis))))
    return reduce(lambda left, right: graph.add("add", (left, right)), parts)


# -- triangles and diagonals


def _matrix(direction: str) -> Rewrite:
    """Return the rewrite of a matrix of zeros and ones to a mask."""

    def rewritten(graph: Graph, node: Node, operands: Operands) -> Node:
        mask = _mask(graph, node, direction, node.parameters["diagonal"])
        return mask if node.element_type is PRED else graph.add("convert", (mask,), element_type=node.element_type)

    return rewritten


def _triangle(direction: str) -> Rewrite:
    """Return the rewrite of a triangle of a matrix to a select of its elements or zeros."""

    def rewritten(graph: Graph, node: Node, operands: Operands) -> Node:
        mask, zero = _mask(graph, node, direction, node.parameters["diagonal"]), graph.literal(0, node.type)
        return graph.add("select", (mask, *operands, zero))

    return rewritten


def _on_diagonal(graph: Graph, node: Node, operands: Operands) -> Node:
    """Return a vector on a diagonal as a select: each row is the vector, padded by the offset of the diagonal, under a
    mask.
    """
    (vector,), (_, *offset) = operands, node.parameters["arguments"]
    diagonal, zero = sum(offset), graph.literal(0, node.type)
    if diagonal:
        widths = ((max(0, diagonal), max(0, -diagonal)),)
        vector = graph.typed("pad", (vector, zero), node.shape[-1:], node.element_type, widths=widths)
    mask = _mask(graph, node, "EQ", diagonal)
    return graph.add("select", (mask, vector, zero))


def _trace(graph: Graph, node: Node, operands: Operands) -> Node:
    """Return a trace as the sum of a diagonal."""
    (x,), (_, *offset) = operands, node.parameters["arguments"]
    diagonal, (rows, columns) = sum(offset), x.shape[-2:]
    shape = (*node.shape, min(rows + min(diagonal, 0), columns - max(diagonal, 0)))
    axes = {key: axis for key, axis in node.parameters["keywords"].items() if key != "dtype"}
    found = graph.typed("diagonal", (x,), shape, node.element_type, offset=diagonal, axes=axes)
    return graph.typed("sum", (found,), node.shape, node.element_type, axes=(node.ndim,))


MATRICES: dict[str, Rewrite] = {
    "eye": _matrix("EQ"),
    "tri": _matrix("GE"),
    "tril": _triangle("GE"),
    "triu": _triangle("LE"),
    "diag": _on_diagonal,
    "trace": _trace,
}


# -- gaps between elements


def axes_with_gaps(node: Node) -> list[tuple[int, int]]:
    """Return the (operand, axis) pairs along which a node inserts gaps between elements, if they may be cut.

    Such a node is a call of the prelude's ``pad`` with a literal value: dask.array pads only at the ends.
    """
    if name_of(node) != "pad" or node.opcode == "pad" or not node.operands[1].is_literal or 0 in node.operands[0].shape:
        return []
    is_kept = all(0 <= start <= stop <= n for start, stop, n in _crops(node))
    return [(0, axis) for axis, gap in enumerate(_gaps(node)) if gap] if is_kept else []


def _is_cut_along_gaps(node: Node, chunks: Chunks) -> bool:
    return any(chunks.is_cut_along[node.operands[k]][axis] for k, axis in axes_with_gaps(node))


def _gaps(node: Node) -> Sequence[int]:
    return node.parameters["keywords"].get("interior") or (0,) * node.ndim


def _crops(node: Node) -> Iterator[tuple[int, int, int]]:
    """Yield for each axis the range that negative padding leaves, and the size of the axis with its gaps."""
    for (low, high), gap, size in zip(
        node.parameters["arguments"][2], _gaps(node), node.operands[0].shape, strict=True
    ):
        n = size + (size - 1) * gap
        yield max(-low, 0), n - max(-high, 0), n


def _with_gaps(graph: Graph, node: Node, operands: Operands) -> Node:
    """Return a pad with each gap as a new axis that is merged with the axis before it, then cropped and padded at the
    ends.
    """
    x, value = operands
    for axis, gap in enumerate(_gaps(node)):
        x = _spread(graph, x, value, axis, gap) if gap else x
    x = getitem(graph, x, [FULL if stop - start == n else (start, stop, None) for start, stop, n in _crops(node)])
    widths = tuple((max(low, 0), max(high, 0)) for low, high in node.parameters["arguments"][2])
    if not any(map(any, widths)):
        return x
    return graph.typed("pad", (x, value), node.shape, node.element_type, widths=widths)


def _spread(graph: Graph, x: Node, value: Node, axis: int, gap: int) -> Node:
    before, n, behind = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    column = getitem(graph, x, [FULL] * (axis + 1) + [NEW] + [FULL] * len(behind))
    widths = tuple((0, gap if k == axis + 1 else 0) for k in range(column.ndim))
    padded = graph.typed("pad", (column, value), (*before, n, gap + 1, *behind), x.element_type, widths=widths)
    merged = graph.typed("reshape", (padded,), (*before, n * (gap + 1), *behind), x.element_type)
    return getitem(graph, merged, [FULL] * axis + [(None, -gap, None)] + [FULL] * len(behind))


# -- an element of each row


def _axis_of_choices(node: Node) -> int | None:
    """Return the axis along which ``x[np.arange(n), i]`` takes one element of each row, which is in the row's own
    block; None for any other index.
    """
    (x, *indices), index = node.operands, node.parameters["index"]
    if not all(isinstance(item, Slot) for item in index) or not len(indices) == x.ndim == node.ndim + 1:
        return None
    chosen = [axis for axis, positions in enumerate(indices) if _axis_counted(positions, node.ndim) is None]
    others = [axis for axis in range(x.ndim) if axis not in chosen]
    if len(chosen) != 1 or [_axis_counted(indices[axis], node.ndim) for axis in others] != list(range(node.ndim)):
        return None
    return chosen[0] if indices[chosen[0]].shape == node.shape == tuple(x.shape[axis] for axis in others) else None


def _axis_counted(index: Node, ndim: int) -> int | None:
    """Return the axis along which an index is ``np.arange`` of its size, or None."""
    long = [axis - index.ndim + ndim for axis, size in enumerate(index.shape) if size > 1]
    if index.opcode == "getitem" and all(item in (FULL, NEW) for item in index.parameters["index"]):
        (index, *_) = index.operands
    return long[0] if index.opcode == "arange" and len(long) == 1 else None


def _along_axis(graph: Graph, node: Node, operands: Operands) -> Node:
    """Return ``np.take_along_axis`` with one element along the axis, which is then dropped."""
    axis = _axis_of_choices(node)
    assert axis is not None
    x, index = operands[0], operands[1 + axis]
    places = getitem(graph, index, [NEW if k == axis else FULL for k in range(x.ndim)])
    return getitem(
        graph, graph.add("take_along_axis", (x, places), axis=axis), [0 if k == axis else FULL for k in range(x.ndim)]
    )


# -- slices of what is computed


def _is_slice_of_sum(node: Node, chunks: Chunks) -> bool:
    """Return whether a node is a slice, along a cut axis, of a cheap operation on arguments. Slicing the arguments
    instead recomputes less than a file would cost to write and read.
    """
    x, *rest = node.operands
    items = (*node.parameters["index"], *[FULL] * x.ndim)[: x.ndim]
    if rest or len(x.operands) > 2 or not x.operation.is_elementwise or x.operation.is_costly or is_argument(x):
        return False
    if not all(item == FULL or (isinstance(item, tuple) and len(item) == 3) for item in items):
        return False
    is_moved = any(cut and item != FULL for cut, item in zip(chunks.is_cut_along[x], items, strict=True))
    return is_moved and all(one.is_literal or (one.shape == x.shape and _is_read(one)) for one in x.operands)


def _is_read(node: Node) -> bool:
    """Return whether a node is an argument or a part of one."""
    return is_argument(node.operands[0] if node.opcode == "getitem" and len(node.operands) == 1 else node)


def _of_slices(graph: Graph, node: Node, operands: Operands) -> Node:
    (x,), index = operands, node.parameters["index"]
    parts = tuple(one if one.is_literal else getitem(graph, one, index) for one in x.operands)
    return graph.typed(x.opcode, parts, node.shape, node.element_type, interval=x.interval, **x.parameters)


# -- random numbers, each from its own count


def _random_bits(graph: Graph, node: Node, operands: Operands) -> Node:
    return graph.typed(
        "prelude", (*operands, _element_numbers(graph, node)), node.shape, U32,
        function="random_bits_at", arguments=(Slot(0), Slot(1)), keywords={},
    )  # fmt: skip


def _of_bits(function: str) -> Rewrite:
    """Return the rewrite of a function of random bits, 32 for each number. Its arguments are the key, the shape, and
    others that are passed on.
    """

    def rewritten(graph: Graph, node: Node, operands: Operands) -> Node:
        return called(graph, function, (_random_bits(graph, node, operands),), node, *node.parameters["arguments"][2:])

    return rewritten


def _philox_bits(graph: Graph, node: Node, operands: Operands) -> Node:
    (call,) = operands
    return called(graph, "philox_bits_at", (*call.operands, _element_numbers(graph, node)), node, node.type)


def _philox_state(graph: Graph, node: Node, operands: Operands) -> Node:
    (call,) = operands
    _, shape, element_type = call.parameters["arguments"]
    count = -(-prod(shape) // (2 if element_type.bits == 64 else 4))
    return called(graph, "philox_next", call.operands, node, count)


RANDOM: dict[str, Rewrite] = {
    "random_bits": _random_bits,
    "random_uniform": _of_bits("uniform_of"),
    "random_normal": _of_bits("normal_of"),
}
