"""The strategy of dask.array's own functions along axes with several chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil

from ....transpile.array.node import Node
from ....transpile.array.scalars import is_known_on_host
from ..planning.chunks import Chunks
from ..planning.nodes import is_filled, name_of
from ..planning.scatters import is_scatter
from ..planning.strategy import ArrayPhase, ArrayStrategy, Cost, OperandAxis, every_axis

# Operations that dask.array computes along an axis with several chunks, each with its condition.
SUPPORTED: dict[str, Callable[[Node], bool]] = {
    **dict.fromkeys(("roll", "concatenate", "stack", "cumsum", "cumprod", "broadcast_to"), lambda node: True),
    **dict.fromkeys(("argmax", "argmin", "bitwise_reduce", "diagonal"), is_filled),
    "setitem": lambda node: not is_scatter(node) and all(is_known_on_host(index) for index in node.operands[2:]),
    "getitem": lambda node: all(is_known_on_host(index) for index in node.operands[1:]),
    "pad": lambda node: is_filled(node) and node.operands[1].is_literal,
}


class DaskBuiltin(ArrayStrategy):
    """``main`` calls dask.array's function for an operation."""

    name = "dask_builtin"

    def divides(self, node: Node) -> list[OperandAxis]:
        return every_axis(node) if node.opcode in SUPPORTED else []

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        if node.opcode not in SUPPORTED:
            return False
        if node.opcode == "broadcast_to":
            return any(chunks.followed(node))
        return bool(chunks.unmet(node)) and SUPPORTED[node.opcode](node)

    def propagated(self, node: Node, chunks: Chunks) -> Iterator[tuple[Node, tuple[bool, ...]]]:
        """Yield the cut axes of the result, among them those that no operand has, which dask.array also cuts."""
        found = chunks.followed(node)
        if node.opcode != "broadcast_to":
            own = {place for axis_map in chunks.classes.axis_maps[node] for place in axis_map}
            found = tuple(found[axis] or (axis not in own and size > 1) for axis, size in enumerate(node.shape))
        yield node, found

    def cost(self, phase: ArrayPhase, chunks: Chunks) -> Cost | None:
        """Return the cost: a task has a block of the result and of its operands. Diagonals need a task for each chunk
        of the matrices.
        """
        node = phase.node
        is_cut = any(map(chunks.is_cut, (node, *node.operands)))
        if node.opcode not in SUPPORTED or node.opcode == "broadcast_to" or not is_cut:
            return None
        size, tasks = chunks.block_bytes(node), chunks.count(node)
        if node.opcode == "diagonal":
            (x,) = node.operands
            tasks *= max(ceil(x.shape[axis] / chunks.length(x, axis)) for axis in (x.ndim - 2, x.ndim - 1))
        return Cost(
            name_of(node),
            tasks=tasks,
            task_bytes=size + chunks.given_bytes(node.operands),
            file_task_bytes=size + chunks.given_bytes(node.operands),
            sources=node.operands,
            passes=node.operands,
            handed_on_bytes=size,
        )
