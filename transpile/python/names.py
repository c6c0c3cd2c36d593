"""The names that a text reads and binds, and renaming. Results are computed once per template, then combined with those
of the operands.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ..dataclass import dataclass
from .templates import Expression, Rendered, Template, hole, template, template_of

_LATER = (ast.Lambda, ast.FunctionDef, ast.GeneratorExp)  # these may read names after their statement
_OWN_SCOPE = (ast.ListComp, ast.SetComp, ast.DictComp, ast.JoinedStr)  # names in format strings have no known position
_BINDING = (ast.NamedExpr, ast.With, ast.Try, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Delete)
_NOT_FOLLOWED = (*_LATER, *_OWN_SCOPE, *_BINDING)

_WORD = re.compile(r"[^\W\d]\w*")
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Names:
    """The names of an expression or a statement without its body.

    ``behind``: the names that assignment targets read, ``x`` and ``i`` in ``x[i] = y``. ``fixed``: the names that are
    read or bound in a way that is not analysed. ``later``: the names that may be read after the statement, by closures.
    ``copies``: pairs of a name and the name whose value it is assigned.
    """

    read: frozenset[str]
    bound: frozenset[str] = _NONE
    behind: frozenset[str] = _NONE
    fixed: frozenset[str] = _NONE
    later: frozenset[str] = _NONE
    copies: tuple[tuple[str, str], ...] = ()

    @property
    def all(self) -> frozenset[str]:
        return self.read | self.bound


def names_of(text: str) -> Names:
    """Return the names of an expression or a statement."""
    if text.isidentifier():
        return Names(frozenset([text]))
    own = _own_names(template_of(text))
    if not isinstance(text, Rendered) or not text.operands:
        return own
    given = {hole(text.depth, number): operand for number, operand in enumerate(text.operands)}
    parts = {name: names_of(operand) for name, operand in given.items()}
    items = {name for name in own.bound if name in given and not given[name].isidentifier()}  # x[i] as a target
    inside = {name: part.all for name, part in parts.items()}

    def names(own: frozenset[str]) -> frozenset[str]:
        return _NONE.union(*[inside.get(name, (name,)) for name in own]) if own else own

    return Names(
        names(own.read | items),
        names(own.bound - items),
        names(own.behind | items),
        names(own.fixed).union(*[part.fixed for part in parts.values()]),
        names(own.later).union(*[part.later for part in parts.values()]),
        _own_names(template(str(text))).copies if own.copies else (),
    )


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return the same expression or statement with other names."""
    if names.keys().isdisjoint(words(text)):
        return text
    if isinstance(text, Expression):
        return renamed_expression(text, names)
    operands = [renamed_expression(operand, names) for operand in text.operands] if isinstance(text, Rendered) else []
    other = template(_with_names(template_of(text), names))
    return other.statement(text.depth if isinstance(text, Rendered) else 0, operands)


def renamed_expression(text: Expression, names: Mapping[str, str]) -> Expression:
    """Return the same expression with other names."""
    if names.keys().isdisjoint(words(text)):
        return text
    other = _with_names(template_of(text), names)
    if not text.operands:
        return Expression(other, text.level)
    return template(other).expression(text.depth, [renamed_expression(operand, names) for operand in text.operands])


def words(text: str) -> set[str]:
    """Return the identifiers and keywords of a text."""
    return {*_WORD.findall(text)}


def _with_names(made: Template, names: Mapping[str, str]) -> str:
    """Return the text of a template with other names, replaced from the back so that positions stay valid."""
    if names.keys().isdisjoint(_own_names(made).all):
        return made.text
    rows = made.text.split("\n")
    for node in reversed(made.names):
        if node.id not in names:
            continue
        number = node.lineno - made.row_of_tree
        row, begin = rows[number].encode(), node.col_offset
        rows[number] = (row[:begin] + names[node.id].encode() + row[begin + len(node.id) :]).decode()
    return "\n".join(rows)


@lru_cache(maxsize=1 << 10)
def _own_names(made: Template) -> Names:
    """Return the names of a template, including holes."""
    bound = frozenset(name.id for name in made.names if isinstance(name.ctx, ast.Store))
    read = frozenset(name.id for name in made.names if not isinstance(name.ctx, ast.Store))
    not_followed = [node for node in ast.walk(made.tree) if isinstance(node, _NOT_FOLLOWED)]
    fixed = frozenset(name.id for node in not_followed for name in _in(node))
    later = frozenset(name.id for node in not_followed if isinstance(node, _LATER) for name in _in(node))
    if not isinstance(made.tree, ast.Assign):
        return Names(read, bound, fixed=fixed, later=later)
    targets, value = made.tree.targets, made.tree.value
    behind = frozenset(name.id for target in targets for name in _in(target) if isinstance(name.ctx, ast.Load))
    return Names(
        read, bound, behind, fixed, later, tuple(pair for target in targets for pair in _copies(target, value))
    )


def _in(node: ast.AST) -> Iterator[ast.Name]:
    return (name for name in ast.walk(node) if isinstance(name, ast.Name))


def _copies(target: ast.expr, value: ast.expr) -> list[tuple[str, str]]:
    """Return pairs (target, source) of names that an assignment copies: ``x = y``, a part of ``x, i = y, 0``, or
    several targets from one name, which may be a hole for a tuple.
    """
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [pair for own, given in zip(target.elts, value.elts, strict=True) for pair in _copies(own, given)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Name):
        return [pair for own in target.elts for pair in _copies(own, value)]
    return [(target.id, value.id)] if isinstance(target, ast.Name) and isinstance(value, ast.Name) else []
