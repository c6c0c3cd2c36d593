"""The frontends: HLO text, serialized protos, StableHLO, a live JAX function."""

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
    *,
    function: str | None = None,
    sizes: Mapping[str, int] | None = None,
    weights: str = "",
) -> HloModule:
    """Return the program for a word of the command line or of a manifest: a file, or ``module:function(shapes)`` in
    Python.

    Both are relative to ``folder``; ``function`` is the function of a StableHLO module, ``sizes`` are numbers for its
    symbolic sizes, ``weights`` is the checkpoint with the tree of an argument. Raises what :func:`load` and
    :func:`.functions.load_function` raise.
    """
    if is_reference(argument):
        return load_function(argument, folder, weights=weights)
    return load(folder / argument, name=argument, function=function, sizes=sizes)
