"""Batch normalisation over all axes but the features.

HLO keeps epsilon as a float32 number, whatever the arrays are. Source: the
operation-semantics seed, BatchNormTraining, BatchNormInference, BatchNormGrad.
"""

from math import prod

import numpy as np

from .precision import working_dtype


def along_features(vector: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    """Return ``vector`` [features] in the precision of the computation, shaped to
    broadcast along ``axis`` of ``x``.
    """
    wide = vector.astype(working_dtype(vector.dtype), copy=False)
    return wide.reshape([vector.size if k == axis else 1 for k in range(x.ndim)])


def batch_norm_training(
    x: np.ndarray,
    scale: np.ndarray,
    offset: np.ndarray,
    *,
    epsilon: float = 1e-5,
    axis: int = -1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``x`` normalised for each feature along ``axis``, the mean and the biased
    variance [features].
    """
    axis %= x.ndim
    others = tuple(k for k in range(x.ndim) if k != axis)
    wide = x.astype(working_dtype(x.dtype), copy=False)
    with np.errstate(invalid="ignore"):
        count = wide.dtype.type(prod(x.shape[k] for k in others))
        mean = wide.sum(axis=others) / count
        difference = wide - along_features(mean, x, axis)
        variance = np.square(difference).sum(axis=others) / count
    statistics = (scale, offset, mean, variance)
    y = batch_norm_inference(x, *statistics, epsilon=epsilon, axis=axis)
    mean, variance = (v.astype(scale.dtype, copy=False) for v in (mean, variance))
    return y, mean, variance


def batch_norm_inference(
    x: np.ndarray,
    scale: np.ndarray,
    offset: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    *,
    epsilon: float = 1e-5,
    axis: int = -1,
) -> np.ndarray:
    """Return ``(x - mean) / sqrt(variance + epsilon) * scale + offset``, in which all
    but ``x`` are [features] along ``axis``.
    """
    axis %= x.ndim
    scale, offset, mean, variance = (
        along_features(v, x, axis) for v in (scale, offset, mean, variance)
    )
    wide = x.astype(working_dtype(x.dtype), copy=False)
    deviation = np.sqrt(variance + np.float32(epsilon))
    y: np.ndarray = (wide - mean) / deviation * scale + offset
    return y.astype(x.dtype, copy=False)


def batch_norm_grad(
    x: np.ndarray,
    scale: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    grad_output: np.ndarray,
    *,
    epsilon: float = 1e-5,
    axis: int = -1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients of batch_norm_training by ``x``, scale and offset."""
    axis %= x.ndim
    others = tuple(k for k in range(x.ndim) if k != axis)
    grad = grad_output.astype(working_dtype(grad_output.dtype), copy=False)
    centered = x.astype(grad.dtype, copy=False) - along_features(mean, x, axis)
    deviation = np.sqrt(along_features(variance, x, axis) + np.float32(epsilon))
    normalized = centered / deviation
    grad_scale = (grad * normalized).sum(axis=others)
    grad_offset = grad.sum(axis=others)
    with np.errstate(invalid="ignore"):
        count = grad.dtype.type(prod(x.shape[k] for k in others))
        mean_grad = along_features(grad_offset / count, x, axis)
        slope = along_features(grad_scale / count, x, axis)
    grad = grad - mean_grad - normalized * slope
    grad_x = along_features(scale, x, axis) / deviation * grad
    grad_scale, grad_offset = (v.astype(scale.dtype) for v in (grad_scale, grad_offset))
    return grad_x.astype(x.dtype), grad_scale, grad_offset
