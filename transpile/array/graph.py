"""Graphs of nodes: hash-consing, and type inference by the table of operations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..hlo.element_types import ElementType
from ..hlo.ir import Instruction
from .node import Constant, Node, Region
from .operation import Interval, Operation, Shape
from .operations import OPERATIONS, operation, operation_or_unknown

T = TypeVar("T")


def _agreed(opcode: str, inferred: T | None, given: T | None) -> T | None:
    """Return what a rule infers, or the given value if the rule leaves it open. Raises ValueError if the two differ."""
    if inferred is None:
        return given
    if given is not None and given != inferred:
        raise ValueError(f"{opcode} gives {inferred}, not {given}")
    return inferred


def frozen(value: Any) -> Any:
    """Return a parameter's value in a form that can be compared and hashed."""
    if isinstance(value, dict):
        return tuple([(key, frozen(item)) for key, item in sorted(value.items())])
    if isinstance(value, list | tuple):
        return tuple([frozen(item) for item in value])
    if isinstance(value, float):
        return ("float", np.float64(value).tobytes())
    return (type(value).__name__, value) if isinstance(value, bool | int) else value


class Place(NamedTuple):
    """The context of new nodes: their region, the instruction that they come from (``origin``), their number (None for
    the next one), and the innermost instruction with a source line: ``origin``, or a call around it.
    """

    region: Region
    origin: Instruction | None = None
    number: int | None = None
    line: Instruction | None = None

    def line_of(self, origin: Instruction | None) -> Instruction | None:
        """Return the instruction whose source line nodes from ``origin`` have here."""
        has_one = origin is not None and origin.metadata is not None and origin.metadata.source_line
        return origin if has_one else self.line


