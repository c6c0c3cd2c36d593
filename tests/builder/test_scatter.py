"""The Scatter section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import add, check, f32, s32
from xla2py.transpile.hlo.builder import ScatterDimensionNumbers

OPERAND = np.arange(16 * 11, dtype=np.float32).reshape(16, 11)


def test_scatter_rows_with_addition() -> None:
    updates = np.ones((3, 11), np.float32)
    numbers = ScatterDimensionNumbers([1], [0], [0], index_vector_dim=1)
    expected = OPERAND.copy()
    np.add.at(expected, [2, 5, 2], 1)
    check(lambda b, p, i, u: b.scatter(p, i, u, add, numbers), OPERAND, s32(2, 5, 2), updates, expected=expected)


def test_scatter_passes_the_current_value_first() -> None:
    numbers = ScatterDimensionNumbers([], [0], [0], index_vector_dim=1)
    check(
        lambda b, p, i, u: b.scatter(p, i, u, lambda current, update: current - update, numbers),
        *(f32(10, 20, 30), s32(1, 2), f32(1, 2)),
        expected=f32(10, 19, 28),
    )


def test_scatter_skips_windows_that_do_not_fit() -> None:
    numbers = ScatterDimensionNumbers([1], [], [0], index_vector_dim=1)
    check(
        lambda b, p, i, u: b.scatter(p, i, u, lambda current, update: update, numbers),
        *(f32(0, 0, 0, 0), s32([0], [3], [-1]), f32([1, 2], [3, 4], [5, 6])),
        expected=f32(1, 2, 0, 0),
    )


def test_scatter_of_several_operands() -> None:
    numbers = ScatterDimensionNumbers([], [0], [0], index_vector_dim=1)
    check(
        lambda b, p, q, i, u, v: b.scatter([p, q], i, [u, v], lambda a, c, d, e: (a + d, c + e), numbers),
        *(f32(0, 0, 0), s32(1, 1, 1), s32(0, 2), f32(5, 6), s32(7, 8)),
        expected=[f32(5, 0, 6), s32(8, 1, 9)],
    )


def test_scatter_with_batching_dimensions() -> None:
    numbers = ScatterDimensionNumbers([], [1], [1], 2, [0], [0])
    operand, indices = np.zeros((2, 4), np.float32), s32([0, 3], [1, 1])
    expected = f32([1, 0, 0, 2], [0, 7, 0, 0])
    check(
        lambda b, p, i, u: b.scatter(p, b.reshape(i, [2, 2, 1]), u, add, numbers),
        *(operand, indices, f32([1, 2], [3, 4])),
        expected=expected,
    )
