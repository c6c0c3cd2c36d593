"""The verifier of emitted functions: each name is bound before it is read, and hides no name of the module."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain

from .modules import parsed

_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
_BUILTINS = frozenset((*dir(builtins), "__file__"))


class UnsoundModuleError(AssertionError):
    """An emitted module that breaks a rule; the message names each function and name."""


def require_sound(source: str, names: Container[str]) -> None:
    """Raise UnsoundModuleError if functions of these names in a module are not sound."""
    if found := problems(source, names):
        raise UnsoundModuleError("; ".join(found))


def problems(source: str, names: Container[str]) -> list[str]:
    """Return the problems of functions of these names in a module, one per line; an empty list if they are sound."""
    tree = parsed(source).tree
    module = {name for statement in tree.body for name in _bound_at_top(statement)}
    functions = [node for node in parsed(source).functions if node.name in names]
    return [line for function in functions for line in _Function(function, module).problems()]


def _bound_at_top(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from ((each.asname or each.name).split(".")[0] for each in statement.names)
    else:
        yield from _stored(statement)


def _stored(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, except in nested scopes."""
    for inner in _of_scope(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.FunctionDef | ast.ClassDef):
            yield inner.name
        elif isinstance(inner, ast.Import | ast.ImportFrom):
            yield from _bound_at_top(inner)
        elif isinstance(inner, ast.ExceptHandler) and inner.name:
            yield inner.name


def _of_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, except in nested scopes."""
    yield node
    if not isinstance(node, (*_SCOPES, ast.FunctionDef, ast.ClassDef)):
        for inner in ast.iter_child_nodes(node):
            yield from _of_scope(inner)


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return (each.arg for each in given if each is not None)


class _Function:
    """A function and the names that are bound outside of it."""

    def __init__(self, tree: ast.FunctionDef, around: Iterable[str]) -> None:
        self.tree = tree
        self.around = frozenset(around)
        self.own = {name for statement in tree.body for name in _stored(statement)}
        self.free = (self.around | _BUILTINS) - self.own

    def problems(self) -> list[str]:
        name, parameters = self.tree.name, set(_parameters(self.tree.args))
        hidden = (self.own | parameters) & self.around
        found = [f"{name}: {each} hides what the module calls so" for each in sorted(hidden)]
        unbound: dict[str, None] = {}
        self._body(self.tree.body, parameters, unbound)
        return found + [f"{name}: {each} is read before it is bound" for each in unbound]

    def _body(self, body: Sequence[ast.stmt], bound: set[str], unbound: dict[str, None]) -> set[str] | None:
        """Return the names that are bound behind statements; None if control never reaches that point."""
        for statement in body:
            behind = self._statement(statement, bound, unbound)
            if behind is None:
                return None
            bound = behind
        return bound

    def _statement(self, statement: ast.stmt, bound: set[str], unbound: dict[str, None]) -> set[str] | None:
        match statement:
            case ast.FunctionDef():
                inside = {name for each in statement.body for name in _stored(each)}
                given = bound | self.own | inside | set(_parameters(statement.args))
                self._read(chain(statement.decorator_list, statement.body), given, unbound)
                return bound | {statement.name}
            case ast.If():
                self._read([statement.test], bound, unbound)
                bound = bound | set(_stored(statement.test))
                ends = [self._body(body, bound, unbound) for body in (statement.body, statement.orelse)]
                left = [end for end in ends if end is not None]
                return set.intersection(*left) if left else None
            case ast.For() | ast.While():
                head = statement.iter if isinstance(statement, ast.For) else statement.test
                self._read([head], bound, unbound)
                targets = set(_stored(statement.target if isinstance(statement, ast.For) else head))
                self._body(statement.body, bound | targets, unbound)
                return bound | {name for each in statement.body for name in _stored(each)} | targets
            case ast.With() | ast.Try() | ast.Match():
                return bound | set(_stored(statement))  # only prelude functions have these
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self._read([statement], bound, unbound)
                return None
        self._read([statement], bound, unbound)
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        return (bound | set(_stored(statement))) - {name.id for name in names if isinstance(name.ctx, ast.Del)}

    def _read(self, nodes: Iterable[ast.AST], bound: set[str], unbound: dict[str, None]) -> None:
        """Record the names that nodes read without a binding."""
        for node in nodes:
            inside = set(_stored_in_scopes(node))
            names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
            read = (name.id for name in names if not isinstance(name.ctx, ast.Store))
            unbound.update(dict.fromkeys(name for name in read if name not in bound | self.free | inside))


def _stored_in_scopes(node: ast.AST) -> Iterator[str]:
    """Yield the names that nested scopes of a node bind."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.comprehension):
            yield from _stored(inner.target)
        elif isinstance(inner, ast.Lambda | ast.FunctionDef):
            yield from _parameters(inner.args)
        elif isinstance(inner, ast.NamedExpr):
            yield inner.target.id
