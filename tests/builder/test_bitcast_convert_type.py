"""The BitcastConvertType section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import check, f32, s32
from xla2py.transpile.hlo.builder import F16, F32, S16, U32


@pytest.mark.parametrize("shape", [(10,), ()])
def test_bitcast_to_a_narrower_type_adds_a_dimension(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    check(lambda b, a: b.bitcast_convert_type(a, F16), x, expected=x.reshape(*shape, 1).view(np.float16))


def test_bitcast_to_a_wider_type_removes_the_dimension() -> None:
    x = np.arange(20, dtype=np.float16).reshape(10, 2)
    check(lambda b, a: b.bitcast_convert_type(a, F32), x, expected=x.view(np.float32).reshape(10))


def test_bitcast_of_one_width_keeps_the_shape() -> None:
    check(lambda b, a: b.bitcast_convert_type(a, U32), f32(1.0, -2.0), expected=f32(1.0, -2.0).view(np.uint32))
    check(lambda b, a: b.bitcast_convert_type(a, S16)[0], s32(65537, 1), expected=np.array([1, 1], np.int16))
