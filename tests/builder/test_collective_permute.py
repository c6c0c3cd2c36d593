"""The CollectivePermute section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, check_on_replicas, f32


def test_collective_permute_gives_zeros_to_who_is_no_target() -> None:
    rows = [(f32(1, 2),), (f32(3, 4),), (f32(5, 6),)]
    expected = [f32(0, 0), f32(1, 2), f32(3, 4)]
    check_on_replicas(lambda b, x: b.collective_permute(x, [(0, 1), (1, 2)]), rows, expected)


def test_on_one_replica() -> None:
    check(lambda b, x: b.collective_permute(x, [(0, 0)]), f32(1.0, 2.5), expected=f32(1.0, 2.5))
