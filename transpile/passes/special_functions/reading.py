"""Reads the terms of instructions.

Calls and fusions are inlined, and broadcasts of scalars ignored: ``1 + x`` is the same term for a number and for an
array. Slices of short tables, and lookups of a number for each element, are terms too. A few adjacent conditions, such
as those of ``piecewise``, are one term, and so are their running counts and the position of the largest. A value that
is not computed element by element is a leaf, which is equal to no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...hlo.attributes import Window, WindowDimension
from ...hlo.custom_calls.special_functions import OWN_TARGETS
from ...hlo.element_types import ELEMENT_TYPES
from ...hlo.ir import Computation, Instruction
from ...hlo.opcodes import OPCODES
from ...hlo.shapes import ArrayShape, Shape
from ..outlining.traced_calls import described
from .folding import folded, loop
from .terms import NAMED, Term, Terms

CALLS = {"call": "to_apply", "fusion": "calls"}
_REPEATING = frozenset(("broadcast", "copy"))  # a scalar
_MOVING = frozenset(("broadcast", "copy", "reshape", "slice", "transpose"))
# The opcodes of terms for a column of indices, several columns, and parts of larger arrays of numbers.
_COLUMN, _COLUMNS, _PART = "column", "columns", "part"
_PARTS = frozenset(("copy", "dynamic-slice", "reshape", "slice"))
_MOST_NUMBERS = 64  # in a table, such as the coefficients of a polynomial
_MOST_INSTRUCTIONS, _MOST_DEPTH = 4000, 8  # of a computation that is inlined, with those that it calls


class Reading:
    """The terms of the instructions of computations.

    ``named`` returns a better term for a term, if any. With ``of_scalars``, an ``any`` of all elements is read as that
    of a single one: the element. Calls of computations that are too long to inline are leaves.
    """

    def __init__(self, terms: Terms, named: Callable[[Term], Term], of_scalars: bool = False) -> None:
        self.terms, self.named, self.of_scalars = terms, named, of_scalars
        self._sizes: dict[Computation, tuple[int, int]] = {}
        self._bodies: dict[Computation, Term] = {}

    def measure(self, computations: Iterable[Computation]) -> None:
        """Record the length and the call depth of computations; callees come before their callers."""
        for computation in computations:
            called = [self._sizes[each] for i in computation.instructions for each in i.called]
            count = len(computation.instructions) + sum(count for count, _ in called)
            if any(map(_must_stay, computation.instructions)):
                count = _MOST_INSTRUCTIONS + 1
            self._sizes[computation] = count, 1 + max((depth for _, depth in called), default=0)

    def values(self, computation: Computation, arguments: Iterable[Term]) -> dict[Instruction, Term]:
        """Return the terms of the instructions of a computation for given arguments."""
        found: dict[Instruction, Term] = dict(zip(computation.parameters, arguments, strict=True))
        for instruction in computation.instructions:
            if instruction not in found:
                operands = tuple(found[operand] for operand in instruction.operands)
                found[instruction] = self._term(instruction, operands)
        return found

    def leaf(self, instruction: Instruction, operands: tuple[Term, ...] = ()) -> Term:
        """Return a term that is equal only to itself: the same instruction, with the same operands if its function is
        called again.
        """
        return self.terms.make("leaf", element_type(instruction.shape), instruction, operands)

    def _term(self, instruction: Instruction, operands: tuple[Term, ...]) -> Term:
        if not all(map(self._is_seen_through, instruction.called)):
            return self.leaf(instruction, operands)
        opcode, kind = instruction.opcode, element_type(instruction.shape)
        if opcode in CALLS:
            called: Computation = instruction[CALLS[opcode]]
            return self.values(called, operands)[called.root]
        if opcode == "conditional" and operands[0].element_type == "s32" and kind:
            return self._chosen(operands[0], self._cases(instruction, operands[1:]))
        if opcode == "while" and _is_once(instruction, operands[0]):
            return self.values(instruction["body"], operands)[instruction["body"].root]
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
        if opcode == "concatenate" and (joined := self._joined(instruction, operands)):
            return joined
        if instruction.opcode == "iota" and instruction.array_shape.rank == 1:
            return self.terms.make(opcode, kind, instruction.array_shape.size)
        if operands and self._is_along_columns(instruction, operands[0]):
            return self.terms.make(opcode, kind, self._combiner(instruction["to_apply"]), operands)
        if _is_lookup(instruction, operands):
            return self.terms.make(instruction.opcode, kind, None, (operands[0], _each_of(operands[1])))
        if _is_any(instruction):
            return operands[0] if self.of_scalars else self.terms.make("any", kind, None, operands[:1])
        if _is_elementwise(instruction) or _is_barrier(instruction):
            return self.named(folded(self.terms, opcode, kind, _key(instruction), operands))
        return self.leaf(instruction, operands)

    def _cases(self, instruction: Instruction, arguments: tuple[Term, ...]) -> list[Term]:
        """Return the term of each branch of a conditional."""
        pairs = zip(instruction.called, arguments, strict=True)
        return [self.values(branch, (argument,))[branch.root] for branch, argument in pairs]

    def _chosen(self, which: Term, cases: list[Term], first: int = 0) -> Term:
        """Return the selection of one of several cases, as XLA writes it."""
        if len(cases) == 1:
            return cases[0]
        half = len(cases) // 2
        limit = self.terms.number(which.element_type, np.array(first + half, ELEMENT_TYPES[which.element_type].dtype))
        is_below = folded(self.terms, "compare", "pred", "LT", (which, limit))
        both = self._chosen(which, cases[:half], first), self._chosen(which, cases[half:], first + half)
        return self.named(folded(self.terms, "select", both[0].element_type, (), (is_below, *both)))

    def _moved(self, instruction: Instruction, operand: Term) -> Term | None:
        """Return the term of a table or a uniform array that an instruction only moves; None for other instructions."""
        if operand.opcode == "constant" and instruction.opcode in _MOVING:
            return operand
        if operand.opcode in (_COLUMN, "iota") and _is_one_axis_repeated(instruction):
            return operand
        if instruction.opcode == "dynamic-slice" and instruction.shape == instruction.operands[0].shape:
            return operand  # only one start is possible
        if operand.opcode != "table" or instruction.opcode not in _MOVING:
            return None
        axis, numbers = operand.table
        if instruction.opcode == "slice":
            part = instruction["slice"][axis]
            return self.terms.table(operand.element_type, numbers[part.start : part.limit : part.stride], axis)
        place = _place_of(instruction, axis)
        return None if place is None else self.terms.table(operand.element_type, numbers, place)

    def _joined(self, instruction: Instruction, operands: tuple[Term, ...]) -> Term | None:
        """Return the term of adjacent conditions along the first or last axis, one position each, or of a table of
        numbers along an axis; or None.
        """
        (axis,), kind = instruction["dimensions"], element_type(instruction.shape)
        shape = instruction.array_shape
        if all(term.opcode == "constant" for term in operands) and shape.dimensions[axis] == len(operands):
            values = [value for term in operands if (value := term.value) is not None]
            is_table = len(values) <= _MOST_NUMBERS and values[0].dtype.kind in "fc"
            return self.terms.table(kind, np.array(values), axis) if is_table else None
        each = [part for term in operands for part in _each_column(term)]
        if kind != "pred" or len(each) != shape.dimensions[axis] or axis not in (0, shape.rank - 1):
            return None
        is_of_number = self.of_scalars or shape.rank == 1
        return self.terms.make(_COLUMNS, kind, None if is_of_number else axis == 0, tuple(each))

    def _is_along_columns(self, instruction: Instruction, operand: Term) -> bool:
        """Return whether an instruction reduces adjacent conditions, or numbers made from them, or counts them
        cumulatively.
        """
        while operand.opcode in ("convert", "reduce-window"):
            operand = operand.operands[0]
        if operand.opcode != _COLUMNS:
            return False
        shape = instruction.operands[0].array_shape
        axes = {None: (0, shape.rank - 1), True: (0,), False: (shape.rank - 1,)}[operand.key]
        if instruction.opcode == "reduce":
            return any(instruction["dimensions"] == (axis,) for axis in axes)
        if instruction.opcode != "reduce-window" or len(instruction.operands) != 2:
            return False
        return any(tuple(instruction["window"]) == _behind(shape.dimensions, axis) for axis in axes)

    def _combiner(self, computation: Computation) -> Term:
        """Return the term of a reduction's combiner; equal combiners are one term."""
        if computation not in self._bodies:
            kinds = [element_type(parameter.shape) for parameter in computation.parameters]
            given = [self.terms.make("parameter", kind, number) for number, kind in enumerate(kinds)]
            self._bodies[computation] = self.values(computation, given)[computation.root]
        return self._bodies[computation]

    def _is_seen_through(self, computation: Computation) -> bool:
        count, depth = self._sizes[computation]
        return count <= _MOST_INSTRUCTIONS and depth <= _MOST_DEPTH

    def _body(self, computation: Computation) -> Term:
        """Return the term of a loop's computation. Equal ones are one term, since they depend only on the carries."""
        if computation not in self._bodies:
            self._bodies[computation] = self.values(computation, (self.terms.carried,))[computation.root]
        return self._bodies[computation]


