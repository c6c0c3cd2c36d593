"""Whatever the text, the parser answers with a module or with an error that has a code and a place, and soon."""

import time
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings, strategies as st

from xla2py.tests.hlo.mutations import findings, mutant
from xla2py.tests.whole import much
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.frontends import load
from xla2py.transpile.hlo.equality import structurally_equal
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module

MODULES = [path.read_text() for path in sorted((Path(__file__).parent / "grammar").glob("*.hlo"))]
PIECES = [
    *"{}()[]<>=,:%#\"'/*-+.?x_ \n0123456789",
    *("ROOT ", "ENTRY ", "nan", "inf", "true", "->", "<=", "/*", "*/", "//", "{}", "()", "{{", "}}", "{...}"),
    *("f32[4]", "(f32[4], s32[])", "constant(", "parameter(", "to_apply=", "calls=", "-start(", "-done(", "#0"),
    *("99999999999999999999", "\\", "é", "\x1b", "tuple", "metadata={", "replica_groups=mesh["),
]
SECONDS = 2
MUTANTS = much(200, 100_000)  # or python -m xla2py.tests.hlo.mutations


def fuzzing(examples):
    unhurried = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=much(examples // 5, examples), deadline=None, suppress_health_check=unhurried)


def check(text):
    start = time.process_time()
    try:
        module = parse_module(text)
    except XlaToPythonError as error:
        (diagnostic,) = error.diagnostics
        assert diagnostic.code.startswith("XP")
        assert diagnostic.span is not None
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        assert diagnostic.location in str(error)
    else:
        printed = print_module(module)
        assert structurally_equal(module, parse_module(printed))
    assert time.process_time() - start < SECONDS


@st.composite
def mutated(draw):
    """One of the grammar's modules with a few pieces put in, taken out or copied elsewhere."""
    text = draw(st.sampled_from(MODULES))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        match draw(st.sampled_from(["insert", "replace", "remove", "cut", "copy"])):
            case "insert":
                text = text[:at] + draw(st.sampled_from(PIECES)) + text[at:]
            case "replace":
                text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + 1 :]
            case "remove":
                text = text[:at] + text[at + draw(st.integers(1, 8)) :]
            case "cut":
                text = text[:at]
            case _:
                to = draw(st.integers(0, len(text)))
                text = text[:to] + text[at : at + draw(st.integers(1, 60))] + text[to:]
    return text


@fuzzing(400)
@given(mutated())
def test_mutated_modules(text):
    check(text)


@fuzzing(200)
@given(
    st.lists(st.sampled_from([*PIECES, "ENTRY e {\n a = f32[4] ", "f {", "HloModule m, "]), max_size=40).map("".join)
)
def test_pieces_in_any_order(pieces):
    check("".join(pieces))


@fuzzing(200)
@given(st.text(max_size=200))
@example("\ud800")
@example("__import__('os').system('true')")
def test_any_text(text):
    check(text)


@fuzzing(100)
@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbfENTRY e { a = f32[] parameter(0) }")
@example(b"\x1a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")
@example(b"\n\x02ab\x1a\xff\xff\xff\xff\x0f")
def test_any_bytes(content):
    start = time.process_time()
    try:
        load(content)
    except XlaToPythonError as error:
        assert error.diagnostics[0].code.startswith("XP")
    assert time.process_time() - start < SECONDS


def test_mutants_of_programs_end_in_a_module_or_in_a_coded_error():
    """Read, verified and, where they are valid, emitted, in few seconds and little memory."""
    found = [f"seed {seed}, {finding.kind}: {finding.detail}" for seed, finding in findings(range(MUTANTS))]
    assert not found, "\n".join(found[:5])


def test_mutants_are_the_same_for_the_same_seed():
    assert [mutant(seed) for seed in range(20)] == [mutant(seed) for seed in range(20)]
    assert len({mutant(seed) for seed in range(200)}) > 190
