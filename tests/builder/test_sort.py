"""The Sort section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import build, check, f32, s32


def _by_first(a, c, d, e, f, g):
    return a < c


def test_sort_three_operands_by_the_first() -> None:
    check(
        lambda b, x, y, z: b.sort([x, y, z], _by_first),
        *(s32(3, 1), s32(42, 50), f32(-3.0, 1.1)),
        expected=[s32(1, 3), s32(50, 42), f32(1.1, -3.0)],
    )


@pytest.mark.parametrize(("dimension", "axis"), [(-1, 1), (1, 1), (0, 0), (-2, 0)])
def test_sort_along_a_dimension_the_last_by_default(dimension: int, axis: int) -> None:
    x = np.random.default_rng(0).permutation(12).reshape(3, 4).astype(np.float32)
    check(lambda b, p: b.sort(p, lambda a, c: a < c, dimension), x, expected=np.sort(x, axis))
    assert build(lambda b, p: b.sort(p, lambda a, c: a < c), x).entry.root.attributes["dimensions"] == (1,)


def test_a_stable_sort_keeps_equal_elements_in_order() -> None:
    module = build(lambda b, x: b.sort(x, lambda a, c: a < c), f32(1, 2))
    assert "is_stable" not in module.entry.root.attributes
    check(
        lambda b, x, y: b.sort([x, y], lambda a, c, d, e: a < c, is_stable=True),
        *(s32(1, 0, 1, 0), s32(0, 1, 2, 3)),
        expected=[s32(0, 0, 1, 1), s32(1, 3, 0, 2)],
    )
