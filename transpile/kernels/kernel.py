"""Kernels: operations on the elements of arrays in one loop nest, which reads and writes memory once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field

from ..array.graph import frozen
from ..array.node import Node
from ..array.program import Function, tree_nodes
from ..array.traversal import topological
from ..dataclass import dataclass
from ..hlo.element_types import S64, U64, ElementType
from .index_maps import Map
from .lines import Lines


@dataclass(eq=False, slots=True)
class Kernel:
    """A loop nest over the elements of ``loop``, which a ``kernel`` node calls.

    ``function`` computes one element: its parameters are the inputs' values at that element; a ``read`` node reads an
    array elsewhere. ``inputs`` are the nodes of the caller that the parameters stand for, ``outputs`` those that the
    results stand for. Each of the ``reductions`` in the function combines the elements of one of the loop's ``lines``;
    a line may be cut into several ``parts``, each of which gives a result. With ``rows``, elements are added to a
    table, and those of rows out of bounds are dropped.
    """

    function: Function
    loop: tuple[int, ...]
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    whole: set[Node] = field(default_factory=set)  # parameters: arrays that `read` nodes read
    lines: Lines | None = None
    parts: int = 1  # of each line
    reductions: set[Node] = field(default_factory=set)  # nodes of the function that reduce lines
    of_lines: set[Node] = field(default_factory=set)  # results that have one element for each line, or part of it
    shapes: list[tuple[int, ...]] = field(default_factory=list)  # of the results, as the kernel gives them
    stands_for: Function | None = None  # the fused operations, in the array dialect
    is_inline: bool = False  # its code is inlined at the call, in a loop that is compiled as a whole
    at: list[Map] = field(default_factory=list)  # where a step's element is in each result; no map for parts of lines
    parallel: str = "1"  # how many parts of the outermost loop run at once, or ``auto``
    caller_allocated: list[int] = field(default_factory=list)  # the numbers of the results that the caller allocates
    at_once: int = 1  # neighbouring elements of a large loop that one iteration computes
    rows: Node | None = None  # parameter: the row of a table of zeros to which each row of the only result is added
    cut: frozenset[int] = frozenset()  # the axes of the loop along which arrays are parts of any size

    @property
    def has_loop(self) -> bool:
        """Whether the results are loop-carried values."""
        return any(node.opcode == "item" for node in tree_nodes(self.function.results))

    @property
    def by_lines(self) -> bool:
        """Whether the loop is one over lines, and over the elements of each."""
        return self.lines is not None

    @property
    def makes_results(self) -> bool:
        """Whether the kernel allocates its results, and the caller does not."""
        return self.by_lines or self.at_once > 1

    @property
    def sized(self) -> tuple[int, ...]:
        """The numbers of the inputs that have the shape of the loop: without one, the call must pass the size."""
        parameters = enumerate(self.function.parameters)
        return tuple(k for k, each in parameters if each not in self.whole and each.shape == self.loop)

    @property
    def key(self) -> Hashable:
        """A key that is equal for kernels of the same code; a kernel with branches or loops has a unique one."""
        nodes = topological(tree_nodes(self.function.results))
        if any(node.opcode in ("conditional", "loop") for node in nodes):
            return id(self)
        number = {node: k for k, node in enumerate(nodes)}
        parts = [
            (
                node.opcode,
                node.element_type,
                node.shape,
                tuple(number[operand] for operand in node.operands),
                node.opcode == "parameter" and (self.function.parameters.index(node), node in self.whole),
                node in self.reductions,
                node in self.of_lines,
                frozen({name: value for name, value in node.parameters.items() if name != "stands_for"}),
            )
            for node in nodes
        ]
        results = tuple(number[node] for node in tree_nodes(self.function.results))
        return (
            self.loop,
            self.cut,
            self.at_once,
            self.rows is not None and self.function.parameters.index(self.rows),
            self.lines,
            self.parts,
            tuple(map(tuple, self.shapes)),
            results,
            tuple(parts),
        )


def given_type(node: Node) -> ElementType | None:
    """Return the element type of an array passed to a kernel: the node's, but int64 or uint64 for a ``plain`` node,
    which the library computes in its default type.
    """
    if node.element_type is None or not node.parameters.get("plain"):
        return node.element_type
    return S64 if node.type.is_signed else U64
