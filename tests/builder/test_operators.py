"""The operators of XlaOp."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import build, check, f32, opcodes, s32
from xla2py.transpile.hlo.builder import XlaBuilder


def test_operators_are_operations() -> None:
    x, y = f32(5.5, -2.25, 3.0), f32(2.0, 4.0, -0.5)
    check(lambda b, p, q: b.tuple([p + q, p - q, p * q, p / q, p % q]), x, y,
          expected=[x + y, x - y, x * y, x / y, np.fmod(x, y)])  # fmt: skip
    check(lambda b, p, q: b.tuple([-p, abs(p), p**2.0, 2.0**q, 1.0 - p, 6 / q, 7 % q]), x, y,
          expected=[-x, abs(x), x**2, f32(2) ** y, 1 - x, 6 / y, np.fmod(f32(7), y)])  # fmt: skip
    check(lambda b, p, q: b.tuple([p < q, p <= q, p > q, p >= q, p == q, p != q]), x, y,
          expected=[x < y, x <= y, x > y, x >= y, x == y, x != y])  # fmt: skip


def test_bit_operators_on_integers() -> None:
    x, y = s32(12, -7, 5), s32(10, 3, 1)
    check(lambda b, p, q: b.tuple([p & q, p | q, p ^ q, ~p, p << q, p >> q, 1 << q, 6 & p]), x, y,
          expected=[x & y, x | y, x ^ y, ~x, x << y, x >> y, 1 << y, 6 & x])  # fmt: skip


def test_shift_right_is_logical_for_unsigned_integers() -> None:
    x = np.array([0xF0000000, 7], np.uint32)
    assert opcodes(build(lambda b, p: p >> 4, x))[-1] == "shift-right-logical"
    assert opcodes(build(lambda b, p: p >> 4, s32(1, 2)))[-1] == "shift-right-arithmetic"
    check(lambda b, p: p >> 4, x, expected=x >> 4)


def test_indexing_is_numpy_s() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    check(
        lambda b, p: b.tuple([p[1], p[:, 1:3], p[..., -1], p[0, :, ::2], p[-1, 0, 2], p[..., 5:], p[...]]),
        x,
        expected=[x[1], x[:, 1:3], x[..., -1], x[0, :, ::2], x[-1, 0, 2], x[..., 5:], x],
    )


def test_an_op_of_a_tuple_is_indexed_by_its_elements() -> None:
    check(lambda b, p, q: b.tuple([p, q])[1], f32(1, 2), s32(3), expected=s32(3))


def test_a_matrix_product() -> None:
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    check(lambda b, p, q: p @ q, x, y, expected=x @ y)


def test_arrays_and_lists_on_either_side() -> None:
    x, y = f32(1, 2, 3), f32(4, 5, 6)
    check(lambda b, p: b.tuple([p + y, y - p, p * [4, 5, 6], [4, 5, 6] / p, y @ p]), x,
          expected=[x + y, y - x, x * y, y / x, y @ x])  # fmt: skip


def test_a_tuple_unpacks_and_an_array_gives_its_rows() -> None:
    def program(b, p, q):
        first, second = b.tuple([p, q])
        (row, _) = first
        return b.tuple([row, second, +row])

    x = f32([1, 2], [3, 4])
    check(program, x, s32(3), expected=[x[0], s32(3), x[0]])
    assert len(XlaBuilder("length").iota("f32", 5)) == 5


def test_indices_may_be_numpy_s_integers() -> None:
    x = f32(1, 2, 3)
    check(lambda b, p: b.tuple([p[np.int64(1)], b.tuple([p])[np.int32(0)]]), x, expected=[x[1], x])


def test_an_op_has_no_values_before_it_runs() -> None:
    x = XlaBuilder("values").zero("f32")
    with pytest.raises(TypeError, match="no values before it runs"):
        np.asarray(x)
    with pytest.raises(TypeError, match="a scalar has no length"):
        len(x)
