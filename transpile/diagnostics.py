"""The catalogue of error codes, and the rendering of diagnostics.

The explanations are data: one TOML file per family in ``explanations/``, one table per code. ``docs/errors.md`` and
``xla2py explain`` come from them, and a test feeds each example to xla2py and expects its code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text

from .dataclass import dataclass
from .errors import Diagnostic

PLACES_SHOWN = 3  # source excerpts per message; the rest are listed by line
LINES_LISTED = 20
CODES_SHOWN = 3  # in the footer


@dataclass(frozen=True, slots=True)
class Explanation:
    """The meaning of a code. ``example`` provokes it: HLO text, a console session (``$ ..``) or Python (``>>> ..``).

    ``fixed`` is the corrected example, if a change of the text corrects it.
    """

    code: str
    title: str
    meaning: str
    example: str
    advice: str
    fixed: str = ""

    @property
    def language(self) -> str:
        """The language of the example: ``hlo``, ``console`` or ``python``."""
        return {"$": "console", ">": "python"}.get(self.example[0], "hlo")


def _read_catalogue() -> dict[str, Explanation]:
    tables: dict[str, dict[str, str]] = {}
    for file in Path(__file__).with_name("explanations").iterdir():
        if file.name.endswith(".toml"):
            tables |= tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        code: Explanation(code, **{key: text.strip("\n") for key, text in tables[code].items()})
        for code in sorted(tables)
    }


CATALOGUE: dict[str, Explanation] = _read_catalogue()


def render(diagnostics: Iterable[Diagnostic], width: int = 100) -> Text:
    """Return a report in the style of rustc.

    Diagnostics that differ only in their place are one entry with several places, so unsupported operations are grouped
    by opcode. ``width`` is in terminal cells; longer source lines are cut to a window around the carets.
    """
    groups: dict[tuple[str, str, str | None], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        groups.setdefault((diagnostic.code, diagnostic.message, diagnostic.hint), []).append(diagnostic)
    report = Text()
    for (code, message, hint), places in groups.items():
        report.append(f"error[{code}]", "bold red").append(f": {printable(message)}\n", "bold")
        gutter = max(len(str(_line(place) or "")) for place in places[:PLACES_SHOWN])
        for place in places[:PLACES_SHOWN]:
            report.append_text(_frame(place, gutter, width))
        if len(places) > PLACES_SHOWN:
            report.append(f"{' ' * gutter} = ", "blue").append(f"{_more(places[PLACES_SHOWN:])}\n")
        if hint:
            report.append(f"{' ' * gutter} = ", "blue").append("help: ", "bold").append(f"{printable(hint)}\n")
        report.append("\n")
    return report


def footer(codes: Sequence[str]) -> Text:
    """Return the line that names ``xla2py explain`` for the first few codes of a run, each once."""
    commands = ", ".join(f"xla2py explain {code}" for code in list(dict.fromkeys(codes))[:CODES_SHOWN])
    return Text(f"For more about {'this error' if len(set(codes)) == 1 else 'these errors'}: {commands}", "dim")


def printable(text: str) -> str:
    """Return text without characters that move a terminal's cursor or are invisible; they appear as ``\\x1b``."""
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def _escape(character: str) -> str:
    return " " if character == "\t" else ascii(character)[1:-1]


def _line(diagnostic: Diagnostic) -> int | None:
    if diagnostic.place is None:
        return None
    source, span = diagnostic.place
    return source.position(span.start).line


def _more(places: list[Diagnostic]) -> str:
    """Return ``and 4 more: lines 7, 9, 12, 20``."""
    lines = [str(line) for place in places if (line := _line(place))]
    listed = ", ".join(lines[:LINES_LISTED]) + (", .." if len(lines) > LINES_LISTED else "")
    return f"and {len(places)} more" + (f": line{'s' * (len(lines) > 1)} {listed}" if lines else "")


def _frame(diagnostic: Diagnostic, gutter: int, width: int) -> Text:
    """Return the place of a diagnostic: ``--> file:line:column``, and the source line with carets under the span."""
    frame = Text()
    if not diagnostic.location:
        return frame
    frame.append(f"{' ' * gutter}--> ", "blue").append(f"{printable(diagnostic.location)}\n")
    if diagnostic.place is None:
        return frame
    source, span = diagnostic.place
    number, column = source.position(span.start)
    length = span.end - span.start
    before, marked, after = _window(source.line(number), column - 1, length, width - gutter - 3)
    carets = "^" * max(cell_len(marked), 1)
    frame.append(f"{' ' * gutter} |\n", "blue")
    frame.append(f"{number:>{gutter}} | ", "blue").append(f"{before}{marked}{after}\n")
    frame.append(f"{' ' * gutter} | ", "blue").append(" " * cell_len(before))
    frame.append(f"{carets} {printable(diagnostic.label or '')}".rstrip() + "\n", "bold red")
    return frame


def _window(line: str, start: int, length: int, width: int) -> tuple[str, str, str]:
    """Return the parts of a line before, under and after a span, cut to about ``width`` characters around it."""
    width = max(width, 40)
    end = min(start + max(length, 1), len(line), start + width * 2 // 3)
    first = max(0, min(start - width // 4, len(line) - width)) if len(line) > width else 0
    last = max(first + width, end)
    before, marked, after = (printable(part) for part in (line[first:start], line[start:end], line[end:last]))
    return ("…" if first else "") + before, marked, after + ("…" if last < len(line) else "")


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the lines of an explanation as Markdown, for ``xla2py explain`` and ``docs/errors.md``."""
    fence = f"```{explanation.language}"
    yield from (f"## {explanation.code}: {explanation.title}", "", explanation.meaning, "")
    yield from (fence, explanation.example, "```", "", explanation.advice, "")
    if explanation.fixed:
        yield from (fence, explanation.fixed, "```", "")
