"""The types that type checkers infer from the text, so that no name is first a number and then an array.

NumPy annotates most results as Any, and arguments are Any, too. Typed numbers, new arrays and the results of operators
on these are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

from ...array.node import Node, literal_value
from ...array.program import Branch, Carry, Loop
from ...hlo.element_types import F64, PRED, ElementType

IsOperator = Callable[[Node], bool]  # whether a value is written with a Python operator


class KnownType(NamedTuple):
    """Whether a value is a number, and its element type and rank if known."""

    is_number: bool
    element_type: ElementType | None = None
    ndim: int | None = None
    is_made: bool = False  # by ``np.zeros(..)``, whose type follows its variable
    is_declared: bool = False  # a flag or a number of changing type: its assignment has an annotation
    is_alone: bool = False  # its inferred type fits no other value
    is_open: bool = False  # its inferred type is a union with Any: its variable takes all values


Types = Set[KnownType | None]  # of the values that a name stands for; None is Any


def agree(first: Types, second: Types) -> bool:
    """Return whether one name may stand for the values of two names, in any order."""
    return may_follow(first, second) and may_follow(second, first)


def may_follow(before: Types, after: Types) -> bool:
    """Return whether a name that stands for values of some types may be assigned values of others."""
    return all(_may_follow(one, next_one) for one in before for next_one in after)


def is_flag(initial: Node) -> bool:
    """Return whether a loop begins with ``np.bool_(True)``, which type checkers take for a literal type."""
    return initial.is_literal and initial.type is PRED


def becomes_anything(carry: Carry, known: Mapping[Node, KnownType]) -> bool:
    """Return whether a carry's next value has another inferred type: an array after a number, 64 bits after fewer."""
    following = known.get(carry.following) if carry.following is not None else None
    if following is None or carry.initial.is_literal:
        return following is not None and not following.is_number
    initial = known.get(carry.initial)
    return following.element_type is F64 and initial is not None and initial.element_type not in (None, F64)


def known_types(nodes: Sequence[Node], is_operator: IsOperator) -> dict[Node, KnownType]:
    """Return the known types of values; operands come before their users, and bodies before loops."""
    known: dict[Node, KnownType] = {}
    before = -1
    while len(known) > before:  # carried values of an inner loop are known an iteration later
        before = len(known)
        for node in nodes:
            if node.opcode == "loop":
                _carried(node, known)
            elif not node.results and not node.is_python_int:
                found = _known_type(node, known, is_operator)
                known |= {} if found is None else {node: found}
    reshapes = [node for node in nodes if node.opcode == "reshape" and node.ndim and node not in known]
    return known | {node: _of_reshape(node, is_operator) for node in reshapes}


def _may_follow(before: KnownType | None, after: KnownType | None) -> bool:
    if after is not None and after.is_declared:
        return False
    if before is None or after is None or before.is_open:
        return True
    if before.is_number is not after.is_number or before.is_alone or after.is_alone:
        return False
    if before.is_number and before.element_type is PRED:
        return before.is_declared and after.element_type is PRED  # undeclared, its type is that of True, False or both
    ranks = () if after.is_made else (before.ndim, after.ndim)
    return all(None in pair or len(set(pair)) < 2 for pair in ((before.element_type, after.element_type), ranks))


def _carried(node: Node, known: dict[Node, KnownType]) -> None:
    """Add the types of a loop's carried values: those of their initial values."""
    loop: Loop = node.parameters["loop"]
    for carry in loop.carries:
        flag = KnownType(True, PRED, 0, is_declared=True) if is_flag(carry.initial) else None
        found = flag or known.get(carry.initial)
        if found is not None and becomes_anything(carry, known):
            known[carry.parameter] = found._replace(is_declared=True)
        elif found is not None:
            known[carry.parameter] = found._replace(is_made=False)


