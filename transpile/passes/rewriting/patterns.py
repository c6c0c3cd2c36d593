"""Patterns over nodes of the array dialect, written as Python expressions.

``multiply(x, (r := divide(1, s)))`` matches a product one of whose factors divides 1. A call is an operation (``-`` in
its name is ``_``). A bare name is any node, the same one wherever it occurs; a name in capitals is any literal. ``name
:= pattern`` names a part, a number is a literal of that value, and a keyword is a parameter: a value, or a name for it.
``prelude.erf(x)`` is a call of the prelude, ``np.hypot(x, y)`` one of the array library; ``~mean(x)`` is a mean, or a
view of all of it. The operands of commutative operations match in either order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import permutations
from typing import Any, Protocol

import numpy as np

from ...array.node import Node, literal_value
from ...array.traversal import unviewed
from ...hlo.opcodes import ELEMENTWISE

Bindings = dict[str, Any]  # the nodes and parameter values of a pattern's names

_NUMBERS = {"inf": np.inf, "nan": np.nan}


class Pattern:
    """One pattern. ``opcode`` is that of its root, ``inner`` are the opcodes that its operands must have."""

    def __init__(self, text: str) -> None:
        self.text = text
        tree = ast.parse(text, mode="eval").body
        name = tree.target.id if isinstance(tree, ast.NamedExpr) else None
        root = tree.value if isinstance(tree, ast.NamedExpr) else tree
        assert isinstance(root, ast.Call), f"a pattern is an operation: {text}"
        self._root = _Operation(root, name)
        self.opcode = self._root.opcode
        self.inner = frozenset(part.opcode for part in self._root.parts if part.opcode is not None)

    def match(self, node: Node) -> Bindings | None:
        """Return the bindings of the first way in which the pattern matches the node, or None."""
        return next(self._root.matches(node, {}), None) if self._root.may_match(node) else None

    def match_operands(self, operands: Sequence[Node]) -> Bindings | None:
        """Return the bindings for an operation that is not made yet, from its operands; or None."""
        parts = self._root.parts
        return next(_matches_all(parts, operands, {}), None) if len(parts) == len(operands) else None


def match_operands(text: str, operands: Sequence[Node]) -> Bindings | None:
    """Return the bindings of a pattern for an operation that is not made yet, from its operands; or None."""
    return pattern(text).match_operands(operands)


@cache
def pattern(text: str) -> Pattern:
    """Return the pattern of a text, parsed once."""
    return Pattern(text)


class _Part(Protocol):
    """A part of a pattern. ``opcode`` is that of a matching node, None if any matches."""

    @property
    def opcode(self) -> str | None: ...

    def matches(self, node: Node, bound: Bindings) -> Iterator[Bindings]:
        """Yield the bindings of every way to match, given earlier bindings."""
        ...


class _Name:
    """Any node, the same wherever the name occurs; in capitals any literal."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.opcode = "literal" if name.isupper() else None

    def matches(self, node: Node, bound: Bindings) -> Iterator[Bindings]:
        if self.opcode is None or node.is_literal:
            yield from _bind(self.name, node, bound)


class _Number:
    """A literal of the value."""

    opcode = "literal"

    def __init__(self, tree: ast.expr) -> None:
        self.value = _number(tree)

    def matches(self, node: Node, bound: Bindings) -> Iterator[Bindings]:
        if is_number(node, self.value):
            yield bound


class _Unviewed:
    """An operation, or a view of its whole result."""

    opcode = None

    def __init__(self, part: _Part) -> None:
        self.part = part

    def matches(self, node: Node, bound: Bindings) -> Iterator[Bindings]:
        return self.part.matches(unviewed(node), bound)


