"""Element-wise binary arithmetic operations."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32, s32


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
