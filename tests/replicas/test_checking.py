"""``check`` of programs for several devices: the arrays of every device beside those of XLA."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import xla2py
from xla2py.tests.replicas import programs
from xla2py.transpile.equivalence import checking
from xla2py.transpile.equivalence.checking import Checker, Plan
from xla2py.transpile.equivalence.comparison import Status
from xla2py.transpile.equivalence.reports import WRITERS

TRAINING = Path(__file__).parents[2] / "examples" / "replicas" / "data_parallel_training.hlo"
SUM = """
HloModule m, replica_count=4
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[3] parameter(0)  y = f32[3] negate(x)  ROOT z = f32[3] all-reduce(y), to_apply=add }
"""


def test_each_device_is_compared_with_its_own_arguments():
    report = xla2py.check(SUM.encode(), ["numpy", "dask"], campaigns=["ordinary", "ties"])
    assert report.is_good
    (program,) = report.programs
    assert all(program.status(name).is_good for name in ("xla", "numpy", "dask"))
    for case in program.cases:
        assert case.accepted == "xla"
        assert [leaf.path for leaf in case.comparisons[0].leaves] == [(device, 0) for device in range(4)]
    first, second = program.cases[0].inputs[:2]
    assert len(program.cases[0].inputs) == 4 and (first != second).any()


def test_what_xlas_partitioner_has_left_is_the_program_of_one_device():
    report = xla2py.check(TRAINING)
    assert report.is_good
    assert report.programs[0].cases[0].accepted == "xla"
    assert len(report.programs[0].cases[0].comparisons[0].leaves) == 16


def test_every_kind_of_collective_agrees():
    several = [*programs.grouped(), *programs.others()]
    with Checker(Plan()) as checker:
        for one in several[:: max(1, len(several) // 5)]:
            checker.check(one.module(), str(one))
        report = checker.report()
    assert {program.status("numpy") for program in report.programs} <= {Status.EQUAL, Status.CLOSE}
    assert report.is_good


def test_a_device_that_is_wrong_is_named(monkeypatch):
    def wrong(*arguments, **options):
        generated = xla2py.emit(*arguments, **options)
        assert "np.add" in generated.source
        return replace(generated, source=generated.source.replace("np.add", "np.maximum"))

    monkeypatch.setattr(checking, "emit", wrong)
    report = xla2py.check(SUM.encode(), inputs=[np.float32([1, 2, 3])], lockstep=True)
    (program,) = report.programs
    assert [leaf.path for leaf in program.cases[0].comparisons[0].leaves] == [(device, 0) for device in range(4)]
    text = WRITERS["text"](report)
    assert "{3,0} float32[3]: differs" in text and "[2]: expected -12.0, got -3.0" in text
    assert "several devices do not run in lockstep" in text
    assert "{3,0} float32[3]" in WRITERS["html"](report)


def test_a_replica_that_waits_for_ever_or_fails_is_a_result(monkeypatch):
    def wrong(*arguments, **options):
        generated = xla2py.emit(*arguments, **options)
        return replace(generated, source=generated.source.replace("np.add", "undefined"))

    monkeypatch.setattr(checking, "emit", wrong)
    report = xla2py.check(SUM.encode())
    assert report.programs[0].status("numpy") is Status.CRASH


def test_more_devices_than_xla_has_here_are_refused_with_the_reason():
    report = xla2py.check(SUM.replace("replica_count=4", "replica_count=64").encode())
    assert "64 devices" in report.programs[0].refusals["numpy"]
