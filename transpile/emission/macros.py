"""The macros of a renderer by name. Each is compiled on first use, with the parts of its file that it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import jinja2

from ..walks import reached

Macro = Callable[..., str]

# The top-level parts of a file of macros: comments, macros, constants, and imported names.
_PARTS = re.compile(
    r"\{#.*?#\}"
    r"|\{%-?\s*macro\s+(?P<macro>\w+)\(.*?\{%-?\s*endmacro\s*-?%\}"
    r"|\{%-?\s*set\s+(?P<constant>\w+)\s.*?%\}"
    r"|\{%-?\s*from\s+\S+\s+import\s+(?P<imports>.*?)-?%\}",
    re.DOTALL,
)
_WORD = re.compile(r"[a-zA-Z_]\w*")


class _File(NamedTuple):
    """The parts of a file of macros: the text of each by the names that it binds, in order."""

    parts: dict[str, str]
    macros: tuple[str, ...]  # public macros, as spelled in the file
    sources: dict[str, str]  # cache of :meth:`source`

    def source(self, name: str) -> str:
        """Return the text of the parts that a name needs, including its own."""
        if name not in self.sources:
            self.sources[name] = self.joined(name)
        return self.sources[name]

    def joined(self, name: str) -> str:
        needed = set(reached([name], lambda word: _WORD.findall(self.parts.get(word, ""))))
        return "".join(dict.fromkeys(text for word, text in self.parts.items() if word in needed))


class Macros(Mapping[str, Macro]):
    """The macros of some folders; a macro of a later file overrides one of the same name."""

    def __init__(self, environment: jinja2.Environment, folders: Sequence[Path]) -> None:
        self._environment = environment
        self._files = _files(tuple(folders))
        self._read: dict[str, Macro] = {}

    def __getitem__(self, name: str) -> Macro:
        """Return a macro; a keyword's has ``_`` behind its name in the file. Raises KeyError for an unknown name."""
        if name not in self._read:
            spelled, file = self._files[name]
            self._read[name] = self._value(spelled, file)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def constant(self, name: str, macro: str) -> Any:
        """Return a constant from the file that has a macro."""
        return self._value(name, self._files[macro][1])

    def _value(self, name: str, file: _File) -> Any:
        return getattr(COMPILED.template(self._environment, file.source(name)).module, name)


@cache
def _files(folders: tuple[Path, ...]) -> dict[str, tuple[str, _File]]:
    """Return how a macro is spelled, and its file, by its name."""
    files = (_file(path) for folder in folders for path in sorted(folder.glob("*.j2")))
    return {name.rstrip("_"): (name, file) for file in files for name in file.macros}


def _file(path: Path) -> _File:
    """Return the parts of a file."""
    parts: dict[str, str] = {}
    macros: list[str] = []
    for found in _PARTS.finditer(path.read_text(encoding="utf-8")):
        names = _WORD.findall(found["imports"] or found["macro"] or found["constant"] or "")
        parts.update(dict.fromkeys(names, found[0]))
        if found["macro"] and not names[0].startswith("_"):
            macros += names
    return _File(parts, tuple(macros), {})


@cache
def loader(folder: Path) -> jinja2.BaseLoader:
    """Return the loader of a folder, which reads each template once."""

    @cache
    def text(name: str) -> str | None:
        path = folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    return jinja2.FunctionLoader(text)


class CompiledTemplates(jinja2.BytecodeCache):
    """Templates compiled once for all renderers: these differ in globals, not in code."""

    def __init__(self) -> None:
        self._codes: dict[str, CodeType | None] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        bucket.code = self._codes.get(bucket.key + bucket.checksum)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        self._codes[bucket.key + bucket.checksum] = bucket.code

    def template(self, environment: jinja2.Environment, source: str) -> jinja2.Template:
        """Return the template of a text that is not in a file of its own."""
        code = self._codes.get(source) or environment.compile(source)
        self._codes[source] = code
        return environment.template_class.from_code(environment, code, environment.globals)


COMPILED = CompiledTemplates()
