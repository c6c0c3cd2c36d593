"""Texts of modules and definitions with their syntax trees: parsed once and cached, edited by spans of nodes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate

Edit = tuple[int, int, str]  # begin and end in the bytes of a text, and the replacement

_REMEMBERED = 16
_TREES = 1 << 8  # of some 50 KB each
_DEFINITIONS = 1 << 10


class ModuleText:
    """The text of a module and its syntax tree, whose columns count bytes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.bytes = text.encode()
        lines = self.bytes.split(b"\n")
        self.lines = [line.decode() for line in lines]
        self.starts = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def extent(self, node: ast.AST) -> tuple[int, int]:
        """Return the begin, including decorators, and the end of a node."""
        first = min([node, *getattr(node, "decorator_list", ())], key=lambda part: part.lineno)
        begin = self.starts[first.lineno - 1] + first.col_offset - (first is not node)
        return begin, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    @property
    def functions(self) -> list[ast.FunctionDef]:
        """The functions at the top level."""
        return [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]

    def of(self, node: ast.AST) -> str:
        """Return the text of a node."""
        begin, end = self.extent(node)
        return self.bytes[begin:end].decode()

    def comments(self, node: ast.AST) -> list[int]:
        """Return the indices of the lines inside a node that are comments."""
        inside = range(node.lineno, node.end_lineno)  # type: ignore[attr-defined]
        return [at for at in inside if self.lines[at].lstrip().startswith("#")]

    def edited(self, edits: Iterable[Edit], begin: int = 0, end: int | None = None) -> str:
        """Return the text, or a span of it, after the edits inside the span."""
        found, end = [], len(self.bytes) if end is None else end
        own = (edit for edit in edits if begin <= edit[0] and edit[1] <= end)
        for first, last, text in sorted(own, key=lambda edit: edit[:2]):
            found += [self.bytes[begin:first].decode(), text]
            begin = last
        return "".join([*found, self.bytes[begin:end].decode()])


@lru_cache(_REMEMBERED)
def parsed(text: str) -> ModuleText:
    """Return the text of a module with its syntax tree."""
    return ModuleText(text)


@lru_cache(_TREES)
def statement_of(text: str) -> ast.stmt:
    """Return the only statement of a text. The tree is cached: do not change it."""
    (statement,) = ast.parse(text).body
    return statement


@lru_cache(_DEFINITIONS)
def mentioned(text: str) -> Counter[str]:
    """Return the number of mentions of each name, ``x``, and each dotted name, ``x.y``, in the statements of a text."""
    return Counter(name for node in ast.walk(ast.parse(text)) if (name := _dotted(node)))


def _dotted(node: ast.AST) -> str:
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value, attribute):
            before = _dotted(value)
            return before and f"{before}.{attribute}"
    return ""
