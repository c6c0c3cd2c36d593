"""The style ``fast`` of CuPy: random numbers that kernels draw as they go."""

import re

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.kernels.interpreting import by_interpreter
from xla2py.tests.ladder.running import as_jax, assert_as_jax, needs_compiler
from xla2py.tests.recording.lazy_jax import jax, jnp

KEY = np.array([3, 2**32 - 5], np.uint32)
X = np.random.default_rng(8).standard_normal((40, 33)).astype(np.float32)


def chance(key, x):
    return jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, x.shape)


def uniform(key, shape, *limits):
    return jax.random.uniform(jax.random.wrap_key_data(key), shape, jnp.float32, *limits)


def normal(key, x):
    return jax.random.normal(jax.random.wrap_key_data(key), x.shape)


def of_two_keys(key, x):
    first, second = jax.random.split(key)
    return x * chance(first, x) + normal(second, x)


# Each with the launches of its module, and how often its kernels draw.
PROGRAMS = {
    "dropout": (lambda key, x: jnp.where(chance(key, x), x / 0.9, 0), 1, 1),
    "a mask that is returned": (lambda key, x: (jnp.where(chance(key, x), x / 0.9, 0), chance(key, x)), 1, 1),
    "a normal sample": (lambda key, x: x + jnp.exp(x / 2) * normal(key, x), 1, 1),
    "bits": (lambda key, x: jax.random.bits(key, x.shape) >> 3 ^ (x > 0).astype(np.uint32), 1, 1),
    "limits": (lambda key, x: uniform(key, x.shape, -2, 3.5) * x, 1, 1),
    "a choice in each row": (lambda key, x: (x - jnp.log(-jnp.log(uniform(key, x.shape, 1e-9)))).argmax(1), 1, 1),
    "columns": (lambda key, x: (x * uniform(key, x.shape)).max(0), 1, 1),
    "turned": (lambda key, x: x.T * uniform(key, x.shape).T, 1, 1),
    "a part": (lambda key, x: uniform(key, (50, 33))[5:45] * x, 1, 1),
    "a piece": (lambda key, x: jnp.concatenate([uniform(key, x.shape) * 2, x + 1]), 1, 1),
    "two keys": (of_two_keys, 2, 2),
    "fewer than the rows they scale": (lambda key, x: jnp.sin(x) * uniform(key, x.shape[1:]), 2, 0),
    "alone": (lambda key, x: (uniform(key, x.shape), x.max()), 2, 0),
}


@needs_compiler
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_draw_what_jax_does(name):
    function, launches, draws = PROGRAMS[name]
    module = as_jax(function, KEY, X)
    assert costs_of(module.load, [KEY, X]).launches == launches
    assert len(re.findall(r"random_bits\(\w+\[0\]", module.source[: module.source.index("def main(")])) == draws


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "alone"])
def test_the_interpreter_draws_what_jax_does(name):
    function, _, _ = PROGRAMS[name]
    assert_as_jax(tuple(by_interpreter(xla2py.from_jax(function, KEY, X), [KEY, X])), function, KEY, X)
