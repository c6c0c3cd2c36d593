"""Shapes by the names of the builder; more of them is in ``tests/hlo`` and ``tests/seeds``."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.transpile.hlo import builder
from xla2py.transpile.hlo.builder import (
    F32,
    TOKEN,
    ArrayShape,
    Layout,
    TupleShape,
    XlaBuilder,
    compatible,
    make_shape,
    parse_layout,
    parse_shape,
)
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.source import HloSyntaxError


def test_make_shape_takes_types_by_name_and_by_dtype() -> None:
    assert make_shape("f32", [5, 6]) == make_shape(np.float32, (5, 6)) == make_shape(F32, [5, 6])
    assert make_shape(F32, [2] * 3).layout == Layout.default(3) == parse_layout("{2,1,0}")


@pytest.mark.parametrize(
    "text",
    ["f32[]", "f32[2,3]{0,1}", "s32[<=4,6]{1,0}", "bf16[8,128]{1,0:T(8,128)(2,1)S(1)}", "(f32[2], (s32[], token[]))"],
)
def test_text_reads_back_as_the_same_shape(text: str) -> None:
    assert str(parse_shape(text)) == text
    b = XlaBuilder("shape")
    b.parameter(0, text, "x")
    assert f"x = {text} parameter(0)" in print_module(b.build())


@pytest.mark.parametrize("text", ["f32[2", "f33[2]", "f32[2]{0,0}", "f32[2] f32[3]", ""])
def test_text_that_is_no_shape(text: str) -> None:
    with pytest.raises(HloSyntaxError):
        parse_shape(text)


def test_equality_with_and_without_layout() -> None:
    row_major, column_major = make_shape(F32, [2, 3]), make_shape(F32, [2, 3], [0, 1])
    assert row_major != column_major and compatible(row_major, column_major)
    assert not compatible(row_major, make_shape(F32, [3, 2]))
    assert compatible(TupleShape((row_major, TOKEN)), TupleShape((column_major, TOKEN)))
    assert parse_shape("(f32[2], token[])") == TupleShape((ArrayShape(F32, (2,)), TOKEN))


def test_every_element_type_is_a_name_of_the_builder() -> None:
    for name, element_type in ELEMENT_TYPES.items():
        assert getattr(builder, name.upper()) is element_type
        assert str(XlaBuilder("b").parameter(0, make_shape(element_type, [2])).shape) == f"{name}[2]{{0}}"
