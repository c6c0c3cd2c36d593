"""The Send section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import opcodes
from xla2py.transpile.hlo.builder import (
    F32,
    ChannelHandle,
    ChannelType,
    XlaBuilder,
    make_shape,
)
from xla2py.transpile.hlo.printer import print_module


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
