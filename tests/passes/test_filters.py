"""``image_filter``: where convolutions become it, and where they must not."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import ROUNDED, assert_agrees, hlo, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp

rng = np.random.default_rng(5)


def convolved(layout, **settings):
    numbers = (layout, layout.replace("N", "O").replace("C", "I"), layout)
    if layout == "NHWC":
        numbers = (layout, "HWIO", layout)
    settings = {"window_strides": (1, 1), "padding": "SAME", **settings}
    return lambda x, k: jax.lax.conv_general_dilated(x, k, dimension_numbers=numbers, **settings)


def images(*shape, dtype=np.float32):
    return rng.normal(size=shape).astype(dtype)


@pytest.mark.parametrize(
    ("layout", "settings", "x", "kernel", "expected"),
    [
        ("NHWC", {}, (2, 12, 9, 1), (5, 3, 1, 1), "return image_filter(x, k, padding=((2, 2), (1, 1)))"),
        ("NHWC", {"padding": "VALID"}, (1, 7, 9, 1), (4, 1, 1, 1), "return image_filter(x, k)"),
        (
            "NCHW",
            {"padding": "VALID", "rhs_dilation": (2, 3)},
            (2, 1, 20, 17),
            (1, 1, 5, 5),
            "return image_filter(x, k, kernel_dilation=(2, 3), channels_first=True)",
        ),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_filters(layout, settings, x, kernel, expected, dtype):
    inputs = images(*x, dtype=dtype), images(*kernel, dtype=dtype)
    with jax.enable_x64(dtype == np.float64):
        for form in (hlo, optimised):
            text = form(convolved(layout, **settings), *inputs)
            if form is hlo:
                assert main(text) == expected
            assert "image_filter" not in main(text, disable_passes=["filters"])
            assert_agrees(text, *inputs, budget=ROUNDED, without="filters")


@pytest.mark.parametrize(
    ("settings", "x", "kernel", "dtype"),
    [
        ({}, (2, 12, 9, 1), (3, 3, 1, 1), np.float32),  # sums of three rows are as fast
        ({"padding": "VALID"}, (2, 8, 9, 1), (5, 3, 1, 1), np.float32),  # fewer rows than the kernel has
        ({}, (2, 12, 9, 2), (5, 3, 2, 1), np.float32),
        ({}, (2, 12, 9, 1), (5, 3, 1, 2), np.float32),
        ({"feature_group_count": 2}, (2, 12, 9, 2), (5, 3, 1, 2), np.float32),
        ({"batch_group_count": 2}, (2, 12, 9, 1), (5, 3, 1, 2), np.float32),
        ({"window_strides": (2, 1)}, (2, 12, 9, 1), (5, 3, 1, 1), np.float32),
        ({"lhs_dilation": (2, 1), "padding": ((2, 2), (1, 1))}, (2, 12, 9, 1), (5, 3, 1, 1), np.float32),
        ({}, (2, 12, 9, 1), (5, 3, 1, 1), jnp.bfloat16),
        ({}, (2, 12, 9, 1), (5, 3, 1, 1), np.float16),
    ],
)
def test_something_else(settings, x, kernel, dtype):
    text = hlo(convolved("NHWC", **settings), images(*x, dtype=dtype), images(*kernel, dtype=dtype))
    assert "convolution(x, k" in main(text) and "image_filter" not in main(text)


def test_one_axis_is_no_image():
    text = hlo(lambda x, k: jax.lax.conv_general_dilated(x, k, (1,), "SAME"), images(3, 1, 20), images(1, 1, 5))
    assert "image_filter" not in main(text)


def test_gpus_add_up_shifted_images():
    text = hlo(convolved("NHWC"), images(1, 12, 9, 1), images(5, 3, 1, 1))
    assert "image_filter" in xla2py.emit(text).source
    assert "image_filter" not in xla2py.emit(text, "cupy").source