def element_type(shape: Shape) -> str:
    """Return the name of an array's element type, "" for other shapes."""
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
    if instruction.opcode != "constant" or not isinstance(shape, ArrayShape) or shape.rank != 1:
        return False
    return shape.size == 1 or (shape.size <= _MOST_NUMBERS and instruction["literal"].dtype.kind in "fc")


def _is_part(instruction: Instruction, operands: tuple[Term, ...]) -> bool:
    """Return whether an instruction is a small array of numbers with several axes, or only moves a part of one."""
    if instruction.opcode == "constant":
        shape = instruction.shape
        return isinstance(shape, ArrayShape) and shape.rank > 1 and shape.size <= _MOST_NUMBERS
    return instruction.opcode in _PARTS and bool(operands) and operands[0].opcode == _PART


def _is_column(instruction: Instruction) -> bool:
    """Return whether an instruction adds a unit axis: the last one, as for the indices of a gather, or the first."""
    if instruction.opcode != "reshape" or not isinstance(instruction.operands[0].shape, ArrayShape):
        return False
    dimensions = instruction.operands[0].array_shape.dimensions
    return instruction.array_shape.dimensions in ((*dimensions, 1), (1, *dimensions))


def _each_column(term: Term) -> tuple[Term, ...]:
    """Return the adjacent terms in a term, none for other terms."""
    if term.opcode in (_COLUMN, _COLUMNS):
        return term.operands
    return (term,) if term.opcode == "constant" else ()


