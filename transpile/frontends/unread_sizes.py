"""Arguments of which a function reads only the sizes: JAX leaves them out, and nothing else may tell the sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..hlo.ir import HloModule


def loses_sizes(module: HloModule, sizes: Sequence[Sequence[str]]) -> bool:
    """Return whether a free size is only that of arguments that the program does not read.

    ``sizes`` has the names of the free sizes of each leaf of the arguments.
    """
    if module.trees is None or not sizes:
        return False
    kept = {name for leaf in module.trees.leaves for name in sizes[leaf]}
    return any(name not in kept for names in sizes for name in names)


def keeping_unread(jax: Any, function: Callable[..., Any]) -> Any:
    """Return ``jax.jit`` of a function, with all its arguments, read or not."""

    @wraps(function)
    def all_kept(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return jax.jit(all_kept, keep_unused=True)
