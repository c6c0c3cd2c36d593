"""Lines of code as coloured tokens. The text is untrusted: invisible characters are spelled out."""

from __future__ import annotations

import builtins
import io
import keyword
import re
import tokenize
import unicodedata
from collections.abc import Iterator

from ..dataclass import dataclass

LONGEST_LINE = 1_000  # characters of a line that a page shows, as constants can be megabytes


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a line. ``kind`` is empty or a class of the style sheet."""

    text: str
    kind: str = ""


Line = tuple[Token, ...]

_HLO = re.compile(
    r"""(?P<comment>//.*|/\*.*?\*/)
      | (?P<metadata>\bmetadata=\{(?:"(?:\\.|[^"\\])*"|[^}"])*\})
      | (?P<string>"(?:\\.|[^"\\])*"?)
      | (?P<keyword>\b(?:HloModule|ENTRY|ROOT)\b)
      | (?P<type>\b(?:pred|token|opaque|bf16|c64|c128|[suf]\d+\w*)\[[^\]]*\](?:\{[^}]*\})?)
      | (?P<attribute>\b[\w-]+(?==))
      | (?P<opcode>(?<==\s)[a-z][\w-]*(?=\()|(?<=[\]})]\s)[a-z][\w-]*(?=\())
      | (?P<number>(?<![\w.%-])-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)\b(?![.\w]))
    """,
    re.VERBOSE,
)
_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_INVISIBLE = re.compile(
    r"[^\x20-\x7e\xa0-\uffff]|[\x80-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff]"
)


def visible(text: str) -> str:
    """Return a text with control characters and direction marks spelled out, so that it reads as it is."""
    return _INVISIBLE.sub(_spelled_out, text)


def _spelled_out(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\t":
        return "    "
    if unicodedata.category(character)[0] in "LNPS":
        return character
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, numbered as in editors and parsers."""
    return text.replace("\r\n", "\n").split("\n")


def hlo_lines(text: str) -> list[Line]:
    """Return HLO text as coloured lines."""
    return [tuple(_shortened(_matched(_HLO, line))) for line in lines_of(text)]


def _matched(pattern: re.Pattern[str], line: str) -> Iterator[Token]:
    position = 0
    for found in pattern.finditer(line[: LONGEST_LINE + 1]):
        if found.start() > position:
            yield Token(line[position : found.start()])
        yield Token(found[0], found.lastgroup or "")
        position = found.end()
    if position < len(line):
        yield Token(line[position:])


def _shortened(tokens: Iterator[Token]) -> Iterator[Token]:
    """Yield the tokens that fit into a line, and the number of characters left out."""
    room, left_out = LONGEST_LINE, 0
    for token in tokens:
        shown = token.text[:room]
        left_out += len(token.text) - len(shown)
        room -= len(shown)
        if shown:
            yield Token(visible(shown), token.kind)
    if left_out:
        yield Token(f" … {left_out:,} characters more", "comment")


def python_lines(text: str) -> list[Line]:
    """Return Python as coloured lines; from a syntax error on, the lines are plain."""
    lines = lines_of(text)
    pieces: list[list[Token]] = [[] for _ in lines]
    columns = [0] * len(lines)

    def add(row: int, start: int, end: int, kind: str) -> None:
        if start > columns[row]:
            pieces[row].append(Token(lines[row][columns[row] : start]))
        if end > start:
            pieces[row].append(Token(lines[row][start:end], kind))
        columns[row] = max(columns[row], end)

    try:
        before = ""
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
            kind = _python_kind(token, before)
            if kind:
                (first, start), (last, end) = token.start, token.end
                for row in range(first, last + 1):
                    stop = end if row == last else len(lines[row - 1])
                    add(row - 1, start if row == first else 0, stop, kind)
            before = token.string
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass
    for row, line in enumerate(lines):
        add(row, len(line), len(line), "")
    return [tuple(_shortened(iter(tokens))) for tokens in pieces]


def _python_kind(token: tokenize.TokenInfo, before: str) -> str:
    if token.type == tokenize.NAME:
        if keyword.iskeyword(token.string):
            return "keyword"
        if before in ("def", "class"):
            return "definition"
        return "builtin" if token.string in _BUILTINS and before != "." else ""
    kinds = {tokenize.NUMBER: "number", tokenize.STRING: "string", tokenize.COMMENT: "comment"}
    return kinds.get(token.type, "string" if tokenize.tok_name[token.type].startswith("FSTRING") else "")
