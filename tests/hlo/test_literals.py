"""Literals: every element type, every spelling, bit by bit; and as XLA itself reads and prints them."""

import itertools
import math
import time
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from xla2py.tests.recording.xla_texts import printed
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.errors import HloSyntaxError
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.lexer import Cursor
from xla2py.transpile.hlo.literals import parse_literal
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import literal_text
from xla2py.transpile.hlo.shape_parser import parse_shape
from xla2py.transpile.hlo.source import SourceText

FLOATS = [name for name, row in ELEMENT_TYPES.items() if row.is_floating]


def read(shape, text):
    cursor = Cursor(SourceText(text))
    value = parse_literal(cursor, parse_shape(Cursor(SourceText(shape))))
    assert cursor.at_end(), f"stopped before {text[cursor.position :][:20]!r}"
    return value


def code_of(shape, text):
    with pytest.raises(HloSyntaxError) as caught:
        read(shape, text)
    return caught.value.diagnostics[0].code


def bits(array):
    return array.view(f"u{array.itemsize}").tolist()


@pytest.mark.parametrize(
    ("shape", "text", "expected"),
    [
        ("f32[]", "-1.5e-3", np.float32(-1.5e-3)),
        ("f32[]", "1E+3", np.float32(1000)),
        ("f32[]", "5.", np.float32(5)),
        ("f32[]", "00012", np.float32(12)),
        ("f64[2]", "{1e-310, 0.30000000000000004}", np.array([1e-310, 0.30000000000000004])),
        ("f64[]", "1e-5000", np.float64(0)),
        ("s32[]", "-0", np.int32(0)),
        ("s64[]", "-9223372036854775808", np.int64(-(2**63))),
        ("u64[]", "18446744073709551615", np.uint64(2**64 - 1)),
        ("u64[2]", "{-1, -9223372036854775808}", np.array([2**64 - 1, 2**63], np.uint64)),
        ("s64[2]", "{18446744073709551615, 9223372036854775808}", np.array([-1, -(2**63)])),
        ("pred[3]", "{2, -1, 00}", np.array([True, True, False])),
        ("pred[4]", "{true, false, 1, 0}", np.array([True, False, True, False])),
        ("pred[]", "true", np.bool_(True)),
        ("c64[2]", "{(0, 1), (inf, -2.5)}", np.array([1j, complex(math.inf, -2.5)], np.complex64)),
        ("c128[]", "(1, 2)", np.complex128(1 + 2j)),
        ("s4[3]", "{-8, 7, 0}", np.array([-8, 7, 0], ml_dtypes.int4)),
        ("u2[2]", "{3, 0}", np.array([3, 0], ml_dtypes.uint2)),
        ("bf16[2]", "{0.1001, 3.39e38}", np.array([0.1001, 3.39e38], ml_dtypes.bfloat16)),
        ("f8e4m3fn[2]", "{448, -0}", np.array([448, -0.0], ml_dtypes.float8_e4m3fn)),
        ("f8e8m0fnu[]", "0.5", np.array(0.5, ml_dtypes.float8_e8m0fnu)),
        ("f4e2m1fn[2]", "{6, -0.5}", np.array([6, -0.5], ml_dtypes.float4_e2m1fn)),
        ("f32[2,2]", "{ { 1, 2 }, { 3, 4 } }", np.array([[1, 2], [3, 4]], np.float32)),
        ("f32[2,1,2]", "{ /*i0=0*/ { {1, 2} }, /*i0=1*/ { {3, 4} } }", np.array([[[1, 2]], [[3, 4]]], np.float32)),
        ("f32[3]", "{1,2,3,}", np.array([1, 2, 3], np.float32)),
        ("f32[2,1]", "{{1},{2},}", np.array([[1], [2]], np.float32)),
        ("f32[0]", "{}", np.zeros(0, np.float32)),
        ("f32[2,0]", "{ { /*i0=0*/ }, { } }", np.zeros((2, 0), np.float32)),
        ("f32[0,2]", "{}", np.zeros((0, 2), np.float32)),
        ("f32[<=2]", "{1, 2}", np.array([1, 2], np.float32)),
    ],
)
def test_values(shape, text, expected):
    value = read(shape, text)
    assert value.dtype == expected.dtype
    assert value.shape == expected.shape
    assert value.tobytes() == expected.tobytes()
    assert not value.flags.writeable


