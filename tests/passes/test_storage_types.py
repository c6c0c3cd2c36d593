"""Narrow element types on a target that lacks them: HLO, and the lines that CuPy's module has for it."""

import numpy as np
import pytest

import xla2py
from xla2py.transpile.compilation import compile
from xla2py.transpile.errors import UnsupportedError
from xla2py.transpile.hlo.builder import parse_shape
from xla2py.transpile.hlo.carriers import NARROW, as_declared, carried, carrier_type, uncarried
from xla2py.transpile.target import adopted, load_target

SCALAR_ADD = "add { a = TYPE[] parameter(0)  b = TYPE[] parameter(1)  ROOT c = TYPE[] add(a, b) }"
LESS = "less { a = f8e5m2[] parameter(0)  b = f8e5m2[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }"
BODY = """body { c = f8e5m2[3] parameter(0)  ROOT d = f8e5m2[3] multiply(c, c) }"""
PAIRS = [
    # what moves elements moves their bits
    ("x = f8e5m2[2,3] parameter(0)\n ROOT r = f8e5m2[3,2] transpose(x), dimensions={1,0}", ["return x.T"]),
    ("x = s4[4] parameter(0)\n ROOT r = s4[4] reverse(x), dimensions={0}", ["return x[::-1]"]),
    ("ROOT r = f8e5m2[2] constant({1, nan})", ["TABLE_1 = cp.array([60, 126], dtype=cp.uint8)"]),
    ("ROOT r = u4[2] constant({1, 15})", ["TABLE_1 = cp.array([1, 15], dtype=cp.uint8)"]),
    # what computes has wide operands and rounds once
    (
        "x = f8e4m3fn[3] parameter(0)\n ROOT r = f8e4m3fn[3] sine(x)",
        ["return to_float8_e4m3fn(cp.sin(from_float8_e4m3fn(x)))"],
    ),
    (
        "x = f8e4m3fn[3] parameter(0)\n h = f8e4m3fn[] constant(0.5)\n b = f8e4m3fn[3] broadcast(h), dimensions={}\n"
        "ROOT r = f8e4m3fn[3] multiply(x, b)",
        ["return to_float8_e4m3fn(from_float8_e4m3fn(x) * 0.5)"],
    ),
    ("x = f64[3] parameter(0)\n ROOT r = f8e3m4[3] convert(x)", ["return to_float8_e3m4(x)"]),
    ("x = s4[3] parameter(0)\n ROOT r = s4[3] multiply(x, x)", ["return wrap_int4(x * x)"]),
    ("x = u2[3] parameter(0)\n ROOT r = u2[3] maximum(x, x)", ["return cp.maximum(x, x)"]),
    ("x = f32[3] parameter(0)\n ROOT r = s4[3] convert(x)", ["cp.minimum(cp.maximum(to_int(x, cp.int8), -8), 7)"]),
    ("x = s32[3] parameter(0)\n ROOT r = u4[3] convert(x)", ["return wrap_uint4(x.astype(cp.uint8))"]),
    ("x = s4[3] parameter(0)\n ROOT r = f32[3] convert(x)", ["return x.astype(cp.float32)"]),
    # sums are taken in the wide type
    (
        "x = f8e5m2[4] parameter(0)\n z = f8e5m2[] constant(0)\n"
        "ROOT r = f8e5m2[] reduce(x, z), dimensions={0}, to_apply=add",
        ["return to_float8_e5m2(from_float8_e5m2(x).sum())"],
    ),
    (
        "x = f8e5m2[4] parameter(0)\n ROOT r = f8e5m2[4] sort(x), dimensions={0}, to_apply=less",
        ["return to_float8_e5m2(sort_vector(from_float8_e5m2(x)))"],
    ),
    ("x = f8e5m2[4] parameter(0)\n ROOT r = f16[2] bitcast(x)", ["return x.view(cp.float16)"]),
    ("x = f8e5m2[2,2] parameter(0)\n ROOT r = f8e4m3[4] bitcast(x)", ["return x.reshape(4)"]),
    (
        "x = f8e5m2[3] parameter(0)\n ROOT r = f8e5m2[3] call(x), to_apply=body",
        ["values = from_float8_e5m2(x)", "return to_float8_e5m2(values * values)"],
    ),
]


