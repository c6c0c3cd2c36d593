"""The broadcasting seed, "Principles"."""

from __future__ import annotations

import pytest

from xla2py.tests.builder.worked import build, f32, opcodes
from xla2py.transpile.hlo.broadcasting import plan_broadcast
from xla2py.transpile.hlo.element_types import F32
from xla2py.transpile.hlo.shapes import ArrayShape
from xla2py.transpile.hlo.source import HloVerificationError

MATRIX = f32([1, 2, 3], [4, 5, 6])


def test_equal_shapes_take_no_steps() -> None:
    assert opcodes(build(lambda b, x, y: b.add(x, y, [0, 1]), MATRIX, MATRIX)) == ["add"]


def test_dynamic_sizes_stay_dynamic() -> None:
    plan = plan_broadcast("add", ArrayShape(F32, (4, 3), (True, False)), ArrayShape(F32, (3,)), (1,))
    assert plan.shape == ArrayShape(F32, (4, 3), (True, False))


def test_different_ranks_need_the_dimensions_said() -> None:
    with pytest.raises(HloVerificationError, match="differ in rank, so broadcast_dimensions are needed"):
        build(lambda b, x, v: x + v, MATRIX, f32(7, 8, 9))
