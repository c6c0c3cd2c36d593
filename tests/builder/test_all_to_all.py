"""The AllToAll section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import build, check, check_on_replicas, f32, opcodes


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


def test_on_one_replica() -> None:
    check(lambda b, x: b.all_to_all(x, 0, 0, 1), f32(1.0, 2.5), expected=f32(1.0, 2.5))
