"""Large constants, kept beside an emitted module."""

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy as cp


@cache
def device_constant(
    load: Callable[[str, str], Any], name: str, digest: str
) -> cp.ndarray:
    """A constant of this module, loaded and copied to the device once."""
    return cp.asarray(load(name, digest))
