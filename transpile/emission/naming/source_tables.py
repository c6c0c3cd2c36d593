"""The author's names of arrays that are literals in the source: ``signs`` for ``signs = jnp.array([1, -1])``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ...hlo.element_types import from_dtype
from .identifiers import identifier
from .source_reads import MOST_FILES

_MAKERS = frozenset(("array", "asarray"))
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SEQUENCES = frozenset((ast.List, ast.Tuple))  # never multiplied: the result may be of any size


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
