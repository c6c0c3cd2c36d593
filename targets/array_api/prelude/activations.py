"""Activations, and functions of normal numbers that the standard lacks."""

from typing import Any

from array_api_compat import array_namespace


def softmax(x: Any, axis: int | tuple[int, ...] = -1) -> Any:
    """Return ``exp(x)`` divided by its sum along ``axis``; NaN where all of ``x`` is
    -inf.
    """
    xp = array_namespace(x)
    weights = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return weights / xp.sum(weights, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: int | tuple[int, ...] = -1) -> Any:
    """Return the logarithm of ``softmax(x, axis)``."""
    xp = array_namespace(x)
    shifted = x - xp.max(x, axis=axis, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def logsumexp(
    x: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Any:
    """Return ``log(sum(exp(x)))`` along ``axis``; -inf where all of ``x`` is -inf."""
    xp = array_namespace(x)
    peak = xp.max(x, axis=axis, keepdims=True)
    shift = xp.where(xp.isfinite(peak), peak, 0.0)
    total = xp.log(xp.sum(xp.exp(x - shift), axis=axis, keepdims=True)) + shift
    if keepdims:
        return total
    return xp.squeeze(total, axis=tuple(range(x.ndim)) if axis is None else axis)


def sigmoid(x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``."""
    xp = array_namespace(x)
    return 1 / (1 + xp.exp(-x))


def gelu(x: Any) -> Any:
    """Return the Gaussian error linear unit, by its approximation with ``tanh``."""
    xp = array_namespace(x)
    bend = xp.tanh((x + x * x * x * 0.044715) * 0.7978845608028654)
    return x * 0.5 * (bend + 1)
