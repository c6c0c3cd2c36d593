"""Rewriting of functions by spans: statements move to other depths and some parts are replaced; the rest keeps its
author's text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from .grammar import ANYWHERE, ATOM, Place, places
from .templates import template

_INDENT = "    "
_REMEMBERED = 1 << 12  # facts about trees of the prelude, which are the same for every module


class Printer:
    """A rewriter of the statements of a function, whose ``source`` is plain ASCII.

    Subclasses give the replacement of a statement (:meth:`statement`) and of an expression (:meth:`exchanged`).
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    # -- what subclasses decide

    def statement(self, node: ast.stmt, depth: int) -> list[str] | None:
        """Return the lines that replace a statement; None to rewrite only its parts."""
        return None

    def exchanged(self, node: ast.expr) -> str | None:
        """Return the text that replaces an expression; None to rewrite only its parts."""
        return None

    # -- statements

    def block(self, body: list[ast.stmt], depth: int, above: int) -> list[str]:
        """Return the lines of statements. Comments between line ``above`` and a statement belong to that statement."""
        lines: list[str] = []
        for node in body:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            comments = [line.strip() for line in self.lines[above : first - 1]]
            written = self.statement(node, depth)
            if written is None:
                written = self.plain(node, depth)
            if written and written[0].lstrip().startswith("elif "):  # the `if` before it has been folded away
                written[0] = written[0].replace("elif ", "if ", 1)
            if written:
                lines += [_INDENT * depth + line if line else "" for line in comments]
            lines += written
            above = node.end_lineno or node.lineno
        while lines and not lines[0]:
            lines.pop(0)
        return lines

    def plain(self, node: ast.stmt, depth: int) -> list[str]:
        """Return the lines of a statement with only its parts rewritten."""
        parts = list(_bodies(node))
        if not parts:
            return self.moved(self.text(node) + self.comment_behind(node), node, depth)
        lines: list[str] = []
        start = self.offset(node.lineno, node.col_offset)
        for body in parts:
            if self.source.startswith("elif ", self.offset(body[0].lineno, body[0].col_offset)):
                return lines + self.chained(body[0], depth)
            first = min([body[0].lineno, *(d.lineno for d in getattr(body[0], "decorator_list", []))])
            end = self._end_of_head(start, first)
            head = self.moved(self.between(node, start, end), node, depth)
            inner = self.inner(body, depth + 1, self.source.count("\n", 0, end) + 1)
            if inner or body is parts[0] or not isinstance(node, ast.If | ast.For | ast.While):
                lines += [*head, *(inner or [_INDENT * (depth + 1) + "pass"])]
            last = body[-1].end_lineno or 0
            start = self.starts[last] if last < len(self.starts) else len(self.source)
            start += len(self.source[start:]) - len(self.source[start:].lstrip())
        return lines

    def inner(self, body: list[ast.stmt], depth: int, above: int) -> list[str]:
        """Return the lines of a block nested in a statement."""
        return self.block(body, depth, above)

    def chained(self, node: ast.stmt, depth: int) -> list[str]:
        """Return the lines of an ``elif``."""
        written = self.statement(node, depth)
        if written is None:
            return self.plain(node, depth)
        if not written or written[0].startswith(_INDENT * depth + "elif "):
            return written
        return [_INDENT * depth + "else:", *(_INDENT + line if line else "" for line in written)]

    def _end_of_head(self, start: int, first: int) -> int:
        """Return the end of a compound statement's head, including the comment behind its colon. The body begins in
        line ``first``.
        """
        end = self.starts[first - 1] - 1
        lines = self.source[start:end].split("\n")
        while len(lines) > 1 and (not lines[-1].strip() or lines[-1].strip().startswith("#")):
            lines.pop()
        return start + len("\n".join(lines))

    def moved(self, text: str, node: ast.stmt, depth: int) -> list[str]:
        """Return the lines of a statement's text at another depth."""
        by = depth * len(_INDENT) - node.col_offset
        first, *rest = text.split("\n")
        lines = [_INDENT * depth + first]
        for line in rest:
            lines.append(" " * by + line if by >= 0 else line.removeprefix(" " * -by))
        return lines

    def returned(self, node: ast.Assign, depth: int) -> list[str]:
        """Return the lines of a return statement for the value of an assignment."""
        return self.moved(f"return {self.text(node.value)}", node, depth)

    def comment_behind(self, node: ast.stmt) -> str:
        """Return the comment at the end of a statement's last line, or ""."""
        rest = self.lines[(node.end_lineno or 1) - 1][node.end_col_offset :]
        return rest.rstrip() if rest.lstrip().startswith("#") else ""

    # -- expressions

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def text(self, node: ast.AST) -> str:
        """Return the text of a node with its parts rewritten."""
        if isinstance(node, ast.expr):
            exchanged = self.exchanged(node)
            if exchanged is not None:
                return exchanged
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return self.between(node, start, end)

    def between(self, node: ast.AST, start: int, end: int) -> str:
        """Return the source from ``start`` to ``end`` with the parts of ``node`` in that span rewritten."""
        found, at = [], start
        for part in _placed_parts(node):
            first, last = self.extent(part)
            if first < at or last > end:
                continue
            exchanged = self.exchanged(part)
            text = self.between(part, first, last) if exchanged is None else exchanged
            if text != self.source[first:last]:
                is_enclosed = (
                    not isinstance(node, ast.Call) and self.source[first - 1 : last + 1 : last - first + 1] == "()"
                )
                is_loose = exchanged is not None and level_of(text) not in _places(node).get(part, ANYWHERE)
                is_enclosed = is_enclosed and exchanged is not None
                first, last = (first - 1, last + 1) if is_enclosed else (first, last)
                text = f"({text})" if is_loose else text
            found += [self.source[at:first], text]
            at = last
        return "".join([*found, self.source[at:end]])

    def extent(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )


