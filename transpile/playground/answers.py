"""The questions of the page, each a JSON object with the key ``ask``, and their answers.

A program comes as text and is only treated as text: no question names a file, a module or a function. Errors in the
program are an answer, too: ``{"errors": [..]}``, each with its place in the text.
"""

from __future__ import annotations

import base64
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes

from ..dataclass import dataclass
from ..emission import GeneratedModule, emit
from ..errors import Diagnostic, HloSyntaxError, UsageError, XlaToPythonError
from ..frontends import load
from ..hlo.ir import HloModule
from ..hlo.printer import print_module
from ..hlo.shapes import ArrayShape, leaves
from ..hlo.verifier import verify
from ..options import FAST, SETTINGS, TARGET, Setting, keywords
from ..pages.panes import linked_lines, python_pane
from ..target import load_target, require_targets, target_names
from ..version import VERSION
from .running import compared, ran

Answer = dict[str, Any]
Question = Mapping[str, Any]
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the time in archives, so that the same module gives the same bytes
# The options that a page may choose; none of them names files, or functions to import.
OFFERED = (
    "style", "edge-cases", "annotate", "checks", "results", "nested", "line-length", "precision", "memory", "chunks",
)  # fmt: skip
NAME = "program"  # the text's name in errors and headers
_KEPT = 8
_NARROW = ("bf16", "f4", "f8", "s2", "s4", "u2", "u4")


def answer(question: Question) -> Answer:
    """Answer one question. Raises nothing: failures are in ``errors``."""
    try:
        return _QUESTIONS[_part(question, "ask", str, "")](question)
    except XlaToPythonError as error:
        return {"errors": [_complaint(each) for each in error.diagnostics]}
    except MemoryError:
        return {"errors": [_complaint(Diagnostic("XP501", "there is not enough memory for this program"))]}
    except Exception as error:  # a bug, which must not take the page down
        return {"errors": [{"code": "bug", "message": f"internal error: {type(error).__name__}: {error}"}]}


def _complaint(diagnostic: Diagnostic) -> Answer:
    """Return a diagnostic as JSON; lines and columns count from 1 in the question's text."""
    complaint = {"code": diagnostic.code, "message": diagnostic.message, "hint": diagnostic.hint or ""}
    if diagnostic.place is None:
        return complaint
    source, span = diagnostic.place
    start, end = source.position(span.start), source.position(max(span.start + 1, span.end))
    last = end.column if end.line == start.line else len(source.line(start.line)) + 1
    return {**complaint, "line": start.line, "column": start.column, "end": last, "label": diagnostic.label or ""}


def _about(question: Question) -> Answer:
    """Return the version, the targets and the settings."""
    return {"version": VERSION, "targets": offered_targets(), "settings": offered_settings()}


def _emit(question: Question) -> Answer:
    """Return the module of a program for a target: its lines, and the lines of the program that each computes."""
    text = _part(question, "text", str)
    module, generated = loaded(text), emitted(text, Side.of(question))
    rows = python_pane(generated).rows
    return {
        "name": generated.name,
        "source": generated.source,
        "rows": [[[list(_short(token)) for token in row.tokens], list(row.statements)] for row in rows],
        "links": _links(generated, text),
        "instructions": sum(1 for _ in module.instructions()),
        "constants": sum(array.nbytes for array in generated.constants.values()),
        "notes": [_complaint(note) for note in module.notes],
    }


def _short(token: Any) -> tuple[str, ...]:
    return (token.text, token.kind) if token.kind else (token.text,)


def _links(generated: GeneratedModule, text: str) -> dict[int, list[list[int]]]:
    """Return, by line of the program, its statements, and those whose value it has; {} if ``text`` was printed anew."""
    source, lines = linked_lines(generated)
    if source.text != text:
        return {}
    return {line: [list(found.statements), list(found.mains)] for line, found in lines.items() if found.statements}


def _run(question: Question) -> Answer:
    """Return the results of a program on arguments generated from a seed."""
    text, side = _part(question, "text", str), Side.of(question).plain()
    return ran(loaded(text), emitted(text, side), _seed(question)).as_answer()


def _compare(question: Question) -> Answer:
    """Compare two modules of one program: their text line by line, and their results on equal arguments."""
    text, seed, sides = _part(question, "text", str), _seed(question), _part(question, "sides", list, [])
    if len(sides) != 2 or not all(isinstance(side, dict) for side in sides):
        raise _malformed("`sides` should be two tables")
    first, second = map(Side.of, sides)
    changed = _changed_lines(emitted(text, first).source, emitted(text, second).source)
    if _part(question, "only_text", bool, False):
        return {"changed": changed}
    module = loaded(text)
    runs = [ran(module, emitted(text, side.plain()), seed) for side in (first, second)]
    return {"changed": changed, "runs": [run.as_answer() for run in runs], "results": compared(*runs)}


def _changed_lines(first: str, second: str) -> list[list[int]]:
    """Return the lines, from 1, in which either text differs from the other."""
    lines = first.split("\n"), second.split("\n")
    changed: list[list[int]] = [[], []]
    for kind, *ranges in SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        if kind != "equal":
            for found, (start, end) in zip(changed, (ranges[:2], ranges[2:]), strict=True):
                found += range(start + 1, end + 1)
    return changed


def _download(question: Question) -> Answer:
    """Return a module as a file, or as an archive of files."""
    name, content = packed(emitted(_part(question, "text", str), Side.of(question)))
    return {"file": name, "content": base64.b64encode(content).decode()}


