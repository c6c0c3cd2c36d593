"""The array dialect: what an array library sees.

A :class:`Node` is one pure array expression; its shape is the shape NumPy gives it, after implicit broadcasting has
replaced HLO's explicit broadcasts. Nodes are immutable and hash-consed by a :class:`Graph`, so equal expressions are
one object. A :class:`Region` is a body of code (function, loop, branch) that a node belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..hlo.element_types import ElementType
from ..hlo.ir import Instruction
from ..hlo.literal_values import array_sha256

Interval = tuple[int, int]  # inclusive bounds of every element of an integer node


@dataclass(frozen=True, eq=False, slots=True)
class Region:
    """A body of code. ``kind`` is ``function``, ``loop`` or ``branch``."""

    kind: str
    parent: Region | None = None
    depth: int = 0

    def child(self, kind: str) -> Region:
        return Region(kind, self, self.depth + 1)

    def path(self) -> Iterator[Region]:
        """This region, then the ones around it."""
        region: Region | None = self
        while region is not None:
            yield region
            region = region.parent


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One value. ``element_type`` is None for what is no array: ``results`` then types a tuple, or it is a token.

    ``is_python_int`` marks a Python ``int`` (loop counters and arithmetic on them), weakly typed beside arrays.
    """

    opcode: str
    operands: tuple[Node, ...]
    shape: tuple[int, ...]
    element_type: ElementType | None
    parameters: dict[str, Any]
    region: Region
    number: int
    is_python_int: bool = False
    interval: Interval | None = None
    results: tuple[Any, ...] = ()  # of a node with several results: one (shape, element type) each

    def __repr__(self) -> str:
        operands = ", ".join(f"%{operand.number}" for operand in self.operands)
        settings = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        kind = "int" if self.is_python_int else f"{self.element_type}{list(self.shape)}"
        return f"%{self.number} = {kind} {self.opcode}({operands}{settings})"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_literal(self) -> bool:
        return self.opcode == "literal"

    @property
    def stands_alone(self) -> bool:
        """Equal nodes must not become one: it is written into, holds a body of code, or has a side effect."""
        return self.opcode in ("copy", "empty", "loop", "conditional") or "effect" in self.parameters

    @property
    def type(self) -> ElementType:
        """The element type of a node known to be an array."""
        assert self.element_type is not None, f"{self!r} is no array"
        return self.element_type


@dataclass(frozen=True, slots=True)
class Constant:
    """An array in a node's parameters, compared by a digest of its bytes: large ones are not held twice."""

    array: np.ndarray = field(compare=False)
    key: tuple[Any, ...] = ()

    @staticmethod
    def of(array: np.ndarray) -> Constant:
        return Constant(array, (array.dtype.str, str(array.dtype), array.shape, array_sha256(array)))

    @property
    def sha256(self) -> str:
        """The hash of the array's bytes, in hexadecimal digits."""
        return str(self.key[-1])


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of operand ``index`` among the arguments of a call."""

    index: int


@dataclass(frozen=True, slots=True)
class Ufunc:
    """A universal function of the array library, as an argument: ``np.add``."""

    opcode: str


@dataclass(frozen=True, slots=True)
class PreludeName:
    """An object of the prelude, as an argument."""

    name: str


@dataclass(frozen=True, slots=True)
class ForeignName:
    """A function of the user's own, imported from a module."""

    module: str
    name: str


def frozen(value: Any) -> Any:
    """A parameter's value as one that can be compared and hashed."""
    if isinstance(value, dict):
        return tuple((key, frozen(item)) for key, item in sorted(value.items()))
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    if isinstance(value, float):
        return ("float", np.float64(value).tobytes())
    return (type(value).__name__, value) if isinstance(value, bool | int) else value


