"""The Pad section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32
from xla2py.transpile.hlo.builder import (
    PaddingConfig,
    PaddingConfigDimension,
    make_edge_padding_config,
)


def test_pad_edges_and_interior() -> None:
    config = PaddingConfig([PaddingConfigDimension(0, 1, 1), PaddingConfigDimension(2, 0, 0)])
    expected = np.zeros((4, 5), np.float32)
    expected[0:3:2, 2:] = f32([1, 2, 3], [4, 5, 6])
    check(lambda b, x: b.pad(x, 0.0, config), f32([1, 2, 3], [4, 5, 6]), expected=expected)


def test_negative_edges_crop_after_the_interior() -> None:
    config = PaddingConfig([PaddingConfigDimension(-1, -2, 2)])
    check(lambda b, x: b.pad(x, 9.0, config), f32(1, 2, 3), expected=f32(9, 9, 2, 9))
    check(lambda b, x: b.pad(x, 9.0, make_edge_padding_config([(0, 0)])), f32(1, 2, 3), expected=f32(1, 2, 3))
