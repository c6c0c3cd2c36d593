"""Signatures of custom calls, and matching of instructions.

``T[*,m,n] -> T[*,m,n] s32[*,min(m,n)] ...`` takes a batch of matrices and returns two arrays and more:

- a type is an element type's name, or a letter that stands for one type throughout: ``F`` a real and ``Z`` a complex
  type of LAPACK, ``T`` any of these, ``R`` and ``C`` the real and the complex type of its precision, others any type;
- a size is a number, a name that stands for one size throughout, ``min(m,n)``, or ``n-1`` (at least 0);
- ``*`` stands for any number of sizes, the same throughout, ``?`` for any sizes, ``...`` for further arrays;
- ``any`` alone stands for any values, including tuples and tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from ...dataclass import dataclass
from ..element_types import C64, C128, ELEMENT_TYPES, F32, F64, ElementType
from ..ir import Instruction
from ..shape_rules.common import shape_text
from ..shapes import ArrayShape, Shape, TupleShape
from .fields import ConfigError

BATCH, ANY_SIZES, REST, ANYTHING = "*", "?", "...", "any"
_TERM = re.compile(r"(\w+)\[([^\]]*)\]")
_SIZES = re.compile(r"min\(\w+,\w+\)|[\w*?\-]+")
_REALS, _COMPLEXES = (F32, F64), (C64, C128)
_PRECISIONS: dict[ElementType, int] = {F32: 0, F64: 1, C64: 0, C128: 1}
_CLASSES: dict[str, tuple[ElementType, ...]] = {"F": _REALS, "Z": _COMPLEXES, "T": _REALS + _COMPLEXES}
_DERIVED = {"R": _REALS, "C": _COMPLEXES}


@dataclass(frozen=True, slots=True)
class _Term:
    type: str
    sizes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    terms: tuple[_Term, ...]
    is_open: bool  # further arrays may follow
    is_any: bool


@dataclass(slots=True)
class _Match:
    types: dict[str, ElementType] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    batch: tuple[int, ...] | None = None

    def side(self, side: _Side, shapes: Sequence[Shape]) -> bool:
        if side.is_any:
            return True
        if len(shapes) < len(side.terms) or (len(shapes) > len(side.terms) and not side.is_open):
            return False
        return all(isinstance(shape, ArrayShape) for shape in shapes) and all(map(self._term, side.terms, shapes))

    def _term(self, term: _Term, shape: Shape) -> bool:
        assert isinstance(shape, ArrayShape)
        return self._type(term.type, shape.element_type) and self._sizes(term.sizes, shape.dimensions)

    def _type(self, name: str, given: ElementType) -> bool:
        if len(name) > 1:
            return given.name == name
        if name in _DERIVED:
            return any(letter in self.types for letter in _CLASSES) and given is self.known_type(name)
        return given in _CLASSES.get(name, (given,)) and self.types.setdefault(name, given) is given

    def _sizes(self, names: tuple[str, ...], given: tuple[int, ...]) -> bool:
        if names == (ANY_SIZES,):
            return True
        if names[:1] == (BATCH,):
            names = names[1:]
            count = len(given) - len(names)
            if count < 0:
                return False
            batch, given = given[:count], given[count:]
            if self.batch is None:
                self.batch = batch
            if batch != self.batch:
                return False
        return len(names) == len(given) and all(map(self._size, names, given))

    def _size(self, name: str, given: int) -> bool:
        known = self.known_size(name)
        return given == (self.sizes.setdefault(name, given) if known is None else known)

    def known_size(self, name: str) -> int | None:
        """Return the size that a name stands for; None if no array has bound it yet."""
        if name.isdigit():
            return int(name)
        if name.startswith("min("):
            return min(self.sizes[part] for part in name[4:-1].split(","))
        if name.endswith("-1"):
            return max(self.sizes[name[:-2]] - 1, 0)
        return self.sizes.get(name)

    def known_type(self, name: str) -> ElementType:
        """Return the element type that a name stands for; an array must have bound it."""
        if len(name) > 1:
            return ELEMENT_TYPES[name]
        if name in _DERIVED:
            known = next(self.types[letter] for letter in _CLASSES if letter in self.types)
            return _DERIVED[name][_PRECISIONS[known]]
        return self.types[name]


def by_rows(instruction: Instruction, signatures: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Return which operands and which results are row-major matrices, where LAPACK has column-major ones.

    Raises ConfigError for any other layout.
    """
    terms = [term for side in _parsed(signatures[0]) for term in side.terms]
    given = [each.array_shape.without_layout() for each in instruction.operands]
    operands = instruction["operand_layout_constraints"] or given
    found = list(map(_lies_by_rows, terms, (*operands, *_results(instruction.shape))))
    return found[: len(operands)], found[len(operands) :]