class Graph:
    """Makes the nodes of one emitted function."""

    def __init__(self) -> None:
        self.root = Region("function")
        self.region = self.root  # where lowering stands
        self.instruction: Instruction | None = None  # what is being lowered: the origin of new nodes
        self.origins: dict[Node, Instruction] = {}
        self.results: dict[Node, list[Instruction]] = {}  # the instructions whose value a node is, innermost first
        self.replaced: dict[Node, Node] = {}  # by rewrites: the node that took a node's place
        self.stand_ins: set[Node] = set()  # replaced nodes whose place was taken by something of another value
        self.turned: dict[Node, tuple[int, ...]] = {}  # by rewrites: how to transpose that to have the node's value
        self.effects: dict[Region, Node] = {}  # the last node with a side effect
        self._table: dict[Any, Node] = {}
        self.refuses: Callable[[Node], str | None] = lambda node: None  # why the target cannot say what is raised
        self.number: int | None = None  # of new nodes while rewriting: that of the node they stand for
        self._made: list[Node] = []

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self._made)

    def current(self, node: Node) -> Node:
        """What rewrites have made of a node; it may have other unit axes."""
        while node in self.replaced:
            node = self.replaced[node]
        return node

    def has_current(self, node: Node) -> bool:
        """Whether :meth:`current` has the value of the node, and does not only stand in for it."""
        while node not in self.stand_ins and node in self.replaced:
            node = self.replaced[node]
        return node not in self.stand_ins

    def nodes_since(self, count: int) -> list[Node]:
        """The nodes made since there were ``count``."""
        return self._made[count:]

    def add(
        self,
        opcode: str,
        operands: tuple[Node, ...] = (),
        shape: tuple[int, ...] = (),
        element_type: ElementType | None = None,
        *,
        python_int: bool = False,
        interval: Interval | None = None,
        results: tuple[Any, ...] = (),
        pinned: bool = False,
        **parameters: Any,
    ) -> Node:
        """The node of this expression: an existing equal one where it is in scope, else a new one.

        A node lands in the outermost region that has all its operands, but never outside the branch it is lowered
        in (the other branch must not run) and, if ``pinned``, exactly where lowering stands.
        """
        home = self._home(operands, pinned)
        if pinned:
            return self._new(opcode, operands, shape, element_type, parameters, home, python_int, interval, results)
        key = (opcode, operands, shape, element_type, python_int, frozen(parameters))
        for region in home.path():
            found = self._table.get((region, key))
            if found is not None:
                return found
        node = self._new(opcode, operands, shape, element_type, parameters, home, python_int, interval, results)
        self._table[home, key] = node
        return node

    def add_effect(
        self,
        opcode: str,
        operands: tuple[Node, ...],
        results: tuple[Any, ...],
        shape: tuple[int, ...] = (),
        element_type: ElementType | None = None,
        **parameters: Any,
    ) -> Node:
        """A node with a side effect: stays where it is, behind the last one of the same body."""
        after = self.effects.get(self.region)
        order: dict[str, Any] = {"effect": True} | ({"after": after} if after is not None else {})
        node = self.add(opcode, operands, shape, element_type, results=results, pinned=True, **parameters, **order)
        self.effects[self.region] = node
        return node

    def _new(
        self,
        opcode: str,
        operands: tuple[Node, ...],
        shape: tuple[int, ...],
        element_type: ElementType | None,
        parameters: dict[str, Any],
        home: Region,
        python_int: bool,
        interval: Interval | None,
        results: tuple[Any, ...],
    ) -> Node:
        number = len(self._made) if self.number is None else self.number
        node = Node(opcode, operands, shape, element_type, parameters, home, number, python_int, interval, results)
        self._made.append(node)
        if self.instruction is not None:
            self.origins[node] = self.instruction
        return node

    def _home(self, operands: tuple[Node, ...], pinned: bool) -> Region:
        if pinned:
            return self.region
        home = self.root
        for operand in operands:
            if operand.region.depth > home.depth:
                home = operand.region
        for region in self.region.path():
            if region.depth <= home.depth:
                break
            if region.kind == "branch":
                return region
        return home

    def parameter(self, shape: tuple[int, ...], element_type: ElementType | None, region: Region, **more: Any) -> Node:
        """A new value that nothing computes: a function's argument, a loop's carried value or counter."""
        python_int = more.pop("python_int", False)
        interval = more.pop("interval", None)
        return self._new("parameter", (), shape, element_type, more, region, python_int, interval, ())

    def literal(self, value: Any, element_type: ElementType) -> Node:
        """A scalar constant. ``value`` is a NumPy scalar of the element type's dtype."""
        scalar = np.asarray(value, element_type.dtype)
        interval = None
        if element_type.is_integral:
            interval = (int(scalar), int(scalar))
        return self.add("literal", (), (), element_type, interval=interval, constant=Constant.of(scalar))

    def integer(self, value: int) -> Node:
        """A Python int."""
        return self.add("integer", python_int=True, interval=(value, value), value=value)


def literal_value(node: Node) -> np.ndarray:
    """The 0-d array of a literal node."""
    constant: Constant = node.parameters["constant"]
    return constant.array
