"""Constants in emitted code have the bits that the text gives them."""

import numpy as np
import pytest

from xla2py import emit
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.hlo.parser import parse_module

BITS = {"f64": "u64", "f32": "u32", "f16": "u16", "bf16": "u16", "f8e5m2": "u8", "f8e4m3fn": "u8", "f8e4m3": "u8"}
WITH_PAYLOADS = ("f64", "f32", "f16", "bf16", "f8e5m2", "f8e4m3")


def run(text, *arguments, target="numpy"):
    namespace = {}
    exec(compile(emit(text, target).source, "emitted", "exec"), namespace)
    return namespace["main"](*arguments)


@pytest.mark.parametrize("target", ["numpy", "dask"])
@pytest.mark.parametrize(
    ("element_type", "values"),
    [
        *((name, "nan, -nan, 1") for name in BITS),
        *((name, "nan(0x1), -nan, -nan(0x1)") for name in WITH_PAYLOADS),
        ("f8e5m2fnuz", "nan, -nan, 1"),
        ("f8e8m0fnu", "nan, nan, 1"),
    ],
)
def test_nan_keeps_its_sign_and_payload(element_type, values, target):
    bits = BITS.get(element_type, "u8")
    count = values.count(",") + 1
    literals = f"c = {element_type}[{count}] constant({{{values}}})"
    text = f"ENTRY e {{ {literals}  ROOT b = {bits}[{count}] bitcast-convert(c) }}"
    literal = parse_module(text).entry.root.operands[0]["literal"]
    expected = literal.view(f"u{literal.itemsize}")
    np.testing.assert_array_equal(run_hlo_in_child(text)[0], expected)
    np.testing.assert_array_equal(np.asarray(run(text, target=target)), expected)


@pytest.mark.parametrize("value", ["nan", "-nan", "nan(0x5)", "-nan(0x5)"])
def test_nan_alone_and_repeated(value):
    for sizes in ("", "3"):
        literal = f"{{{value}, {value}, {value}}}" if sizes else value
        text = f"ENTRY e {{ c = f32[{sizes}] constant({literal})  ROOT b = u32[{sizes}] bitcast-convert(c) }}"
        np.testing.assert_array_equal(run(text), run_hlo_in_child(text)[0])


def test_total_order_sees_the_sign_of_a_literal():
    text = """
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT, type=TOTALORDER }
ENTRY e { c = f32[5] constant({nan, inf, -nan, -inf, 0})  s = f32[5] sort(c), dimensions={0}, to_apply=less
  ROOT b = u32[5] bitcast-convert(s) }"""
    np.testing.assert_array_equal(run(text), run_hlo_in_child(text)[0])
    np.testing.assert_array_equal(run(text) >> 31, [1, 1, 0, 0, 0])


def test_cupy_gets_the_sign_in_both_styles():
    text = "ENTRY e { p = f32[4] parameter(0)  q = pred[4] parameter(1)  c = f32[] constant(-nan)  "
    text += "b = f32[4] broadcast(c), dimensions={}  s = f32[4] select(q, p, b)  ROOT r = f32[4] multiply(s, p) }"
    assert "-cp.nan" in emit(text, "cupy").source
    assert "-not_a_number()" in emit(text, "cupy", style="fast").source
