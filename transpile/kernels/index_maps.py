"""Index maps: which element of an array a step of a loop reads, as one index per axis that is linear in an axis of the
loop.

Views (slices, transposes, unit axes, broadcasts) cost nothing in a kernel: they change the index at which an array is
read, which is arithmetic with constants.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..array.node import Node
from ..array.value import FULL, NEW
from ..dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Index:
    """``start + step * (index along axis)`` of the loop; ``axis`` is None if the index is ``start`` everywhere."""

    start: int = 0
    step: int = 0
    axis: int | None = None


Map = tuple[Index, ...]  # one for each axis of an array
ANYWHERE: Map = (Index(axis=-1),)  # the map of an array that is read at computed indices; equal to no other

VIEWS = frozenset(("expand", "getitem", "transpose", "broadcast_to"))


def identity(shape: Sequence[int]) -> Map:
    """Return the map of a step to its own element."""
    return tuple(Index() if size == 1 else Index(0, 1, axis) for axis, size in enumerate(shape))


def is_in_order(at: Map) -> bool:
    """Return whether the loop visits the elements of an array in memory order."""
    axes = [index.axis for index in at if index.axis is not None]
    return axes == sorted(axes)


def is_view(node: Node) -> bool:
    """Return whether a node only selects and permutes elements of its operand at static positions."""
    if node.opcode not in VIEWS or len(node.operands) != 1:
        return False
    return all(
        item is NEW or item == FULL or isinstance(item, int | tuple) for item in node.parameters.get("index", ())
    )


def through(view: Node, at: Map) -> Map:
    """Return where the operand of a view is read if the view is read at ``at``."""
    (source,) = view.operands
    if view.opcode == "transpose":
        order = view.parameters["axes"]
        return tuple(at[order.index(axis)] for axis in range(source.ndim))
    if view.opcode == "broadcast_to":
        return broadcast(source, view, at)
    found: list[Index] = []
    waiting = iter(at)
    for item in view.parameters["index"]:
        if item is NEW:
            next(waiting)
            continue
        size = source.shape[len(found)]
        if isinstance(item, int):
            found.append(Index(item % size))
        elif item == FULL:
            found.append(next(waiting))
        else:
            found.append(sliced(next(waiting), range(size)[slice(*item)]))
    return (*found, *waiting)


def sliced(index: Index, positions: range) -> Index:
    return Index(positions.start + positions.step * index.start, positions.step * index.step, index.axis)


def broadcast(operand: Node, user: Node, at: Map) -> Map:
    """Return where an operand of an element-wise operation is read if the operation is computed at ``at``."""
    own = at[len(at) - operand.ndim :]
    return tuple(Index() if size == 1 else index for size, index in zip(operand.shape, own, strict=True))


@dataclass(frozen=True, slots=True)
class Bound:
    """The range from ``start`` to below ``stop`` of an axis."""

    axis: int
    start: int
    stop: int


def pieces(node: Node) -> list[Node]:
    """Return the pieces of a concatenation, stack, roll or pad; the fill of a pad comes last."""
    return [*node.operands] * (2 if node.opcode == "roll" else 1)


def bounds(node: Node, number: int) -> tuple[Bound, ...]:
    """Return the bounds of the elements of a piece that are in no earlier piece."""
    if node.opcode == "pad":
        widths = enumerate(node.parameters["widths"]) if number == 0 else ()
        return tuple(Bound(axis, low, node.shape[axis] - high) for axis, (low, high) in widths if low or high)
    return (Bound(node.parameters["axis"], 0, sum(_sizes(node)[: number + 1])),)


def _sizes(node: Node) -> list[int]:
    """Return the size of each piece along the axis of concatenation."""
    axis = node.parameters["axis"]
    if node.opcode == "roll":
        size, shift = node.shape[axis], node.parameters["shift"]
        return [shift % size, -shift % size]
    return [1 if node.opcode == "stack" else operand.shape[axis] for operand in node.operands]


def piece(node: Node, number: int, at: Map) -> Map:
    """Return where a piece is read for the element at ``at`` of the whole."""
    operand = pieces(node)[number]
    if node.opcode == "pad":
        lows = [low for low, _ in node.parameters["widths"]]
        moved = tuple(_moved(index, -low) for index, low in zip(at, lows, strict=True)) if number == 0 else ()
        return _in_units(operand, moved)
    axis, sizes = node.parameters["axis"], _sizes(node)
    if node.opcode == "stack":
        return (*at[:axis], *at[axis + 1 :])
    behind = operand.shape[axis] - sizes[0] if node.opcode == "roll" and number == 0 else 0  # it begins with the end
    index = _moved(at[axis], behind - sum(sizes[:number]))
    return _in_units(operand, (*at[:axis], index, *at[axis + 1 :]))


def _moved(index: Index, by: int) -> Index:
    return Index(index.start + by, index.step, index.axis)


def _in_units(operand: Node, at: Map) -> Map:
    """Return the map with index 0 along axes of one element."""
    return tuple(Index() if size == 1 else place for size, place in zip(operand.shape, at, strict=True))


@dataclass(frozen=True, slots=True)
class Test:
    """The test whether an element is within a bound: ``place`` is the position along the axis of ``size``, as a number;
    ``index`` as an index map.
    """

    place: Offset
    index: Index
    bound: Bound
    size: int


@dataclass(frozen=True, slots=True)
class Term:
    """``at / divisor % modulus * factor`` of the number ``at`` of an element; no modulus if it is None."""

    divisor: int
    modulus: int | None
    factor: int


@dataclass(frozen=True, slots=True)
class Offset:
    """The offset of an element in row-major order: a constant and terms, outermost first."""

    start: int
    terms: tuple[Term, ...]

    @property
    def is_own(self) -> bool:
        """Whether the offset is the number of the element itself."""
        return self.start == 0 and self.terms == (Term(1, None, 1),)


def offset(at: Map, shape: Sequence[int], loop: Sequence[int]) -> Offset:
    """Return the offset of ``at`` in an array of ``shape``, for a loop over the elements of ``loop``."""
    start, factors = 0, [0] * len(loop)
    stride = 1
    for index, size in zip(reversed(at), reversed(shape), strict=True):
        start += index.start * stride
        if index.axis is not None:
            factors[index.axis] += index.step * stride
        stride *= size
    terms: list[Term] = []
    inner = 1  # the stride of the axis in the loop
    size, factor, divisor = 1, 0, 1  # of the axes merged so far
    for length, own in zip(reversed(loop), reversed(factors), strict=True):
        if length != 1:
            if size > 1 and own == factor * size:
                size *= length
            else:
                terms += [Term(divisor, size, factor)] if factor and size > 1 else []
                size, factor, divisor = length, own, inner
        inner *= length
    terms += [Term(divisor, size, factor)] if factor and size > 1 else []
    whole = [Term(t.divisor, None if t.divisor * (t.modulus or 1) == inner else t.modulus, t.factor) for t in terms]
    return Offset(start, tuple(reversed(whole)))
