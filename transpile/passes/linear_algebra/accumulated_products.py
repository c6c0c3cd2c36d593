"""Sums of products over the iterations of a loop, such as ``total + x[t].T @ y`` in gradients of weights, as one
product after the loop: ``tensordot(x, ys, ((0, 1), (0, 1)))``, where ``ys`` stacks ``y`` of all iterations.

That takes less time than many small products and sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Carry, Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support
from ...dataclass import dataclass
from ..loops.dead_carries import unread_carries
from ..loops.loop_rows import is_counted_row, of_all_rounds
from ..rewriting.rules import is_full_float

_MOST_BYTES = 2**26  # of additional arrays that a loop stores
_TURNED = (1, 0)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A carry to which a ``product`` is added in every iteration. The factors, contracted along ``axes``, are values of
    an iteration or rows of arrays from outside of the loop.
    """

    carry: Carry
    product: Node
    factors: tuple[Node, Node]
    axes: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def transposed(self) -> _Sum:
        """The sum of the transposed matrix products."""
        return _Sum(self.carry, self.product, self.factors[::-1], self.axes[::-1])


def accumulated_products(function: Function, supports: Support) -> None:
    """Replace sums of products over all iterations of a loop by one product after it."""
    if not supports.features.arrays_fit_memory:
        return
    graph, live = function.graph, live_nodes(function)
    most_bytes = _MOST_BYTES if supports.features.sizes_are_fixed else inf
    sums = {
        (node, node.parameters["loop"].carries.index(one.carry)): one
        for node in live.of(("loop",))
        for one in _sums(node.parameters["loop"], live, most_bytes)
    }
    if not sums:
        return
    wholes = {place: [_of_all_rounds(graph, place[0], factor) for factor in one.factors] for place, one in sums.items()}
    function.live = None

    def summed(item: Node) -> Node | None:
        place = item.operands[0], item.parameters["index"]
        if place not in sums:
            return None
        one, factors = sums[place], tuple(wholes[place])
        axes = tuple((0, *(axis + 1 for axis in each)) for each in one.axes)
        precision = {name: value for name, value in one.product.parameters.items() if name != "axes"}
        total = graph.add("tensordot", factors, element_type=one.product.element_type, axes=axes, **precision)
        initial = one.carry.initial
        return total if initial.opcode == "zeros" else graph.add("add", (initial, total))

    rewrite(function, ("item",), summed, supports)
    unread_carries(function, supports)


def _sums(loop: Loop, live: LiveNodes, most_bytes: float) -> Iterator[_Sum]:
    """Yield the carries of a loop to which a product is added, if they have no other users in the loop."""
    if not _counts_rows(loop, loop.trip_count):
        return
    for carry in loop.carries:
        following = carry.following
        if following is None or following.opcode != "add" or carry.parameter not in following.operands:
            continue
        (added,) = {*following.operands} - {carry.parameter} or (carry.parameter,)
        is_turned = added.opcode == "transpose" and added.parameters["axes"] == _TURNED
        product = added.operands[0] if is_turned else added
        is_sum = product.opcode in ("matmul", "tensordot") and product.region is loop.region and product.ndim
        if not is_sum or not is_full_float(product.type) or carry.parameter.shape != added.shape:
            continue
        if any(live.count(node) != 1 for node in {carry.parameter, following, added, product}):
            continue
        one = _sum(carry, product)
        if one is not None and is_turned:
            one = one.transposed if all(map(_is_of_one_axis, one.factors, one.axes)) else None
        stored = {factor for factor in one.factors if not _has_all_rows(factor, loop)} if one is not None else set()
        each = sum(prod(factor.shape) * factor.type.bits // 8 for factor in stored)
        is_less = most_bytes == inf or sum(prod(factor.shape) for factor in stored) <= prod(product.shape)
        if one is not None and is_less and each * loop.trip_count <= most_bytes:
            yield one


def _sum(carry: Carry, product: Node) -> _Sum | None:
    left, right = product.operands
    if product.opcode == "tensordot":
        return _Sum(carry, product, (left, right), product.parameters["axes"])
    if left.ndim != 2 or right.ndim != 2:
        return None
    (left, of_left), (right, of_right) = _as_stored(left, 1), _as_stored(right, 0)
    return _Sum(carry, product, (left, right), ((of_left,), (of_right,)))


def _is_of_one_axis(factor: Node, axes: tuple[int, ...]) -> bool:
    return factor.ndim - len(axes) == 1


def _as_stored(factor: Node, axis: int) -> tuple[Node, int]:
    """Return the source of a transposed matrix, and the axis in it that corresponds to ``axis``."""
    if factor.opcode == "transpose" and factor.parameters["axes"] == _TURNED:
        return factor.operands[0], 1 - axis
    return factor, axis


def _counts_rows(loop: Loop, rows: int) -> bool:
    """Return whether the loop visits each of the rows of an array once."""
    forwards, backwards = (0, rows, 1), (rows - 1, -1, -1)
    is_counted = loop.is_fixed and rows > 1
    return is_counted and (loop.start, loop.stop, loop.step) in (forwards, backwards)


def _has_all_rows(factor: Node, loop: Loop) -> bool:
    """Return whether a node is a row of an array from outside of the loop that has one row for each iteration."""
    return is_counted_row(factor, loop) and factor.operands[0].shape[0] == loop.trip_count


def _of_all_rounds(graph: Graph, node: Node, factor: Node) -> Node:
    """Return an array of a factor's values in all iterations, from outside of the loop or stored by it."""
    loop: Loop = node.parameters["loop"]
    if _has_all_rows(factor, loop):
        return factor.operands[0]
    return of_all_rounds(graph, node, factor, loop.trip_count)
