"""What a target supports, as passes ask for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ..dataclass import dataclass
from .node import Node

Refuses = Callable[[Node], str | None]  # the reason why a node is not supported, or None


@dataclass(frozen=True, slots=True)
class Features:
    """Properties of a target's arrays beside operations.

    Functions of a program are called as such, unless the target has to see what they do. Arrays that are mutable may be
    written into, and the results of ``main`` may be. Elements are numbers, or arrays that look at the one they are read
    from; one assignment may take an array apart into its rows. Free indices are integers of any type, and negative ones
    count from the end. Where slices are fast, combining strided ones takes less time than a reduction of lines of a few
    elements. Where they fit memory, what all rounds of a loop need may be computed before it. Slices may start at any
    number, unless those of the library must be brought to the host first. Indices that are trusted lie within their
    arrays: nothing guards them. Products of 16-bit floats are accumulated in float32 and rounded once where functions
    for narrow products are named, one of matrices and one by the subscripts of ``einsum``: they give the sums in
    float32, too. Linear recurrences are a call where the target's prelude has a function for them. Where operations are
    passes over memory, what two of them need had better be computed once. Sizes are fixed unless the program is one of
    several at other sizes; chance numbers are a size, or one by it, at those of this one alone.
    """

    functions_are_called: bool = True
    arrays_are_mutable: bool = True
    elements_are_numbers: bool = True
    rows_unpack: bool = True
    indices_are_free: bool = True
    slices_are_fast: bool = True
    arrays_fit_memory: bool = True
    starts_are_free: bool = True
    indices_are_trusted: bool = False
    narrow_products: tuple[str, ...] = ()
    has_linear_recurrences: bool = False
    operations_are_passes: bool = True
    sizes_are_fixed: bool = True
    chance_numbers: frozenset[float] = frozenset()


@dataclass(frozen=True, slots=True)
class Support:
    """Tells which nodes may be made: those that no table refuses. There may be several, as a style has one, too."""

    tables: tuple[Refuses, ...] = ()
    features: Features = field(default_factory=Features)

    def __call__(self, node: Node) -> bool:
        """Tell whether a node may be made."""
        return all(refuses(node) is None for refuses in self.tables)
