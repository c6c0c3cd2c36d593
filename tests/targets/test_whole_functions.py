"""Functions that are compiled as a whole: small arrays around a loop that is compiled anyway."""

from functools import reduce

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

import xla2py
from xla2py.tests.recording.lazy_jax import jnp, lax
from xla2py.tests.targets.numpy_fast import as_in_xla, kernels

RNG = np.random.default_rng(11)
X, Y = (RNG.normal(size=12).astype(np.float32) for _ in range(2))


def rounds_of(x, step=lambda i, x: jnp.sin(x) + 0.5 * x[::-1]):
    return lax.fori_loop(0, 9, step, x)


def main_of(module):
    return module.source[module.source.index("def main(") :].split("\n\n")[0]


def test_what_stands_around_a_loop_is_compiled_with_it():
    module = as_in_xla(lambda x, y: (rounds_of(abs(x[0] - y).cumsum())[-1], x * y), X, Y, tolerance=1e-5)
    assert kernels(module) == ["compiled_main"]
    assert main_of(module).count("np.") == main_of(module).count("np.float32(")


WHOLE = {
    "results twice and arguments": lambda x, y: ((z := rounds_of(x * 2)), y, z, jnp.float32(3)),
    "an array that is changed is also read": lambda x, y: (
        x.at[2].set(y[0]),
        rounds_of(x * y) + x,
        y.at[1:3].add(x[:2]),
    ),
    "the array of a loop is changed behind it": lambda x, y: (
        (rounds_of(x + y).at[0].set(7) * y).at[3:5].multiply(x[:2])
    ),
    "what a loop begins with is read behind it": lambda x, y: (z := x + y, rounds_of(z), z * 2),
    "views of arguments": lambda x, y: (rounds_of(x + y), x.reshape(3, 4).T, y[2:5]),
    "branches around": lambda x, y: lax.cond(x[0] > y[0], lambda: (rounds_of(x), y), lambda: (y, rounds_of(y) + x)),
    "loops of few rounds around": lambda x, y: lax.fori_loop(0, 3, lambda i, z: rounds_of(z + i) * y, x),
    "no elements": lambda x, y: (rounds_of(x) * 2, x[:0] + y[:0], (x[:0] * y[:0]).sum()),
    "NaN and infinities": lambda x, y: (rounds_of(jnp.log(x)).max(), jnp.minimum(jnp.log(y), 1 / (x - x)).argmin()),
    "integers that wrap": lambda x, y: (rounds_of(x), (x * 2.0**29).astype(jnp.int32) * 7, ~(y > 0)),
    "no loop": lambda x, y: jnp.zeros(5).at[abs(x * 4).astype(int) % 7].add(y[x.astype(int)] * jnp.cumsum(x)),
    "many arrays that are joined": lambda x, y: jnp.concatenate([rounds_of(x), y, x[:3], y * 2, x[3:5], x + y, y[:1]]),
    "a product with a table": lambda x, y: jnp.asarray([0.5, 2, 3]) @ rounds_of(x).reshape(3, 4) + y[:4],
    "numbers that are turned": lambda x, y: (
        rounds_of(x),
        jnp.exp(-1j * y / 3) * jnp.exp(2j * jnp.pi * jnp.log(y)),
        jnp.exp(-1j * jnp.where(y > 0, x * 1e30, jnp.where(y > -1, y * 0, 1 / (x - x)))),
    ),
    "two loops": lambda x, y: rounds_of(rounds_of(x * y), lambda i, z: z.at[i].add(z[i + 1] * z.sum())),
}


@pytest.mark.parametrize("case", WHOLE)
def test_functions_that_are_compiled_give_what_xla_gives(case):
    module = as_in_xla(WHOLE[case], X, Y, tolerance=2e-5)
    assert kernels(module) == ["compiled_main"]


def test_results_of_their_own_are_no_views_of_arguments():
    def function(x, y):
        return rounds_of(x + y), x.reshape(3, 4), y

    x, y = X.copy(), Y.copy()
    main = xla2py.emit(xla2py.from_jax(function, x, y), style="fast", results="own").load(keep_compiled=False).main
    for result in main(x, y):
        result[:] = 0
    assert np.array_equal(x, X)
    assert np.array_equal(y, Y)


LEFT = {
    "arrays that are large": (lambda x: rounds_of(x * 2) + 1, RNG.normal(size=4096).astype(np.float32)),
    "nothing around": (rounds_of, X),
    "few calls": (lambda x: jnp.sin(x) * 2 + x[::-1], X),
    "many calls": (lambda x: reduce(lambda a, b: a[::-1] + jnp.sin(b), [x + k for k in range(40)]), X),
    "what Numba has no loop for": (lambda x: rounds_of(x * 2) + jnp.fft.fft(x[:11]).real.sum() + _far(x), X),
}


def _far(x):
    return abs(jnp.linalg.eigvals(x.reshape(2, 6)[:, :2])).max()


@pytest.mark.parametrize("case", LEFT)
def test_what_is_left_to_functions_of_loops(case):
    module = as_in_xla(*LEFT[case], tolerance=1e-4)
    assert "compiled_main" not in kernels(module)


def test_loops_of_a_function_that_is_left_are_compiled():
    module = as_in_xla(*LEFT["what Numba has no loop for"], tolerance=1e-4)
    assert [name for name in kernels(module) if name.endswith("_loop")]


def test_an_argument_called_as_the_function_is_not_hidden_by_it():
    def twice(compiled_main, x):
        for _ in range(2):
            x = lax.fori_loop(0, 9, lambda i, c: jnp.sin(c) * compiled_main[i % 3] + c, x)
        return x, compiled_main * 2

    as_in_xla(twice, X[:3], np.float32(0.5), tolerance=1e-5)
