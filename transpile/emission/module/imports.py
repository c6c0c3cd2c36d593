"""The imports of an emitted module."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator

from ...target import Target


def imported_names(target: Target) -> Iterator[tuple[str, str]]:
    """Yield the names that the import statements of a target bind, with the statements."""
    for line in target.imports:
        yield line.split()[-1], line


def imports(target: Target, needed: set[str], names: Container[str], helpers: str = "") -> list[str]:
    """Return the import lines: the ``needed`` ones, and those of the ``names`` that a module mentions.

    They are sorted like ruff's: the standard library, third parties, then the import of ``helpers``.
    """
    offered = (*imported_names(target), ("ml_dtypes", "import ml_dtypes"), ("np", "import numpy as np"))
    lines = needed | {line for name, line in offered if name in names}
    merged = _merged(lines)
    standard = [line for line in merged if line.split()[1].split(".")[0] in sys.stdlib_module_names]
    third = [line for line in merged if line not in standard]
    parts = [part for part in (standard, third, [helpers] if helpers else []) if part]
    return [line for k, part in enumerate(parts) for line in ([""] if k else []) + part]


def _merged(lines: set[str]) -> list[str]:
    """Return plain imports first, with ``from a import b`` and ``from a import c`` merged into one line."""
    plain = sorted(line for line in lines if line.startswith("import "))
    grouped: dict[str, set[str]] = {}
    for line in lines:
        if line.startswith("from "):
            module, names = line.removeprefix("from ").split(" import ")
            grouped.setdefault(module, set()).add(names)
    return plain + [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(grouped.items())]
