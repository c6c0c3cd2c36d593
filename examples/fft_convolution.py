"""Smoothing signals with a Gaussian kernel by the convolution theorem, and their power spectra."""

import jax.numpy as jnp
import numpy as np


def smooth(signals, width):
    """signals: [channels, samples]; width: of the Gaussian, in samples."""
    samples = signals.shape[-1]
    offsets = jnp.fft.fftfreq(samples) * samples
    kernel = jnp.exp(-0.5 * (offsets / width) ** 2)
    kernel = kernel / kernel.sum()
    spectrum = jnp.fft.rfft(signals)
    smoothed = jnp.fft.irfft(spectrum * jnp.fft.rfft(kernel), n=samples)
    power = jnp.abs(spectrum) ** 2 / samples
    return smoothed, power


def program():
    rng = np.random.default_rng(0)
    time = np.arange(256) / 256
    waves = np.sin(2 * np.pi * np.array([[3.0], [7.0], [20.0]]) * time)
    signals = (waves + rng.normal(scale=0.3, size=waves.shape)).astype(np.float32)
    return smooth, (signals, np.float32(4))
