"""Element-wise operations: those of HLO, and the few that only array libraries have."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from ...hlo.element_types import ElementType
from .. import intervals, magnitudes
from ..intervals import of_either, of_operands
from ..operation import Operand, Parameters, Row, Table
from . import axes
from .inference import broadcast, common_type, pred
from .parameters import WORD

OPERATIONS = Table()


def _real(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    own = operands[0].element_type
    return own.real if own is not None else None


def _is_count(operands: Sequence[Operand]) -> bool:
    """Return whether the operands are Python ints, or Python ints and literals."""
    counts = False
    for operand in operands:
        if operand.is_python_int:
            counts = True
        elif operand.opcode != "literal":
            return False
    return counts


def _define(names: str, operands: str, default_name: str = "", **row: Any) -> None:
    for name in names.split():
        OPERATIONS.define(
            name,
            operands,
            axes=axes.elementwise,
            is_elementwise=True,
            names=default_name or name.replace("-", "_"),
            **{"shape": broadcast, "element_type": common_type, "allocates": True, **row},
        )


_logic: Row = {"traits": "idempotent known_on_host commutative"}
_choice: Row = {"traits": "quiet idempotent commutative", "magnitude": magnitudes.largest}
# The result of Python ints is a Python int.
_counting: Row = {"python_int": _is_count, "is_known_on_host": True}

_define(
    "add",
    "x y",
    "total",
    after="shifted_{} {}_plus_{}",
    traits="wraps promotes commutative",
    magnitude=magnitudes.total,
    interval=of_operands(intervals.total),
    **_counting,
)
_define(
    "multiply",
    "x y",
    "product",
    after="scaled_{} {}_times_{}",
    traits="wraps promotes commutative",
    magnitude=magnitudes.product,
    interval=of_operands(intervals.product),
    **_counting,
)
_define(
    "subtract",
    "x y",
    "difference",
    after="shifted_{} {}_minus_{}",
    traits="wraps promotes",
    magnitude=magnitudes.total,
    interval=of_operands(intervals.difference),
    **_counting,
)
_define(
    "divide",
    "x y",
    "ratio",
    after="scaled_{} {}_over_{}",
    traits="promotes costly",
    magnitude=magnitudes.quotient,
    python_int=_is_count,
    interval=of_operands(intervals.quotient),
)
_define(
    "remainder",
    "x y",
    "rest",
    function="fmod",
    traits="costly",
    python_int=_is_count,
    interval=of_operands(intervals.rest),
)
_define("power", "x y", "power", traits="costly")
_define("maximum", "x y", "larger", function="maximum", interval=of_either(intervals.larger), **_choice)
_define("minimum", "x y", "smaller", function="minimum", interval=of_either(intervals.smaller), **_choice)
_define("atan2", "y x", "angle", function="arctan2", traits="costly")
_define("logaddexp", "x y", function="logaddexp", traits="commutative blocks_fusion")
_define("and", "x y", "mask", after="{}_mask", interval=of_either(intervals.both), **_logic)
_define("or", "x y", "mask", after="{}_mask", **_logic)
_define("xor", "x y", "mask", traits="known_on_host commutative", after="{}_mask")
_define("shift-left", "x count", "shifted")
_define("shift-right-logical", "x count", "shifted", interval=of_operands(intervals.shifted))
_define("shift-right-arithmetic", "x count", "shifted")

_define("negate", "x", "negative", after="minus_{}", traits="wraps quiet known_on_host", magnitude=magnitudes.largest)
_define("not", "x", "mask", traits="known_on_host", after="{}_mask")
_define(
    "abs",
    "x",
    "magnitude",
    function="abs",
    after="abs_{}",
    traits="quiet ignores_sign_of_zero",
    magnitude=magnitudes.largest,
    element_type=_real,
)
_define("sign", "x", function="sign", after="{}_sign", traits="quiet discontinuous", magnitude=magnitudes.one)
_define("floor", "x", function="floor", traits="quiet discontinuous", magnitude=magnitudes.largest, rounds=floor)
_define("ceil", "x", function="ceil", traits="quiet discontinuous", magnitude=magnitudes.largest, rounds=ceil)
_define("round-nearest-even", "x", "rounded", function="rint", traits="quiet discontinuous", rounds=round)
_define("sqrt", "x", "root", function="sqrt", after="sqrt_{}", traits="costly keeps_zero")
_define("cbrt", "x", "root", function="cbrt", after="cbrt_{}", traits="costly keeps_zero")
_define("rsqrt", "x", "scale", traits="costly")
_define(
    "square",
    "x",
    "square",
    function="square",
    after="{}_squared",
    traits="ignores_sign_of_zero",
    magnitude=magnitudes.square,
)
_define("exponential", "x", "exp", function="exp", after="exp_{}", traits="costly ignores_sign_of_zero")
_define("exponential-minus-one", "x", "expm1", function="expm1", traits="costly keeps_zero")
_define("exp2", "x", function="exp2", after="exp2_{}", traits="costly ignores_sign_of_zero")
_define("log2", "x", function="log2", after="log2_{}", traits="costly")
_define("log", "x", function="log", after="log_{}", traits="costly")
_define("log-plus-one", "x", "log1p", function="log1p", traits="costly keeps_zero")
_define("logistic", "x", "gate", after="{}_gate", traits="costly ignores_sign_of_zero")
_define("sine", "x", "sin", function="sin", after="sin_{}", traits="costly keeps_zero", magnitude=magnitudes.one)
_define(
    "cosine", "x", "cos", function="cos", after="cos_{}", traits="costly ignores_sign_of_zero", magnitude=magnitudes.one
)
_define("tan", "x", function="tan", after="tan_{}", traits="costly keeps_zero")
_define("tanh", "x", function="tanh", after="tanh_{}", traits="costly keeps_zero", magnitude=magnitudes.one)
for _function in "sinh cosh arccos arccosh arcsin arcsinh arctanh".split():
    _define(_function.replace("arc", "a"), "x", function=_function, traits="costly")

_define(
    "compare",
    "x y",
    "mask",
    traits="quiet known_on_host ignores_sign_of_zero promotes discontinuous",
    element_type=pred,
    parameters={"direction": WORD, "type": WORD.optional},
    after="{}_mask",
)
_define(
    "is-finite",
    "x",
    "finite",
    function="isfinite",
    traits="quiet ignores_sign_of_zero",
    element_type=pred,
    after="{}_mask",
)
_define("isnan", "x", "missing", function="isnan", traits="quiet", element_type=pred, after="{}_mask")
_define(
    "select",
    "mask x y",
    "chosen",
    function="where",
    traits="quiet promotes",
    magnitude=magnitudes.largest,
    element_type=lambda operands, parameters: common_type(operands[1:], parameters),
    python_int=lambda operands: all(operand.is_python_int for operand in operands[1:]),
    interval=intervals.chosen,
)
_define(
    "clamp",
    "low x high",
    "clipped",
    after="clipped_{}",
    traits="quiet",
    magnitude=magnitudes.largest,
    interval=of_operands(intervals.clamped),
)

_define("real imag", "x", traits="moves view", element_type=_real, allocates=False)
_define(
    "convert",
    "x",
    "converted",
    traits="known_on_host discontinuous",
    magnitude=magnitudes.largest,
    element_type=None,
    interval=intervals.converted,
)
