"""What a target's modules run on in this process: its library, or the twin of it where its device is missing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ...target import Target, adopted, twin_of
from ..verdicts.comparison import flatten

Array = np.ndarray[Any, np.dtype[Any]]


class Runtime:
    """Within it, modules are loaded and run; arguments come to it by ``adopt``, and results back by ``fetch``."""

    def __init__(self, target: Target) -> None:
        self._target, self._twin = target, twin_of(target)
        self._active: AbstractContextManager[None] = nullcontext() if self._twin is None else self._twin.active()

    def __enter__(self) -> Runtime:
        self._active.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._active.__exit__(*error)

    def adopt(self, arguments: list[Any]) -> Any:
        """Make arguments of ``main`` of NumPy arrays in tuples and lists."""
        return adopted(self._target, arguments) if self._twin is None else self._twin.adopt(arguments)

    def fetch(self, results: Any) -> list[Array]:
        """The arrays in what ``main`` returned, in order, as NumPy arrays."""
        if self._twin is not None:
            results = self._twin.fetch(results)
        return [np.asarray(leaf.get() if hasattr(leaf, "get") else leaf) for _, leaf in flatten(results)]

    def peek(self, value: Any) -> Array:
        """A copy of one value in the middle of a run, which may be a number of the host."""
        on_host = isinstance(value, bool | int | float | complex | np.generic | np.ndarray)
        return np.array(value) if on_host else np.array(*self.fetch(value))