@pytest.mark.parametrize(
    ("shape", "text", "expected"),
    [
        ("f32[4]", "{nan, -nan, nan(0x7), -nan(0x400001)}", [0x7FC00000, 0xFFC00000, 0x7F800007, 0xFFC00001]),
        ("f64[1]", "{-nan(0x123456789)}", [0xFFF0000123456789]),
        ("f16[2]", "{nan, nan(0x3)}", [0x7E00, 0x7C03]),
        ("bf16[2]", "{nan, -nan(0x1)}", [0x7FC0, 0xFF81]),
        ("f8e5m2[1]", "{nan(0x1)}", [0x7D]),
        ("f8e4m3fn[2]", "{nan, -nan}", [0x7F, 0xFF]),
    ],
)
def test_bits_of_nan(shape, text, expected):
    assert bits(read(shape, text)) == expected


def test_a_payload_belongs_to_one_part_of_a_complex_number():
    value = read("c64[]", "(nan(0x7), 1)")
    assert bits(value.reshape(1).view(np.float32)) == [0x7F800007, 0x3F800000]


def test_tuples():
    value = read("(s32[], (f32[2], token[]), ())", "(5, ({1, 2}, token), ())".replace("token", ""))
    assert value[0] == 5
    assert value[1][0].tolist() == [1, 2]
    assert value[1][1] is None
    assert value[2] == ()


@pytest.mark.parametrize(
    ("code", "shape", "text"),
    [
        ("XP130", "f32[4]", "{...}"),
        ("XP130", "f32[2,2]", "{ {...}, {1, 2} }"),
        ("XP130", "f32[4]", "{1, 2, ...}"),
        ("XP130", "f32[]", "..."),
        ("XP130", "(f32[2], f32[])", "({...}, 1)"),
        ("XP130", "(f32[2], f32[])", "{...}"),
        ("XP131", "f32[2]", "{1, 2, 3}"),
        ("XP131", "f32[3]", "{1, 2}"),
        ("XP131", "f32[2,2]", "{{1, 2}, {3}}"),
        ("XP131", "f32[2,2]", "{{1, 2}}"),
        ("XP131", "f32[0]", "{1}"),
        ("XP131", "f32[2,0]", "{}"),
        ("XP131", "(s32[])", "(5,)"),
        ("XP131", "f32[?]", "{1}"),
        ("XP131", "opaque[]", "1"),
        ("XP102", "f32[2]", "{1 2}"),
        ("XP102", "f32[2]", "{1,,2}"),
        ("XP102", "f32[2]", "{,1,2}"),
        ("XP102", "f32[2]", "{{1},{2}}"),
        ("XP102", "f32[2]", "1"),
        ("XP102", "f32[]", "{1}"),
        ("XP102", "f32[]", ".5"),
        ("XP102", "f32[]", "+2"),
        ("XP102", "f32[]", "- 1"),
        ("XP102", "f32[]", "1_000"),
        ("XP102", "f32[]", "0x10"),
        ("XP102", "f32[]", "0x1p3"),
        ("XP102", "f32[]", "infinity"),
        ("XP102", "c64[]", "1"),
        ("XP103", "c64[]", "(1, "),
        ("XP103", "c64[]", "(1, 2"),
        ("XP103", "f32[2]", "{1, 2"),
        ("XP132", "f32[]", "1e40"),
        ("XP132", "f64[]", "1e5000"),
        ("XP132", "f16[]", "65520"),
        ("XP132", "bf16[]", "3.4e38"),
        ("XP132", "f8e4m3fn[]", "465"),
        ("XP132", "f4e2m1fn[]", "nan"),
        ("XP132", "f8e8m0fnu[]", "-1"),
        ("XP132", "f8e8m0fnu[]", "0"),
        ("XP132", "c64[]", "(0, 1e40)"),
        ("XP132", "s8[]", "128"),
        ("XP132", "u8[]", "-1"),
        ("XP132", "s4[]", "8"),
        ("XP132", "s64[]", "18446744073709551616"),
        ("XP132", "u64[]", "18446744073709551616"),
        ("XP132", "s32[]", "9" * 10_000),
        ("XP132", "pred[]", "18446744073709551616"),
        ("XP132", "f32[]", "nan(0x800000)"),
        ("XP132", "f32[]", "nan(0x0)"),
        ("XP132", "f8e4m3fn[]", "nan(0x1)"),
        ("XP133", "s32[]", "1.0"),
        ("XP133", "s32[]", "1e3"),
        ("XP133", "s8[]", "nan"),
        ("XP133", "s32[]", "true"),
        ("XP133", "f32[]", "false"),
    ],
)
def test_refused(code, shape, text):
    assert code_of(shape, text) == code


@pytest.mark.parametrize(
    ("largest", "name"), [("65519", "f16"), ("464", "f8e4m3fn"), ("7", "f4e2m1fn"), ("61439", "f8e5m2")]
)
def test_what_rounds_to_the_largest_value_is_in_range(largest, name):
    row = ELEMENT_TYPES[name]
    assert float(read(f"{name}[]", largest)) == float(ml_dtypes.finfo(row.dtype).max)


