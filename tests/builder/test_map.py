"""The Map section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, f32


def test_map() -> None:
    x, y, z = f32(1, 2), f32(3, 4), f32(5, 6)
    check(lambda b, *ops: b.map(ops, lambda a, c, d: a * c - d, [0]), x, y, z, expected=x * y - z)
    check(lambda b, p: b.map(p, lambda a: a > 1.5), x, expected=x > 1.5)