class _Operation:
    """An operation on parts with some parameters, and optionally a name."""

    def __init__(self, tree: ast.Call, name: str | None = None) -> None:
        self.opcode, self.function = operation(tree)
        self.name = name
        self.parts = [_part(argument) for argument in tree.args]
        self.keywords = [(keyword.arg or "", _parameter(keyword.value)) for keyword in tree.keywords]
        self._places = [k for k, part in enumerate(self.parts) if part.opcode is not None]
        self._opcodes = [self.parts[k].opcode for k in self._places]

    def may_match(self, node: Node) -> bool:
        """Return whether the node and its operands have the right opcodes: a cheap test that most nodes fail."""
        if node.opcode != self.opcode or len(node.operands) != len(self.parts):
            return False
        return any(map(self._are_right, self._orders(node)))

    def _orders(self, node: Node) -> Iterable[tuple[Node, ...]]:
        return permutations(node.operands) if node.operation.is_commutative else (node.operands,)

    def _are_right(self, operands: tuple[Node, ...]) -> bool:
        return [operands[k].opcode for k in self._places] == self._opcodes

    def matches(self, node: Node, bound: Bindings) -> Iterator[Bindings]:
        if node.opcode != self.opcode or len(node.operands) != len(self.parts):
            return
        if self.function is not None and node.parameters["function"] != self.function:
            return
        for operands in filter(self._are_right, self._orders(node)):
            for inner in _matches_all(self.parts, operands, bound):
                found = self._with_parameters(node, inner)
                if found is not None and self.name is None:
                    yield found
                elif found is not None and self.name is not None:
                    yield from _bind(self.name, node, found)

    def _with_parameters(self, node: Node, bound: Bindings) -> Bindings | None:
        """Return the bindings with those of parameters, or None: a value as in ``direction="LT"``, or a name that is
        bound. A missing parameter is None.
        """
        for keyword, wanted in self.keywords:
            value = node.parameters.get(keyword)
            if not isinstance(wanted, _Name):
                if value != wanted:
                    return None
            elif (named := next(_bind(wanted.name, value, bound), None)) is not None:
                bound = named
            else:
                return None
        return bound


def _part(tree: ast.expr) -> _Part:
    if isinstance(tree, ast.NamedExpr):
        assert isinstance(tree.value, ast.Call), f"what has a name of its own is an operation: {ast.unparse(tree)}"
        return _Operation(tree.value, tree.target.id)
    if isinstance(tree, ast.Call):
        return _Operation(tree)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Invert):
        return _Unviewed(_part(tree.operand))
    return _Name(tree.id) if isinstance(tree, ast.Name) and tree.id not in _NUMBERS else _Number(tree)


def _parameter(tree: ast.expr) -> Any:
    return _Name(tree.id) if isinstance(tree, ast.Name) else ast.literal_eval(tree)


def _matches_all(parts: Sequence[_Part], nodes: Sequence[Node], bound: Bindings) -> Iterator[Bindings]:
    if not parts:
        yield bound
        return
    for found in parts[0].matches(nodes[0], bound):
        yield from _matches_all(parts[1:], nodes[1:], found)


def _bind(name: str, value: Any, bound: Bindings) -> Iterator[Bindings]:
    if name not in bound:
        yield {**bound, name: value}
    elif bound[name] is value or (not isinstance(value, Node) and bound[name] == value):
        yield bound


def operation(tree: ast.Call) -> tuple[str, str | None]:
    """Return (opcode, function that is called by name) of a call."""
    if isinstance(tree.func, ast.Attribute):
        owner, _, function = ast.unparse(tree.func).partition(".")
        return {"prelude": "prelude", "np": "library"}[owner], function
    assert isinstance(tree.func, ast.Name)
    return _opcode(tree.func.id), None


@cache
def _opcode(name: str) -> str:
    """Return the opcode of a name. Opcodes of HLO have hyphens, those that only the array dialect has have
    underscores.
    """
    plain = name.rstrip("_")  # and_, or_, not_ are words of Python
    hyphened = plain.replace("_", "-")
    return hyphened if hyphened in ELEMENTWISE else plain


def _number(tree: ast.expr) -> float | bool:
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_number(tree.operand)
    if isinstance(tree, ast.Name):
        return _NUMBERS[tree.id]
    assert isinstance(tree, ast.Constant) and isinstance(tree.value, int | float | bool)
    return tree.value


def is_zero(node: Node) -> bool:
    """Return whether a node is the literal 0, of either sign, in any type."""
    return node.is_literal and not literal_value(node)


def is_zeros(node: Node) -> bool:
    """Return whether a node is an array filled with the literal 0."""
    return node.operation.is_filled and is_zero(node.operands[0])


def is_number(node: Node, number: float | bool) -> bool:
    """Return whether a node is a literal of the number in its element type; for NaN, with the same sign."""
    if not node.is_literal or node.type.is_complex:
        return False
    value = literal_value(node)
    if value.dtype.kind in "iu" and number % 1 != 0:
        return False  # nor NaN, nor infinity
    wanted = np.asarray(number).astype(value.dtype)
    return bool(value == wanted) or bool(value != value and value.tobytes() == wanted.tobytes())
