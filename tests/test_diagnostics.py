import doctest
import re
from pathlib import Path

import pytest

import xla2py
from xla2py.transpile.diagnostics import CATALOGUE, PLACES_SHOWN, footer, printable, render
from xla2py.transpile.errors import Diagnostic, XlaToPythonError
from xla2py.transpile.hlo.source import SourceText, Span
from xla2py.transpile.hlo.verifier import verify
from xla2py.transpile.target import target_names

PACKAGE = Path(__file__).parents[1]
CODE = re.compile(r"\bXP\d{3}\b")


def diagnostic(text: str, marked: str, message: str = "it is wrong", **more: str) -> Diagnostic:
    start = text.index(marked)
    return Diagnostic("XP201", message, Span(start, start + len(marked)), SourceText(text, "model.hlo"), **more)


def test_a_diagnostic_shows_its_place_its_line_and_its_hint():
    text = "HloModule m\nENTRY e {\n  ROOT r = f32[4] add(a, b)\n}\n"
    report = render([diagnostic(text, "add(a, b)", hint="give both the same shape", label="f32[4] and f32[5]")])
    assert report.plain == (
        "error[XP201]: it is wrong\n"
        " --> model.hlo:3:19\n"
        "  |\n"
        "3 |   ROOT r = f32[4] add(a, b)\n"
        "  |                   ^^^^^^^^^ f32[4] and f32[5]\n"
        "  = help: give both the same shape\n"
        "\n"
    )


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (["XP201", "XP201"], "this error: xla2py explain XP201"),
        (["XP201", "XP305"], "these errors: xla2py explain XP201, xla2py explain XP305"),
    ],
)
def test_the_footer_names_each_code_once(codes, said):
    assert footer(codes).plain == f"For more about {said}"


def test_the_same_complaint_in_many_places_is_one_entry():
    text = "\n".join(f"a{n} = f32[] infeed()" for n in range(1, 8))
    source = SourceText(text, "m.hlo")
    places = [match.span() for match in re.finditer("infeed", text)]
    report = render([Diagnostic("XP301", "no infeed", Span(*place), source) for place in places]).plain
    assert report.count("no infeed") == 1
    assert report.count("-->") == PLACES_SHOWN
    assert "and 4 more: lines 4, 5, 6, 7" in report


def test_different_complaints_stay_apart():
    report = render([diagnostic("x y", "x", "first"), diagnostic("x y", "y", "second")]).plain
    assert report.index("first") < report.index("second")
    assert report.count("error[XP201]") == 2


def test_a_diagnostic_needs_no_place():
    assert render([Diagnostic("XP401", "cannot read x")]).plain.startswith("error[XP401]: cannot read x\n\n")
    without_span = Diagnostic("XP401", "empty", source=SourceText("", "m.hlo"))
    assert "--> m.hlo\n" in render([without_span]).plain


@pytest.mark.parametrize("at", [0, 50, 99_990])
def test_a_long_line_is_cut_around_the_carets(at: int):
    text = "x" * at + "HERE" + "y" * (100_000 - at)
    lines = render([diagnostic(text, "HERE")], width=80).plain.splitlines()
    shown, carets = lines[3], lines[4]
    assert len(shown) <= 90
    assert shown[carets.index("^") :].startswith("HERE")
    assert carets.count("^") == 4


def test_a_span_over_several_lines_marks_the_first():
    lines = render([diagnostic("a = f32[\n4] add()", "f32[\n4]")]).plain.splitlines()
    assert lines[4] == "  |     ^^^^"


def test_carets_follow_wide_characters():
    shown, carets = render([diagnostic('名前 = "値"; bad', "bad")]).plain.splitlines()[3:5]
    assert shown == '1 | 名前 = "値"; bad'
    assert carets == "  | " + " " * 13 + "^^^"


def test_nothing_from_the_input_controls_the_terminal():
    hostile = "\x1b[2J\x07\u202e[red]"
    report = render([diagnostic(f"{hostile} x", "x", message=hostile, label=hostile, hint=hostile)]).plain
    assert not set(report) & {"\x1b", "\x07", "\u202e"}
    assert "\\x1b[2J\\x07\\u202e[red]" in report
    assert printable("tab\there") == "tab here"


def codes_used() -> set[str]:
    """Every code in the package's own source."""
    folders = ("transpile", "targets", "templates")
    paths = [path for folder in folders for suffix in ("py", "j2") for path in (PACKAGE / folder).rglob(f"*.{suffix}")]
    return {code for path in paths for code in CODE.findall(path.read_text(encoding="utf-8"))}


def test_every_code_used_is_explained_and_every_code_explained_is_used():
    assert codes_used() == set(CATALOGUE)


@pytest.mark.parametrize("explanation", CATALOGUE.values(), ids=CATALOGUE)
def test_an_explanation_is_complete(explanation):
    assert re.fullmatch(r"XP[1-7]\d\d", explanation.code)
    assert explanation.title == explanation.title.strip() != ""
    assert explanation.meaning.endswith(".") and explanation.advice.endswith((".", ":"))
    assert explanation.example


def codes_of(text: str, *, emitted: bool = False) -> set[str]:
    """The codes that a piece of HLO text or Python provokes, when it is verified or also emitted for all targets."""
    try:
        if text.startswith(">>>"):
            names: dict[str, object] = {}
            for example in doctest.DocTestParser().get_examples(text):
                exec(example.source, names)
        else:
            module = xla2py.load(text.encode())
            verify(module)
            for target in target_names() if emitted else ():
                xla2py.emit(module, target)
    except XlaToPythonError as error:
        return {diagnostic.code for diagnostic in error.diagnostics}
    return set()


PROVOKING = {code: entry for code, entry in CATALOGUE.items() if entry.language != "console"}


@pytest.mark.parametrize("explanation", PROVOKING.values(), ids=PROVOKING)
def test_an_example_provokes_its_code_and_nothing_else(explanation):
    is_valid = explanation.code.startswith("XP3")
    assert codes_of(explanation.example, emitted=is_valid) == {explanation.code}


@pytest.mark.parametrize("explanation", PROVOKING.values(), ids=PROVOKING)
def test_a_fixed_example_is_accepted(explanation):
    assert explanation.fixed or not explanation.advice.endswith(":")
    assert not explanation.fixed or codes_of(explanation.fixed) == set()
