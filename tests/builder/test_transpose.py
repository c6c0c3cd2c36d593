"""The Transpose section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, f32

V = f32(
    [[10, 11, 12], [15, 16, 17]],
    [[20, 21, 22], [25, 26, 27]],
    [[30, 31, 32], [35, 36, 37]],
    [[40, 41, 42], [45, 46, 47]],
)


def test_transpose_permutes_dimensions() -> None:
    check(lambda b, v: b.transpose(v, [2, 0, 1]), V, expected=V.transpose(2, 0, 1))
