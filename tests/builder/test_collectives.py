"""The sections of the operation-semantics seed on several replicas."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import add, build, check, check_on_replicas, f32, opcodes, s32
from xla2py.transpile.hlo.builder import F32, S32, ReplicaGroup, XlaBuilder, make_shape
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


def test_all_gather_on_one_replica() -> None:
    check(lambda b, x: b.all_gather(x, 0, 1), f32(1.0, 2.5), expected=f32(1.0, 2.5))


def test_all_reduce() -> None:
    check_on_replicas(lambda b, x: b.all_reduce(x, add), TWO, [f32(4.0, 7.75)] * 2)


def test_all_reduce_in_groups() -> None:
    rows = [(f32(1),), (f32(10),), (f32(100),), (f32(1000),)]
    expected = [f32(101), f32(1010), f32(101), f32(1010)]
    check_on_replicas(lambda b, x: b.all_reduce(x, add, [[0, 2], [1, 3]]), rows, expected)


def test_all_reduce_of_a_tuple_goes_element_by_element() -> None:
    rows = [(f32(1), f32(2, 3)), (f32(10), f32(20, 30))]
    check_on_replicas(lambda b, x, y: b.all_reduce(b.tuple([x, y]), add), rows, [[f32(11), f32(22, 33)]] * 2)
    module = build(lambda b, x: b.all_reduce(b.tuple([x]), add), f32(1))
    assert str(module.entry.root.shape) == "(f32[])"


def test_all_reduce_on_one_replica() -> None:
    check(lambda b, x: b.all_reduce(x, add), f32(1.0, 2.5), expected=f32(1.0, 2.5))


def test_all_to_all_of_f32_4_16_is_f32_16_4() -> None:
    inputs = [np.arange(64, dtype=np.float32).reshape(4, 16) + 100 * i for i in range(4)]
    # Replica i gets block i of every replica along dimension 1, joined along dimension 0.
    expected = [np.concatenate([x[:, 4 * i : 4 * i + 4] for x in inputs], 0) for i in range(4)]
    check_on_replicas(lambda b, x: b.all_to_all(x, 1, 0, 4), [(x,) for x in inputs], expected)


def test_all_to_all_in_one_dimension() -> None:
    inputs = [f32(0, 1), f32(10, 11)]
    check_on_replicas(lambda b, x: b.all_to_all(x, 0, 0, 2), [(x,) for x in inputs], [f32(0, 10), f32(1, 11)])
    assert opcodes(build(lambda b, x: b.all_to_all(x, 0, 0, 2), inputs[0])) == ["all-to-all"]


def test_all_to_all_of_a_tuple() -> None:
    rows = [(f32(0), f32(1)), (f32(10), f32(11))]
    check_on_replicas(lambda b, x, y: b.all_to_all_tuple([x, y]), rows, [[f32(0), f32(10)], [f32(1), f32(11)]])


def test_all_to_all_on_one_replica() -> None:
    check(lambda b, x: b.all_to_all(x, 0, 0, 1), f32(1.0, 2.5), expected=f32(1.0, 2.5))


def test_collective_permute_gives_zeros_to_who_is_no_target() -> None:
    rows = [(f32(1, 2),), (f32(3, 4),), (f32(5, 6),)]
    expected = [f32(0, 0), f32(1, 2), f32(3, 4)]
    check_on_replicas(lambda b, x: b.collective_permute(x, [(0, 1), (1, 2)]), rows, expected)


def test_collective_permute_on_one_replica() -> None:
    check(lambda b, x: b.collective_permute(x, [(0, 0)]), f32(1.0, 2.5), expected=f32(1.0, 2.5))


def test_cross_replica_sum() -> None:
    check_on_replicas(lambda b, x: b.cross_replica_sum(x), TWO, [f32(4.0, 7.75)] * 2)
    module = build(lambda b, x: b.cross_replica_sum(x), np.array([True]))
    assert module.entry.root.attributes["to_apply"].root.opcode == "or"


def test_cross_replica_sum_on_one_replica() -> None:
    check(lambda b, x: b.cross_replica_sum(x), f32(1.0, 2.5), expected=f32(1.0, 2.5))


def test_broadcasts_sums_and_ragged_exchanges_keep_their_shapes() -> None:
    b = XlaBuilder("shapes")
    x, y = b.parameter(0, make_shape(F32, [8, 2])), b.parameter(1, make_shape(F32, [6, 2]))
    offsets = b.parameter(2, make_shape(S32, [2]))
    assert str(b.collective_broadcast(x, [[1, 0]]).shape) == "f32[8,2]"
    assert str(b.collective_reduce(x, lambda a, c: a + c, [[1, 0]]).shape) == "f32[8,2]"
    assert str(b.ragged_all_to_all(x, offsets, offsets, y, offsets, offsets).shape) == "f32[6,2]"
    b.build()


def test_reduce_scatter() -> None:
    rows = [(f32(1.0, 2.25),), (f32(3.0, 5.25),)]
    check_on_replicas(lambda b, x: b.reduce_scatter(x, add, 0, 2), rows, [f32([4.0]), f32([7.5])])


def test_reduce_scatter_on_one_replica() -> None:
    check(lambda b, x: b.reduce_scatter(x, add, 0, 1), f32(1.0, 2.5), expected=f32(1.0, 2.5))


def test_replica_ids_count_the_replicas() -> None:
    rows = [(s32(i * 100),) for i in range(3)]
    check_on_replicas(lambda b, x: x + b.convert_element_type(b.replica_id(), S32), rows, [s32(0), s32(101), s32(202)])


def test_ids_are_u32_scalars() -> None:
    b = XlaBuilder("ids")
    assert [str(op.shape) for op in (b.replica_id(), b.partition_id())] == ["u32[]", "u32[]"]


def test_replica_id_on_one_replica() -> None:
    check(lambda b: b.replica_id(), expected=np.array(0, np.uint32))
