"""Dead code elimination after folding: unread values, self-assignments, and second names of arguments."""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache

from ....python.modules import statement_of
from ....python.printer import Printer
from .lattice import parameters_of

_CHANGING = frozenset(("append", "extend", "insert", "pop", "sort", "update"))  # methods with side effects


@lru_cache(1 << 10)
def cleaned(source: str) -> str:
    """Return the text of a function without dead code, repeated until nothing changes."""
    while True:
        function = statement_of(source)
        assert isinstance(function, ast.FunctionDef)
        head = source.split("\n")[: function.body[0].lineno - 1]
        lines = _Cleaner(source, function).block(function.body, 1, function.body[0].lineno - 1)
        text = "\n".join([*head, *lines])
        if text == source:
            return text
        source = text


class _Cleaner(Printer):
    def __init__(self, source: str, function: ast.FunctionDef) -> None:
        super().__init__(source)
        names = [part for part in ast.walk(function) if isinstance(part, ast.Name)]
        self.read = {part.id for part in names if isinstance(part.ctx, ast.Load)}
        self.written = Counter(part.id for part in names if not isinstance(part.ctx, ast.Load))
        self.written.update(part.arg for part in ast.walk(function) if isinstance(part, ast.arg))
        outermost = [part for node in function.body if isinstance(node, ast.Assign) for part in ast.walk(node)]
        fixed = {part.id for part in outermost if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
        fixed |= {part.arg for part in parameters_of(function)}
        fixed = {name for name in fixed if self.written[name] == 1}  # never reassigned
        self.same = {  # second names
            target.id: value.id
            for node in function.body
            if isinstance(node, ast.Assign)
            for target, value in _pairs(node)
            if isinstance(target, ast.Name) and isinstance(value, ast.Name)
            if target.id in fixed and value.id in fixed
        }
        *_, before, last = [None, *function.body]
        self.result = self._result(before, last)

    def statement(self, node: ast.stmt, depth: int) -> list[str] | None:
        if self.result is not None and node is self.result:
            return self.returned(self.result, depth)
        if self.result is not None and isinstance(node, ast.Return) and depth == 1:
            return []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return [] if self._is_needless(node.target, node.value) else None
        if not isinstance(node, ast.Assign):
            return None
        pairs = _pairs(node)
        if all(self._is_unread(target) for target in node.targets) and not any(map(_has_effect, ast.walk(node.value))):
            return []
        left = [(target, value) for target, value in pairs if not self._is_needless(target, value)]
        if len(left) == len(pairs):
            return None
        sides = [", ".join(map(self.text, side)) for side in zip(*left, strict=True)]
        return self.moved(" = ".join(sides) + self.comment_behind(node), node, depth) if left else []

    def exchanged(self, node: ast.expr) -> str | None:
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        return self.same.get(node.id) if is_read else None  # type: ignore[attr-defined]

    def _result(self, node: ast.stmt | None, last: ast.stmt | None) -> ast.Assign | None:
        """Return the assignment of a name that only the last line reads, to return it, or None.

        A name that was assigned before keeps the type that was inferred there, which the value alone may not have.
        """
        if not isinstance(node, ast.Assign) or not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
            return None
        is_called = isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
        is_typed = is_called or isinstance(node.value, ast.Name) or self.written[last.value.id] == 1
        return node if is_typed and [ast.unparse(target) for target in node.targets] == [last.value.id] else None

    def _is_needless(self, target: ast.expr, value: ast.expr) -> bool:
        """Return whether an assignment is to the same name, a second name, or an unread name without side effects."""
        if not isinstance(target, ast.Name):
            return False
        if (isinstance(value, ast.Name) and value.id == target.id) or target.id in self.same:
            return True
        return self._is_unread(target) and not any(map(_has_effect, ast.walk(value)))

    def _is_unread(self, target: ast.expr) -> bool:
        """Return whether a target consists of unread names."""
        if isinstance(target, ast.Starred):
            return self._is_unread(target.value)
        if isinstance(target, ast.Tuple):
            return all(map(self._is_unread, target.elts))
        return isinstance(target, ast.Name) and target.id not in self.read


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Return the targets of an assignment with their values; an empty list if these do not correspond."""
    if len(node.targets) != 1:
        return []
    (target,), value = node.targets, node.value
    are_several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    if not are_several:
        return [(target, value)]
    starred = [part for part in (*target.elts, *value.elts) if isinstance(part, ast.Starred)]  # type: ignore[attr-defined]
    return [] if starred else list(zip(target.elts, value.elts, strict=True))  # type: ignore[attr-defined]


def _has_effect(part: ast.AST) -> bool:
    if isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
        return True
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _CHANGING
