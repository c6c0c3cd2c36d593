"""The Call section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import build, check, f32, s32
from xla2py.transpile.hlo.builder import (
    XlaBuilder,
)
from xla2py.transpile.hlo.printer import print_module


def test_call_with_and_without_arguments() -> None:
    check(lambda b, x, y: b.call(lambda a, c: a * c + a, [x, y]), f32(1, 2), f32(3, 4), expected=f32(4, 10))
    answer = XlaBuilder("answer")
    answer.constant(42)
    check(lambda b: b.call(answer), expected=s32(42))


def test_a_composite_call_is_marked() -> None:
    module = build(lambda b, x: b.composite_call(lambda a: a * a, [x], "my.square", "{n = 2 : i64}", 3), f32(1, 2))
    text = print_module(module)
    assert 'composite.name="my.square"' in text
    assert "is_composite=true" in text
    assert 'composite.version="3"' in text
