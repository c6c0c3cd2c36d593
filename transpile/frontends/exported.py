"""StableHLO programs with symbolic sizes, as ``jax.export`` writes with ``symbolic_shape``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..errors import OpenSizes
from ..hlo.ir import HloModule
from .witnesses import Witnesses, at_named_sizes


def or_at_sizes(
    read: Callable[..., HloModule], sizes: Mapping[str, tuple[int, ...]] | None = None
) -> HloModule | Witnesses:
    """Return the program from ``read()``. If its sizes are symbolic, return the program at chosen numbers, or at those
    in ``sizes``, from ``read(sizes=..)``.

    Raises what ``read`` raises, and ``UsageError`` (XP425) for ``sizes`` of other names.
    """
    try:
        return read()
    except OpenSizes as found:
        return at_named_sizes(found.names, lambda chosen: read(sizes=chosen), sizes)
