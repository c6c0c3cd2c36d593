"""Folding of one prelude function by facts about its calls: branches that are never taken are removed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

import numpy as np

from ....python.grammar import NOT
from ....python.printer import Printer, level_of
from .evaluation import Evaluator
from .lattice import (
    Array,
    Call,
    Callback,
    Fact,
    Known,
    assigned_names,
    bind,
    joined,
    opened_names,
    parameters_of,
    truth,
)

Names = dict[str, Fact]


class Folder(Printer):
    """The folding of a function, given facts about its parameters, to the lines that are left.

    ``handed`` are the parameters that the module passes, directly or through other functions: facts about arguments
    that follow from these count as derived. ``dropped`` has the text that replaces a parameter wherever it is read;
    ``lost`` has the parameters that other functions have no longer. ``verdicts`` has the outcomes of tests that the
    facts leave open but that are the same in every call that reaches them. ``calls`` collects the calls of other
    prelude functions, ``escaped`` the functions that are passed as values, and ``blocked`` the parameters that cannot
    be dropped because they are assigned.
    """

    def __init__(
        self,
        source: str,
        function: ast.FunctionDef,
        facts: Mapping[str, Fact],
        handed: frozenset[str],
        evaluator: Evaluator,
        others: Mapping[str, ast.FunctionDef],
        dropped: Mapping[str, str],
        lost: Mapping[str, frozenset[str]],
        namespace: str,
        verdicts: Mapping[ast.If, bool],
    ) -> None:
        super().__init__(source)
        self.function, self.evaluator, self.others = function, evaluator, others
        self.handed, self.dropped, self.lost, self.namespace = handed, dropped, lost, namespace
        self.verdicts = verdicts
        self.outcomes: dict[ast.If, set[bool | None]] = {}  # of the tests reached so far
        self.calls: list[tuple[str, Call | None]] = []
        self.escaped: set[str] = set()
        self.blocked: set[str] = set()
        self.changed = assigned_names(function.body)
        self.opened = opened_names(function.body)
        self.names: Names = {part.arg: facts.get(part.arg) for part in parameters_of(function)}
        for part in (function.args.vararg, function.args.kwarg):
            if part is not None:
                self.names[part.arg] = None
        self.intact = set(dropped)  # the dropped parameters that are not reassigned yet
        self.is_over = False  # whether the code is unreachable, after a return or raise
        self.forks: list[tuple[Names, set[str], list[tuple[Names, set[str]]]] | None] = []

    def body(self) -> list[str]:
        """Return the lines of the function's body, without its docstring."""
        first = self.function.body[0]
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        above = first.end_lineno if is_text else first.lineno - 1
        return self.block(self.function.body[is_text:], 1, above or 0)

    # -- statements

    def statement(self, node: ast.stmt, depth: int) -> list[str] | None:
        if self.is_over:
            return []
        rule = _STATEMENTS.get(type(node))
        return None if rule is None else rule(self, node, depth)

    def assigned(self, target: ast.expr, fact: Fact) -> None:
        """Bind the names of a target to a fact."""
        bind(target, fact, self.names)
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.intact.discard(part.id)
                held = self.names.get(part.id)
                if isinstance(held, Known) and isinstance(held.value, list) and part.id in self.opened:
                    self.names[part.id] = None

    def forget(self, node: ast.stmt) -> None:
        """Drop the facts about names that a statement may assign; facts about arrays survive changes of elements."""
        names = assigned_names([node])
        self.blocked |= names & self.intact
        self.intact -= names
        self.names.update(dict.fromkeys(names))
        for name in opened_names([node]):
            if not isinstance(self.names.get(name), Array):
                self.names[name] = None

    def forked(self, node: ast.stmt, depth: int, may_skip: bool) -> list[str]:
        """Return the lines of a statement of which any one block may run, or none if it ``may_skip``."""
        self.forks.append((dict(self.names), set(self.intact), []))
        lines = self.plain(node, depth)
        names, intact, ends = self.forks.pop() or ({}, set(), [])
        if may_skip:
            ends.append((names, intact))
        if not ends:
            self.is_over = True
            return lines
        self.names, self.intact = dict(ends[0][0]), set(ends[0][1])
        for names, intact in ends[1:]:
            self.names = {k: joined(fact, names[k]) for k, fact in self.names.items() if k in names}
            self.blocked |= self.intact ^ intact
            self.intact &= intact
        self.is_over = False
        return lines

    def sequential(self, node: ast.stmt, depth: int) -> list[str]:
        """Return the lines of a statement whose block always runs."""
        self.forks.append(None)
        lines = self.plain(node, depth)
        self.forks.pop()
        return lines

    def inner(self, body: list[ast.stmt], depth: int, above: int) -> list[str]:
        return self._on_a_branch(lambda: self.block(body, depth, above))

    def chained(self, node: ast.stmt, depth: int) -> list[str]:
        return self._on_a_branch(lambda: super(Folder, self).chained(node, depth))

    def _on_a_branch(self, write: Callable[[], list[str]]) -> list[str]:
        fork = self.forks[-1]
        if fork is None:
            return write()
        names, intact, ends = fork
        self.names, self.intact, self.is_over = dict(names), set(intact), False
        lines = write()
        if not self.is_over:
            ends.append((self.names, self.intact))
        self.is_over = False
        return lines

    # -- expressions

    def exchanged(self, node: ast.expr) -> str | None:
        rule = _EXPRESSIONS.get(type(node))
        return None if rule is None else rule(self, node)

    def plain_text(self, node: ast.expr) -> str:
        """Return an expression with its parts exchanged."""
        return self.between(node, *self.extent(node))

    def known(self, node: ast.expr) -> Fact:
        return self.evaluator.of(node, self.names)

    def outcome(self, node: ast.If) -> bool | None:
        """Return whether the test of a statement holds, or None if unknown."""
        known = truth(self.known(node.test))
        self.outcomes.setdefault(node, set()).add(known)
        return self.verdicts.get(node) if known is None else known


