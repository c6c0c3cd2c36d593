"""The broadcasting seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import build, check, f32, filled, opcodes
from xla2py.transpile.hlo.broadcasting import plan_broadcast
from xla2py.transpile.hlo.element_types import F32
from xla2py.transpile.hlo.shapes import ArrayShape
from xla2py.transpile.hlo.source import HloVerificationError

MATRIX = f32([1, 2, 3], [4, 5, 6])


def test_a_matrix_and_a_vector() -> None:
    check(lambda b, x, v: b.add(x, v, [1]), MATRIX, f32(7, 8, 9), expected=f32([8, 10, 12], [11, 13, 15]))


def test_equal_shapes_take_no_steps() -> None:
    assert opcodes(build(lambda b, x, y: b.add(x, y, [0, 1]), MATRIX, MATRIX)) == ["add"]


def test_dynamic_sizes_stay_dynamic() -> None:
    plan = plan_broadcast("add", ArrayShape(F32, (4, 3), (True, False)), ArrayShape(F32, (3,)), (1,))
    assert plan.shape == ArrayShape(F32, (4, 3), (True, False))


def test_different_ranks_need_the_dimensions_said() -> None:
    with pytest.raises(HloVerificationError, match="differ in rank, so broadcast_dimensions are needed"):
        build(lambda b, x, v: x + v, MATRIX, f32(7, 8, 9))


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


@pytest.mark.parametrize("dimension", range(4))
def test_a_vector_at_each_dimension(dimension: int) -> None:
    array = filled(2, 3, 4, 5)
    vector = filled(array.shape[dimension])
    expected = array + vector.reshape([n if d == dimension else 1 for d, n in enumerate(array.shape)])
    check(lambda b, x, v: b.add(x, v, [dimension]), array, vector, expected=expected)


@pytest.mark.parametrize("dimensions", [(2, 3), (1, 2), (0, 3)])
def test_a_matrix_at_two_dimensions(dimensions: tuple[int, int]) -> None:
    array = filled(2, 3, 4, 5)
    matrix = filled(*(array.shape[d] for d in dimensions))
    expected = array + matrix.reshape([n if d in dimensions else 1 for d, n in enumerate(array.shape)])
    check(lambda b, x, m: b.add(x, m, dimensions), array, matrix, expected=expected)


@pytest.mark.parametrize("dimensions", [(2, 0), (2, 2)])
def test_the_order_is_strictly_increasing(dimensions: tuple[int, int]) -> None:
    with pytest.raises(HloVerificationError, match="must be strictly increasing"):
        build(lambda b, x, m: b.add(x, m, dimensions), filled(2, 3, 2, 5), filled(2, 2))


def test_the_sizes_have_to_match() -> None:
    with pytest.raises(HloVerificationError, match=r"dimension 0 of f32.3. has 3 elements"):
        build(lambda b, x, v: b.add(x, v, [0]), filled(2, 3, 4, 5), filled(3))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ((2, 1), (2, 3), (2, 3)),
        ((1, 2, 5), (7, 2, 5), (7, 2, 5)),
        ((7, 2, 5), (7, 1, 5), (7, 2, 5)),
        ((2, 1), (1, 3), (2, 3)),  # an outer operation
        ((1, 0), (4, 1), (4, 0)),
    ],
)
def test_degenerate_dimensions(left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...]) -> None:
    x, y = filled(*left), filled(*right)
    assert (x + y).shape == result
    check(lambda b, p, q: b.add(p, q), x, y, expected=x + y)


def test_incompatible_sizes_are_refused() -> None:
    with pytest.raises(HloVerificationError, match=r"XP213: add: dimension 2 of .* is neither equal nor 1"):
        build(lambda b, p, q: p + q, filled(7, 2, 5), filled(7, 2, 6))


def test_composition_of_a_vector_and_a_1x2_matrix() -> None:
    check(
        lambda b, v, m: b.add(v, m, [0]),
        f32(1, 2, 3, 4),
        f32([[5, 6]]),
        expected=f32([6, 7], [7, 8], [8, 9], [9, 10]),
    )


def test_composition_of_a_1x2_matrix_and_a_4x3x1_cuboid() -> None:
    matrix, cuboid = f32([[5, 6]]), filled(4, 3, 1)
    check(lambda b, m, c: b.add(m, c, [1, 2]), matrix, cuboid, expected=matrix.reshape(1, 1, 2) + cuboid)


def test_the_steps_are_xla_s() -> None:
    plan = plan_broadcast("add", ArrayShape(F32, (1, 2)), ArrayShape(F32, (4, 3, 1)), (1, 2))
    assert [(step.shape.dimensions, step.dimensions) for step in plan.lhs] == [
        ((4, 1, 2), (1, 2)),
        ((4, 2), None),
        ((4, 3, 2), (0, 2)),
    ]
    assert [(step.shape.dimensions, step.dimensions) for step in plan.rhs] == [((4, 3), None), ((4, 3, 2), (0, 1))]
    assert plan.shape == ArrayShape(F32, (4, 3, 2))
