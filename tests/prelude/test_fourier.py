"""Fourier transforms: XLA CPU is the judge."""

import numpy as np
import pytest

from xla2py.templates.prelude.fourier import fourier_transform

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(19)


def signal(shape, dtype):
    parts = rng.standard_normal((2, *shape))
    return (parts[0] + (1j * parts[1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype)


@pytest.mark.parametrize("lengths", [(1,), (8,), (7,), (0,), (4, 5), (3, 6), (1, 2), (0, 4), (2, 3, 4), (5, 1, 7)])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
@pytest.mark.parametrize("real, complex_", [(np.float32, np.complex64), (np.float64, np.complex128)])
def test_every_kind_and_length(agrees, kind, lengths, real, complex_):
    terms = lengths[-1] // 2 + 1 if lengths[-1] else 0
    last = terms if kind == "IRFFT" else lengths[-1]
    x = signal((2, *lengths[:-1], last), real if kind == "RFFT" else complex_)
    tolerance = 1e-5 if real is np.float32 else 1e-12
    ours = fourier_transform(x, kind, lengths)
    agrees(ours, "fft", [x], fft_type=kind, fft_length=lengths, rtol=tolerance, atol=tolerance)
