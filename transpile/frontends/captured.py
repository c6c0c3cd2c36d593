"""Constants that are arrays which a traced function closes over: their names, and those that it transposed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..hlo.entries import with_entry, with_replaced
from ..hlo.ir import HloModule, Instruction
from ..hlo.literal_values import array_sha256
from ..hlo.shapes import ArrayShape

_DEEPEST = 2  # functions that close over functions
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]+")


def with_named_constants(jax: Any, function: Callable[..., Any], module: HloModule) -> HloModule:
    """The module with the names of its constants by the hash of their bytes: ``params.layers.0.w`` for the leaf of a
    tree that ``function`` closes over, or finds among its globals. The first of several equal arrays gives the name.

    JAX transposes such an array while it traces: ``x @ embedding.T`` has a constant of its own. In place of it stands
    the array itself, transposed. Only leaves that have the size and type of a constant are looked at.
    """
    literals = {i: i.attributes["literal"] for i in module.instructions() if i.opcode == "constant"}
    arrays = {i: x for i, x in literals.items() if isinstance(x, np.ndarray) and x.size > 1}
    wanted = set(map(_form, arrays.values()))
    names: dict[str, str] = {}
    for name, leaf in _captured(jax, function, _DEEPEST) if wanted else ():
        if _form(leaf) in wanted:
            names.setdefault(array_sha256(np.asarray(leaf)), name)
    unnamed = {i: x for i, x in arrays.items() if names and x.ndim == 2 and array_sha256(x) not in names}
    made = {i: _transposed(i, x.T) for i, x in unnamed.items() if array_sha256(x.T) in names}
    module = with_entry(module, with_replaced(module.entry, made)) if made else module
    return replace(module, constant_names=names)


def _transposed(constant: Instruction, array: np.ndarray) -> list[Instruction]:
    """Return the instructions that give a constant as the transpose of an array."""
    shape = ArrayShape(constant.array_shape.element_type, array.shape)
    attributes = {**constant.attributes, "literal": np.ascontiguousarray(array)}
    whole = replace(constant, name=f"{constant.name}.array", shape=shape, attributes=attributes)
    return [whole, replace(constant, opcode="transpose", operands=(whole,), attributes={"dimensions": (1, 0)})]


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
