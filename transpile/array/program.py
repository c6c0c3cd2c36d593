"""Programs of the array dialect: functions, loops and branches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from ..dataclass import dataclass
from ..hlo.ir import Computation, HloModule, Instruction
from ..hlo.shapes import Shape
from .graph import Graph
from .node import Node, Region

# The results of a function, a loop or a branch: a node, None for a token, or a tuple of such.
Tree = Any


@dataclass(eq=False, slots=True)
class Scope:
    """One lowering of a computation: what each instruction became, and the computations lowered in place for it.

    A computation that is written in place at two calls has two scopes. ``values`` are of type ``Lowered``; their
    nodes may have been rewritten since, see :meth:`.node.Graph.current`.
    """

    computation: Computation
    region: Region
    values: dict[Instruction, Any] = field(default_factory=dict)
    called: dict[tuple[Instruction, Computation], Scope] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Function:
    """One emitted function. ``results`` is a tree of nodes of exactly the logical shapes.

    A block function computes blocks of ``block_of``, nodes of the graph ``origin``, from blocks of ``sources``,
    or does the steps of a chunk of a ``loop``; ``cut`` says along which axes its nodes are blocks.
    ``chunks`` are those of the arguments of ``main``, planned for so many ``threads``; ``note`` is what readers should
    know.
    A function that stands for parts that were alike has a ``label`` to be named by, and for each parameter the nodes
    that it is in the parts: ``repeated``.
    """

    computation: Computation
    graph: Graph
    parameters: list[Node] = field(default_factory=list)
    results: Tree = None
    result_shape: Shape | None = None
    effect: Node | None = None  # the last side effect
    scope: Scope | None = None
    originals: Mapping[Instruction, tuple[Instruction, ...]] = field(default_factory=dict)  # of what passes made
    block_of: tuple[Node, ...] = ()
    loop: Loop | None = None
    sources: tuple[Node, ...] = ()
    origin: Graph | None = None
    chunks: dict[Node, tuple[int, ...]] = field(default_factory=dict)
    threads: int = 1
    cut: dict[Node, tuple[bool, ...]] = field(default_factory=dict)
    note: str = ""
    label: str = ""
    repeated: tuple[tuple[Node, ...], ...] = ()
    live: Any = None  # its :class:`.live.LiveNodes`, until something but these changes the function
    is_entry: bool = False  # it becomes ``main``, which code calls that is not emitted

    @property
    def name(self) -> str:
        return self.computation.name

    @property
    def flat_results(self) -> tuple[Node, ...]:
        """The results of a function that calls go to: one, or a tuple of them."""
        return self.results if isinstance(self.results, tuple) else (self.results,)


@dataclass(eq=False, slots=True)
class Carry:
    """A value a loop passes from one iteration to the next: ``parameter`` holds it inside the body."""

    initial: Node
    parameter: Node
    following: Node | None = None  # the value for the next iteration
    element: int | None = None  # of the tuple that the loop carries in HLO, where it is one of that


@dataclass(eq=False, slots=True)
class Store:
    """``buffer[index] = value`` in every iteration: one row of a stacked output. ``result`` is the changed buffer."""

    carry: Carry
    index: tuple[Any, ...]
    indices: tuple[Node, ...]
    value: Node
    result: Node


@dataclass(eq=False, slots=True)
class Loop:
    """The body of a ``loop`` node; its results are the carries in order.

    A counted loop has a ``counter`` over ``range(start, stop, step)``; any other a ``condition`` read before each
    iteration. Where other counters say where it starts and stops, ``bounds`` are these two numbers, and ``start`` and
    ``stop`` the widest range that there is. ``count`` is the number of iterations of a chunk, which is known at run
    time only: they go over ``range(count)``, backwards if ``step`` is negative.
    """

    region: Region
    carries: list[Carry] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    condition: Node | None = None
    counter: Node | None = None
    start: int = 0
    stop: int = 0
    step: int = 1
    bounds: tuple[Node, Node] | None = None
    count: Node | None = None
    effect: Node | None = None  # the last side effect of the body
    is_compiled: bool = False  # the target writes it as a function that is compiled

    @property
    def is_fixed(self) -> bool:
        """Tell whether the loop counts, and always over the same numbers."""
        return self.counter is not None and self.count is None and self.bounds is None

    @property
    def trip_count(self) -> int:
        """Return how often a counted loop runs, at most where it has ``bounds``."""
        return range_length(self.start, self.stop, self.step)


def range_length(start: int, stop: int, step: int) -> int:
    """Return how many numbers a range has; its own ``len`` ends at 2**63 - 1."""
    return max(0, -((start - stop) // step))


@dataclass(eq=False, slots=True)
class Branch:
    """One arm of a ``conditional`` node."""

    region: Region
    results: list[Node] = field(default_factory=list)
    effect: Node | None = None


@dataclass(eq=False, slots=True)
class Program:
    """Functions, callees first; the last is the entry.

    ``given`` is the module before rewrites of the HLO; ``edges`` names the rows of ``passes/edges.toml`` that it uses.
    """

    module: HloModule
    functions: list[Function]
    given: HloModule | None = None
    edges: tuple[str, ...] = ()

    @property
    def original(self) -> HloModule:
        """The module as it was given."""
        return self.given or self.module

    @property
    def entry(self) -> Function:
        return self.functions[-1]


def roots(function: Function) -> list[Node]:
    """Return everything that must be computed: parameters (they keep their places), results, side effects."""
    effects = [function.effect] if function.effect is not None else []
    return [*function.parameters, *tree_nodes(function.results), *effects]


def given_functions(node: Node) -> Iterator[Function]:
    """The functions that a node gives to others, which call them with what they like."""
    arguments = (*node.parameters.get("arguments", ()), *node.parameters.get("keywords", {}).values())
    yield from (argument for argument in arguments if isinstance(argument, Function))


def tree_nodes(tree: Tree) -> list[Node]:
    """The nodes of a tree, in order."""
    found: list[Node] = []
    stack = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple | list):
            stack.extend(reversed(item))
        elif item is not None:
            found.append(item)
    return found
