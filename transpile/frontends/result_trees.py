"""The tree that a function of JAX returns, from the tree definition that JAX keeps beside what it lowered."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from ..hlo.ir import ResultTree

_DEEPEST = 12  # levels; what is deeper is no help to a reader


def result_tree(definition: Any) -> ResultTree:
    """A ``jax.tree_util.PyTreeDef`` as dicts, lists and tuples with the numbers of the results as leaves.

    None where there is something else in it (objects of other types, keys that are no words) or it is too deep: then
    the results stay a flat tuple. Named tuples become tuples: an emitted module does not know their types.
    """
    try:
        return _tree(definition, count(), _DEEPEST)
    except _NoTreeError:
        return None


class _NoTreeError(Exception):
    """The definition holds something that is neither dict, list, tuple, None nor an array."""


def _tree(definition: Any, numbers: Iterator[int], levels: int) -> Any:
    found = definition.node_data()
    if found is None:
        return next(numbers)
    kind, keys = found
    if kind is type(None):
        return None
    if not levels:
        raise _NoTreeError
    parts = [_tree(child, numbers, levels - 1) for child in definition.children()]
    if kind is dict and all(type(key) is str for key in keys):
        return dict(zip(keys, parts, strict=True))
    if kind is list:
        return parts
    if kind is tuple or (issubclass(kind, tuple) and len(getattr(kind, "_fields", ())) == len(parts) > 0):
        return tuple(parts)
    raise _NoTreeError
