"""The BroadcastInDim section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32


def test_broadcast_in_dim_adds_anywhere_and_grows_ones() -> None:
    x = f32([1], [2], [3])
    check(lambda b, p: b.broadcast_in_dim(p, [3, 2, 4], [0, 2]), x, expected=np.broadcast_to(x[:, :, None], (3, 2, 4)))
    check(lambda b, p: b.broadcast_in_dim(p, [2, 3], [1]), f32(1, 2, 3), expected=f32([1, 2, 3], [1, 2, 3]))
