"""The Clamp section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, s32


def test_clamp_with_scalar_bounds() -> None:
    check(lambda b, x: b.clamp(0, x, 6), s32(-1, 5, 9), expected=s32(0, 5, 6))


def test_clamp_with_array_bounds() -> None:
    check(lambda b, lo, x, hi: b.clamp(lo, x, hi), s32(0, 6, 0), s32(-1, 5, 9), s32(3, 9, 7), expected=s32(0, 6, 7))
