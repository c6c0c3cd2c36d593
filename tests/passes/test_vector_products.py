"""Batches of matrices times vectors, which CuPy's fast style sums up in kernels."""

import numpy as np
import pytest

from xla2py.tests.recording.lazy_jax import jnp

pytest.importorskip("cupy", reason="CuPy is not installed")


from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.ladder.running import as_jax, needs_compiler

pytestmark = needs_compiler
SIZES = dict(zip("abcde", (3, 5, 7, 40, 2), strict=True))
GENERATOR = np.random.default_rng(6)


def floats(letters, dtype=np.float32):
    return GENERATOR.standard_normal([SIZES[letter] for letter in letters]).astype(dtype)


def product(subscripts):
    """A function of two factors that goes on with the product."""
    return lambda a, b: jnp.tanh(jnp.einsum(subscripts, a, b) / 4)


def emitted(subscripts, dtype=np.float32, tolerance=2e-6):
    arguments = [floats(term, dtype) for term in subscripts.split("->")[0].split(",")]
    return as_jax(product(subscripts), *arguments, rtol=tolerance, atol=tolerance), arguments


@pytest.mark.parametrize(
    "subscripts", ["abd,abcd->abc", "abc,abcd->abd", "cab,ac->ab", "ad,bda->ba", "abd,ab->d", "cab,ac->ba", "dac,a->dc"]
)
def test_products_of_vectors_join_what_is_around(subscripts):
    module, arguments = emitted(subscripts)
    batched = set(subscripts.split("->")[1]) & set.intersection(*map(set, subscripts.split("->")[0].split(",")))
    if batched:
        assert costs_of(module.load, arguments).launches == (2 if subscripts == "ad,bda->ba" else 1)  # it is turned
        assert "einsum" not in module.source


@pytest.mark.parametrize(("subscripts", "dtype"), [("abd,acd->abc", "f4"), ("abd,abcd->abc", jnp.bfloat16)])
def test_matrices_and_narrow_floats_are_multiplied_by_the_library(subscripts, dtype):
    module, arguments = emitted(subscripts, dtype, 2e-2 if dtype is jnp.bfloat16 else 2e-6)
    assert sum(count for _, count in costs_of(module.load, arguments).products) == 1
