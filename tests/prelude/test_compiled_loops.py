"""Scatters and random numbers as loops of Numba: what the shared prelude gives, to the bit."""

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("numba", reason="Numba is not installed")

import jax

import xla2py
from xla2py.templates.numpy.prelude.generators import compiled_bits, compiled_uniform
from xla2py.templates.numpy.prelude.scatters import COMBINERS, scatter_in_order
from xla2py.templates.prelude.indexing import scatter_at
from xla2py.templates.prelude.keys import random_bits, random_uniform

RNG = np.random.default_rng(5)
EDGES = np.array([-(2**31), -1, 0, 1, 2, 5, 6, 2**31 - 1], np.int32)


@pytest.mark.parametrize("combine", COMBINERS)
@pytest.mark.parametrize("kind", ["f4", "i4", "u8"])
def test_scatters_take_updates_one_after_the_other(combine, kind):
    """Also to the same place; those outside are left out."""
    index = np.concatenate([EDGES, RNG.integers(-2, 8, 24).astype(np.int32)])
    values = RNG.integers(-5, 200, (32, 3)).astype(kind)
    x = RNG.integers(0, 100, (6, 3)).astype(kind)
    if kind == "f4":
        values[9], x[1, 0], values[:4, 1] = np.nan, -0.0, -np.inf
    else:
        values[4:9] = np.iinfo(kind).max  # sums and products wrap
    before = x.copy()
    with np.errstate(all="ignore"):
        expected = scatter_at(x, index, values, combine)
        made = scatter_in_order(x, index, values, combine)
    assert np.array_equal(made.view(f"u{made.itemsize}"), expected.view(f"u{made.itemsize}")) or kind == "f4"
    assert np.array_equal(made, expected, equal_nan=kind == "f4")
    assert np.array_equal(x, before, equal_nan=kind == "f4")


def test_scatters_of_several_indices_and_of_broadcast_values():
    x = np.zeros((4, 5), np.float32)
    i, j = np.array([[0], [3], [-1]]), np.array([0, 4, 5, 2])
    for values in (np.float32(2), np.arange(4, dtype=np.float32)):
        assert np.array_equal(scatter_in_order(x, (i, j), values, np.add), scatter_at(x, (i, j), values, np.add))
    assert scatter_in_order(x, (i, j), np.float32(2), np.add).sum() == 12


def test_scatters_of_a_program_give_what_xla_gives():
    def scattered(x, places, updates):
        return x.at[places].add(updates), x.at[places, 1].max(updates[:, 0]), x.at[places].set(updates[:1])

    x = RNG.normal(size=(40, 8)).astype(np.float32)
    places, updates = RNG.integers(-60, 60, 5000), RNG.normal(size=(5000, 8)).astype(np.float32)
    arguments = x, places.astype(np.int32), updates
    module = xla2py.emit(xla2py.from_jax(scattered, *arguments), style="fast")
    assert module.source.count("scatter_in_order(") == 4
    for leaf, expected in zip(
        module.load(keep_compiled=False).main(*arguments), jax.jit(scattered)(*arguments), strict=True
    ):
        np.testing.assert_allclose(leaf, expected, rtol=1e-5, atol=1e-5)


def test_random_numbers_are_those_of_the_shared_prelude():
    for key in (np.array([0, 42], np.uint32), np.array([2**32 - 1, 2**31], np.uint32)):
        assert np.array_equal(compiled_bits(key, (7, 700)), random_bits(key, (7, 700)))
        assert np.array_equal(compiled_uniform(key, (5000,), -1, 3), random_uniform(key, (5000,), -1, 3))


def test_a_program_draws_what_xla_draws():
    def drawn(key):
        key = jax.random.wrap_key_data(key)
        return jax.random.bits(key, (60, 100)), jax.random.uniform(key, (5000,)), jax.random.normal(key, (5000,))

    key = np.array([3, 9], np.uint32)
    module = xla2py.emit(xla2py.from_jax(drawn, key), style="fast")
    bits, uniform, normal = module.load(keep_compiled=False).main(key)
    expected = jax.jit(drawn)(key)
    assert "threefry_loop" in module.source
    assert np.array_equal(bits, expected[0])
    assert np.array_equal(uniform, expected[1])
    np.testing.assert_allclose(normal, expected[2], rtol=1e-5, atol=1e-6)


def test_the_inverse_error_function_joins_what_is_around_it():
    def quantiles(x):
        return jax.lax.erf_inv(x) * 2 + x

    x = np.concatenate([np.linspace(-1, 1, 5000), [np.nan, 2, -3, 0.99999994, -0.0]]).astype(np.float32)
    module = xla2py.emit(xla2py.from_jax(quantiles, x), style="fast")
    assert "erf_inv_f32(x[i])" in module.source
    with np.errstate(all="ignore"):
        made = module.load(keep_compiled=False).main(x)
    np.testing.assert_allclose(made, jax.jit(quantiles)(x), rtol=2e-6)
