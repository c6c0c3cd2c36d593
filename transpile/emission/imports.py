"""The imports of an emitted module."""

from __future__ import annotations

import re

from ...targets.base import Target
from .constants import ModuleConstants

_THIRD_PARTY = ("numpy", "cupy", "cupyx", "cloudpickle", "dask", "distributed", "ml_dtypes")


def imports(target: Target, needed: set[str], texts: list[str], constants: ModuleConstants) -> list[str]:
    """Standard library, then third party, as ruff sorts them."""
    everything = "\n".join([*texts, *constants.lines])
    bound = {line.split()[-1]: line for line in target.imports}
    lines = set(needed) | {line for name, line in bound.items() if re.search(rf"\b{name}[.(]", everything)}
    if "ml_dtypes." in everything:
        lines.add("import ml_dtypes")
    if "np." in everything:
        lines.add("import numpy as np")
    merged = _merged(lines)
    third = [line for line in merged if line.split()[1].split(".")[0] in _THIRD_PARTY]
    standard = [line for line in merged if line not in third]
    return [*standard, *([""] if standard and third else []), *third]


def _merged(lines: set[str]) -> list[str]:
    """``from a import b`` and ``from a import c`` in one line; plain imports first."""
    plain = sorted(line for line in lines if line.startswith("import "))
    grouped: dict[str, set[str]] = {}
    for line in lines:
        if line.startswith("from "):
            module, names = line.removeprefix("from ").split(" import ")
            grouped.setdefault(module, set()).add(names)
    return plain + [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(grouped.items())]
