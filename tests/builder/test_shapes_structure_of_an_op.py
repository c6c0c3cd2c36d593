"""The shapes seed, "Structure of an XLA op": its two instructions, made by the builder."""

from __future__ import annotations

from xla2py.tests.builder.worked import add
from xla2py.transpile.hlo.builder import BF16, ArrayShape, Layout, XlaBuilder, parse_shape
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module


def test_the_instruction_with_tiles() -> None:
    shape = parse_shape("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}")
    assert shape == ArrayShape(BF16, (8, 1, 1280, 16384), layout=Layout((3, 2, 0, 1), ((8, 128), (2, 1))))
    b = XlaBuilder("newer")
    add(b.parameter(0, shape, "exponential.183"), b.parameter(1, shape, "broadcast.3115"))
    module = b.build()
    text = print_module(module)
    assert f"exponential.183 = {shape} parameter(0)" in text
    assert "add(exponential.183, broadcast.3115)" in text
    assert parse_module(text).entry.parameters[1].shape == shape


def test_a_layout_may_be_left_out() -> None:
    b = XlaBuilder("newer")
    b.parameter(0, "bf16[8,1,1280,16384]", "x")
    assert "x = bf16[8,1,1280,16384] parameter(0)" in print_module(b.build())
