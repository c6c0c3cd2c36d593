"""Trees of arrays, and objects among the results of a function."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from importlib import import_module
from operator import attrgetter
from typing import Any


def tuple_class(module: str, name: str) -> Callable[..., Any]:
    """Return a class of named tuples, or what makes plain ones if it is missing."""
    try:
        found: Callable[..., Any] = attrgetter(name)(import_module(module))
    except (ImportError, AttributeError):
        return lambda *parts: parts
    return found


def class_or_tuple(module: str, name: str, constants: Any = None) -> Callable[..., Any]:
    """Return what makes objects of a class, or tuples if it cannot be imported.

    `constants` are what else an object has: a dict of attributes, or what the
    `tree_unflatten` of the class takes. Its `__init__`, which may want other arguments,
    is not called.
    """
    try:
        found: Any = attrgetter(name)(import_module(module))
    except (ImportError, AttributeError):
        return lambda *parts, **fields: (*parts, *fields.values())

    def make(*parts: Any, **fields: Any) -> Any:
        if not fields:
            return found.tree_unflatten(constants, parts)
        made = object.__new__(found)
        for field, value in {**fields, **(constants or {})}.items():
            object.__setattr__(made, field, value)
        return made

    return make


def map_leaves(
    function: Callable[..., Any], trees: Sequence[Any], *shared: Any
) -> tuple[Any, ...]:
    """Call a function for each leaf of the last tree, with what the others have there
    and what all calls share; return a tree for each of its results.
    """
    last = trees[-1]
    if not isinstance(last, dict | list | tuple):
        results: tuple[Any, ...] = function(*trees, *shared)
        return results
    keys = list(last) if isinstance(last, dict) else range(len(last))
    found = [map_leaves(function, [each[k] for each in trees], *shared) for k in keys]
    several = zip(*found, strict=True)
    if isinstance(last, dict):
        return tuple(dict(zip(keys, parts, strict=True)) for parts in several)
    return tuple(map(type(last), several))


def map_object_leaves(
    function: Callable[..., Any], trees: Sequence[Any], *shared: Any
) -> tuple[Any, ...]:
    """Call a function for each leaf of the last tree, where fields of objects are in
    dicts, with what the others have there and what all calls share; return for each of
    its results a tree with objects as the first one has.
    """
    like, last = trees[0], trees[-1]
    if not isinstance(last, dict | list | tuple):
        results: tuple[Any, ...] = function(*trees, *shared)
        return results
    found = []
    for k in last if isinstance(last, dict) else range(len(last)):
        parts = [
            each[k] if isinstance(each, Mapping | Sequence) else getattr(each, str(k))
            for each in trees
        ]
        found.append(map_object_leaves(function, parts, *shared))
    several = zip(*found, strict=True)
    if not isinstance(last, dict):
        return tuple(map(type(last), several))
    return tuple(
        with_fields(like, dict(zip(last, each, strict=True))) for each in several
    )


def with_fields(like: Any, fields: dict[Any, Any]) -> Any:
    """Return an object like another but for some fields; these alone for a mapping."""
    if isinstance(like, Mapping):
        return fields
    made = copy(like)
    for field, value in fields.items():
        object.__setattr__(made, field, value)
    return made
