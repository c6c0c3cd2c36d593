"""The seed on shapes and layouts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from xla2py.tests.builder.worked import add, assert_equal, check
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.builder import (
    BF16,
    F32,
    S8,
    S32,
    TOKEN,
    ArrayShape,
    Layout,
    TupleShape,
    XlaBuilder,
    byte_size,
    compatible,
    dimension_number,
    dimension_size,
    is_major_to_minor,
    is_minor_to_major,
    is_padding,
    linear_index,
    major_to_minor,
    make_shape,
    multi_index,
    parse_layout,
    parse_shape,
    true_rank,
)
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.indexing import from_buffer, to_buffer
from xla2py.transpile.hlo.layouts import memory_space_name, physical_size
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.source import HloSyntaxError, HloVerificationError, XlaToPythonError


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


LETTERS = np.frombuffer(b"abcdef", np.int8).reshape(2, 3)


@pytest.mark.parametrize(("order", "buffer"), [((0, 1), b"adbecf"), ((1, 0), b"abcdef")])
def test_the_array_of_the_seed(order: tuple[int, ...], buffer: bytes) -> None:
    shape = make_shape(S8, [2, 3], order)
    assert to_buffer(LETTERS, shape).tobytes() == buffer
    np.testing.assert_array_equal(from_buffer(np.frombuffer(buffer, np.int8), shape), LETTERS)


def test_dim_0_is_minor_or_major() -> None:
    row_major, column_major = parse_layout("{1,0}"), parse_layout("{0,1}")
    assert is_major_to_minor(row_major) and not is_minor_to_major(row_major)
    assert is_minor_to_major(column_major) and not is_major_to_minor(column_major)
    assert major_to_minor(column_major) == (1, 0)
    assert str(column_major) == "{0,1}"


def test_the_layout_does_not_change_the_values() -> None:
    b = XlaBuilder("layout")
    b.rev(b.parameter(0, make_shape(S8, [2, 3], [0, 1])), [0])
    text = print_module(b.build())
    assert "s8[2,3]{0,1} parameter(0)" in text
    assert_equal(LETTERS[::-1], run_hlo(text, LETTERS))


@pytest.mark.parametrize("rank", range(5))
def test_a_new_shape_is_major_to_minor(rank: int) -> None:
    layout = make_shape(F32, [2] * rank).layout
    assert layout == Layout.default(rank) == Layout(tuple(reversed(range(rank))))
    assert is_major_to_minor(layout)


def test_the_text_names_the_order_from_minor_to_major() -> None:
    assert str(make_shape(F32, [2, 3, 4])) == "f32[2,3,4]{2,1,0}"


def test_an_order_names_each_dimension_once() -> None:
    with pytest.raises(HloVerificationError, match=r"XP280.* minor_to_major \[0, 0\] is not an order of 2 dimensions"):
        make_shape(F32, [2, 3], [0, 0])


PADDED = ArrayShape(S8, (2, 3), layout=Layout((0, 1), padded_dimensions=(3, 5)))


def test_the_padded_array_of_the_seed() -> None:
    assert to_buffer(LETTERS, PADDED).tobytes().replace(bytes(1), b"0") == b"ad0be0cf0000000"
    assert is_padding(PADDED, range(15)).tolist() == [byte == "0" for byte in "ad0be0cf0000000"]


def test_it_is_the_layout_of_the_wider_array() -> None:
    wider = np.zeros((3, 5), np.int8)
    wider[:2, :3] = LETTERS
    np.testing.assert_array_equal(to_buffer(LETTERS, PADDED), to_buffer(wider, make_shape(S8, [3, 5], [0, 1])))


def test_the_number_of_elements_is_padded_to_a_multiple() -> None:
    shape = parse_shape("s8[2,3]{1,0:T(2,2)L(16)}")
    assert isinstance(shape, ArrayShape)
    assert (physical_size(shape), byte_size(shape)) == (16, 16)
    assert to_buffer(LETTERS, shape).tobytes().replace(bytes(1), b"0") == b"abdec0f000000000"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_there_and_back_in_every_order(order: tuple[int, ...]) -> None:
    shape = make_shape(F32, [2, 3, 4], order)
    places = [linear_index(shape, index) for index in np.ndindex(2, 3, 4)]
    assert sorted(places) == list(range(24))
    assert [multi_index(shape, place) for place in places] == list(np.ndindex(2, 3, 4))


def test_numbers_of_the_array_of_the_seed() -> None:
    column_major = make_shape(F32, [2, 3], [0, 1])
    assert linear_index(column_major, (1, 2)) == 5
    assert multi_index(column_major, 3) == (1, 1)
    assert linear_index(parse_shape("f32[3,5]{1,0:T(2,2)}"), (2, 3)) == 17


def test_the_program_for_the_linear_index() -> None:
    expected = linear_index(make_shape(S32, [2, 3]), list(np.indices((2, 3)))).astype(np.int32)
    check(lambda b: b.iota(make_shape(S32, [2, 3]), 0) * 3 + b.iota(make_shape(S32, [2, 3]), 1), expected=expected)


def test_an_index_out_of_range() -> None:
    with pytest.raises(XlaToPythonError, match="XP58"):
        linear_index(make_shape(F32, [2, 3]), (2, 0))


@pytest.mark.parametrize(
    ("space", "name"),
    [
        (0, "high-bandwidth memory (HBM)"),
        (1, "vector memory (VMEM)"),
        (2, "device-specific memory space 2"),
        (3, "device-specific memory space 3"),
        (5, "host memory"),
    ],
)
def test_the_names_of_memory_spaces(space: int, name: str) -> None:
    assert memory_space_name(space) == name


def test_the_fusion_s_shape_keeps_its_memory_space() -> None:
    text = "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}"
    shape = parse_shape(text)
    assert isinstance(shape, ArrayShape)
    assert shape.layout == Layout((2, 1, 0), ((8, 128), (2, 1)), memory_space=1)
    b = XlaBuilder("fusion")
    b.parameter(0, shape, "fusion.32")
    assert f"fusion.32 = {text} parameter(0)" in print_module(b.build())


def test_s_0_is_left_out() -> None:
    assert str(parse_shape("f32[2]{0:S(0)}")) == "f32[2]{0}"
