"""The Slice section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32


def test_slice_a_vector() -> None:
    check(lambda b, x: b.slice(x, [2], [4]), f32(0, 1, 2, 3, 4), expected=f32(2.0, 3.0))


B = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_slice_a_matrix() -> None:
    check(lambda b, x: b.slice(x, [2, 1], [4, 3]), B, expected=f32([7, 8], [10, 11]))
    check(lambda b, x: b.slice(x, [0, 0], [4, 3], [2, 2]), B, expected=B[::2, ::2])
    check(lambda b, x: b.slice_in_dim(x, 1, 4, 2, 0), B, expected=B[1:4:2])
