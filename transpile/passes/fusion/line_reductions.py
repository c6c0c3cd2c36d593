"""Reductions by those that fold a line: sums, products, extremes, and the first of some places."""

from __future__ import annotations

from math import prod

from ...array.graph import Graph
from ...array.node import Node
from ...dataclass import dataclass
from ...hlo.element_types import F32, PRED, S8, S16, S32, U8, U16, ElementType
from ...kernels.index_maps import Index, Offset, Term
from ...kernels.intervals import Bounds, LineIntervals
from ...kernels.lines import Lines, reduced_axes
from ...kernels.operations import start_value

# The folds for a place and for what is there, by the operation or the function.
_EXTREMES = {
    "argmax": ("argmax", "max"),
    "argmin": ("argmin", "min"),
    "first_largest": ("argmax", "max"),
    "first_smallest": ("argmin", "min"),
}
_WIDE = {S8: S32, U8: S32, S16: S32, U16: S32}


@dataclass(slots=True)
class LineReductions:
    """Writes reductions into the function of a kernel; ``made`` are the folds of lines. Those along one axis go over
    the ``intervals`` of it that masks select, if these are given."""

    graph: Graph
    loop: tuple[int, ...]
    lines: Lines
    made: set[Node]
    intervals: LineIntervals | None = None

    def add(self, node: Node, x: Node, in_parts: bool) -> Node:
        """Return what stands for a reduction ``node`` of the caller, of the elements ``x``; narrow ones are widened.

        Of a mean ``in_parts`` that is what these elements add to it.
        """
        wide = F32 if x.type.is_floating and x.type.bits < 32 else _WIDE.get(x.type, x.type)
        if node.opcode in ("sum", "prod") and node.type.bits > wide.bits:
            wide = node.type
        x = self._converted(x, wide)
        if node.opcode in _EXTREMES or node.opcode == "prelude":
            made = self._place(node, x)
        elif node.opcode in ("mean", "var", "std"):
            made = self._mean(node, x) if in_parts else self._of_sums(node, x)
        else:
            made = self._reduced(node.opcode, x)
        return self._converted(made, node.type)

    def _converted(self, x: Node, element_type: ElementType) -> Node:
        return x if x.type is element_type else self._node("convert", (x,), element_type)

    def _node(self, opcode: str, operands: tuple[Node, ...], element_type: ElementType, **parameters: object) -> Node:
        return self.graph.typed(opcode, operands, self.loop, element_type, **parameters)  # type: ignore[arg-type]

    def _reduced(self, opcode: str, x: Node) -> Node:
        bounds: Bounds = ()
        if self.intervals is not None:
            x, bounds = self.intervals.reduced(x, start_value(opcode, x.type))
        made = self._node(opcode, (x, *bounds), x.type)
        self.made.add(made)
        return made

    def _mean(self, node: Node, x: Node) -> Node:
        count = prod(self.loop[axis] for axis in reduced_axes(node))
        return self._node("mean", (self._reduced("sum", x),), x.type, count=count)

    def _of_sums(self, node: Node, x: Node) -> Node:
        mean = self._mean(node, x)
        if node.opcode == "mean":
            return mean
        difference = self._node("subtract", (x, mean), x.type)
        total = self._reduced("sum", self._node("multiply", (difference, difference), x.type))
        count = max(self.lines.length - node.parameters.get("ddof", 0), 0)
        return self._node(node.opcode, (total,), x.type, count=count)

    def _place(self, node: Node, x: Node) -> Node:
        """The first place of an extreme, or of a NaN where there is one."""
        opcode, extreme = _EXTREMES[node.parameters.get("function", node.opcode)]
        found = self._node("compare", (x, self._reduced(extreme, x)), PRED, direction="EQ")
        if x.type.is_floating:
            missing = self._node("isnan", (x,), PRED)
            found = self._node("or", (missing, found), PRED)
        (part,) = (part for part in self.lines.stretches if part.is_reduced)
        along = Offset(0, (Term(part.stride, None if part is self.lines.stretches[0] else part.size, 1),))
        indices = (Index(0, 1, *reduced_axes(node)),)
        places = self._node("arange", (), S32, places=(along,), indices=indices)
        behind = self.graph.literal(self.lines.length, S32)
        return self._reduced(opcode, self._node("select", (found, places, behind), S32))
