"""Functions of floats whose last bits depend on the processor, evaluated where rounding makes all results equal.

For float32, they are computed in float64, with an error of a few units in the last place. Rounding to float32 hides the
error, except for about one number in a million, which is left to run time. For one float64, logarithms, exponentials
and powers are computed in decimal numbers of many digits, which are the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np

from ....templates import of_prelude
from ...array.node import Node
from ...hlo.element_types import F32, F64
from ...kernels.scalars import SCALARS
from .folding import is_exact

Array = np.ndarray[Any, np.dtype[Any]]

_DIGITS = Context(prec=60, Emin=-100_000, Emax=100_000)
_LARGEST = 700  # exponent of which the exponential is a float64 that is neither too large nor too small
_DOUBT = 2.0**-44  # of a value, far more than the error of any library


def _log_ndtr(x: Array) -> Array:
    # The logarithm of a probability next to 1 loses digits; ``log1p`` of the other tail keeps them.
    cdf, log_ndtr = of_prelude("special.normal_cdf_float64"), of_prelude("normal.log_ndtr_float64")
    logarithm: Array = np.where(x > 0, np.log1p(-cdf(-x)), log_ndtr(x))
    return logarithm


CALLS: Mapping[str, Callable[..., Any]] = {
    "erfcx": of_prelude("normal.erfcx_float64"),
    "lgamma": np.vectorize(lambda x: math.lgamma(x) if x > 0 else math.nan, otypes=[np.float64]),
    "log_ndtr": _log_ndtr,
    "ndtri": of_prelude("normal.ndtri"),
}


def _log(x: Decimal) -> Decimal | None:
    return _DIGITS.ln(x) if x > 0 else None


def _log1p(x: Decimal) -> Decimal | None:
    # The sum is exact: a float64 has fewer than 1100 digits.
    return _DIGITS.ln(Context(prec=1200).add(x, Decimal(1))) if x > -1 and x else None


def _exp(x: Decimal) -> Decimal | None:
    return _DIGITS.exp(x) if abs(x) <= _LARGEST else None


def _expm1(x: Decimal) -> Decimal | None:
    # For small numbers, the difference loses as many digits as they have zeros.
    context = Context(prec=420)
    return context.subtract(context.exp(x), Decimal(1)) if 1e-300 < abs(x) <= _LARGEST else None


def _power(x: Decimal, y: Decimal) -> Decimal | None:
    exponent = _DIGITS.multiply(y, _DIGITS.ln(x)) if x > 0 else None
    return None if exponent is None or abs(exponent) > _LARGEST else _DIGITS.exp(exponent)


# By the operation's ``function``, or its opcode if it has none.
_DECIMAL: Mapping[str, Callable[..., Decimal | None]] = {
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "power": _power,
}


def is_rounded(node: Node) -> bool:
    """Return whether the last bits of a node's unrounded value depend on the processor."""
    if node.opcode == "prelude":
        return node.parameters["function"] in CALLS
    return node.operation.is_costly and node.type.is_floating and node.opcode in SCALARS and not is_exact(node.opcode)


def cut_call(node: Node) -> Node | None:
    """Return the float64 call that a node rounds to float32, or None."""
    if node.opcode != "convert" or node.element_type is not F32:
        return None
    (call,) = node.operands
    return call if call.opcode == "prelude" and is_rounded(call) and call.element_type is F64 else None


def rounded_value(node: Node, operands: Sequence[Array]) -> Array | None:
    """Return the value of such a node; None if it is NaN, its rounding is in doubt, or it is a float64 array of several
    elements that are not all 0.
    """
    if node.operation.keeps_zero and not np.any(operands[0]):
        return operands[0]
    if node.element_type is F64 and (decimal := _DECIMAL.get(node.operation.function or node.opcode)) is not None:
        return _in_decimals(decimal, operands)
    return rounded(_function_of(node), operands)


def _in_decimals(function: Callable[..., Decimal | None], operands: Sequence[Array]) -> Array | None:
    """Return the float64 value of a function of single finite numbers, or None."""
    if any(operand.size != 1 or not np.isfinite(operand).all() for operand in operands):
        return None
    exact = function(*(Decimal(float(operand.flat[0])) for operand in operands))
    return None if exact is None else np.full(operands[0].shape, float(exact))


def cut_value(call: Node, operands: Sequence[Array]) -> Array | None:
    """Return the float64 value of a call, rounded to float32, or None if it is NaN or its rounding is in doubt."""
    return _rounded_once(_function_of(call), operands)


def _function_of(node: Node) -> Callable[..., Any]:
    return CALLS[node.parameters["function"]] if node.opcode == "prelude" else SCALARS[node.opcode]


def rounded(function: Callable[..., Any], operands: Sequence[Array]) -> Array | None:
    """Return the value of a function of float32 operands, or None."""
    if any(operand.dtype != np.float32 for operand in operands):
        return None
    return _rounded_once(function, [operand.astype(np.float64) for operand in operands])


def _rounded_once(function: Callable[..., Any], operands: Sequence[Array]) -> Array | None:
    with np.errstate(all="ignore"):
        exact = np.asarray(function(*operands))
        below, above = ((exact * factor).astype(np.float32) for factor in (1 - _DOUBT, 1 + _DOUBT))
    return None if np.isnan(exact).any() or below.tobytes() != above.tobytes() else below
