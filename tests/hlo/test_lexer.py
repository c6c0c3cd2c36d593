"""The cursor: what it passes, and where its errors point."""

import pytest
from hypothesis import given, strategies as st

from xla2py.transpile.errors import HloSyntaxError
from xla2py.transpile.hlo.lexer import INTEGER, MAX_NESTING, NAME, Cursor, escape, quote, unescape
from xla2py.transpile.hlo.source import Diagnostic, SourceText, Span


def cursor(text):
    return Cursor(SourceText(text, "test.hlo"))


def error_of(call):
    with pytest.raises(HloSyntaxError) as caught:
        call()
    return caught.value.diagnostics[0]


def test_skips_white_space_and_both_kinds_of_comment():
    c = cursor(" \t\r\n// to the end { of the line\n /* over\n * lines */ /**/ name")
    assert c.match(NAME).group() == "name"
    assert c.at_end()


def test_a_slash_alone_is_not_skipped():
    assert cursor("/ name").match(NAME) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("%a.1-x_y", "%a.1-x_y"),
        ("add(", "add"),
        ("_", "_"),
        ("%0", None),
        ("é", None),
        ("1a", None),
        ("%", None),
        ("-a", None),
    ],
)
def test_names(text, name):
    match = cursor(text).match(NAME)
    assert (match and match.group()) == name


@pytest.mark.parametrize(("text", "value"), [("7", 7), ("-12,", -12), ("9223372036854775807", 2**63 - 1)])
def test_integers(text, value):
    assert cursor(text).integer() == value


@pytest.mark.parametrize("text", ["1.5", "1x3", "x"])
def test_what_is_no_integer(text):
    assert cursor(text).match(INTEGER) is None


def test_an_integer_beyond_64_bits_is_refused():
    diagnostic = error_of(cursor("9223372036854775808").integer)
    assert (diagnostic.code, diagnostic.location) == ("XP102", "test.hlo:1:1")
    assert error_of(cursor("9" * 100_000).integer).code == "XP102"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"plain", "plain"),
        (r"say \"hi\"", 'say "hi"'),
        (r"a\\b", "a\\b"),
        (r"\n\t\r", "\n\t\r"),
        (r"\001\x41", "\x01A"),
        (r"\'", "'"),
    ],
)
def test_escapes(written, meant):
    assert unescape(written) == meant
    assert cursor(f' "{written}"').string() == meant


@given(st.text())
def test_unescape_undoes_escape(text):
    assert unescape(escape(text)) == text


def test_balanced_braces_know_strings_and_comments():
    text = '{"}\\"}": {1, /* } */ {2}}, "//": "x"} rest'
    c = cursor(text)
    assert c.balanced() == text.removesuffix(" rest")
    assert c.match(NAME).group() == "rest"


def test_balanced_braces_may_nest_as_deeply_as_they_like():
    text = "{" * 100_000 + "}" * 100_000
    assert cursor(text).balanced() == text


@pytest.mark.parametrize(
    ("text", "code", "column"), [("  {{}", "XP103", 3), ('{"a}', "XP104", 2), ("x", "XP102", 1), ("", "XP103", 1)]
)
def test_unbalanced_braces(text, code, column):
    diagnostic = error_of(cursor(text).balanced)
    assert (diagnostic.code, diagnostic.location) == (code, f"test.hlo:1:{column}")


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("\n  ;", "XP102", "expected `(`, found `;`"),
        ("\n  add", "XP102", "expected `(`, found `add`"),
        ("\n  ", "XP103", "the text ends where `(` should follow"),
        ("\n  /* x", "XP104", "a comment is never closed"),
        ('\n  "x', "XP104", "a string is never closed"),
        ("\n  \x1b", "XP102", "expected `(`, found `\\x1b`"),
    ],
)
def test_what_stands_instead_of_the_expected(text, code, message):
    diagnostic = error_of(lambda: cursor(text).expect("("))
    assert (diagnostic.code, diagnostic.message, diagnostic.location) == (code, message, "test.hlo:2:3")


def test_nesting_has_a_limit():
    c = cursor("x")
    for _ in range(MAX_NESTING):
        c.enter(0)
        c.leave()
        c.enter(0)
    assert error_of(lambda: c.enter(0)).code == "XP105"


def test_pieces_of_input_are_quoted_short_and_printable():
    assert quote("a\nb\x00é") == "`a\\nb\\x00\\xe9`"
    assert len(quote("x" * 1000)) < 50


def test_bytecode_has_no_place_to_show():
    diagnostic = Diagnostic("XP425", "sizes are open", Span(0, 0), SourceText("", "program.bin", is_text=False))
    assert (diagnostic.place, diagnostic.location) == (None, "program.bin")