def _read(question: Question) -> Answer:
    """Return the text of a program that came as bytes: a proto, bytecode, a serialized ``Exported``."""
    try:
        content = base64.b64decode(_part(question, "content", str), validate=True)
    except ValueError as error:
        raise UsageError(Diagnostic("XP401", f"this is no file: {error}")) from error
    module = load(content, name="program")
    verify(module, module.source)
    return {"text": print_module(module)}


def _seed(question: Question) -> int:
    seed = _part(question, "seed", int, 0)
    if not 0 <= seed < 2**63:
        raise _malformed("`seed` should not be negative, and less than 2**63")
    return seed


_WORDS = {str: "a string", bool: "true or false", int: "an integer", dict: "a table", list: "a list"}
_Part = TypeVar("_Part")


def _part(question: Question, name: str, kind: type[_Part], default: _Part | None = None) -> _Part:
    """Return a part of a question. Raises UsageError (XP400) if its type is another, or if it has to be there."""
    value = question.get(name, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise _malformed(f"`{name}` should be {_WORDS[kind]}" if name in question else f"`{name}` is missing")
    return value


def _malformed(message: str) -> UsageError:
    return UsageError(Diagnostic("XP400", f"in the question, {message}"))


def _unknown(question: Question) -> Answer:
    raise UsageError(Diagnostic("XP400", f"the page asks nothing called {question.get('ask', '')[:40]!r}"))


class _Questions(dict[str, Callable[[Question], Answer]]):
    def __missing__(self, name: str) -> Callable[[Question], Answer]:
        return _unknown


_QUESTIONS = _Questions(about=_about, emit=_emit, run=_run, compare=_compare, download=_download, read=_read)

# -- a module as a file to download


def packed(generated: GeneratedModule) -> tuple[str, bytes]:
    """Return the name and the content of the file."""
    with tempfile.TemporaryDirectory() as folder:
        files = generated.save(Path(folder, f"{generated.name}.py"))
        if len(files) == 1:
            return files[0].name, files[0].read_bytes()
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.writestr(zipfile.ZipInfo(file.name, _FIRST_DAY), file.read_bytes())
        return f"{generated.name}.zip", buffer.getvalue()


# -- the modules that the page shows


@dataclass(frozen=True, slots=True)
class Side:
    """A target and options: one of the modules of a program that the page shows."""

    target: str
    options: str  # the options other than defaults, as JSON: a key for the cache of modules

    @classmethod
    def of(cls, question: Mapping[str, Any]) -> Side:
        """Return the side that a question names. Raises UsageError: XP406 for a bad target, XP416 for a bad option."""
        target, options = _part(question, "target", str, "numpy"), _part(question, "options", dict, {})
        require_targets([target])
        for name, value in options.items():
            problem = SETTINGS[name].problem(value) if name in OFFERED else "a page cannot choose it"
            if problem is not None:
                raise UsageError(Diagnostic("XP416", f"{name}: {problem}"))
        return cls(target, json.dumps(dict(sorted(options.items()))))

    def plain(self) -> Side:
        """Return the side whose ``main`` takes separate arrays."""
        return Side(self.target, json.dumps({**json.loads(self.options), "nested": False}))


@lru_cache(maxsize=_KEPT)
def loaded(text: str) -> HloModule:
    """Return the verified program of a text; a text that names a file is not opened. Raises ``XlaToPythonError``."""
    module = load(text.encode("utf-8", "surrogatepass"), name=NAME)
    verify(module, module.source)
    if hasattr(ml_dtypes, "IS_STAND_IN"):
        _refuse_narrow_types(module)
    return module


def _refuse_narrow_types(module: HloModule) -> None:
    """Raise HloSyntaxError (XP106) for types of ml_dtypes, for an environment that only has a stand-in for it."""
    for instruction in module.instructions():
        for _, leaf in leaves(instruction.shape):
            if isinstance(leaf, ArrayShape) and leaf.element_type.name.startswith(_NARROW):
                message = f"there is no element type `{leaf.element_type}` in this tab, which has no ml_dtypes"
                raise HloSyntaxError(Diagnostic("XP106", message, instruction.span, module.source))


@lru_cache(maxsize=_KEPT)
def emitted(text: str, side: Side) -> GeneratedModule:
    """Return the module for a side. Raises ``XlaToPythonError``."""
    chosen = keywords({name: SETTINGS[name].read(value, Path()) for name, value in json.loads(side.options).items()})
    return emit(loaded(text), side.target, name=NAME, **chosen)


def offered_targets() -> list[dict[str, str]]:
    """Return the targets, the default first, with their titles."""
    titles = {name: load_target(name).title for name in target_names()}
    names = sorted(titles, key=lambda name: ((name,) != TARGET.default, titles[name]))
    return [{"name": name, "title": titles[name].removeprefix("the ")} for name in names]


def offered_settings() -> list[dict[str, Any]]:
    """Return the options that can be chosen here, for a form."""
    settings = [SETTINGS[name] for name in OFFERED]
    return [_described(setting, _choices(setting)) for setting in settings]


def _choices(setting: Setting) -> tuple[str, ...]:
    """Return the choices of a setting; the compiled style needs Numba, which a tab does not have."""
    is_missing = setting.name == "style" and find_spec("numba") is None
    return tuple(word for word in setting.choices if not (is_missing and word == FAST))


def _described(setting: Setting, choices: tuple[str, ...]) -> dict[str, Any]:
    described: dict[str, Any] = {"name": setting.name, "default": setting.default, "help": setting.help}
    if isinstance(setting.default, int) and not isinstance(setting.default, bool):
        described["bounds"] = setting.bounds
    return {**described, "group": setting.group, "choices": choices}
