"""The sources of HLO: text, serialized protos, StableHLO, a live JAX function."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..hlo.ir import HloModule
from .free_arrays import array, from_jax
from .functions import is_reference, load_function
from .loading import load

__all__ = ["array", "from_jax", "load", "load_program"]


def load_program(
    argument: str,
    folder: Path,
    name: str | None = None,
    *,
    function: str | None = None,
    sizes: Mapping[str, int] | None = None,
    weights: str = "",
) -> HloModule:
    """The program that a word of a command or of a manifest names: a file, or ``module:function(shapes)`` in Python.

    Both are looked for from ``folder``; ``function`` is the one of StableHLO, ``sizes`` are those that it leaves open,
    ``weights`` is the checkpoint with the tree of an argument.
    Raises what :func:`load` and :func:`.functions.load_function` raise.
    """
    if is_reference(argument):
        return load_function(argument, folder, weights=weights)
    return load(folder / argument, name=name or argument, function=function, sizes=sizes)
