"""The questions of the page, each a table of JSON with the key ``ask``, and their answers.

A program comes as text, and text it stays: no question names a file, a module or a function. Errors of the program are
an answer, too: ``{"errors": [..]}``, each with its place in the text.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from typing import Any

from ..emission import GeneratedModule
from ..errors import Diagnostic, UsageError, XlaToPythonError
from ..frontends import load
from ..hlo.ir import HloModule
from ..hlo.printer import print_module
from ..hlo.verifier import verify
from ..pages.panes import linked_lines, python_pane
from ..version import VERSION
from .downloads import packed
from .emitting import Side, emitted, loaded, offered_settings, offered_targets
from .running import compared, ran

Answer = dict[str, Any]
Question = Mapping[str, Any]


def answer(question: Question) -> Answer:
    """Answer one question. Raises nothing: what fails is in ``errors``."""
    try:
        return _QUESTIONS[question.get("ask", "")](question)
    except XlaToPythonError as error:
        return {"errors": [_complaint(each) for each in error.diagnostics]}
    except MemoryError:
        return {"errors": [_complaint(Diagnostic("XP501", "there is not enough memory for this program"))]}
    except Exception as error:  # a fault of ours, which must not take the page down
        return {"errors": [{"code": "bug", "message": f"internal error: {type(error).__name__}: {error}"}]}


def _complaint(diagnostic: Diagnostic) -> Answer:
    """A diagnostic; lines and columns count from 1, and are those of the text that was asked about."""
    complaint = {"code": diagnostic.code, "message": diagnostic.message, "hint": diagnostic.hint or ""}
    if diagnostic.place is None:
        return complaint
    source, span = diagnostic.place
    start, end = source.position(span.start), source.position(max(span.start + 1, span.end))
    last = end.column if end.line == start.line else len(source.line(start.line)) + 1
    return {**complaint, "line": start.line, "column": start.column, "end": last, "label": diagnostic.label or ""}


def _about(question: Question) -> Answer:
    """What can be chosen here."""
    return {"version": VERSION, "targets": offered_targets(), "settings": offered_settings()}


def _emit(question: Question) -> Answer:
    """The module of a program for a target: its lines, and which lines of the program each computes."""
    module = loaded(question["text"])
    generated = emitted(question["text"], Side.of(question))
    rows = python_pane(generated).rows
    return {
        "name": generated.name,
        "source": generated.source,
        "rows": [[[list(_short(token)) for token in row.tokens], list(row.statements)] for row in rows],
        "links": _links(module, generated, question["text"]),
        "instructions": sum(1 for _ in module.instructions()),
        "constants": sum(array.nbytes for array in generated.constants.values()),
        "notes": [_complaint(note) for note in module.notes],
    }


def _short(token: Any) -> tuple[str, ...]:
    return (token.text, token.kind) if token.kind else (token.text,)


def _links(module: HloModule, generated: GeneratedModule, text: str) -> dict[int, list[list[int]]]:
    """By line of the program: the statements that it is a part of, and those whose value it gives.

    There are none where the lines are not the user's own.
    """
    source, lines = linked_lines(generated)
    if source.text != text:
        return {}
    return {line: [list(found.statements), list(found.mains)] for line, found in lines.items() if found.statements}


def _run(question: Question) -> Answer:
    """The results of a program on arguments that a seed makes."""
    side = Side.of(question).plain()
    return ran(loaded(question["text"]), emitted(question["text"], side), _seed(question)).as_answer()


def _compare(question: Question) -> Answer:
    """Two modules of one program: the lines that differ, and how far results on the same arguments do."""
    text, seed = question["text"], _seed(question)
    first, second = (Side.of(side) for side in question["sides"])
    changed = _changed_lines(emitted(text, first).source, emitted(text, second).source)
    if question.get("only_text"):
        return {"changed": changed}
    module = loaded(text)
    runs = [ran(module, emitted(text, side.plain()), seed) for side in (first, second)]
    return {"changed": changed, "runs": [run.as_answer() for run in runs], "results": compared(*runs)}


def _changed_lines(first: str, second: str) -> list[list[int]]:
    """The lines, from 1, of either text that the other does not have there; headers say what differs by themselves."""
    lines = first.split("\n"), second.split("\n")
    changed: list[list[int]] = [[], []]
    for kind, *ranges in SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        if kind != "equal":
            for found, (start, end) in zip(changed, (ranges[:2], ranges[2:]), strict=True):
                found += range(start + 1, end + 1)
    return changed


def _download(question: Question) -> Answer:
    """The file, or the archive of files, that a module is."""
    name, content = packed(emitted(question["text"], Side.of(question)))
    return {"file": name, "content": base64.b64encode(content).decode()}


def _read(question: Question) -> Answer:
    """The text of a program that came as bytes: a proto, bytecode, a serialized ``Exported``."""
    try:
        content = base64.b64decode(question["content"], validate=True)
    except (TypeError, ValueError) as error:
        raise UsageError(Diagnostic("XP401", f"this is no file: {error}")) from error
    module = load(content, name="program")
    verify(module, module.source)
    return {"text": print_module(module)}


def _seed(question: Question) -> int:
    seed = question.get("seed", 0)
    return seed if isinstance(seed, int) and 0 <= seed < 2**63 else 0


def _unknown(question: Question) -> Answer:
    raise UsageError(Diagnostic("XP400", f"the page asks nothing called {str(question.get('ask', ''))[:40]!r}"))


class _Questions(dict[str, Callable[[Question], Answer]]):
    def __missing__(self, name: str) -> Callable[[Question], Answer]:
        return _unknown


_QUESTIONS = _Questions(about=_about, emit=_emit, run=_run, compare=_compare, download=_download, read=_read)
