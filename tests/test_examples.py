"""The examples: their HLO is current and complete; both forms of it compute the same on XLA and as NumPy."""

import importlib.util
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.whole import crossed
from xla2py.transpile.equivalence.reference import xla as xla_reference
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare
from xla2py.transpile.equivalence.verdicts.tolerances import budget_for
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.verifier import verify
from xla2py.transpile.passes import PIPELINE

RAISING = (*(each.__name__ for each in PIPELINE), "gathers", "scatters")
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def lowering():
    spec = importlib.util.spec_from_file_location("lower", EXAMPLES / "lower.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LOWER = lowering()


def test_unoptimised_hlo_is_current():
    if version("jax") != LOWER.WRITTEN_BY:
        pytest.skip(f"the examples are what JAX {LOWER.WRITTEN_BY} traces")
    command = [sys.executable, str(EXAMPLES / "lower.py"), "--check", "--stage", "before"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


def test_readme_lists_every_example_once():
    rows = re.findall(r"^\| \[`(\w+)`\]\((\w+)\.py\)", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert [name for name, _ in rows] == [file for _, file in rows] == LOWER.NAMES


def test_every_hlo_file_belongs_to_an_example():
    expected = {LOWER.hlo_file(name, stage) for name in LOWER.NAMES for stage in LOWER.STAGES}
    assert set((EXAMPLES / "hlo").iterdir()) == expected


def test_paths_are_relative_to_the_repository_or_the_library():
    root = str(EXAMPLES.parent)
    library = next(path for path in sys.path if path.endswith("site-packages"))
    text = f'FileNames\n1 "{root}/examples/lstm.py"\n2 "{library}/jax/_src/api.py"\n3 "/elsewhere/model.py"\n'
    shortened = 'FileNames\n1 "examples/lstm.py"\n2 "jax/_src/api.py"\n3 "model.py"\n'
    assert LOWER.relative_paths(text) == shortened


@cache
def inputs(name):
    import jax

    _, arguments = LOWER.load_program(name)
    return [np.asarray(leaf) for leaf in jax.tree.leaves(arguments)]


@cache
def computed_by_xla(name, stage):
    text = LOWER.hlo_file(name, stage).read_text()
    if name != "mandelbrot":
        return run_hlo_in_child(text, *inputs(name))
    # Whether a point escapes hangs on the last bit, and XLA joins products with sums only where it optimises.
    return xla_reference.run_hlo(text, *inputs(name))


def assert_close(expected, actual, budget):
    results = compare(expected, actual, budget)
    assert all(result.status.is_good for result in results), "\n".join(map(str, results))


@pytest.mark.parametrize("name", LOWER.NAMES)
def test_hlo_is_complete_and_computes_the_same_before_and_after_optimisation(name):
    texts = {stage: LOWER.hlo_file(name, stage).read_text() for stage in LOWER.STAGES}
    for text in texts.values():
        verify(parse_module(text))
        assert len(text) < 200_000
        assert "{...}" not in text  # an elided constant
        assert not re.search(r'"/', text)  # an absolute path
    before, after = (computed_by_xla(name, stage) for stage in LOWER.STAGES)
    assert all(np.isfinite(array.astype(np.complex128)).all() for array in before)
    assert_close(before, after, Budget(relative=1e-4, absolute=1e-4))


@pytest.mark.parametrize("stage", LOWER.STAGES)
@pytest.mark.parametrize("name", LOWER.NAMES)
def test_emitted_code_computes_what_xla_does(name, stage):
    module = xla2py.load(LOWER.hlo_file(name, stage))
    arguments = [array.copy() for array in inputs(name)]
    actual = xla2py.emit(module, format=False).load().main(*arguments)
    assert_close(computed_by_xla(name, stage), actual, budget_for(module))
    for before, after in zip(inputs(name), arguments, strict=True):
        np.testing.assert_array_equal(before, after, "an argument was modified")


@pytest.mark.parametrize(("name", "stage"), crossed(LOWER.NAMES, LOWER.STAGES))
def test_code_without_any_raising_computes_the_same(name, stage):
    module = xla2py.load(LOWER.hlo_file(name, stage))
    unraised = xla2py.emit(module, format=False, disable_passes=RAISING)
    actual = unraised.load().main(*inputs(name))
    assert_close(computed_by_xla(name, stage), actual, budget_for(module))
