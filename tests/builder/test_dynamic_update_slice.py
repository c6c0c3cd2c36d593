"""The DynamicUpdateSlice section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32, s32


def test_dynamic_update_slice_of_a_vector() -> None:
    check(
        lambda b, x, u, s: b.dynamic_update_slice(x, u, [s]),
        *(f32(0, 1, 2, 3, 4), f32(5, 6), s32(2)),
        expected=f32(0, 1, 5, 6, 4),
    )


B = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_dynamic_update_slice_of_a_matrix() -> None:
    update = f32([12, 13], [14, 15], [16, 17])
    check(
        lambda b, x, u, i, j: b.dynamic_update_slice(x, u, [i, j]),
        *(B, update, s32(1), s32(1)),
        expected=f32([0, 1, 2], [3, 12, 13], [6, 14, 15], [9, 16, 17]),
    )
