"""Smoothing signals with a Gaussian kernel by the convolution theorem, and their power spectra."""

import numpy as np


def main(signals, width):
    """Return the smoothed ``signals`` [.., samples] and their power spectra."""
    for name, given, shape in (("signals", signals, (3, 256)), ("width", width, ())):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    samples = signals.shape[-1]
    offsets = np.fft.fftfreq(samples).astype(np.float32) * samples
    kernel = np.exp(-0.5 * (offsets / width) ** 2)
    kernel = kernel / kernel.sum()
    spectrum = np.fft.rfft(signals)
    smoothed = np.fft.irfft(spectrum * np.fft.rfft(kernel), samples)
    power = np.abs(spectrum) ** 2 / samples
    return smoothed, power
