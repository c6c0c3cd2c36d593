"""Host functions that a traced program calls back."""

from collections.abc import Callable
from typing import Any


def call_back(function: Callable[..., Any] | None, *arguments: Any) -> Any:
    """Return the result of ``function`` for arrays: an array, or a tuple of several.

    Raises RuntimeError if ``main`` was given no function.
    """
    if function is None:
        raise RuntimeError(
            "the traced program calls a Python function here: hand it to main by the "
            "name in this line. Where that is a check (error_if), it has failed, or is "
            "always asked: traced with EQX_ON_ERROR=nan it gives NaN and asks nobody"
        )
    return function(*arguments)
