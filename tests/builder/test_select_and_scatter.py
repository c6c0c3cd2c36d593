"""The SelectAndScatter section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import add, check, f32
from xla2py.transpile.hlo.builder import Padding

POOLED = f32([7, 2, 5, 3, 10, 2], [3, 8, 9, 3, 4, 2], [1, 5, 7, 5, 6, 1], [0, 6, 2, 7, 2, 8])


def test_select_and_scatter_without_overlap() -> None:
    expected = np.zeros((4, 6), np.float32)
    expected[1, 2], expected[0, 4], expected[2, 2], expected[3, 5] = 2, 6, 3, 1
    check(
        lambda b, x, s: b.select_and_scatter(x, lambda a, c: a >= c, [2, 3], [2, 3], Padding.VALID, s, 0.0, add),
        *(POOLED, f32([2, 6], [3, 1])),
        expected=expected,
    )


def _scattered(x: np.ndarray, source: np.ndarray) -> np.ndarray:
    result = np.zeros_like(x)
    for i, j in np.ndindex(source.shape):
        window = x[2 * i : 2 * i + 2, 2 * j : 2 * j + 3]
        y, z = np.unravel_index(window.argmax(), window.shape)
        result[2 * i + y, 2 * j + z] += source[i, j]
    return result


def test_select_and_scatter_with_overlap() -> None:
    x = POOLED[:, :5].copy()
    x[0, 4] = 1
    assert _scattered(x, f32([2, 6], [3, 1]))[1, 2] == 8  # both upper windows pick the 9: 2 + 6
    check(
        lambda b, p, s: b.select_and_scatter(p, lambda a, c: a >= c, [2, 3], [2, 2], Padding.VALID, s, 0.0, add),
        *(x, f32([2, 6], [3, 1])),
        expected=_scattered(x, f32([2, 6], [3, 1])),
    )
