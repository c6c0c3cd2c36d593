"""Fourier transforms over the last one to three axes.

Source: the operation-semantics seed, Fft.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def fourier_transform(x: np.ndarray, kind: str, lengths: Sequence[int]) -> np.ndarray:
    """Return the "FFT", "IFFT", "RFFT" or "IRFFT" of ``x`` over its last
    ``len(lengths)`` axes.

    ``lengths`` are those of the signal: of the result for IRFFT, of ``x`` otherwise.
    RFFT keeps n // 2 + 1 terms of the last axis. float32 and complex64 keep their
    precision.
    """
    if x.size == 0 or 0 in lengths:
        terms = lengths[-1] // 2 + 1 if kind == "RFFT" and lengths[-1] else lengths[-1]
        dtype = (
            x.real.dtype if kind == "IRFFT" else np.result_type(x.dtype, np.complex64)
        )
        return np.zeros((*x.shape[: -len(lengths)], *lengths[:-1], terms), dtype)
    transforms: dict[str, Callable[..., Any]] = {
        "FFT": np.fft.fftn,
        "IFFT": np.fft.ifftn,
        "RFFT": np.fft.rfftn,
        "IRFFT": np.fft.irfftn,
    }
    axes = tuple(range(-len(lengths), 0))
    result: np.ndarray = transforms[kind](x, s=lengths, axes=axes)
    return result
