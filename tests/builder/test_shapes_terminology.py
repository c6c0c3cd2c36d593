"""The shapes seeds, "Terminology, notation, and conventions"."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.transpile.hlo.builder import (
    F32,
    S32,
    TOKEN,
    ArrayShape,
    TupleShape,
    XlaBuilder,
    compatible,
    dimension_number,
    dimension_size,
    make_shape,
    parse_shape,
    true_rank,
)
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.source import HloSyntaxError, HloVerificationError

A, B, C, D = 5, 6, 7, 8


def test_make_shape_keeps_the_order_of_the_sizes() -> None:
    shape = make_shape(F32, [A, B, C, D])
    assert (shape.element_type, shape.dimensions, shape.rank, shape.size) == (F32, (A, B, C, D), 4, A * B * C * D)
    assert make_shape("f32", [A, B, C, D]) == make_shape(np.float32, (A, B, C, D)) == shape


def test_true_rank_counts_the_sizes_above_1() -> None:
    assert true_rank(make_shape(F32, [3, 1, 2, 1])) == 2
    assert true_rank(make_shape(F32, [])) == 0


def test_dimension_numbers_count_from_either_end() -> None:
    shape = make_shape(F32, [A, B, C])
    assert [dimension_size(shape, d) for d in (0, 1, 2)] == [A, B, C]
    assert [dimension_size(shape, d) for d in (-1, -2, -3)] == [C, B, A]
    assert dimension_number(shape, -1) == 2
    with pytest.raises(HloVerificationError, match=r"XP282.* there is no dimension 3"):
        dimension_size(shape, 3)


def test_size_0_is_a_size_and_a_negative_one_is_none() -> None:
    assert make_shape(F32, [0, 3]).size == 0
    with pytest.raises(HloVerificationError, match="XP283: sizes must not be negative"):
        make_shape(F32, [-1])
    with pytest.raises(HloVerificationError, match="XP283: 'f33' is not an element type"):
        make_shape("f33", [1])


@pytest.mark.parametrize(
    "text",
    ["f32[]", "f32[2,3]{0,1}", "s32[<=4,6]{1,0}", "bf16[8,128]{1,0:T(8,128)(2,1)S(1)}", "(f32[2], (s32[], token[]))"],
)
def test_text_reads_back_as_the_same_shape(text: str) -> None:
    assert str(parse_shape(text)) == text
    assert parse_shape(str(parse_shape(text))) == parse_shape(text)


@pytest.mark.parametrize("text", ["f32[2", "f33[2]", "f32[2]{0,0}", "f32[2] f32[3]", ""])
def test_text_that_is_no_shape(text: str) -> None:
    with pytest.raises(HloSyntaxError):
        parse_shape(text)


def test_parts_of_shapes() -> None:
    assert parse_shape("(f32[2], token[])") == TupleShape((ArrayShape(F32, (2,)), TOKEN))


def test_equality_with_and_without_layout() -> None:
    row_major, column_major = make_shape(F32, [2, 3]), make_shape(F32, [2, 3], [0, 1])
    assert row_major != column_major
    assert compatible(row_major, column_major)
    assert row_major.without_layout() == column_major.without_layout()
    assert not compatible(row_major, make_shape(S32, [2, 3]))
    assert not compatible(row_major, make_shape(F32, [3, 2]))
    assert compatible(TupleShape((row_major, TOKEN)), TupleShape((column_major, TOKEN)))


def test_every_element_type_is_a_name_of_the_builder() -> None:
    from xla2py.transpile.hlo import builder

    for name, element_type in ELEMENT_TYPES.items():
        assert getattr(builder, name.upper()) is element_type
        assert str(XlaBuilder("b").parameter(0, make_shape(element_type, [2])).shape) == f"{name}[2]{{0}}"
