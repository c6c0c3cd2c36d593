"""Batch normalisation: XLA CPU is the judge."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.normalization import batch_norm_grad, batch_norm_inference, batch_norm_training

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(23)
CASES = [((4, 5, 3), 2), ((4, 5, 3), 1), ((4, 5, 3), 0), ((6, 1), 1), ((1, 3), 1), ((0, 3), 1), ((3, 0), 1)]
TYPES = [(np.float32, 1e-4), (np.float64, 1e-11), (ml_dtypes.bfloat16, 0.1), (np.float16, 2e-2)]


def arrays(shape, axis, dtype):
    x, grad = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    scale, offset, mean = (rng.standard_normal(shape[axis]).astype(dtype) for _ in range(3))
    return x, scale, offset, mean, rng.random(shape[axis]).astype(dtype) + dtype(0.5), grad


@pytest.mark.parametrize("shape, axis", CASES)
@pytest.mark.parametrize("dtype, tolerance", TYPES)
def test_batch_norm(agrees, shape, axis, dtype, tolerance):
    x, scale, offset, mean, variance, grad = arrays(shape, axis, dtype)
    options = {"rtol": tolerance, "atol": tolerance, "epsilon": 0.01, "feature_index": axis}
    ours = batch_norm_training(x, scale, offset, epsilon=0.01, axis=axis)
    agrees(ours, "batch-norm-training", [x, scale, offset], **options)
    ours = batch_norm_inference(x, scale, offset, mean, variance, epsilon=0.01, axis=axis)
    agrees(ours, "batch-norm-inference", [x, scale, offset, mean, variance], **options)
    ours = batch_norm_grad(x, scale, mean, variance, grad, epsilon=0.01, axis=axis)
    agrees(ours, "batch-norm-grad", [x, scale, mean, variance, grad], **options)


def test_negative_axis_and_narrow_sums():
    x = (rng.random((4000, 2)) + 1).astype(ml_dtypes.bfloat16)
    ones = np.ones(2, ml_dtypes.bfloat16)
    _, mean, _ = batch_norm_training(x, ones, ones, axis=-1)
    np.testing.assert_array_equal(mean, x.astype(np.float64).mean(0).astype(ml_dtypes.bfloat16))
