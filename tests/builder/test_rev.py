"""The Rev section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, f32

V = f32(
    [[10, 11, 12], [15, 16, 17]],
    [[20, 21, 22], [25, 26, 27]],
    [[30, 31, 32], [35, 36, 37]],
    [[40, 41, 42], [45, 46, 47]],
)


def test_rev_reverses_dimensions() -> None:
    check(lambda b, v: b.rev(v, [0, 2]), V, expected=V[::-1, :, ::-1])
