"""The BatchNormGrad section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32

NORMALISED = np.random.default_rng(0).normal(2, 3, (4, 3, 2)).astype(np.float32)
SCALE, OFFSET = f32(1.0, 2.0, -0.5), f32(0.0, 1.0, -2.0)


def _column(vector: np.ndarray) -> np.ndarray:
    return vector.reshape(1, 3, 1)


def test_batch_norm_grad() -> None:
    x, epsilon, mean, variance = NORMALISED, np.float32(0.001), f32(1, 2, 3), f32(0.5, 2, 4)
    grad = np.random.default_rng(1).normal(size=x.shape).astype(np.float32)
    centred, deviation = x - _column(mean), np.sqrt(_column(variance) + epsilon)
    c = (grad * centred / (_column(variance) + epsilon)).mean((0, 2), keepdims=True)
    d = grad.mean((0, 2), keepdims=True)
    grad_operand = _column(SCALE) / deviation * (grad - d - c * centred)
    check(
        lambda b, *ops: b.batch_norm_grad(*ops, float(epsilon), 1),
        *(x, SCALE, mean, variance, grad),
        expected=[grad_operand, (grad * centred / deviation).sum((0, 2)), grad.sum((0, 2))],
    )
