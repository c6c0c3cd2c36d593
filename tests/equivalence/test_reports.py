"""Every verdict, also of runs that crash, hang or need too much memory, is told by all four reports."""

import json
import re
import xml.etree.ElementTree as ElementTree
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.equivalence.broken_templates import broken_addition
from xla2py.transpile.equivalence import checking
from xla2py.transpile.equivalence.checking import Checker, Plan
from xla2py.transpile.equivalence.reference.worker import MIB, Limits
from xla2py.transpile.equivalence.reports.formats import WRITERS, report_from_json
from xla2py.transpile.equivalence.reports.html import report_to_html
from xla2py.transpile.equivalence.verdicts.comparison import Status

SUM = "HloModule a_{}\nENTRY e {{ x = f32[3] parameter(0)  y = f32[3] parameter(1)  ROOT z = f32[3] add(x, y) }}"
SINE = SUM.replace("add(x, y)", "sine(x)")
REFUSED = """HloModule a_unsupported
ENTRY e { a = f32[4] parameter(0)  ROOT b = f32[4] custom-call(a), custom_call_target="somebodys_kernel" }
"""

# What is computed in the place of the sum, and what the reports say of it.
FAULTS = {
    "equal": ("x + y", "equal", ""),
    "differs": ("", "differs", "numpy beside xla"),  # a macro is wrong
    "nan": ("x + y * np.nan", "nan", "nan"),
    "inf": ("x + np.float32(np.inf)", "inf", "inf"),
    "shape": ("(x + y)[:2]", "shape", "[3] expected"),
    "dtype": ("(x + y).astype(float)", "dtype", "float32 expected"),
    "raises": ("undefined", "crash", "NameError"),
    "aborts": ("__import__('os').abort()", "crash", "SIGABRT"),
    "memory": ("np.ones(1 << 40)", "crash", "MemoryError"),
    "hangs": ("__import__('time').sleep(60)", "timeout", "no answer within 2 seconds"),
    "unsupported": ("", "unsupported", "somebodys_kernel"),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """One program for each fault, in this order."""
    folder = tmp_path_factory.mktemp("broken")
    inputs = [np.float32([1, 2, 3]), np.float32([4, 5, 6])]

    def faulty(module, target, **options):
        wrong = FAULTS[module.name.removeprefix("a_")][0]
        with nullcontext() if wrong else broken_addition(folder):
            generated = xla2py.emit(module, target, **options)
        return replace(generated, source=generated.source.replace("x + y", wrong)) if wrong else generated

    with pytest.MonkeyPatch.context() as patch, Checker(Plan()) as checker:
        patch.setattr(checking, "emit", faulty)
        for name in FAULTS:
            checker.workers.limits = Limits(2 if name == "hangs" else 60, 4096 * MIB)
            if name == "unsupported":
                checker.check(xla2py.load(REFUSED.encode()))
            else:
                checker.plan = Plan(lockstep=True, reduce_into=folder / "cases" if name == "differs" else None)
                checker.check(xla2py.load(SUM.format(name).encode()), inputs=inputs)
        return checker.report()


@pytest.fixture(scope="module")
def written(report):
    return {kind: write(report) for kind, write in WRITERS.items()}


@pytest.mark.parametrize("name", FAULTS)
def test_a_verdict_and_its_reason_are_in_every_report(written, name):
    _, verdict, reason = FAULTS[name]
    (row,) = re.findall(rf"^a_{name} +numpy +(\w+)", written["text"], re.MULTILINE)
    assert row == verdict
    assert reason in written["text"]

    (program,) = [program for program in json.loads(written["json"])["programs"] if program["name"] == f"a_{name}"]
    assert reason.removesuffix("numpy beside xla") in json.dumps(program)

    suites = ElementTree.fromstring(written["junit"])
    test = suites.find(f"testsuite[@name='a_{name}']/testcase")
    kinds = {"equal": None, "crash": "error", "timeout": "error", "unsupported": "skipped"}
    kind = kinds.get(verdict, "failure")
    found = [part for part in test if part.tag != "system-out"]
    assert [part.tag for part in found] == ([kind] if kind else [])
    assert all(part.get("type", verdict) == verdict for part in found)
    assert not kind or reason in ElementTree.tostring(test, encoding="unicode")

    sections = written["html"].split('<details class="program"')[1:]
    (page,) = [section for section in sections if f'data-name="a_{name}"' in section]
    assert f'data-statuses="{verdict}"' in page
    assert reason in page
    assert (" open>" in page.split("\n")[0]) == (verdict not in ("equal", "unsupported"))


def test_lockstep_names_the_instruction_in_every_report(report, written):
    origins = {program.name: program.origins for program in report.programs}
    assert {name[2:] for name, found in origins.items() if found} == {"differs", "nan", "inf", "shape", "dtype"}
    origin = origins["a_differs"]["numpy"]
    assert (origin.instruction, origin.opcode) == ("z", "add")
    assert "return x - y" in origin.text
    assert report.programs[1].sources["numpy"].splitlines()[origin.line - 1].strip() == origin.text
    place = f"z (add), line {origin.line}: return x - y"
    assert f"numpy in lockstep: {place}" in written["text"]
    assert report_from_json(written["json"]).programs[1].origins["numpy"] == origin
    suites = ElementTree.fromstring(written["junit"])
    assert place in suites.find("testsuite[@name='a_differs']/testcase/system-out").text
    assert "first goes wrong at <code>z</code>" in written["html"]
    assert f'data-to="numpy" data-line="{origin.line}"' in written["html"]


def test_a_report_read_again_makes_the_same_verdicts_of_a_page(report, written):
    again = report_to_html(report_from_json(written["json"]))
    for mark in ("data-statuses", "data-line", "<caption>", "<rect"):
        assert again.count(mark) == written["html"].count(mark) > 0
    assert "data-s=" not in again and "data-s=" in written["html"]


def test_a_reference_that_fails_is_the_reason_why_nothing_is_compared(monkeypatch):
    def failing(self, reference, text, arrays):
        return checking.Run(reference, Status.CRASH, "killed by SIGSEGV")

    monkeypatch.setattr(checking.Workers, "run_reference", failing)
    report = xla2py.check(SINE.format("sine").encode())
    assert not report.is_good
    text = WRITERS["text"](report)
    assert "numpy   not compared" in text and "ordinary: xla: crash: killed by SIGSEGV" in text
    skipped = ElementTree.fromstring(WRITERS["junit"](report)).find("testsuite/testcase/skipped")
    assert skipped.get("message") == "nothing to compare with; xla: crash: killed by SIGSEGV"
    page = WRITERS["html"](report)
    assert 'data-statuses="not compared"' in page and "killed by SIGSEGV" in page


def test_the_smallest_program_is_in_every_report_and_in_files(report, written):
    assert {program.name[2:] for program in report.programs if program.reductions} == {"differs"}
    reduction = report.programs[1].reductions["numpy"]
    place = Path(reduction.command.split()[2])
    assert place.name == "2-program-numpy.hlo"
    assert place.read_text() == reduction.hlo and "add(" in reduction.hlo
    arrays = np.load(place.with_suffix(".npz"))
    assert len(arrays.files) == len(reduction.inputs) > 0
    assert reduction.instructions <= 3
    assert all(
        f"float32{list(arrays[name].shape)}" in text for name, text in zip(arrays, reduction.inputs, strict=True)
    )
    assert f"numpy reduced: {reduction.instructions} instructions still differ: {reduction.command}" in written["text"]
    assert report_from_json(written["json"]).programs[1].reductions["numpy"] == reduction
    suites = ElementTree.fromstring(written["junit"])
    assert reduction.hlo in suites.find("testsuite[@name='a_differs']/testcase/system-out").text
    assert f"still differs with {reduction.instructions} instructions" in written["html"]
    assert "add(" in written["html"].split("still differs with")[1].split("</pre>")[0]
