"""The lines of modules that were loaded from memory, which tracebacks and debuggers show."""

from __future__ import annotations

import linecache
from typing import Any
from weakref import finalize


class _Shown:
    """Stands in a module's namespace, and goes with it: functions keep the namespace, though not the module."""


def show_lines(namespace: dict[str, Any], filename: str, source: str) -> None:
    """Have the lines of a source shown as those of a file, as long as its namespace is there."""
    shown = namespace["__lines__"] = _Shown()
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    finalize(shown, linecache.cache.pop, filename, None).atexit = False
