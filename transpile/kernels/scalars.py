"""Reference implementations of kernel operations on NumPy scalars, by the definitions of HLO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...templates.prelude import complex as complexes
from ...templates.prelude import conversion, floats, integers, special
from ..array.node import Node

Function = Callable[..., Any]

_COMPARISONS: dict[str, Function] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def _uniform_of(*operands: Any) -> Any:
    from ...templates.prelude import keys  # imports NumPy's generators

    return keys.uniform_of(*operands)


def _divide(a: Any, b: Any) -> Any:
    """Divide; integers as Python does. A division that may be by zero is another function."""
    return a // b if np.asarray(a).dtype.kind in "iu" else np.divide(a, b)


def _remainder(a: Any, b: Any) -> Any:
    """Return the remainder of ``_divide``: for integers nonnegative if ``b`` is, for floats with the sign of ``a``."""
    return np.remainder(a, b) if np.asarray(a).dtype.kind in "iu" else np.fmod(a, b)


def _logistic(x: Any) -> Any:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


SCALARS: dict[str, Function] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": _divide,
    "negate": np.negative,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "remainder": _remainder,
    "power": np.power,
    "atan2": np.arctan2,
    "abs": np.abs,
    "square": np.square,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shift-left": np.left_shift,
    "shift-right-logical": integers.shift_right_logical,
    "shift-right-arithmetic": np.right_shift,
    "exponential": np.exp,
    "exponential-minus-one": np.expm1,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "log-plus-one": np.log1p,
    "logistic": _logistic,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "cbrt": np.cbrt,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "round-nearest-even": np.rint,
    "is-finite": np.isfinite,
    "isnan": np.isnan,
    "real": np.real,
    "imag": np.imag,
    "sign": np.sign,
    "convert": lambda x: x,  # the result is cast to the type of the node
    "scalar": lambda x: x,
    "select": lambda which, a, b: a if which else b,
}
# Functions of NumPy's prelude, which tests compare with HLO.
OF_INTEGERS: dict[str, Function] = {
    function.__name__: function
    for function in (
        integers.int_divide,
        integers.int_remainder,
        integers.int_power,
        integers.popcount,
        integers.count_leading_zeros,
        integers.mulhi,
        integers.shift_right_logical,
        integers.shift_right_arithmetic,
    )
}
FUNCTIONS: dict[str, Function] = {
    **OF_INTEGERS,
    "shift_left": lambda x, n: x.dtype.type(0) if not 0 <= n < 8 * x.dtype.itemsize else np.left_shift(x, n),
    "logistic": floats.logistic,
    "rsqrt": floats.rsqrt,
    "sign": floats.sign,
    "round_half_away": floats.round_half_away,
    "reduce_precision": floats.reduce_precision,
    "erf": floats.erf,
    "erf_float64": floats.erf_float64,
    "erfc": special.erfc,
    "erfc_float64": special.erfc_float64,
    "erf_inv": special.erf_inv,
    "erf_inv_float64": special.erf_inv_float64,
    "normal_cdf": special.normal_cdf,
    "normal_cdf_float64": special.normal_cdf_float64,
    "sigmoid": special.sigmoid,
    "uniform_of": _uniform_of,
    **{
        function.__name__: function
        for function in (
            complexes.complex_from_parts,
            complexes.complex_log1p,
            complexes.complex_expm1,
            complexes.complex_logistic,
            complexes.complex_rsqrt,
            complexes.complex_sign,
            complexes.complex_maximum,
            complexes.complex_minimum,
        )
    },
}
CONVERSIONS: dict[str, Function] = {"to_int": conversion.to_int, "round_to": conversion.round_to}


def scalar_of(node: Node, operands: list[Any]) -> Any:
    """Return the result of an operation on elements, in the type of the node. Raises KeyError for an unknown
    operation.
    """
    dtype = node.type.dtype
    if node.opcode == "compare":
        made = _COMPARISONS[node.parameters["direction"]](*operands)
    elif node.opcode == "view":
        made = np.asarray(operands[0]).view(dtype)
    elif node.opcode == "prelude" and node.parameters["function"] in CONVERSIONS:
        made = CONVERSIONS[node.parameters["function"]](np.asarray(operands[0]), dtype)
    elif node.opcode == "prelude":
        made = FUNCTIONS[node.parameters["function"]](*map(np.asarray, operands), **node.parameters["keywords"])
    else:
        made = SCALARS[node.opcode](*operands)
    return np.asarray(made).astype(dtype)[()]


def quotient_of(node: Node, total: Any) -> Any:
    """Return a mean, a variance or a standard deviation from the sum over a line."""
    made = np.divide(total, node.type.dtype.type(node.parameters["count"]))
    return np.sqrt(made) if node.opcode == "std" else made
