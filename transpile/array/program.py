"""Programs of the array dialect: functions, loops and branches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from ..dataclass import dataclass
from ..hlo.ir import Computation, HloModule, Instruction
from ..hlo.shapes import Shape
from ..walks import reached
from .graph import Graph
from .node import Node, Region

# The results of a function, a loop or a branch: a node, None for a token, or a tuple of these.
Tree = Any


@dataclass(eq=False, slots=True)
class Scope:
    """One lowering of a computation: the value of each instruction, and the scopes of computations inlined for it.

    A computation that is inlined at two calls has two scopes. ``values`` are of type ``Lowered``; their nodes may have
    been rewritten since, see :meth:`.graph.Graph.current`.
    """

    computation: Computation
    region: Region
    values: dict[Instruction, Any] = field(default_factory=dict)
    called: dict[tuple[Instruction, Computation], Scope] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Function:
    """One emitted function. ``results`` is a tree of nodes of exactly the logical shapes.

    A block function computes blocks of ``block_of``, nodes of the graph ``origin``, from blocks of ``sources``, or runs
    a chunk of the steps of ``loop``; ``cut`` gives the axes along which its nodes are blocks. ``chunks`` are those of
    the arguments of ``main``, planned for this many ``threads``; ``note`` is a remark for readers of the module. A
    function outlined from similar parts has a ``label`` to be named by, and ``repeated``: for each parameter, its value
    in each part.
    """

    computation: Computation
    graph: Graph
    parameters: list[Node] = field(default_factory=list)
    results: Tree = None
    result_shape: Shape | None = None
    effect: Node | None = None  # the last side effect
    scope: Scope | None = None
    originals: Mapping[Instruction, tuple[Instruction, ...]] = field(default_factory=dict)  # of new instructions
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
    live: Any = None  # its :class:`.live.LiveNodes`, until the function changes in another way
    is_entry: bool = False  # it becomes ``main``, which is called from outside the module

    @property
    def name(self) -> str:
        return self.computation.name

    @property
    def scopes(self) -> list[Scope]:
        """The scope of the function, if it has one, and all scopes inside it."""
        return list(reached([self.scope] if self.scope is not None else [], lambda scope: scope.called.values()))

    @property
    def flat_results(self) -> tuple[Node, ...]:
        """The results as a tuple."""
        return self.results if isinstance(self.results, tuple) else (self.results,)


@dataclass(eq=False, slots=True)
class Carry:
    """A loop-carried value: ``parameter`` is its value inside the body."""

    initial: Node
    parameter: Node
    following: Node | None = None  # the value for the next iteration
    element: int | None = None  # its index in the tuple that the HLO loop carries, if any


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
    """The body of a ``loop`` node, whose results are the carries in order.

    A counted loop has a ``counter`` over ``range(start, stop, step)``; any other loop has a ``condition``, tested
    before each iteration, or neither: its body is that of a function, and runs once. If ``start`` and ``stop`` depend
    on other counters, ``bounds`` are the nodes of both, and ``start`` and ``stop`` give the widest possible range.
    ``count`` is the number of iterations of a chunk, known only at run time: the counter goes over ``range(count)``,
    backwards if ``step`` is negative.
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
    is_compiled: bool = False  # the target writes it as a compiled function

    @property
    def runs_once(self) -> bool:
        return self.counter is None and self.condition is None

    @property
    def is_fixed(self) -> bool:
        """Whether the loop counts over the same range on every execution."""
        return self.counter is not None and self.count is None and self.bounds is None

    @property
    def trip_count(self) -> int:
        """The trip count of a counted loop; the maximum if it has ``bounds``."""
        return range_length(self.start, self.stop, self.step)


def range_length(start: int, stop: int, step: int) -> int:
    """Return the number of elements of a range; unlike ``len``, also beyond 2**63 - 1."""
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
        """The module before rewrites of the HLO."""
        return self.given or self.module

    @property
    def entry(self) -> Function:
        return self.functions[-1]


def roots(function: Function) -> list[Node]:
    """Return the nodes that a function must keep: parameters (to keep their positions), results, side effects."""
    effects = [function.effect] if function.effect is not None else []
    return [*function.parameters, *tree_nodes(function.results), *effects]


def given_functions(node: Node) -> Iterator[Function]:
    """Yield the functions that a node passes as arguments to another function, which calls them."""
    arguments = (*node.parameters.get("arguments", ()), *node.parameters.get("keywords", {}).values())
    yield from (argument for argument in arguments if isinstance(argument, Function))


def tree_nodes(tree: Tree) -> list[Node]:
    """Return the nodes of a tree, in order."""
    found: list[Node] = []
    stack = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple | list):
            stack.extend(reversed(item))
        elif item is not None:
            found.append(item)
    return found
