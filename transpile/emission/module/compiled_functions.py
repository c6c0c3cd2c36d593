"""Modules with functions that Numba compiles on first call; Numba keeps the code beside the module's file."""

from __future__ import annotations

import ast
import os
import sys
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from ...files import write_atomically
from ...python.calls import gone
from ...python.modules import Edit, parsed


def is_compiled(source: str) -> bool:
    """Return whether a module has functions whose compiled code is cached."""
    return bool(_kept(source))


def without_cache(source: str) -> str:
    """Return the module without caching, which needs no file: its functions are compiled again in each process."""
    return parsed(source).edited(edits) if (edits := _kept(source)) else source


def _kept(source: str) -> list[Edit]:
    """Return the edits that remove ``cache=True`` from the decorators of compiled functions."""
    if "njit" not in source:
        return []
    module = parsed(source)
    found: list[Edit] = []
    for decorator in (each for function in module.functions for each in function.decorator_list):
        match decorator:
            case ast.Call(ast.Name("njit"), arguments, words):
                extents = [module.extent(part) for part in (*arguments, *words)]
                are_lost = [False] * len(arguments) + [word.arg == "cache" for word in words]
                found += ((begin, end, "") for begin, end in gone(extents, are_lost))
    return found


def kept_module(name: str, source: str) -> ModuleType:
    """Return an empty module for a file with this source; path and name are the same in all the user's processes.

    Numba keeps compiled code beside the file, and finds the module by its name. It compares the file's time, so an
    existing file is left as it is.
    """
    digest = sha256(source.encode()).hexdigest()[:16]
    path = _folder() / digest / f"{name}.py"
    if not path.exists() or path.read_text("utf-8") != source:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, source.encode())
    module = ModuleType(f"xla2py_generated_{name}_{digest}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    return module


@cache
def _folder() -> Path:
    """Return the user's cache folder, or a temporary one for this process if that cannot be written."""
    wanted = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "xla2py"
    try:
        wanted.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return Path(tempfile.mkdtemp(prefix="xla2py-"))
    return wanted if os.access(wanted, os.W_OK) else Path(tempfile.mkdtemp(prefix="xla2py-"))
