"""Host functions that a traced program calls back, with arrays of NumPy."""

from collections.abc import Callable
from typing import Any

import cupy as cp


def call_back(function: Callable[..., Any] | None, *arguments: Any) -> Any:
    """Return the result of ``function`` for arrays of NumPy, on the device: an array,
    or a tuple of several.

    Raises RuntimeError if ``main`` was given no function.
    """
    if function is None:
        raise RuntimeError(
            "the traced program calls a Python function here: hand it to main by the "
            "name in this line; a check that was traced (error_if) has failed"
        )
    given = function(*map(cp.asnumpy, arguments))
    if isinstance(given, tuple):
        return tuple(map(cp.asarray, given))
    return cp.asarray(given)
