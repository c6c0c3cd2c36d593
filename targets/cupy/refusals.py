"""What CuPy says as HLO means it. Source: CuPy 14.2, its ufunc tables and the bodies of their loops."""

from __future__ import annotations

from math import isfinite

from ...transpile.array.node import Node, literal_value
from ...transpile.array.scalars import is_known_on_host
from ..refusals import (
    ELEMENTWISE,
    Rule,
    choice_is_known,
    filling_is_constant,
    index_is_known,
    lacks,
    refused_by,
    speaks,
)

# The dtypes of CuPy 14; bfloat16 is the only one of ml_dtypes.
_ELEMENT_TYPES = frozenset("pred s8 s16 s32 s64 u8 u16 u32 u64 bf16 f16 f32 f64 c64 c128".split())


def refuses(node: Node) -> str | None:
    """The reason why CuPy cannot say a node, or None."""
    if node.element_type is not None and node.element_type.name not in _ELEMENT_TYPES:
        return f"there is no dtype for {node.element_type}"
    return refused_by(RULES, _TRAPS, node)


def _real(node: Node) -> str | None:
    return "there is no loop for complex numbers" if node.type.is_complex else None


def _in_range(node: Node) -> bool:
    """The amount is proved to be less than the width."""
    bounds = node.operands[1].interval
    return bounds is not None and bounds[0] >= 0 and bounds[1] < node.type.bits


def _shift(node: Node) -> str | None:
    """C++ leaves shifts by the width or more undefined; HLO gives 0, or the sign."""
    if node.type.is_unsigned or _in_range(node):
        return None
    return "shifts of signed numbers by the width or more are undefined, and the amount is not known"


def _same_width(node: Node) -> str | None:
    return None if node.operands[0].type.bits == node.type.bits else "the elements change width"


def _with_a_number(node: Node) -> str | None:
    """cupy.logaddexp gives NaN for two infinities of the same sign."""
    finite = any(operand.is_literal and isfinite(literal_value(operand)) for operand in node.operands)
    return None if finite else "cupy.logaddexp gives NaN for equal infinities"


def _counted(node: Node) -> str | None:
    counted = node.parameters["loop"].counter is not None
    return None if counted else "the number of iterations is not known, and each test would wait for the device"


def _indices_have_axes_or_are_known(node: Node) -> str | None:
    return None if all(index.ndim or is_known_on_host(index) for index in node.operands[1:]) else _WAITS


_WAITS = "indexing by a number on the device waits for it"

RULES: dict[str, Rule] = {
    # element-wise
    **speaks(ELEMENTWISE),
    **dict.fromkeys(("atan2", "cbrt"), _real),
    **dict.fromkeys(("shift-left", "shift-right-arithmetic", "shift-right-logical"), _shift),
    **speaks("square"),
    "logaddexp": _with_a_number,
    "view": _same_width,
    # leaves and structure
    **speaks("parameter literal integer item arange tri eye tril triu diagonal roll array full zeros ones empty copy"),
    **speaks("expand transpose reshape broadcast_to concatenate stack call"),
    **dict.fromkeys(("getitem", "setitem"), index_is_known(_WAITS)),
    **dict.fromkeys(("take", "advanced_index"), _indices_have_axes_or_are_known),
    "pad": filling_is_constant,
    # reductions and contractions
    **speaks("sum mean var std prod max min any all argmax argmin cumsum cumprod matmul tensordot einsum"),
    **lacks("cummax cummin", "cupy.maximum and cupy.minimum have no accumulate"),
    **lacks("bitwise_reduce", "cupy's bitwise functions have no reduce"),
    # several replicas
    **speaks("collective send recv replica-id partition-id"),
    # control
    "loop": _counted,
    "conditional": choice_is_known("branching on a value on the device waits for it"),
}

# What CuPy would get wrong where NumPy has a function of the prelude.
_TRAPS = {
    "to_int": "astype wraps numbers out of range, which HLO saturates",
    "int_divide": "// rounds down, and gives 0 for a divisor of 0",
    "int_remainder": "% takes the divisor's sign, and fmod goes through float64",
    "sign": "cupy.sign loses the sign of -0",
    "popcount": "cupy.bitwise_count counts the bits of the absolute value",
}
