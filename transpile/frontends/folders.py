"""The programs in a folder, for example of XLA's dumps (``--xla_dump_to``)."""

from __future__ import annotations

import re
from mmap import ACCESS_READ, mmap
from pathlib import Path

from ..errors import Diagnostic, UsageError
from .exported_file import is_exported
from .sniffing import SUFFIXES

# A module in a dump, before optimisation. The proto is preferred: it has the large constants that the text elides.
_DUMPED = re.compile(r"(?P<module>module_\d+\..+)\.before_optimizations\.(?P<kind>hlo\.pb|txt|hlo)")
_DUMP_KINDS = ("hlo.pb", "txt", "hlo")


def programs_in(folder: Path) -> list[Path]:
    """Return the program files in a folder, by name; for each module that XLA dumped, the one before optimisation.

    Raises ``UsageError`` (XP723) if there is none.
    """
    dumped: dict[str, Path] = {}
    files = sorted(path for path in folder.iterdir() if path.is_file())
    for kind in _DUMP_KINDS:
        for path in files:
            match = _DUMPED.fullmatch(path.name)
            if match and match["kind"] == kind:
                dumped.setdefault(match["module"], path)
    found = [dumped[name] for name in sorted(dumped)] or [path for path in files if _is_program(path)]
    if not found:
        endings = ", ".join(SUFFIXES)
        hint = f"files end in {endings}, are serialized exports of JAX, or are those that --xla_dump_to writes"
        raise UsageError(Diagnostic("XP723", f"there is no program in the folder {folder}", hint=hint))
    return found


def _is_program(path: Path) -> bool:
    """Return whether a file has a program's suffix, or is an export of JAX, which has no suffix of its own."""
    if path.suffix in SUFFIXES:
        return True
    try:
        with path.open("rb") as file:
            return is_exported(mmap(file.fileno(), 0, access=ACCESS_READ))
    except (OSError, ValueError):  # an unreadable or empty file
        return False
