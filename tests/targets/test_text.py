"""How the targets write what the libraries spell differently: HLO, and the lines of ``main`` that come of it."""

import subprocess
import sys
from pathlib import Path

import pytest

import xla2py
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.recording.tools import black_layout

# Shapes of the parameters x, y, z; the instruction; what main returns on NumPy and on CuPy.
WRITTEN = [
    ("f32[4] f32[4]", "f32[4] add(x, y)", "x + y", "x + y"),
    ("f32[4]", "f32[4] tanh(x)", "np.tanh(x)", "cp.tanh(x)"),
    ("f32[2,3]", "f32[3,2] transpose(x), dimensions={1,0}", "x.T", "x.T"),
    ("f32[4,2,3]", "f32[4,3,2] transpose(x), dimensions={0,2,1}", "x.mT", "x.mT"),
    ("f32[4,6]", "f32[3,8] reshape(x)", "x.reshape(3, 8)", "x.reshape(3, 8)"),
    ("f32[4,6]", "f32[2,2,6] reshape(x)", *["x.reshape(2, 2, 6)"] * 2),
    ("f32[] f32[4] f32[]", "f32[4] clamp(x, y, z)", "np.clip(y, x, z)", "cp.minimum(cp.maximum(y, x), z)"),
    ("s32[4] s32[4]", "s32[4] maximum(x, y)", "np.maximum(x, y)", "cp.maximum(x, y)"),
    ("s32[4,5] s32[5,6]", "s32[4,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "x @ y", "x @ y"),
    ("f32[4,5] f32[5,6]", "f32[4,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}", *["x @ y"] * 2),
    (
        "f32[4,2] f32[3,2]",
        "f32[7,2] concatenate(x, y), dimensions={0}",
        "np.concatenate([x, y])",
        "cp.concatenate([x, y])",
    ),
    (
        "f32[9,2] s32[4]",
        "f32[4,2] gather(x, y), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
        "slice_sizes={1,2}",
        'np.take(x, y, axis=0, mode="clip")',
        "cp.take(x, cp.clip(y, 0, 8), axis=0)",
    ),
    ("f32[4]", "f32[] constant(2)", "np.float32(2)", "cp.full((), cp.float32(2))"),
    ("f32[4]", "pred[4] is-finite(x)", "np.isfinite(x)", "cp.isfinite(x)"),
    ("f32[4]", "bf16[4] convert(x)", *["x.astype(ml_dtypes.bfloat16)"] * 2),
    ("bf16[4]", "pred[4] convert(x)", *["x != ml_dtypes.bfloat16(0)"] * 2),
    ("s8[4]", "s16[4] convert(x)", "x.astype(np.int16)", "x.astype(cp.int16)"),
    ("f32[]", "s32[] bitcast-convert(x)", "x.view(np.int32)", "x.view(cp.int32)"),
]


def module(shapes: str, instruction: str) -> str:
    lines = [f"{'xyz'[k]} = {shape} parameter({k})" for k, shape in enumerate(shapes.split())]
    return "ENTRY main {\n  " + "\n  ".join([*lines, f"ROOT r = {instruction}"]) + "\n}\n"


@pytest.mark.parametrize(("shapes", "instruction", "numpy", "cupy"), WRITTEN, ids=[row[1] for row in WRITTEN])
def test_what_main_returns(shapes, instruction, numpy, cupy):
    for target, expected in (("numpy", numpy), ("cupy", cupy)):
        source = xla2py.emit(module(shapes, instruction), target, checks=False, results="may-alias").source
        assert source.rstrip().splitlines()[-1] == f"    return {expected}"


def test_cupy_copies_constants_once():
    table = module("f32[3]", "f32[3] add(x, y)").replace("ROOT", "y = f32[3] constant({1, nan, -inf})\n  ROOT")
    source = xla2py.emit(table, "cupy", checks=False).source
    assert "\nTABLE_1 = cp.array([1, cp.nan, -cp.inf], dtype=cp.float32)\n" in source
    assert source.endswith("    return x + TABLE_1\n")
    assert "import numpy" not in source


def test_cupy_guards_shifts_by_a_kernel_unless_the_amount_is_known():
    source = xla2py.emit(module("u32[4] u32[4]", "u32[4] shift-right-logical(x, y)"), "cupy", checks=False).source
    assert "\n    return shift_right_logical(x, y)\n" in source
    assert "\nshift_right_logical = cp.ElementwiseKernel(\n" in source
    known = module("u32[4]", "u32[4] shift-right-logical(x, y)")
    known = known.replace("ROOT", "y = u32[4] constant({3,3,3,3})\n  ROOT")
    assert xla2py.emit(known, "cupy", checks=False).source.endswith("    return x >> 3\n")


@pytest.mark.parametrize("target", ["cupy", "dask"])
def test_emitted_modules_are_in_blacks_form_and_lint_clean(target, tmp_path: Path):
    for number, cases in enumerate(list(cases_by_opcode().values())[::4]):
        source = xla2py.emit(cases[0].text(), target).source
        assert source == black_layout(source)
        (tmp_path / f"module_{number}.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
