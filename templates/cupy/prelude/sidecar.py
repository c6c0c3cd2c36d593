"""Large constants, kept beside an emitted module."""

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy as cp


@cache
def device_constant(load: Callable[..., Any], *place: Any) -> cp.ndarray:
    """A constant of this module, loaded and copied to the device once."""
    return cp.asarray(load(*place))
