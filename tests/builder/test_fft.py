"""The Fft section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import check, random
from xla2py.transpile.hlo.builder import (
    FftType,
)


@pytest.mark.parametrize("length", [7, 8])
def test_real_transforms_of_both_parities(length: int) -> None:
    x = random(3, length)
    check(lambda b, p: b.fft(p, FftType.RFFT, [length]), x, expected=np.fft.rfft(x).astype(np.complex64))
    z = np.fft.rfft(x).astype(np.complex64)
    expected = np.fft.irfft(z, length).astype(np.float32)
    check(lambda b, p: b.fft(p, FftType.IRFFT, [length]), z, expected=expected)


def test_transforms_of_several_dimensions() -> None:
    z = (random(2, 4, 5) + 1j * random(2, 4, 5)).astype(np.complex64)
    check(lambda b, p: b.fft(p, FftType.FFT, [4, 5]), z, expected=np.fft.fft2(z).astype(np.complex64))
    check(lambda b, p: b.fft(p, FftType.IFFT, [2, 4, 5]), z, expected=np.fft.ifftn(z).astype(np.complex64))
