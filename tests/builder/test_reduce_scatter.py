"""The ReduceScatter section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import add, check, check_on_replicas, f32


def test_reduce_scatter() -> None:
    rows = [(f32(1.0, 2.25),), (f32(3.0, 5.25),)]
    check_on_replicas(lambda b, x: b.reduce_scatter(x, add, 0, 2), rows, [f32([4.0]), f32([7.5])])


def test_on_one_replica() -> None:
    check(lambda b, x: b.reduce_scatter(x, add, 0, 1), f32(1.0, 2.5), expected=f32(1.0, 2.5))
