"""Array constants: small ones in expressions, medium ones at the top of the module, large ones in files beside it."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from itertools import chain, count
from textwrap import wrap

import numpy as np

from ...array.node import Constant, Node
from ...frontends import safetensors
from ...python.templates import Expression
from ..expression import Renderer
from ..layout import Layout
from ..literals import number
from ..naming.identifiers import Names, identifier
from ..naming.source import is_empty_word
from ..naming.source_reads import SourceTables
from ..texts import nested_text
from .sidecars import DIGEST_DIGITS, is_mapped

TENSORS = "safetensors"  # the setting that stores constants in a file of that format
LARGEST_INLINE = 64  # elements
# By the setting, the elements of a weight for whose sake trees are stored: with auto, if a file is needed anyway.
LARGEST_UNSTORED = {TENSORS: 0, "auto": LARGEST_INLINE}
_DIGITS_OF_NAME = 8  # digits of the hash that make an array's name unique among modules with a common file
LONGEST_INLINE = 48  # characters of a table within an expression


_LONGEST_WORD = 40  # characters of the name of a constant that has all of its path
_FEWEST_SPACED = 8  # numbers; shorter tables are written in full
_INDENT = 4


def constant_word(origin: str, among: Collection[str]) -> str:
    """Return the name of a constant by its origin: ``dense_0_kernel`` for ``params.dense_0.kernel``. Of a long path,
    and of ``kalman.F``, only the end is the name, as much as tells it from the others ``among`` which it is.
    """
    words = origin.split(".")
    while len(words) > 1 and words[0].lower() in ("params", "self", "variables"):
        words = words[1:]
    is_letter = len(words) == 2 and len(words[1]) == 1 and words[1].isupper()
    if len("_".join(words)) > _LONGEST_WORD or is_letter:
        others = [other.split(".") for other in among if other != origin]
        ends = (words[k:] for k in range(len(words) - 1, -1, -1) if not words[k].isdigit())
        words = next((end for end in ends if not any(other[-len(end) :] == end for other in others)), words)
    word = "_".join(words)
    return identifier(word if len(word) == 1 else word.lower())


class ModuleConstants:
    """The constants of one module, each written once.

    Short tables of up to ``largest_folded`` elements are left to be written within expressions. ``as_tensors`` stores
    large constants in a ``.safetensors`` file, which other modules share if constants ``are_shared``. ``names`` has the
    origins of constants, such as ``params.layers.0.w``, by the hashes of their bytes; ``tables`` finds the author's
    name of a literal; names in ``reserved`` are taken.
    """

    def __init__(
        self,
        renderer: Renderer,
        *,
        inline: bool,
        largest_folded: int,
        as_tensors: bool,
        are_shared: bool,
        names: Mapping[str, str],
        tables: SourceTables,
        reserved: Container[str],
    ) -> None:
        self.renderer = renderer
        self.largest_folded = largest_folded
        self.inline = inline
        self.lines: list[str] = []
        self.sidecar: dict[str, np.ndarray] = {}
        self.names: set[str] = set()
        self.hidden_by: set[str] = set()  # names of values in functions written so far
        self.as_tensors = as_tensors
        self.are_shared = are_shared
        self.origins = names
        self.tables = tables
        self.reserved = reserved
        self._known: dict[Constant, Expression] = {}

    def text(self, node: Node, names: Names) -> Expression | None:
        """Return the expression that reads a constant array, or None if the array is written within expressions.

        The constant's name is none of ``names``, which are taken in the function that reads it.
        """
        constant: Constant = node.parameters["constant"]
        if self._is_written_in_place(constant):
            return None
        if constant not in self._known:
            self._known[constant] = self._added(node, constant, names)
        return self._known[constant]

    def _is_written_in_place(self, constant: Constant) -> bool:
        is_small = constant.array.size <= self.largest_folded
        return is_small and len(nested_text(constant, self.renderer.scalars)) <= LONGEST_INLINE

    def _added(self, node: Node, constant: Constant, names: Names) -> Expression:
        number = len(self._known) + 1
        element_type = node.type
        dtype = self.renderer.dtype(element_type)
        origin = self.origins.get(constant.sha256, "")
        word = self.word(constant) if origin else self._literal_word(constant)
        name = self._fresh(word.upper() or f"TABLE_{number}", names)
        table = self._spaced(name, constant, dtype)
        is_small = constant.array.size <= LARGEST_INLINE and not (self.as_tensors and origin)
        if not table and (is_small or self.inline):
            table = self._table(name, constant, dtype)
        if table:
            self.names.add(name)
            names.taken.add(name)
            self.lines.append(table)
            return Expression(name)
        mark = constant.sha256[:_DIGITS_OF_NAME] if self.are_shared else number
        name = origin if origin and origin not in self.sidecar else f"constant_{mark}"
        self.sidecar[name] = constant.array
        shape = str(constant.array.shape)
        if self.as_tensors and safetensors.can_hold(constant.array):
            self.renderer.used_prelude["mapped_tensor"] = None
            return self.renderer.expression(
                "stored_tensor", f'"{name}"', f'"{constant.sha256[:DIGEST_DIGITS]}"', dtype, shape
            )
        function = "mapped_constant" if is_mapped(constant.array) else "constant"
        self.renderer.used_prelude[function] = None
        bits = dtype if element_type.is_extension else ""
        return self.renderer.expression("stored", function, name, constant.sha256[:DIGEST_DIGITS], shape, bits)

    def word(self, constant: Constant) -> str:
        """Return the name of a constant by its origin, or an empty string if that is unknown."""
        origin = self.origins.get(constant.sha256, "")
        return constant_word(origin, self.origins.values()) if origin else ""

    def _literal_word(self, constant: Constant) -> str:
        """Return the author's name of the literal that a constant is, or an empty string if it says nothing."""
        word = self.tables.of(constant.array)
        return "" if is_empty_word(word) else word

    def _fresh(self, name: str, names: Names) -> str:
        """Return a name that is unique in the module, and that no value has in a function so far."""
        taken = (self.names, self.reserved, self.hidden_by, names.taken)
        wanted = chain((name,), (f"{name}_{k}" for k in count(2)))
        return next(each for each in wanted if not any(each in some for some in taken))

    def _spaced(self, name: str, constant: Constant, dtype: str) -> str:
        """Return the statement of an evenly spaced table, by its first and last number, or an empty string."""
        ends = evenly_spaced(constant.array, self.renderer.scalars)
        return self.renderer.statement("spaced_table", name, *ends, constant.array.size, dtype) if ends else ""

    def _table(self, name: str, constant: Constant, dtype: str) -> str:
        rows = filled_rows(constant, self.renderer.scalars, self.renderer.layout)
        if rows:
            return self.renderer.statement("filled_table", name, rows, dtype)
        return self.renderer.statement("table", name, nested_text(constant, self.renderer.scalars), dtype)


