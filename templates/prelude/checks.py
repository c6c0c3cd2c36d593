"""What an emitted ``main`` checks before it computes."""

import re
from typing import Any


def check_arguments(arguments: dict[str, Any], signature: dict[str, str]) -> None:
    """Raise TypeError for the first argument that is not what ``signature`` says."""
    for name, expected in signature.items():
        if (found := describe(arguments[name])) != expected:
            raise TypeError(f"{name}: expected {expected}, got {found}")


def check_bounded_arguments(
    arguments: dict[str, Any], signature: dict[str, str]
) -> None:
    """Raise TypeError for the first argument that is not what ``signature`` says;
    there, sizes such as ``<=8`` are bounds.
    """
    for name, expected in signature.items():
        found = describe(arguments[name])
        given, wanted = (re.split(r"[\[\], ]+", text) for text in (found, expected))
        if len(given) != len(wanted) or not all(map(is_within, given, wanted)):
            raise TypeError(f"{name}: expected {expected}, got {found}")


def is_within(given: str, wanted: str) -> bool:
    """Whether ``3`` is what ``<=8`` says, or two words are the same."""
    is_bound = wanted.startswith("<=") and given.isdigit()
    return int(given) <= int(wanted[2:]) if is_bound else given == wanted


def check_trees(arguments: Any, signature: Any, path: str = "") -> None:
    """Raise TypeError for the first array in nested ``arguments`` that is not what
    ``signature`` says; there, keys that begin with a dot are attributes.
    """
    if isinstance(signature, str):
        if (found := describe(arguments)) != signature:
            raise TypeError(f"{path}: expected {signature}, got {found}")
        return
    for key, expected in signature.items():
        is_attribute = isinstance(key, str) and key.startswith(".")
        step = key if is_attribute or not path else f"[{key!r}]"
        try:
            part = getattr(arguments, key[1:]) if is_attribute else arguments[key]
        except (AttributeError, LookupError, TypeError):
            raise TypeError(f"{path}{step}: missing") from None
        check_trees(part, expected, f"{path}{step}")


# To work one out takes longer than to add small arrays.
DTYPE_NAMES: dict[Any, str] = {}


def describe(value: Any) -> str:
    """``float32[4, 8]``; the name of the type for what is no array."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(describe, value))})"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        if value.dtype not in DTYPE_NAMES:
            DTYPE_NAMES[value.dtype] = str(value.dtype)
        return f"{DTYPE_NAMES[value.dtype]}[{', '.join(map(str, value.shape))}]"
    return type(value).__name__
