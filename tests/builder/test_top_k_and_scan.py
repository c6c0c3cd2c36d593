"""TopK and Scan, which are newer than the seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, f32, s32
from xla2py.transpile.hlo.builder import F32


def test_top_k() -> None:
    check(lambda b, x: b.top_k(x, 2), f32([3, 9, 4], [7, 7, 1]), expected=[f32([9, 4], [7, 7]), s32([1, 2], [0, 1])])


def test_scan_gives_stacked_outputs_and_the_last_carry() -> None:
    x = f32([1, 2], [3, 4], [5, 6])
    check(
        lambda b, p: b.scan(p, b.broadcast(b.zero(F32), [2]), lambda row, total: (row + total, row + total)),
        x,
        expected=[x.cumsum(0), x.sum(0)],
    )
