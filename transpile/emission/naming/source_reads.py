"""The author's names of values by the expressions that read them: ``tprev`` for the operand of ``state.tprev < t1``.

The origin of a value gives no name if a loop carries it, or if its operations were merged with others. The author still
names it where an operator reads it. An array that is a literal in the source has the name that it is assigned to.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.node import Node
from ...hlo.element_types import from_dtype
from ...hlo.ir import HloModule, Instruction
from ...hlo.stack_frames import CallChains
from .identifiers import identifier
from .scopes import is_gradient

Place = tuple[str, int, int, str]  # file, line from 1, column from 0, opcode

# The opcodes of operators, which distinguish expressions that start at the same place.
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Mod: "remainder",
    ast.Pow: "power",
    ast.MatMult: "dot",
}
SEEN_THROUGH = frozenset(("bitcast", "broadcast", "convert", "reshape"))  # inserted by JAX between a value and its use
_DERIVED = "jvp("  # in the op_name of operations from differentiation
_BATCHED = "vmap(jvp("  # in that of all columns of a Jacobian
COMMUTATIVE = frozenset(("add", "multiply"))
NO_VALUES = frozenset("T at dtype mT shape".split())  # attributes that do not name values
MOST_FILES = 32  # parsed files that are cached for the next program
_SHORTEST, _SHORTEST_ELSEWHERE = 2, 3  # characters of an informative name, in its function and outside
_MAKERS = frozenset(("array", "asarray"))
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SEQUENCES = frozenset((ast.List, ast.Tuple))  # never multiplied: the result may be of any size


class ReadNames:
    """The names by which the expressions in a module's Python files read values."""

    def __init__(self, module: HloModule, chains: CallChains, trees: Mapping[str, ast.Module]) -> None:
        self._chains = chains
        self._operands: dict[Place, tuple[ast.expr, ast.expr] | None] = {}
        for file_name, tree in trees.items():
            self._operands.update(_operands(file_name, tree))
        self._differentiated = frozenset(_first_of_each(module)) if trees else frozenset()

    def of(self, graph: Graph, node: Node, users: Sequence[Node]) -> str:
        """Return the name by which expressions read a value, or an empty string unless there is exactly one."""
        made = {instruction for instruction in graph.results.get(node, ()) if not is_gradient(instruction)}
        own = {self._function(instruction) for instruction in made}
        found: set[str] = set()
        for user in users:
            for instruction in graph.results.get(user, ()):
                shortest = _SHORTEST if self._function(instruction) in own else _SHORTEST_ELSEWHERE
                found.update(name for name in self._names(instruction, made) if len(name) >= shortest)
        return found.pop() if len(found) == 1 else ""

    def _names(self, instruction: Instruction, made: set[Instruction]) -> Iterator[str]:
        """Yield the names that the expression of an instruction has for those of its operands that are in ``made``."""
        chain = self._chains.of(instruction)
        if not chain or not self._is_primal(instruction):
            return
        frame = self._chains.frames[chain[-1] - 1]
        read = self._operands.get((*frame.place, instruction.opcode))
        given = [tuple(_seen_through(operand)) for operand in instruction.operands]
        if read is None or len(given) != len(read):
            return
        if instruction.opcode in COMMUTATIVE and given[1][-1].opcode == "constant" and not _is_number(read[1]):
            read = read[::-1]  # JAX puts numbers last
            if not _is_number(read[1]):
                return
        for expression, values in zip(read, given, strict=True):
            if not made.isdisjoint(values):
                yield from _name(expression)

    def _is_primal(self, instruction: Instruction) -> bool:
        """Return whether an instruction computes the author's expression, not a derivative."""
        is_differentiated = instruction.metadata is not None and _DERIVED in instruction.metadata.op_name
        return not is_differentiated or instruction in self._differentiated

    def _function(self, instruction: Instruction) -> tuple[int, str]:
        """Return the call that an instruction is in: the frame around it and its function."""
        chain = self._chains.of(instruction)
        if not chain:
            return -1, ""
        return chain[-2] if len(chain) > 1 else 0, self._chains.frames[chain[-1] - 1].function_name


