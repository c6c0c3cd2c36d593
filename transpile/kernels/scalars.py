"""Reference implementations of kernel operations on NumPy scalars, by the definitions of HLO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...templates.prelude import integers
from ..array.operations import OPERATIONS

Function = Callable[..., Any]


def _divide(a: Any, b: Any) -> Any:
    """Divide; integers as Python does. A division that may be by zero is another function."""
    return a // b if np.asarray(a).dtype.kind in "iu" else np.divide(a, b)


def _remainder(a: Any, b: Any) -> Any:
    """Return the remainder of ``_divide``: for integers nonnegative if ``b`` is, for floats with the sign of ``a``."""
    return np.remainder(a, b) if np.asarray(a).dtype.kind in "iu" else np.fmod(a, b)


def _logistic(x: Any) -> Any:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


# NumPy's own functions are in the rows of operations.
_NAMED = {name: row.function for name, row in OPERATIONS.items() if row.is_elementwise and not row.blocks_fusion}
SCALARS: dict[str, Function] = {
    **{name: getattr(np, function) for name, function in _NAMED.items() if function},
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": _divide,
    "negate": np.negative,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "remainder": _remainder,
    "power": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shift-left": np.left_shift,
    "shift-right-logical": integers.shift_right_logical,
    "shift-right-arithmetic": np.right_shift,
    "logistic": _logistic,
    "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "atan": np.arctan,
    "real": np.real,
    "imag": np.imag,
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
