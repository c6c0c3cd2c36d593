"""The Broadcast section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32

B = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_broadcast_adds_dimensions_on_the_left() -> None:
    check(lambda b, x: b.broadcast(x, [2, 3]), f32(2.0), expected=np.full((2, 3), 2, np.float32))
    check(lambda b, x: b.broadcast(x, [2]), B, expected=np.stack([B, B]))
