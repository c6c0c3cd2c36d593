"""The terms of instructions.

Calls and fusions are seen through, and so are broadcasts of scalars: ``1 + x`` is the same term for a number and for an
array. So are the slices of short tables, and what is looked up in one for each element. What is not done element by
element is a leaf that is equal to nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...hlo.custom_calls.special_functions import OWN_TARGETS
from ...hlo.ir import Computation, Instruction
from ...hlo.opcodes import OPCODES
from ...hlo.shapes import ArrayShape, Shape
from ..outlining.traced_calls import described
from .folding import folded, loop
from .terms import NAMED, Term, Terms

CALLS = {"call": "to_apply", "fusion": "calls"}
_REPEATING = frozenset(("broadcast", "copy"))  # a scalar
_MOVING = frozenset(("broadcast", "copy", "reshape", "slice", "transpose"))
_COLUMN, _PART = "column", "part"  # the opcodes of terms of indices, and of parts of larger arrays of numbers
_PARTS = frozenset(("copy", "dynamic-slice", "reshape", "slice"))
_MOST_NUMBERS = 64  # of a table, such as the coefficients of a polynomial
_MOST_INSTRUCTIONS, _MOST_DEPTH = 800, 8  # of a computation that is seen through, with those that it calls


class Reading:
    """The terms of the instructions of computations.

    ``named`` gives the term to put in place of one, where there is a better. With ``of_scalars`` an ``any`` of all
    elements is what it is of a single one: the element. Computations that would take long to see through are leaves.
    """

    def __init__(self, terms: Terms, named: Callable[[Term], Term], of_scalars: bool = False) -> None:
        self.terms, self.named, self.of_scalars = terms, named, of_scalars
        self._sizes: dict[Computation, tuple[int, int]] = {}
        self._bodies: dict[Computation, Term] = {}

    def measure(self, computations: Iterable[Computation]) -> None:
        """Learn how long computations are and how deep they call others; callees come before their callers."""
        for computation in computations:
            called = [self._sizes[each] for i in computation.instructions for each in i.called]
            count = len(computation.instructions) + sum(count for count, _ in called)
            if any(map(_must_stay, computation.instructions)):
                count = _MOST_INSTRUCTIONS + 1
            self._sizes[computation] = count, 1 + max((depth for _, depth in called), default=0)

    def values(self, computation: Computation, arguments: Iterable[Term]) -> dict[Instruction, Term]:
        """The terms of the instructions of a computation that is given terms."""
        found: dict[Instruction, Term] = dict(zip(computation.parameters, arguments, strict=True))
        for instruction in computation.instructions:
            if instruction not in found:
                operands = tuple(found[operand] for operand in instruction.operands)
                found[instruction] = self._term(instruction, operands)
        return found

    def leaf(self, instruction: Instruction, operands: tuple[Term, ...] = ()) -> Term:
        """A term that is equal to none but itself: to the same instruction, of a function that is called again, on the
        same operands."""
        return self.terms.make("leaf", element_type(instruction.shape), instruction, operands)

    def _term(self, instruction: Instruction, operands: tuple[Term, ...]) -> Term:
        if not all(map(self._is_seen_through, instruction.called)):
            return self.leaf(instruction, operands)
        opcode, kind = instruction.opcode, element_type(instruction.shape)
        if opcode in CALLS:
            called: Computation = instruction[CALLS[opcode]]
            return self.values(called, operands)[called.root]
        if opcode == "while":
            return loop(self.terms, self._body(instruction["condition"]), self._body(instruction["body"]), *operands)
        if opcode == "custom-call" and (name := OWN_TARGETS.get(instruction["custom_call_target"])):
            return self.terms.make(NAMED, kind, name, operands)
        if opcode == "tuple":
            return self.terms.make(opcode, kind, None, operands)
        if opcode == "get-tuple-element":
            return self.terms.element(operands[0], kind, instruction["index"])
        if _is_scalar_repeated(instruction):
            return operands[0]
        if opcode == "constant" and isinstance(instruction.shape, ArrayShape) and instruction.shape.rank == 0:
            return self.terms.number(kind, instruction["literal"])
        if _is_table(instruction):
            return self.terms.table(kind, instruction["literal"], 0)
        if operands and (moved := self._moved(instruction, operands[0])):
            return moved
        if _is_part(instruction, operands):
            key = opcode, instruction.array_shape.dimensions, described(instruction.attributes)
            return self.terms.make(_PART, kind, key, operands)
        if _is_column(instruction):
            return self.terms.make(_COLUMN, kind, None, operands)
        if _is_lookup(instruction, operands):
            return self.terms.make(instruction.opcode, kind, None, (operands[0], _each_of(operands[1])))
        if _is_any(instruction):
            return operands[0] if self.of_scalars else self.terms.make("any", kind, None, operands[:1])
        if _is_elementwise(instruction) or _is_barrier(instruction):
            return self.named(folded(self.terms, opcode, kind, _key(instruction), operands))
        return self.leaf(instruction, operands)

    def _moved(self, instruction: Instruction, operand: Term) -> Term | None:
        """A table, or the number that it is everywhere, in another place; None for what does not only move one."""
        if operand.opcode == "constant" and instruction.opcode in _MOVING:
            return operand
        if operand.opcode != "table" or instruction.opcode not in ("broadcast", "slice"):
            return None
        axis, numbers = operand.table
        if instruction.opcode == "broadcast":
            return self.terms.table(operand.element_type, numbers, instruction["dimensions"][axis])
        part = instruction["slice"][axis]
        return self.terms.table(operand.element_type, numbers[part.start : part.limit : part.stride], axis)

    def _is_seen_through(self, computation: Computation) -> bool:
        count, depth = self._sizes[computation]
        return count <= _MOST_INSTRUCTIONS and depth <= _MOST_DEPTH

    def _body(self, computation: Computation) -> Term:
        """Return the term of what a loop's computation gives; equal ones are one, since they see nothing but what they
        carry.
        """
        if computation not in self._bodies:
            self._bodies[computation] = self.values(computation, (self.terms.carried,))[computation.root]
        return self._bodies[computation]


def element_type(shape: Shape) -> str:
    """The name of the element type of an array, nothing for other shapes."""
    return shape.element_type.name if isinstance(shape, ArrayShape) else ""


def _must_stay(instruction: Instruction) -> bool:
    if instruction.opcode == "custom-call":
        return instruction["custom_call_target"] not in OWN_TARGETS
    return OPCODES[instruction.opcode].has_side_effect


def _is_scalar_repeated(instruction: Instruction) -> bool:
    if instruction.opcode not in _REPEATING or not isinstance(instruction.shape, ArrayShape):
        return False
    source = instruction.operands[0].shape
    return isinstance(source, ArrayShape) and source.rank == 0


def _is_table(instruction: Instruction) -> bool:
    shape = instruction.shape
    is_row = instruction.opcode == "constant" and isinstance(shape, ArrayShape) and shape.rank == 1
    return is_row and instruction.array_shape.size <= _MOST_NUMBERS and instruction["literal"].dtype.kind == "f"


def _is_part(instruction: Instruction, operands: tuple[Term, ...]) -> bool:
    """Tell whether it is a small array of numbers of several axes, or a part of one that is only moved."""
    if instruction.opcode == "constant":
        shape = instruction.shape
        return isinstance(shape, ArrayShape) and shape.rank > 1 and shape.size <= _MOST_NUMBERS
    return instruction.opcode in _PARTS and bool(operands) and operands[0].opcode == _PART


def _is_column(instruction: Instruction) -> bool:
    """Tell whether it gives each element an axis of its own, the last one: as indices of a gather have it."""
    if instruction.opcode != "reshape" or not isinstance(instruction.operands[0].shape, ArrayShape):
        return False
    return instruction.array_shape.dimensions == (*instruction.operands[0].array_shape.dimensions, 1)


def _each_of(index: Term) -> Term:
    """The term of the elements of a column; a number is one already."""
    return index.operands[0] if index.opcode == _COLUMN else index


def _is_lookup(instruction: Instruction, operands: tuple[Term, ...]) -> bool:
    """Tell whether a gather looks up a number in a table for each element."""
    if instruction.opcode != "gather" or operands[0].opcode != "table":
        return False
    rank, indices = instruction.array_shape.rank, instruction.operands[1].array_shape
    is_each = indices.dimensions == (*instruction.array_shape.dimensions, 1) and instruction["index_vector_dim"] == rank
    return is_each and (operands[1].opcode == _COLUMN or not rank) and instruction.operands[0].array_shape.rank == 1


def _is_barrier(instruction: Instruction) -> bool:
    return instruction.opcode == "opt-barrier" and isinstance(instruction.shape, ArrayShape)


def _is_elementwise(instruction: Instruction) -> bool:
    """Tell whether it gives each element from the elements at its place, and all sizes are known."""
    shape = instruction.shape
    return (
        OPCODES[instruction.opcode].is_elementwise
        and isinstance(shape, ArrayShape)
        and all(
            isinstance(each.shape, ArrayShape)
            and each.shape.dimensions == shape.dimensions
            and not each.shape.is_dynamic
            for each in (instruction, *instruction.operands)
        )
    )


def _is_any(instruction: Instruction) -> bool:
    """Tell whether a reduction tells if any of all elements is true."""
    is_one = instruction.opcode == "reduce" and len(instruction.operands) == 2
    if not is_one or not isinstance(instruction.shape, ArrayShape) or instruction.shape.rank:
        return False
    init, root = instruction.operands[1], instruction["to_apply"].root
    parameters = set(instruction["to_apply"].parameters)
    is_or = root.opcode == "or" and set(root.operands) == parameters
    is_false = init.opcode == "constant" and not init["literal"].any()
    return is_or and is_false and element_type(instruction.shape) == "pred"


def _key(instruction: Instruction) -> Any:
    """Return what an element-wise operation's attributes say; the type of a comparison follows from its operands, but
    for that of the total order."""
    known = OPCODES[instruction.opcode].attributes
    if instruction.opcode == "compare" and instruction.attributes.get("type") != "TOTALORDER":
        return instruction["direction"]
    return described({name: value for name, value in instruction.attributes.items() if name in known})
