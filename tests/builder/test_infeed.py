"""The Infeed section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.transpile.hlo.builder import (
    F32,
    S32,
    XlaBuilder,
    make_shape,
)
from xla2py.transpile.hlo.shapes import TupleShape


def test_infeeds_are_ordered_by_their_tokens() -> None:
    b = XlaBuilder("feed")
    first = b.infeed(make_shape(F32, [3]), "config")
    second = b.infeed(TupleShape((make_shape(F32, [2]), make_shape(S32, []))))
    b.outfeed(first)
    module = b.build(second)
    infeeds = [i for i in module.entry.instructions if i.opcode == "infeed"]
    (token,) = infeeds[1].operands
    assert (token.opcode, token.operands) == ("get-tuple-element", (infeeds[0],))
    assert infeeds[0].attributes["infeed_config"] == "config"
    assert str(second.shape) == "(f32[2]{0}, s32[])"


def test_an_empty_tuple_is_fed_without_data() -> None:
    b = XlaBuilder("nothing")
    assert str(b.infeed(TupleShape(())).shape) == "()"


def test_two_loops_with_an_infeed_each() -> None:
    """The seed's example: the loops depend on each other, so their infeeds are ordered."""

    def body(total):
        return total + total.builder.infeed(make_shape(F32, []))

    b = XlaBuilder("loops")
    first = b.while_(lambda x: x < 10.0, body, b.constant(0.0))
    second = b.while_(lambda x: x < 20.0, body, first)
    module = b.build(second)
    assert sum(i.opcode == "infeed" for i in module.instructions()) == 2
