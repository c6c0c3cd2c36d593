"""A strategy: one way in which an operation on arrays in chunks is done.

A strategy says which axes have to be cut alike for it and when it is feasible, what its tasks take, and how it is
written. Block strategies are computed by block functions, which join as many operations as they can; array strategies
are nodes of ``main`` that take and give lazy arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

from ....transpile.array.graph import Graph
from ....transpile.array.node import Node
from ....transpile.array.traversal import nested_roots
from ....transpile.dataclass import dataclass
from ..writing.main_writer import MainWriter
from ..writing.tracing import Index, Trace
from .axis_classes import Axis, AxisClasses
from .chunks import Chunks
from .nodes import shape_of

OperandAxis = tuple[int, int]  # an operand and one of its axes
Lengths = Mapping[Axis, int]  # of the chunks of each class of axes


class Strategy(ABC):
    """One way to do an operation on arrays in chunks."""

    name: ClassVar[str]

    def same_chunks(self, node: Node, classes: AxisClasses) -> Iterator[tuple[Axis, Axis]]:
        """Yield the axes that have to be cut alike, in pairs."""
        return iter(())

    def divides(self, node: Node) -> Collection[OperandAxis]:
        """The axes of operands that may come in several chunks though they are needed whole."""
        return ()

    def propose(
        self, node: Node, classes: AxisClasses, sizes: Lengths, lengths: Lengths, needs: Lengths, target: int
    ) -> Lengths:
        """The lengths of chunks of about ``target`` bytes that suit the strategy, before others are chosen.

        ``sizes`` has the size of each class of axes of more than one element, ``lengths`` what others proposed, and
        ``needs`` the classes that some node needs whole, though perhaps in pieces.
        """
        return {}

    def implied(self, node: Node, classes: AxisClasses, lengths: Lengths) -> Iterator[tuple[Axis, int]]:
        """The lengths of chunks that follow from those that are chosen."""
        return iter(())

    def stored(self, node: Node, chunks: Chunks) -> Collection[Node]:
        """The operands whose blocks lie in files for a node, where they are computed."""
        return ()

    @abstractmethod
    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        """Tell whether a node can be done so, where its operands come in these chunks."""

    def propagated(self, node: Node, chunks: Chunks) -> Iterator[tuple[Node, tuple[bool, ...]]]:
        """Yield the nodes that come in several chunks then, with the axes: the result, and what follows from it."""
        yield node, chunks.followed(node)


@dataclass(frozen=True, slots=True)
class Root:
    """An array that a block function computes, or the parts of one that are left to be combined along the axes
    ``summed`` of the array of parts."""

    node: Node
    strategy: BlockStrategy
    index: Index
    summed: tuple[int, ...] = ()


class BlockStrategy(Strategy):
    """A way to compute blocks by a block function, which may compute other arrays besides.

    It ``gives_parts`` if its blocks are parts of sums, which are combined afterwards. It ``accumulates`` if its block
    function is called for a chunk of what is summed over at a time, and for nothing else.
    """

    gives_parts: ClassVar[bool] = False
    accumulates: ClassVar[bool] = False

    @abstractmethod
    def root(self, node: Node, trace: Trace) -> Root:
        """Return what the block function computes for a node, with its index in a trace."""

    @abstractmethod
    def operands(self, root: Root, trace: Trace) -> list[tuple[Node, Index]]:
        """Return the operands of the last step of the block function."""

    def follow(self, root: Root, trace: Trace) -> None:
        """Add to a trace what a root is computed from."""
        for operand, index in self.operands(root, trace):
            trace.follow(operand, index, is_root=False)

    @abstractmethod
    def last_step(self, root: Root, graph: Graph, operands: tuple[Node, ...]) -> Node:
        """The last step of the block function, in its graph."""

    def part_shape(self, root: Root) -> tuple[int, ...]:
        """The shape of the array that all blocks make, before parts are combined."""
        return (1,) * (len(root.index) - root.node.ndim) + root.node.shape

    def ufunc(self, node: Node) -> str:
        """NumPy's function that combines two parts."""
        return "add"

    def combined(self, root: Root, graph: Graph, parts: Node) -> Node:
        """The result, in ``main``, of the array of all blocks."""
        return parts


class ArrayStrategy(Strategy):
    """A way to do an operation of ``main`` on lazy arrays."""

    def trace(self, node: Node, chunks: Chunks) -> Trace | None:
        """Return the trace of a function of its own that computes the node, if there is one."""
        return None

    def needs(self, phase: ArrayPhase) -> list[Node]:
        """The nodes that ``main`` has before."""
        after = phase.node.parameters.get("after")
        return [*phase.node.operands, *nested_roots(phase.node), *([after] if after is not None else [])]

    def cost(self, phase: ArrayPhase, chunks: Chunks) -> Cost | None:
        """Return what its tasks take, or None where that is little."""
        return None

    def write(self, phase: ArrayPhase, main: MainWriter) -> None:
        """Add it to ``main``."""
        main.rewrite(phase.node)


@dataclass(frozen=True, slots=True)
class ArrayPhase:
    """A node of ``main``, how it is done, and what a function of its own computes for it, if there is one."""

    node: Node
    strategy: ArrayStrategy
    trace: Trace | None = None

    @property
    def own_trace(self) -> Trace:
        """Return the trace of a function of its own that computes the node; there must be one."""
        assert self.trace is not None
        return self.trace


@dataclass(frozen=True, slots=True)
class Cost:
    """The bytes and the work that a phase takes.

    A task holds ``task_bytes``, and ``file_task_bytes`` where the arguments of ``main`` are files, of which it
    may read a few rows at a time. Of
    its results ``handed_on_bytes`` wait for later phases or for who calls ``main``, and ``part_bytes`` to be combined.
    ``sources`` are what it is computed from, and ``passes`` the arguments that are read once more. ``note`` says what
    is not done in chunks; where tasks run ``in_turn``, each goes on from the one before.
    """

    name: str
    tasks: int
    task_bytes: int
    file_task_bytes: int
    sources: tuple[Node, ...]
    passes: tuple[Node, ...]
    handed_on_bytes: int = 0
    part_bytes: int = 0
    note: str = ""
    in_turn: bool = False


def every_axis(node: Node) -> list[OperandAxis]:
    """Return all axes of all operands."""
    return [(k, axis) for k, operand in enumerate(node.operands) for axis in range(len(shape_of(operand)))]
