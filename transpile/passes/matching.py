"""Patterns over nodes of the array dialect, written as Python expressions.

``multiply(x, (r := divide(1, s)))`` matches a product one of whose factors divides 1. A call is an operation (``-`` in
its name is ``_``), a bare name is any node, the same node wherever it stands, and in capitals any literal;
``name := pattern`` names a part, a number is a literal of that value, and a keyword is a parameter: a value, or a name
for it. ``prelude.erf(x)`` is a call of the prelude, ``np.hypot(x, y)`` one of the array library. The operands of
commutative operations match in either order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from ..array.node import Node, literal_value
from ..hlo.opcodes import ELEMENTWISE

Bindings = dict[str, Any]  # what the names of a pattern stand for: nodes, and values of parameters

_NUMBERS = {"inf": np.inf, "nan": np.nan}


class Pattern:
    """One pattern. ``opcode`` is the operation at its root."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree = ast.parse(text, mode="eval").body
        root = self._tree.value if isinstance(self._tree, ast.NamedExpr) else self._tree
        assert isinstance(root, ast.Call), f"a pattern is an operation: {text}"
        self.opcode = operation(root)[0]
        self.operands = root.args

    def match(self, node: Node) -> Bindings | None:
        """What the names stand for in the first way in which the pattern matches the node, or None."""
        return next(_matches(self._tree, node, {}), None) if node.opcode == self.opcode else None


def match_operands(text: str, operands: Sequence[Node]) -> Bindings | None:
    """What the names of a pattern stand for in an operation that is not made yet, by its operands."""
    trees = pattern(text).operands
    return next(_matches_all(trees, operands, {}), None) if len(trees) == len(operands) else None


@cache
def pattern(text: str) -> Pattern:
    """The pattern of a text, parsed once."""
    return Pattern(text)


def _matches(tree: ast.expr, node: Node, bound: Bindings) -> Iterator[Bindings]:
    """Every way to match, given what is bound already."""
    if isinstance(tree, ast.NamedExpr):
        for found in _matches(tree.value, node, bound):
            yield from _bind(tree.target.id, node, found)
    elif isinstance(tree, ast.Name) and tree.id not in _NUMBERS:
        if node.is_literal or not tree.id.isupper():
            yield from _bind(tree.id, node, bound)
    elif isinstance(tree, ast.Call):
        yield from _matches_operation(tree, node, bound)
    elif is_number(node, _number(tree)):
        yield bound


def _bind(name: str, value: Any, bound: Bindings) -> Iterator[Bindings]:
    if name not in bound:
        yield {**bound, name: value}
    elif bound[name] is value or (not isinstance(value, Node) and bound[name] == value):
        yield bound


def operation(tree: ast.Call) -> tuple[str, str | None]:
    """(opcode, function that is called by name) of a call."""
    if isinstance(tree.func, ast.Attribute):
        owner, _, function = ast.unparse(tree.func).partition(".")
        return {"prelude": "prelude", "np": "library"}[owner], function
    assert isinstance(tree.func, ast.Name)
    return _opcode(tree.func.id), None


@cache
def _opcode(name: str) -> str:
    """Operations of HLO are spelt with hyphens, those of the array dialect alone with underscores."""
    plain = name.rstrip("_")  # and_, or_, not_ are words of Python
    hyphened = plain.replace("_", "-")
    return hyphened if hyphened in ELEMENTWISE else plain


def _matches_operation(tree: ast.Call, node: Node, bound: Bindings) -> Iterator[Bindings]:
    opcode, function = operation(tree)
    if node.opcode != opcode or len(node.operands) != len(tree.args):
        return
    if function is not None and node.parameters["function"] != function:
        return
    orders: Sequence[Sequence[Node]] = [node.operands]
    if node.operation.is_commutative:
        orders = list(permutations(node.operands))
    for operands in orders:
        for found in _matches_all(tree.args, operands, bound):
            yield from _matches_parameters(tree.keywords, node, found)


def _matches_all(trees: Sequence[ast.expr], nodes: Sequence[Node], bound: Bindings) -> Iterator[Bindings]:
    if not trees:
        yield bound
        return
    for found in _matches(trees[0], nodes[0], bound):
        yield from _matches_all(trees[1:], nodes[1:], found)


def _matches_parameters(keywords: Sequence[ast.keyword], node: Node, bound: Bindings) -> Iterator[Bindings]:
    """``direction="LT"``, or a name that the value is bound to; a parameter that is not there is None."""
    for keyword in keywords:
        value = node.parameters.get(keyword.arg or "")
        if isinstance(keyword.value, ast.Name):
            bound = next(_bind(keyword.value.id, value, bound), {})
            if not bound:
                return
        elif value != ast.literal_eval(keyword.value):
            return
    yield bound


def _number(tree: ast.expr) -> float | bool:
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_number(tree.operand)
    if isinstance(tree, ast.Name):
        return _NUMBERS[tree.id]
    assert isinstance(tree, ast.Constant) and isinstance(tree.value, int | float | bool)
    return tree.value


def is_number(node: Node, number: float | bool) -> bool:
    """The node is a literal: the number as its element type holds it."""
    if not node.is_literal or node.type.is_complex:
        return False
    value = literal_value(node)
    if value.dtype.kind in "iu" and number % 1 != 0:
        return False  # nor NaN, nor infinity
    wanted = np.asarray(number).astype(value.dtype)
    return bool(value == wanted) or bool(value != value and wanted != wanted)