def test_the_place_of_a_bad_value_in_a_large_literal():
    text = "{\n" + ",\n".join(["1, 2, 3, 4"] * 999 + ["1, 2, 300, 4"]) + "}"
    with pytest.raises(HloSyntaxError) as caught:
        read("s8[4000]", text)
    assert caught.value.diagnostics[0].location == "<string>:1001:7"
    assert caught.value.diagnostics[0].label == "-128 to 127"


# Pieces that only together, or only in bulk, could pass for a literal of 8 by 4 numbers.
ROW = "{1, 2, 3, 4}"


@pytest.mark.parametrize(
    "text",
    [
        "{" + ", ".join([ROW] * 8) + "}",
        "{ " + " , ".join(["{ 1 ,2 , 3,4 }"] * 8) + " }",
        "{" + ", ".join([f"/*i={i}*/ {ROW}" for i in range(8)]) + "}",
        "{\n" + ",\n".join([ROW] * 8) + "\n}",
    ],
)
@pytest.mark.parametrize("name", ["f32", "s32", "s8", "f16", "bf16", "u64"])
def test_large_literals_in_any_dress(name, text):
    assert read(f"{name}[8,4]", text).astype(int).tolist() == [[1, 2, 3, 4]] * 8


@pytest.mark.parametrize(
    "bad",
    [
        "{1, 2 3, 4}",
        "{1, 2, 3, 4, 5}",
        "{1, 2, 3}",
        "1 {, 2, 3, 4}",
        "{1, 2, 3 }, 4 {, 1, 2, 3, 4}",
        "{1, 2, 3, 4} 5",
        "{+1, 2, 3, 4}",
        "{.5, 2, 3, 4}",
        "{1, 2, - 3, 4}",
        "{1, 2, 3e, 4}",
        "{1, 2, naninf, 4}",
        "{1, 2, infinity, 4}",
        "{1, 2, 1e99, 4}",
        "{}",
        "{{1}, 2, 3, 4}",
        "{1, 2, 3, (4)}",
        "{1, 2, 3, 0x4}",
        "{1, 2, 3, ٤}",
    ],
)
def test_large_literals_are_checked_like_small_ones(bad):
    text = "{" + ", ".join([ROW] * 7 + [bad]) + "}"
    assert code_of("f32[8,4]", text) in ("XP102", "XP131", "XP132")


def test_a_literal_allocates_by_its_text_not_by_its_shape():
    tracemalloc.start()
    try:
        for shape, text in [
            ("f32[99999999999]", "{1, 2}"),
            ("f32[99999999999,9]", "{{1}}"),
            ("f32[99999999999,0]", "{}"),
            ("f32[9,99999999999]", "{" + "1," * 1000 + "}"),
        ]:
            assert code_of(shape, text) in ("XP131", "XP102")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_many_tuple_elements_are_read_in_linear_time():
    count = 3000
    shape = f"({','.join(['f32[32]'] * count)})"
    text = f"({','.join(['{' + ','.join(['1'] * 32) + '}'] * count)})"
    start = time.process_time()
    assert len(read(shape, text)) == count
    assert time.process_time() - start < 3


@pytest.mark.parametrize("name", [name for name, row in ELEMENT_TYPES.items() if row.bits <= 16 and name != "pred"])
def test_every_bit_pattern_of_a_narrow_type_reads_back(name):
    row = ELEMENT_TYPES[name]
    if row.is_floating:
        patterns = np.arange(1 << row.bits, dtype=f"u{row.dtype.itemsize}").view(row.dtype)
    else:
        low = -(1 << row.bits - 1) if row.is_signed else 0
        patterns = np.arange(low, low + (1 << row.bits)).astype(row.dtype)
    read_back = read(f"{name}[{patterns.size}]", literal_text(patterns))
    assert read_back.tobytes() == patterns.tobytes()


@given(
    hnp.arrays(
        st.sampled_from(["f4", "f8", "c8", "c16", "i8", "u8", "?", "i4"]), hnp.array_shapes(min_dims=0, min_side=0)
    )
)
def test_arrays_read_back(array):
    name = next(row.name for row in ELEMENT_TYPES.values() if row.dtype == array.dtype)
    read_back = read(f"{name}[{','.join(map(str, array.shape))}]", literal_text(array))
    assert read_back.shape == array.shape
    assert read_back.tobytes() == array.tobytes()


