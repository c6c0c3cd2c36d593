"""The sections of the operation-semantics seed on tokens, hosts and channels."""

from __future__ import annotations

from xla2py.tests.builder.worked import opcodes
from xla2py.transpile.hlo.builder import F32, S32, ChannelHandle, ChannelType, XlaBuilder, make_shape
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.shapes import TupleShape


def test_tokens_join() -> None:
    b = XlaBuilder("tokens")
    joined = b.after_all([b.create_token(), b.create_token()])
    assert str(joined.shape) == "token[]"
    assert len(joined.instruction.operands) == 2


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


def test_recv_becomes_a_pair_whose_context_holds_the_buffer() -> None:
    b = XlaBuilder("receive")
    received = b.recv(make_shape(F32, [4]), ChannelHandle(3))
    module = b.build(received)
    assert opcodes(module) == ["after-all", "recv", "recv-done", "get-tuple-element", "get-tuple-element"]
    shapes = {i.opcode: str(i.shape) for i in module.entry.instructions}
    assert shapes["recv"] == "(f32[4]{0}, u32[], token[])"
    assert shapes["recv-done"] == "(f32[4]{0}, token[])"
    assert str(received.shape) == "f32[4]{0}"
    assert print_module(module).count("channel_id=3") == 2


def test_send_and_recv_become_pairs_on_one_channel() -> None:
    b = XlaBuilder("transfer")
    x = b.parameter(0, make_shape(F32, [4]))
    b.send(x, ChannelHandle(7))
    received = b.recv(make_shape(F32, [4]), ChannelHandle(8, ChannelType.HOST_TO_DEVICE))
    module = b.build(received)
    assert opcodes(module) == [
        *("after-all", "send", "send-done", "recv", "recv-done"),
        *("get-tuple-element", "get-tuple-element"),
    ]
    by_opcode = {i.opcode: i for i in module.entry.instructions}
    assert by_opcode["recv"].operands == (by_opcode["send-done"],)  # in the order they were built
    assert str(by_opcode["send"].shape) == "(f32[4]{1,0}, u32[], token[])".replace("{1,0}", "{0}")
    text = print_module(module)
    assert text.count("channel_id=7") == 2
    assert text.count("channel_id=8, is_host_transfer=true") == 2


def test_the_schedule_of_one_channel() -> None:
    """Recv before Send, Send before RecvDone: with tokens the caller says so."""
    b = XlaBuilder("scheduled")
    x = b.parameter(0, make_shape(F32, [4]))
    received = b.recv_with_token(b.create_token(), make_shape(F32, [4]), ChannelHandle(1))
    b.send_with_token(x, received[1], ChannelHandle(2))
    assert opcodes(b.build(received[0])) == [
        *("after-all", "recv", "recv-done", "get-tuple-element"),
        *("send", "send-done", "get-tuple-element"),
    ]
