"""The GetDimensionSize section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, s32

B = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_get_dimension_size() -> None:
    check(lambda b, x: b.get_dimension_size(x, 1), B, expected=s32(3))
