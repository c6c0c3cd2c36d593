"""Texts with holes, parsed once: what a macro writes of its operands' names, and what their own texts make of it.

A macro writes an expression or a statement over the names of holes. Python's grammar says where a hole is and so which
operands need parentheses there, and how tightly the whole binds; no macro knows of either.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache

from .grammar import ANYWHERE, ATOM, POWER, Place, level, places

_MARK = "ʘ"  # a letter that is in no name and no string of emitted text
_HOLE = re.compile(rf"{_MARK}(\d+)_(\d+)_")
_SIMPLE = r"(?:\d[\w.]*(?:(?<=e)-\d+)?|[^\W\d][\w.]*)"  # a number, or a name with attributes
_SIMPLE_BASE = re.compile(_SIMPLE)
_SIMPLE_EXPONENT = re.compile(rf"[-+~]?{_SIMPLE}(?![\w.(\[])")


def hole(depth: int, number: int) -> str:
    """Return the name of an operand of a macro that is called while so many others are run."""
    return f"{_MARK}{depth}_{number}_"


class Made(str):
    """A text, and what it is made of: a template of a macro that was called at some depth, and its operands."""

    template: Template | None = None
    depth: int = 0
    operands: Sequence[Expression] = ()


class Statement(Made):
    """The final text of a statement; of a compound one that of its head."""


class Expression(Made):
    """The final text of an expression, and how tightly it binds."""

    level: int

    def __new__(cls, text: str, level: int = ATOM) -> Expression:
        made = super().__new__(cls, text)
        made.level = level
        return made

    @property
    def text(self) -> str:
        """The text that stands in the module."""
        return str(self)


class Hole(Expression):
    """What a macro is given for an operand: a name, for which the operand's text is written afterwards."""

    operand: Expression

    @classmethod
    def at(cls, depth: int, number: int, operand: Expression) -> Hole:
        """Return what the macro is given for an operand."""
        made = str.__new__(cls, hole(depth, number))
        made.level, made.operand = ATOM, operand
        return made

    @property
    def text(self) -> str:
        return self.operand.text


class Template:
    """A text with holes and its syntax tree."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def tree(self) -> ast.AST:
        """The expression, or else the statement; the head of a compound one has a body that does nothing, and what
        continues one is an ``if``, or a ``pass`` for ``else``.
        """
        try:
            return ast.parse(self.text, mode="eval").body
        except SyntaxError:
            return _whole_statement(self.text) or _continued(self.text)

    @cached_property
    def continues(self) -> bool:
        """Whether it is ``elif`` or ``else``, which continue the statement before them."""
        return self.row_of_tree > 1

    @property
    def is_else(self) -> bool:
        """Whether it is ``else``, which is no statement of its own."""
        return self.continues and isinstance(self.tree, ast.Pass)

    @cached_property
    def row_of_tree(self) -> int:
        """The number that the syntax tree has for the first row."""
        is_continued = isinstance(self.tree, ast.If | ast.Pass) and _whole_statement(self.text) is None
        return 2 if is_continued else 1

    @cached_property
    def names(self) -> list[ast.Name]:
        """Its names, those of holes among them, in the order of the text."""
        names = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name)]
        return sorted(names, key=lambda node: (node.lineno, node.col_offset))

    @cached_property
    def level(self) -> int:
        """How tightly the text binds as an expression."""
        tree = self.tree
        if not isinstance(tree, ast.expr) or ast.get_source_segment(self.text, tree) != self.text:
            return ATOM  # in parentheses
        is_tuple = isinstance(tree, ast.Tuple) and self.text.startswith("(")
        return ATOM if is_tuple else level(tree)

    @cached_property
    def pieces(self) -> list[str]:
        """The text between the holes."""
        return _HOLE.split(self.text)[::3]

    @cached_property
    def holes(self) -> list[tuple[int, int, Place]]:
        """Depth and number of each hole in the text, and its place."""
        found = {}
        for parent in ast.walk(self.tree):
            found.update({id(node): place for node, place in places(parent)})
        names = [node for node in self.names if _HOLE.fullmatch(node.id)]
        given = [(int(match[1]), int(match[2])) for match in _HOLE.finditer(self.text)]
        assert [hole(depth, number) for depth, number in given] == [node.id for node in names], self.text
        return [(*hole, found.get(id(node), ANYWHERE)) for hole, node in zip(given, names, strict=True)]

    def expression(self, depth: int, operands: Sequence[Expression]) -> Expression:
        """Return the expression with operands in the holes of a depth."""
        filled = self.filled(depth, operands)
        if isinstance(filled, Expression):
            return filled
        made = Expression(filled, self.level)
        made.template, made.depth, made.operands = self, depth, operands
        return made

    def statement(self, depth: int, operands: Sequence[Expression]) -> Statement:
        """Return the statement with operands in the holes of a depth."""
        made = Statement(self.filled(depth, operands))
        made.template, made.depth, made.operands = self, depth, operands
        return made

    def filled(self, depth: int, operands: Sequence[Expression]) -> str:
        """The text with operands in the holes of a depth."""
        if len(self.pieces) == 1:
            return self.text
        if self.text == hole(depth, 0):
            return operands[0]
        texts = [self.pieces[0]]
        for (own, number, place), piece in zip(self.holes, self.pieces[1:], strict=True):
            if own != depth:
                texts += [hole(own, number), piece]
                continue
            operand = operands[number]
            texts += [operand if operand.level in place else f"({operand})", piece]
        if self.is_power:
            return power_text(texts[1], texts[3])
        return "".join(texts)

    @cached_property
    def is_power(self) -> bool:
        """Whether it is a power of two holes, where black's layout depends on the operands."""
        return isinstance(self.tree, ast.BinOp) and self.level == POWER and self.pieces == ["", " ** ", ""]


@lru_cache(maxsize=1 << 10)
def template(text: str) -> Template:
    """Return the template of a text."""
    return Template(text)


def template_of(text: str) -> Template:
    """Return the template that a text was made of, or of the text itself."""
    return (isinstance(text, Made) and text.template) or template(text)


def _whole_statement(text: str) -> ast.stmt | None:
    for behind in ("", "\n pass"):
        with suppress(SyntaxError):
            (statement,) = ast.parse(text + behind).body
            return statement
    return None


def _continued(text: str) -> ast.stmt:
    (statement,) = ast.parse(f"if _: pass\n{text}\n pass").body
    assert isinstance(statement, ast.If)
    return statement.orelse[0]


def power_text(base: str, exponent: str) -> str:
    """Return ``x**2``; with spaces where an operand is more than a name or a number."""
    is_simple = _SIMPLE_BASE.fullmatch(base) and _SIMPLE_EXPONENT.match(exponent)
    return f"{base}**{exponent}" if is_simple else f"{base} ** {exponent}"
