"""The AllReduce section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import add, build, check, check_on_replicas, f32

TWO = [(f32(1.0, 2.5),), (f32(3.0, 5.25),)]


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


def test_on_one_replica() -> None:
    check(lambda b, x: b.all_reduce(x, add), f32(1.0, 2.5), expected=f32(1.0, 2.5))
