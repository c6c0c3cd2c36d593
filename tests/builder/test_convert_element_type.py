"""The ConvertElementType section of the operation-semantics seed."""

from __future__ import annotations

import math

import numpy as np

from xla2py.tests.builder.worked import check, f32, s32
from xla2py.transpile.hlo.builder import C64, F16, F32, PRED, S8


def test_convert_s32_to_f32() -> None:
    check(lambda b, a: b.convert_element_type(a, F32), s32(0, 1, 2), expected=f32(0.0, 1.0, 2.0))


NAN, INF = math.nan, math.inf


def test_convert_to_other_kinds() -> None:
    x = f32(-1.75, 0.0, 300.5, NAN)
    check(
        lambda b, a: b.tuple([b.convert_element_type(a, type_) for type_ in (S8, PRED, C64, F16)]),
        x,
        expected=[np.array([-1, 0, 127, 0], np.int8), x != 0, x.astype(np.complex64), x.astype(np.float16)],
    )
