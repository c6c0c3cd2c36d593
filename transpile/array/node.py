"""Nodes of the array dialect: expressions as an array library sees them.

A :class:`Node` is one pure array expression; its shape is the shape that NumPy gives it, after implicit broadcasting
has replaced HLO's explicit broadcasts. A :class:`.graph.Graph` hash-conses nodes, so equal expressions are one object.
Only :class:`.live.LiveNodes` changes operands, to nodes of the same value. A :class:`Region` is a body of code
(function, loop, branch) that a node belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from math import prod
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..hlo.element_types import ElementType
from ..hlo.literal_values import array_sha256
from .operation import Interval, Operation


@dataclass(frozen=True, eq=False, slots=True)
class Region:
    """A body of code. ``kind`` is ``entry``, ``function``, ``loop``, ``branch``, or ``block``, of a function that is
    compiled as a whole.
    """

    kind: str
    parent: Region | None = None
    depth: int = 0

    def child(self, kind: str) -> Region:
        return Region(kind, self, self.depth + 1)

    def enclosed(self) -> Region:
        """Return a new body inside, in which nodes stay whatever they depend on."""
        return self.child("block")

    def path(self) -> Iterator[Region]:
        """Yield this region, then the ones around it."""
        region: Region | None = self
        while region is not None:
            yield region
            region = region.parent

    @property
    def is_in_loop(self) -> bool:
        """Whether the region is inside a loop of the function, or compiled as one."""
        return any(region.kind in ("loop", "block") for region in self.path())

    @property
    def is_once(self) -> bool:
        """Whether the region runs at most once per call of the module."""
        return all(region.kind in ("entry", "branch") for region in self.path())


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One value. ``element_type`` is None for a tuple, whose types are in ``results``, and for a token.

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
    operation: Operation = field(kw_only=True)  # its row in the table of operations

    def __repr__(self) -> str:
        operands = ", ".join(f"%{operand.number}" for operand in self.operands)
        settings = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        kind = "int" if self.is_python_int else f"{self.element_type}{list(self.shape)}"
        return f"%{self.number} = {kind} {self.opcode}({operands}{settings})"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements; 0 for a node that is not an array."""
        return prod(self.shape) * self.element_type.dtype.itemsize if self.element_type is not None else 0

    @property
    def is_literal(self) -> bool:
        return self.opcode == "literal"

    @property
    def stands_alone(self) -> bool:
        """Whether the node is excluded from common subexpression elimination: it is updated in place, holds code, or
        has a side effect.
        """
        return self.operation.stands_alone or "effect" in self.parameters

    @property
    def type(self) -> ElementType:
        """The element type of a node known to be an array."""
        assert self.element_type is not None, f"{self!r} is no array"
        return self.element_type


@dataclass(frozen=True, slots=True)
class Constant:
    """An array in a node's parameters. Equality compares a digest of its bytes, so equal large arrays are held once."""

    array: np.ndarray = field(compare=False)
    key: tuple[Any, ...] = ()

    @staticmethod
    def of(array: np.ndarray) -> Constant:
        return Constant(array, (array.dtype.str, str(array.dtype), array.shape, array_sha256(array)))

    @property
    def sha256(self) -> str:
        """The SHA-256 of the array's bytes, in hexadecimal digits."""
        return str(self.key[-1])


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of operand ``index`` among the arguments of a call."""

    index: int


@dataclass(frozen=True, slots=True)
class Ufunc:
    """A ufunc of the array library as an argument: ``np.add``."""

    opcode: str


@dataclass(frozen=True, slots=True)
class DeviceGroups:
    """Groups of device numbers, as an argument."""

    lists: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class DevicePairs:
    """Source and target devices of sends, as an argument."""

    lists: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PreludeName:
    """An object of the prelude, as an argument."""

    name: str


@dataclass(frozen=True, slots=True)
class HostName:
    """A function that the caller may pass to ``main`` under this name, as an argument."""

    name: str


@dataclass(frozen=True, slots=True)
class ForeignName:
    """A function of the user's, imported from a module."""

    module: str
    name: str


def literal_value(node: Node) -> np.ndarray:
    """Return the 0-d array of a literal node."""
    constant: Constant = node.parameters["constant"]
    return constant.array
