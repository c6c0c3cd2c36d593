"""The prelude functions for operations where NumPy and HLO differ, by opcode and element type.

The measured table behind this is docs/numpy_numerics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...array.node import Node
from ...dataclass import dataclass
from ...hlo.element_types import F32, F64, ElementType


@dataclass(frozen=True, slots=True)
class Site:
    """An element-wise operation about to be lowered."""

    operands: tuple[Node, ...]
    types: tuple[ElementType, ...]  # of the operands
    result: ElementType
    parameters: dict[str, Any]


Form = dict[str, Any]  # function, statics, keywords of a prelude call
Variant = Callable[[Site], Form | None]


def prelude_function(opcode: str, site: Site) -> Form | None:
    """Return the prelude call for an element-wise operation, or None if the operator or ufunc is right."""
    variant = _VARIANTS.get(opcode)
    return variant(site) if variant is not None else None


def _call(function: str, *statics: Any, **keywords: Any) -> Form:
    """Return a call of the operands, then static arguments."""
    return {"function": function, "statics": statics, "keywords": keywords}


def _always(function: str) -> Variant:
    return lambda site: _call(function)


def _by_kind(
    *,
    integral: str | None = None,
    floating: str | None = None,
    complex_: str | None = None,
    native: tuple[ElementType, ...] = (),
) -> Variant:
    """Return a variant by the kind of the operand, except for ``native`` types, for which NumPy's own expression is
    right.
    """

    def variant(site: Site) -> Form | None:
        kind = site.types[0]
        if kind in native:
            return None
        function = (
            integral if kind.is_integral else complex_ if kind.is_complex else floating if kind.is_floating else None
        )
        return _call(function) if function is not None else None

    return variant


def _unless(native: Callable[[ElementType], bool], function: str) -> Variant:
    return lambda site: None if native(site.types[0]) else _call(function)


def _division(function: str) -> Variant:
    """Return a variant for integers, unless a non-negative number is divided by a positive one: ``//`` and ``%`` are
    right then.
    """

    def variant(site: Site) -> Form | None:
        dividend, divisor = site.operands
        if not site.types[0].is_integral:
            return None
        positive = divisor.interval is not None and divisor.interval[0] > 0
        no_sign = site.types[0].is_unsigned or (dividend.interval is not None and dividend.interval[0] >= 0)
        return None if positive and no_sign else _call(function)

    return variant


def _convert(site: Site) -> Form | None:
    (source,) = site.types
    if source.is_floating and site.result.is_integral:
        return _call("to_int", site.result)
    if source is F64 and site.result.is_floating and site.result.bits < 16:
        return _call("round_to", site.result)  # ml_dtypes would round twice, first to float32
    return None


_VARIANTS: dict[str, Variant] = {
    "atan2": _by_kind(complex_="complex_atan2"),
    "complex": _always("complex_from_parts"),
    "convert": _convert,
    "count-leading-zeros": _always("count_leading_zeros"),
    "divide": _division("int_divide"),
    "erf": lambda site: _call("erf_float64" if site.types[0] is F64 else "erf"),
    "exponential-minus-one": _by_kind(complex_="complex_expm1"),
    "log-plus-one": _by_kind(complex_="complex_log1p"),
    "logistic": _by_kind(floating="logistic", complex_="complex_logistic", native=(F32, F64)),
    "maximum": _by_kind(complex_="complex_maximum"),
    "minimum": _by_kind(complex_="complex_minimum"),
    "mulhi": _always("mulhi"),
    "popcnt": _always("popcount"),
    "power": _by_kind(integral="int_power"),
    "reduce-precision": lambda site: _call("reduce_precision", **site.parameters),
    "remainder": _division("int_remainder"),
    "round-nearest-afz": _always("round_half_away"),
    "rsqrt": _by_kind(floating="rsqrt", complex_="complex_rsqrt", native=(F32, F64)),
    "shift-right-arithmetic": _unless(lambda t: t.is_signed and t.bits >= 8, "shift_right_arithmetic"),
    "shift-right-logical": _unless(lambda t: t.is_unsigned and t.bits >= 8, "shift_right_logical"),
    "sign": _by_kind(floating="sign", complex_="complex_sign"),
    "stochastic-convert": lambda site: _call("stochastic_convert", site.result),
}
