"""The runtime of a target's modules in this process: its library, or the library's twin if its device is missing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ...hlo.carriers import Array
from ...target import Target, adopted, twin_of
from ..verdicts.comparison import flatten


class Runtime:
    """A context manager in which modules are loaded and run. ``adopt`` converts arguments, ``fetch`` converts
    results.
    """

    def __init__(self, target: Target) -> None:
        self._target, self._twin = target, twin_of(target)
        self._active: AbstractContextManager[None] = nullcontext() if self._twin is None else self._twin.active()

    def __enter__(self) -> Runtime:
        self._active.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._active.__exit__(*error)

    def adopt(self, arguments: list[Any]) -> Any:
        """Return arguments of ``main``, from NumPy arrays in tuples and lists."""
        return adopted(self._target, arguments) if self._twin is None else self._twin.adopt(arguments)

    def fetch(self, results: Any) -> list[Array]:
        """Return the arrays in the result of ``main`` as NumPy arrays, in order."""
        if self._twin is not None:
            results = self._twin.fetch(results)
        return [np.asarray(leaf.get() if hasattr(leaf, "get") else leaf) for _, leaf in flatten(results)]

    def peek(self, value: Any) -> Array:
        """Return a copy of a value in the middle of a run, which may be a number of the host."""
        on_host = isinstance(value, bool | int | float | complex | np.generic | np.ndarray)
        return np.array(value) if on_host else np.array(*self.fetch(value))
