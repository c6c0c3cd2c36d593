"""The DotGeneral section of the operation-semantics seed."""

from __future__ import annotations

import pytest

from xla2py.tests.builder.worked import check, f32, random
from xla2py.transpile.hlo.builder import (
    DotDimensionNumbers,
)


def test_contracting_dimension_numbers() -> None:
    check(
        lambda b, x, y: b.dot_general(x, y, DotDimensionNumbers([1], [1])),
        *(f32([1, 2, 3], [4, 5, 6]), f32([1, 1, 1], [2, 2, 2])),
        expected=f32([6, 12], [15, 30]),
    )


def test_batch_dimension_numbers() -> None:
    lhs, rhs = f32([[1, 2], [3, 4]], [[5, 6], [7, 8]]), f32([[1, 0], [0, 1]], [[1, 0], [0, 1]])
    check(lambda b, x, y: b.dot_general(x, y, DotDimensionNumbers([2], [1], [0], [0])), lhs, rhs, expected=lhs)


@pytest.mark.parametrize(("left", "right"), [((4, 2, 3), (4, 3, 5)), ((2, 3, 4, 5), (2, 3, 5, 6))])
def test_batch_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = random(*left), random(*right)
    batch = range(len(left) - 2)
    numbers = DotDimensionNumbers([len(left) - 1], [len(right) - 2], batch, batch)
    check(lambda b, p, q: b.dot_general(p, q, numbers), x, y, expected=x @ y)
