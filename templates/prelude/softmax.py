"""Softmax and its kin: shifted by the maximum, so that no exponential overflows."""

from typing import Any

import numpy as np


def softmax(x: np.ndarray, axis: int | tuple[int, ...] = -1) -> np.ndarray:
    """Return ``exp(x)`` divided by its sum; NaN where all of ``x`` is -inf."""
    weights: np.ndarray = x - x.max(axis=axis, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=axis, keepdims=True)
    return weights


def log_softmax(x: np.ndarray, axis: int | tuple[int, ...] = -1) -> np.ndarray:
    """Return the logarithm of ``softmax(x)``."""
    shifted: np.ndarray = x - x.max(axis=axis, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return shifted


def logsumexp(
    x: np.ndarray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Any:
    """Return ``log(exp(x).sum())``; -inf where all of ``x`` is -inf."""
    peak = x.max(axis=axis, keepdims=True)
    shift = np.where(np.isfinite(peak), peak, 0)
    with np.errstate(divide="ignore"):  # the sum may be 0
        total = np.log(np.exp(x - shift).sum(axis=axis, keepdims=True)) + shift
    return total if keepdims else total.squeeze(axis)[()]
