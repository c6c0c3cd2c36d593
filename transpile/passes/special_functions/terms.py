"""Terms: computations of elements of any shape; equal terms are one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from ...dataclass import dataclass
from ..outlining.traced_calls import described

NAMED = "named"  # the opcode of terms that are special functions; their key is the name
PARTS = ("real", "imag")  # the opcodes of the parts of a complex number
COMPLEX_OF = {"f32": "c64", "f64": "c128"}  # the complex type by the type of its parts
REAL_OF = {whole: part for part, whole in COMPLEX_OF.items()}


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """An operation on terms; compared by identity. ``key`` describes its attributes."""

    opcode: str
    element_type: str
    key: Any
    operands: tuple[Term, ...]

    @property
    def value(self) -> np.ndarray[Any, np.dtype[Any]] | None:
        """The number of a constant term, or None."""
        if self.opcode != "constant":
            return None
        dtype, _, data = self.key
        return np.frombuffer(data, dtype).reshape(())

    @property
    def table(self) -> tuple[int, np.ndarray[Any, np.dtype[Any]]]:
        """The axis of a table and the numbers along it."""
        axis, dtype, _, data = self.key
        return axis, np.frombuffer(data, dtype)


@dataclass(slots=True)
class Terms:
    """All terms by their description; ``shared`` are existing ones, to which none is added."""

    shared: Mapping[Any, Term] = field(default_factory=dict)
    known: dict[Any, Term] = field(default_factory=dict)
    instances: dict[tuple[Term, tuple[Term, ...]], tuple[Term, set[Term]]] = field(default_factory=dict)  # of patterns

    @property
    def carried(self) -> Term:
        """The term of a loop's carries, as its body uses them."""
        return self.make("carried", "")

    def make(self, opcode: str, element_type: str, key: Any = None, operands: tuple[Term, ...] = ()) -> Term:
        """Return the only term of this description."""
        identity = opcode, element_type, key, operands
        found = self.shared.get(identity)
        return self.known.setdefault(identity, Term(opcode, element_type, key, operands)) if found is None else found

    def number(self, element_type: str, value: np.ndarray[Any, np.dtype[Any]]) -> Term:
        """Return the term of a number."""
        return self.make("constant", element_type, described(value))

    def table(self, element_type: str, values: np.ndarray[Any, np.dtype[Any]], axis: int) -> Term:
        """Return the term of numbers along an axis that are the same along all others; a single number is its
        own term.
        """
        if values.size == 1:
            return self.number(element_type, values.reshape(()))
        return self.make("table", element_type, (axis, *described(values)))

    def element(self, whole: Term, element_type: str, index: int) -> Term:
        """Return the term of an element of a tuple."""
        if whole.opcode == "tuple":
            return whole.operands[index]
        return self.make("get-tuple-element", element_type, index, (whole,))

    def part(self, opcode: str, whole: Term) -> Term:
        """Return the term of a part of a complex number: real or imag."""
        return self.make(opcode, REAL_OF[whole.element_type], (), (whole,))
