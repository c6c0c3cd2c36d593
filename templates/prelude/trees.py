"""Trees of arrays, and objects among the results of a function."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from importlib import import_module
from operator import attrgetter
from typing import Any


def class_of(module: str, name: str) -> Any:
    """Return a class of another module."""
    return attrgetter(name)(import_module(module))


def setter_of(
    module: str, name: str, constants: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Return a function that makes objects of a class of another module from
    attributes.

    `constants` are attributes that all objects have. The `__init__` of the class, which
    may need other arguments, is not called.
    """
    found = class_of(module, name)

    def make(**fields: Any) -> Any:
        made = object.__new__(found)
        for field, value in {**fields, **(constants or {})}.items():
            object.__setattr__(made, field, value)
        return made

    return make


def unflattener_of(module: str, name: str, constants: Any) -> Callable[..., Any]:
    """Return a function that makes objects of a class by its `tree_unflatten`."""
    found = class_of(module, name)
    return lambda *parts: found.tree_unflatten(constants, parts)


def map_leaves(
    function: Callable[..., Any], trees: Sequence[Any], *shared: Any
) -> tuple[Any, ...]:
    """Call a function for each leaf of the last tree, with the values of all trees
    there and the shared arguments; return a tree for each of its results.
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


def tree_leaves(tree: Any) -> Iterator[Any]:
    """Yield the leaves of nested dicts, by their sorted keys, lists and tuples."""
    if not isinstance(tree, dict | list | tuple):
        yield tree
        return
    for part in map(tree.get, sorted(tree)) if isinstance(tree, dict) else tree:
        yield from tree_leaves(part)


def map_object_leaves(
    function: Callable[..., Any], trees: Sequence[Any], *shared: Any
) -> tuple[Any, ...]:
    """Call a function for each leaf of the last tree, in which dicts stand for the
    fields of objects, with the values of all trees there and the shared arguments;
    return for each of its results a tree with objects like those of the first tree.
    """
    like, last = trees[0], trees[-1]
    if not isinstance(last, dict | list | tuple):
        results: tuple[Any, ...] = function(*trees, *shared)
        return results
    found = []
    for k in last if isinstance(last, dict) else range(len(last)):
        parts = [
            (
                getattr(each, k)
                if isinstance(k, str) and not isinstance(each, Mapping)
                else each[k]
            )
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
    """Return a copy of an object with some fields replaced; for a mapping, just the
    fields.
    """
    if isinstance(like, Mapping):
        return fields
    if isinstance(like, tuple):
        return like._replace(**fields)  # type: ignore[attr-defined]
    made = copy(like)
    for field, value in fields.items():
        object.__setattr__(made, field, value)
    return made
