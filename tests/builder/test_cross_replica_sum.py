"""The CrossReplicaSum section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import build, check, check_on_replicas, f32

TWO = [(f32(1.0, 2.5),), (f32(3.0, 5.25),)]


def test_cross_replica_sum() -> None:
    check_on_replicas(lambda b, x: b.cross_replica_sum(x), TWO, [f32(4.0, 7.75)] * 2)
    module = build(lambda b, x: b.cross_replica_sum(x), np.array([True]))
    assert module.entry.root.attributes["to_apply"].root.opcode == "or"


def test_on_one_replica() -> None:
    check(lambda b, x: b.cross_replica_sum(x), f32(1.0, 2.5), expected=f32(1.0, 2.5))
