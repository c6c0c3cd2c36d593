"""The interface by which passes query what a target supports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ..dataclass import dataclass
from .node import Node

Refuses = Callable[[Node], str | None]  # the reason why a node is not supported, or None


@dataclass(frozen=True, slots=True)
class Features:
    """Properties of a target's arrays, beside the operations that it supports.

    ``functions_are_called``: functions of a program become functions of the module; otherwise they are inlined, because
    the target must see their operations. ``arrays_are_mutable``: arrays and the results of ``main`` may be written.
    ``elements_are_numbers``: an element is a number, not a 0-d view. ``rows_unpack``: one assignment may unpack an
    array into its rows. ``indices_are_free``: indices are integers of any type, and negative ones count from the end.
    ``slices_are_fast``: combining strided slices takes less time than reducing lines of a few elements.
    ``arrays_fit_memory``: values that all iterations of a loop need may be computed before it. ``starts_are_free``: a
    slice may start at any number; otherwise a start computed by the library must be brought to the host first.
    ``indices_are_trusted``: indices are in bounds and get no guards. ``narrow_products``: prelude functions that
    multiply 16-bit floats, accumulate in float32 and round once, one for matrices and one for subscripts of ``einsum``;
    they also return float32 sums. ``has_linear_recurrences``: the prelude has a function for linear recurrences.
    ``operations_are_passes``: each operation is a pass over memory, so common parts should be computed once.
    ``sizes_are_fixed``: the program is not one of several at other sizes. ``coincidental_numbers``: numbers that are
    a size, or derived from one, only at the sizes of this program.
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
    coincidental_numbers: frozenset[float] = frozenset()


@dataclass(frozen=True, slots=True)
class Support:
    """The test whether a node may be made: no table refuses it. A style may add a table to the target's."""

    tables: tuple[Refuses, ...] = ()
    features: Features = field(default_factory=Features)

    @property
    def has_kernels(self) -> bool:
        """Return whether the style has kernels, which compute operations for each element."""
        return len(self.tables) > 1

    def __call__(self, node: Node) -> bool:
        """Return whether a node may be made."""
        return all(refuses(node) is None for refuses in self.tables)
