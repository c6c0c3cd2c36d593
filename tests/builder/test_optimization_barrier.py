"""The OptimizationBarrier section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, f32, s32


def test_an_optimization_barrier_passes_values_through() -> None:
    check(lambda b, x, y: b.optimization_barrier(b.tuple([x, y])), f32(1, 2), s32(3), expected=[f32(1, 2), s32(3)])
