"""Triangles that join what they are taken of, where kernels are written."""

import numpy as np
import pytest

from xla2py.tests.recording.lazy_jax import jax, jnp

pytest.importorskip("cupy", reason="CuPy is not installed")


from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.ladder.running import as_jax, needs_compiler

pytestmark = needs_compiler
X, Y = (np.random.default_rng(9).standard_normal((3, 20, 24)).astype(np.float32) for _ in range(2))


def attended(x):
    scores = jnp.where(jnp.tril(jnp.ones(x.shape[-2:], bool)), x, -jnp.inf)
    return jax.nn.softmax(scores)


PROGRAMS = {
    "lower": lambda x, y: jnp.tril(x * y) + 1,
    "lower, above the diagonal": lambda x, y: jnp.tril(x * y, 3) + 1,
    "upper": lambda x, y: jnp.triu(x - y) * 2,
    "upper, below the diagonal": lambda x, y: jnp.triu(jnp.exp(x) - y, -2) * 2,
    "causal attention's gradient": lambda x, y: jax.vjp(attended, x)[1](y)[0] * 3,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_triangles_join_what_is_around(name):
    module = as_jax(PROGRAMS[name], X, Y, rtol=2e-5)
    assert costs_of(module.load, [X, Y]).launches == 1
    assert "cp.tri" not in module.source


def test_triangles_of_what_the_library_computes_are_its_calls():
    assert "cp.tril(" in as_jax(lambda x, y: jnp.tril(x @ y.mT), X, Y, rtol=2e-5).source
