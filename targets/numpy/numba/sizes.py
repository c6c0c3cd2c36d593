"""Sizes of loops as the shapes of arguments tell them: of those over blocks, and of short ones.

LLVM writes a loop of a known, small number of steps out before it looks for many steps to do at once, and then finds
none: sums of 32 numbers take three times as long, exponentials of 16 six times. It does not know the shape of an
argument.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from ....transpile.array.node import Node
from ....transpile.array.program import tree_nodes
from ....transpile.array.traversal import topological
from ....transpile.kernels.index_maps import Index, Map, identity
from ....transpile.kernels.kernel import Kernel
from .renderer import Row

_SHORT = range(8, 64)  # shorter loops are best written out; longer ones are not


_COMPUTED = Index()

Placed = tuple[str, tuple[int, ...], Map]  # an array, its shape, and where a step reads or writes it


def is_better_told(loop: Sequence[int], axis: int) -> bool:
    """Tell whether LLVM should not know how long an axis of a loop is."""
    return loop[axis] in _SHORT and axis == max(each for each, steps in enumerate(loop) if steps > 1)


def told_by(arrays: Iterable[Placed], axis: int, size: int, known: Container[str]) -> tuple[str, int]:
    """Return an array that is as long along an axis as an axis of a loop is, and that axis of it; or no array.

    ``arrays`` are those that a step reads or writes, ``known`` the names of those that are arguments; the size of an
    axis of a block may be -1.
    """
    for array, shape, at in arrays:
        name = array.array if isinstance(array, Row) else array
        for own, index in enumerate(at):
            if name in known and index == Index(0, 1, axis) and shape[own] in (size, -1):
                return name, _axis_of(array, own)
    return "", 0


def read_at(kernel: Kernel, given: Mapping[Node, str]) -> Iterator[Placed]:
    """The arrays that a kernel reads; ``given`` are the texts of its parameters, but for what a loop in it carries."""
    for node in topological(tree_nodes(kernel.function.results)):
        if node.opcode in ("read", "gather", "guarded_gather"):
            array = node.operands[0]
            yield given[array], array.shape, tuple(index or _COMPUTED for index in node.parameters["indices"])
        elif node in given and node not in kernel.whole and node.shape == kernel.loop:
            yield given[node], node.shape, identity(node.shape)


def _axis_of(array: str, axis: int) -> int:
    """The axis of an array that an axis of a row of it is."""
    if not isinstance(array, Row):
        return axis
    whole = [k for k, item in enumerate(array.items) if item is None]
    return whole[axis] if axis < len(whole) else len(array.items) + axis - len(whole)
