"""The broadcasting seed, "Broadcasting a lower-rank array onto a higher-rank array"."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32, filled

MATRIX = f32([1, 2, 3], [4, 5, 6])


def test_a_matrix_and_a_scalar() -> None:
    check(lambda b, x, s: b.add(x, s), MATRIX, f32(7), expected=f32([8, 9, 10], [11, 12, 13]))
    check(lambda b, x: 7 + x, MATRIX, expected=f32([8, 9, 10], [11, 12, 13]))


def test_a_vector_as_rows_or_as_columns() -> None:
    zeros, v = np.zeros((3, 3), np.float32), f32(7, 8, 9)
    check(lambda b, x, v: b.add(x, v, [1]), zeros, v, expected=f32([7, 8, 9], [7, 8, 9], [7, 8, 9]))
    check(lambda b, x, v: b.add(x, v, [0]), zeros, v, expected=f32([7, 7, 7], [8, 8, 8], [9, 9, 9]))


def test_a_matrix_and_a_cuboid() -> None:
    cuboid, matrix = filled(2, 3, 4), filled(3, 4)
    check(lambda b, c, m: b.add(c, m, [1, 2]), cuboid, matrix, expected=cuboid + matrix)
    check(lambda b, c, m: b.add(m, c, [1, 2]), cuboid, matrix, expected=cuboid + matrix)
