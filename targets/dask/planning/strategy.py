"""A strategy: one way to compute an operation on arrays in chunks.

A strategy says which axes must be cut alike, when it is feasible, what its tasks cost, and how it is written. Block
strategies are computed by block functions, which fuse as many operations as they can; array strategies are nodes of
``main`` that take and return lazy arrays.
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

OperandAxis = tuple[int, int]  # the position of an operand, and one of its axes
Lengths = Mapping[Axis, int]  # the chunk length of each class of axes


class Strategy(ABC):
    """One way to compute an operation on arrays in chunks."""

    name: ClassVar[str]

    def same_chunks(self, node: Node, classes: AxisClasses) -> Iterator[tuple[Axis, Axis]]:
        """Yield pairs of axes that must be cut alike."""
        return iter(())

    def divides(self, node: Node) -> Collection[OperandAxis]:
        """Return the axes of operands that may have several chunks although they are needed whole."""
        return ()

    def propose(
        self, node: Node, classes: AxisClasses, sizes: Lengths, lengths: Lengths, needs: Lengths, target: int
    ) -> Lengths:
        """Return chunk lengths for blocks of about ``target`` bytes that suit the strategy, before others are chosen.

        ``sizes`` has the size of each class of axes with more than one element, ``lengths`` the earlier proposals, and
        ``needs`` the classes that a node needs whole, with whether a strategy can divide them.
        """
        return {}

    def implied(self, node: Node, classes: AxisClasses, lengths: Lengths) -> Iterator[tuple[Axis, int]]:
        """Yield chunk lengths that follow from the chosen ones."""
        return iter(())

    def stored(self, node: Node, chunks: Chunks) -> Collection[Node]:
        """Return the operands of a node whose blocks are stored in files, if they are computed."""
        return ()

    @abstractmethod
    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        """Return whether a node can be computed in this way, for these chunks of its operands."""

    def propagated(self, node: Node, chunks: Chunks) -> Iterator[tuple[Node, tuple[bool, ...]]]:
        """Yield the nodes that have chunks then, each with its cut axes: the result, and values that depend on it."""
        yield node, chunks.followed(node)


@dataclass(frozen=True, slots=True)
class Root:
    """An array that a block function computes. If it computes parts, ``summed`` are the axes of the array of parts
    along which they are combined.
    """

    node: Node
    strategy: BlockStrategy
    index: Index
    summed: tuple[int, ...] = ()


class BlockStrategy(Strategy):
    """A strategy that computes blocks in a block function, which may compute other arrays too.

    It ``gives_parts`` if its blocks are partial sums that are combined afterwards. It ``accumulates`` if its block
    function computes nothing else, and is called for one chunk of the contracted axis at a time.
    """

    gives_parts: ClassVar[bool] = False
    accumulates: ClassVar[bool] = False

    @abstractmethod
    def root(self, node: Node, trace: Trace) -> Root:
        """Return the root that the block function computes for a node, with its index in a trace."""

    @abstractmethod
    def operands(self, root: Root, trace: Trace) -> list[tuple[Node, Index]]:
        """Return the operands of the last step of the block function, with their indices."""

    def follow(self, root: Root, trace: Trace) -> None:
        """Add the nodes that a root is computed from to a trace."""
        for operand, index in self.operands(root, trace):
            trace.follow(operand, index, is_root=False)

    @abstractmethod
    def last_step(self, root: Root, graph: Graph, operands: tuple[Node, ...]) -> Node:
        """Return the last step of the block function, in its graph."""

    def part_shape(self, root: Root) -> tuple[int, ...]:
        """Return the shape of the array of all blocks, before parts are combined."""
        return (1,) * (len(root.index) - root.node.ndim) + root.node.shape

    def ufunc(self, node: Node) -> str:
        """Return NumPy's function that combines two parts."""
        return "add"

    def combined(self, root: Root, graph: Graph, parts: Node) -> Node:
        """Return the result in ``main``, from the array of all blocks."""
        return parts


class ArrayStrategy(Strategy):
    """A strategy that computes a node of ``main`` from lazy arrays."""

    def trace(self, node: Node, chunks: Chunks) -> Trace | None:
        """Return the trace of a block function that only this node uses, if any."""
        return None

    def needs(self, phase: ArrayPhase) -> list[Node]:
        """Return the nodes that ``main`` must have before."""
        after = phase.node.parameters.get("after")
        return [*phase.node.operands, *nested_roots(phase.node), *([after] if after is not None else [])]

    def cost(self, phase: ArrayPhase, chunks: Chunks) -> Cost | None:
        """Return the cost of the tasks, or None if it is small."""
        return None

    def write(self, phase: ArrayPhase, main: MainWriter) -> None:
        """Add the node to ``main``."""
        main.rewrite(phase.node)


@dataclass(frozen=True, slots=True)
class ArrayPhase:
    """A node of ``main``, its strategy, and the trace of its own block function, if any."""

    node: Node
    strategy: ArrayStrategy
    trace: Trace | None = None

    @property
    def own_trace(self) -> Trace:
        """The trace of the node's own block function. There must be one."""
        assert self.trace is not None
        return self.trace


@dataclass(frozen=True, slots=True)
class Cost:
    """The memory and the work of a phase.

    A task holds ``task_bytes``, and ``file_task_bytes`` if the arguments of ``main`` are files, of which it may read a
    few rows at a time. Of its results, ``handed_on_bytes`` wait for later phases or for the caller, and ``part_bytes``
    to be combined. ``sources`` are the arrays that the phase is computed from, and ``passes`` the arguments that it
    reads once more. ``note`` names the operations that are not done in chunks. If tasks run ``in_turn``, each depends
    on the one before.
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
