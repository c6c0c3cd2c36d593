"""The element types of HLO and the NumPy dtypes that hold them.

Source: the list of primitive types in XLA's ``xla_data.proto``; the shapes-and-layouts seed.
"""

from __future__ import annotations

from enum import Enum

import ml_dtypes
import numpy as np

from ..dataclass import dataclass


class Kind(Enum):
    """The arithmetic of an element type."""

    PRED = "pred"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    COMPLEX = "complex"


_FLOAT, _COMPLEX, _SIGNED, _UNSIGNED = Kind.FLOAT, Kind.COMPLEX, Kind.SIGNED, Kind.UNSIGNED  # looked up often


@dataclass(frozen=True, eq=False, slots=True)
class ElementType:
    """One element type, e.g. ``f32``; a singleton.

    ``bits`` is the width of one element (8 for ``pred``, 4 for ``s4``); ``dtype`` is the NumPy dtype of arrays of this
    type in emitted code and in literals.
    """

    name: str
    kind: Kind
    bits: int
    dtype: np.dtype

    def __str__(self) -> str:
        return self.name

    @property
    def is_floating(self) -> bool:
        return self.kind is _FLOAT

    @property
    def is_complex(self) -> bool:
        return self.kind is _COMPLEX

    @property
    def is_integral(self) -> bool:
        """Whether the type is a signed or unsigned integer; ``pred`` is neither."""
        return self.kind is _SIGNED or self.kind is _UNSIGNED

    @property
    def is_signed(self) -> bool:
        return self.kind is _SIGNED

    @property
    def is_unsigned(self) -> bool:
        return self.kind is _UNSIGNED

    @property
    def is_low_precision(self) -> bool:
        """Whether the type is a float narrower than 32 bits: sums and dots accumulate in float32."""
        return self.is_floating and self.bits < 32

    @property
    def is_extension(self) -> bool:
        """Whether the dtype comes from ``ml_dtypes``, not from NumPy."""
        return self.dtype.type.__module__.split(".")[0] == "ml_dtypes"

    @property
    def is_narrow(self) -> bool:
        """Whether NumPy computes elements in another type, or lacks the type: float16, bfloat16, integers of 4 bits."""
        return self.is_low_precision or self.is_extension

    @property
    def real(self) -> ElementType:
        """The type of the parts of a complex element; any other type itself."""
        return {"c64": F32, "c128": F64}.get(self.name, self)


_ROWS: list[tuple[str, Kind, int, str]] = [
    ("pred", Kind.PRED, 8, "bool"),
    ("s1", Kind.SIGNED, 1, "int1"),
    ("s2", Kind.SIGNED, 2, "int2"),
    ("s4", Kind.SIGNED, 4, "int4"),
    ("s8", Kind.SIGNED, 8, "int8"),
    ("s16", Kind.SIGNED, 16, "int16"),
    ("s32", Kind.SIGNED, 32, "int32"),
    ("s64", Kind.SIGNED, 64, "int64"),
    ("u1", Kind.UNSIGNED, 1, "uint1"),
    ("u2", Kind.UNSIGNED, 2, "uint2"),
    ("u4", Kind.UNSIGNED, 4, "uint4"),
    ("u8", Kind.UNSIGNED, 8, "uint8"),
    ("u16", Kind.UNSIGNED, 16, "uint16"),
    ("u32", Kind.UNSIGNED, 32, "uint32"),
    ("u64", Kind.UNSIGNED, 64, "uint64"),
    ("f4e2m1fn", Kind.FLOAT, 4, "float4_e2m1fn"),
    ("f8e3m4", Kind.FLOAT, 8, "float8_e3m4"),
    ("f8e4m3", Kind.FLOAT, 8, "float8_e4m3"),
    ("f8e4m3fn", Kind.FLOAT, 8, "float8_e4m3fn"),
    ("f8e4m3b11fnuz", Kind.FLOAT, 8, "float8_e4m3b11fnuz"),
    ("f8e4m3fnuz", Kind.FLOAT, 8, "float8_e4m3fnuz"),
    ("f8e5m2", Kind.FLOAT, 8, "float8_e5m2"),
    ("f8e5m2fnuz", Kind.FLOAT, 8, "float8_e5m2fnuz"),
    ("f8e8m0fnu", Kind.FLOAT, 8, "float8_e8m0fnu"),
    ("bf16", Kind.FLOAT, 16, "bfloat16"),
    ("f16", Kind.FLOAT, 16, "float16"),
    ("f32", Kind.FLOAT, 32, "float32"),
    ("f64", Kind.FLOAT, 64, "float64"),
    ("c64", Kind.COMPLEX, 64, "complex64"),
    ("c128", Kind.COMPLEX, 128, "complex128"),
]
_DTYPES = {dtype: getattr(ml_dtypes, dtype, None) or getattr(np, dtype, None) for *_, dtype in _ROWS}

