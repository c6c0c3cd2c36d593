"""Panes side by side: HLO, the emitted Python, and the program's own source, with linked lines.

Lines of HLO are the link. Each has the numbers of the statements of the emitted module that compute it and of the line
of the source that it was traced from; the other panes have the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from ..dataclass import dataclass
from ..emission import GeneratedModule
from ..emission.module.line_map import Place, place_of
from ..hlo.ir import HloModule, Instruction
from ..hlo.parser import parse_module
from ..hlo.printer import print_module
from ..hlo.source import SourceText, Span
from .highlight import Line, Token, hlo_lines, python_lines, visible
from .page import render

AROUND = 12  # lines of source that are shown before and after a traced one


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a pane; ``number`` is empty for a heading or a gap.

    It belongs to ``statements``, and computes the values of ``mains``, which are some of these.
    """

    tokens: Line
    number: str = ""
    statements: tuple[int, ...] = ()
    mains: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Pane:
    """One column; ``key`` is its name in the script. ``target`` is that of emitted Python."""

    key: str
    title: str
    rows: tuple[Row, ...]
    target: str = ""


def original(generated: GeneratedModule) -> HloModule:
    """Return the HLO module that a module was emitted for."""
    assert generated.program is not None, "this module was not emitted in this process"
    return generated.program.original


@dataclass(slots=True)
class Linked:
    """The links of a line of HLO: numbers of statements, of the statements whose values it has, and of places."""

    statements: set[int] = field(default_factory=set)
    mains: set[int] = field(default_factory=set)
    places: set[int] = field(default_factory=set)


def make_panes(*emitted: GeneratedModule) -> list[Pane]:
    """Return the panes of a module and of the modules emitted for it, one for each target.

    The last one is the program's own source, if places in it are known.
    """
    module, places = original(emitted[0]), dict[Place, int]()
    text, lines = linked_lines(*emitted, places=places)
    first, python = 0, list[Pane]()
    for generated in emitted:
        python.append(python_pane(generated, first))
        first += len(generated.line_map().statements)
    hlo = [
        Row(line, str(n), _sorted(found.statements), _sorted(found.mains), _sorted(found.places))
        for n, line in enumerate(hlo_lines(text.text), 1)
        for found in [lines.get(n, Linked())]
    ]
    panes = [Pane("hlo", "HLO", tuple(hlo)), *python]
    return [*panes, Pane("source", "Source", tuple(_source_rows(module, places)))] if places else panes


def linked_lines(
    *emitted: GeneratedModule, places: dict[Place, int] | None = None
) -> tuple[SourceText, dict[int, Linked]]:
    """Return the text of a module and, by line, its links; statements are numbered through all targets.

    ``places`` in the program's own source get numbers in the order of occurrence; known ones keep theirs.
    """
    places = {} if places is None else places
    module = original(emitted[0])
    text, instructions = _located(module)
    lines: dict[int, Linked] = {}
    first = 0
    for generated in emitted:
        line_map = generated.line_map()
        numbers = {statement: number for number, statement in enumerate(line_map.statements, first)}
        for instruction, span in instructions:
            computing = line_map.computing(instruction)
            place = _own_place(module, instruction) if computing else None
            start = text.position(span.start).line
            for row in range(start, text.position(span.end - 1).line + 1):
                found = lines.setdefault(row, Linked())
                found.statements.update(numbers[statement] for statement in computing)
                if row == start:
                    found.mains.update(numbers[each] for each in computing if each.main is instruction)
                if place is not None:
                    found.places.add(places.setdefault(place, len(places)))
        first += len(line_map.statements)
    return text, lines


def _sorted(numbers: set[int]) -> tuple[int, ...]:
    return tuple(sorted(numbers))


def plain_panes(hlo: str, sources: Mapping[str, str]) -> list[Pane]:
    """Return panes of plain texts, HLO and Python by target, without links."""

    def rows(lines: list[Line]) -> tuple[Row, ...]:
        return tuple(Row(line, str(number)) for number, line in enumerate(lines, 1))

    python = (Pane("python", "Python", rows(python_lines(text)), target) for target, text in sources.items())
    return [Pane("hlo", "HLO", rows(hlo_lines(hlo))), *python]


def _located(module: HloModule) -> tuple[SourceText, list[tuple[Instruction, Span]]]:
    """Return the text of a module with the spans of its instructions; it is printed if it did not come as text."""
    printed = module
    if module.source is None or any(instruction.span is None for instruction in module.instructions()):
        printed = parse_module(print_module(module))
    assert printed.source is not None
    spans = (instruction.span or Span(0, 1) for instruction in printed.instructions())
    return printed.source, list(zip(module.instructions(), spans, strict=True))


def _own_place(module: HloModule, instruction: Instruction) -> Place | None:
    """Return the place an instruction was traced from: the innermost in an available file, else in any, or None."""
    metadata = instruction.metadata
    frame_id = metadata.stack_frame_id if metadata is not None else 0
    seen: set[int] = set()
    while 0 < frame_id <= len(module.stack_frames) and frame_id not in seen:
        seen.add(frame_id)
        frame = module.stack_frames[frame_id - 1]
        if frame.file_name in module.sources:
            return Place(frame.file_name, frame.line)
        frame_id = frame.parent
    return place_of(instruction)


def python_pane(generated: GeneratedModule, first: int = 0) -> Pane:
    """Return the pane of an emitted module, with statements numbered from ``first``; the prelude has no links."""
    rows = [Row(line, str(number)) for number, line in enumerate(python_lines(generated.source.rstrip("\n")), 1)]
    for number, statement in enumerate(generated.line_map().statements, first):
        for line in range(statement.first, statement.last + 1):
            rows[line - 1] = replace(rows[line - 1], statements=(number,))
    return Pane("python", "Python", tuple(rows), generated.target)


def _source_rows(module: HloModule, places: Mapping[Place, int]) -> Iterator[Row]:
    """Yield the rows of the program's own source around the places of its instructions."""
    files: dict[str, dict[int, int]] = {}
    for place, number in places.items():
        files.setdefault(place.file, {})[place.line] = number
    for name, wanted in files.items():
        yield Row((Token(visible(name)),), kind="file")
        text = module.sources.get(name)
        if text is None:
            yield from (
                Row((Token(f"line {line}", "comment"),), str(line), places=(wanted[line],)) for line in sorted(wanted)
            )
            continue
        lines = python_lines(text.rstrip("\n"))
        shown = sorted(
            {n for line in wanted for n in range(line - AROUND, line + AROUND + 1)} & set(range(1, len(lines) + 1))
        )
        previous = 0
        for n in shown:
            if n != previous + 1:
                yield Row((Token(f"{n - previous - 1} lines"),), kind="gap")
            previous = n
            yield Row(lines[n - 1], str(n), places=(wanted[n],) if n in wanted else ())
        if previous < len(lines):
            yield Row((Token(f"{len(lines) - previous} lines"),), kind="gap")


def module_page(generated: GeneratedModule) -> str:
    """Return an HTML page with a module's HLO, the emitted Python and the program's own source, with linked lines.

    The page is one file without external references; text of the module is escaped.
    """
    module = original(generated)
    return render(
        "module",
        title=module.name,
        target=generated.target,
        instructions=sum(1 for _ in module.instructions()),
        panes=make_panes(generated),
    )
