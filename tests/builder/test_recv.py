"""The Recv section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import opcodes
from xla2py.transpile.hlo.builder import F32, ChannelHandle, XlaBuilder, make_shape
from xla2py.transpile.hlo.printer import print_module


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
