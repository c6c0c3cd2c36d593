"""``check`` of programs for several devices: the arrays of every device beside those of XLA."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import xla2py
from xla2py.tests.replicas import programs
from xla2py.transpile.equivalence import checking
from xla2py.transpile.equivalence.checking import Checker, Plan
from xla2py.transpile.equivalence.reports.formats import WRITERS
from xla2py.transpile.equivalence.verdicts.comparison import Status

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


NARROW = """
HloModule narrow, replica_count=2
ENTRY e {
  x = s4[5] parameter(0)  y = f8e5m2[2,3] parameter(1)  z = f32[2] parameter(2)
  next = s4[5] collective-permute(x), source_target_pairs={{0,1},{1,0}}
  ROOT r = (s4[5], f32[2], f8e5m2[2,3]) tuple(next, z, y)
}
"""


def test_narrow_results_have_the_types_that_the_program_declares():
    """Each device gives bytes where the library has no such type."""
    report = xla2py.check(NARROW.encode(), ["numpy", "cupy"])
    assert report.is_good, report.programs[0].cases[0].comparisons
    assert report.programs[0].status("cupy") is Status.EQUAL


STEPS = """
HloModule steps, replica_count=2, num_partitions=2
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e {
  x = f32[2,3] parameter(0), sharding={manual}
  p = u32[] partition-id()
  r = u32[] replica-id()
  n = u32[] add(p, r)
  f = f32[] convert(n)
  w = f32[2,3] broadcast(f), dimensions={}
  y = f32[2,3] multiply(x, w)
  s = f32[2,3] all-reduce-start(y), to_apply=add, channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true
  d = f32[2,3] all-reduce-done(s)
  g = (f32[2,3], f32[4,3]) all-gather-start(y), dimensions={0}, channel_id=2,
    replica_groups=[2,2]<=[4], use_global_device_ids=true
  h = f32[4,3] all-gather-done(g)
  q = (f32[2,3], f32[2,3]) collective-permute-start(y), channel_id=3, source_target_pairs={{0,1}}
  o = f32[2,3] collective-permute-done(q)
  ROOT t = (f32[2,3], f32[4,3], f32[2,3], u32[]) tuple(d, h, o, p)
}
"""


def test_partitions_that_ask_for_their_number_and_collectives_in_two_steps_are_compared():
    """XLA refuses to compile either as they stand: it partitions what has partitions, and its CPU starts nothing."""
    report = xla2py.check(STEPS.encode())
    (program,) = report.programs
    assert report.is_good and program.cases[0].accepted == "xla"


def test_what_was_not_compared_is_counted_as_that():
    send = """
HloModule m, replica_count=2
ENTRY e {
  x = f32[3] parameter(0)
  k = token[] after-all()
  r = (f32[3], u32[], token[]) recv(k), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  s = (f32[3], u32[], token[]) send(x, k), channel_id=1,
    frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  d = token[] send-done(s), channel_id=1
  e = (f32[3], token[]) recv-done(r), channel_id=1
  ROOT y = f32[3] get-tuple-element(e), index=0
}
"""
    report = xla2py.check(send.encode())
    assert not report.programs[0].is_compared
    assert report.counts() == {"not compared": 1}
    assert "nothing was compared (1 not compared)" in WRITERS["text"](report)


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