class Graph:
    """The nodes of one emitted function.

    New nodes are made in the root region, come from no instruction and are numbered in order, except inside a ``with``
    statement of :meth:`inside`, :meth:`coming_from`, :meth:`coming_as`, :meth:`standing_for` or :meth:`in_place_of`.
    """

    def __init__(self, sizes_reach: int = 0, kind: str = "function") -> None:
        self.sizes_reach = sizes_reach  # the largest position that is assumed along any axis
        self.root = Region(kind)
        self._place = Place(self.root)
        self.origins: dict[Node, Instruction] = {}
        self.lines: dict[Node, Instruction] = {}  # the instruction with a node's source line: the origin or a call
        self.results: dict[Node, list[Instruction]] = {}  # the instructions whose value a node has, innermost first
        self.called: dict[Node, str] = {}  # the inlined function whose result a node is
        self.replaced: dict[Node, Node] = {}  # by rewrites: the node that replaces a node
        self.inexact_replacements: set[Node] = set()  # nodes whose replacement has another value
        self.turned: dict[Node, tuple[int, ...]] = {}  # by rewrites: the transpose that gives the node's value
        self.effects: dict[Region, Node] = {}  # the last node with a side effect
        self._table: dict[Any, Node] = {}
        self._made: list[Node] = []
        self._given: list[Node] = []  # nodes made or found since the recording began

    @property
    def count(self) -> int:
        """The number of nodes that were made."""
        return len(self._made)

    def current(self, node: Node) -> Node:
        """Return the node that replaces a node after all rewrites; its unit axes may differ."""
        while node in self.replaced:
            node = self.replaced[node]
        return node

    def current_of_shape(self, node: Node) -> Node:
        """Return :meth:`current`, or the node itself where that has other unit axes: the node was made again since."""
        new = self.current(node)
        return new if new.shape == node.shape else node

    def has_current(self, node: Node) -> bool:
        """Return whether :meth:`current` has the value of the node, and is not a stand-in of another value."""
        while node not in self.inexact_replacements and node in self.replaced:
            node = self.replaced[node]
        return node not in self.inexact_replacements

    def record_replacement(self, node: Node, new: Node) -> None:
        """Record that a node replaces another."""
        if new is not node:
            self.replaced[node] = new
            self.replaced.pop(new, None)
            if node in self.results:
                self.results.setdefault(new, self.results[node])

    def valued(self, made: Node, node: Node, of: Graph) -> Node:
        """Return ``made``, which has the value of the instructions that a node of the graph ``of`` stands for."""
        self.results.setdefault(made, of.results.get(node, []))
        return made

    @property
    def region(self) -> Region:
        """The region in which new nodes are made."""
        return self._place.region

    @property
    def origin(self) -> Instruction | None:
        """The instruction that new nodes come from."""
        return self._place.origin

    def inside(self, region: Region) -> _At:
        """Return a scope in which new nodes are made in a region."""
        place = self._place
        return _At(self, Place(region, place.origin, place.number, place.line))

    def coming_from(self, origin: Instruction | None) -> _At:
        """Return a scope in which new nodes have this origin."""
        place = self._place
        return _At(self, Place(place.region, origin, place.number, place.line_of(origin)))

    def coming_as(self, node: Node, of: Graph) -> _At:
        """Return a scope in which new nodes have the origin and source line of a node of another graph, ``of``."""
        return _At(self, Place(self._place.region, of.origins.get(node), self._place.number, of.lines.get(node)))

    def standing_for(self, node: Node, of: Graph | None) -> _At:
        """Return a scope in which new nodes have the number of a node, and its origin and source line in the graph
        ``of``, if given.
        """
        origin, line = (None, None) if of is None else (of.origins.get(node), of.lines.get(node))
        return _At(self, Place(self._place.region, origin, node.number, line))

    def in_place_of(self, node: Node) -> _At:
        """Return a scope in which new nodes have the region, origin, number and source line of a node."""
        return _At(self, Place(node.region, self.origins.get(node), node.number, self.lines.get(node)))

    def recording(self) -> _Recording:
        """Return a scope that lists all nodes that are made or found inside it."""
        return _Recording(self)

    def home_of(self, node: Node) -> Region:
        """Return the region that a node belongs to by its operands."""
        if node.stands_alone or not node.operands:
            return node.region
        return self._outermost(node.operands, node.region)

    def forget(self, node: Node) -> bool:
        """Remove a node whose operands are about to change from the hash-consing table; return whether it was there."""
        place = node.region, self._key(node)
        if self._table.get(place) is not node:
            return False
        del self._table[place]
        return True

    def remember(self, node: Node, is_live: Callable[[Node], bool]) -> Node | None:
        """Enter a node into the hash-consing table, unless an equal live node is in scope. Return that node, else
        None.
        """
        key = self._key(node)
        for region in node.region.path():
            found = self._table.get((region, key))
            if found is not None and is_live(found):
                return found
        self._table[node.region, key] = node
        return None

    @staticmethod
    def _key(node: Node) -> Hashable:
        return (node.opcode, node.operands, node.shape, node.element_type, node.is_python_int, frozen(node.parameters))

    def nodes_since(self, count: int) -> list[Node]:
        """Return the nodes made after the first ``count``."""
        return self._made[count:]

    def add(
        self,
        opcode: str,
        operands: tuple[Node, ...] = (),
        *,
        shape: Shape | None = None,
        element_type: ElementType | None = None,
        results: tuple[Any, ...] | None = None,
        interval: Interval | None = None,
        pinned: bool = False,
        **parameters: Any,
    ) -> Node:
        """Return the node of this expression: an equal one that is in scope, else a new one.

        The row of the operation gives its type. ``shape``, ``element_type`` and ``results`` give what the row leaves
        open; anything else must agree with the row. ``interval`` is given if more is known than the row's rule finds. A
        node lands in the outermost region that has all its operands, but never outside the branch it is lowered in (the
        other branch must not run) and, if ``pinned``, in the current region. Raises ValueError if the operands do not
        fit the operation.
        """
        row = operation(opcode, parameters)
        python_int = row.python_int is not None and row.python_int(operands)
        if row.shape is not None:
            shape = _agreed(opcode, row.shape(operands, parameters), shape)
        if row.element_type is not None and not python_int and not (row.widens and element_type is not None):
            element_type = _agreed(opcode, row.element_type(operands, parameters), element_type)
        if row.results is not None:
            results = _agreed(opcode, row.results(operands, parameters), results)
        if interval is None and row.interval is not None and element_type is not None and element_type.is_integral:
            interval = row.interval(operands, parameters, element_type)
        if interval is not None and row.counts:
            interval = self.reached(interval)
        pinned = pinned or row.stands_alone
        return self._placed(
            row, opcode, operands, shape or (), element_type, parameters, python_int, interval, results or (), pinned
        )

    def typed(
        self,
        opcode: str,
        operands: tuple[Node, ...] = (),
        shape: Shape = (),
        element_type: ElementType | None = None,
        *,
        python_int: bool = False,
        interval: Interval | None = None,
        results: tuple[Any, ...] = (),
        pinned: bool = False,
        **parameters: Any,
    ) -> Node:
        """Add a node as :meth:`add` does, with the given type instead of an inferred one: for a replacement of a node,
        for an element in a kernel, or for an operation of one target that has no row.
        """
        return self._placed(
            operation_or_unknown(opcode, parameters),
            opcode,
            operands,
            shape,
            element_type,
            parameters,
            python_int,
            interval,
            results,
            pinned,
        )

    def _placed(
        self,
        row: Operation,
        opcode: str,
        operands: tuple[Node, ...],
        shape: Shape,
        element_type: ElementType | None,
        parameters: dict[str, Any],
        python_int: bool,
        interval: Interval | None,
        results: tuple[Any, ...],
        pinned: bool,
    ) -> Node:
        """Return the node in its region, or an equal one that is in scope."""
        home = self.region if pinned else self._outermost(operands, self.region)
        key = (opcode, operands, shape, element_type, python_int, () if pinned else frozen(parameters))
        for region in () if pinned else home.path():
            found = self._table.get((region, key))
            if found is not None:
                self._given.append(found)
                return found
        number = self._next_number()
        node = Node(
            opcode,
            operands,
            shape,
            element_type,
            parameters,
            home,
            number,
            python_int,
            interval,
            results,
            operation=row,
        )
        if not pinned:
            self._table[home, key] = node
        return self._noted(node)

    def add_effect(
        self,
        opcode: str,
        operands: tuple[Node, ...],
        *,
        shape: Shape | None = None,
        element_type: ElementType | None = None,
        results: tuple[Any, ...] | None = None,
        **parameters: Any,
    ) -> Node:
        """Add a node with a side effect: in the current region, ordered after the last effect of this region."""
        after = self.effects.get(self.region)
        order: dict[str, Any] = {"effect": True} | ({"after": after} if after is not None else {})
        node = self.add(
            opcode,
            operands,
            shape=shape,
            element_type=element_type,
            results=results,
            pinned=True,
            **parameters,
            **order,
        )
        self.effects[self.region] = node
        return node

    def _next_number(self) -> int:
        return len(self._made) if self._place.number is None else self._place.number

    def _noted(self, node: Node) -> Node:
        """Register a new node with its origin and source line, and return it."""
        self._made.append(node)
        self._given.append(node)
        if self._place.origin is not None:
            self.origins[node] = self._place.origin
        if self._place.line is not None:
            self.lines[node] = self._place.line
        return node

    def _outermost(self, operands: tuple[Node, ...], standing: Region) -> Region:
        """Return the outermost region that has all operands, but inside the innermost branch around ``standing``."""
        home = self.root
        for operand in operands:
            if operand.region.depth > home.depth:
                home = operand.region
        for region in standing.path():
            if region.depth <= home.depth:
                break
            if region.kind in ("branch", "block"):
                return region
        return home

    def enclose(self, outside: Iterable[Node]) -> Region:
        """Make the root a block inside a new root, which has the nodes ``outside``; return the block."""
        block, self.root = self.root, Region(self.root.kind)
        self._move(block, "block", self.root, outside)
        return block

    def open(self, outside: Iterable[Node]) -> None:
        """Undo :meth:`enclose`."""
        (block,) = (region for region in self._regions() if region.kind == "block")
        kind, self.root = self.root.kind, block
        self._move(block, kind, None, outside)

    def _move(self, body: Region, kind: str, parent: Region | None, outside: Iterable[Node]) -> None:
        """Change what a body is and what is around it; the nodes ``outside`` get to the root."""
        for region in self._regions():
            object.__setattr__(region, "depth", region.depth + (1 if parent is not None else -1))
        object.__setattr__(body, "kind", kind)
        object.__setattr__(body, "parent", parent)
        for node in outside:
            object.__setattr__(node, "region", self.root)
        self._place = Place(self.root)

    def _regions(self) -> set[Region]:
        branches = (node.parameters["branches"] for node in self._made if node.opcode == "conditional")
        own = {branch.region for each in branches for branch in each} | {node.region for node in self._made}
        return {region for each in own for region in each.path()}

    def reached(self, positions: Interval) -> Interval:
        """Return an interval of positions that holds at all sizes, if sizes are free."""
        return positions[0], max(positions[1], self.sizes_reach)

    def parameter(self, shape: tuple[int, ...], element_type: ElementType | None, region: Region, **more: Any) -> Node:
        """Add a node that nothing computes: a function's argument, a loop-carried value or a counter."""
        python_int = more.pop("python_int", False)
        interval = more.pop("interval", None)
        number, row = self._next_number(), OPERATIONS["parameter"]
        return self._noted(
            Node("parameter", (), shape, element_type, more, region, number, python_int, interval, operation=row)
        )

    def literal(self, value: Any, element_type: ElementType) -> Node:
        """Add a scalar constant. ``value`` is a NumPy scalar of the element type's dtype."""
        return self.add(
            "literal", element_type=element_type, constant=Constant.of(np.asarray(value, element_type.dtype))
        )

    def integer(self, value: int) -> Node:
        """Add a Python int."""
        return self.add("integer", interval=(value, value), value=value)


class _At:
    """A scope in which a graph makes nodes at a place."""

    __slots__ = ("_graph", "_outer", "_place")

    def __init__(self, graph: Graph, place: Place) -> None:
        self._graph = graph
        self._place = place

    def __enter__(self) -> None:
        self._outer, self._graph._place = self._graph._place, self._place

    def __exit__(self, *raised: object) -> None:
        self._graph._place = self._outer


class _Recording:
    """A scope in which a graph lists the nodes that it makes or finds."""

    __slots__ = ("_graph", "_outer")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __enter__(self) -> list[Node]:
        self._outer, self._graph._given = self._graph._given, []
        return self._graph._given

    def __exit__(self, *raised: object) -> None:
        self._outer += self._graph._given
        self._graph._given = self._outer