ELEMENT_TYPES: dict[str, ElementType] = {
    name: ElementType(name, kind, bits, np.dtype(_DTYPES[dtype])) for name, kind, bits, dtype in _ROWS if _DTYPES[dtype]
}
LACKING = frozenset(name for name, *_ in _ROWS) - frozenset(ELEMENT_TYPES)
"""Element types of XLA that the installed ml_dtypes has no dtype for: ``s1`` and ``u1`` before ml_dtypes 0.6."""
PRED = ELEMENT_TYPES["pred"]
S1, U1 = (ELEMENT_TYPES.get(name, name) for name in ("s1", "u1"))  # their names if ml_dtypes lacks them
S2, S4, S8, S16, S32, S64 = (ELEMENT_TYPES[f"s{bits}"] for bits in (2, 4, 8, 16, 32, 64))
U2, U4, U8, U16, U32, U64 = (ELEMENT_TYPES[f"u{bits}"] for bits in (2, 4, 8, 16, 32, 64))
F4E2M1FN, F8E3M4, F8E4M3, F8E4M3FN = (ELEMENT_TYPES[name] for name in ("f4e2m1fn", "f8e3m4", "f8e4m3", "f8e4m3fn"))
F8E4M3B11FNUZ, F8E4M3FNUZ = ELEMENT_TYPES["f8e4m3b11fnuz"], ELEMENT_TYPES["f8e4m3fnuz"]
F8E5M2, F8E5M2FNUZ, F8E8M0FNU = (ELEMENT_TYPES[name] for name in ("f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"))
BF16, F16, F32, F64 = (ELEMENT_TYPES[name] for name in ("bf16", "f16", "f32", "f64"))
C64, C128 = ELEMENT_TYPES["c64"], ELEMENT_TYPES["c128"]

_BY_DTYPE = {element_type.dtype: element_type for element_type in ELEMENT_TYPES.values()}


def from_dtype(dtype: object) -> ElementType:
    """Return the element type of a NumPy (or ml_dtypes) dtype. Raises ``KeyError`` for any other dtype."""
    return _BY_DTYPE[np.dtype(dtype)]  # type: ignore[call-overload]


def find_element_type(type_: object) -> ElementType:
    """Return the element type for an HLO name (``"f32"``), a dtype or an element type. Raises ``ValueError`` for
    anything else.
    """
    if isinstance(type_, ElementType):
        return type_
    if isinstance(type_, str) and type_ in ELEMENT_TYPES:
        return ELEMENT_TYPES[type_]
    if missing_dtype_message(str(type_)):  # NumPy takes "u1" for one byte
        raise ValueError(missing_dtype_message(str(type_)))
    try:
        return from_dtype(type_)
    except (KeyError, TypeError):
        raise ValueError(f"{type_!r} is not an element type") from None


def missing_dtype_message(name: str) -> str:
    """Return the message for an element type of XLA that the installed ml_dtypes lacks; "" for other names."""
    lack = f"ml_dtypes {ml_dtypes.__version__} has no dtype for {name}: a later version is needed"
    return lack if name in LACKING else ""