def _lies_by_rows(term: _Term, shape: Shape) -> bool:
    assert isinstance(shape, ArrayShape)
    order = list(reversed(range(shape.rank)))
    is_matrix = len(term.sizes) - (BATCH in term.sizes) == 2
    columns = [order[1], order[0], *order[2:]] if is_matrix else order
    given = columns if shape.layout is None else shape.layout.minor_to_major
    if _long(shape, given) == _long(shape, columns):
        return False
    if _long(shape, given) != _long(shape, order):
        raise ConfigError(f"needs the layout {{{','.join(map(str, columns))}}}, and {shape} has another")
    return True


def _long(shape: ArrayShape, dimensions: Iterable[int]) -> list[int]:
    """Return the dimensions with more than one element: the others may be anywhere in a layout."""
    return [dimension for dimension in dimensions if shape.dimensions[dimension] > 1]


def matched(instruction: Instruction, signatures: Sequence[str], takes_dynamic: bool) -> dict[str, int]:
    """Return the sizes that names stand for in the first signature that matches. Raises ConfigError if none does."""
    operands = [operand.shape for operand in instruction.operands]
    results = _results(instruction.shape)
    if not takes_dynamic and any(isinstance(shape, ArrayShape) and shape.is_dynamic for shape in (*operands, *results)):
        raise ConfigError("takes no arrays with a size that is known at run time only")
    for signature in signatures:
        taken, given = _parsed(signature)
        match = _Match()
        if match.side(taken, operands) and match.side(given, results):
            return match.sizes
    call = f"{' '.join(map(shape_text, operands))} -> {' '.join(map(shape_text, results))}".strip()
    raise ConfigError(f"has the form {' or '.join(signatures)}, not {call}")


def results_of(signatures: Sequence[str], operands: Sequence[ArrayShape], sizes: Mapping[str, int]) -> list[ArrayShape]:
    """Return the results of the first signature that matches the operands; ``sizes`` are names that no operand binds.

    Raises ConfigError if none matches.
    """
    for signature in signatures:
        taken, given = _parsed(signature)
        match = _Match()
        if match.side(taken, operands):
            match.sizes |= sizes
            return [_result(match, term) for term in given.terms]
    raise ConfigError(f"takes {' or '.join(signatures)}, not {' '.join(map(shape_text, operands))}")


def _result(match: _Match, term: _Term) -> ArrayShape:
    names = term.sizes[1:] if term.sizes[:1] == (BATCH,) else term.sizes
    found = [match.known_size(name) for name in names]
    batch = (match.batch or ()) if len(names) < len(term.sizes) else ()
    return ArrayShape(match.known_type(term.type), (*batch, *(size for size in found if size is not None)))


def _results(shape: Shape) -> tuple[Shape, ...]:
    return shape.elements if isinstance(shape, TupleShape) else (shape,)


@lru_cache(maxsize=1024)
def _parsed(signature: str) -> tuple[_Side, _Side]:
    taken, given = signature.split("->")
    return _side(taken), _side(given)


def _side(text: str) -> _Side:
    terms = tuple(_Term(kind, tuple(_SIZES.findall(sizes))) for kind, sizes in _TERM.findall(text))
    return _Side(terms, REST in text, text.strip() == ANYTHING)


def spelled(signature: str, types: Iterable[tuple[str, str]]) -> str:
    """Return a signature with types in place of letters."""
    names = dict(types)
    return re.sub(r"\b([A-Z])(?=\[)", lambda match: names.get(match[1], match[1]), signature)
