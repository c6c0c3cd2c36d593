"""The SetDimensionSize section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import check, f32, s32
from xla2py.transpile.hlo.builder import (
    F32,
    XlaBuilder,
    make_shape,
)


@pytest.mark.parametrize(("size", "total", "product"), [(5, 15, 120), (6, 21, 720)])
def test_set_dimension_size_keeps_padding_out_of_reductions(size: int, total: int, product: int) -> None:
    v = np.arange(1, 11, dtype=np.float32)

    def program(b: XlaBuilder, v, n):
        padded = b.set_dimension_size(v, n, 0)
        assert str(padded.shape) == "f32[<=10]"
        return b.tuple([b.reduce(padded, 0.0, lambda a, c: a + c, [0]), b.reduce(padded, 1.0, lambda a, c: a * c, [0])])

    check(program, v, s32(size), expected=[f32(total), f32(product)])


def test_a_dynamic_dimension_can_be_removed() -> None:
    b = XlaBuilder("dynamic")
    x = b.parameter(0, make_shape(F32, [4]))
    dynamic = b.set_dimension_size(x, b.constant(2), 0)
    assert str(b.remove_dynamic_dimension(dynamic, 0).shape) == "f32[4]"
    assert str(b.reshape(dynamic, [1, 4]).shape) == "f32[1,<=4]"
    assert str(b.dynamic_reshape(dynamic, [b.constant(1), b.constant(2)], [2, 2], [False, True]).shape) == "f32[2,<=2]"
    b.build()
