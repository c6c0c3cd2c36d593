"""``np.nanmax`` and the like without ``warnings.warn`` where all elements are NaN."""

from typing import Any

import numpy as np


def nanmax(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return ``np.nanmax`` without warnings."""
    return np.fmax.reduce(x, axis=axis, keepdims=keepdims)


def nanmin(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return ``np.nanmin`` without warnings."""
    return np.fmin.reduce(x, axis=axis, keepdims=keepdims)


def nanmean(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return ``np.nanmean`` without warnings."""
    total = np.nansum(x, axis=axis, keepdims=keepdims)
    count = np.sum(~np.isnan(x), axis=axis, keepdims=keepdims)
    with np.errstate(all="ignore"):
        return np.divide(total, count, dtype=x.dtype)


def nanvar(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return ``np.nanvar`` without warnings."""
    is_nan = np.isnan(x)
    with np.errstate(all="ignore"):
        squares = np.square(x - nanmean(x, axis, keepdims=True))
        total = np.sum(squares, axis=axis, keepdims=keepdims, where=~is_nan)
        count = np.sum(~is_nan, axis=axis, keepdims=keepdims)
        return np.divide(total, count, dtype=x.dtype)


def nanstd(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return ``np.nanstd`` without warnings."""
    return np.sqrt(nanvar(x, axis, keepdims))
