"""Known differences: read, matched with what computes an array, used up, expired."""

from datetime import date

import numpy as np
import pytest

from xla2py.transpile.equivalence.checking import Checker, Plan
from xla2py.transpile.equivalence.inputs.dependence import computed_by
from xla2py.transpile.equivalence.reference.participants import Workers
from xla2py.transpile.equivalence.reports.results import Run
from xla2py.transpile.equivalence.verdicts.comparison import Status
from xla2py.transpile.equivalence.verdicts.known_differences import (
    KnownDifference,
    of_the_references,
    read_known_differences,
)
from xla2py.transpile.errors import UsageError
from xla2py.transpile.hlo.parser import parse_module

TWO = parse_module("""HloModule two
double { x = f32[3] parameter(0)  ROOT y = f32[3] add(x, x) }
ENTRY e {
  a = f32[3] parameter(0)
  b = bf16[3] parameter(1)
  c = f32[3] call(a), to_apply=double
  d = bf16[3] exponential(b)
  ROOT r = (f32[3], bf16[3]) tuple(c, d)
}
""")


def test_an_array_is_computed_by_what_leads_to_it():
    assert {i.opcode for i in computed_by(TWO, (0,))} == {"call", "add", "parameter"}
    assert {i.opcode for i in computed_by(TWO, (1,))} == {"exponential", "parameter"}


def test_an_entry_concerns_its_operation_types_and_participants():
    exponential = computed_by(TWO, (1,))
    assert KnownDifference("exponential", "r").concerns("numpy", "xla", exponential)
    assert KnownDifference("*", "r", ("bf16",), ("dask",)).concerns("dask", "xla", exponential)
    assert not KnownDifference("exponential", "r", ("f32",)).concerns("numpy", "xla", exponential)
    assert not KnownDifference("exponential", "r", participants=("cupy",)).concerns("numpy", "xla", exponential)
    assert not KnownDifference("add", "r").concerns("numpy", "xla", exponential)
    assert KnownDifference("exponential", "r", operands=("parameter",)).concerns("numpy", "xla", exponential)
    assert not KnownDifference("exponential", "r", operands=("constant",)).concerns("numpy", "xla", exponential)


def test_a_file_is_read(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text('[[difference]]\nop = "add"\nreason = "r"\ndtypes = ["f32"]\nexpires = 2030-01-31\n')
    assert read_known_differences(path) == (KnownDifference("add", "r", ("f32",), expires=date(2030, 1, 31)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[difference]", "not TOML"),
        ("[tool]", "nothing else"),
        ('[[difference]]\nop = "add"', "entry 1: there is no reason"),
        ('[[difference]]\nop = "ad"\nreason = "r"', "no operation 'ad'"),
        ('[[difference]]\nop = "add"\nreason = "r"\noperands = ["ad"]', "no operation 'ad'"),
        ('[[difference]]\nop = "add"\nreason = "r"\nexpires = "soon"', "'expires' has the wrong type"),
        ('[[difference]]\nop = "add"\nreason = "r"\ndtypes = [1]', "'dtypes' has the wrong type"),
        ('[[difference]]\nop = "add"\nreason = "r"\ndtype = "f32"', "no key 'dtype'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, text, message):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_known_differences(path)


def test_those_of_the_references_are_listed():
    listed = {entry.op: entry for entry in of_the_references()}
    assert listed["scatter"].participants == ("interpreter",)
    assert all(entry.reason and entry.expires is None for entry in listed.values())


@pytest.fixture
def disagreeing(monkeypatch):
    """Every reference is off by one."""
    monkeypatch.setattr(
        Workers,
        "run_reference",
        lambda self, name, text, arrays: Run(name, results=(arrays[0] + arrays[0] + 1, np.exp(arrays[1]))),
    )


INPUTS = [np.float32([1, 2, 3]), np.zeros(3, TWO.entry.parameters[1].array_shape.element_type.dtype)]
DAY = date(2026, 6, 1)


def checked(*known):
    with Checker(Plan(known=known), today=DAY) as checker:
        checker.check(TWO, inputs=INPUTS)
        return checker.report()


def test_a_known_difference_does_not_count_and_an_unused_entry_is_reported(disagreeing):
    assert checked().programs[0].differs
    add, unused = KnownDifference("add", "off by one"), KnownDifference("sort", "ties")
    report = checked(add, unused)
    comparison = report.programs[0].cases[0].comparisons[0]
    assert (comparison.found, comparison.status) == (Status.DIFFERS, Status.CLOSE)
    assert comparison.known == ("add: off by one",)
    assert not report.programs[0].differs
    assert report.unused == ("sort: ties",)


def test_an_expired_entry_does_not_help(disagreeing):
    report = checked(KnownDifference("add", "off by one", expires=date(2026, 5, 31)))
    assert report.programs[0].differs
    assert report.expired == ("add: off by one",)
    assert not checked(KnownDifference("add", "off by one", expires=DAY)).programs[0].differs
