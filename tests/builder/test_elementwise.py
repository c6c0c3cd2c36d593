"""The sections of the operation-semantics seed on what is done element by element."""

from __future__ import annotations

import math

import numpy as np
import pytest

from xla2py.tests.builder.worked import build, check, f32, opcodes, s32
from xla2py.transpile.hlo.builder import C64, F16, F32, PRED, S8, S16, S32, U32, XlaBuilder


def test_remainder_has_the_dividend_s_sign() -> None:
    check(lambda b, x, y: b.rem(x, y), s32(7, -7, 7, -7), s32(3, 3, -3, -3), expected=s32(1, -1, 1, -1))
    check(lambda b, x, y: b.div(x, y), s32(7, -7, 7, -7), s32(2, 2, -2, -2), expected=s32(3, -3, -3, 3))


def test_atan2_pow_and_logic() -> None:
    x, y = f32(1.0, -1.0, 0.5), f32(2.0, 3.0, -1.0)
    check(lambda b, p, q: b.tuple([b.atan2(p, q), b.pow(p, q)]), x, y, expected=[np.arctan2(x, y), x**y])
    p, q = np.array([True, True, False]), np.array([True, False, False])
    check(
        lambda b, p, q: b.tuple([b.and_(p, q), b.or_(p, q), b.xor(p, q), b.not_(p), b.add(p, q)]),
        *(p, q),
        expected=[p & q, p | q, p ^ q, ~p, p | q],
    )


def test_every_operation_of_the_seed_s_list() -> None:
    x, y = f32(5.5, -2.25, 3.0), f32(2.0, 4.0, 0.5)
    judges = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "rem": np.fmod,
        "max": np.maximum,
        "min": np.minimum,
        "atan2": np.arctan2,
        "complex": lambda x, y: (x + 1j * y).astype(np.complex64),
    }
    check(
        lambda b, p, q: b.tuple([getattr(b, name)(p, q) for name in judges]),
        *(x, y),
        expected=[judge(x, y) for judge in judges.values()],
    )


def test_every_operation_of_the_seed_s_list_on_bits() -> None:
    x, y = s32(12, -7, 5), s32(1, 3, 2)
    logical = (x.view(np.uint32) >> y.view(np.uint32)).view(np.int32)
    check(
        lambda b, p, q: b.tuple(
            [
                *(b.and_(p, q), b.or_(p, q), b.xor(p, q), b.pow(p, q)),
                *(b.shift_left(p, q), b.shift_right_arithmetic(p, q), b.shift_right_logical(p, q)),
            ]
        ),
        *(x, y),
        expected=[x & y, x | y, x ^ y, x**y, x << y, x >> y, logical],
    )


def test_broadcast_dimensions() -> None:
    x, v = np.ones((2, 3), np.float32), f32(7, 8, 9)
    check(lambda b, p, q: b.sub(p, q, broadcast_dimensions=[1]), x, v, expected=x - v)


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


NAN, INF = math.nan, math.inf
TOTAL_ORDER = f32(-NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF, NAN)


@pytest.mark.parametrize("name", ["eq", "ne", "ge", "gt", "le", "lt"])
def test_the_total_order_of_floats(name: str) -> None:
    x = TOTAL_ORDER.copy()
    x[0] = np.array(0xFFC00000, np.uint32).view(np.float32)
    i, j = np.meshgrid(np.arange(8), np.arange(8), indexing="ij")
    compared = {"eq": i == j, "ne": i != j, "ge": i >= j, "gt": i > j, "le": i <= j, "lt": i < j}[name]
    check(
        lambda b, p: getattr(b, f"{name}_total_order")(b.broadcast_in_dim(p, [8, 8], [0]), p, [1]),
        x,
        expected=compared,
    )


def test_total_order_of_integers_is_their_only_order() -> None:
    module = build(lambda b, x, y: b.lt_total_order(x, y), s32(1, 2), s32(2, 1))
    assert "type" not in module.entry.root.attributes
    check(lambda b, x, y: b.lt_total_order(x, y), s32(1, 2), s32(2, 1), expected=np.array([True, False]))


def test_nan_compares_unordered() -> None:
    x = f32(NAN, 1.0)
    check(lambda b, a: b.tuple([a == a, a != a, a < a]), x, expected=[x == x, x != x, x < x])


