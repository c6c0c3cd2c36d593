"""Element-wise unary functions."""

from __future__ import annotations

import math

import numpy as np

from xla2py.tests.builder.worked import build, check, f32, opcodes, s32
from xla2py.transpile.hlo.builder import S32, XlaBuilder

NAN, INF = math.nan, math.inf


def test_sign_keeps_zeros_and_nan() -> None:
    check(lambda b, x: b.sign(x), f32(-2.5, -0.0, 0.0, 3.0, NAN), expected=f32(-1.0, -0.0, 0.0, 1.0, NAN))


def test_rounding() -> None:
    x = f32(-2.5, -0.5, 0.5, 1.5, 2.4)
    check(
        lambda b, a: b.tuple([b.round(a), b.round_nearest_even(a), b.floor(a), b.ceil(a)]),
        x,
        expected=[f32(-3, -1, 1, 2, 2), np.rint(x), np.floor(x), np.ceil(x)],
    )


def test_is_finite_and_the_parts_of_numbers() -> None:
    check(lambda b, x: b.is_finite(x), f32(1.0, INF, -INF, NAN), expected=np.array([True, False, False, False]))
    z = np.array([1 + 2j, -3j], np.complex64)
    check(
        lambda b, z: b.tuple([b.real(z), b.imag(z), b.conj(z), b.abs(z)]),
        z,
        expected=[z.real, z.imag, z.conj(), abs(z)],
    )
    check(lambda b, x: b.tuple([b.real(x), b.imag(x)]), f32(1.5, -2.0), expected=[f32(1.5, -2.0), f32(0, 0)])
    check(lambda b, x, y: b.complex(x, y), f32(1, 2), f32(3, 4), expected=np.array([1 + 3j, 2 + 4j], np.complex64))


def test_counting_bits() -> None:
    x = s32(0, 1, -1, 256)
    check(lambda b, a: b.tuple([b.clz(a), b.population_count(a)]), x, expected=[s32(32, 31, 0, 23), s32(0, 1, 32, 1)])


def test_derived_operations() -> None:
    check(lambda b, x: b.tuple([b.square(x), b.reciprocal(x)]), f32(2, -4), expected=[f32(4, 16), f32(0.5, -0.25)])
    assert opcodes(build(lambda b, x: b.square(x), f32(1))) == ["multiply"]


def test_unary_operations_keep_a_scalar_scalar() -> None:
    b = XlaBuilder("scalar")
    x = b.constant(0.5)
    for name in (
        "exp",
        "log",
        "tanh",
        "sqrt",
        "rsqrt",
        "cbrt",
        "erf",
        "logistic",
        "sin",
        "cos",
        "tan",
        "expm1",
        "log1p",
    ):
        assert str(getattr(b, name)(x).shape) == "f32[]"
    assert str(b.is_finite(x).shape) == "pred[]"
    assert str(b.clz(b.constant(3, S32)).shape) == "s32[]"


def test_every_function_of_the_seed_s_list_on_floats() -> None:
    x = f32(0.25, 0.5, 0.75)
    judges = {
        "abs": np.abs,
        "cbrt": np.cbrt,
        "ceil": np.ceil,
        "cos": np.cos,
        "erf": np.vectorize(math.erf, otypes=[np.float32]),
        "exp": np.exp,
        "expm1": np.expm1,
        "floor": np.floor,
        "imag": np.zeros_like,
        "is_finite": np.isfinite,
        "log": np.log,
        "log1p": np.log1p,
        "logistic": lambda x: 1 / (1 + np.exp(-x)),
        "neg": np.negative,
        "real": np.copy,
        "round": lambda x: np.floor(x + f32(0.5)),
        "round_nearest_even": np.rint,
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "sign": np.sign,
        "sin": np.sin,
        "sqrt": np.sqrt,
        "tan": np.tan,
        "tanh": np.tanh,
    }
    check(
        lambda b, p: b.tuple([getattr(b, name)(p) for name in judges]),
        x,
        expected=[judge(x) for judge in judges.values()],
    )


def test_every_function_of_the_seed_s_list_on_integers() -> None:
    x = s32(-5, 0, 7)
    check(
        lambda b, p: b.tuple([b.abs(p), b.clz(p), b.neg(p), b.not_(p), b.population_count(p), b.sign(p)]),
        x,
        expected=[abs(x), s32(0, 32, 29), -x, ~x, s32(31, 0, 3), np.sign(x)],
    )
