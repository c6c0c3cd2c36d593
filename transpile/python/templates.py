"""Texts with holes, parsed once: a macro is rendered over names of holes, and operands are filled in afterwards.

Python's grammar says where each hole is, and so whether an operand needs parentheses there, and which precedence the
whole has; macros need not know either.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache

from .grammar import ANYWHERE, ATOM, POWER, Place, level, places

_MARK = "ʘ"  # a letter that occurs in no name and no string of emitted text
_HOLE = re.compile(rf"{_MARK}(\d+)_(\d+)_")
_SIMPLE = r"(?:\d[\w.]*(?:(?<=e)-\d+)?|[^\W\d][\w.]*)"  # a number, or a name with attributes
_SIMPLE_BASE = re.compile(_SIMPLE)
_SIMPLE_EXPONENT = re.compile(rf"[-+~]?{_SIMPLE}(?![\w.(\[])")


def hole(depth: int, number: int) -> str:
    """Return the name of the hole for an operand of a macro, by the nesting depth of macro calls and the operand's
    number.
    """
    return f"{_MARK}{depth}_{number}_"


class Rendered(str):
    """A text with its provenance: the template, the depth of the macro call, and the operands."""

    template: Template | None = None
    depth: int = 0
    operands: Sequence[Expression] = ()


class Statement(Rendered):
    """The final text of a statement, or of the head of a compound statement."""


class Expression(Rendered):
    """The final text of an expression, and its precedence level."""

    level: int

    def __new__(cls, text: str, level: int = ATOM) -> Expression:
        made = super().__new__(cls, text)
        made.level = level
        return made

    @property
    def text(self) -> str:
        """The text in the module."""
        return str(self)


class Hole(Expression):
    """The placeholder that a macro gets for an operand: a name that is later replaced by the operand's text."""

    operand: Expression

    @classmethod
    def at(cls, depth: int, number: int, operand: Expression) -> Hole:
        """Return the placeholder for an operand."""
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
        """The expression, or else the statement. The head of a compound statement has a body that does nothing;
        ``elif`` becomes an ``if``, and ``else`` a ``pass``.
        """
        try:
            return ast.parse(self.text, mode="eval").body
        except SyntaxError:
            return _whole_statement(self.text) or _continued(self.text)

    @cached_property
    def continues(self) -> bool:
        """Whether the text is ``elif`` or ``else``, which continue the statement before them."""
        return self.row_of_tree > 1

    @property
    def is_else(self) -> bool:
        """Whether the text is ``else``."""
        return self.continues and isinstance(self.tree, ast.Pass)

    @cached_property
    def row_of_tree(self) -> int:
        """The line number of the first row in the syntax tree."""
        is_continued = isinstance(self.tree, ast.If | ast.Pass) and _whole_statement(self.text) is None
        return 2 if is_continued else 1

    @cached_property
    def names(self) -> list[ast.Name]:
        """The name nodes, including holes, in the order of the text."""
        names = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name)]
        return sorted(names, key=lambda node: (node.lineno, node.col_offset))

    @cached_property
    def level(self) -> int:
        """The precedence level of the text as an expression."""
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
        """The depth, the number and the place of each hole in the text."""
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
        """Return the text with operands in the holes of a depth, in parentheses where their level requires it."""
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
        """Whether the text is a power of two holes, whose layout in black depends on the operands."""
        return isinstance(self.tree, ast.BinOp) and self.level == POWER and self.pieces == ["", " ** ", ""]


@lru_cache(maxsize=1 << 10)
def template(text: str) -> Template:
    """Return the template of a text."""
    return Template(text)


def template_of(text: str) -> Template:
    """Return the template that a text was made of, else a template of the text itself."""
    return (isinstance(text, Rendered) and text.template) or template(text)


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
    """Return ``x**2``, with spaces if an operand is more than a name or a number."""
    is_simple = _SIMPLE_BASE.fullmatch(base) and _SIMPLE_EXPONENT.match(exponent)
    return f"{base}**{exponent}" if is_simple else f"{base} ** {exponent}"
