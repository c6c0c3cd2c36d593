"""Rows of numbers by their start, stop and step; elements at even distances as slices."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, assert_agrees, cases, entry, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

N = 13
X = np.random.default_rng(5).standard_normal(N).astype(np.float32)
GRID = np.random.default_rng(6).standard_normal((4, N)).astype(np.float32)

test_rows = cases("ranges", X, budget=EXACT, forms=(hlo, optimised))(
    (lambda x: x * jnp.arange(N, 0, -1), "np.arange(13, 0, -1, dtype=np.float32)"),
    (lambda x: x * (jnp.arange(N) * -1 + N - 1), "np.arange(12, -1, -1, dtype=np.float32)"),
    (lambda x: (x, jnp.arange(N) + 1), "return x, np.arange(1, 14, dtype=np.int32)"),
    (lambda x: (x, jnp.arange(20) * 3 - 7), "return x, np.arange(-7, 53, 3, dtype=np.int32)"),
    (lambda x: (x, (jnp.arange(5) - 9) * -2), "return x, np.arange(18, 8, -2, dtype=np.int32)"),
    (lambda x: (x, np.arange(4, 24, 4, dtype=np.int32)), "return x, np.arange(4, 24, 4, dtype=np.int32)"),
)

MASKS = np.array([True] * 4 + [False] * 6), np.arange(10) == 0, np.arange(10) >= 5
test_masks_of_rows = cases("tables", X[:10], budget=EXACT)(
    (lambda x: jnp.where(MASKS[0], x, 2), "np.where(np.arange(10, dtype=np.int32) < 4, x, 2)"),
    (lambda x: jnp.where(MASKS[1], x, 2), "np.where(np.arange(10, dtype=np.int32) == 0, x, 2)"),
    (lambda x: jnp.where(MASKS[2], x, 2), "np.where(np.arange(10, dtype=np.int32) >= 5, x, 2)"),
    (lambda x: jnp.where(MASKS[2][:, None], x, 2), "(np.arange(10, dtype=np.int32) >= 5)[:, None]"),
    (lambda x: jnp.where(np.arange(10) % 2 == 0, x, 2), lacks("arange")),
    (lambda x: jnp.where(np.array([True, False, False]), x[:3], 2), lacks("arange")),
)

test_slices = cases("ranges", X, budget=EXACT)(
    (lambda x: x[N - 1 - jnp.arange(N)], "return x[::-1]"),
    (lambda x: x[np.array([3, 4, 5])], "return x[3:6]"),
    (lambda x: x[jnp.arange(N - 1) + 1], "return x[1:]"),
    (lambda x: x[jnp.arange(6) * 2 + 1], "return x[1::2]"),
    (lambda x: x[np.arange(7, 0, -3)], "return x[7::-3]"),
    (lambda x: x[np.array([2, 1, 0])], "return x[2::-1]"),
    (lambda x: x[np.array([6, 7])], "return x[6:8]"),
    (lambda x: jnp.take(x, jnp.arange(1, 5), mode="wrap"), "return x[1:5]"),
    (lambda x: x[jnp.arange(N)[2:]], "return x[2:]"),
    (lambda x: jnp.cos(x)[np.arange(2, 9)] * 2, "return np.cos(x)[2:9] * 2"),
    (lambda x: (x[:, np.arange(3, 9)], x[np.array([3, 2, 1])]), GRID, "return x[:, 3:9], x[:0:-1]"),
    (lambda x: x.at[jnp.arange(4) + 2].set(x[np.arange(4)]), "[2:6] = x[:4]"),
    (lambda x: x[jnp.arange(N) + 1], "np.take(x, np.arange(1, 14, dtype=np.int32)"),  # outside
    (lambda x: (jnp.arange(N), 20 - jnp.arange(N), x), "20 - "),
)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[np.array([1, 2, 4])],
        lambda x: x[np.array([5, 5, 5])],
        lambda x: x[np.array([2, 0])],  # as short as it is
        lambda x: (x, jnp.arange(N) + np.int32(2**31 - 5)),  # wraps around
        lambda x: (x, jnp.arange(N) * 0),
        lambda x: (x, np.array([7, 9, 11], np.int32)),  # as short as it is
        lambda x: (x, np.array([0, 0.5, 1, 1.5, 2], np.float32)),
    ],
)
def test_near_misses(function):
    text = hlo(function, X)
    assert main(text) == main(text, disable_passes=["ranges", "tables"])
    assert_agrees(text, X, without="ranges", budget=EXACT)


@pytest.mark.parametrize(
    "lines",
    [
        ("r = f32[5] negate(i)",),
        ("m = f32[] constant(-2)", "b = f32[5] broadcast(m), dimensions={}", "r = f32[5] multiply(i, b)"),
        ("m = f32[] constant(4)", "b = f32[5] broadcast(m), dimensions={}", "r = f32[5] subtract(b, i)"),
        ("m = f32[] constant(16777215)", "b = f32[5] broadcast(m), dimensions={}", "r = f32[5] add(i, b)"),
        ("m = f32[] constant(0.5)", "b = f32[5] broadcast(m), dimensions={}", "r = f32[5] add(i, b)"),
    ],
)
def test_floats_keep_the_sign_of_zero_and_their_rounding(lines):
    text = entry("i = f32[5] iota(), iota_dimension=0", *lines)
    (expected,) = run_hlo_in_child(text)
    found = xla2py.emit(text, format=False).load().main()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("kind", ["u8", "s8", "u32", "s16", "bf16", "f16"])
def test_other_types_stay(kind):
    lines = (
        f"i = {kind}[9] iota(), iota_dimension=0",
        f"n = {kind}[] constant(9)",
        f"b = {kind}[9] broadcast(n), dimensions={{}}",
    )
    text = entry(*lines, f"r = {kind}[9] subtract(b, i)")
    assert main(text) == main(text, disable_passes=["ranges", "tables"])


def test_rows_beside_kernels_are_arrays_that_these_read():
    pytest.importorskip("numba", reason="Numba is not installed")
    x = np.random.default_rng(7).standard_normal(5000).astype(np.float32)
    text = hlo(lambda x: jnp.exp(x) * jnp.arange(5000, 0, -1) + x, x)
    module = xla2py.emit(text, style="fast", format=False)
    assert "@njit" in module.source and "np.arange(5000, 0, -1" in module.source
    (expected,) = run_hlo_in_child(text, x)
    np.testing.assert_allclose(module.load(keep_compiled=False).main(x), expected, rtol=1e-5)


ROWS = np.arange(24, dtype=np.float32).reshape(4, 6) - 3

test_running_sums_of_ones = cases("ranges", ROWS, budget=EXACT)(
    (lambda x: jnp.cumsum(jnp.ones(6)) * x[0], "np.arange(1, 7, dtype=np.float32)"),
    (lambda x: jax.lax.cumsum(jnp.ones(6), reverse=True) * x[0], "np.arange(1, 7, dtype=np.float32)[::-1]"),
    (lambda x: jnp.cumsum(jnp.full(6, 3.0)) * x[0], ".cumsum()", lacks("arange", "reduce_window")),
    (lambda x: jnp.cumprod(jnp.broadcast_to(x[0], (4, 6)), axis=0), "cumprod(axis=0)", lacks("reduce_window")),
    (lambda x: jnp.cumsum(jnp.ones((4, 6)), axis=1) * x, ".cumsum(axis=-1)", lacks("reduce_window")),
)