def program(body: str) -> str:
    return "\n".join([SCALAR_ADD.replace("TYPE", "f8e5m2"), LESS, BODY, f"ENTRY main {{\n {body}\n}}", ""])


@pytest.mark.parametrize(("body", "lines"), PAIRS, ids=[body.rsplit("ROOT ", 1)[1] for body, _ in PAIRS])
def test_the_lines_are_those_of_a_person(body, lines):
    source = xla2py.emit(program(body), "cupy").source
    for line in lines:
        assert line in source, source


def test_arguments_and_results_say_what_they_carry():
    body = "x = (s4[2], f8e5m2[]) parameter(0)\n ROOT r = s4[2] get-tuple-element(x), index=0"
    source = xla2py.emit(program(body), "cupy").source
    assert "x: (int8[2] of int4, uint8[] of float8_e5m2)\nreturns: int8[2] of int4\n" in source
    assert 'SIGNATURE = {"x": "(int8[2], uint8[])"}' in source


def test_a_program_without_narrow_types_is_left_alone():
    module = xla2py.load("ENTRY main {\n x = f32[2] parameter(0)\n ROOT r = f32[2] negate(x)\n}\n")
    assert compile(module, load_target("cupy")).program.module is module


def test_computations_stand_behind_what_they_call():
    module = xla2py.load(program("x = s2[1,4] parameter(0)\n ROOT r = f8e5m2[1] bitcast-convert(x)"))
    found = compile(module, load_target("cupy")).program.module.computations
    seen = set()
    for computation in found:
        assert all(callee in seen for each in computation.instructions for callee in each.called)
        seen.add(computation)


def test_what_stands_for_an_instruction_is_known():
    module = xla2py.load(program("x = f8e5m2[3] parameter(0)\n ROOT r = f8e5m2[3] sine(x)"))
    rewritten = compile(module, load_target("cupy")).program
    assert rewritten.original is module
    origins = [rewritten.entry.originals[i] for i in rewritten.module.entry.instructions]
    x, sine = module.entry.instructions
    assert origins == [(x,), (sine,), (sine,), (sine,)]


@pytest.mark.parametrize("target", ["numpy", "cupy", "dask"])
def test_no_text_can_name_the_functions_of_carriers(target):
    text = 'x = u8[3] parameter(0)\n ROOT r = f32[3] custom-call(x), custom_call_target="xla2py.from_float8_e5m2"'
    with pytest.raises(UnsupportedError, match="is not known"):
        xla2py.emit(program(text), target)


@pytest.mark.parametrize("target", ["numpy", "cupy"])
def test_a_bitcast_that_changes_the_width_of_packed_elements_is_refused(target):
    with pytest.raises(UnsupportedError, match="mixes tiles or padding: s4"):
        xla2py.emit(program("x = s4[4]{0:E(4)} parameter(0)\n ROOT r = u8[2] bitcast(x)"), target)


@pytest.mark.parametrize("element_type", sorted(NARROW, key=str), ids=str)
def test_carriers_hold_every_value(element_type):
    patterns = np.arange(2**element_type.bits, dtype=np.uint8)
    values = patterns.view(element_type.dtype)
    held = carried(values)
    assert held.dtype == carrier_type(element_type).dtype
    assert uncarried(held, element_type).tobytes() == values.tobytes()
    [again] = as_declared([held], parse_shape(f"{element_type}[{len(values)}]"))
    assert (again.dtype, again.tobytes()) == (element_type.dtype, values.tobytes())
    if element_type.is_integral:
        np.testing.assert_array_equal(held, values.astype(int))


def test_other_results_are_as_they_are():
    arrays = [np.float32([1]), np.uint8([2]), np.int8([3])]
    found = as_declared(arrays * 2, parse_shape("(f32[1], u8[1], (s4[1]))"))
    assert [str(array.dtype) for array in found] == ["float32", "uint8", "int4"] * 2
    [wrong] = as_declared([np.float32([1])], parse_shape("f8e5m2[1]"))
    assert wrong.dtype == np.float32
    assert as_declared([], parse_shape("()")) == []
    assert adopted(load_target("numpy"), arrays)[1] is arrays[1]
