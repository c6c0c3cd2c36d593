"""RaggedDot and ScaledDot, which are newer than the seed."""

from __future__ import annotations

import numpy as np
import pytest

import xla2py
from xla2py.tests.builder.worked import assert_equal, build, check_emitted, f32, random, s32
from xla2py.transpile.hlo.builder import F32, DotDimensionNumbers, RaggedDotDimensionNumbers
from xla2py.transpile.hlo.printer import print_module


def test_ragged_dot_takes_one_matrix_for_each_group_of_rows() -> None:
    x, y, sizes = random(5, 2), random(3, 2, 4), s32(1, 3, 1)
    numbers = RaggedDotDimensionNumbers(DotDimensionNumbers([1], [1]), [0], [0])
    expected = np.stack([row @ y[group] for row, group in zip(x, (0, 1, 1, 1, 2), strict=True)])
    check_emitted(build(lambda b, *ops: b.ragged_dot(*ops, numbers), x, y, sizes), [x, y, sizes], expected)


@pytest.mark.parametrize("order", ["x, y, p, q", "x, p, y, q"])
def test_scaled_dot_in_both_orders_of_operands(order: str) -> None:
    x, y, p, q = random(2, 4), random(4, 3), f32([1, 2], [0.5, 4]), f32([2, 1, 0.25], [1, 3, 2])

    def program(b, x, y, p, q):
        return b.scaled_dot(x, y, p, q, DotDimensionNumbers([1], [0]), preferred_element_type=F32)

    text = print_module(build(program, x, y, p, q))
    names = dict(zip("xypq", ("p0", "p1", "p2", "p3"), strict=True))
    text = text.replace("(p0, p1, p2, p3)", f"({', '.join(names[name] for name in order.split(', '))})")
    expected = (x * p.repeat(2, 1)) @ (y * q.repeat(2, 0))
    assert_equal(expected, xla2py.emit(text).load().main(x, y, p, q))
