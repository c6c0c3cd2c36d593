"""The settings of emission that a user can choose, and the ``[tool.xla2py]`` table of pyproject.toml.

One table of settings serves the options of the commands, the table in pyproject.toml and its error messages. The
command line wins over the file, the file over the defaults here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from .errors import Diagnostic, UsageError
from .files import file_error
from .hlo.source import SourceText, Span

Value = bool | int | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """One choice, under the name it has in pyproject.toml and, after ``--``, on the command line.

    The type of ``default`` is the type of the setting: a flag, a number, a word, or several words.
    """

    name: str
    default: Value
    help: str
    group: str  # the heading of its option in --help
    choices: tuple[str, ...] = ()
    flags: tuple[str, str] | None = None  # the words that true and false, and ``--no-`` on the command line, stand for
    is_folder: bool = False
    bounds: tuple[int, int] = (0, 0)  # of a number, both included
    is_file: bool = False  # in pyproject.toml relative to that file, as folders are

    @property
    def is_path(self) -> bool:
        return self.is_folder or self.is_file

    def problem(self, value: object) -> str | None:
        """Return what is wrong with a value from pyproject.toml."""
        if isinstance(self.default, bool):
            return None if isinstance(value, bool) else "expected true or false"
        if isinstance(self.default, int):
            least, most = self.bounds
            is_number = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
            return None if is_number else f"expected a number from {least} to {most}"
        if self.flags and isinstance(value, bool):
            return None
        words = [value] if isinstance(value, str) else value
        if isinstance(self.default, str) and not isinstance(value, str):
            return "expected a string"
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return "expected a list of strings"
        unknown = [word for word in words if self.choices and word not in self.choices]
        return f"'{unknown[0]}' is not one of {', '.join(self.choices)}" if unknown else None

    def read(self, value: Any, folder: Path) -> Value:
        """A value from a pyproject.toml in ``folder``, checked by :meth:`problem`, as the type of the default."""
        if self.flags and isinstance(value, bool):
            return self.flags[not value]
        if isinstance(self.default, tuple):
            return (value,) if isinstance(value, str) else tuple(value)
        return str(folder / value) if self.is_path and value else value


_OUTPUT, _STYLE, _COMMENTS = "Output", "Style", "Names and comments"
_ARGUMENTS, _CHUNKS, _GPU = "Arguments and results", "Arrays larger than memory", "GPUs"

SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("target", ("numpy",), "The array libraries to write for, separated by commas.", _OUTPUT),
        Setting(
            "annotate",
            "short",
            "Comments that lead back to the source: none, its lines, or also the HLO of each statement.",
            _COMMENTS,
            ("none", "short", "full"),
        ),
        Setting(
            "style",
            "readable",
            "One operation per line, or fuse operations into compiled kernels: where it pays, or always.",
            _STYLE,
            ("readable", "fast", "fused"),
        ),
        Setting(
            "threads",
            "",
            "How many threads run compiled kernels (NumPy; 1, or auto for all cores), or are planned for (Dask; 8).",
            _STYLE,
        ),
        Setting(
            "precision",
            "float32",
            "Multiply float32 as it is, or in TF32 where the program does not ask for more.",
            _GPU,
            ("float32", "tf32"),
        ),
        Setting("graph", False, "Add replay, which launches all of main at once as a CUDA graph.", _GPU),
        Setting(
            "checks",
            "exact",
            "What main does with arguments of another shape or dtype: refuse them, cast floats, or not look.",
            _ARGUMENTS,
            ("exact", "cast", "none"),
            ("exact", "none"),
        ),
        Setting(
            "edges",
            "xla",
            "On NaN, out-of-range or singular input, behave as XLA does (extra guards) or as the array library does "
            "(shorter code).",
            _STYLE,
            ("xla", "library"),
        ),
        Setting(
            "results",
            "own",
            "Let main return arrays of the caller's own, or allow views of arguments and read-only arrays.",
            _ARGUMENTS,
            ("own", "may-alias"),
        ),
        Setting("allow", (), "Packages that modules may import where they are faster: scipy, cudnn.", _STYLE),
        Setting(
            "helpers",
            "own",
            "Copy helper functions into each module, or into one file for a package (shared) or a folder (beside).",
            _OUTPUT,
            ("own", "shared", "beside"),
        ),
        Setting("format", True, "Format the result with black.", _OUTPUT),
        Setting("line-length", 88, "The most columns of a line.", _OUTPUT, bounds=(72, 320)),
        Setting(
            "constants",
            "auto",
            "Keep large constants in an .npz (auto) or .safetensors file beside the module, or in its text.",
            _OUTPUT,
            ("auto", "safetensors", "inline"),
        ),
        Setting(
            "nested", False, "Let main take and return the trees of arrays that the traced function did.", _ARGUMENTS
        ),
        Setting(
            "classes",
            "own",
            "Return objects as small classes of the module, or import the classes of the traced program.",
            _ARGUMENTS,
            ("own", "import"),
        ),
        Setting("sources", "", "The folder of your Python files, for variable names.", _COMMENTS, is_folder=True),
        Setting(
            "custom-call", (), "Your functions for custom calls: TARGET=MODULE:FUNCTION, separated by commas.", _STYLE
        ),
        Setting("memory", "", "How much memory the program may use, such as 2GiB.", _CHUNKS),
        Setting(
            "chunks", "", "The size of a chunk: bytes (32MiB), or elements along each axis that is cut (4096).", _CHUNKS
        ),
        Setting("disable-pass", (), "Rewrites to leave out, separated by commas.", _STYLE),
    )
}

CHECK_SETTINGS: dict[str, Setting] = {
    "known": Setting("known", "", "The file of known differences, which do not count.", "Options", is_file=True),
}
ALL_SETTINGS = SETTINGS | CHECK_SETTINGS

TABLES = ("module",)  # of [tool.xla2py], read elsewhere: the vendored modules


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of ``[tool.xla2py]`` and the file they come from."""

    values: Mapping[str, Value] = field(default_factory=dict)
    path: Path | None = None

    def __getitem__(self, name: str) -> Value:
        """The value of a setting: as written, or its default. Raises ``KeyError`` for a name not in ALL_SETTINGS."""
        return self.values.get(name, ALL_SETTINGS[name].default)


