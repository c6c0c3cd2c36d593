"""What docs/numpy_numerics.md says of plain NumPy: the named expression is HLO's operation. XLA CPU is the judge.

Subnormals are left out (XLA flushes them), and signs of zero of maximum and minimum (NumPy's depend on the order).
"""

import ml_dtypes
import numpy as np
import pytest

from xla2py.tests.recording.answers import ANSWERS
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

UNARY = {
    "abs": np.abs,
    "negate": np.negative,
    "floor": np.floor,
    "ceil": np.ceil,
    "round-nearest-even": np.rint,
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "exponential": np.exp,
    "exponential-minus-one": np.expm1,
    "log": np.log,
    "log-plus-one": np.log1p,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "is-finite": np.isfinite,
}
INVERSES = {  # which XLA CPU has for bf16 and the types of one byte only
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "remainder": np.fmod,
    "power": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "atan2": np.arctan2,
}
EXACT = {"abs", "negate", "floor", "ceil", "round-nearest-even", "is-finite", "add", "subtract", "multiply"}
EXACT |= {"divide", "remainder", "maximum", "minimum"}
FLOATS = [t for t in ELEMENT_TYPES.values() if t.is_floating]
COMPLEX = [ELEMENT_TYPES["c64"], ELEMENT_TYPES["c128"]]
float_types = pytest.mark.parametrize("element_type", FLOATS, ids=str)
complex_types = pytest.mark.parametrize("element_type", COMPLEX, ids=str)


def samples(element_type):
    """Every value of the types of one byte; edges and random values of the others; no subnormals of float32 either."""
    dtype = element_type.dtype
    if element_type.bits <= 8:
        x = np.arange(2**element_type.bits).astype(np.uint8).view(dtype)
        return x[1:] if element_type.name == "f8e8m0fnu" else x
    count = 200 if ANSWERS.mode == "live" else 40
    edges = np.array([0, 1, 0.5, 1.5, 2.5, 3, 1e-3, 20, 88, 300, 65504, np.inf, np.nan, np.pi])
    rng = np.random.default_rng(element_type.bits)
    return np.concatenate([edges, -edges, rng.normal(0, 1, count), rng.normal(0, 30, count)]).astype(dtype)


def number(x):
    """Wide numbers for comparison, subnormals of the type as 0."""
    wide = x.astype(np.float64)
    if x.dtype == np.bool_:
        return wide
    tiny = max(float(ml_dtypes.finfo(x.dtype).tiny), 1.2e-38 if x.dtype.itemsize < 8 else 0)
    return np.where(np.abs(wide) < tiny, 0, wide)


def assert_same(function, opcode, operands, expected):
    with np.errstate(all="ignore"):
        actual = function(*operands)
        assert actual.dtype == expected.dtype
        one, two = number(actual), number(expected)
    # Types of one byte may be rounded by way of float16 in XLA.
    steps = 0 if opcode in EXACT else 8 if expected.dtype.itemsize == 1 else 4
    if opcode == "log-plus-one" and expected.dtype == np.float64:
        steps = 200  # XLA's is off by so much around -0.4
    eps = 0 if expected.dtype == np.bool_ else float(ml_dtypes.finfo(expected.dtype).eps)
    tiny = 0 if not steps else float(ml_dtypes.finfo(expected.dtype).tiny)
    np.testing.assert_allclose(one, two, rtol=steps * eps, atol=tiny, err_msg=opcode)


def text(element_type, x):
    return f"{element_type}[{','.join(map(str, x.shape))}]"


@float_types
def test_unary_functions_of_floats(element_type, xla_each):
    x = samples(element_type)
    functions = UNARY if element_type.bits >= 32 or element_type.name == "f16" else UNARY | INVERSES
    wanted = [(op, text("pred" if op == "is-finite" else element_type, x)) for op in functions]
    for (opcode, function), expected in zip(functions.items(), xla_each(wanted, [x]), strict=True):
        assert_same(function, opcode, [x], expected)


@float_types
def test_binary_functions_of_floats(element_type, xla_each):
    x = samples(element_type)
    every = 1 if element_type.bits <= 8 and ANSWERS.mode == "live" else 7  # all pairs where no recording is believed
    a, b = (side.ravel()[::every] for side in np.meshgrid(x, x))
    wanted = [(opcode, text(element_type, a)) for opcode in BINARY]
    for (opcode, function), expected in zip(BINARY.items(), xla_each(wanted, [a, b]), strict=True):
        inside = np.ones(a.shape, bool)
        if element_type.name == "f8e8m0fnu":  # results below its smallest normal number are NaN in XLA
            with np.errstate(all="ignore"):
                inside = ~(number(function(a, b)) == 0)
        assert_same(function, opcode, [a[inside], b[inside]], expected[inside])


@complex_types
def test_functions_of_finite_complex_numbers(element_type, xla_each):
    rng = np.random.default_rng(0)
    a, b = ((rng.normal(0, 2, 900) + 1j * rng.normal(0, 2, 900)).astype(element_type.dtype) for _ in range(2))
    unary = {op: UNARY[op] for op in ("negate", "sqrt", "exponential", "log", "sine", "cosine", "tan", "tanh")}
    binary = {op: BINARY[op] for op in ("add", "subtract", "multiply", "divide", "power")}
    results = xla_each([(op, text(element_type, a)) for op in unary], [a])
    results += xla_each([(op, text(element_type, a)) for op in binary], [a, b])
    for (opcode, function), expected in zip([*unary.items(), *binary.items()], results, strict=True):
        actual = function(a) if opcode in unary else function(a, b)
        assert actual.dtype == expected.dtype
        error = np.abs(actual - expected) / np.abs(expected)
        assert error.max() < (400 if opcode in ("power", "log", "sine", "cosine") else 16) * np.finfo(a.dtype).eps, (
            opcode
        )


def test_a_python_int_keeps_the_types_of_ml_dtypes_but_a_python_float_does_not():
    x = np.ones(3, ml_dtypes.bfloat16)
    assert ((x + 1).dtype, np.where(x > 0, x, 0).dtype, np.maximum(x, 0).dtype) == (x.dtype, x.dtype, x.dtype)
    assert ((x + 0.5).dtype, np.clip(x, x, x).dtype) == (np.float32, np.float32)
    assert (np.ones(3, ml_dtypes.int4) + 1).dtype == np.int8


def test_integer_scalars_warn_where_arrays_wrap():
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert np.int32(2**31 - 1) + np.int32(1) == -(2**31)
    assert (np.int32([2**31 - 1]) + np.int32(1)).tolist() == [-(2**31)]