def evenly_spaced(array: np.ndarray, namespace: str) -> tuple[str, str] | None:
    """Return the texts of the first and the last number if ``np.linspace`` gives the same bits, or None."""
    if array.ndim != 1 or array.size < _FEWEST_SPACED or array.dtype.kind != "f":
        return None
    if array[0] == array[-1] or not np.isfinite(array[[0, -1]]).all():
        return None
    texts = number(array[0], namespace), number(array[-1], namespace)
    first, last = map(float, texts)
    some = np.array([1, array.size // 2])  # compared first, as a table may be large
    expected = some * ((last - first) / (array.size - 1)) + first
    if not np.array_equal(expected.astype(array.dtype), array[some]):
        return None
    spaced = np.linspace(first, last, array.size, dtype=array.dtype)
    return texts if spaced.tobytes() == array.tobytes() else None


def filled_rows(constant: Constant, namespace: str, layout: Layout) -> list[str]:
    """Return the lines of a row, or of rows, that are too long for a line each; none for other tables."""
    array = constant.array
    if array.ndim not in (1, 2) or not array.size:
        return []
    texts = [nested_text(Constant.of(row), namespace) for row in np.atleast_2d(array)]
    if array.ndim == 1:
        texts = [text.strip("[]") for text in texts]
    if max(map(len, texts)) <= layout.line_length - 2 * _INDENT - 2:
        return []
    wide = layout.line_length - _INDENT
    return [line for text in texts for line in wrap(text + ",", wide, subsequent_indent=" " * (array.ndim - 1))]
