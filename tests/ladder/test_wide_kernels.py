"""Kernels of large loops, whose threads read and write 16 bytes of each array at once; and others of large arrays."""

import math

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.benchmarks.gpu_kit.device import Device
from xla2py.tests.ladder.running import assert_as_jax, needs_compiler
from xla2py.tests.ladder.static import problems
from xla2py.tests.recording.lazy_jax import jax, jnp

TWIN = Device(twin=True)
GENERATOR = np.random.default_rng(0)
LARGE = (1024, 1024)


PERIOD = 2_000  # elements behind which large arrays repeat, so that what XLA makes of them is recorded in little


def numbers(*shape, dtype=np.float32):
    rows = min(shape[0], max(1, PERIOD // math.prod(shape[1:])))
    return np.resize(GENERATOR.standard_normal((rows, *shape[1:])), shape).astype(dtype)


def stacked(x):
    """The first result of each step is a row of what the loop stacks, which a kernel writes in place."""
    return jax.lax.scan(lambda carry, _: (jnp.sin(carry) + 1, carry * 2 + 1), x, None, length=2)


# What is computed, of which arrays, made for the test alone; elements that a thread has, and how many kernels are wide.
PROGRAMS = {
    "float32": (jax.nn.gelu, lambda: [numbers(*LARGE)], 4, 1),
    "a number of groups that is no multiple of a block": (
        lambda x, y: x * y + 1,
        lambda: [numbers(1031, 1032)] * 2,
        4,
        1,
    ),
    "bfloat16": (lambda x, b: jax.nn.relu(x + b) * 2, lambda: [numbers(*LARGE, dtype=ml_dtypes.bfloat16)] * 2, 8, 1),
    "an array that is read elsewhere": (lambda x, b: jnp.exp(x) + b, lambda: [numbers(*LARGE), numbers(1024)], 4, 1),
    "a number on the device": (lambda x, s: jnp.sin(x) * s + s, lambda: [numbers(*LARGE), np.float32(3)], 4, 1),
    "the widest array decides": (
        lambda x, m: jnp.where(m > 0, x, 0).astype(jnp.float16) + 1,
        lambda: [numbers(*LARGE), (3 * numbers(*LARGE)).astype(np.int8)],
        4,
        1,
    ),
    "complex64": (lambda x: x * x + 1, lambda: [numbers(*LARGE) + np.complex64(1j)], 2, 1),
    "a shifted read": (lambda x: jnp.exp(x[1:]) * 2, lambda: [numbers(1024 * 1024 + 1)], 4, 1),
    "gathered rows": (
        lambda t, at: t[at] * 2 + 1,
        lambda: [numbers(99, 64), np.arange(16384, dtype=np.int32) % 99],
        4,
        1,
    ),
    "rows of a loop": (stacked, lambda: [numbers(*LARGE)], 4, 0),
    "a rest": (lambda x: jnp.exp(x) * 2, lambda: [numbers(1048577)], 0, 0),
    "a small loop": (jax.nn.gelu, lambda: [numbers(1023, 1024)], 0, 0),
}


@needs_compiler
@pytest.mark.parametrize("name", PROGRAMS)
def test_large_loops_are_wide_kernels(name):
    function, made, at_once, count = PROGRAMS[name]
    arguments = made()
    emitted = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style="fast", nested=False, format=False)
    assert problems(emitted.source) == []
    if name != "rows of a loop":
        assert emitted.source.count(" = WideKernel(") == count
        assert f", {at_once}> " in emitted.source or not count
    found = tuple(TWIN.run(emitted, arguments))
    assert_as_jax(found, function, *arguments, rtol=2e-2 if found[0].itemsize == 2 else 1e-5, atol=1e-5)


def messages(table, weights, senders, receivers):
    """Rows of a table, by edges, added up by where they go."""
    return jax.ops.segment_sum(weights[:, None] * table[senders], receivers, 50)


def edges(dtype, width, count=16384):
    places = GENERATOR.integers(-3, 53, count).astype(np.int32)  # of which some are in no row
    return [numbers(99, width, dtype=dtype), numbers(count, dtype=dtype), np.arange(count, dtype=np.int32) % 99, places]


# Each case has a function that sums rows, its arguments, and the number of kernels that add up the rows themselves.
SUMS = {
    "float32": (messages, lambda: edges(np.float32, 64), 1),
    "int32": (
        lambda x, at: jax.ops.segment_sum(x * x + 1, at, 50),
        lambda: [GENERATOR.integers(-9, 9, (4096, 256)).astype(np.int32), np.arange(4096, dtype=np.int32) % 70],
        1,
    ),
    "several axes": (
        lambda x, at: jax.ops.segment_sum(jnp.exp(x) + 1, at, 7),
        lambda: [numbers(2048, 8, 64), np.arange(2048, dtype=np.int32) % 7],
        1,
    ),
    "an embedding's gradient": (
        lambda at, g: jax.vjp(lambda t: t[at], jnp.zeros((70, 128)))[1](jnp.tanh(g) * 2)[0],
        lambda: [np.arange(8192, dtype=np.int32) % 70, numbers(8192, 128)],
        1,
    ),
    "also read elsewhere": (
        lambda x, at: (jax.ops.segment_sum(jnp.exp(x), at, 7), jnp.exp(x)),
        lambda: [numbers(16384, 64), np.arange(16384, dtype=np.int32) % 7],
        0,
    ),
    "rows of no groups": (messages, lambda: edges(np.float32, 66), 0),
    "bfloat16, which is summed in float32": (messages, lambda: edges(ml_dtypes.bfloat16, 64), 0),
}


@needs_compiler
@pytest.mark.parametrize("name", SUMS)
def test_rows_are_added_where_they_are_computed(name):
    function, made, count = SUMS[name]
    arguments = made()
    emitted = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style="fast", nested=False, format=False)
    assert problems(emitted.source) == []
    assert emitted.source.count(" = AddingKernel(") == count
    found = tuple(TWIN.run(emitted, arguments))
    rtol, atol = (2e-2, 2) if found[0].itemsize == 2 else (1e-4, 1e-3)
    assert_as_jax(found, function, *arguments, rtol=rtol, atol=atol)


@needs_compiler
def test_a_pool_of_a_large_array_is_a_kernel():
    x = np.resize(numbers(12, 128, 64), (2, 128, 128, 64))
    pool = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")  # noqa: E731
    emitted = xla2py.emit(xla2py.from_jax(pool, x), "cupy", style="fast", format=False)
    assert emitted.source.count(" = RowKernel(") == 1
    (found,) = TWIN.run(emitted, [x])
    np.testing.assert_array_equal(found, pool(x))
    small = xla2py.emit(xla2py.from_jax(pool, x[:1, :64]), "cupy", style="fast", format=False)
    assert ".max(axis=(2, 4))" in small.source


@needs_compiler
def test_a_loop_counter_alone_is_no_kernel_of_numbers():
    """CuPy cannot tell how large a kernel of numbers of the host is."""

    def function(x):
        return jax.lax.fori_loop(0, 3, lambda k, x: x + jax.nn.sigmoid(k.astype(jnp.float32)), x)

    x = numbers(4)
    for style in ("readable", "fast"):
        emitted = xla2py.emit(xla2py.from_jax(function, x), "cupy", style=style, format=False)
        np.testing.assert_allclose(TWIN.run(emitted, [x])[0], function(x), rtol=1e-6)
