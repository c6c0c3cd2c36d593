"""The renderer of expressions and statements of kernels: a language's macros, and the names of its types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...array.node import Node
from ...hlo.element_types import ElementType
from ...kernels.index_maps import Term
from ...kernels.operations import start_value
from ...python.templates import Expression
from ..expression import Renderer


class KernelRenderer(Renderer):
    """The macros of the language of a target's kernels: those of one folder, none of the shared ones.

    ``places`` are the variables of the current kernel that hold sums of index terms.
    """

    shared = ()

    def __init__(self, folder: Path, beside: Renderer) -> None:
        self.places: dict[tuple[Term, ...], str] = {}
        super().__init__(folder, beside.namespace, beside=beside)

    def own_globals(self) -> dict[str, Any]:
        return {"spelled": self.spelled, "place_of": self.places.get}

    def type_name(self, element_type: ElementType) -> str:
        """Return the language's name of an element type."""
        raise NotImplementedError

    def spelled(self, term: Term) -> tuple[str, int, int | None]:
        """Return the variable, the divisor and the modulus of an index term; ``at`` is the number of the element."""
        return "at", term.divisor, term.modulus

    def columns_of_definition(self, node: Node) -> int:
        """Return the columns that a definition takes in addition to the name, the value and ``=``."""
        return 0

    def as_array(self, node: Node, text: Expression) -> Expression:
        """Return the text unchanged: kernels work on elements."""
        return text

    def start_of(self, node: Node) -> Expression:
        """Return the identity element of a reduction, its value before the first element."""
        return self.typed_literal(start_value(node.opcode, node.type), node.type)
