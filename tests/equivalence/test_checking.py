"""Checking programs: who agrees with whom, what differs, and the report on it."""

import numpy as np
import pytest

import xla2py
from xla2py.transpile.equivalence import checking
from xla2py.transpile.equivalence.reports.formats import report_from_json, report_to_json
from xla2py.transpile.equivalence.reports.results import Run
from xla2py.transpile.equivalence.verdicts.comparison import Status, compare
from xla2py.transpile.equivalence.verdicts.voting import vote
from xla2py.transpile.errors import Diagnostic, UnsupportedError

ADD = "HloModule sum\nENTRY e { x = f32[3] parameter(0)  y = f32[3] parameter(1)  ROOT z = f32[3] add(x, y) }"


def test_all_targets_and_references_agree_on_a_sum():
    report = xla2py.check(ADD, ["numpy", "dask"], ["xla", "interpreter"])
    (program,) = report.programs
    assert report.is_good
    assert program.participants == ("xla", "interpreter", "numpy", "dask")
    assert {program.status(name) for name in program.participants} == {Status.EQUAL}
    assert "def main(" in program.sources["numpy"]
    assert report.environment["numpy"] == np.__version__
    assert repr(report) == "<CheckReport: 2 equal>"
    assert repr(program) == "<ProgramReport sum, numpy: equal, dask: equal>"


def test_a_target_that_refuses_a_program_is_told_with_its_reason(monkeypatch):
    def chary(module, target, **options):
        if target == "cupy":
            raise UnsupportedError(Diagnostic("XP301", "add is not supported on CuPy: it adds too much"))
        return xla2py.emit(module, target, **options)

    monkeypatch.setattr(checking, "emit", chary)
    report = xla2py.check(ADD, ["numpy", "cupy"])
    (program,) = report.programs
    assert program.status("numpy") is Status.EQUAL
    assert program.status("cupy") is Status.UNSUPPORTED
    assert "it adds too much" in program.refusals["cupy"]
    assert report.is_good


def test_a_program_that_nobody_can_compare_is_not_good():
    assert not xla2py.check(ADD, ["numpy"], "none").is_good
    infeed = "ENTRY main { t = token[] after-all()  ROOT a = (f32[3], token[]) infeed(t) }"
    report = xla2py.check(infeed, ["numpy"])
    assert "infeed" in report.programs[0].refusals["numpy"]
    assert not report.is_good


def test_a_wrong_result_is_found_with_its_place(monkeypatch):
    def wrong(*arguments, **options):
        generated = xla2py.emit(*arguments, **options)
        return generated.__class__(generated.source.replace("x + y", "x + abs(y)"), "m", "numpy")

    monkeypatch.setattr(checking, "emit", wrong)
    report = xla2py.check(ADD, inputs=[np.float32([1, 2, 3]), np.float32([1, -2, 3])])
    (leaf,) = report.programs[0].cases[0].comparisons[0].leaves
    assert not report.is_good
    assert (leaf.status, leaf.mismatches, leaf.worst[0].index) == (Status.DIFFERS, 1, (1,))


def test_a_bug_in_the_emitter_is_a_finding(monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("no such macro")

    monkeypatch.setattr(checking, "emit", broken)
    report = xla2py.check(ADD)
    run = report.programs[0].cases[0].run("numpy")
    assert run.failure is Status.CRASH
    assert "no such macro" in run.message and "Traceback" in run.traceback
    assert not report.is_good


def test_unknown_names_are_coded_errors():
    with pytest.raises(xla2py.errors.UsageError, match="XP600"):
        xla2py.check(ADD, reference="tpu")
    with pytest.raises(xla2py.errors.UsageError, match="XP406"):
        xla2py.check(ADD, ["numpi"])


def test_a_report_survives_json():
    special = [np.float32([1, np.nan, np.inf]), np.float32([1, 2, 3])]
    report = xla2py.check([ADD, ADD], inputs=special)
    text = report_to_json(report)
    assert report_from_json(text) == report
    assert report_to_json(report_from_json(text)) == text
    assert report.programs[0].cases[0].inputs and not report_from_json(text).programs[0].cases[0].inputs


# -- the vote


def runs(**values):
    return [Run(name, results=(np.float32([value]),)) for name, value in values.items()]


def compared(expected, actual):
    return tuple(compare(list(expected.results), list(actual.results)))


def nothing_known(participant, against, leaves):
    return ()


def test_the_majority_is_right():
    result = vote(runs(xla=1, interpreter=2, numpy=2), compared, nothing_known)
    assert result.accepted == "interpreter"
    assert result.wrong == ("xla",)
    assert {one.participant: one.status.is_good for one in result.comparisons} == {"xla": False, "numpy": True}


def test_two_who_disagree_leave_it_open_and_the_first_is_accepted():
    result = vote(runs(xla=1, numpy=2), compared, nothing_known)
    assert (result.accepted, result.wrong) == ("xla", ())
    assert vote(runs(xla=1, numpy=2, dask=3), compared, nothing_known).wrong == ()


def test_those_who_gave_no_result_do_not_vote():
    crashed = Run("xla", Status.CRASH)
    result = vote([crashed, *runs(numpy=1, dask=1)], compared, nothing_known)
    assert (result.accepted, [one.participant for one in result.comparisons]) == ("numpy", ["dask"])
    assert vote([crashed], compared, nothing_known).accepted == ""


def test_a_known_difference_does_not_count_and_blames_nobody():
    result = vote(runs(xla=1, numpy=2, dask=1), compared, lambda *_: ("a known bug",))
    assert (result.wrong, result.comparisons[0].status) == ((), Status.CLOSE)


def test_results_that_are_bounded_are_compared_up_to_their_length():
    text = """HloModule m
ENTRY main {
  x = f32[6,3] parameter(0)
  n = s32[] constant(4)
  d = f32[<=6,3] set-dimension-size(x, n), dimensions={0}
  ROOT r = f32[<=6,3] negate(d)
}
"""
    assert xla2py.check(text).is_good
