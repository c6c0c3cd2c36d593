"""The conditions under which kernels compute an operation element by element, independent of their language."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..transpile.array.node import Node, Slot
from ..transpile.dataclass import dataclass
from ..transpile.hlo.element_types import PRED
from ..transpile.kernels.gathers import gather_of

Kinds = frozenset[str]  # names of element types
Rule = Callable[[Node], bool]


@dataclass(frozen=True, slots=True)
class ElementTable:
    """The operations that a language of kernels supports.

    ``kinds`` are its element types. ``operations`` has the element types of the first operand of each operation,
    ``functions`` those of prelude functions, and ``rules`` additional conditions.
    """

    kinds: Kinds
    operations: Mapping[str, Kinds]
    functions: Mapping[str, Kinds]
    rules: Mapping[str, Rule]

    def has(self, node: Node) -> bool:
        """Return whether the language can compute a node."""
        if gather_of(node) is not None:
            return node.type.name in self.kinds
        types = [each.element_type for each in (node, *node.operands)]
        if not node.operands or not all(kind is not None and kind.name in self.kinds for kind in types):
            return False
        named = node.opcode == "prelude"
        accepted = self.functions.get(called_function(node)) if named else self.operations.get(node.opcode)
        rule = self.rules.get(node.opcode)
        return accepted is not None and node.operands[0].type.name in accepted and (rule is None or rule(node))


_EXTREMES = frozenset(("max", "min"))
_SUMS = frozenset(("sum", "prod"))
_OF_SUMS = frozenset(("mean", "var", "std"))
REDUCED = _EXTREMES | _SUMS | _OF_SUMS  # the reductions that kernels may compute, without arg-reductions


@dataclass(frozen=True, slots=True)
class ReductionTable:
    """The reductions that a language of kernels supports.

    ``kinds`` are the element types that it reduces, ``places`` the arg-reductions, ``averaged`` the element types of
    means and variances.
    """

    kinds: Kinds
    places: frozenset[str]
    averaged: Kinds

    def has(self, node: Node) -> bool:
        """Return whether the language can compute a reduction with one operand: in its type, or sums of integers in a
        wider one.
        """
        (operand,) = node.operands
        if operand.element_type is None or operand.type.name not in self.kinds:
            return False
        if node.parameters.get("function", node.opcode) in self.places:
            return node.type.is_integral
        is_widened = operand.type.is_integral and node.type.is_integral and node.type.bits > operand.type.bits
        same = node.element_type is operand.element_type
        return (
            (node.opcode in _EXTREMES and same and not node.type.is_complex)
            or (node.opcode in _SUMS and (same or is_widened))
            or (node.opcode in _OF_SUMS and same and operand.type.name in self.averaged)
        )


def called_function(node: Node) -> str:
    """Return the name of the prelude function that a node calls with its operands as the only arguments, else "".

    An argument that is the result type does not count, nor do the keywords of ``reduce_precision``.
    """
    function = node.parameters["function"]
    slots = tuple(argument for argument in node.parameters["arguments"] if argument != node.element_type)
    plain = slots == tuple(Slot(k) for k in range(len(node.operands)))
    is_known = function == "reduce_precision" or not node.parameters["keywords"]
    return function if plain and is_known and isinstance(function, str) else ""


def compares(node: Node) -> bool:
    """Return whether a comparison is supported: no order of complex numbers, and no total order of floats."""
    is_order = node.parameters["direction"] not in ("EQ", "NE")
    return node.parameters.get("type") != "TOTALORDER" and not (is_order and node.operands[0].type.is_complex)


def converts(node: Node) -> bool:
    """Return whether a conversion is supported. From floats to integers it would saturate: the prelude's ``to_int``
    does that.
    """
    source, result = node.operands[0].type, node.type
    if source.is_complex:
        return result.is_complex
    return not (source.is_floating and result.is_integral)


def has_one_type(node: Node) -> bool:
    """Return whether all operands have the type of the result."""
    return all(operand.element_type is node.element_type for operand in node.operands)


def joins(node: Node) -> bool:
    """Return whether operands may be joined. Each operand is a branch of an ``if``, so there must be few."""
    few = 1 < len(node.operands) <= MOST_PIECES
    return has_one_type(node) and few and all(0 not in each.shape for each in node.operands)


def rolls(node: Node) -> bool:
    """Return whether a node rolls along one axis by a non-zero shift."""
    axis, shift = node.parameters["axis"], node.parameters["shift"]
    return isinstance(axis, int) and isinstance(shift, int) and shift % node.shape[axis] != 0


def pads(node: Node) -> bool:
    """Return whether an array that is not empty is padded with a number."""
    return has_one_type(node) and 0 not in node.operands[0].shape and not node.operands[1].ndim


def selects(node: Node) -> bool:
    """Return whether a node selects by a boolean between values of one type."""
    values = node.operands[1:]
    return node.operands[0].type is PRED and all(operand.element_type is node.element_type for operand in values)


def divides(node: Node) -> bool:
    """Return whether a node divides floats or non-negative integers: for negative ones, the rounding depends on the
    language.
    """
    interval = node.operands[0].interval
    no_sign = not node.type.is_signed or (interval is not None and interval[0] >= 0)
    return has_one_type(node) and (not node.type.is_integral or no_sign)


MOST_PIECES = 4
_OF_ONE_TYPE = "add subtract multiply negate maximum minimum clamp and or xor not power atan2".split()
RULES: dict[str, Rule] = {
    **dict.fromkeys(_OF_ONE_TYPE, has_one_type),
    **dict.fromkeys(("divide", "remainder"), divides),
    **dict.fromkeys(("concatenate", "stack"), joins),
    "roll": rolls,
    "pad": pads,
    "select": selects,
    "compare": compares,
    "convert": converts,
}


def hides_elements(node: Node) -> str | None:
    """Return the reason why kernels could not fuse a node with its neighbours, or None."""
    if node.operation.blocks_fusion:
        return "it hides what kernels compute element by element"
    given = node.operands[1:] if node.opcode == "select" else node.operands
    is_mixed = node.operation.promotes and len({operand.element_type for operand in given}) > 1
    return "operands of kernels have one type" if is_mixed else None
