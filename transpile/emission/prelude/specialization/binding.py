"""The names that statements assign, and the facts about them after an assignment."""

from __future__ import annotations

import ast
from functools import lru_cache
from itertools import chain

from .lattice import Fact, Known, elements_of, tuple_of

_REMEMBERED = 1 << 13  # statements of the prelude, which are the same for every module


def as_tuple(fact: Fact) -> Fact:
    """Return the fact of a list, a range or a string as that of a tuple; any other fact unchanged."""
    is_sequence = isinstance(fact, Known) and isinstance(fact.value, list | range | str)
    return Known(tuple(fact.value)) if is_sequence else fact  # type: ignore[union-attr]


def bind(target: ast.expr, fact: Fact, names: dict[str, Fact]) -> None:
    """Bind the names of an assignment's target to the facts about the value."""
    if isinstance(target, ast.Name):
        names[target.id] = fact
        return
    if isinstance(target, ast.Starred):
        bind(target.value, None, names)
        return
    if not isinstance(target, ast.Tuple | ast.List):
        return
    elements = elements_of(as_tuple(fact))
    starred = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
    if elements is None or (not starred and len(elements) != len(target.elts)):
        elements = (None,) * len(target.elts)
    elif starred:
        (k,), behind = starred, len(target.elts) - starred[0] - 1
        middle = tuple_of(elements[k : len(elements) - behind])
        if isinstance(target.elts[k].value, ast.Name):  # type: ignore[attr-defined]
            bind(target.elts[k].value, middle, names)  # type: ignore[attr-defined]
        parts = chain(
            zip(target.elts[:k], elements, strict=False),
            zip(target.elts[k + 1 :], elements[len(elements) - behind :], strict=True),
        )
        for part, element in parts:
            bind(part, element, names)
        return
    for part, element in zip(target.elts, elements, strict=True):
        bind(part, element, names)


def assigned_names(nodes: list[ast.stmt]) -> set[str]:
    """Return the names that statements assign."""
    return set().union(*map(_assigned, nodes))


def opened_names(nodes: list[ast.stmt]) -> set[str]:
    """Return the names whose contents statements may change."""
    return set().union(*map(_opened, nodes))


@lru_cache(_REMEMBERED)
def _assigned(node: ast.stmt) -> frozenset[str]:
    return frozenset(
        part.id for part in ast.walk(node) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    )


@lru_cache(_REMEMBERED)
def _opened(node: ast.stmt) -> frozenset[str]:
    found = set()
    for part in ast.walk(node):
        inner = None
        if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
            inner = part.value
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            inner = part.value.func.value if isinstance(part.value.func, ast.Attribute) else None
        if isinstance(inner, ast.Name):
            found.add(inner.id)
    return frozenset(found)
