"""Kernels of bfloat16 and float16: rows whose threads read and write their neighbours at once, and the arithmetic."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.tests.ladder.running import as_jax, assert_as_jax, needs_compiler, on_twin
from xla2py.tests.recording.lazy_jax import jax, jnp

pytestmark = needs_compiler
GENERATOR = np.random.default_rng(8)
BFLOAT16 = ml_dtypes.bfloat16


def numbers(*shape, dtype=BFLOAT16):
    return GENERATOR.standard_normal(shape).astype(dtype)


def root_mean_square_norm(x, weights):
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype) * weights


def residual(x, other):
    total = x + other
    return total, total - total.mean(-1, keepdims=True)


# Each program has a function, its arguments, and the number of neighbours that a thread reads at once, 0 for none.
PROGRAMS = {
    "a block for each row": (jax.nn.softmax, [numbers(6, 1024)], 8),
    "a warp for each row": (jax.nn.softmax, [numbers(6, 256)], 8),
    "threads behind the end of a row": (jax.nn.softmax, [numbers(6, 1000)], 8),
    "four neighbours": (jax.nn.softmax, [numbers(5, 140)], 4),
    "one row": (jax.nn.softmax, [numbers(1024)], 8),
    "float16": (jax.nn.softmax, [numbers(6, 512, dtype=np.float16)], 8),
    "weights of a column": (root_mean_square_norm, [numbers(6, 768), numbers(768)], 8),
    "several results": (residual, [numbers(6, 384), numbers(6, 384)], 8),
    "beside float32": (
        lambda x, y: jax.nn.softmax(x + y).astype(BFLOAT16),
        [numbers(6, 512, dtype=np.float32), numbers(6, 512)],
        8,
    ),
    "rows that a block cannot keep": (jax.nn.softmax, [numbers(3, 9000)], 0),
    "no multiple of two": (jax.nn.softmax, [numbers(6, 1001)], 0),
    "rows that do not lie behind each other": (lambda x: jax.nn.softmax(x, (0, 2)), [numbers(4, 6, 64)], 0),
}


def emitted_for(function, arguments):
    return xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style="fast", nested=False, format=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_neighbours_of_a_row_are_read_at_once(name):
    function, arguments, at_once = PROGRAMS[name]
    module = as_jax(function, *arguments, rtol=2e-2, atol=2e-3)
    assert ("= neighbours<" in module.source) == (at_once > 0)
    assert f"= neighbours<{at_once}>(" in module.source or not at_once


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("row * 125 + min(", "row * 124 + min("),
        ("ratio_here[k] = ratio", "ratio_here[7 - k] = ratio"),
        ("if (threadIdx.x < 125) write", "if (threadIdx.x < 124) write"),
        (
            "write_neighbours(ratio_out, row * 125 + threadIdx.x",
            "write_neighbours(ratio_out, row * 125 + threadIdx.x / 2",
        ),
    ],
)
def test_the_twin_finds_wrong_neighbours(right, wrong):
    function, arguments, _ = PROGRAMS["threads behind the end of a row"]
    module = emitted_for(function, arguments)
    assert right in module.source
    with pytest.raises(AssertionError):
        found = on_twin(replace(module, source=module.source.replace(right, wrong)), arguments)
        assert_as_jax(found, function, *arguments, rtol=2e-2, atol=2e-3)


def test_arithmetic_rounds_once():
    """Operators of bfloat16 in the text, each with one rounding, as ml_dtypes does it."""

    def function(x, y):
        return (x * y + x) * y - x, -(x / y)

    x, y = numbers(64, 33), numbers(64, 33)
    module = emitted_for(function, [x, y])
    assert "= (x * y + x) * y - x;" in module.source
    one, other = on_twin(module, [x, y])
    np.testing.assert_array_equal(one, ((x * y + x) * y - x).astype(BFLOAT16))
    np.testing.assert_array_equal(other, -(x / y))


def test_quotients_of_huge_numbers_are_no_zeros():
    """CUDA's fast quotient is 0 where the divisor is beyond 2^126."""
    x = np.array([1e38, 3e38, -2e38, 1.0, np.inf, np.nan, 0.0, 5e37], BFLOAT16)
    y = np.array([1e38, 2e38, 3e38, 3e38, 2e38, 1.0, 0.0, -1e38], BFLOAT16)
    module = emitted_for(lambda x, y: (x + x * 0) / y, [x, y])
    expected = np.asarray(((x + x * BFLOAT16(0)) / y), np.float32)
    np.testing.assert_allclose(np.asarray(on_twin(module, [x, y]), np.float32), expected, 1e-2, 1e-30)
    broken = replace(module, source=module.source.replace("? 0.25f : 1.0f", "? 1.0f : 1.0f"))
    assert broken.source != module.source
    assert not np.allclose(np.asarray(on_twin(broken, [x, y]), np.float32), expected, 1e-2, 1e-30, equal_nan=True)


@needs_compiler
@pytest.mark.parametrize(
    "function",
    [
        lambda x, b: (-x).astype(b.dtype) * b,
        lambda x, b: (x - x * 2).astype(b.dtype) - b,
        lambda x, b: (x / (x * x + 1)).astype(b.dtype) / b,
        lambda x, b: jnp.where(x > -x, b, -b),
        lambda x, b: jnp.maximum(-x, x) + (-b).astype(x.dtype),
    ],
)
def test_both_narrow_floats_are_computed_with_in_one_kernel(function):
    x = np.linspace(-3, 3, 40).astype(np.float16)
    b = np.linspace(1, 2, 40).astype(jnp.bfloat16)
    module = as_jax(function, x, b, rtol=2**-7, atol=0)
    assert module.source.count("_kernel = ") == 1
