"""Loops in which each element has its own values: in kernels, its rounds end when nothing of it changes any more."""

import re

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numpy_fast import assert_as_in_xla, kernels

jnp, lax = jax.numpy, jax.lax
X = np.abs(np.random.default_rng(5).normal(size=(6, 9))).astype(np.float32) * 40
X[0, :4] = 0, np.nan, np.inf, 1


def emitted(function, *arguments, tolerance=2e-6):
    module = xla2py.emit(xla2py.from_jax(function, *arguments), style="fused", format=False, checks=False)
    assert_as_in_xla(module, function, arguments, tolerance)
    return module


def roots(a):
    def goes_on(state):
        x, n = state
        return (jnp.abs(x * x - a) > 1e-3 * a) & (n < 50)

    def step(state):
        x, n = state
        inside = goes_on(state)
        return jnp.where(inside, 0.5 * (x + a / x), x), n + inside

    return lax.while_loop(lambda state: goes_on(state).any(), step, (a * 0.5 + 1, jnp.zeros(a.shape, jnp.int32)))


def of_each(a):
    def goes_on(state):
        return (jnp.abs(state[0] ** 2 - a[state[2]]) > 1e-3) & (state[1] < 40)

    def root(place):
        def step(state):
            return 0.5 * (state[0] + a[state[2]] / state[0]), state[1] + 1, state[2]

        return lax.while_loop(goes_on, step, (a[place] + 1, 0, place))[:2]

    return jax.vmap(root)(jnp.arange(len(a)))


def escape(c):
    def step(_, state):
        z, count = state
        is_near = jnp.abs(z) <= 2
        return jnp.where(is_near, z * z + c, z), count + is_near

    return lax.fori_loop(0, 30, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))


@pytest.mark.parametrize("function", [roots, lambda a: of_each(a.ravel())], ids=["lockstep", "vmap"])
def test_a_loop_until_no_element_changes_is_one_of_each(function):
    module = emitted(function, X)
    lines = module.source.split("def main")[0]
    assert re.search(r" while \(?abs\(.*:|if not inside:.*\n +break\n", lines)
    assert ".any()" not in module.source


@pytest.mark.compiled
def test_rounds_that_are_counted_end_when_nothing_changes():
    c = (np.linspace(-2, 1, 60)[None, :] + 1j * np.linspace(-1, 1, 7)[:, None]).astype(np.complex64)
    module = emitted(escape, c, tolerance=1e-5)
    leaves = r"for step in range\(30\):\n +is_near = .*\n +if not is_near:.*\n +break\n"
    assert re.search(leaves, module.source)
    assert len(kernels(module)) == 1


def counts_with_floats(x):
    """Adding 0 makes 0 of -0."""
    return lax.fori_loop(0, 9, lambda _, s: (jnp.where(s[1] < 3, s[0] * 2, s[0]), s[1] + (s[1] < 3)), (x, -x))


def asks_the_counter(x):
    """A mask that is false in one round is true in a later one."""

    def step(i, state):
        is_late = state[0] < i
        return jnp.where(is_late, state[0] * 2, state[0]), state[1] + is_late

    return lax.fori_loop(0, 9, step, (x, jnp.zeros(x.shape, jnp.int32)))


def goes_on_beside(x):
    """One value changes in every round."""
    return lax.fori_loop(0, 9, lambda _, s: (jnp.where(s[1] < 30, s[0] * 2, s[0]), s[1] * 1.5), (x, x))


@pytest.mark.parametrize("function", [counts_with_floats, asks_the_counter, goes_on_beside])
def test_rounds_go_on_where_something_may_change(function):
    assert "break" not in emitted(function, X).source.split("def main")[0]


def test_a_loop_that_another_truth_ends_stays_one_of_arrays():
    def function(a):
        def step(state):
            x, n = state
            inside = x < a
            return jnp.where(inside, x * 2, x), n + inside

        ones = jnp.ones_like(a)
        return lax.while_loop(lambda state: (state[1] < 3).any(), step, (ones, (a < 5).astype(jnp.int32) * 9))

    assert ".any()" in emitted(function, X[1:] + 40).source


@pytest.mark.parametrize("function", [roots, escape])
def test_the_interpreter_leaves_as_the_loops_do(function):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    from xla2py.tests.kernels.interpreting import by_interpreter

    x = X if function is roots else (X / 20 - 1j).astype(np.complex64)
    module = xla2py.from_jax(function, x)
    with np.errstate(all="ignore"):
        made = by_interpreter(module, [x])
    for one, expected in zip(made, jax.jit(function)(x), strict=True):
        np.testing.assert_allclose(one, np.asarray(expected), rtol=1e-5)


def test_what_a_loop_reads_is_still_there_behind_it():
    """Names go to other values when all have read the first one: a loop of kernels is one reader."""
    x = np.linspace(0.1, 3, 7, dtype=np.float32)
    module = xla2py.emit(xla2py.from_jax(lambda x: jax.scipy.special.betainc(x, x + 1, x / 4), x), style="fast")
    assert_as_in_xla(module, lambda x: jax.scipy.special.betainc(x, x + 1, x / 4), (x,), 2e-5)
