"""The broadcasting seed, "Broadcast composition"."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, f32, filled
from xla2py.transpile.hlo.broadcasting import plan_broadcast
from xla2py.transpile.hlo.element_types import F32
from xla2py.transpile.hlo.shapes import ArrayShape


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