def test_every_comparison_of_the_seed_s_list() -> None:
    x, y = f32(1, 2, 3), f32(2, 2, 2)
    names = ("eq", "ne", "ge", "gt", "le", "lt")
    expected = [x == y, x != y, x >= y, x > y, x <= y, x < y]
    check(lambda b, p, q: b.tuple([getattr(b, name)(p, q) for name in names]), x, y, expected=expected)
    check(
        lambda b, p, q: b.tuple(
            [
                *(b.eq_total_order(p, q), b.ne_total_order(p, q), b.ge_total_order(p, q)),
                *(b.gt_total_order(p, q), b.le_total_order(p, q), b.lt_total_order(p, q)),
            ]
        ),
        *(x, y),
        expected=expected,
    )


def test_clamp_with_scalar_bounds() -> None:
    check(lambda b, x: b.clamp(0, x, 6), s32(-1, 5, 9), expected=s32(0, 5, 6))


def test_clamp_with_array_bounds() -> None:
    check(lambda b, lo, x, hi: b.clamp(lo, x, hi), s32(0, 6, 0), s32(-1, 5, 9), s32(3, 9, 7), expected=s32(0, 6, 7))


def test_select_by_an_array() -> None:
    pred = np.array([True, False, False, True])
    check(
        lambda b, p, x, y: b.select(p, x, y),
        *(pred, s32(1, 2, 3, 4), s32(100, 200, 300, 400)),
        expected=s32(1, 200, 300, 4),
    )


@pytest.mark.parametrize(("pred", "expected"), [(True, s32(1, 2, 3, 4)), (False, s32(100, 200, 300, 400))])
def test_select_by_a_scalar(pred: bool, expected: np.ndarray) -> None:
    arrays = (np.array(pred), s32(1, 2, 3, 4), s32(100, 200, 300, 400))
    check(lambda b, p, x, y: b.select(p, x, y), *arrays, expected=expected)


def test_select_between_tuples() -> None:
    check(
        lambda b, p, x, y: b.select(p, b.tuple([x, b.tuple([y])]), b.tuple([x + 1.0, b.tuple([y * 2])])),
        *(np.array(False), f32(1, 2), s32(3)),
        expected=[f32(2, 3), s32(6)],
    )


def test_convert_s32_to_f32() -> None:
    check(lambda b, a: b.convert_element_type(a, F32), s32(0, 1, 2), expected=f32(0.0, 1.0, 2.0))


NAN, INF = math.nan, math.inf


def test_convert_to_other_kinds() -> None:
    x = f32(-1.75, 0.0, 300.5, NAN)
    check(
        lambda b, a: b.tuple([b.convert_element_type(a, type_) for type_ in (S8, PRED, C64, F16)]),
        x,
        expected=[np.array([-1, 0, 127, 0], np.int8), x != 0, x.astype(np.complex64), x.astype(np.float16)],
    )


@pytest.mark.parametrize("shape", [(10,), ()])
def test_bitcast_to_a_narrower_type_adds_a_dimension(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    check(lambda b, a: b.bitcast_convert_type(a, F16), x, expected=x.reshape(*shape, 1).view(np.float16))


def test_bitcast_to_a_wider_type_removes_the_dimension() -> None:
    x = np.arange(20, dtype=np.float16).reshape(10, 2)
    check(lambda b, a: b.bitcast_convert_type(a, F32), x, expected=x.view(np.float32).reshape(10))


def test_bitcast_of_one_width_keeps_the_shape() -> None:
    check(lambda b, a: b.bitcast_convert_type(a, U32), f32(1.0, -2.0), expected=f32(1.0, -2.0).view(np.uint32))
    check(lambda b, a: b.bitcast_convert_type(a, S16)[0], s32(65537, 1), expected=np.array([1, 1], np.int16))


NAN, INF = math.nan, math.inf


def test_reduce_precision() -> None:
    x = f32(1.0 + 2**-11, 1e6, -1e-8, NAN)
    expected = f32(1.0, INF, -0.0, NAN)
    check(lambda b, a: b.reduce_precision(a, exponent_bits=5, mantissa_bits=10), x, expected=expected)
    check(lambda b, a: b.reduce_precision(a, exponent_bits=8, mantissa_bits=23), x, expected=x)
