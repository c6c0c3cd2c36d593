"""Texts of expressions of one element, in the Python that Numba compiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....transpile.array.node import Node
from ....transpile.emission.expression import Renderer
from ....transpile.emission.kernels.kernel_writer import KernelRenderer
from ....transpile.emission.literals import number
from ....transpile.hlo.element_types import ELEMENT_TYPES, F32, S8, S64, U8, U16, U32, U64, ElementType
from ....transpile.kernels.index_maps import Index
from ....transpile.kernels.operations import start_value
from ....transpile.python.grammar import ATOM, PRIMARY, SIGN
from ....transpile.python.templates import Expression, Hole
from ..kernels import AS_BITS, NARROW, NIBBLES, shifts_within

# Kernels make numbers by types under Numba's short names, which are the codes of NumPy's dtypes.
CASTS = {
    "s8": "i1",
    "s16": "i2",
    "s32": "i4",
    "s64": "i8",
    "u8": "u1",
    "u16": "u2",
    "u32": "u4",
    "u64": "u8",
    "f32": "f4",
    "f64": "f8",
    "c64": "c8",
    "c128": "c16",
    **dict.fromkeys(NARROW, "f4"),
    **{name: ELEMENT_TYPES[name].dtype.name for name in NIBBLES},  # functions of the prelude
}
# Operations on narrow floats whose results are narrow floats already: nothing has to be rounded.
_EXACT = frozenset("negate abs maximum minimum clamp select floor ceil round-nearest-even read gather".split())
_EXACT |= {"guarded_gather", "concatenate", "stack", "roll", "pad", "conditional", "item", "parameter", "literal"}
# Floats of 8 bits may have no negative zero, and no whole number that is next to the largest.
_EXACT_OF_BITS = {16: _EXACT, 8: _EXACT - {"negate", "floor", "ceil", "round-nearest-even"}, 4: _EXACT}
# Numba computes these in 64 bits: what may leave the type of its operands is cut to it again.
_WIDENED = frozenset("add subtract multiply negate not shift-left abs divide remainder square".split())
# Numba promises LLVM that these never leave int64.
_PROMISED = frozenset("add subtract multiply square".split())
# These have no sign there if no operand has one: beside a literal, which has one, they would become floats.
_UNSIGNED = frozenset("and or xor shift-right-logical shift-right-arithmetic".split())
# To type checkers these are anything; a number that they know must be clamped by numbers of its type.
_UNTYPED = frozenset(("getitem", "read", "gather", "guarded_gather", "item"))
_LEAST = np.iinfo(np.int64).min
# Macros for narrow numbers end in the name of their storage.
_SIZES = {name: "word" if ELEMENT_TYPES[name].bits == 16 else "byte" for name in NARROW} | dict.fromkeys(
    NIBBLES, "nibble"
)


class Row(Expression):
    """A view of an array, ``array[i]``: ``items`` are the texts of its indices, None for a whole axis."""

    array: str
    items: tuple[str | None, ...]

    @classmethod
    def of(cls, text: str, array: str, items: Sequence[str | None]) -> Row:
        made = cls(text, PRIMARY)
        made.array, made.items = array, tuple(items)
        return made


class NumbaRenderer(KernelRenderer):
    """The macros of kernels for Numba.

    ``counters`` are the counters of the open loops by axis, ``used_casts`` the types to which kernels convert.
    """

    def __init__(self, folder: Path, beside: Renderer) -> None:
        self.caller = beside
        self.counters: dict[int, str] = {}
        self.used_casts: set[str] = set()
        super().__init__(folder, beside)

    def own_globals(self) -> dict[str, Any]:
        return super().own_globals() | {
            "counter": self.counters.get,
            "number": self.plain_number,
            "element": self.element,
            "loaded": self.loaded,
            "shifts_within": shifts_within,
        }

    def own_filters(self) -> dict[str, Any]:
        return {"cast": self.cast_name, "unsigned": self.unsigned, "signed": self.signed, "kind": self.kind}

    def kind(self, element_type: ElementType) -> str:
        """Return the name of the type in which an element is computed."""
        return self.number_type(element_type).name

    @staticmethod
    def number_type(element_type: ElementType) -> ElementType:
        """Return Numba's type of an element: float32 for narrow floats, 8 bits for narrow integers."""
        if element_type.name in NIBBLES:
            return S8 if element_type.is_signed else U8
        return F32 if element_type.name in NARROW else element_type

    def type_name(self, element_type: ElementType) -> str:
        """Return "": names have no types in Numba's Python."""
        return ""

    def cast_name(self, element_type: ElementType) -> str:
        """Return the name of a conversion, such as ``f4``."""
        if element_type.name == "pred":
            return self.dtype(element_type)
        name = CASTS[element_type.name]
        if element_type.name in NIBBLES:
            return self.called_function(name)
        self.used_casts.add(name)
        return name

    def dtype(self, element_type: ElementType) -> str:
        """Return the dtype in which elements are computed."""
        return self.caller.dtype(self.number_type(element_type))

    def stored_dtype(self, element_type: ElementType) -> str:
        """Return the dtype of an array in memory: bits for narrow types."""
        bits = U16 if element_type.bits == 16 else U8
        return self.caller.dtype(bits if element_type.name in AS_BITS else element_type)

    def loaded(self, text: Expression, array: Node) -> Expression:
        """Return the value of an element that was read from memory."""
        return self._by("number_of", text, array.type) if array.ndim and array.type.name in AS_BITS else text

    def stored(self, text: Expression, element_type: ElementType) -> Expression:
        """Return what is stored in memory for a value."""
        return self._by("bits_of", text, element_type) if element_type.name in AS_BITS else text

    def _by(self, conversion: str, text: str, element_type: ElementType) -> Expression:
        """Return a conversion of a narrow type: ``number_of``, ``bits_of`` or ``rounded``."""
        macro = f"{conversion}_{_SIZES[element_type.name]}"
        return self.expression(macro, element_type.name, text)

    def unsigned(self, element_type: ElementType) -> str:
        """Return the conversion to the unsigned type of the same width: ``u4`` for ``s32``."""
        return self.cast_name(ELEMENT_TYPES[f"u{element_type.bits}"])

    def signed(self, element_type: ElementType) -> str:
        """Return the conversion to the signed type of the same width: ``i4`` for ``u32``."""
        return self.cast_name(ELEMENT_TYPES[f"s{element_type.bits}"])

    def plain_number(self, value: Any) -> str:
        """Return a number without a type."""
        return number(np.asarray(value), self.namespace)

    def render(self, node: Node, operands: Sequence[Expression]) -> Expression:
        if self._may_wrap(node):
            return self.cast(super().render(node, [self.cast(text, U64) for text in operands]), S64)
        if node.type is U32 and node.opcode == "multiply":  # a literal has a sign
            pairs = zip(node.operands, operands, strict=True)
            operands = [self.cast(text, U32) if x.opcode == "literal" else text for x, text in pairs]
        if node.opcode == "clamp" and node.type.is_integral and node.operands[1].opcode not in _UNTYPED:
            pairs = zip(node.operands, operands, strict=True)
            operands = [self.cast(text, node.type) if x.opcode == "literal" else text for x, text in pairs]
        text = super().render(node, operands)
        if self._is_widened(node):
            return self.cast(text, node.type)
        if node.type.name in NARROW and node.opcode not in _EXACT_OF_BITS[node.type.bits]:
            return self._by("rounded", text, node.type)
        return text

    def untyped(self, node: Node, operands: Sequence[Expression]) -> Expression:
        """Return an integer without HLO's type."""
        return super().render(node, operands)

    def _may_wrap(self, node: Node) -> bool:
        """Return whether an integer may leave int64; then it is computed in unsigned arithmetic, which wraps around."""
        return node.type is S64 and node.opcode in _PROMISED and node.interval is None

    def _is_widened(self, node: Node) -> bool:
        """Return whether Numba computes a node in a wider type than the node has."""
        if not node.type.is_integral or node.type.bits == 64:
            return False
        is_signed = not node.type.is_unsigned or any(operand.opcode == "literal" for operand in node.operands)
        return node.opcode in _WIDENED or (node.opcode in _UNSIGNED and not is_signed)

    def cast(self, text: str, element_type: ElementType) -> Expression:
        """Return a value converted to exactly this type."""
        return self.expression("cast", self.cast_name(element_type), text)

    def element(self, array: str, indices: Sequence[Index | None], computed: Sequence[str] = ()) -> Expression:
        """Return an element of an array or of a row, or an array of rank 0 itself; an index None is the next of the
        ``computed`` ones.
        """
        given = iter(computed)
        places = iter([next(given) if index is None else self.expression("place", index) for index in indices])
        row = array.operand if isinstance(array, Hole) else array
        if isinstance(row, Row):
            texts = [next(places) if item is None else item for item in row.items]
            return self.expression("item", row.array, [*texts, *places])
        return self.expression("item", array, list(places))

    def start(self, reduction: str, element_type: ElementType) -> str:
        """Return the neutral element of a reduction, without a type."""
        return self.plain_number(start_value(reduction, element_type))

    def typed_literal(self, value: np.ndarray, element_type: ElementType) -> Expression:
        """Return a constant; integers have 64 bits until they are converted, like all results.

        The smallest int64 needs its own form: Numba reads its digits as a number that does not fit.
        """
        if element_type.name in AS_BITS:
            value = np.asarray(value).astype(self.number_type(element_type).dtype)
        if element_type.is_complex or element_type.name in ("f32", "u64", "u4", "u2", *NARROW) or value == _LEAST:
            return self.cast(self.plain_number(value), element_type)
        text = self.statement("constant_number", self.plain_number(value), element_type)
        return Expression(text, SIGN if text.startswith("-") else ATOM)

    def weak_literal(self, value: np.ndarray) -> Expression:
        """Return a constant of unknown type, since Numba has no weak types."""
        raise AssertionError("a kernel has typed constants only")
