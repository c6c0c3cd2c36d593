"""The lattice of facts: what is known of a value before a module runs, and the join of facts from its calls."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache, reduce
from itertools import chain
from typing import Any

import numpy as np

from ....array.node import Node, Slot, Ufunc
from ....array.program import Function
from ....dataclass import dataclass
from ....hlo.element_types import ElementType
from ....python.calls import Lost, uses_of, without_arguments
from ....python.modules import mentioned
from ...lines import Line

_REMEMBERED = 1 << 13  # statements of the prelude, which are the same for every module


@dataclass(frozen=True, slots=True)
class Known:
    """A constant: ``True``, ``(1, 1)``, a dtype."""

    value: Any

    def __eq__(self, other: object) -> bool:  # 1 is not True, and NaN is NaN
        return isinstance(other, Known) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple of known length, with facts about its elements."""

    elements: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """An array: its dtype and its shape, as far as they are known; None for an unknown size."""

    dtype: np.dtype[Any] | None
    shape: tuple[int | None, ...] | None


@dataclass(frozen=True, slots=True)
class Callback:
    """A function, which is true and not None; it may be a ufunc."""

    is_ufunc: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """A union of a few facts, from calls that differ."""

    facts: tuple[Fact, ...]


Fact = Known | Several | Array | Callback | OneOf | None  # None: nothing is known
MOST = 12  # alternatives


def alternatives(fact: Fact) -> tuple[Fact, ...]:
    """Return the facts of a union, or the fact alone."""
    return fact.facts if isinstance(fact, OneOf) else (fact,)


def joined(*facts: Fact) -> Fact:
    """Return the join of facts: what holds if any one of them does."""
    found = tuple(dict.fromkeys(part for fact in facts for part in alternatives(fact)))
    if None in found:
        return None
    if len(found) <= MOST:
        return found[0] if len(found) == 1 else OneOf(found)
    return reduce(_in_common, found)


def _in_common(a: Fact, b: Fact) -> Fact:
    """Return what two facts have in common."""
    if a == b:
        return a
    if isinstance(a, Array) and isinstance(b, Array):
        shape = None
        if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
            shape = tuple(m if m == n else None for m, n in zip(a.shape, b.shape, strict=True))
        return Array(a.dtype if a.dtype == b.dtype else None, shape)
    left, right = elements_of(a), elements_of(b)
    if left is not None and right is not None and len(left) == len(right):
        return Several(tuple(map(_in_common, left, right)))
    return None


def elements_of(fact: Fact) -> tuple[Fact, ...] | None:
    """Return the facts about the elements of a tuple of known length, or None."""
    if isinstance(fact, Several):
        return fact.elements
    if isinstance(fact, Known) and isinstance(fact.value, tuple):
        return tuple(map(Known, fact.value))
    if isinstance(fact, OneOf):
        each = [elements_of(part) for part in fact.facts]
        whole = [part for part in each if part is not None]
        if len(whole) == len(each) and len(set(map(len, whole))) == 1:
            return tuple(joined(*parts) for parts in zip(*whole, strict=True))
    return None


def tuple_of(elements: Sequence[Fact]) -> Fact:
    """Return the fact about a tuple with such elements."""
    if all(isinstance(element, Known) for element in elements):
        return Known(tuple(element.value for element in elements if isinstance(element, Known)))
    return Several(tuple(elements))


def truth(fact: Fact) -> bool | None:
    """Return whether a value is true, or None if unknown."""
    if isinstance(fact, Known):
        return bool(fact.value)
    if isinstance(fact, Several):
        return bool(fact.elements)
    if isinstance(fact, OneOf):
        each = set(map(truth, fact.facts))
        return each.pop() if len(each) == 1 else None
    return True if isinstance(fact, Callback) else None


@dataclass(frozen=True, slots=True)
class Call:
    """The facts about the arguments of one call.

    ``derived`` are the positions and keywords of arguments whose facts follow from shapes of arrays, or from parameters
    that the module passes to the caller.
    """

    arguments: tuple[Fact, ...] = ()
    keywords: dict[str, Fact] = field(default_factory=dict)
    derived: frozenset[int | str] = frozenset()


def call_of(node: Node, known_sizes: Container[int]) -> Call:
    """Return the facts about a node's call of a prelude function; sizes that are not in ``known_sizes`` are unknown."""

    def fact(item: Any) -> Fact:
        if isinstance(item, Slot):
            operand = node.operands[item.index]
            if operand.element_type is None or not operand.ndim:
                return None  # a token, or a number, which may be a Python number
            shape = tuple([size if size in known_sizes else None for size in operand.shape])
            return Array(operand.element_type.dtype, shape)
        if isinstance(item, Ufunc | Function):
            return Callback(isinstance(item, Ufunc))
        if isinstance(item, ElementType):
            return Known(item.dtype.type)
        if isinstance(item, tuple | list):
            return tuple_of(list(map(fact, item)))
        return Known(item) if item is None or isinstance(item, bool | int | float | str) else None

    parameters = node.parameters
    keywords = {name: fact(value) for name, value in parameters["keywords"].items()}
    return Call(tuple(map(fact, parameters["arguments"])), keywords)


def parameters_of(function: ast.FunctionDef) -> list[ast.arg]:
    """Return the named parameters, without ``*args`` and ``**kwargs``."""
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def defaults_of(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return the default of each parameter that has one."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    found = {p.arg: d for p, d in zip(reversed(positional), reversed(arguments.defaults), strict=False)}
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return found | {p.arg: d for p, d in keywords if d is not None}


def calls_of(
    nodes: Mapping[str, Collection[Node]], lines: Iterable[Line], others: Iterable[str], known_sizes: Container[int]
) -> dict[str, list[Call]]:
    """Return the calls of each function that only ``nodes`` call.

    ``lines`` are the program's lines. Names in ``others``, the texts besides them, are used in unknown ways. Only sizes
    in ``known_sizes`` are facts; others are unknown.
    """
    if not nodes:
        return {}
    uses = Counter[tuple[str, bool]]()
    for line in lines:
        uses.update(uses_of(line.text, nodes))
    named = {name for text in others for name in mentioned(text)}
    return {
        name: [call_of(node, known_sizes) for node in own]
        for name, own in nodes.items()
        if name not in named and not uses[name, False] and 0 < uses[name, True] <= len(own)
    }


def cut_calls(line: Line, lost: Lost) -> None:
    """Remove lost arguments from the calls in a line."""
    line.text = without_arguments(line.text, lost)
    line.values.update({node: without_arguments(text, lost) for node, text in line.values.items()})


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
