"""The BatchNormTraining section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32

NORMALISED = np.random.default_rng(0).normal(2, 3, (4, 3, 2)).astype(np.float32)
SCALE, OFFSET = f32(1.0, 2.0, -0.5), f32(0.0, 1.0, -2.0)


def _column(vector: np.ndarray) -> np.ndarray:
    return vector.reshape(1, 3, 1)


def test_batch_norm_training() -> None:
    x, epsilon = NORMALISED, 0.001
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    y = _column(SCALE) * (x - _column(mean)) / np.sqrt(_column(variance) + epsilon) + _column(OFFSET)
    check(lambda b, *ops: b.batch_norm_training(*ops, epsilon, 1), x, SCALE, OFFSET, expected=[y, mean, variance])
