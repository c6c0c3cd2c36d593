"""The ``[tool.xla2py]`` table of pyproject.toml. Options of the command line override it; it overrides the defaults."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from .dataclass import dataclass
from .errors import Diagnostic, UsageError
from .files import file_error
from .hlo.source import SourceText, Span
from .options import SETTINGS, Setting, Value

CHECK_SETTINGS: dict[str, Setting] = {
    "known": Setting("known", "", "A file of known differences, which do not count.", "Options", is_file=True)
}
ALL_SETTINGS = SETTINGS | CHECK_SETTINGS
_OLD_NAMES = {setting.old_name: setting.name for setting in SETTINGS.values() if setting.old_name}

TABLES = ("module",)  # tables of [tool.xla2py] that are read elsewhere: the vendored modules


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of ``[tool.xla2py]`` and the file they come from."""

    values: Mapping[str, Value] = field(default_factory=dict)
    path: Path | None = None

    def __getitem__(self, name: str) -> Value:
        """Return the value of a setting, or its default. Raises ``KeyError`` for a name not in ALL_SETTINGS."""
        return self.values.get(name, ALL_SETTINGS[name].default)


def load_settings(folder: Path) -> Settings:
    """Return the ``[tool.xla2py]`` table of the nearest pyproject.toml that has one, in a folder or above it.

    Raises :class:`UsageError`: ``XP410`` for a file that is not TOML, ``XP411`` for unknown names, ``XP412`` for values
    of the wrong kind; each with its place in the file.
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
    """Yield the pyproject.toml files in a folder and above it, nearest first."""
    folder = folder.resolve()
    for parent in (folder, *folder.parents):
        path = parent / "pyproject.toml"
        if path.is_file():
            yield path


def read_toml(source: SourceText) -> dict[str, Any]:
    """Return the tables of a TOML text. Raises :class:`UsageError` (``XP410``) with the place of a syntax error."""
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
    settings = {str(_OLD_NAMES.get(name, name)): value for name, value in table.items() if name not in TABLES}
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
    """Return the span of a key of the table by a text search; None if it is not found."""
    table = re.search(r"^\s*\[tool\.xla2py\]", source.text, re.MULTILINE)
    key = re.compile(rf"(?<![\w-])(['\"]?){re.escape(name)}\1\s*[=.\]]")
    found = key.search(source.text, table.end() if table else 0)
    return Span(found.start(), found.start() + len(name) + 2 * len(found[1])) if found else None


def _error_span(source: SourceText, message: str) -> Span | None:
    """Return the span of the position in the message of a TOMLDecodeError."""
    place = re.search(r"\(at line (\d+), column (\d+)\)", message)
    if place is None:
        return Span(len(source.text), len(source.text))
    lines = source.text.split("\n")
    offset = sum(len(line) + 1 for line in lines[: int(place[1]) - 1]) + int(place[2]) - 1
    return Span(offset, offset + 1)
