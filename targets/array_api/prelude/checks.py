"""The checks of an emitted ``main`` before it computes, for arrays of any library."""

from functools import cache
from typing import Any


@cache
def dtype_name(dtype: Any) -> str:
    """Return ``float32``, which some libraries write ``torch.float32``."""
    return str(dtype).rpartition(".")[2]


def check_arguments(dtype: str, shape: tuple[int, ...], /, **arguments: Any) -> None:
    """Raise TypeError for the first argument that has another dtype or shape."""
    for name, value in arguments.items():
        found = type(value).__name__
        if hasattr(value, "dtype"):
            found = f"{dtype_name(value.dtype)}{list(value.shape)}"
        if found != (expected := f"{dtype}{list(shape)}"):
            raise TypeError(f"{name}: expected {expected}, got {found}")


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
        if isinstance(expected, dict):
            check_trees(x, expected, place)
        else:
            check_arguments(*expected, **{place: x})
