"""Index maps: which element of an array a step of a loop reads, by an index for each axis, linear in the axes of the
loop.

Views (slices, transposes, unit axes, broadcasts) cost nothing in a kernel: they change the index at which an array is
read, and that is arithmetic with constants.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..array.node import Node
from ..array.value import FULL, NEW
from ..dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Index:
    """``start + step * (index along axis)`` of the loop; ``axis`` is None where the index is ``start`` everywhere."""

    start: int = 0
    step: int = 0
    axis: int | None = None


Map = tuple[Index, ...]  # one for each axis of an array
ANYWHERE: Map = (Index(axis=-1),)  # an array that is read where computed indices say; equal to no other

VIEWS = frozenset(("expand", "getitem", "transpose", "broadcast_to"))


def identity(shape: Sequence[int]) -> Map:
    """Return the map of a step to its own element."""
    return tuple(Index() if size == 1 else Index(0, 1, axis) for axis, size in enumerate(shape))


def is_in_order(at: Map) -> bool:
    """Tell whether the elements of an array come in the order in which a loop comes to them."""
    axes = [index.axis for index in at if index.axis is not None]
    return axes == sorted(axes)


def is_view(node: Node) -> bool:
    """A node that only selects and orders elements of its operand, in a way known before the program runs."""
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
    """The elements from ``start`` to ``stop`` of an axis."""

    axis: int
    start: int
    stop: int


def pieces(node: Node) -> list[Node]:
    """Return what a concatenation, stack, roll or pad is made of; what fills a pad comes last."""
    return [*node.operands] * (2 if node.opcode == "roll" else 1)


def bounds(node: Node, number: int) -> tuple[Bound, ...]:
    """Return which elements are of a piece, if they are of none before it."""
    if node.opcode == "pad":
        widths = enumerate(node.parameters["widths"]) if number == 0 else ()
        return tuple(Bound(axis, low, node.shape[axis] - high) for axis, (low, high) in widths if low or high)
    return (Bound(node.parameters["axis"], 0, sum(_sizes(node)[: number + 1])),)


def _sizes(node: Node) -> list[int]:
    """Return how many elements are of each piece, along the axis on which they follow each other."""
    axis = node.parameters["axis"]
    if node.opcode == "roll":
        size, shift = node.shape[axis], node.parameters["shift"]
        return [shift % size, -shift % size]
    return [1 if node.opcode == "stack" else operand.shape[axis] for operand in node.operands]


def piece(node: Node, number: int, at: Map) -> Map:
    """Return where a piece is read, if the element at ``at`` comes from it."""
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
    """Axes of one element have but that."""
    return tuple(Index() if size == 1 else place for size, place in zip(operand.shape, at, strict=True))


@dataclass(frozen=True, slots=True)
class Test:
    """The element is between bounds of an axis of ``size``: ``place`` is its index there, as a number and by axes."""

    place: Offset
    index: Index
    bound: Bound
    size: int


@dataclass(frozen=True, slots=True)
class Term:
    """``at / divisor % modulus * factor`` of the number ``at`` of an element; no modulus where it is None."""

    divisor: int
    modulus: int | None
    factor: int


@dataclass(frozen=True, slots=True)
class Offset:
    """The place of an element among those of an array in row-major order: a constant and terms, outermost first."""

    start: int
    terms: tuple[Term, ...]

    @property
    def is_own(self) -> bool:
        """Tell whether it is element ``at`` itself."""
        return self.start == 0 and self.terms == (Term(1, None, 1),)


def offset(at: Map, shape: Sequence[int], loop: Sequence[int]) -> Offset:
    """The place that ``at`` is in an array of ``shape``, for a loop over the elements of ``loop``."""
    start, factors = 0, [0] * len(loop)
    stride = 1
    for index, size in zip(reversed(at), reversed(shape), strict=True):
        start += index.start * stride
        if index.axis is not None:
            factors[index.axis] += index.step * stride
        stride *= size
    terms: list[Term] = []
    inner = 1  # elements of the loop behind the axis
    size, factor, divisor = 1, 0, 1  # of the axes taken together so far
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
