"""What operations on elements compute, on NumPy's scalars."""

from __future__ import annotations

from typing import Any

import numpy as np

from xla2py.templates.prelude import complex as complexes, conversion, floats, keys, special
from xla2py.transpile.array.node import Node
from xla2py.transpile.kernels.scalars import OF_INTEGERS, SCALARS, Function

_COMPARISONS: dict[str, Function] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
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
    "uniform_of": keys.uniform_of,
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