# -- rules for statements


def _if(folder: Folder, node: ast.If, depth: int) -> list[str]:
    known = folder.outcome(node)
    if known is None:
        return folder.forked(node, depth, may_skip=not node.orelse)
    body = node.body if known else node.orelse
    if not body:
        return []
    above = body[0].lineno - 1
    while folder.lines[above - 1].lstrip().startswith("#"):
        above -= 1
    return folder.block(body, depth, above)


def _loop(folder: Folder, node: ast.For | ast.While, depth: int) -> list[str]:
    folder.forget(node)
    lines = folder.forked(node, depth, may_skip=True)
    folder.forget(node)
    return lines


def _try(folder: Folder, node: ast.Try, depth: int) -> list[str]:
    folder.forget(node)
    return folder.forked(node, depth, may_skip=False)


def _with(folder: Folder, node: ast.With, depth: int) -> list[str]:
    for item in node.items:
        if item.optional_vars is not None:
            folder.assigned(item.optional_vars, None)
    return folder.sequential(node, depth)


def _define(folder: Folder, node: ast.FunctionDef, depth: int) -> list[str]:
    """Fold a nested function, in which only outer names that are never assigned are known."""
    names, intact = folder.names, folder.intact
    own = assigned_names(node.body) | {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    fixed = {part.arg for part in parameters_of(folder.function)} - folder.changed - own
    folder.blocked |= intact - fixed - own
    folder.names = {name: fact for name, fact in names.items() if name in fixed} | dict.fromkeys(own)
    folder.intact = intact & fixed
    lines = folder.sequential(node, depth)
    folder.names, folder.intact, folder.is_over = names | {node.name: Callback()}, intact, False
    return lines


def _assign(folder: Folder, node: ast.Assign, depth: int) -> list[str]:
    lines = folder.plain(node, depth)
    fact = folder.known(node.value)
    for target in node.targets:
        folder.assigned(target, fact)
    return lines


def _annotated(folder: Folder, node: ast.AnnAssign, depth: int) -> list[str]:
    lines = folder.plain(node, depth)
    folder.assigned(node.target, None if node.value is None else folder.known(node.value))
    return lines


def _augmented(folder: Folder, node: ast.AugAssign, depth: int) -> list[str]:
    lines = folder.plain(node, depth)
    if isinstance(node.target, ast.Name):
        held = folder.names.get(node.target.id)
        if node.target.id in folder.intact:
            folder.blocked.add(node.target.id)
        folder.assigned(node.target, held if isinstance(held, Array) and held.shape else None)
    return lines


def _expression(folder: Folder, node: ast.Expr, depth: int) -> list[str]:
    lines = folder.plain(node, depth)
    for name in opened_names([node]):
        if not isinstance(folder.names.get(name), Array):
            folder.names[name] = None
    return lines


def _leave(folder: Folder, node: ast.stmt, depth: int) -> list[str]:
    lines = folder.plain(node, depth)
    folder.is_over = True
    return lines


_STATEMENTS: dict[type, Callable[..., list[str]]] = {
    ast.If: _if,
    ast.For: _loop,
    ast.While: _loop,
    ast.Try: _try,
    ast.With: _with,
    ast.FunctionDef: _define,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _leave,
    ast.Raise: _leave,
    ast.Continue: _leave,
    ast.Break: _leave,
}

# -- rules for expressions


def _name(folder: Folder, node: ast.Name) -> str | None:
    if not isinstance(node.ctx, ast.Load):
        return None
    if node.id in folder.others and node.id not in folder.names:
        folder.escaped.add(node.id)
    return folder.dropped[node.id] if node.id in folder.intact else None


def _either(folder: Folder, node: ast.IfExp) -> str | None:
    known = truth(folder.known(node.test))
    return None if known is None else folder.text(node.body if known else node.orelse)


def _some(folder: Folder, node: ast.BoolOp) -> str | None:
    """Return ``a or b`` without known false operands, up to a known true one; ``and`` the other way round.

    None if nothing changes.
    """
    ends_with = isinstance(node.op, ast.Or)
    left: list[ast.expr] = []
    for value in node.values:
        known = truth(folder.known(value))
        if known is not (not ends_with) or value is node.values[-1]:
            left.append(value)
        if known is ends_with:
            break
    if len(left) > 1 and truth(folder.known(left[-1])) is (not ends_with) and all(map(_is_bool, left)):
        left.pop()
    if len(left) == len(node.values):
        return None
    word = " or " if ends_with else " and "
    parts = [folder.text(part) for part in left]
    return parts[0] if len(parts) == 1 else word.join(f"({part})" if level_of(part) < NOT else part for part in parts)


def _is_bool(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _negation(folder: Folder, node: ast.UnaryOp) -> str | None:
    known = truth(folder.known(node)) if isinstance(node.op, ast.Not) else None
    return None if known is None else repr(known)


def _call(folder: Folder, node: ast.Call) -> str | None:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr == "astype" and _keeps_dtype(folder, node, function.value):
        array = folder.text(function.value)
        return array if node.keywords else f"{array}.copy()"
    value = folder.known(node)
    if isinstance(value, Known) and isinstance(value.value, np.dtype) and value.value.isbuiltin != 2:
        of_library = isinstance(function, ast.Attribute) and function.attr == "result_type"
        if of_library or isinstance(function, ast.Name):
            return f'{folder.namespace}.dtype("{value.value.name}")'
    if not isinstance(function, ast.Name) or function.id not in folder.others or function.id in folder.names:
        return None
    name = function.id
    folder.calls.append((name, _given(folder, node)))
    lost = folder.lost.get(name, frozenset())
    if not lost:
        end = folder.offset(function.end_lineno or 0, function.end_col_offset or 0)
        return name + folder.between(node, end, folder.extent(node)[1])
    names = [part.arg for part in parameters_of(folder.others[name])]
    parts = [folder.text(part) for part, own in zip(node.args, names, strict=False) if own not in lost]
    parts += [f"{word.arg}={folder.text(word.value)}" for word in node.keywords if word.arg not in lost]
    return f"{name}({', '.join(parts)})"


def _keeps_dtype(folder: Folder, node: ast.Call, array: ast.expr) -> bool:
    """Return whether ``astype`` keeps the dtype: it is the array itself with ``copy=False``, else a copy."""
    if len(node.args) != 1 or [word.arg for word in node.keywords] not in ([], ["copy"]):
        return False
    if node.keywords and folder.known(node.keywords[0].value) != Known(False):
        return False
    own, wanted = folder.known(ast.Attribute(array, "dtype", ast.Load())), folder.known(node.args[0])
    is_known = isinstance(own, Known) and isinstance(wanted, Known) and isinstance(wanted.value, np.dtype | type)
    return is_known and np.dtype(wanted.value) == own.value  # type: ignore[union-attr]


def _given(folder: Folder, node: ast.Call) -> Call | None:
    """Return the facts about a call's arguments, or None if these do not correspond to parameters."""
    if any(isinstance(part, ast.Starred) for part in node.args) or any(word.arg is None for word in node.keywords):
        return None
    named = {word.arg: word.value for word in node.keywords if word.arg is not None}
    others = {
        name: fact for name, fact in folder.names.items() if not isinstance(fact, Array) and name not in folder.handed
    }
    parts: list[tuple[int | str, ast.expr]] = [*enumerate(node.args), *named.items()]
    derived = {place for place, part in parts if folder.known(part) != folder.evaluator.of(part, others)}
    keywords = {name: folder.known(value) for name, value in named.items()}
    return Call(tuple(map(folder.known, node.args)), keywords, frozenset(derived))


def _scope(folder: Folder, node: ast.expr) -> str:
    """Return the text of an expression that binds names of its own."""
    names, intact = folder.names, folder.intact
    own = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    own |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    folder.names, folder.intact = names | dict.fromkeys(own), intact - own
    text = folder.plain_text(node)
    folder.names, folder.intact = names, intact
    return text


def _walrus(folder: Folder, node: ast.NamedExpr) -> str:
    text = folder.plain_text(node)
    folder.assigned(node.target, None)
    return text


_EXPRESSIONS: dict[type, Callable[..., str | None]] = {
    ast.Name: _name,
    ast.IfExp: _either,
    ast.BoolOp: _some,
    ast.UnaryOp: _negation,
    ast.Call: _call,
    ast.NamedExpr: _walrus,
    **dict.fromkeys((ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.Lambda), _scope),
}
