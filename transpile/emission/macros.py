"""The macros of a renderer by name: a file of templates is run when one of its macros is first asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import jinja2

Macro = Callable[..., str]

_MACRO = re.compile(r"\{%-?\s*macro\s+([a-zA-Z]\w*)\(")


class Macros(Mapping[str, Macro]):
    """The macros of some folders."""

    def __init__(self, environment: jinja2.Environment, folders: Sequence[tuple[str, Path]]) -> None:
        """``folders`` are those of the templates, with the names that the environment has for them: where two files
        have a macro, the later one counts.
        """
        self._environment = environment
        self._files: dict[str, str] = {}
        for part, folder in folders:
            for path in sorted(folder.glob("*.j2")):
                self._files.update(dict.fromkeys(_names(path, path.stat().st_mtime_ns), f"{part}/{path.name}"))
        self._read: dict[str, Macro] = {}

    def __getitem__(self, name: str) -> Macro:
        """Return a macro. Raises KeyError for a name that no file has."""
        if name not in self._read:
            self._read.update(self._of_file(self._files[name]))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def _of_file(self, file: str) -> Iterator[tuple[str, Macro]]:
        module = self._environment.get_template(file).module
        for key, macro in vars(module).items():
            name = key.rstrip("_")
            if callable(macro) and self._files.get(name) == file:
                yield name, macro


@cache
def _names(path: Path, changed: int) -> tuple[str, ...]:
    """Return the names of the macros of a file as it was when it was changed; a word of Python's has ``_`` behind."""
    return tuple(name.rstrip("_") for name in _MACRO.findall(path.read_text(encoding="utf-8")))
