"""The Iota section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import check, f32, s32
from xla2py.transpile.hlo.builder import (
    F32,
    S32,
    make_shape,
)


@pytest.mark.parametrize("dimension", [0, 1])
def test_iota(dimension: int) -> None:
    expected = np.indices((4, 8), np.int32)[dimension]
    check(lambda b: b.iota(make_shape(S32, [4, 8]), dimension), expected=expected)


def test_iota_of_a_type_and_a_size_and_of_floats() -> None:
    check(lambda b: b.iota(S32, 5), expected=s32(0, 1, 2, 3, 4))
    check(lambda b: b.iota(make_shape(F32, [3]), 0), expected=f32(0, 1, 2))
