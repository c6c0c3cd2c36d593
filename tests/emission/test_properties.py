"""What holds of every emitted module: same bytes, same meaning without folding or passes, no other imports."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.targets.base import load_target
from xla2py.transpile.compilation import compile
from xla2py.transpile.emission import body, control_flow, fitting
from xla2py.transpile.emission.module import Settings, write_module
from xla2py.transpile.equivalence.inputs import make_inputs

EXAMPLES = Path(__file__).parents[2] / "examples" / "hlo"
SOME = ("attention", "kmeans", "kv_cache_decode", "lstm", "transformer_block", "viterbi")
PASSES = ("axis_maps", "functions", "gathers", "keepdims", "loops", "means", "scatters")

# Runs the source on stdin in an interpreter that has NumPy and ml_dtypes only.
ALONE = """
import pickle
import sys


class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib", "xla2py", "scipy", "dask", "cupy"):
            raise ImportError(name)


sys.meta_path.insert(0, Nothing())
text = sys.stdin.read()
with open(sys.argv[1], "rb") as file:
    inputs = pickle.load(file)
module = {"__name__": "alone", "__file__": sys.argv[2]}
exec(compile(text, "alone.py", "exec"), module)
module["main"](*inputs)
"""


def load(name, form="before"):
    return xla2py.load(EXAMPLES / f"{name}.{form}.hlo")


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [np.asarray(value)]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.hlo")), ids=lambda path: path.stem)
def test_precedence_is_right(path, monkeypatch):
    """The text means the same with every operand in parentheses."""
    for module in (body, control_flow, fitting):  # lines are cut where they get too long
        monkeypatch.setattr(module, "WIDTH", 10**9)
    program = compile(xla2py.load(path), target := load_target("numpy")).program
    plain, parenthesised = (
        "\n".join(write_module(program, target, Settings(annotate="none", parenthesise_all=flag)).pieces)
        for flag in (False, True)
    )
    assert ast.dump(ast.parse(plain)) == ast.dump(ast.parse(parenthesised))


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("left_out", PASSES)
def test_a_pass_left_out_changes_no_result(name, left_out):
    module = load(name)
    inputs = make_inputs(module, seed=1)
    for array in inputs:
        array.setflags(write=False)
    expected = leaves(xla2py.emit(module, format=False).load().main(*inputs))
    found = leaves(xla2py.emit(module, format=False, disable_passes=[left_out]).load().main(*inputs))
    for one, other in zip(expected, found, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def test_the_same_bytes_for_any_hash_seed():
    script = f"import xla2py; print(xla2py.emit(open({str(EXAMPLES / 'kmeans.after.hlo')!r}).read()).source)"
    texts = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.hlo")), ids=lambda path: path.stem)
def test_modules_run_on_numpy_alone(path, tmp_path):
    module = xla2py.load(path)
    generated = xla2py.emit(module, format=False)
    generated.save(tmp_path / "alone.py")
    (tmp_path / "inputs").write_bytes(pickle.dumps(make_inputs(module, seed=2)))
    command = [sys.executable, "-c", ALONE, str(tmp_path / "inputs"), str(tmp_path / "alone.py")]
    result = subprocess.run(command, input=generated.source, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
