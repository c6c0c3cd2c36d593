"""The library of known special functions, each as the terms of the HLO that JAX and XLA write for it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, lru_cache
from math import isnan
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...dataclass import dataclass
from ...hlo.element_types import ELEMENT_TYPES
from ...hlo.ir import HloModule
from ...hlo.parser import parse_module
from ...hlo.shapes import ArrayShape
from ...walks import reached
from .folding import folded
from .reading import Reading
from .terms import COMPLEX_OF, NAMED, PARTS, Term, Terms
from .with_numbers import arguments_of, roots

_FOLDER = Path(__file__).parent / "patterns"
CONSTANT = re.compile(r"= (\w+)\[([^\]]*)\] constant\(([^)]*)\)")  # type, sizes, numbers
SEPARATOR = "; "  # between the constants of a row
_OTHER = re.compile(r"^// (\w+) has (.*): (.*)$", re.MULTILINE)  # the types and the constants of a type
_WITH_NUMBERS = frozenset(("f16", "f32", "f64", "s32", "s64", "u32", "u64"))  # the types that ``numbers_of`` reads
_LEAST_OPERATIONS = 9  # of a part of a complex number that is recognised alone: fewer would be ambiguous
KEPT = re.compile(r"^// numbers that arguments leave(?: in (\w+))?: (.*)$", re.MULTILINE)


class Pattern(NamedTuple):
    """The terms of a function of some parameters, or of the ``part`` (real or imag) of a complex one."""

    function: str
    parameters: list[Term]
    root: Term
    part: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Text:
    """The HLO of a function in a type ``kind``: the body of a file with these ``types`` in place of its own, and these
    constants.

    ``numbers`` are the numbers in it. ``kept`` are those that remain if any of the arguments are numbers; None for
    functions of one argument.
    """

    function: str
    kind: str
    body: str
    types: Mapping[str, str]
    constants: Sequence[str]
    numbers: frozenset[float]
    kept: frozenset[float] | None

    @property
    def written(self) -> str:
        return in_other_types(self.body, self.types, self.constants)


class _Chosen(NamedTuple):
    text: Text
    is_whole: bool
    takes_numbers: bool


class Library:
    """The functions whose numbers occur in a program, by the opcode and element type of their root.

    A text is a pattern. If arguments are numbers too, some of its own numbers are folded, and its root may be another.
    """

    def __init__(self, chosen: Iterable[_Chosen]) -> None:
        self.terms = Terms()
        self.patterns: dict[tuple[str, str], list[Pattern]] = {}
        self.with_numbers: dict[tuple[str, str], list[Pattern]] = {}
        given = tuple(chosen)
        for _ in range(2):  # functions are parts of others
            for text in (text for text, *_ in given if text.kind in ("c64", "c128")):
                self._add_parts(text.function, _module(text))
        for text, is_whole, takes_numbers in given:
            self._add(text.function, _module(text), is_whole=is_whole, takes_numbers=takes_numbers)
        self.terms.instances.clear()

    @classmethod
    def of_module(cls, module: HloModule) -> Library:
        """Return the functions that a program may have, by its numbers and types, with terms for this program."""
        library = copy(_library(tuple(_chosen(frozenset(numbers_of(module)), _types_of(module)))))
        library.terms = Terms(library.terms.known)
        return library

    def _add(self, name: str, module: HloModule, *, is_whole: bool, takes_numbers: bool) -> None:
        parameters = self._parameters(module)
        for of_scalars in (False, True):
            root = self._root(module, parameters, of_scalars=of_scalars)
            if root.opcode == NAMED and root.key == name:  # its form for scalars may be the same
                continue
            pattern = Pattern(name, parameters, root)
            if is_whole:
                self.patterns.setdefault((root.opcode, root.element_type), []).append(pattern)
            for opcode in sorted(roots(root)) if takes_numbers else ():
                self.with_numbers.setdefault((opcode, root.element_type), []).append(pattern)

    def _add_parts(self, name: str, module: HloModule) -> None:
        """Add the parts of a complex function with more than a few operations, which a program may use alone."""
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
        """Return the special function that a term is, or the term itself."""
        found = self._known(term)
        return term if found is None else self.named(found)  # a function of some arguments may have another name

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


@lru_cache(maxsize=64)  # of some 40 KB each
def _library(chosen: tuple[_Chosen, ...]) -> Library:
    """Return the library of some patterns, cached: to read it takes long, and similar programs have the same."""
    return Library(chosen)


def _types_of(module: HloModule) -> set[str]:
    """Return the element types of a module's arrays, and the complex types that its real ones may be parts of."""
    shapes = (i.shape for i in module.instructions() if isinstance(i.shape, ArrayShape))
    types = {shape.element_type.name for shape in shapes}
    return types | {whole for part, whole in COMPLEX_OF.items() if part in types}


