"""The ReduceWindow section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import add, check, f32, maximum, minimum, s32
from xla2py.transpile.hlo.builder import F32, Padding, make_padding


def test_reduce_window_of_a_4x6_matrix() -> None:
    x = np.random.default_rng(0).permutation(24).reshape(4, 6).astype(np.float32)
    expected = x.reshape(2, 2, 2, 3).max((1, 3))
    check(
        lambda b, p: b.reduce_window(p, b.min_value(F32), maximum, [2, 3], [2, 3], Padding.VALID), x, expected=expected
    )


@pytest.mark.parametrize(
    ("padding", "expected"),
    [(Padding.VALID, f32(100, 1)), (Padding.SAME, f32(1000, 10, 1)), ([(1, 1)], f32(1000, 10, 1))],
)
def test_reduce_window_with_padding(padding: object, expected: np.ndarray) -> None:
    x = f32(10000, 1000, 100, 10, 1)
    check(lambda b, p: b.reduce_window(p, b.max_value(F32), minimum, [3], [2], padding), x, expected=expected)


def test_reduce_window_with_dilations() -> None:
    x = f32(1, 2, 3, 4)
    check(
        lambda b, p: b.reduce_window(p, 0.0, add, [2], [1], [(1, 1)], base_dilations=[2], window_dilations=[3]),
        x,
        expected=f32(2, 1 + 0, 3, 2, 4, 3),
    )


def test_reduce_window_of_two_arrays() -> None:
    check(
        lambda b, p, q: b.reduce_window([p, q], [0.0, 0], lambda a, c, d, e: (a + d, c + e), [2], None, Padding.VALID),
        *(f32(1, 2, 3), s32(4, 5, 6)),
        expected=[f32(3, 5), s32(9, 11)],
    )


@pytest.mark.parametrize(
    ("size", "window", "stride", "expected"),
    [(5, 3, 2, (1, 1)), (5, 2, 1, (0, 1)), (6, 3, 2, (0, 1)), (4, 1, 3, (0, 0)), (7, 4, 3, (1, 2)), (0, 3, 1, (1, 1))],
)
def test_same_padding(size: int, window: int, stride: int, expected: tuple[int, int]) -> None:
    """``max((ceil(n / s) - 1) * s + w - n, 0)`` elements, the odd one at the high end."""
    assert make_padding([size], [window], [stride], Padding.SAME) == [expected]
    assert make_padding([size], [window], [stride], Padding.VALID) == [(0, 0)]
