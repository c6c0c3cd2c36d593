"""The special functions that are known, each as the terms of what JAX and XLA write for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...hlo.element_types import ELEMENT_TYPES
from ...hlo.ir import HloModule
from ...hlo.parser import parse_module
from ...hlo.shapes import ArrayShape
from .folding import folded
from .reading import Reading
from .terms import COMPLEX_OF, NAMED, PARTS, Term, Terms
from .with_numbers import arguments_of, roots

_FOLDER = Path(__file__).parent / "patterns"
_NUMBER = re.compile(r"= (\w+)\[\] constant\(([^)]*)\)")
_WITH_NUMBERS = frozenset(("f16", "f32", "f64", "s32", "s64", "u32", "u64"))  # those that ``numbers_of`` takes
_LEAST_OPERATIONS = 9  # of a part of a complex number that is known alone: fewer are anybody's
_KEPT = re.compile(r"^// numbers that arguments leave: (.*)$", re.MULTILINE)


class Pattern(NamedTuple):
    """Holds what is written for a function of some parameters, or for the ``part`` of a complex one: real or imag."""

    function: str
    parameters: list[Term]
    root: Term
    part: str = ""


class _Chosen(NamedTuple):
    path: Path
    is_whole: bool
    takes_numbers: bool


class Library:
    """The functions whose numbers are among some numbers, by the opcode and element type of their root.

    A file is a pattern, named after its function and element type. Where arguments are numbers, too, some of its own
    numbers are not left, and its root may be another.
    """

    def __init__(self, chosen: Iterable[_Chosen]) -> None:
        self.terms = Terms()
        self.patterns: dict[tuple[str, str], list[Pattern]] = {}
        self.with_numbers: dict[tuple[str, str], list[Pattern]] = {}
        files = tuple(chosen)
        for _ in range(2):  # parts are parts of others
            for path in (path for path, *_ in files if path.suffixes[-2] in (".c64", ".c128")):
                self._add_parts(function_of(path), _module(path))
        for path, is_whole, takes_numbers in files:
            self._add(function_of(path), _module(path), is_whole=is_whole, takes_numbers=takes_numbers)

    @classmethod
    def of_numbers(cls, numbers: Iterable[float]) -> Library:
        """The functions that a program with some numbers may have, and terms for this program."""
        library = copy(_library(tuple(_chosen(frozenset(numbers)))))
        library.terms = Terms(library.terms.known)
        return library

    def _add(self, name: str, module: HloModule, *, is_whole: bool, takes_numbers: bool) -> None:
        parameters = self._parameters(module)
        for of_scalars in (False, True):
            root = self._root(module, parameters, of_scalars=of_scalars)
            if root.opcode == NAMED and root.key == name:  # scalars may make no difference
                continue
            pattern = Pattern(name, parameters, root)
            if is_whole:
                self.patterns.setdefault((root.opcode, root.element_type), []).append(pattern)
            for opcode in sorted(roots(root)) if takes_numbers else ():
                self.with_numbers.setdefault((opcode, root.element_type), []).append(pattern)

    def _add_parts(self, name: str, module: HloModule) -> None:
        """Know the parts of complex numbers, which a program may ask for alone, by more than a few operations."""
        parameters = self._parameters(module)
        root = self._root(module, parameters)
        if root.opcode != "complex":
            return
        for part, term in zip(PARTS, root.operands, strict=True):
            if _count(term) >= _LEAST_OPERATIONS:
                pattern = Pattern(name, parameters, term, part)
                self.patterns.setdefault((term.opcode, term.element_type), []).append(pattern)

    def _parameters(self, module: HloModule) -> list[Term]:
        kinds = (parameter.array_shape.element_type.name for parameter in module.entry.parameters)
        return [self.terms.make("parameter", kind, number) for number, kind in enumerate(kinds)]

    def _root(self, module: HloModule, parameters: list[Term], *, of_scalars: bool = False) -> Term:
        reading = Reading(self.terms, self.named, of_scalars)
        reading.measure(module.computations)
        return reading.values(module.entry, parameters)[module.entry.root]

    def named(self, term: Term) -> Term:
        """The special function that a term is, or the term itself."""
        found = self._known(term)
        return term if found is None else self.named(found)  # which may have a name of its own for some arguments

    def _known(self, term: Term) -> Term | None:
        place = term.opcode, term.element_type
        for pattern in self.patterns.get(place, ()):
            arguments = match(self.terms, pattern.root, term)
            if arguments is not None:
                kind = COMPLEX_OF[term.element_type] if pattern.part else term.element_type
                whole = self.terms.make(NAMED, kind, pattern.function, tuple(arguments))
                return self.terms.part(pattern.part, whole) if pattern.part else whole
        for pattern in self.with_numbers.get(place, ()):
            given = arguments_of(self.terms, pattern.parameters, pattern.root, term)
            if given is not None:
                return self.terms.make(NAMED, term.element_type, pattern.function, given)
        return None


@lru_cache(maxsize=8)
def _library(chosen: tuple[_Chosen, ...]) -> Library:
    """The library of some patterns: to read one takes long, and programs of one kind take the same."""
    return Library(chosen)


def _chosen(numbers: frozenset[float]) -> Iterator[_Chosen]:
    for path in _files():
        own, kept = numbers_of_file(path)
        is_whole, takes_numbers = own <= numbers, kept is not None and kept <= numbers
        if is_whole or takes_numbers:
            yield _Chosen(path, is_whole, takes_numbers)


def function_of(path: Path) -> str:
    """The function that a pattern is of: ``lgamma`` of ``lgamma.f32.hlo``."""
    return path.name.rsplit(".", 2)[0]


def match(terms: Terms, pattern: Term, term: Term) -> Sequence[Term] | None:
    """Return what a pattern's parameters stand for, where a term is of its form. Both parts of a complex parameter may
    stand for any two numbers."""
    found: dict[Term, Term] = {}
    waiting = [(pattern, term)]
    while waiting:
        wanted, given = waiting.pop()
        if (known := found.get(wanted)) is not None:
            if known is not given:
                return None
            continue
        found[wanted] = given
        if wanted.opcode == "parameter" or _is_part_of_parameter(wanted):
            if wanted.element_type != given.element_type:
                return None
            continue
        if wanted is given and not wanted.operands:
            continue
        is_same = (wanted.opcode, wanted.element_type, wanted.key) == (given.opcode, given.element_type, given.key)
        if not wanted.operands or not is_same or len(wanted.operands) != len(given.operands):
            return None
        waiting.extend(zip(wanted.operands, given.operands, strict=True))
    parameters = {each: given for each, given in found.items() if each.opcode == "parameter"}
    parts = {each: given for each, given in found.items() if _is_part_of_parameter(each)}
    for parameter in {each.operands[0] for each in parts} - set(parameters):
        both = tuple([parts[part] for name in PARTS if (part := terms.part(name, parameter)) in parts])
        if len(both) < len(PARTS):
            return None
        parameters[parameter] = folded(terms, "complex", parameter.element_type, (), both)
    if any(
        folded(terms, each.opcode, each.element_type, (), (parameters[each.operands[0]],)) is not given
        for each, given in parts.items()
    ):
        return None
    return [parameters[each] for each in sorted(parameters, key=lambda parameter: parameter.key)]


def _is_part_of_parameter(term: Term) -> bool:
    return term.opcode in PARTS and term.operands[0].opcode == "parameter"


def _count(term: Term) -> int:
    """The number of different terms that a term needs, itself among them."""
    found = {term}
    waiting = [term]
    while waiting:
        added = set(waiting.pop().operands) - found
        found |= added
        waiting += added
    return len(found)


def numbers_of(module: HloModule) -> set[float]:
    """The scalar constants of a module and the places of its branches; those of float64 in float32, too, which they may
    be rounded to."""
    constants = (i for i in module.instructions() if i.opcode == "constant" and isinstance(i.shape, ArrayShape))
    scalars = (i["literal"] for i in constants if i.array_shape.rank == 0)
    numbers = {float(literal) for literal in scalars if literal.dtype.kind in "fiu"}
    numbers |= {float(k) for i in module.instructions() if i.opcode == "conditional" for k in range(len(i.called))}
    with np.errstate(over="ignore"):
        return numbers | {float(np.float32(number)) for number in numbers}


@cache
def numbers_of_file(path: Path) -> tuple[frozenset[float], frozenset[float] | None]:
    """The numbers in a pattern, without parsing it: what has not all of them has not the pattern. And those that are
    left whichever arguments are numbers; None for functions of one argument.
    """
    text = path.read_text("utf-8")
    numbers = (
        float(ELEMENT_TYPES[kind].dtype.type(number)) for kind, number in _NUMBER.findall(text) if kind in _WITH_NUMBERS
    )
    kept = _KEPT.search(text)
    own = frozenset(number for number in numbers if not np.isnan(number))
    return own, None if kept is None else frozenset(map(float, kept[1].split()))


@cache
def _files() -> tuple[Path, ...]:
    """All patterns; the small ones first, since larger ones have them in them."""
    return tuple(sorted(_FOLDER.glob("*/*.hlo"), key=lambda path: (path.stat().st_size, path.name)))


@cache
def _module(path: Path) -> HloModule:
    return parse_module(path.read_text("utf-8"))