def _first_of_each(module: HloModule) -> Iterator[Instruction]:
    """Yield the primal instruction of each differentiated operator: the first of those that it becomes."""
    for computation in module.computations:
        seen: set[tuple[int, str]] = set()
        for instruction in computation.instructions:
            metadata = instruction.metadata
            if metadata is None or _DERIVED not in metadata.op_name or is_gradient(instruction):
                continue
            key = metadata.stack_frame_id, instruction.opcode
            if key not in seen and _BATCHED not in metadata.op_name:
                yield instruction
            seen.add(key)


def _seen_through(value: Instruction) -> Iterator[Instruction]:
    yield value
    while value.opcode in SEEN_THROUGH:
        value = value.operands[0]
        yield value


@lru_cache(MOST_FILES)
def _operands(file_name: str, tree: ast.Module) -> dict[Place, tuple[ast.expr, ast.expr] | None]:
    """Return the operands of operators by place and opcode; None if several of a kind begin there."""
    found: dict[Place, tuple[ast.expr, ast.expr] | None] = {}
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left, operator, right) | ast.AugAssign(left, operator, right):
                opcode = OPERATORS.get(type(operator))
            case ast.Compare(left, [_], [right]):
                opcode = "compare"
            case _:
                continue
        if opcode is not None:
            place = file_name, node.lineno, node.col_offset, opcode
            found[place] = None if place in found else (left, right)
    return found


def _name(expression: ast.expr) -> Iterator[str]:
    """Yield the name of a variable or of an attribute."""
    if isinstance(expression, ast.Name):
        yield expression.id
    elif isinstance(expression, ast.Attribute) and expression.attr not in NO_VALUES:
        yield expression.attr


def _is_number(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant)


class SourceTables:
    """The names of array literals in the Python files of a module; ``trees`` has the files by name."""

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self._trees = trees

    def of(self, array: np.ndarray) -> str:
        """Return the name of all literals that are equal to an array; empty unless there is exactly one."""
        literals = (literal for name, tree in self._trees.items() for literal in _literals(name, tree))
        same = {name for name, value in literals if value.shape == array.shape and _is_equal(value, array)}
        word = same.pop() if len(same) == 1 else ""
        return identifier(word)


@lru_cache(MOST_FILES)
def _literals(file_name: str, tree: ast.Module) -> list[tuple[str, np.ndarray]]:
    """Return the arrays of numbers that are assigned to names in a file, with the names."""
    return list(_found(tree))


def _found(tree: ast.Module) -> Iterator[tuple[str, np.ndarray]]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(attr=maker), [ast.List() as rows, *_])) if (
                maker in _MAKERS
            ):
                try:
                    value = np.array(_number(rows))
                except (ArithmeticError, TypeError, ValueError, RecursionError):
                    continue  # not an array of numbers
                yield name, value


def _number(node: ast.expr) -> Any:
    """Return the value of an expression of numbers. Raises ValueError for any other expression."""
    match node:
        case ast.List(parts) | ast.Tuple(parts):
            return list(map(_number, parts))
        case ast.BinOp(left, sign, right) if type(sign) in _ARITHMETIC and not {type(left), type(right)} & _SEQUENCES:
            return _ARITHMETIC[type(sign)](_number(left), _number(right))
        case ast.UnaryOp(ast.USub(), operand):
            return -_number(operand)
        case ast.Constant(value) if isinstance(value, int | float | complex):
            return value
    raise ValueError("no number")


def _is_equal(literal: np.ndarray, array: np.ndarray) -> bool:
    """Return whether an array has the numbers of a literal, rounded to its type if that has fractions."""
    if literal.dtype.kind not in "biufc":
        return False
    element = from_dtype(array.dtype)
    if not element.is_floating and not element.is_complex:
        return np.array_equal(literal, array.astype(np.int64))
    if literal.dtype.kind == "c" and not element.is_complex:
        return False
    with np.errstate(all="ignore"):
        return bool(np.array_equal(literal.astype(array.dtype), array))
