"""The helpers that a module imports: as a file beside it, and for a module that is loaded from memory."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import finalize

from ...dataclass import dataclass
from ...errors import Diagnostic, UsageError
from ...files import read_bytes, write_atomically
from ...options import LINE_LENGTH
from ...target import load_target
from .header import body_sha256, recorded_hashes, with_new_body_hash
from .shared_helpers import defined_names, helpers_file, names_from, owners, stem


@dataclass(frozen=True, slots=True)
class HelpersFile:
    """A file that modules of a folder import helpers from; one module needs ``names``."""

    path: Path
    names: Collection[str]
    target: str
    line_length: int = LINE_LENGTH

    def is_current(self) -> bool:
        """Return whether the file has the names."""
        return self.path.is_file() and set(self.names) <= defined_names(self._text())

    def write(self) -> None:
        """Write the file with all names that modules beside it import; an edited file stays if it has the names.

        Raises ``UsageError`` (XP706) if an edited file lacks a name.
        """
        text = self._text() if self.path.is_file() else ""
        if not text.strip() or recorded_hashes(text).get("body") == body_sha256(text):
            names = {*self.names, *names_in_folder(self.path.parent, self.target)}
            source = placed(helpers_file(names, self.target, self.line_length), self.target, self.path.parent)
            write_atomically(self.path, source.encode())
        else:
            require_names(self.path, text, self.names)

    def _text(self) -> str:
        return read_bytes(self.path).decode("utf-8", "replace").replace("\r\n", "\n")


def require_names(path: Path, text: str, names: Iterable[str]) -> None:
    """Raise ``UsageError`` (XP706) if an edited file of helpers lacks names that a module imports from it."""
    missing = sorted(set(names) - defined_names(text))
    if missing:
        message = f"{path} was edited, and has no {', '.join(missing)}"
        hint = "write them there, move the file away, or let the module have its own: --helpers own"
        raise UsageError(Diagnostic("XP706", message, hint=hint))


def names_in_folder(folder: Path, target: str) -> set[str]:
    """Return the names that the modules of a folder import from their file of helpers."""
    texts = (read_bytes(path).decode("utf-8", "replace") for path in sorted(folder.glob("*.py")))
    return names_from((text.replace("\r\n", "\n") for text in texts), target)


def add_helpers(module: ModuleType, helpers: Mapping[str, str]) -> None:
    """Make a module that is not yet executed import from modules with these sources, by target.

    The module gets a package that is unique to the texts of the helpers.
    """
    package = f"_xla2py_helpers_{sha256(''.join(helpers.values()).encode()).hexdigest()[:16]}"
    sys.modules.setdefault(package, ModuleType(package))
    for target, source in helpers.items():
        name = f"{package}.{stem(target)}"
        if name not in sys.modules:
            own = ModuleType(name)
            own.__file__, own.__package__ = f"<xla2py generated {name}>", package
            show_lines(own.__dict__, own.__file__, source)
            exec(compile(source, own.__file__, "exec", dont_inherit=True), own.__dict__)
            sys.modules[name] = own
    module.__package__ = package


def with_imports(source: str, target: str, *, is_in_package: bool = True) -> str:
    """Return the source of a module with its imports of helpers relative, or by the plain names of their files."""
    changed = source
    for owner in owners(load_target(target)):
        plain, relative = (f"\nfrom {dot}{stem(owner)} import " for dot in ("", "."))
        old, new = (plain, relative) if is_in_package else (relative, plain)
        changed = changed.replace(old, new, 1)
    return with_new_body_hash(changed) if changed != source else source


def placed(source: str, target: str, folder: Path) -> str:
    """Return the source of a module for a folder: its imports of helpers are relative only in a package."""
    return with_imports(source, target, is_in_package=(folder / "__init__.py").exists())


class _Shown:
    """A token that lives as long as a module's namespace, which functions keep alive, unlike the module."""


def show_lines(namespace: dict[str, Any], filename: str, source: str) -> None:
    """Register the lines of a source with ``linecache``, as long as its namespace lives."""
    shown = namespace["__lines__"] = _Shown()
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    finalize(shown, linecache.cache.pop, filename, None).atexit = False
