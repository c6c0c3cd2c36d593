"""The facts that an assignment gives its names."""

from __future__ import annotations

import ast
from itertools import chain

from .facts import Fact, Known, elements_of, tuple_of


def as_tuple(fact: Fact) -> Fact:
    """A list, a range or a word as a tuple."""
    is_sequence = isinstance(fact, Known) and isinstance(fact.value, list | range | str)
    return Known(tuple(fact.value)) if is_sequence else fact  # type: ignore[union-attr]


def bind(target: ast.expr, fact: Fact, names: dict[str, Fact]) -> None:
    """Give the names of an assignment's target what is known of the value."""
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
