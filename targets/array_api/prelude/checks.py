"""What an emitted ``main`` checks before it computes, of arrays of any library."""

from typing import Any


def describe(value: Any) -> str:
    """``float32[4, 8]``; the name of the type for what is no array."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(describe, value))})"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        dtype = str(value.dtype).rpartition(".")[2]  # torch.float32 is float32, too
        return f"{dtype}[{', '.join(map(str, value.shape))}]"
    return type(value).__name__
