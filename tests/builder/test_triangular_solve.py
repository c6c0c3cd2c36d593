"""The TriangularSolve section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import check, f32, random
from xla2py.transpile.hlo.builder import (
    Transpose,
)


def _positive_definite() -> np.ndarray:
    x = random(2, 3, 3)
    return x @ x.mT + 3 * np.eye(3, dtype=np.float32)


@pytest.mark.parametrize("transpose_a", list(Transpose))
@pytest.mark.parametrize("left_side", [True, False])
def test_triangular_solve(left_side: bool, transpose_a: Transpose) -> None:
    a = np.linalg.cholesky(_positive_definite())
    y = random(2, 3, 2) if left_side else random(2, 2, 3)
    matrix = a if transpose_a is Transpose.NO_TRANSPOSE else a.mT
    expected = np.linalg.solve(matrix, y) if left_side else np.linalg.solve(matrix.mT, y.mT).mT
    check(
        lambda b, p, q: b.triangular_solve(p, q, left_side, lower=True, transpose_a=transpose_a),
        *(a, y),
        expected=expected,
    )


def test_a_unit_diagonal_is_not_read() -> None:
    a = f32([np.nan, 7], [2, np.nan])
    check(
        lambda b, p, q: b.triangular_solve(p, q, left_side=True, lower=True, unit_diagonal=True),
        *(a, f32([1], [5])),
        expected=f32([1], [3]),
    )