def _known_type(node: Node, known: Mapping[Node, KnownType], is_operator: IsOperator) -> KnownType | None:
    if node.opcode == "item" and node.operands[0].opcode == "loop":
        loop: Loop = node.operands[0].parameters["loop"]
        return known.get(loop.carries[node.parameters["index"]].parameter)
    if node.opcode == "item" and node.operands[0].opcode == "conditional":
        branches: tuple[Branch, ...] = node.operands[0].parameters["branches"]
        return _of_one([branch.results[node.parameters["index"]] for branch in branches], known)
    if node.is_literal:
        return KnownType(True, node.type, 0)
    if not node.ndim and node.opcode == "select":
        found = _of_one(node.operands[1:], known)
        are_written = all(operand.is_literal for operand in node.operands[1:])  # in places as Python ints
        return found and found._replace(is_alone=found.is_alone or are_written)
    if node.operation.is_elementwise and node.opcode != "select":
        return _of_elementwise(node, known, is_operator)
    if node.operation.is_reduction and not node.ndim:
        given = known.get(node.operands[0])
        return KnownType(True, node.type) if given is not None and given.element_type is not None else None
    if node.opcode == "matmul" and all(operand in known for operand in node.operands):
        return KnownType(False, is_alone=True)  # even for a scalar result
    if not node.ndim:
        return None
    if node.operation.is_generated:
        return KnownType(False, node.type, node.ndim, is_made=True)
    is_typed = node.opcode == "stack" and any(operand.is_literal for operand in node.operands)
    if node.opcode == "array" or is_typed:
        return KnownType(False, node.type)
    if node.opcode in ("select", "stack", "concatenate", "prelude"):
        return KnownType(False)
    is_whole = node.operation.changes or node.opcode in ("copy", "transpose", "reshape")
    given = known.get(node.operands[0]) if is_whole or node.operation.is_view else None
    return given and KnownType(False, node.type, node.ndim if is_whole else None)


def _of_reshape(node: Node, is_operator: IsOperator) -> KnownType:
    """Return the type of a reshape of an array of unknown type, whose rank is known nevertheless.

    A function of NumPy gives an array, anything else, as an argument, an array or Any.
    """
    operand = node.operands[0]
    is_any = operand.operation.is_view or operand.opcode in ("parameter", "item", "prelude", "call", "kernel", "matmul")
    is_open = is_any or (operand.operation.is_elementwise and is_operator(operand))
    return KnownType(False, None, node.ndim, is_open=is_open)


def _of_one(values: Sequence[Node], known: Mapping[Node, KnownType]) -> KnownType | None:
    """Return the type of one of several values, as far as some of their types are known."""
    found = [known[value]._replace(is_made=False) for value in values if value in known]
    return max(found, key=lambda value: (value.is_alone, not value.is_number), default=None)


def _of_elementwise(node: Node, known: Mapping[Node, KnownType], is_operator: IsOperator) -> KnownType | None:
    """Return the type of an element-wise operation, or None.

    Numbers give numbers, arrays give arrays. Functions of arrays give arrays of any type, functions of numbers give
    Any. NumPy's annotations give 64 bits to ``1 / x`` and ``0.5 - x`` of any type, and to some complex ones.
    """
    operands = [known.get(operand) for operand in node.operands if not operand.is_python_int]
    types = [operand for operand in operands if operand is not None]
    if len(types) < len(operands):
        is_array = not is_operator(node) and any(not operand.is_number for operand in types)
        return KnownType(False) if is_array else None
    is_number = all(operand.is_number for operand in types)
    is_typed = all(operand.element_type is not None for operand in types)
    if is_typed and (node.opcode == "convert" or is_operator(node)):
        return KnownType(is_number, node.type, is_alone=node.type.is_complex)
    is_inverse = node.opcode == "divide" and node.operands[0].is_literal
    is_wide = is_inverse or (is_operator(node) and any(_is_wide(operand, known) for operand in node.operands))
    return None if is_number else KnownType(False, F64 if is_wide else None)


def _is_wide(operand: Node, known: Mapping[Node, KnownType]) -> bool:
    """Return whether NumPy's annotations give 64 bits to a value combined with an array of any type: a Python float."""
    if operand.is_literal:
        return operand.type.is_floating and not float(literal_value(operand)).is_integer()
    return operand in known and known[operand].element_type is F64
