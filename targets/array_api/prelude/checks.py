"""The checks of an emitted ``main`` before it computes, for arrays of any library."""

from functools import cache
from typing import Any

from array_api_compat import array_namespace


@cache
def dtype_name(dtype: Any) -> str:
    """``float32``, which some libraries write ``torch.float32``."""
    return str(dtype).rpartition(".")[2]


def check_arguments(dtype: str, shape: tuple[int, ...], /, **arguments: Any) -> None:
    """Raise TypeError for the first argument that has another dtype or shape."""
    for name, value in arguments.items():
        found = type(value).__name__
        if hasattr(value, "dtype"):
            found = f"{dtype_name(value.dtype)}{list(value.shape)}"
        if found != (expected := f"{dtype}{list(shape)}"):
            raise TypeError(f"{name}: expected {expected}, got {found}")


def with_floats(value: Any, expected: str) -> Any:
    """``value``, in the dtype that ``expected`` says if both are floats."""
    dtype, given = expected.partition("[")[0], str(getattr(value, "dtype", ""))
    if "float" not in dtype or "float" not in given:
        return value
    xp = array_namespace(value)
    return xp.astype(value, getattr(xp, dtype), copy=False)
