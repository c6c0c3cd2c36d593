"""Programs of JAX libraries: what is emitted passes ruff and strict type checks, reads well, and gives XLA's values."""

import subprocess
import sys
from pathlib import Path

import pytest

import xla2py
from xla2py.documentation.library_programs import constant_statements, programs, texts
from xla2py.documentation.write import PAGES

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = programs(ROOT)
PAGE = "docs/library_programs.md"

# The most that is let pass today, with the author's Python and without: a change may lower these.
GENERIC, NUMBERED = (0.47, 0.50), (0.22, 0.24)


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder with the module of every program."""
    folder = tmp_path_factory.mktemp("programs")
    for name, (text, _) in texts(ROOT).items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def test_there_are_a_dozen():
    assert len(PROGRAMS) >= 12


def test_ruff_finds_nothing(modules):
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--extend-select", "PLR0124", modules]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_types_are_strict(modules, wrong_types):
    assert wrong_types(modules, *sorted(path.name for path in modules.glob("*.py"))) == ""


def test_names_and_statements_without_arguments_do_not_get_worse():
    page = (ROOT / PAGE).read_text("utf-8")
    assert page == PAGES[PAGE](ROOT), "run: make docs"
    (medians,) = (line for line in page.splitlines() if line.startswith("| **median**"))
    *_, generic, numbered, constant = medians.strip("|").split("|")
    assert constant.strip() == "0 in all"
    for shares, most in ((generic, GENERIC), (numbered, NUMBERED)):
        assert all(int(share.strip(" %")) <= 100 * limit for share, limit in zip(shares.split("/"), most, strict=True))


def test_what_depends_on_no_argument():
    text = """
def main(x, n):
    steps = np.arange(8)
    eye = np.eye(3)[:, None]
    scaled = steps * 2
    later = np.sqrt(np.arange(3))
    total = 0
    for i in range(3):
        total = total + i
        y = x + steps
        again = steps
    return y, scaled, n, eye, later, again
"""
    assert constant_statements(text) == ["scaled = steps * 2", "later = np.sqrt(np.arange(3))", "again = steps"]


@pytest.mark.parametrize("name", [name for name, text in PROGRAMS.items() if len(text) < 100_000])  # a second at most
def test_values_are_those_of_xla(name):
    pytest.importorskip("jaxlib")
    report = xla2py.check(PROGRAMS[name], targets=["numpy"], reference="xla")
    assert report.is_good, report
