"""Filters of images: XLA CPU is the judge."""

import numpy as np
import pytest

from xla2py.templates.prelude import filters
from xla2py.templates.prelude.filters import image_filter

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(19)

FILTERS = [  # image and window
    ((2, 23, 9), (5, 3)),
    ((1, 16, 8), (4, 8)),
    ((1, 9, 7), (9, 1)),
    ((3, 40, 6), (1, 2)),
    ((2, 11, 5, 6), (4, 2, 3)),
]


def small(shape, dtype=np.float32):
    """Integers, so that sums are exact in any order."""
    return np.asarray(rng.integers(-3, 4, shape)).astype(dtype)


def check(agrees, x, kernel, padding, dilation, channels_first=False):
    digits = "012"[: x.ndim - 2]
    labels = f"bf{digits}_oi{digits}->bf{digits}" if channels_first else f"b{digits}f_{digits}io->b{digits}f"
    sizes = kernel.shape[2:] if channels_first else kernel.shape[:-2]
    window = {"size": sizes, "rhs_dilate": dilation, "pad": [f"{low}_{high}" for low, high in padding]}
    text = " ".join(f"{name}={'x'.join(map(str, values))}" for name, values in window.items())
    ours = image_filter(x, kernel, padding=padding, kernel_dilation=dilation, channels_first=channels_first)
    agrees(ours, "convolution", [x, kernel], rtol=0, window=f"{{{text}}}", dim_labels=labels)


@pytest.mark.parametrize("filtered_bytes", [1, 2000, 1 << 20])
@pytest.mark.parametrize("image, window", FILTERS)
@pytest.mark.parametrize("dilation", [1, 2])
def test_filters(agrees, monkeypatch, filtered_bytes, image, window, dilation):
    monkeypatch.setattr(filters, "FILTERED_BYTES", filtered_bytes)
    padding, dilations = ((dilation, 3 * dilation),) * len(window), (dilation,) * len(window)
    x, kernel = small(image), small(window)
    check(agrees, x[..., None], kernel[..., None, None], padding, dilations)
    check(agrees, x[:, None], kernel[None, None], padding, dilations, channels_first=True)


def test_float64_is_summed_in_itself(agrees):
    x, kernel = small((1, 12, 9, 1), np.float64), small((4, 3, 1, 1), np.float64) * 2.0**40 + 1
    check(agrees, x, kernel, ((0, 0), (0, 0)), (1, 1))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("channels_first", [False, True])
def test_images_that_are_not_finite(agrees, value, channels_first):
    x, kernel = small((1, 20, 9)), small((5, 3))
    x[0, 7, 4] = x[0, 8, 4] = value
    if np.isfinite(value):
        kernel = np.abs(kernel) + 1  # large numbers that cancel would leave a sum that depends on its order
    x, kernel = (x[:, None], kernel[None, None]) if channels_first else (x[..., None], kernel[..., None, None])
    check(agrees, x, kernel, ((1, 1), (1, 1)), (1, 1), channels_first)