def emission_options(values: Mapping[str, Value]) -> dict[str, Any]:
    """The keyword arguments of :func:`xla2py.emit` for settings, but for the target; defaults where a name is missing.

    Raises :class:`UsageError` (``XP413``) for a custom call that is not ``TARGET=MODULE:FUNCTION``.
    """
    chosen: dict[str, Any] = {name: values.get(name, SETTINGS[name].default) for name in SETTINGS}
    del chosen["target"]
    chosen["disable_passes"] = chosen.pop("disable-pass")
    chosen["custom_calls"] = _hooks(chosen.pop("custom-call"))
    chosen["sources"] = chosen["sources"] or None
    chosen["line_length"] = chosen.pop("line-length")
    return chosen


_KEYWORDS = {"disable-pass": "disable_passes", "custom-call": "custom_calls"}  # of settings with other names in Python


def option_words(options: Mapping[str, Any]) -> tuple[str, ...]:
    """What a command line says of keyword arguments of :func:`xla2py.emit`: the words of those that are no defaults."""
    words: list[str] = []
    for name, setting in SETTINGS.items():
        value = options.get(_KEYWORDS.get(name, name))
        if value != setting.default and (value or value is False):
            words += _option_words(name, value)
    return tuple(words)


def _option_words(name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    if isinstance(value, Mapping):
        value = [f"{target}={function}" for target, function in value.items()]
    return [f"--{name}", ",".join(value) if isinstance(value, list | tuple) else str(value)]


def _hooks(words: Sequence[str]) -> dict[str, str]:
    """``TARGET=MODULE:FUNCTION`` as function by target."""
    hooks = {}
    for word in words:
        target, is_pair, function = word.rpartition("=")
        if not is_pair:
            raise UsageError(Diagnostic("XP413", f"'{word}' is not of the form TARGET=MODULE:FUNCTION"))
        hooks[target] = function
    return hooks


def load_settings(folder: Path) -> Settings:
    """The ``[tool.xla2py]`` table of the nearest pyproject.toml that has one, in a folder or above it.

    Raises :class:`UsageError`: ``XP410`` for a file that is not TOML, ``XP411`` for unknown names, ``XP412`` for
    values of the wrong kind; each with its place in the file.
    """
    for path in pyproject_above(folder):
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise file_error("read", path, error) from error
        except UnicodeDecodeError as error:
            raise UsageError(Diagnostic("XP410", f"{path} is not UTF-8 text")) from error
        if "xla2py" not in text:
            continue
        table = _table(SourceText(text, str(path)))
        if table is not None:
            return Settings({name: ALL_SETTINGS[name].read(value, path.parent) for name, value in table.items()}, path)
    return Settings()


def pyproject_above(folder: Path) -> Iterator[Path]:
    """The pyproject.toml files in a folder and above it, nearest first."""
    folder = folder.resolve()
    for parent in (folder, *folder.parents):
        path = parent / "pyproject.toml"
        if path.is_file():
            yield path


def read_toml(source: SourceText) -> dict[str, Any]:
    """The tables of a TOML text. Raises :class:`UsageError` (``XP410``) with the place where it is none."""
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(Diagnostic("XP410", f"not TOML: {error}", _error_span(source, str(error)), source)) from error


def _table(source: SourceText) -> dict[str, Any] | None:
    tool = read_toml(source).get("tool")
    table = tool.get("xla2py") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise UsageError(Diagnostic("XP412", "tool.xla2py is not a table", _key_span(source, "xla2py"), source))
    settings = {name: value for name, value in table.items() if name not in TABLES}
    complaints = [complaint for name, value in settings.items() if (complaint := _complaint(name, value, source))]
    if complaints:
        raise UsageError(*complaints)
    return settings


def _complaint(name: str, value: object, source: SourceText) -> Diagnostic | None:
    setting = ALL_SETTINGS.get(name)
    if setting is None:
        close = get_close_matches(name, ALL_SETTINGS, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known settings: {', '.join(ALL_SETTINGS)}"
        return Diagnostic("XP411", f"unknown setting '{name}' in [tool.xla2py]", _key_span(source, name), source, hint)
    problem = setting.problem(value)
    if problem is None:
        return None
    return Diagnostic("XP412", f"setting '{name}' in [tool.xla2py]: {problem}", _key_span(source, name), source)


def _key_span(source: SourceText, name: str) -> Span | None:
    """Return where a key of the table is written, as far as a search finds it."""
    table = re.search(r"^\s*\[tool\.xla2py\]", source.text, re.MULTILINE)
    key = re.compile(rf"(?<![\w-])(['\"]?){re.escape(name)}\1\s*[=.\]]")
    found = key.search(source.text, table.end() if table else 0)
    return Span(found.start(), found.start() + len(name) + 2 * len(found[1])) if found else None


def _error_span(source: SourceText, message: str) -> Span | None:
    """The place that a TOMLDecodeError names in its message."""
    place = re.search(r"\(at line (\d+), column (\d+)\)", message)
    if place is None:
        return Span(len(source.text), len(source.text))
    lines = source.text.split("\n")
    offset = sum(len(line) + 1 for line in lines[: int(place[1]) - 1]) + int(place[2]) - 1
    return Span(offset, offset + 1)
