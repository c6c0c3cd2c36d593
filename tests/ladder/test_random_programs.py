"""Random programs on the twin, in both styles: reductions beside what is computed of all elements and of lines."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.tests.ladder.running import needs_compiler, on_twin
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.verdicts.comparison import compare, flatten
from xla2py.transpile.equivalence.verdicts.tolerances import EXACT, budget_for
from xla2py.transpile.fuzzing.families import program_with, random_program

# Programs of which kernels once computed wrong values, or did not compile.
WAITS_FOR_OTHERS = [8, 34, 95]  # an operation kept the loop of lines that it could not join
OTHER_LINES = [385, 559]  # an operation joined the reduction of other lines than its own
FULL_ROWS = [64, 81]  # rows of a power of two leave no thread without an element
OF_SCALARS = [182, 614]  # of all families: indices and integers narrower than a byte that no array holds
CHOSEN = [*WAITS_FOR_OTHERS, *OTHER_LINES, *FULL_ROWS]


def wrong(program, style):
    """The results of a program that differ between CuPy's twin and NumPy."""
    module = xla2py.load(program.text)
    with np.errstate(all="ignore"):
        expected = xla2py.emit(module, format=False).load().main(*(array.copy() for array in program.inputs))
    found = on_twin(xla2py.emit(module, "cupy", format=False, style=style), program.inputs)
    sides = [[leaf for _, leaf in flatten(side)] for side in (expected, found)]
    budgets = [budget_for(module) if k in program.rounded else EXACT for k in range(len(sides[0]))]
    return [str(leaf) for leaf in compare(*sides, budgets) if not leaf.status.is_good]


@needs_compiler
@pytest.mark.parametrize("seed", much(CHOSEN, range(2000)))
def test_reductions_beside_other_work(seed):
    assert wrong(random_program("lines", seed), "fast") == []


@needs_compiler
@pytest.mark.parametrize("seed", range(much(3, 2000)))
def test_reductions_in_the_readable_style(seed):
    assert wrong(random_program("lines", seed), "readable") == []


@needs_compiler
@pytest.mark.parametrize("seed", OF_SCALARS)
def test_numbers_of_the_host(seed):
    assert wrong(program_with((), seed), "readable") == []


@needs_compiler
@pytest.mark.parametrize("seed", [388, 753])  # of a full row, and of one that waits for others
def test_fuzz_runs_on_the_twin(xla2py, seed):
    options = ("-t", "cupy", "--style", "fast", "--first-seed", str(seed), "-o", "found")
    code, out, err = xla2py("fuzz", "--seeds", "1", *options)
    assert (code, out.splitlines()[0].split(",")[0]) == (0, "1 programs"), out + err
    assert "run on its twin" in err
    state = json.loads(Path("found/fuzz.json").read_text())
    assert (state["style"], state["next_seed"]) == ("fast", seed + 1)
    assert state["verdicts"] in ({"cupy": {"equal": 1}}, {"cupy": {"close": 1}})
    assert "XP605" in xla2py("fuzz", "-t", "cupy", "-o", "found")[2]
    assert "XP414" in xla2py("fuzz", "-t", "array-api,cupy", "--style", "fast", "-o", "other")[2]


def test_lockstep_and_check_run_on_the_twin(xla2py):
    text = "ENTRY e { x = f32[5,7] parameter(0)  y = f32[5,7] exponential(x)  ROOT r = f32[5,7] tanh(y) }"
    Path("m.hlo").write_text(text)
    code, out, err = xla2py("lockstep", "m.hlo", "-t", "cupy")
    assert (code, "2 comparisons" in err) == (0, True), out + err
    code, out, err = xla2py("check", "m.hlo", "-t", "cupy", "--output-format", "json")
    assert code == 0, out + err
    assert json.loads(out)["environment"]["cupy runs on"] == "its twin on the CPU: no GPU"
