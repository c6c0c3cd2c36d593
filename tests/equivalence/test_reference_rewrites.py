"""Optimised modules run on XLA after the rewrite, and compute what the unoptimised ones do."""

from pathlib import Path

import numpy as np
import pytest

from xla2py.transpile.equivalence.reference.reference_rewrites import needs_rewrite, rewrite_for_xla
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.verifier import verify

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ROOT r = f32[3,2]{1,0} bitcast(x)", X.reshape(3, 2)),
        ("ROOT r = f32[3,2]{0,1} bitcast(x)", X.T),
        ("ROOT r = f32[3,1,2]{0,2,1} bitcast(x)", X.T[:, None, :]),
        ("ROOT r = u32[6]{0} bitcast(x)", X.reshape(6).view(np.uint32)),
        ("c = f32[2,3]{0,1} copy(x)  ROOT r = f32[3,2]{1,0} bitcast(c)", X.T),
        ("ROOT r = f32[2,3]{1,0} fusion(x), kind=kLoop, calls=twice", 2 * X),
        ("s = ((f32[2,3]), f32[2,3], u32[]) async-start(x), calls=twice  ROOT r = f32[2,3] async-done(s)", 2 * X),
        ("s = (f32[2,3], f32[2,3], u32[]) copy-start(x)  ROOT r = f32[2,3] copy-done(s)", X),
        ("ROOT r = f32[2,3]{1,0:T(8,128)S(1)} negate(x)", -X),
    ],
)
def test_optimised_instruction_runs(body, expected):
    helper = "twice { x = f32[2,3] parameter(0)  ROOT y = f32[2,3] add(x, x) }"
    text = f"HloModule m\n{helper}\nENTRY e {{ x = f32[2,3]{{1,0}} parameter(0)  {body} }}"
    assert needs_rewrite(text)
    (result,) = run_hlo_in_child(text, X)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_entry_layouts_do_not_change_the_logical_signature():
    text = """HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[3,2]{0,1}}
ENTRY e { x = f32[2,3]{0,1} parameter(0)  ROOT r = f32[3,2]{0,1} transpose(x), dimensions={1,0} }"""
    assert needs_rewrite(text)
    np.testing.assert_array_equal(run_hlo_in_child(text, X)[0], X.T)


def test_a_plain_module_is_not_touched():
    assert not needs_rewrite("HloModule m\nENTRY e { x = f32[2,3]{1,0} parameter(0)  ROOT r = f32[3,2]{0,1} copy(x) }")


EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "hlo").glob("*.after.hlo"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name.split(".")[0])
def test_rewritten_example_is_valid_and_free_of_what_xla_refuses(path):
    module = rewrite_for_xla(parse_module(path.read_text()))
    verify(module)
    assert not {"fusion", "bitcast"} & {instruction.opcode for instruction in module.instructions()}
