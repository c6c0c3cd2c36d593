"""The functions of the installed CuPy, asked without a device, and those of them that make the host wait."""

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

# What makes the host wait for the device, or copies from it.
WAITS = frozenset(
    "item get tolist asnumpy nonzero argwhere flatnonzero unique compress extract bincount synchronize choose "
    "put array_equal allclose trim_zeros".split()
)
# What says that it waits: for the size of a result, for a matrix that the host factors; what fetches results.
VISIBLE = frozenset(("crop", "dynamic_reshape", "gees", "to_numpy", "run_generated"))


@cache
def cupyx_function(dotted: str) -> Any:
    """A function of cupyx, by its definition's text where its module needs CUDA libraries to be imported."""
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


_CUPYX = dict(_importable(("cupyx", "cupyx.scipy.linalg")))  # kept: the twin takes the place of what is imported later
_CUPYX_FOLDER = Path(cupyx.__file__).parent


def _defined_below(folder: Path, name: str) -> Callable[..., Any]:
    """A function with the signature that a ``def`` in a folder's modules has."""
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
    """The compiled module ``cupy.cuda.cublas``: importing it needs cuBLAS."""
    (compiled,) = (_CUPYX_FOLDER.parent / "cupy_backends" / "cuda" / "libs").glob("cublas.*")
    return compiled.read_bytes()


def has_cublas(name: str) -> bool:
    """Tell whether ``cupy.cuda.cublas`` has a name, by the names in its compiled module."""
    return name.encode() + b"\x00" in _cublas()


@cache
def cublas_arguments(name: str) -> tuple[str, ...]:
    """The names of the arguments of a function of ``cupy.cuda.cublas``, by the text that it has for ``help``.

    Raises AttributeError where there is no such function.
    """
    return tuple(part.rpartition(" ")[2] for part in _cublas_parameters(name))


def cublas_types(name: str) -> tuple[str, ...]:
    """The types of these arguments in C, addresses as whole numbers."""
    return tuple(part.rpartition(" ")[0] for part in _cublas_parameters(name))


def _cublas_parameters(name: str) -> list[str]:
    found = re.search(rb"\b%s\(([\w ,]+)\)\x00" % name.encode(), _cublas())
    if found is None:
        raise AttributeError(f"cupy.cuda.cublas has no {name}")
    return found[1].decode().split(", ")