def _is_one_axis_repeated(instruction: Instruction) -> bool:
    """Return whether a broadcast puts the only axis of its operand first or last."""
    if instruction.opcode != "broadcast":
        return False
    return instruction["dimensions"] in ((0,), (instruction.array_shape.rank - 1,))


def _behind(dimensions: tuple[int, ...], axis: int) -> Window:
    """Return the window of each element along an axis and all elements before it."""
    count = dimensions[axis]
    running = WindowDimension(count, padding_low=count - 1)
    return tuple(running if k == axis else WindowDimension(1) for k in range(len(dimensions)))


def _place_of(instruction: Instruction, axis: int) -> int | None:
    """Return the position of an axis of more than one element in the result of an instruction; None if a reshape may
    split it.
    """
    if instruction.opcode == "broadcast":
        return int(instruction["dimensions"][axis])
    if instruction.opcode == "transpose":
        return int(instruction["dimensions"].index(axis))
    old, new = instruction.operands[0].array_shape.dimensions, instruction.array_shape.dimensions
    places = [k for k, size in enumerate(new) if size != 1]
    is_same = [size for size in old if size != 1] == [new[k] for k in places]
    return places[sum(size != 1 for size in old[:axis])] if is_same else None


def _is_once(instruction: Instruction, start: Term) -> bool:
    """Return whether a loop counts from 0 to 1 and ends."""
    test, step = instruction["condition"].root, instruction["body"].root
    if test.opcode != "compare" or test["direction"] != "LT" or "tuple" not in (start.opcode, step.opcode):
        return False
    counter, limit = test.operands
    if counter.opcode != "get-tuple-element" or not _is_number(limit, 1) or step.opcode != start.opcode:
        return False
    if counter.operands[0].opcode != "parameter":  # it is in a nested tuple
        return False
    first, after = start.operands[counter["index"]], step.operands[counter["index"]]
    is_counted = after.opcode == "add" and _is_number(after.operands[1], 1)
    before = after.operands[0] if is_counted else after
    is_same = before.opcode == counter.opcode and before["index"] == counter["index"]
    return is_counted and is_same and first.value is not None and not first.value.any()


def _is_number(instruction: Instruction, number: int) -> bool:
    return instruction.opcode == "constant" and instruction["literal"].shape == () and instruction["literal"] == number


def _each_of(index: Term) -> Term:
    """Return the term of the elements of a column; a number is its own."""
    return index.operands[0] if index.opcode == _COLUMN else index


def _is_lookup(instruction: Instruction, operands: tuple[Term, ...]) -> bool:
    """Return whether a gather looks up a number in a table for each element."""
    if instruction.opcode != "gather" or operands[0].opcode != "table":
        return False
    rank, indices = instruction.array_shape.rank, instruction.operands[1].array_shape
    is_each = indices.dimensions == (*instruction.array_shape.dimensions, 1) and instruction["index_vector_dim"] == rank
    return is_each and (operands[1].opcode == _COLUMN or not rank) and instruction.operands[0].array_shape.rank == 1


def _is_barrier(instruction: Instruction) -> bool:
    return instruction.opcode == "opt-barrier" and isinstance(instruction.shape, ArrayShape)


def _is_elementwise(instruction: Instruction) -> bool:
    """Return whether each element depends only on the elements at its position, and all sizes are static."""
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
    """Return whether a reduction is the ``any`` of all elements."""
    is_one = instruction.opcode == "reduce" and len(instruction.operands) == 2
    if not is_one or not isinstance(instruction.shape, ArrayShape) or instruction.shape.rank:
        return False
    init, root = instruction.operands[1], instruction["to_apply"].root
    parameters = set(instruction["to_apply"].parameters)
    is_or = root.opcode == "or" and set(root.operands) == parameters
    is_false = init.opcode == "constant" and not init["literal"].any()
    return is_or and is_false and element_type(instruction.shape) == "pred"


def _key(instruction: Instruction) -> Any:
    """Return the key of an element-wise operation's attributes. The type of a comparison follows from its operands,
    except for the total order.
    """
    known = OPCODES[instruction.opcode].attributes
    if instruction.opcode == "compare" and instruction.attributes.get("type") != "TOTALORDER":
        return instruction["direction"]
    return described({name: value for name, value in instruction.attributes.items() if name in known})
