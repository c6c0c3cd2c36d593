"""The kernels against what is known of them, with NumPy only."""

import numpy as np
import pytest
import smallkernels

random = np.random.default_rng(0)


def test_attention_to_one_position_copies_it():
    """The first query sees the first position only."""
    q, k, v = random.normal(size=(3, 2, 8, 64, 32)).astype(np.float32)
    weighted = smallkernels.attention(q, k, v)
    assert weighted.shape == (2, 8, 64, 32)
    np.testing.assert_allclose(weighted[:, :, 0], v[:, :, 0], rtol=1e-6)
    scores = np.exp(q[0, 0, 1] @ k[0, 0, :2].T / np.sqrt(32))
    np.testing.assert_allclose(weighted[0, 0, 1], scores @ v[0, 0, :2] / scores.sum(), rtol=1e-4, atol=1e-6)


def test_convolution_keeps_what_is_constant_and_the_energy():
    signals = np.full((3, 256), 2, np.float32)
    smoothed, power = smallkernels.convolution(signals, np.float32(4))
    np.testing.assert_allclose(smoothed, signals, rtol=1e-5)
    np.testing.assert_allclose(power[:, 0], 4 * 256, rtol=1e-5)


def test_posterior_without_noise_is_ridge_regression():
    features = random.normal(size=(100, 8)).astype(np.float32)
    targets = features @ np.arange(8, dtype=np.float32)
    mean, draws, log_determinant = smallkernels.posterior(
        features, targets, np.float32(0.1), np.zeros((5, 8), np.float32)
    )
    precision = features.T @ features + 0.1 * np.eye(8)
    np.testing.assert_allclose(mean, np.linalg.solve(precision, features.T @ targets), rtol=1e-3)
    np.testing.assert_allclose(draws, np.broadcast_to(mean, (5, 8)), rtol=1e-6)
    np.testing.assert_allclose(log_determinant, np.linalg.slogdet(precision)[1], rtol=1e-4)


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match="width"):
        smallkernels.convolution(np.zeros((3, 256), np.float32), 4.0)
