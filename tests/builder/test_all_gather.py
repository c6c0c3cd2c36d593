"""The AllGather section of the operation-semantics seed."""

from __future__ import annotations

import pytest

from xla2py.tests.builder.worked import add, check, check_on_replicas, f32
from xla2py.transpile.hlo.builder import (
    F32,
    ReplicaGroup,
    XlaBuilder,
    make_shape,
)
from xla2py.transpile.hlo.printer import print_module

TWO = [(f32(1.0, 2.5),), (f32(3.0, 5.25),)]


def test_all_gather() -> None:
    check_on_replicas(lambda b, x: b.all_gather(x, 0, 2), TWO, [f32(1.0, 2.5, 3.0, 5.25)] * 2)


def test_all_gather_in_groups_keeps_their_order() -> None:
    rows = [(f32(i),) for i in range(4)]
    check_on_replicas(
        lambda b, x: b.all_gather(b.reshape(x, [1]), 0, 2, [[2, 0], ReplicaGroup((1, 3))]),
        rows,
        [f32(2, 0), f32(1, 3), f32(2, 0), f32(1, 3)],
    )


@pytest.mark.parametrize("form", ["all_gather", "reduce_scatter"])
def test_channels_and_global_ids_are_written(form: str) -> None:
    b = XlaBuilder("channels")
    x = b.parameter(0, make_shape(F32, [4]))
    extra = {"channel_id": 3, "use_global_device_ids": True}
    if form == "all_gather":
        b.all_gather(x, 0, 2, [[0, 1], [2, 3]], **extra)
    else:
        b.reduce_scatter(x, add, 0, 2, [[0, 1], [2, 3]], **extra)
    text = print_module(b.build(replica_count=2, num_partitions=2))
    assert "channel_id=3, replica_groups={{0,1},{2,3}}, use_global_device_ids=true" in text


def test_on_one_replica() -> None:
    check(lambda b, x: b.all_gather(x, 0, 1), f32(1.0, 2.5), expected=f32(1.0, 2.5))
