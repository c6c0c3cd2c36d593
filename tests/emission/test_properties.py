"""What holds of every emitted module: same bytes, same meaning without folding or passes, no other imports."""

import ast
import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.whole import much
from xla2py.transpile.compilation import compile
from xla2py.transpile.emission.module.module_writer import write_module
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.options import Options
from xla2py.transpile.python.grammar import ATOM
from xla2py.transpile.python.templates import Expression, Template
from xla2py.transpile.target import load_target

EXAMPLES = Path(__file__).parents[2] / "examples" / "hlo"
SOME = much(
    ("kv_cache_decode", "lstm"), ("attention", "kmeans", "kv_cache_decode", "lstm", "transformer_block", "viterbi")
)
PASSES = ("axis_maps", "functions", "gathers", "keepdims", "loops", "means", "scatters")

# Runs the modules of a folder, each with its inputs beside it, in an interpreter that has NumPy and ml_dtypes only.
ALONE = """
import pickle
import sys
from pathlib import Path


class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib", "xla2py", "scipy", "dask", "cupy"):
            raise ImportError(name)


sys.meta_path.insert(0, Nothing())
for path in sorted(Path(sys.argv[1]).glob("*/*.py")):
    inputs = pickle.loads(path.with_name("inputs").read_bytes())
    module = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text("utf-8"), str(path), "exec"), module)
    module["main"](*inputs)
    print(path.stem)
"""


def load(name, form="before"):
    return xla2py.load(EXAMPLES / f"{name}.{form}.hlo")


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [np.asarray(value)]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.hlo"))[:: much(3, 1)], ids=lambda path: path.stem)
def test_precedence_is_right(path, monkeypatch):
    """The text means the same with every operand in parentheses, in lines that are not cut."""
    program = compile(xla2py.load(path), target := load_target("numpy")).program
    filled = Template.filled

    def tree():
        pieces = write_module(program, target, Options(annotate="none", line_length=10**9)).pieces
        return ast.dump(ast.parse("\n".join(pieces)))

    def filled_with_parentheses(template, depth, operands):
        return filled(template, depth, [x if x.level == ATOM else Expression(f"({x})") for x in operands])

    plain = tree()
    monkeypatch.setattr(Template, "filled", filled_with_parentheses)
    assert plain == tree()


@cache
def with_all_passes(name):
    """A program, inputs that nothing may write into, and what its module gives."""
    module = load(name)
    inputs = make_inputs(module, seed=1)
    for array in inputs:
        array.setflags(write=False)
    return module, inputs, leaves(xla2py.emit(module, format=False).load().main(*inputs))


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("left_out", PASSES)
def test_a_pass_left_out_changes_no_result(name, left_out):
    module, inputs, expected = with_all_passes(name)
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


def test_modules_run_on_numpy_alone(tmp_path):
    """One after the other in one process, which says what it ran."""
    paths = sorted(EXAMPLES.glob("*.hlo"))[much(1, 0) :: much(3, 1)]
    names = [path.stem.replace(".", "_") for path in paths]
    for name, path in zip(names, paths, strict=True):
        module = xla2py.load(path)
        (tmp_path / name).mkdir()
        xla2py.emit(module, format=False).save(tmp_path / name / f"{name}.py")
        (tmp_path / name / "inputs").write_bytes(pickle.dumps(make_inputs(module, seed=2)))
    result = subprocess.run([sys.executable, "-c", ALONE, str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == sorted(names)