def test_few_digits_where_they_are_enough():
    assert literal_text(np.float32([0.1, 1 / 3, 1e10, 16777216, -0.0])) == "{0.1, 0.333333343, 1e+10, 16777216, -0.0}"
    assert literal_text(np.float64(0.1)) == "0.1"
    assert literal_text(np.bool_(True)) == "true"
    assert literal_text(np.array([[True], [False]])) == "{{1}, {0}}"
    assert literal_text((np.int32(5), (np.complex64(1 - 2j),))) == "(5, ((1, -2)))"


XLA_TEXTS = {
    "f32": ["0", "-0.0", "0.1", "1e-45", "3.4028234e38", "inf", "-inf", "nan", "-nan", "nan(0x7)", "16777217", "1e-50"],
    "f64": ["0.1", "1e308", "5e-324", "nan(0xfffffffffffff)", "2.2250738585072011e-308"],
    "f16": ["65519", "0.1", "6e-8", "nan(0x3)"],
    "bf16": ["3.39e38", "1.00390625", "0.1", "nan(0x1)"],
    "f8e4m3fn": ["448", "464", "0.0019", "nan", "-nan"],
    "f8e5m2": ["57344", "60000", "nan", "nan(0x1)"],
    "f8e4m3b11fnuz": ["30", "-0", "0.001"],
    "f4e2m1fn": ["6", "7", "-0.5", "0.2", "0.3"],
    "f8e8m0fnu": ["0.5", "3", "1.6e38", "nan"],
    "s64": ["-9223372036854775808", "007"],
    "u64": ["18446744073709551615"],
    "s4": ["-8"],
    "pred": ["true", "0"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in XLA_TEXTS.items() for text in texts])
def test_values_are_those_that_xla_reads(name, text):
    whole = printed(f"ENTRY e {{ ROOT c = {name}[] constant({text}) }}")
    value = whole.split(" constant(")[1].split("), ")[0].splitlines()[0].removesuffix(")")
    ours, xlas = read(f"{name}[]", text), read(f"{name}[]", value)
    assert ours.tobytes() == xlas.tobytes()


@pytest.mark.parametrize("name", FLOATS)
def test_xla_reads_what_is_printed(name):
    row = ELEMENT_TYPES[name]
    with np.errstate(all="ignore"):
        values = np.array([0.1, 1 / 3, 1.5, 2, 100, 1e-3, -0.0, np.nan, np.inf]).astype(row.dtype)
    whole = printed(f"ENTRY e {{ ROOT c = {name}[9] constant({literal_text(values)}) }}")
    value = whole.split("constant(")[1].split("})")[0] + "}"
    assert read(f"{name}[9]", value).tobytes() == values.tobytes()


def test_every_element_type_is_covered_by_a_value():
    for name, row in ELEMENT_TYPES.items():
        text = "(1, 2)" if row.is_complex else "-1" if name == "s1" else "true" if name == "pred" else "1"
        assert read(f"{name}[]", text).dtype == row.dtype


def test_ranks_up_to_that_of_a_numpy_array():
    for rank, is_fine in [(64, True), (65, False)]:
        shape, text = f"f32[{','.join(['1'] * rank)}]", "{" * rank + "1" + "}" * rank
        if is_fine:
            assert read(shape, text).ndim == rank
        else:
            assert code_of(shape, text) == "XP131"


def test_braces_of_every_small_shape():
    for shape in itertools.product(range(3), repeat=3):
        array = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
        assert read(f"s32[{','.join(map(str, shape))}]", literal_text(array)).shape == shape


@pytest.mark.parametrize(
    ("shape", "text"), [("f32[8]", "3"), ("f32[2,2]", "-0.5"), ("pred[3]", "true"), ("s8[40]", "-7")]
)
def test_a_number_alone_is_the_first_element_as_in_xla(shape, text):
    module = parse_module(f"HloModule m\nENTRY e {{ ROOT c = {shape} constant({text}) }}")
    literal = module.entry.root["literal"]
    (expected,) = run_hlo(f"HloModule m\nENTRY e {{ ROOT c = {shape} constant({text}) }}")
    assert literal.dtype == expected.dtype and not literal.flags.writeable
    np.testing.assert_array_equal(literal, expected)
    (note,) = module.notes
    assert note.code == "XP131" and "first element" in note.message and note.span is not None


def test_zero_alone_is_zeros_and_needs_no_note():
    module = parse_module("HloModule m\nENTRY e { ROOT c = f32[8] constant(0) }")
    assert not module.notes and not module.entry.root["literal"].any()


def test_a_number_alone_for_more_elements_than_a_text_should_make_is_refused():
    assert code_of("f32[1073741824,1024]", "0)") == "XP131"
    assert code_of("f32[0]", "3)") == code_of("c64[2]", "(1, 2))") == "XP102"
