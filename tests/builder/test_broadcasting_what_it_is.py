"""The broadcasting seed, "What is broadcasting?"."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, f32

MATRIX = f32([1, 2, 3], [4, 5, 6])


def test_a_matrix_and_a_vector() -> None:
    check(lambda b, x, v: b.add(x, v, [1]), MATRIX, f32(7, 8, 9), expected=f32([8, 10, 12], [11, 13, 15]))
