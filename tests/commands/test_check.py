"""``xla2py check``: tables, reports, exit codes."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from xla2py.tests.equivalence.broken_templates import broken_addition
from xla2py.transpile.emission import emit
from xla2py.transpile.equivalence import checking
from xla2py.transpile.equivalence.reports.formats import report_from_json


@pytest.fixture
def broken_emitter(monkeypatch):
    """Emitted sums are differences."""

    def wrong(*arguments, **options):
        generated = emit(*arguments, **options)
        return generated.__class__(generated.source.replace("x + y", "x - y"), generated.name, generated.target)

    monkeypatch.setattr(checking, "emit", wrong)


def test_agreement_is_a_table_and_exit_code_0(xla2py):
    code, out, err = xla2py("check", "model.hlo", "table.hlo", "--campaigns", "all")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split()[:3] == ["program", "target", "verdict"]
    assert [line.split()[:3] for line in lines[1:3]] == [[f"{n}.hlo", "numpy", "equal"] for n in ("model", "table")]
    assert lines[-1] == "no differences (2 equal)"


def test_what_was_not_compared_is_not_called_equal(xla2py):
    Path("refused.hlo").write_text("ENTRY e { p = pred[4,8] parameter(0)  ROOT r = u8[4,8] bitcast-convert(p) }")
    code, out, _ = xla2py("check", "refused.hlo")
    assert (code, out.splitlines()[-1]) == (3, "nothing was compared (1 not compared)")
    code, out, _ = xla2py("check", "refused.hlo", "model.hlo")
    last = "no differences in the 1 of 2 programs that were compared (1 equal, 1 not compared)"
    assert (code, out.splitlines()[-1]) == (3, last)


def test_a_style_that_a_target_lacks_is_refused_before_anything_runs(xla2py):
    code, out, err = xla2py("check", "model.hlo", "table.hlo", "-t", "array-api", "--style", "fast")
    assert (code, out, err.count("XP414")) == (2, "", 2)  # the error and the command that explains it


def test_a_difference_is_shown_with_its_place_and_exit_code_1(xla2py, broken_emitter):
    np.savez("in.npz", x=np.float32([1, 2, 3]), y=np.float32([0, 5, 0]))
    code, out, _ = xla2py("check", "model.hlo", "--args", "in.npz")
    assert code == 1
    assert "given, seed 0: numpy beside xla" in out
    assert "[1]: expected 7.0, got -3.0" in out
    assert out.splitlines()[-1] == "1 of 1 programs differ (1 differs)"


def test_reports_are_written(xla2py, broken_emitter):
    code, out, _ = xla2py("check", "model.hlo", "--report", "r.json", "--report", "r.xml", "--output-format", "json")
    assert code == 1
    assert Path("r.json").read_text() == out
    assert report_from_json(out).programs[0].path == "model.hlo"
    assert json.loads(out)["programs"][0]["cases"][0]["comparisons"][0]["leaves"][0]["status"] == "differs"
    (suite,) = ElementTree.parse("r.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure.get("message") == "numpy beside xla: differs" and "expected" in failure.text


def test_lockstep_reduction_and_the_page_come_from_one_command(xla2py, tmp_path):
    with broken_addition(tmp_path):
        code, out, _ = xla2py("check", "model.hlo", "--lockstep", "--reduce", "cases", "--report", "r.html")
    assert code == 1
    assert "numpy in lockstep: z (add), line " in out and "numpy reduced: " in out
    page = Path("r.html").read_text("utf-8")
    assert "1 of 1 program differs" in page and "first goes wrong at" in page
    again = re.search(r"xla2py (check cases/1-model-numpy\.hlo -t numpy --args cases/1-model-numpy\.npz)", out)[1]
    assert xla2py(*again.split())[0] == 0  # with sound macros nothing differs


def test_what_a_target_refuses_is_skipped_and_no_failure(xla2py):
    code, out, _ = xla2py("check", "model.hlo", "infeed.hlo", "--output-format", "junit")
    suites = ElementTree.fromstring(out)
    assert code == 3  # nobody could compare the second
    assert suites.find("testsuite[2]/testcase[@name='numpy']/skipped") is not None
    assert suites.find("testsuite[1]//skipped") is None


def test_a_broken_program_is_reported_and_the_others_are_checked(xla2py):
    code, out, err = xla2py("check", "broken.hlo", "model.hlo")
    assert code == 2
    assert "error[XP" in err and "broken.hlo" in err
    assert "model.hlo" in out


def test_a_folder_stands_for_its_programs(xla2py, folder):
    Path("programs").mkdir()
    for name in ("programs/a.hlo", "programs/b.hlo"):
        Path(name).write_text(Path("model.hlo").read_text())
    code, out, _ = xla2py("check", "programs")
    assert code == 0
    assert "programs/a.hlo" in out and "programs/b.hlo" in out


def test_known_differences_come_from_the_command_or_from_settings(xla2py, broken_emitter):
    Path("known.toml").write_text('[[difference]]\nop = "add"\nreason = "broken"\n')
    code, out, _ = xla2py("check", "model.hlo", "--known", "known.toml")
    assert code == 0
    assert "close (known)" in out and "known: add: broken" in out
    Path("pyproject.toml").write_text('[tool.xla2py]\nknown = "known.toml"\n')
    assert xla2py("check", "model.hlo")[0] == 0
    _, out, _ = xla2py("check", "table.hlo")
    assert "unused known difference: add: broken" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--reference", "tpu"), "XP600"),
        (("--campaigns", "odd"), "XP600"),
        (("-t", "numpi"), "XP406"),
        (("--known", "model.hlo"), "XP602"),
        (("--report", "r.pdf"), "XP604"),
        (("--args", "model.hlo"), "XP407"),
    ],
)
def test_bad_usage_is_a_coded_error(xla2py, arguments, message):
    code, _, err = xla2py("check", "model.hlo", *arguments)
    assert code == 2
    assert message in err


def test_hostile_names_stay_text(xla2py):
    Path("odd.hlo").write_text('HloModule "</testsuite>"\nENTRY e { x = f32[] parameter(0)  ROOT y = f32[] negate(x) }')
    code, out, _ = xla2py("check", "odd.hlo", "--output-format", "junit")
    assert code in (0, 2)
    assert code == 2 or len(ElementTree.fromstring(out)) == 1


def test_a_program_whose_arguments_cannot_be_read_has_no_table(xla2py):
    code, out, err = xla2py("check", "model.hlo", "--args", "missing.npz")
    assert (code, out) == (2, "") and "missing.npz" in err
