"""Integers of 4 and of 2 bits for loops of Numba: each has a byte of its own, of which
only the last bits count.
"""

from typing import Any

import numpy as np

from .elements import element


@element
def int4(x: Any) -> np.int8:
    """Return the last 4 bits of an integer, as a number from -8 to 7."""
    return np.int8(np.int8(x << 4) >> 4)


@element
def uint4(x: Any) -> np.uint8:
    """Return the last 4 bits of an integer, as a number from 0 to 15."""
    return np.uint8(x & 15)


@element
def int2(x: Any) -> np.int8:
    """Return the last 2 bits of an integer, as a number from -2 to 1."""
    return np.int8(np.int8(x << 6) >> 6)


@element
def uint2(x: Any) -> np.uint8:
    """Return the last 2 bits of an integer, as a number from 0 to 3."""
    return np.uint8(x & 3)


@element
def scalar_to_int4(x: Any) -> np.int8:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    return np.int8(0 if np.isnan(x) else min(max(x, -8.0), 7.0))


@element
def scalar_to_uint4(x: Any) -> np.uint8:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    return np.uint8(0 if np.isnan(x) else min(max(x, 0.0), 15.0))


@element
def scalar_to_int2(x: Any) -> np.int8:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    return np.int8(0 if np.isnan(x) else min(max(x, -2.0), 1.0))


@element
def scalar_to_uint2(x: Any) -> np.uint8:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    return np.uint8(0 if np.isnan(x) else min(max(x, 0.0), 3.0))
