"""What did not run was not compared: parts of a program that no input reached are named, and inputs drawn anew."""

import re
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.transpile import cli
from xla2py.transpile.equivalence.checking import check
from xla2py.transpile.equivalence.inputs.coverage import MOST_DRAWS, Reach
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.equivalence.lockstep.origins import find_first_origin
from xla2py.transpile.equivalence.reference.participants import Workers
from xla2py.transpile.equivalence.reports.formats import WRITERS, report_from_json
from xla2py.transpile.hlo.parser import parse_module

EXAMPLE = Path(__file__).parents[2] / "examples" / "hlo" / "adaptive_ode.before.hlo"
BRANCHES = """HloModule choice

many {{
  x = f32[4] parameter(0)
  ROOT y = f32[4] sine(x)
}}

few {{
  x = f32[4] parameter(0)
  e = f32[4] exponential(x)
  ROOT y = f32[4] multiply(e, x)
}}

ENTRY main {{
  x = f32[4] parameter(0)
  n = s32[] parameter(1)
  limit = s32[] constant({limit})
  p = pred[] compare(n, limit), direction=GT
  ROOT c = f32[4] conditional(p, x, x), true_computation=many, false_computation=few
}}
"""
REDUCER = """HloModule folded

unusual {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] cosine(b)
  ROOT r = f32[] multiply(a, c)
}

ENTRY main {
  x = f32[0,3] parameter(0)
  one = f32[] constant(1)
  ROOT r = f32[3] reduce(x, one), dimensions={0}, to_apply=unusual
}
"""
WRAPPING = """HloModule wrapping

below { i = s8[] parameter(0)  n = s8[] constant(100)  ROOT c = pred[] compare(i, n), direction=LT }

ahead { i = s8[] parameter(0)  k = s8[] constant(90)  ROOT j = s8[] add(i, k) }

ENTRY main { start = s8[] constant(0)  ROOT w = s8[] while(start), condition=below, body=ahead }
"""
NEVER, SOMETIMES = (BRANCHES.format(limit=limit) for limit in (2_000_000_000, 1))


@pytest.fixture(scope="module")
def workers():
    with Workers() as shared:
        yield shared


def draws(module):
    return (make_inputs(module, seed) for seed in range(MOST_DRAWS))


def test_parts_are_named_by_their_hlo():
    reach = Reach.of(xla2py.emit(EXAMPLE))
    words = [str(body).split(" (line")[0] for body in reach.bodies]
    assert words == ["loop body region_0.5 of while.8", "branch region_3.3 of cond.9", "branch region_2.2 of cond.9"]
    assert reach.unreached == ()  # nothing was tried


def test_only_the_outermost_part_is_named(workers):
    reach = Reach.of(xla2py.emit(EXAMPLE))
    state, rates = np.float32([10, 5]), np.float32([1.1, 0.4, 0.1, 0.4])
    assert not reach.try_inputs(workers, [state, rates, np.float32(-1), np.float32(1e-3)])
    (part,) = reach.unreached
    assert part.startswith("loop body region_0.5 of while.8 (line ")
    assert reach.try_inputs(workers, [state, rates, np.float32(5), np.float32(1e-3)])
    assert reach.is_complete and reach.unreached == ()


def test_a_main_within_error_states_is_traced(workers):
    """NumPy's ``errstate`` wraps the function, whose lines are what counts."""
    module = parse_module(WRAPPING)
    reach = Reach.of(xla2py.emit(module))
    assert "@np.errstate" in reach.module.source and reach.bodies
    assert reach.try_inputs(workers, [])
    assert reach.is_complete


def test_a_run_that_fails_claims_nothing(workers):
    reach = Reach.of(xla2py.emit(EXAMPLE))
    assert not reach.try_inputs(workers, [np.ones(3)])
    assert reach.is_complete and reach.unreached == ()


def test_check_draws_inputs_until_everything_was_reached():
    report = check(EXAMPLE)
    (program,) = report.programs
    assert program.unreached == () and program.is_compared
    assert {case.seed for case in program.cases} > {0}


def test_check_names_what_no_input_reached():
    report = check(parse_module(NEVER))
    assert report.programs[0].unreached and len(report.programs[0].cases) == 1
    for writer in WRITERS.values():
        assert "branch many of c" in writer(report)
    assert report_from_json(WRITERS["json"](report)).programs[0].unreached == report.programs[0].unreached
    assert check(parse_module(SOMETIMES)).programs[0].unreached == ()


def test_inputs_that_were_given_are_not_drawn_anew():
    module = parse_module(SOMETIMES)
    (program,) = check(module, inputs=[np.ones(4, np.float32), np.int32(-3)]).programs
    assert len(program.cases) == 1 and "branch many of c" in program.unreached[0]


def test_functions_that_are_not_called_are_named(workers):
    module = parse_module(REDUCER)
    found = find_first_origin(module, xla2py.emit(module), draws(module), workers, Reach.of(xla2py.emit(module)))
    assert any("unusual" in part for part in found.unreached) or found.checked


def test_lockstep_goes_where_the_first_inputs_do_not(workers):
    module = xla2py.load(EXAMPLE)
    emitted = xla2py.emit(module)
    edited = re.sub(r"(peak = np\.abs\(.*\))\.max\(\)", r"\1.min()", emitted.source)
    assert edited != emitted.source
    found = find_first_origin(module, emitted, draws(module), workers, Reach.of(emitted, edited), source=edited)
    assert found.opcode == "reduce" and ".min()" in found.text


def test_a_lockstep_of_nothing_is_no_success(capsys, tmp_path):
    (tmp_path / "nothing.hlo").write_text("ENTRY main {\n  ROOT x = f32[4] parameter(0)\n}\n")
    assert cli.run(["lockstep", str(tmp_path / "nothing.hlo")]) == 3
    assert "0 comparisons" in capsys.readouterr().err
    (tmp_path / "never.hlo").write_text(NEVER)
    assert cli.run(["lockstep", str(tmp_path / "never.hlo")]) == 0
    assert "no input reached branch many of c" in capsys.readouterr().err
