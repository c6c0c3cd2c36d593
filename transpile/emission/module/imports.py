"""The imports of an emitted module."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from ...target import Target


def imported_names(target: Target) -> Iterator[tuple[str, str]]:
    """Yield what the import statements of a target are used by, with the statements."""
    for line in target.imports:
        yield line.split()[-1], line


def imports(target: Target, needed: set[str], texts: list[str], helpers: str = "") -> list[str]:
    """Standard library, then third party, then the import of ``helpers``, as ruff sorts them."""
    everything = "\n".join(texts)
    lines = set(needed) | {
        line for name, line in imported_names(target) if name in everything and re.search(rf"\b{name}[.(]", everything)
    }
    if "ml_dtypes." in everything:
        lines.add("import ml_dtypes")
    if "np." in everything:
        lines.add("import numpy as np")
    merged = _merged(lines)
    standard = [line for line in merged if line.split()[1].split(".")[0] in sys.stdlib_module_names]
    third = [line for line in merged if line not in standard]
    parts = [part for part in (standard, third, [helpers] if helpers else []) if part]
    return [line for k, part in enumerate(parts) for line in ([""] if k else []) + part]


def _merged(lines: set[str]) -> list[str]:
    """``from a import b`` and ``from a import c`` in one line; plain imports first."""
    plain = sorted(line for line in lines if line.startswith("import "))
    grouped: dict[str, set[str]] = {}
    for line in lines:
        if line.startswith("from "):
            module, names = line.removeprefix("from ").split(" import ")
            grouped.setdefault(module, set()).add(names)
    return plain + [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(grouped.items())]
