"""Batches of matrices times vectors, which CuPy's fast style sums up in kernels."""

import numpy as np
import pytest

from xla2py.tests.recording.lazy_jax import jnp

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.ladder.running import checked, needs_compiler

pytestmark = needs_compiler
SIZES = dict(zip("abcde", (3, 5, 7, 40, 2), strict=True))
GENERATOR = np.random.default_rng(6)


def floats(letters, dtype=np.float32):
    return GENERATOR.standard_normal([SIZES[letter] for letter in letters]).astype(dtype)


def product(subscripts):
    """A function of two factors that goes on with the product."""
    return lambda a, b: jnp.tanh(jnp.einsum(subscripts, a, b) / 4)


def emitted(subscripts, dtype=np.float32):
    terms = subscripts.split("->")[0].split(",")
    arguments = [floats(term, dtype) for term in terms]
    program = xla2py.from_jax(product(subscripts), *arguments)
    return xla2py.emit(program, "cupy", style="fast", nested=False), arguments


@pytest.mark.parametrize(
    "subscripts", ["abd,abcd->abc", "abc,abcd->abd", "cab,ac->ab", "ad,bda->ba", "abd,ab->d", "cab,ac->ba", "dac,a->dc"]
)
def test_products_of_vectors_join_what_is_around(subscripts):
    module, arguments = emitted(subscripts)
    np.testing.assert_allclose(checked(module, arguments), product(subscripts)(*arguments), 2e-6, 2e-6)
    batched = set(subscripts.split("->")[1]) & set.intersection(*map(set, subscripts.split("->")[0].split(",")))
    if batched:
        assert costs_of(module.load, arguments).launches == (2 if subscripts == "ad,bda->ba" else 1)  # it is turned
        assert "einsum" not in module.source


@pytest.mark.parametrize(("subscripts", "dtype"), [("abd,acd->abc", "f4"), ("abd,abcd->abc", jnp.bfloat16)])
def test_matrices_and_narrow_floats_are_multiplied_by_the_library(subscripts, dtype):
    module, arguments = emitted(subscripts, dtype)
    costs = costs_of(module.load, arguments)
    assert sum(count for _, count in costs.products) == 1
    found, expected = (np.asarray(x, np.float32) for x in (checked(module, arguments), product(subscripts)(*arguments)))
    np.testing.assert_allclose(found, expected, 2e-2 if dtype is jnp.bfloat16 else 2e-6, 2e-6)