def _chosen(numbers: frozenset[float], types: Container[str]) -> Iterator[_Chosen]:
    for text in texts():
        if text.kind.partition("_")[0] not in types:  # "f32_x64" is f32, too
            continue
        is_whole, takes_numbers = text.numbers <= numbers, text.kept is not None and text.kept <= numbers
        if is_whole or takes_numbers:
            yield _Chosen(text, is_whole, takes_numbers)


def function_of(path: Path) -> str:
    """Return the function of a pattern's file: ``lgamma`` of ``lgamma.f32.hlo``."""
    return path.name.rsplit(".", 2)[0]


def match(terms: Terms, pattern: Term, term: Term) -> Sequence[Term] | None:
    """Return the terms of a pattern's parameters if it matches a term, or None. The parts of a complex parameter may
    match any two numbers.
    """
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
    """Return the number of different terms that a term depends on, including itself."""
    return sum(1 for _ in reached([term], lambda part: part.operands))


def numbers_of(module: HloModule) -> set[float]:
    """Return the scalar constants of a module and the numbers of its branches; constants of float64 also as float32, to
    which they may be rounded.
    """
    constants = (i for i in module.instructions() if i.opcode == "constant" and isinstance(i.shape, ArrayShape))
    scalars = (i["literal"] for i in constants if i.array_shape.rank == 0)
    numbers = {float(literal) for literal in scalars if literal.dtype.kind in "fiu"}
    numbers |= {float(k) for i in module.instructions() if i.opcode == "conditional" for k in range(len(i.called))}
    with np.errstate(over="ignore"):
        return numbers | {float(np.float32(number)) for number in numbers}


@cache
def texts() -> tuple[Text, ...]:
    """Return all patterns, small ones first, since larger ones contain them."""
    found = (text for path in sorted(_FOLDER.glob("*/*.hlo")) for text in _texts_in(path))
    return tuple(sorted(found, key=lambda text: (len(text.body), text.function, text.kind)))


def _texts_in(path: Path) -> Iterator[Text]:
    """Yield the text of a file, and the variants for the types and constants in its head.

    None is parsed here: a pattern needs to be parsed only if the program has all its numbers.
    """
    head, body = path.read_text("utf-8").split("HloModule", 1)
    function, kind, _ = path.name.rsplit(".", 2)
    constants = CONSTANT.findall(body)
    kept = {other or kind: frozenset(map(float, numbers.split())) for other, numbers in KEPT.findall(head)}
    rows = [(kind, "", SEPARATOR.join(number for *_, number in constants)), *_OTHER.findall(head)]
    for own, exchanged, row in rows:
        types = dict(pair.split("=") for pair in exchanged.split())
        given = row.split(SEPARATOR)
        typed = zip((types.get(each, each) for each, *_ in constants), constants, given, strict=True)
        numbers = {(each, number) for each, (_, sizes, _), number in typed if each in _WITH_NUMBERS and not sizes}
        told = frozenset(number for pair in numbers if not isnan(number := _number(*pair)))
        yield Text(function, own, f"HloModule{body}", types, given, told, kept.get(own))


@cache
def _number(element_type: str, text: str) -> float:
    return float(ELEMENT_TYPES[element_type].dtype.type(text))


@cache
def _module(text: Text) -> HloModule:
    return parse_module(text.written)


def in_other_types(body: str, types: Mapping[str, str], constants: Iterable[str]) -> str:
    """Return a text with some types and all constants replaced."""
    given = iter(constants)
    exchanged = re.sub(rf"\b({'|'.join(types)})(?=\[)", lambda found: types[found[1]], body) if types else body
    return CONSTANT.sub(lambda found: f"= {found[1]}[{found[2]}] constant({next(given)})", exchanged)
