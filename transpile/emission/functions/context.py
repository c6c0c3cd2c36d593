"""The interface of a function's writer for its parts: its state, and the methods that write lines and expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ...array.graph import Graph
from ...array.node import Node, Region
from ...array.program import Carry, Function, Loop
from ...array.result_trees import Path
from ...python.templates import Expression
from ..arrangement.folding import Plan
from ..arrangement.schedule import Body, Reads, Statement
from ..expression import Renderer
from ..lines import Line
from ..naming.allocation import NameAllocation
from ..naming.identifiers import Names
from ..naming.source import SourceNames
from ..trees.named_results import NamedResults
from ..trees.result_groups import ResultGroup
from ..trees.types import Type
from .constants import ModuleConstants
from .rerolled_loops import Leaf


class ArgumentNames(Protocol):
    """The part that knows the arguments (:class:`.arguments.ArgumentWriter`).

    ``heads`` are the parameters in the function's head, ``leaf_names`` the names that leaves of trees would have as
    variables, ``leaves`` their places in the trees, and ``short_names`` the short forms of long names.
    """

    heads: list[tuple[str, Type]]
    leaf_names: dict[Node, str]
    leaves: dict[Node, Leaf]
    short_names: dict[Node, str]

    def numbers(self, function: Function, calls: Sequence[Node]) -> Sequence[int]: ...


class Wanted(Protocol):
    """The part that knows the best name of each value (:class:`..naming.hints.WantedNames`)."""

    is_explained: bool
    all_hints: dict[Node, list[tuple[str, str]]]
    others: dict[Node, list[str]]

    @property
    def gradients(self) -> Mapping[Node, Node]: ...
    def of(self, node: Node) -> str: ...
    def of_argument(self, node: Node) -> str: ...
    def of_carries(self, node: Node, loop: Loop) -> dict[Carry, str]: ...
    def of_source(self, node: Node, loop: Loop) -> dict[Carry, str]: ...
    def of_carry(self, carry: Carry, loop: Loop) -> str: ...


class LeafMapWords(Protocol):
    """The part that knows the functions that are applied to every leaf of trees (:class:`.leaf_maps.LeafMaps`)."""

    def words(self, function: Function) -> Mapping[int, str]: ...
    def tree_of(self, given: Sequence[Node]) -> str: ...


class Trees(Protocol):
    """The part that writes trees of values (:class:`.tree_writer.TreeWriter`)."""

    made: list[tuple[Any, str]]
    groups: dict[Function, Sequence[tuple[str, ResultGroup]]]
    grouped: dict[Path, str]

    @property
    def all(self) -> Sequence[tuple[Any, str]]: ...

    def fitted(self, number: int, head: int) -> Expression: ...
    def name_fields(self, node: Node, named: NamedResults) -> None: ...
    def gradients(self) -> Mapping[Node, str]: ...


class Writing(Protocol):
    """The writer of one function, as its parts see it (:class:`.function_writer.FunctionWriter`)."""

    function: Function
    graph: Graph
    plan: Plan
    names: Names
    constants: ModuleConstants
    source_names: SourceNames
    allocation: NameAllocation
    reads: Reads
    texts: dict[Node, Expression]
    lines: list[Line]
    written: dict[Node, str]
    items: dict[Node, dict[int, Node]]
    calls: dict[Function, list[Node]]
    indent: int
    loop_compiler: LoopCompiler | None
    changed_in_place: set[Node]
    taken_over: set[Node]
    kept: set[Node]
    written_rows: set[Node]
    results: Any

    @property
    def earlier_writers(self) -> Sequence[Writing]: ...
    @property
    def arguments(self) -> ArgumentNames: ...
    @property
    def leaf_maps(self) -> LeafMapWords: ...
    @property
    def trees(self) -> Trees: ...
    @property
    def wanted(self) -> Wanted: ...
    @property
    def returning(self) -> Node | None: ...
    @property
    def renderer(self) -> Renderer: ...
    @property
    def users(self) -> dict[Node, list[Node | None]]: ...

    def line(self, text: str, node: Node | None = None) -> None: ...
    def bound(self, *nodes: Node) -> None: ...
    def assign(self, targets: Sequence[str], value: Expression, node: Node | None = None) -> None: ...
    def statement(self, statement: Statement) -> None: ...
    def words_of_results(self, function: Function) -> Sequence[str]: ...
    def words_inside(self, function: Function) -> Sequence[str]: ...
    def fit_change(self, node: Node, line: Callable[[], str]) -> None: ...
    def region(
        self,
        region: Region,
        loop: Loop | None = None,
        written: frozenset[Node] = frozenset(),
        given: Sequence[Carry] = (),
    ) -> Body: ...
    def priority(self, node: Node) -> tuple[int, ...]: ...
    def text(self, node: Node) -> Expression: ...
    def array_text(self, node: Node) -> Expression: ...
    def index_text(self, node: Node) -> str: ...
    def value_text(self, node: Node) -> Expression: ...
    def folded(self, node: Node) -> Expression: ...
    def operand_texts(self, node: Node) -> list[Expression]: ...
    def value(self, node: Node) -> Expression: ...
    def taken(self, node: Node) -> int: ...
    def targets(self, node: Node) -> list[str]: ...


class LoopCompiler(Protocol):
    """The part of a target's :class:`..kernels.declarations.Declarations` that writes compiled loops."""

    def compile(self, writer: Any, node: Node) -> None:
        """Write the function of a loop, and its call in ``writer`` (:class:`.function_writer.FunctionWriter`)."""
        ...

    def kernel(self, writer: Any, node: Node) -> None:
        """Write the lines of a kernel inline in a compiled loop that calls it."""
        ...

    def numbers(self, writer: Any, node: Node) -> bool:
        """Write the elements of a small array into an existing one in a compiled loop; return whether that was done."""
        ...

    def overwrite(self, writer: Any, name: str, source: str, node: Node) -> bool:
        """Write the copy of ``source``, which is to be updated, into the array of a name; return whether that was done.

        It is done if the iterations of a compiled loop write into ``source``.
        """
        ...

    def change(self, node: Node, name: str) -> bool:
        """Have the preceding kernel write the update into the array of a name; return whether that was done."""
        ...

    def scatter(self, node: Node, name: str, begin: int) -> None:
        """Write the lines of a scatter into the array of a name, in a compiled loop; before its statement there were
        ``begin`` lines.
        """
        ...
