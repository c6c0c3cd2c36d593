"""Names of constants: those of the arrays that a traced function closes over."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..hlo.ir import HloModule
from ..hlo.literal_values import array_sha256

_DEEPEST = 2  # functions that close over functions
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]+")


def names_of_constants(jax: Any, function: Callable[..., Any], module: HloModule) -> Mapping[str, str]:
    """The names of the module's constants by the hash of their bytes: ``params.layers.0.w`` for the leaf of a tree that
    ``function`` closes over, or finds among its globals. The first of several equal arrays gives the name.

    Only leaves that have the size and type of a constant are looked at.
    """
    literals = (i.attributes["literal"] for i in module.instructions() if i.opcode == "constant")
    wanted = {_form(literal) for literal in literals if isinstance(literal, np.ndarray) and literal.size > 1}
    names: dict[str, str] = {}
    for name, leaf in _captured(jax, function, _DEEPEST) if wanted else ():
        if _form(leaf) in wanted:
            names.setdefault(array_sha256(np.asarray(leaf)), name)
    return names


def _form(array: Any) -> tuple[Any, ...]:
    return array.size, str(array.dtype)


def _captured(jax: Any, function: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the arrays that a function closes over, with their names."""
    for name, value in _variables(function).items():
        if callable(value) and not _is_of_jax(value) and depth:
            yield from _captured(jax, value, depth - 1)
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            if isinstance(leaf, np.ndarray | jax.Array) and not isinstance(leaf, jax.core.Tracer):
                yield _NOT_IN_NAMES.sub("_", ".".join([name, *map(_word, path)])), leaf


def _is_of_jax(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] in ("jax", "jaxlib", "numpy")


def _word(key: Any) -> str:
    """A key of JAX's: of a dict, a sequence, or an attribute."""
    return str(next(getattr(key, kind) for kind in ("key", "idx", "name", "__class__") if hasattr(key, kind)))


def _variables(function: Any) -> dict[str, Any]:
    """What a function knows by a name beside its arguments."""
    if isinstance(function, partial):
        given = {f"argument_{number}": value for number, value in enumerate(function.args)}
        return {**_variables(function.func), **given, **function.keywords}
    if inspect.ismethod(function):
        return {**vars(type(function.__self__)), **getattr(function.__self__, "__dict__", {})}
    try:
        found = inspect.getclosurevars(inspect.unwrap(function))
    except TypeError:  # no function of Python
        return {}
    return {**found.nonlocals, **found.globals}
