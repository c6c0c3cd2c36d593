"""The operands of refused calls, and what is expected of a refusal."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from xla2py.transpile.hlo.builder import C64, F16, F32, PRED, S32, U64, Shape, XlaBuilder, make_shape
from xla2py.transpile.hlo.shapes import ArrayShape, TupleShape
from xla2py.transpile.hlo.source import HloVerificationError

Call = Callable[[XlaBuilder, SimpleNamespace], Any]
Refused = list[tuple[str, str, Call]]


def operands(b: XlaBuilder) -> SimpleNamespace:
    """Ops of many shapes: x f32[4], m f32[4,3], e f32[2,3,4], n s32[4], i s32[], s f32[], p pred[], q pred[4], .."""
    shapes: dict[str, Shape] = {
        "x": make_shape(F32, [4]),
        "m": make_shape(F32, [4, 3]),
        "e": make_shape(F32, [2, 3, 4]),
        "n": make_shape(S32, [4]),
        "i": make_shape(S32, []),
        "s": make_shape(F32, []),
        "p": make_shape(PRED, []),
        "q": make_shape(PRED, [4]),
        "c": make_shape(C64, [4]),
        "h": make_shape(F16, [4]),
        "u": make_shape(U64, [3]),
        "img": make_shape(F32, [2, 4, 5, 5]),
        "k": make_shape(F32, [6, 2, 3, 3]),
        "pair": TupleShape((ArrayShape(F32, (4,)), ArrayShape(S32, ()))),
        "d": ArrayShape(F32, (4, 6), (True, False)),
    }
    ops = {name: b.parameter(number, shape, name) for number, (name, shape) in enumerate(shapes.items())}
    return SimpleNamespace(**ops, t=b.create_token())


def add(a, c):
    return a + c


def less(a, c):
    return a < c


def computation(function: Callable[..., Any], parameters: int = 1) -> XlaBuilder:
    """A builder with the function of so many f32 scalars, called ``negated`` or ``reducer``."""
    inner = XlaBuilder("negated" if parameters == 1 else "reducer")
    function(*(inner.parameter(number, make_shape(F32, [])) for number in range(parameters)))
    return inner


def assert_refused(code: str, message: str, call: Call) -> None:
    b = XlaBuilder("refused")
    v = operands(b)
    with pytest.raises(HloVerificationError) as caught:
        call(b, v)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert message in diagnostic.message


def identifiers(refused: Refused) -> list[str]:
    return [f"{code} {message}" for code, message, _ in refused]
