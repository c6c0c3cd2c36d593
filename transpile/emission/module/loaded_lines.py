"""The lines of modules that were loaded from memory, for tracebacks and debuggers."""

from __future__ import annotations

import linecache
from typing import Any
from weakref import finalize


class _Shown:
    """A token that lives as long as a module's namespace, which functions keep alive, unlike the module."""


def show_lines(namespace: dict[str, Any], filename: str, source: str) -> None:
    """Register the lines of a source with ``linecache``, as long as its namespace lives."""
    shown = namespace["__lines__"] = _Shown()
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    finalize(shown, linecache.cache.pop, filename, None).atexit = False
