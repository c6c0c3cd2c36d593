"""The ReducePrecision section of the operation-semantics seed."""

from __future__ import annotations

import math

from xla2py.tests.builder.worked import check, f32

NAN, INF = math.nan, math.inf


def test_reduce_precision() -> None:
    x = f32(1.0 + 2**-11, 1e6, -1e-8, NAN)
    expected = f32(1.0, INF, -0.0, NAN)
    check(lambda b, a: b.reduce_precision(a, exponent_bits=5, mantissa_bits=10), x, expected=expected)
    check(lambda b, a: b.reduce_precision(a, exponent_bits=8, mantissa_bits=23), x, expected=x)
