"""CollectiveBroadcast, CollectiveReduce and RaggedAllToAll, which are newer than the seed."""

from __future__ import annotations

from xla2py.transpile.hlo.builder import (
    F32,
    S32,
    XlaBuilder,
    make_shape,
)


def test_broadcasts_sums_and_ragged_exchanges_keep_their_shapes() -> None:
    b = XlaBuilder("shapes")
    x, y = b.parameter(0, make_shape(F32, [8, 2])), b.parameter(1, make_shape(F32, [6, 2]))
    offsets = b.parameter(2, make_shape(S32, [2]))
    assert str(b.collective_broadcast(x, [[1, 0]]).shape) == "f32[8,2]"
    assert str(b.collective_reduce(x, lambda a, c: a + c, [[1, 0]]).shape) == "f32[8,2]"
    assert str(b.ragged_all_to_all(x, offsets, offsets, y, offsets, offsets).shape) == "f32[6,2]"
    b.build()
