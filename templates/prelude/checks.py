"""What an emitted ``main`` checks before it computes."""

from typing import Any


def check_arguments(arguments: dict[str, Any], signature: dict[str, str]) -> None:
    """Raise TypeError for the first argument that is not the array ``signature`` says."""
    for name, expected in signature.items():
        if (found := describe(arguments[name])) != expected:
            raise TypeError(f"{name}: expected {expected}, got {found}")


def describe(value: Any) -> str:
    """``float32[4, 8]``; the name of the type for what is no array."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(describe, value))})"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return type(value).__name__
