"""The result of emission: source, constants, and ways to save and to load it."""

from __future__ import annotations

import io
import linecache
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..files import write_atomically
from .body import WrittenFunction
from .line_map import LineMap, map_lines


@dataclass(frozen=True, slots=True)
class GeneratedModule:
    """An emitted module. ``constants`` are the arrays of the ``.npz`` file beside it, by name; often none.

    ``functions`` says which values of the array dialect each statement computes, in the order of the text; those of
    the prelude are not among them. :func:`.places.statements` finds them in the source.
    """

    source: str
    name: str
    target: str
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    functions: Sequence[WrittenFunction] = field(default=(), repr=False, compare=False)

    def line_map(self) -> LineMap:
        """Which lines of the source compute which HLO instructions, and where in the user's source these come from."""
        return map_lines(self.source, self.functions)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets the text and the constants only."""
        return GeneratedModule, (self.source, self.name, self.target, self.constants)

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the source, and the constants as ``.npz`` of the same name, atomically; the files written."""
        path = Path(path)
        files = {path: self.source.encode()}
        if self.constants:
            files[path.with_suffix(".npz")] = self.constants_file()
        for place, data in files.items():
            write_atomically(place, data)
        return list(files)

    def constants_file(self) -> bytes:
        """The bytes of the ``.npz`` file; the same constants give the same bytes."""
        buffer = io.BytesIO()
        np.savez(buffer, **{name: storable(array) for name, array in self.constants.items()})  # type: ignore[arg-type]
        return buffer.getvalue()

    def load(self) -> ModuleType:
        """The module, imported from memory. Tracebacks and debuggers show its lines."""
        filename = f"<xla2py generated {self.name} for {self.target} {id(self.source):x}>"
        module = ModuleType(self.name)
        module.__file__ = filename
        linecache.cache[filename] = (len(self.source), None, self.source.splitlines(keepends=True), filename)
        exec(compile(self.source, filename, "exec"), module.__dict__)
        if self.constants:
            stored = {name: storable(array) for name, array in self.constants.items()}
            module.__dict__["constants"] = lambda: stored
        return module


def storable(array: np.ndarray) -> np.ndarray:
    """NumPy's file format has no names for the dtypes of ml_dtypes: their bits are stored."""
    if array.dtype.type.__module__.split(".")[0] == "ml_dtypes":
        return array.view(f"u{array.dtype.itemsize}")
    return array
