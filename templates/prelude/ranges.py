"""Evenly spaced numbers."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike


def linspace(start: Any, stop: Any, n: int, dtype: DTypeLike) -> np.ndarray:
    """Return ``n`` numbers from ``start`` to ``stop``, as JAX rounds them.

    ``np.linspace`` computes in float64.
    """
    ratio = np.arange(n - 1, dtype=dtype) / (n - 1)
    points = np.empty(n, dtype)
    points[:-1] = start * (1 - ratio) + stop * ratio
    points[-1] = stop
    return points
