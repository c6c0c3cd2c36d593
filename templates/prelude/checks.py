"""The checks of an emitted ``main`` before it computes."""

import re
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from functools import cache
from typing import Any

dtype_name = cache(str)  # computing a name takes longer than adding small arrays


def check_arguments(dtype: str, shape: tuple[int, ...], /, **arguments: Any) -> None:
    """Raise TypeError for the first argument that has another dtype or shape."""
    for name, x in arguments.items():
        kind, size = getattr(x, "dtype", type(x).__name__), getattr(x, "shape", ())
        if kind != dtype or size != shape:
            raise TypeError(f"{name}: expected {dtype}{[*shape]}, got {kind}{[*size]}")


def check_tuples(arguments: dict[str, Any], signature: dict[str, str]) -> None:
    """Raise TypeError for the first argument that does not match ``signature``;
    arguments may be tuples.
    """
    for name, expected in signature.items():
        if (found := describe(arguments[name])) != expected:
            raise TypeError(f"{name}: expected {expected}, got {found}")


def check_bounded_arguments(
    arguments: dict[str, Any], signature: dict[str, str]
) -> None:
    """Raise TypeError for the first argument that does not match ``signature``, in
    which sizes such as ``<=8`` are bounds.
    """
    for name, expected in signature.items():
        found = describe(arguments[name])
        given, wanted = (re.split(r"[\[\], ]+", text) for text in (found, expected))
        if len(given) != len(wanted) or not all(map(is_within, given, wanted)):
            raise TypeError(f"{name}: expected {expected}, got {found}")


def is_within(given: str, wanted: str) -> bool:
    """Return whether a size is within a bound such as ``<=8``, or words are equal."""
    is_bound = wanted.startswith("<=") and given.isdigit()
    return int(given) <= int(wanted[2:]) if is_bound else given == wanted


def check_sizes(
    arguments: dict[str, Any], signature: dict[str, str], sizes: dict[str, range]
) -> None:
    """Raise TypeError for the first argument that does not match ``signature``, in
    which names stand for ``sizes``: a name has one size in all arguments.
    """
    known: dict[str, str] = {}
    for name, expected in signature.items():
        found = describe(arguments[name])
        given, wanted = (re.findall(r"\w+", text) for text in (found, expected))
        told = "".join(f", {word} = {known[word]}" for word in known if word in wanted)
        for word, each in zip(wanted, given, strict=False):
            if word in sizes:
                known.setdefault(word, each)
        if given != [known.get(word, word) for word in wanted]:
            raise TypeError(f"{name}: expected {expected}{told}, got {found}")
        for word, size in known.items():
            own = sizes[word]
            if not size.isdigit() or int(size) not in own:
                limits = [f"at least {own.start}"]
                limits += [f"below {own.stop}"] * (own.stop < 2**63)
                limits += [f"a multiple of {own.step}"] * (own.step > 1)
                problem = f"{word} is {size}, must be {', '.join(limits)}"
                raise TypeError(f"{name}: {problem}")


def check_tree_sizes(
    arguments: dict[str, Any], signature: dict[str, Any], sizes: dict[str, range]
) -> None:
    """Raise TypeError for the first array in trees that does not match ``signature``,
    in which names stand for ``sizes``: a name has one size in all arrays.
    """
    arrays: dict[str, Any] = {}
    expected: dict[str, str] = {}
    for place, x, kind in leaves_of(arguments, signature):
        arrays[place], expected[place] = x, kind
    check_sizes(arrays, expected, sizes)


def leaves_of(
    tree: Any, signature: dict[Any, Any], path: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each leaf of ``signature``, the value of ``tree`` there, and
    the leaf's type. Keys that begin with a dot are attributes.
    """
    for key, expected in signature.items():
        is_attribute = isinstance(key, str) and key.startswith(".")
        place = f"{path}{key}" if is_attribute or not path else f"{path}[{key!r}]"
        try:
            x = getattr(tree, key[1:]) if is_attribute else tree[key]
        except (AttributeError, LookupError, TypeError):
            raise TypeError(f"{place}: missing") from None
        if isinstance(expected, dict):
            yield from leaves_of(x, expected, place)
        else:
            yield place, x, expected


def check_trees(tree: Any, signature: Any, path: str = "") -> None:
    """Raise TypeError for the first array that does not match ``signature``.

    Keys of ``signature`` that begin with a dot are attributes.
    """
    for key, expected in signature.items():
        is_attribute = isinstance(key, str) and key.startswith(".")
        place = f"{path}{key}" if is_attribute or not path else f"{path}[{key!r}]"
        try:
            x = getattr(tree, key[1:]) if is_attribute else tree[key]
        except (AttributeError, LookupError, TypeError):
            raise TypeError(f"{place}: missing") from None
        found = getattr(x, "dtype", type(x).__name__), getattr(x, "shape", ())
        if isinstance(expected, dict):
            check_trees(x, expected, place)
        elif found != expected:
            wanted, given = (f"{kind}{[*size]}" for kind, size in (expected, found))
            raise TypeError(f"{place}: expected {wanted}, got {given}")


def describe(value: Any) -> str:
    """Return ``float32[4, 8]``, or the type's name for anything but an array."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(describe, value))})"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{dtype_name(value.dtype)}{list(value.shape)}"
    return type(value).__name__


def cast_floats(dtype: str, *arguments: Any) -> list[Any]:
    """Return the arguments, those that are floats cast to the dtype ``dtype``."""
    return [with_floats(value, dtype) for value in arguments]


def with_floats(value: Any, dtype: str) -> Any:
    """Return the ``value``, cast to ``dtype`` if both are floats."""
    given = str(getattr(value, "dtype", ""))
    is_cast = "float" in dtype and "float" in given and given != dtype
    return value.astype(dtype) if is_cast else value


def cast_trees(arguments: dict[str, Any], signature: dict[str, Any]) -> list[Any]:
    """Return the arguments that ``signature`` names, with the floats in their trees
    cast to its dtypes.
    """
    return [cast_leaves(arguments[name], signature[name]) for name in signature]


def cast_leaves(value: Any, expected: Any) -> Any:
    """Return a copy of the tree ``value`` with floats cast to the dtypes in
    ``expected``, where keys that begin with a dot are attributes.
    """
    if isinstance(expected, tuple):
        return with_floats(value, expected[0])
    changed = list(value) if isinstance(value, tuple) else copy(value)
    with suppress(
        AttributeError, LookupError, TypeError
    ):  # the check says what is missing
        if hasattr(value, "_replace"):  # a named tuple
            names = [key[1:] for key in expected]
            leaves = map(
                cast_leaves, map(value.__getattribute__, names), expected.values()
            )
            return value._replace(**dict(zip(names, leaves, strict=True)))
        for key, part in expected.items():
            if isinstance(key, str) and key.startswith("."):
                leaf = cast_leaves(getattr(value, key[1:]), part)
                object.__setattr__(changed, key[1:], leaf)  # frozen dataclasses, too
            else:
                changed[key] = cast_leaves(value[key], part)
        return tuple(changed) if isinstance(value, tuple) else changed
    return value
