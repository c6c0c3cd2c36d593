"""Convolutions and their gradients by cuDNN, on the twin's, which does what the definitions say."""

import re

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.benchmarks.gpu_kit.device import Device
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.recording.lazy_jax import jax, lax

TWIN = Device(twin=True)
GENERATOR = np.random.default_rng(3)


def numbers(*shape, dtype=np.float32):
    return GENERATOR.standard_normal(shape).astype(dtype)


def convolution(x, kernel, strides=(1, 1), padding="SAME", gaps=(1, 1), layout=("NHWC", "HWIO", "NHWC"), holes=(1, 1)):
    return lax.conv_general_dilated(
        x, kernel, strides, padding, lhs_dilation=holes, rhs_dilation=gaps, dimension_numbers=layout
    )


X, KERNEL = numbers(2, 9, 10, 3), numbers(3, 3, 3, 4)
CASES = {
    "same": (X, KERNEL, {}),
    "strided": (X, KERNEL, {"strides": (2, 3)}),
    "valid, elements apart": (X, KERNEL, {"padding": "VALID", "gaps": (2, 1)}),
    "uneven padding": (X, KERNEL, {"padding": ((0, 2), (1, 0))}),
    "channels first": (numbers(2, 3, 9, 10), numbers(4, 3, 3, 2), {"layout": ("NCHW", "OIHW", "NCHW")}),
    "transposed": (X, KERNEL, {"holes": (2, 2), "padding": ((1, 2), (2, 2))}),
    "three axes": (
        numbers(1, 5, 6, 4, 2),
        numbers(2, 3, 2, 2, 3),
        {"strides": (1, 2, 1), "gaps": (1,) * 3, "holes": (1,) * 3, "layout": ("NDHWC", "DHWIO", "NDHWC")},
    ),
    "bfloat16": (X.astype(ml_dtypes.bfloat16), KERNEL.astype(ml_dtypes.bfloat16), {}),
}


def agrees(function, arguments, count, **options):
    """The module calls cuDNN so many times, and gives what JAX does."""
    program = xla2py.from_jax(function, *arguments)
    emitted = xla2py.emit(program, "cupy", nested=False, allow=("cudnn",), **options)
    main = emitted.source[emitted.source.index("def main") :].split("\n\n\n")[0]
    assert len(re.findall(r"convolution_by_cudnn\(", main)) == count
    expected = jax.tree.leaves(function(*arguments))
    for own, theirs in zip(TWIN.run(emitted, arguments), expected, strict=True):
        tolerance = 3e-2 if own.dtype == ml_dtypes.bfloat16 else 1e-4
        np.testing.assert_allclose(own.astype(float), np.asarray(theirs).astype(float), tolerance, tolerance)


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_a_convolution_and_its_gradients_are_those_of_cudnn(name):
    x, kernel, options = CASES[name]

    def function(x, kernel):
        return convolution(x, kernel, **options)

    agrees(function, [x, kernel], 1)
    if "holes" not in options:
        agrees(jax.grad(lambda x, w: (function(x, w) ** 2).sum(), (0, 1)), [x, kernel], 3, style="fast")


@pytest.mark.parametrize(
    ("x", "kernel", "options"),
    [
        (numbers(2, 9, 10, 4), numbers(3, 3, 1, 4), {"feature_group_count": 4}),
        (X, KERNEL, {"padding": ((-1, 1), (0, 0))}),
        (X.astype(np.float64), KERNEL.astype(np.float64), {}),
    ],
)
def test_other_convolutions_go_by_products(x, kernel, options):
    given = {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": ("NHWC", "HWIO", "NHWC")} | options
    with jax.enable_x64(True):
        program = xla2py.from_jax(lambda x, w: lax.conv_general_dilated(x, w, **given), x, kernel)
    assert "cudnn" not in xla2py.emit(program, "cupy", allow=("cudnn",)).source.split("import", 1)[1]


@needs_compiler
def test_a_convolution_by_cudnn_is_captured():
    emitted = xla2py.emit(xla2py.from_jax(convolution, X, KERNEL), "cupy", allow=("cudnn",), graph=True, format=False)
    expected = np.asarray(convolution(X, KERNEL))
    np.testing.assert_allclose(TWIN.run(emitted, [X, KERNEL], function="replay")[0], expected, 1e-4, 1e-4)
