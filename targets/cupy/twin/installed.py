"""The functions of the installed CuPy, inspected without a device, and the names that make the host wait."""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import cupyx

# Functions and methods that make the host wait for the device, or copy from it.
WAITS = frozenset(
    "item get tolist asnumpy nonzero argwhere flatnonzero unique compress extract bincount synchronize choose "
    "put array_equal allclose trim_zeros".split()
)
# Functions of emitted modules whose names tell that they wait (for a size, or for a matrix that the host factors), and
# those that fetch results or send arrays.
MAY_WAIT = frozenset(("crop", "dynamic_reshape", "gees", "to_numpy", "run_generated", "on_host", "settle"))


@cache
def cupyx_function(dotted: str) -> Any:
    """Return a function of cupyx. If its module needs CUDA libraries to be imported, return a stub of the same
    signature.
    """
    module, _, name = dotted.rpartition(".")
    return (
        getattr(_CUPYX[module], name)
        if module in _CUPYX
        else _defined_below(_CUPYX_FOLDER.joinpath(*module.split(".")[1:]), name)
    )


def _importable(names: tuple[str, ...]) -> Iterator[tuple[str, ModuleType]]:
    for name in names:
        with contextlib.suppress(ImportError):
            yield name, importlib.import_module(name)


_CUPYX = dict(_importable(("cupyx", "cupyx.scipy.linalg")))  # imported now, before the twin replaces the modules
_CUPYX_FOLDER = Path(cupyx.__file__).parent


def _defined_below(folder: Path, name: str) -> Callable[..., Any]:
    """Return a stub with the signature of the ``def`` in a folder's modules. Raises AttributeError if there is none."""
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                namespace: dict[str, Any] = {}
                exec(f"def {name}({ast.unparse(node.args)}): ...", namespace)
                function: Callable[..., Any] = namespace[name]
                return function
    raise AttributeError(f"no function in {folder} is called {name}")


@cache
def _cublas() -> bytes:
    """Return the bytes of the compiled module ``cupy.cuda.cublas``, since importing it needs cuBLAS."""
    (compiled,) = (_CUPYX_FOLDER.parent / "cupy_backends" / "cuda" / "libs").glob("cublas.*")
    return compiled.read_bytes()


def has_cublas(name: str) -> bool:
    """Return whether ``cupy.cuda.cublas`` has a name, according to the strings in its compiled module."""
    return name.encode() + b"\x00" in _cublas()


@cache
def cublas_arguments(name: str) -> tuple[str, ...]:
    """Return the names of the parameters of a function of ``cupy.cuda.cublas``, from its docstring.

    Raises AttributeError if there is no such function.
    """
    return tuple(part.rpartition(" ")[2] for part in _cublas_parameters(name))


def cublas_types(name: str) -> tuple[str, ...]:
    """Return the C types of these parameters, with addresses as integers."""
    return tuple(part.rpartition(" ")[0] for part in _cublas_parameters(name))


def _cublas_parameters(name: str) -> list[str]:
    found = re.search(rb"\b%s\(([\w ,]+)\)\x00" % name.encode(), _cublas())
    if found is None:
        raise AttributeError(f"cupy.cuda.cublas has no {name}")
    return found[1].decode().split(", ")