@lru_cache(_REMEMBERED)
def level_of(text: str) -> int:
    """Return the precedence level of an expression."""
    with suppress(SyntaxError):  # a starred expression, an assignment within an expression
        return template(text).level
    return ATOM


@lru_cache(_REMEMBERED)
def _places(node: ast.AST) -> dict[ast.AST, Place]:
    return dict(places(node))


@lru_cache(_REMEMBERED)
def _placed_parts(node: ast.AST) -> tuple[ast.expr, ...]:
    """Return the outermost expressions below a node, in the order of the text; none within f-strings."""
    if isinstance(node, ast.JoinedStr):
        return ()
    found: list[ast.expr] = []
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.expr):
            found.append(part)
        elif not isinstance(part, ast.stmt):
            waiting.extend(ast.iter_child_nodes(part))
    return tuple(sorted(found, key=lambda part: (part.lineno, part.col_offset)))


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement, in the order of the text."""
    for name in ("body", "handlers", "orelse", "finalbody"):
        part = getattr(node, name, [])
        if name == "handlers":
            yield from (handler.body for handler in part)
        elif part:
            yield part


def head(function: ast.FunctionDef, lost: frozenset[str], required: frozenset[str] = frozenset()) -> str:
    """Return ``def`` with the remaining parameters, on one line. Callers always pass ``required`` parameters, never as
    None.
    """
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    kept = [(part, default) for part, default in zip(positional, defaults, strict=True) if part.arg not in lost]
    words = [
        (part, default)
        for part, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if part.arg not in lost
    ]
    for k, (part, default) in enumerate(kept):
        if part.arg in required and all(default is None for _, default in kept[:k]):
            kept[k] = (_never_none(part), None)
        elif part.arg in required:
            kept[k] = (_never_none(part), default)
    words = [(_never_none(part), None) if part.arg in required else (part, default) for part, default in words]
    texts = [_declared(part, default) for part, default in kept]
    if arguments.vararg is not None:
        texts.append(f"*{_declared(arguments.vararg, None)}")
    elif words:
        texts.append("*")
    texts += [_declared(part, default) for part, default in words]
    if arguments.kwarg is not None:
        texts.append(f"**{_declared(arguments.kwarg, None)}")
    result = f" -> {_unparsed(function.returns)}" if function.returns is not None else ""
    return f"def {function.name}({', '.join(texts)}){result}:"


def _declared(part: ast.arg, default: ast.expr | None) -> str:
    """Return a parameter with its annotation and default."""
    kind = f": {_unparsed(part.annotation)}" if part.annotation is not None else ""
    between = " = " if kind else "="
    return part.arg + kind + (f"{between}{_unparsed(default)}" if default is not None else "")


def _unparsed(node: ast.expr) -> str:
    """Return the text of an expression with double-quoted strings, as black writes them."""
    return ast.unparse(node).replace("'", '"')


def _never_none(part: ast.arg) -> ast.arg:
    """Return a parameter without ``| None`` in its annotation."""
    kind = part.annotation
    is_optional = isinstance(kind, ast.BinOp) and isinstance(kind.op, ast.BitOr) and ast.unparse(kind.right) == "None"
    return ast.arg(part.arg, kind.left if is_optional else kind)  # type: ignore[union-attr]
