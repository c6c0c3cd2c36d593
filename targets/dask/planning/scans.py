"""Loops that step along an axis of arrays, as ``lax.scan`` does.

If no other array that such a loop reads is cut, a task runs the steps of one chunk, and tasks follow one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from math import prod

from ....transpile.array.node import Node, Slot
from ....transpile.array.program import Carry, Loop
from ....transpile.array.traversal import dependencies
from ....transpile.array.value import FULL, NEW
from ....transpile.dataclass import dataclass

LARGEST_STEP = 128 << 20  # bytes of an array that a step reads, computes or writes
SHARE = 8  # such an array may take 1/SHARE of the memory


@dataclass(slots=True)
class Scan:
    """The arrays that a loop of ``length`` steps runs over.

    ``read`` are arrays from outside, and ``written`` carries that each step writes, with the axis on which a step
    accesses only its own position. ``readers`` are the nodes that read such a position. ``carried`` are the other
    carries.
    """

    loop: Loop
    length: int
    read: dict[Node, int] = field(default_factory=dict)
    written: dict[Carry, int] = field(default_factory=dict)
    readers: frozenset[Node] = frozenset()

    @property
    def carried(self) -> list[Carry]:
        """The loop-carried values: carries that are not written by position."""
        return [carry for carry in self.loop.carries if carry not in self.written]

    @property
    def axes(self) -> Iterator[tuple[Node, int]]:
        """The (array, axis) pairs that must be cut alike."""
        yield from self.read.items()
        yield from ((carry.parameter, axis) for carry, axis in self.written.items())


def scan_of(
    node: Node,
    body: list[Node],
    captured: list[Node],
    planned_shape: Callable[[Node], tuple[int, ...]],
    memory: int | None = None,
) -> Scan | None:
    """Return the arrays that a loop runs over. ``body`` are the nodes inside the loop, ``captured`` those that it reads
    from outside.

    None unless the loop steps along an array, forwards or backwards, or if it has other arrays that are larger than
    these, or large compared with ``memory`` bytes, in their ``planned_shape``.
    """
    loop: Loop = node.parameters["loop"]
    numbers = range(loop.start, loop.stop, loop.step)
    count = loop.trip_count
    if not loop.is_fixed or loop.effect is not None or count < 2 or numbers not in (range(count), _reversed(count)):
        return None
    found = Scan(loop, count)
    readers: dict[Node, list[Node]] = {}
    for reader in (*body, node):
        for source in dependencies(reader):
            readers.setdefault(source, []).append(reader)
    for source in captured:
        axes = {_own_axis(reader, source, loop, count) for reader in readers[source]}
        if len(axes) == 1 and None not in axes:
            (found.read[source],) = axes  # type: ignore[assignment]
    for store in loop.stores:
        axis = _axis_of_step(store.index, (store.result, store.value, *store.indices), loop)
        is_whole = all(item == FULL for k, item in enumerate(store.index) if k != axis)
        if axis is not None and is_whole and store.carry.parameter.shape[axis] == count:
            found.written[store.carry] = axis
    found.readers = frozenset(reader for source in found.read for reader in readers[source])
    rows = {part: _bytes(part, planned_shape(part)) for part, _ in found.axes}
    steps = [rows[part] // planned_shape(part)[axis] for part, axis in found.axes]
    whole = [carry.parameter for carry in found.carried] + [part for part in (*body, *captured) if part not in rows]
    largest = max([*(_bytes(part, planned_shape(part)) for part in whole), *steps], default=0)
    longest = max(rows.values(), default=0)
    allowed = LARGEST_STEP if memory is None else min(LARGEST_STEP, memory // SHARE)
    return found if largest <= min(longest, allowed) else None


def _bytes(node: Node, shape: tuple[int, ...]) -> int:
    return prod(shape) * node.type.dtype.itemsize if node.element_type is not None else 0


def start_of(carry: Carry) -> Node:
    """Return the initial value of a carry without its copy: a loop that becomes a function has its own array to
    change.
    """
    initial = carry.initial
    return initial.operands[0] if initial.opcode == "copy" else initial


def _reversed(count: int) -> range:
    return range(count - 1, -1, -1)


def _own_axis(reader: Node, source: Node, loop: Loop, count: int) -> int | None:
    """Return the axis along which a node reads only the step's own position of an array; None if it reads anything
    else.
    """
    if reader.opcode != "getitem" or reader.operands[0] is not source or source in reader.operands[1:]:
        return None
    axis = _axis_of_step(reader.parameters["index"], reader.operands, loop)
    return axis if axis is not None and source.shape[axis] == count else None


def _axis_of_step(index: tuple[object, ...], operands: tuple[Node, ...], loop: Loop) -> int | None:
    """Return the only axis that is indexed by the step's number, or by a slice of one element there; None if there is
    none.
    """
    items = [item for item in index if item is not NEW]
    starts = [item[0] if isinstance(item, tuple) and item[1:] == (1,) else item for item in items]
    axes = [
        axis for axis, start in enumerate(starts) if isinstance(start, Slot) and is_number(operands[start.index], loop)
    ]
    return axes[0] if len(axes) == 1 else None


def is_number(node: Node, loop: Loop) -> bool:
    """Return whether a node is the number of the step."""
    while node.opcode == "retype":
        (node,) = node.operands
    return node is loop.counter
