"""Running sums, products and extremes in kernels of NumPy: one loop over lines with what is around them."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.tests.kernels.interpreter import Interpreter
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numpy_fast import assert_as_in_xla, is_of_loops, kernels
from xla2py.tests.whole import much
from xla2py.transpile.array.program import roots
from xla2py.transpile.array.traversal import topological
from xla2py.transpile.compilation import compile
from xla2py.transpile.emission.module.generated import GeneratedModule
from xla2py.transpile.kernels.lines import Lines
from xla2py.transpile.kernels.verifier import InvalidKernelError, verify_kernel
from xla2py.transpile.options import FUSED, Options
from xla2py.transpile.target import load_target

jnp, lax = jax.numpy, jax.lax
RNG = np.random.default_rng(17)
RUNNING = (jnp.cumsum, jnp.cumprod, lax.cummax, lax.cummin)


def as_in_xla(function, *arguments, style="fused", tolerance=1e-5) -> GeneratedModule:
    """The module of a function, which gives what XLA gives, NaN and infinities in the same places."""
    module = xla2py.emit(xla2py.from_jax(function, *arguments), style=style, format=False, checks=False, debug=True)
    assert_as_in_xla(module, function, arguments, tolerance)
    return module


def all_running(x):
    return [run(x + x.dtype.type(1), axis=axis) * x.dtype.type(2) for run in RUNNING for axis in range(x.ndim)]


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 4, 3), (1, 6), (6, 1), (1,)])
def test_running_totals_along_each_axis(shape):
    x = RNG.uniform(-2, 0.5, shape).astype(np.float32)
    module = as_in_xla(all_running, x)
    assert "cum" not in "".join(line for line in module.source.splitlines() if not line.lstrip().startswith("#"))


def test_nan_infinities_and_zeros_with_signs():
    x = RNG.uniform(-2, 0.5, (4, 6)).astype(np.float32)
    x[0, 2], x[1, 3], x[2, 0], x[2, 4], x[3] = np.nan, np.inf, -np.inf, np.inf, -0.0

    def extremes(x):
        return [run(x, axis=axis) for run in RUNNING for axis in (0, 1)]

    module = as_in_xla(extremes, x)
    made = module.load(keep_compiled=False).main(x)
    for leaf, expected in zip(made, jax.jit(extremes)(x), strict=True):
        assert np.array_equal(np.isnan(leaf), np.isnan(expected))


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "i4", "u4"])
def test_integers_wrap(kind):
    bounds = np.iinfo(kind)
    x = RNG.integers(bounds.min, bounds.max, (5, 4), kind, endpoint=True)
    as_in_xla(all_running, x, tolerance=0)


def test_empty_arrays_have_no_totals():
    for shape in ((0,), (3, 0), (0, 3)):
        as_in_xla(all_running, np.zeros(shape, np.float32))


def test_float64_is_not_left():
    with jax.enable_x64(True):
        as_in_xla(all_running, RNG.normal(size=(4, 5)), tolerance=1e-14)


def test_long_rows_are_summed_in_float64():
    """One after the other in float32 would be wrong from the fourth digit on."""
    x = np.full(much(100_000, 1_000_000), 0.1, np.float32)
    module = xla2py.emit(xla2py.from_jax(lambda x: jnp.cumsum(x) * 2, x), style="fast")
    made = module.load(keep_compiled=False).main(x)
    np.testing.assert_allclose(made[-1], len(x) / 5, rtol=1e-6)


def test_totals_join_what_is_around_them():
    """One function computes what is read of running totals, and of reductions along the same axis."""

    def shares(x):
        p = jax.nn.softmax(x, 1)
        running = jnp.cumsum(p, 1)
        return running / running.max(1, keepdims=True), jnp.cumsum(running * x, 1) - x.sum(1, keepdims=True), p

    module = as_in_xla(shares, RNG.normal(size=(6, 9)).astype(np.float32))
    assert len(kernels(module)) == 1


def test_totals_of_columns_are_kept_for_later_loops():
    def shares(x):
        running = jnp.cumsum(jnp.exp(x), 1)
        return running / running.sum(1, keepdims=True) + jnp.cumsum(running, 1)

    module = as_in_xla(shares, RNG.normal(size=(3, 8, 5)).astype(np.float32))
    assert len(kernels(module)) == 1


def test_what_runs_along_another_axis_is_another_function():
    def turned(x):
        return jnp.cumsum(jnp.cumsum(x * 2, 0) + 1, 1) * x.sum(0)

    as_in_xla(turned, RNG.normal(size=(5, 6)).astype(np.float32))


def test_places_of_a_total_are_read_from_memory():
    def ends(x):
        running = jnp.cumsum(x * x, 1)
        return running[:, -1:] - running, running[:, ::-1] * x, running.sum(0), jnp.roll(running, 1, 1)

    as_in_xla(ends, RNG.normal(size=(4, 6)).astype(np.float32))


def test_a_loop_keeps_running_totals_in_its_rounds():
    def walks(x, rows):
        def step(state, row):
            state = jnp.cumsum(state * 0.5 + row)
            return state / (1 + jnp.abs(state).max()), lax.cummax(state)[::-1]

        return lax.scan(step, x, rows)

    rows = RNG.normal(size=(6, 12)).astype(np.float32)
    module = as_in_xla(walks, rows[0], rows, style="fast")
    assert list(map(is_of_loops, kernels(module))) == [True]


def test_totals_of_numbers_from_their_places():
    as_in_xla(
        lambda x: jnp.cumsum(jnp.arange(8.0)) * x + jnp.cumsum(jnp.ones(8)), RNG.normal(size=8).astype(np.float32)
    )


@pytest.mark.whole
def test_threads_have_totals_of_their_own():
    x = RNG.normal(size=(8, 300, 90)).astype(np.float32)
    module = xla2py.from_jax(lambda x: jnp.cumsum(jnp.exp(x) * x, 1) - x, x)
    alone = xla2py.emit(module, style="fast").load(keep_compiled=False).main(x)
    emitted = xla2py.emit(module, style="fast", threads="2")
    assert "prange" in emitted.source
    assert np.array_equal(alone, emitted.load(keep_compiled=False).main(x))


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 4, 3), (6, 1)])
def test_totals_from_the_last_element_on(shape):
    """A loop goes backwards for such totals, also beside reductions and beside totals that go forwards."""

    def both_ways(x):
        return [
            run(x + 1, axis=axis, reverse=True) * 2 - run(x + 1, axis=axis).sum(axis, keepdims=True)
            for run in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin)
            for axis in range(x.ndim)
        ]

    module = as_in_xla(both_ways, RNG.uniform(-2, 0.5, shape).astype(np.float32))
    lines = [line for line in module.source.splitlines() if not line.lstrip().startswith("#")]
    assert max(shape) == 1 or any("-1, -1)" in line for line in lines)
    assert not any("cumsum(" in line or "accumulate(" in line for line in lines)


def test_gradients_of_totals_go_backwards():
    x = RNG.normal(size=(5, 6)).astype(np.float32)
    module = as_in_xla(jax.grad(lambda x: (jnp.cumsum(x * x, 1) ** 2).sum()), x)
    assert "for j in range(5, -1, -1):" in module.source


def test_totals_of_small_arrays_stay_numpys_and_keep_their_flips():
    x = RNG.normal(size=(5, 6)).astype(np.float32)
    module = as_in_xla(lambda x: lax.cumsum(x * 2, 1, reverse=True) / 3, x, style="fast")
    assert "(x * 2)[:, ::-1].cumsum(axis=-1)[:, ::-1] / 3" in module.source


def kernels_of(function, *arguments):
    program = compile(xla2py.from_jax(function, *arguments), load_target("numpy"), Options(style=FUSED)).program
    return [n.parameters["kernel"] for f in program.functions for n in topological(roots(f)) if n.opcode == "kernel"]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_interpreter_runs_totals(axis, reverse):
    def totals(x):
        return lax.cumsum(x * x, axis, reverse=reverse) - lax.cummin(x, axis, reverse=reverse) * x.max(
            axis, keepdims=True
        )

    x = RNG.normal(size=(4, 5)).astype(np.float32)
    (kernel,) = kernels_of(totals, x)
    verify_kernel(kernel)
    np.testing.assert_allclose(Interpreter(kernel, [x]).run()[0], jax.jit(totals)(x), 1e-5, 1e-5)


def test_the_verifier_finds_totals_along_what_is_no_line():
    (kernel,) = kernels_of(lambda x: jnp.cumsum(x * x, 1), np.ones((4, 5), np.float32))
    kernel.lines = Lines.along(kernel.loop, (0,))
    with pytest.raises(InvalidKernelError, match="another axis than the lines"):
        verify_kernel(kernel)
