"""Array constants: small ones in the text, middling ones at the top of the module, large ones in files beside it."""

from __future__ import annotations

import numpy as np

from ..array.node import Constant, Node
from .expression import Expression, Renderer
from .sidecars import DIGEST_DIGITS, is_mapped
from .tables import evenly_spaced, filled_rows
from .texts import nested_text

LARGEST_INLINE = 64  # elements
LONGEST_INLINE = 48  # characters in the middle of an expression


class ModuleConstants:
    """The constants of one module, each written once.

    Those of up to ``largest_folded`` elements that fit a line are left to be written in the middle of an expression.
    """

    def __init__(self, renderer: Renderer, *, inline: bool, largest_folded: int) -> None:
        self.renderer = renderer
        self.largest_folded = largest_folded
        self.inline = inline
        self.lines: list[str] = []
        self.sidecar: dict[str, np.ndarray] = {}
        self.names: set[str] = set()
        self._known: dict[Constant, Expression] = {}

    def text(self, node: Node) -> Expression | None:
        """Return the expression that reads a constant array, or None where the array is written in place."""
        constant: Constant = node.parameters["constant"]
        if constant.array.size <= self.largest_folded and self._fits_line(constant):
            return None
        if constant not in self._known:
            self._known[constant] = self._added(node, constant)
        return self._known[constant]

    def _fits_line(self, constant: Constant) -> bool:
        return len(nested_text(constant, self.renderer.scalars)) <= LONGEST_INLINE

    def _added(self, node: Node, constant: Constant) -> Expression:
        number = len(self._known) + 1
        element_type = node.type
        dtype = self.renderer.dtype(element_type)
        name = f"TABLE_{number}"
        table = self._spaced(name, constant, dtype)
        if not table and (constant.array.size <= LARGEST_INLINE or self.inline):
            table = self._table(name, constant, dtype)
        if table:
            self.names.add(name)
            self.lines.append(table)
            return Expression(name)
        name = f"constant_{number}"
        self.sidecar[name] = constant.array
        function = "mapped_constant" if is_mapped(constant.array) else "constant"
        self.renderer.used_prelude[function] = None
        bits = dtype if element_type.is_extension else ""
        return Expression(self.renderer.statement("stored", function, name, constant.sha256[:DIGEST_DIGITS], bits), 16)

    def _spaced(self, name: str, constant: Constant, dtype: str) -> str:
        """Return the statement of a table by its first and last number, or nothing where that is not all of it."""
        ends = evenly_spaced(constant.array, self.renderer.scalars)
        return self.renderer.statement("spaced_table", name, *ends, constant.array.size, dtype) if ends else ""

    def _table(self, name: str, constant: Constant, dtype: str) -> str:
        rows = filled_rows(constant, self.renderer.scalars)
        if rows:
            return self.renderer.statement("filled_table", name, rows, dtype)
        return self.renderer.statement("table", name, nested_text(constant, self.renderer.scalars), dtype)
