"""The least sizes of modules for any size, and values at these."""

from itertools import product

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.whole import much


def layer(x, w):
    return jax.nn.relu(x @ w + 1)


def gram(x):
    return x.T @ x


def share(x):
    return x / x.sum(-1, keepdims=True)


def best(x):
    return jnp.argmax(x, axis=-1)


def ordered(x):
    return jnp.sort(x, axis=0)


def second_difference(x):
    return (x[2:] - 2 * x[1:-1] + x[:-2]) ** 2


def steps(x, h):
    return jax.lax.scan(lambda h, x: (jnp.tanh(x + h), h), h, x)


def first_of_all(x):
    return x[:3].sum(0)


def spectrum(x):
    return jnp.fft.fft(x).real


def solved(a, b):
    return jax.scipy.linalg.solve_triangular(a, b, lower=True)


def total(x):
    return x.sum()


def average(x):
    return x.mean()


@pytest.mark.parametrize(
    ("function", "arguments", "least"),
    [
        (layer, ("B, K", "K, M"), {"B": 1, "K": 2, "M": 1}),
        (gram, ("N, D",), {"N": 2, "D": 2}),
        (share, ("B, K",), {"B": 1, "K": 2}),
        (best, ("B, K",), {"B": 1, "K": 2}),
        (ordered, ("N, M",), {"N": 2, "M": 1}),
        (second_difference, ("N, B",), {"N": 4, "B": 1}),
        (steps, ("T, B", "B"), {"T": 2, "B": 1}),
        (first_of_all, ("N, M",), {"N": 4, "M": 1}),
        (spectrum, ("B, 8",), {"B": 1}),
        (solved, ("D, D", "D, M"), {"D": 2, "M": 1}),
        (total, ("N",), {"N": 1}),
        (average, ("N",), {"N": 2}),
    ],
)
def test_sizes_may_be_one_where_nothing_is_taken_together(function, arguments, least):
    jax.clear_caches()  # what JAX traced before at these sizes has the names of another function
    emitted = xla2py.emit(xla2py.from_jax(function, *map(xla2py.array, arguments)))
    assert {name: own.start for name, own in emitted.sizes.items()} == least
    module = emitted.load()
    rng = np.random.default_rng(0)
    for numbers in product(*([number, *much([], [number + 1]), number + 4] for number in least.values())):
        sizes = dict(zip(least, numbers, strict=True))
        shapes = [[sizes.get(size) or int(size) for size in words.split(", ")] for words in arguments]
        given = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
        expected, found = jax.jit(function)(*given), module.main(*given)
        for one, other in zip(jax.tree_util.tree_leaves(expected), jax.tree_util.tree_leaves(found), strict=True):
            np.testing.assert_allclose(np.asarray(other), np.asarray(one), rtol=2e-4, atol=2e-4)
            assert np.shape(other) == one.shape
