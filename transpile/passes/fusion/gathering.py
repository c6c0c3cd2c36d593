"""Gathers in kernels: indices moved into the array, and the read of one element."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...array.graph import Graph
from ...array.node import Node
from ...dataclass import dataclass
from ...hlo.element_types import PRED, ElementType
from ...kernels.gathers import Gather, index_type, is_within
from ...kernels.index_maps import Index, Map, offset


@dataclass(slots=True)
class Gathering:
    """Writes gathers into the function of a kernel over the elements of ``loop``."""

    graph: Graph
    loop: tuple[int, ...]

    def add(self, node: Node, gather: Gather, array: Node, indices: Sequence[Node], at: Map) -> Node:
        """Return what stands for ``node`` at ``at``: an element of the parameter ``array`` by the computed indices."""
        shape = gather.array.shape
        where: list[Index | None] = list(gather.array_at(at))
        tests: list[Node] = []
        places: list[Node] = []
        for (axis, given), index in zip(gather.indices.items(), indices, strict=True):
            if index.opcode == "arange" and is_within(given, 0, shape[axis]):
                (where[axis],) = index.parameters["indices"]
                continue
            where[axis] = None
            place = self._place(gather, given, index, shape[axis])
            places.append(place)
            if gather.fill is not None and not is_within(given, -shape[axis], shape[axis]):
                tests += self._tests(given, place, shape[axis])
        known = tuple(Index() if index is None else index for index in where)
        if not places:
            return self._node("read", (array,), node.type, at=offset(known, shape, self.loop), indices=known)
        parameters: dict[str, Any] = {
            "at": offset(known, shape, self.loop),
            "indices": tuple(where),
            "strides": tuple(prod(shape[axis + 1 :]) for axis, index in enumerate(where) if index is None),
        }
        if not tests:
            return self._node("gather", (array, *places), node.type, **parameters)
        inside, *others = tests
        for test in others:
            inside = self._node("and", (inside, test), PRED)
        fill = self.graph.literal(gather.fill, node.type)
        return self._node("guarded_gather", (array, inside, fill, *places), node.type, **parameters)

    def _node(self, opcode: str, operands: tuple[Node, ...], element_type: ElementType, **parameters: Any) -> Node:
        return self.graph.typed(opcode, operands, self.loop, element_type, **parameters)

    def _place(self, gather: Gather, given: Node, index: Node, size: int) -> Node:
        """An index from the begin of its axis, in the axis where nothing tests that."""
        kind = index_type(given)
        place = index if index.type is kind else self._node("convert", (index,), kind)
        if is_within(given, 0, size):
            return place
        first = self.graph.literal(0, kind)
        if gather.is_clamped:
            return self._node("clamp", (first, place, self.graph.literal(size - 1, kind)), kind)
        if not given.type.is_signed or (given.interval is not None and given.interval[0] >= 0):
            return place
        is_before = self._node("compare", (place, first), PRED, direction="LT")
        return self._node("select", (is_before, self._sum(place, size), place), kind)

    def _sum(self, place: Node, size: int) -> Node:
        return self._node("add", (place, self.graph.literal(size, place.type)), place.type)

    def _tests(self, given: Node, place: Node, size: int) -> list[Node]:
        """The tests that a place is in an axis."""
        tests = [self._node("compare", (place, self.graph.literal(size, place.type)), PRED, direction="LT")]
        if given.type.is_signed:
            tests.insert(0, self._node("compare", (place, self.graph.literal(0, place.type)), PRED, direction="GE"))
        return tests
