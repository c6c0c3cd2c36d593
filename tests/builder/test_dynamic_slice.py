"""The DynamicSlice section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import check, f32, s32


def test_dynamic_slice_of_a_vector() -> None:
    check(lambda b, x, s: b.dynamic_slice(x, [s], [2]), f32(0, 1, 2, 3, 4), s32(2), expected=f32(2, 3))


B = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_dynamic_slice_of_a_matrix_with_scalars_or_a_vector_of_starts() -> None:
    expected = f32([7, 8], [10, 11])
    check(lambda b, x, i, j: b.dynamic_slice(x, [i, j], [2, 2]), B, s32(2), s32(1), expected=expected)
    check(lambda b, x, i: b.dynamic_slice(x, [i, 1], [2, 2]), B, s32(2), expected=expected)
    check(lambda b, x, s: b.dynamic_slice(x, s, [2, 2]), B, s32(2, 1), expected=expected)


@pytest.mark.parametrize(("start", "first"), [(-3, 0), (9, 3)])
def test_dynamic_slice_stays_inside(start: int, first: int) -> None:
    x = f32(0, 1, 2, 3, 4)
    check(lambda b, x, s: b.dynamic_slice(x, [s], [2]), x, s32(start), expected=x[first : first + 2])
